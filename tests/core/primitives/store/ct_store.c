/* SPDX-License-Identifier: MIT */
/* ct_store.c -- transactions on a server. */
#include "fork_case.h"
#include "proxy_case.h"
#include "started.h"
#include "state_case.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(state_setup, state_teardown);

#define KEY(text) (text), strlen(text)

static ilk_store *open_store(ilk_client *of, const char *name)
{
    ilk_store *store = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_store_open(&store, of, KEY(name), &err));
    return store;
}

static ilk_txn *begin(ilk_store *store, uint32_t flags)
{
    ilk_txn *txn = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_txn_begin(&txn, store, flags, &err));
    return txn;
}

static void assert_value(ilk_txn *txn, const char *key, const char *value)
{
    ilk_error err = {0};
    size_t len = 99;
    const char *found;

    assert_status(ILK_OK, ilk_txn_get(txn, KEY(key), &err));
    found = ilk_txn_value(txn, &len);
    if (!value) {
        assert_null(found);
        assert_int_equal(0, len);
        return;
    }
    assert_non_null(found);
    assert_string_equal(value, found);
    assert_int_equal(strlen(value), len);
}

static void assert_in_store(ilk_store *store, const char *key,
                            const char *value)
{
    ilk_txn *txn = begin(store, ILK_TXN_SNAPSHOT);

    assert_value(txn, key, value);
    ilk_txn_free(txn);
}

static void put(ilk_txn *txn, const char *key, const char *value)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_txn_put(txn, KEY(key), KEY(value), &err));
}

/* ---- one transaction ------------------------------------------------------ */

TEST(writes_appear_with_the_commit)
{
    ilk_store *a = open_store(client, "s"), *b = open_store(other, "s");
    ilk_txn *txn = begin(a, 0);
    ilk_error err = {0};
    size_t len;

    assert_memory_equal("s", ilk_store_name(a, &len), 1);
    assert_int_equal(1, len);
    assert_string_equal("", ilk_txn_id(txn));
    put(txn, "anna", "1");
    put(txn, "ben", "2");
    assert_value(txn, "anna", "1");
    assert_in_store(b, "anna", NULL);

    assert_status(ILK_OK, ilk_txn_commit(txn, &err));

    assert_int_equal(46, strlen(ilk_txn_id(txn)));
    assert_in_store(b, "anna", "1");
    assert_in_store(b, "ben", "2");
    assert_status(ILK_ENOTOWNER, ilk_txn_commit(txn, &err));
    assert_status(ILK_ENOTOWNER, ilk_txn_get(txn, KEY("anna"), &err));
    assert_status(ILK_ENOTOWNER, ilk_txn_delete(txn, KEY("anna"), &err));
    ilk_txn_free(txn);
    ilk_store_free(a);
    ilk_store_free(b);
}

TEST(an_uncommitted_transaction_leaves_nothing)
{
    ilk_store *store = open_store(client, "abandoned");
    ilk_txn *txn = begin(store, 0);

    put(txn, "k", "1");
    ilk_store_free(store); /* the transaction keeps what it needs */
    assert_value(txn, "k", "1");
    assert_value(txn, "other", NULL);
    ilk_txn_free(txn);
    store = open_store(client, "abandoned");
    assert_in_store(store, "k", NULL);
    ilk_store_free(store);
}

TEST(limits_are_those_of_the_header)
{
    static char value[ILK_STORE_VALUE_MAX + 1], key[ILK_STORE_KEY_MAX + 1];
    ilk_store *store = open_store(client, "limits");
    ilk_txn *txn = begin(store, 0), *snapshot = begin(store, ILK_TXN_SNAPSHOT),
            *none = NULL;
    ilk_error err = {0};
    char name[16];

    memset(key, 'k', sizeof key);
    assert_status(ILK_OK, ilk_txn_put(txn, key, ILK_STORE_KEY_MAX, value,
                                      ILK_STORE_VALUE_MAX, &err));
    assert_status(ILK_EINVAL,
                  ilk_txn_put(txn, key, sizeof key, value, 1, &err));
    assert_string_equal("a key must have 1 to 512 bytes, got 513", err.msg);
    assert_status(ILK_EINVAL, ilk_txn_get(txn, key, 0, &err));
    assert_status(ILK_EINVAL, ilk_txn_delete(txn, NULL, 1, &err));
    assert_status(ILK_EINVAL,
                  ilk_txn_put(txn, KEY("k"), value, sizeof value, &err));
    assert_status(ILK_EINVAL, ilk_txn_put(txn, KEY("k"), NULL, 1, &err));
    assert_status(ILK_EINVAL, ilk_txn_put(snapshot, KEY("k"), "", 0, &err));
    assert_string_equal("a snapshot only reads", err.msg);
    assert_status(ILK_EINVAL, ilk_txn_begin(&none, store, 2, &err));
    assert_null(none);
    for (int i = 1; i < ILK_TXN_WRITES_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        put(txn, name, "x");
    }
    put(txn, "1", "again"); /* no further key */
    assert_status(ILK_EINVAL, ilk_txn_put(txn, KEY("more"), "x", 1, &err));
    assert_status(ILK_OK, ilk_txn_commit(txn, &err));
    assert_in_store(store, "1", "again");
    ilk_txn_free(snapshot);
    ilk_txn_free(txn);
    ilk_store_free(store);
}

TEST(bad_arguments_are_refused)
{
    ilk_store *store = NULL;
    ilk_error err = {0};
    ilk_txn *txn = NULL;
    int32_t outcome = 9;
    static const char *const ids[] = {
        NULL,
        "",
        "x",
        "0123456789abcdef0123456789abcdef-17000000000x0",
        "0123456789abcdef0123456789abcdeg-1700000000000",
        "0123456789abcdef0123456789abcdef-17000000000000"};

    assert_status(ILK_EINVAL, ilk_store_open(NULL, client, "s", 1, &err));
    assert_status(ILK_EINVAL, ilk_store_open(&store, client, "", 0, &err));
    assert_null(store);
    store = open_store(client, "bad");
    assert_status(ILK_EINVAL, ilk_txn_begin(NULL, store, 0, &err));
    assert_status(ILK_EINVAL, ilk_txn_begin(&txn, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_txn_get(NULL, "k", 1, &err));
    assert_status(ILK_EINVAL, ilk_txn_put(NULL, "k", 1, "v", 1, &err));
    assert_status(ILK_EINVAL, ilk_txn_commit(NULL, &err));
    assert_status(ILK_EINVAL, ilk_store_outcome(NULL, "", &outcome, &err));
    assert_status(ILK_EINVAL, ilk_store_outcome(store, "", NULL, &err));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_status(ILK_EINVAL,
                      ilk_store_outcome(store, ids[i], &outcome, &err));
    assert_int_equal(9, outcome);
    assert_string_equal("", ilk_txn_id(NULL));
    assert_null(ilk_txn_value(NULL, NULL));
    assert_null(ilk_store_name(NULL, NULL));
    ilk_txn_free(NULL);
    ilk_store_free(NULL);
    ilk_store_free(store);
}

/* ---- several -------------------------------------------------------------- */

TEST(the_later_of_two_that_read_and_write_wins)
{
    ilk_store *a = open_store(client, "two"), *b = open_store(other, "two");
    ilk_txn *early = begin(a, 0), *late = begin(b, 0);
    ilk_error err = {0};

    assert_value(early, "k", NULL);
    assert_value(late, "k", NULL);
    put(early, "k", "early");
    put(late, "k", "late");

    assert_status(ILK_ECONFLICT, ilk_txn_commit(early, &err));
    assert_string_equal("a later transaction has read or written a key that "
                        "this one writes",
                        err.msg);
    assert_status(ILK_OK, ilk_txn_commit(late, &err));
    assert_in_store(a, "k", "late");
    ilk_txn_free(early);
    ilk_txn_free(late);
    ilk_store_free(a);
    ilk_store_free(b);
}

enum { ACCOUNTS = 4, TRANSFERS = 40, PAYERS = 4 };

static int number_in(ilk_txn *txn, const char *key, ilk_status *st,
                     ilk_error *err)
{
    const char *value;

    if (*st == ILK_OK)
        *st = ilk_txn_get(txn, KEY(key), err);
    value = *st == ILK_OK ? ilk_txn_value(txn, NULL) : NULL;
    return value ? atoi(value) : 0;
}

static ilk_status transfer(ilk_store *store, int from, int to)
{
    char a[8], b[8], text[16];
    ilk_txn *txn = NULL;
    ilk_error err = {0};
    ilk_status st = ilk_txn_begin(&txn, store, 0, &err);
    int left, right;

    snprintf(a, sizeof a, "%d", from);
    snprintf(b, sizeof b, "%d", to);
    left = number_in(txn, a, &st, &err);
    right = number_in(txn, b, &st, &err);
    if (st == ILK_OK) {
        snprintf(text, sizeof text, "%d", left - 1);
        st = ilk_txn_put(txn, KEY(a), KEY(text), &err);
    }
    if (st == ILK_OK) {
        snprintf(text, sizeof text, "%d", right + 1);
        st = ilk_txn_put(txn, KEY(b), KEY(text), &err);
    }
    if (st == ILK_OK)
        st = ilk_txn_commit(txn, &err);
    ilk_txn_free(txn);
    return st;
}

static void *pay(void *number)
{
    ilk_store *store = open_store(client, "bank");
    unsigned seed = (unsigned)(size_t)number;

    for (int done = 0; done < TRANSFERS;) {
        const int from = rand_r(&seed) % ACCOUNTS,
                  to = (from + 1 + rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
        const ilk_status st = transfer(store, from, to);

        if (st != ILK_OK && st != ILK_ECONFLICT)
            return (void *)1;
        done += st == ILK_OK;
    }
    ilk_store_free(store);
    return NULL;
}

/* Also as any snapshot sees it meanwhile. */
TEST(the_sum_of_a_bank_holds)
{
    ilk_store *store = open_store(other, "bank");
    pthread_t threads[PAYERS];
    ilk_error err = {0};

    for (size_t i = 0; i < PAYERS; i++)
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, pay, (void *)(i + 1)));
    for (int look = 0; look < 50; look++) {
        ilk_txn *snapshot = begin(store, ILK_TXN_SNAPSHOT);
        ilk_status st = ILK_OK;
        int sum = 0;

        for (int i = 0; i < ACCOUNTS; i++) {
            char key[8];

            snprintf(key, sizeof key, "%d", i);
            sum += number_in(snapshot, key, &st, &err);
        }
        ilk_txn_free(snapshot);
        /* A version may have been dropped meanwhile: more than 64 are younger. */
        assert_true(st == ILK_OK || st == ILK_ESTALE);
        if (st == ILK_OK)
            assert_int_equal(0, sum);
    }
    for (size_t i = 0; i < PAYERS; i++) {
        void *failed = NULL;

        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    ilk_store_free(store);
}

TEST(a_snapshot_says_when_its_version_is_gone)
{
    ilk_store *store = open_store(client, "dropped");
    ilk_txn *snapshot = begin(store, ILK_TXN_SNAPSHOT),
            *reader = begin(store, 0);
    ilk_error err = {0};

    assert_value(snapshot, "other", NULL);
    assert_value(reader, "other", NULL);
    for (int i = 0; i < 65; i++) {
        ilk_txn *txn = begin(store, 0);

        put(txn, "k", "x");
        assert_status(ILK_OK, ilk_txn_commit(txn, &err));
        ilk_txn_free(txn);
    }
    assert_status(ILK_ESTALE, ilk_txn_get(snapshot, KEY("k"), &err));
    assert_status(ILK_ECONFLICT, ilk_txn_get(reader, KEY("k"), &err));
    ilk_txn_free(snapshot);
    ilk_txn_free(reader);
    ilk_store_free(store);
}

/* ---- faults --------------------------------------------------------------- */

static ilk_client *behind_proxy(proxy *p)
{
    ilk_client *one = NULL;
    ilk_error err = {0};

    assert_int_equal(0, proxy_before_server(p));
    assert_status(ILK_OK, ilk_client_open(&one, p->url, NULL, &err));
    return one;
}

TEST(a_lost_reply_to_a_commit_is_found_again)
{
    static proxy p;
    ilk_client *one = behind_proxy(&p);
    ilk_store *store = open_store(one, "lost"),
              *seen = open_store(other, "lost");
    ilk_txn *txn = begin(store, 0);
    ilk_error err = {0};
    int32_t outcome = 0;

    put(txn, "k", "1");
    proxy_cut(&p, "store:done", 0);
    assert_status(ILK_OK, ilk_txn_commit(txn, &err));
    assert_in_store(seen, "k", "1");
    assert_status(ILK_OK,
                  ilk_store_outcome(seen, ilk_txn_id(txn), &outcome, &err));
    assert_int_equal(ILK_TXN_COMMITTED, outcome);
    ilk_txn_free(txn);
    ilk_store_free(store);
    ilk_store_free(seen);
    ilk_client_free(one);
    proxy_close(&p);
}

TEST(an_outcome_that_was_read_is_final)
{
    ilk_store *store = open_store(client, "final");
    ilk_txn *txn = begin(store, 0);
    ilk_error err = {0};
    int32_t outcome = 0;
    ilk_op *op;

    put(txn, "k", "1");
    assert_status(ILK_OK, ilk_txn_commit_start(&op, txn, &err));
    assert_status(ILK_OK, /* before the started commit is sent */
                  ilk_store_outcome(store, ilk_txn_id(txn), &outcome, &err));
    assert_ends(outcome == ILK_TXN_COMMITTED ? ILK_OK : ILK_ECONFLICT, client,
                op);
    assert_in_store(store, "k", outcome == ILK_TXN_COMMITTED ? "1" : NULL);
    ilk_txn_free(txn);

    assert_status(ILK_OK, ilk_store_outcome(store,
                                            "0123456789abcdef0123456789abcdef-"
                                            "1700000000000",
                                            &outcome, &err));
    assert_int_equal(ILK_TXN_UNDECIDED, outcome); /* years ago */
    ilk_store_free(store);
}

TEST(a_child_begins_transactions_of_its_own)
{
    ilk_store *store = open_store(client, "fork");
    ilk_txn *txn = begin(store, 0);
    ilk_error err = {0};
    pid_t pid;

    assert_value(txn, "k", NULL);
    put(txn, "k", "parent");
    pid = fork_now();
    if (pid == 0) {
        ilk_txn *own = NULL;

        demand(ilk_txn_commit(txn, NULL) == ILK_EFORKED);
        demand(ilk_client_reopen(client, NULL) == ILK_OK);
        demand(ilk_txn_commit(txn, NULL) == ILK_EFORKED);
        demand(ilk_txn_begin(&own, store, 0, NULL) == ILK_OK);
        demand(ilk_txn_put(own, "c", 1, "child", 5, NULL) == ILK_OK);
        demand(ilk_txn_commit(own, NULL) == ILK_OK);
        ilk_txn_free(own);
        ilk_txn_free(txn);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_status(ILK_OK, ilk_txn_commit(txn, &err));
    assert_in_store(store, "k", "parent");
    assert_in_store(store, "c", "child");
    ilk_txn_free(txn);
    ilk_store_free(store);
}

/* ---- started -------------------------------------------------------------- */

TEST(started_reads_and_commits)
{
    ilk_store *store = open_store(client, "started");
    ilk_txn *txn = begin(store, 0);
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_txn_get_start(&op, txn, KEY("k"), &err));
    assert_status(ILK_EHELD, ilk_txn_put(txn, KEY("k"), "1", 1, &err));
    assert_ends(ILK_OK, client, op);
    assert_null(ilk_txn_value(txn, NULL));
    put(txn, "k", "1");
    assert_status(ILK_OK, ilk_txn_get_start(&op, txn, KEY("k"), &err));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("1", ilk_txn_value(txn, NULL));
    assert_status(ILK_OK, ilk_txn_commit_start(&op, txn, &err));
    assert_ends(ILK_OK, client, op);
    assert_in_store(store, "k", "1");
    ilk_txn_free(txn);
    ilk_store_free(store);
}
