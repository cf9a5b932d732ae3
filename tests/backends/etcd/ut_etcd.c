/* SPDX-License-Identifier: MIT */
/*
 * ut_etcd.c -- the backend of etcd against answers that come in any order, or never.
 *
 * The functions of the gateway and of the client are this file's: a test answers each
 * call by hand.
 */
#include "base/clock.h"
#include "redis/expected_reply.h"
#include "redis/script.h"
#include "stores/etcd/etcd_store.h"
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 12, WORD = 64, ERROR = -1, BROKEN = -2, CALLS = 64, KEY = 96 };

/* ---- the gateway --------------------------------------------------------- */

typedef struct request {
    ilk__gateway_request seen; /* the first member */
    ilk__reply words[WORDS];
    ilk__reply *pointers[WORDS];
    char texts[WORDS][WORD];
    int replies, code;
    int64_t numbers[4];
} request;

static int messages;

static request *of(ilk__gateway_request *seen)
{
    return (request *)seen;
}

void ilk__gateway_reply(ilk__gateway_request *seen, int code, const char *types,
                        ...)
{
    va_list args;

    va_start(args, types);
    of(seen)->replies++;
    of(seen)->code = code;
    for (size_t i = 0; types[i]; i++)
        of(seen)->numbers[i] = va_arg(args, int64_t);
    va_end(args);
}

void ilk__gateway_reply_text(ilk__gateway_request *seen, const void *text,
                             size_t len)
{
    (void)text;
    (void)len;
    of(seen)->replies++;
}

void ilk__gateway_reply_error(ilk__gateway_request *seen, const char *text)
{
    (void)text;
    of(seen)->replies++;
    of(seen)->code = ERROR;
}

void ilk__gateway_break(ilk__gateway_request *seen)
{
    of(seen)->replies++;
    of(seen)->code = BROKEN;
}

void ilk__gateway_contact_made(ilk__gateway_request *seen)
{
    of(seen)->replies++;
}

size_t ilk__gateway_publish(ilk__gateway *gateway, ilk__span pattern,
                            ilk__span channel, ilk__span data)
{
    (void)gateway;
    (void)pattern;
    (void)channel;
    (void)data;
    messages++;
    return 1;
}

/* ---- the client ---------------------------------------------------------- */

typedef enum call_kind { NONE, LATER, TXN, GRANT, REVOKE, KEEP } call_kind;

/* A call without an answer. */
typedef struct call {
    call_kind kind;
    ilk__etcd_done done;
    void *owner;
    int64_t lease;     /* KEEP; TXN: of the first put */
    int64_t compared;  /* TXN: by the first compare */
    int puts, deletes; /* TXN */
    size_t list_at;    /* TXN: the first range */
    ilk__etcd_op_kind kinds[8];
    size_t op_count;
    char key[KEY]; /* of the first op */
} call;

static call calls[CALLS];
static size_t call_count;

static call *note(call_kind kind, ilk__etcd_done done, void *owner)
{
    call *one = &calls[call_count++];

    assert_true(call_count < CALLS);
    *one = (call){.kind = kind, .done = done, .owner = owner};
    return one;
}

ilk_status ilk__etcd_open(ilk__etcd **out, const ilk__url *url,
                          const char *options, ilk_error *err)
{
    (void)url;
    (void)options;
    (void)err;
    *out = NULL;
    return ILK_OK;
}

static void fail_call(call *one, int may_have_run)
{
    const ilk__etcd_answer answer = {.status = ILK_ECONN,
                                     .error = "ILKDOWN no answer",
                                     .may_have_run = may_have_run,
                                     .sent_at = ilk__now_ms()};

    one->kind = NONE;
    one->done(one->owner, &answer);
}

void ilk__etcd_close(ilk__etcd *client)
{
    (void)client;
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].kind != NONE)
            fail_call(&calls[i], 1);
    call_count = 0;
}

void ilk__etcd_abandon(ilk__etcd *client)
{
    (void)client;
}

size_t ilk__etcd_prepare(ilk__etcd *client, struct pollfd *fds, size_t room,
                         int64_t *until)
{
    (void)client;
    (void)fds;
    (void)room;
    (void)until;
    return 0;
}

void ilk__etcd_polled(ilk__etcd *client, const struct pollfd *fds, size_t count)
{
    (void)client;
    (void)fds;
    (void)count;
}

ilk_status ilk__etcd_commit(ilk__etcd *client, const ilk__etcd_txn *txn,
                            int64_t reply_ms, ilk__etcd_done done, void *owner)
{
    call *one = note(TXN, done, owner);

    (void)client;
    (void)reply_ms;
    one->compared = txn->compare_count ? txn->compares[0].number : -1;
    one->op_count = txn->then_count;
    snprintf(one->key, KEY, "%.*s", (int)txn->then_ops[0].key.len,
             txn->then_ops[0].key.at);
    for (size_t i = 0; i < txn->then_count; i++) {
        const ilk__etcd_op *op = &txn->then_ops[i];

        one->kinds[i] = op->kind;
        if (op->kind == ILK__ETCD_PUT && !one->puts++)
            one->lease = op->lease;
        one->deletes += op->kind == ILK__ETCD_DELETE;
    }
    return ILK_OK;
}

ilk_status ilk__etcd_grant(ilk__etcd *client, int64_t lease, int64_t ttl_s,
                           int64_t reply_ms, ilk__etcd_done done, void *owner)
{
    (void)client;
    (void)lease;
    (void)ttl_s;
    (void)reply_ms;
    (void)note(GRANT, done, owner);
    return ILK_OK;
}

ilk_status ilk__etcd_revoke(ilk__etcd *client, int64_t lease, int64_t reply_ms,
                            ilk__etcd_done done, void *owner)
{
    (void)client;
    (void)reply_ms;
    note(REVOKE, done, owner)->lease = lease;
    return ILK_OK;
}

ilk_status ilk__etcd_keep_alive(ilk__etcd *client, int64_t lease,
                                int64_t reply_ms, ilk__etcd_done done,
                                void *owner)
{
    (void)client;
    (void)reply_ms;
    note(KEEP, done, owner)->lease = lease;
    return ILK_OK;
}

ilk_status ilk__etcd_time_to_live(ilk__etcd *client, int64_t lease,
                                  int64_t reply_ms, ilk__etcd_done done,
                                  void *owner)
{
    (void)client;
    (void)lease;
    (void)reply_ms;
    (void)done;
    (void)owner;
    return ILK_ENOMEM;
}

ilk_status ilk__etcd_ask_status(ilk__etcd *client, int64_t reply_ms,
                                ilk__etcd_done done, void *owner)
{
    (void)client;
    (void)reply_ms;
    (void)done;
    (void)owner;
    return ILK_ENOMEM;
}

static ilk__etcd_on_news watcher; /* of the newest watch */
static void *watching;

ilk_status ilk__etcd_watch_begin(ilk__etcd_watch **out, ilk__etcd *client,
                                 const ilk__etcd_watch_request *wanted,
                                 int64_t reply_ms, ilk__etcd_on_news on_news,
                                 void *owner)
{
    static char watch;

    (void)client;
    (void)wanted;
    (void)reply_ms;
    watcher = on_news;
    watching = owner;
    *out = (ilk__etcd_watch *)&watch;
    return ILK_OK;
}

void ilk__etcd_watch_cancel(ilk__etcd_watch *watch)
{
    (void)watch;
}

/* ---- answers ------------------------------------------------------------- */

/* The oldest call of a kind without an answer, or NULL. */
static call *find(call_kind kind)
{
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].kind == kind)
            return &calls[i];
    return NULL;
}

static call *expect_call(call_kind kind)
{
    call *one = find(kind);

    assert_non_null(one);
    return one;
}

static void answer_lease(call_kind kind, int64_t lease, int64_t ttl_s,
                         int64_t age_ms)
{
    call *one = expect_call(kind);
    const ilk__etcd_answer answer = {
        .lease = lease, .ttl_s = ttl_s, .sent_at = ilk__now_ms() - age_ms};

    one->kind = NONE;
    one->done(one->owner, &answer);
}

/* A transaction that succeeds, and whose range has these keys; of two ranges the first
 * one has the first key. */
static void answer_txn(call *one, int64_t revision, const ilk__etcd_kv *kvs,
                       size_t kv_count)
{
    ilk__etcd_op_answer ops[8];
    const ilk__etcd_answer answer = {.revision = revision,
                                     .sent_at = ilk__now_ms(),
                                     .succeeded = 1,
                                     .ops = ops,
                                     .op_count = one->op_count};

    memset(ops, 0, sizeof ops);
    for (size_t i = 0; i < one->op_count; i++) {
        ops[i].kind = one->kinds[i];
        if (one->kinds[i] != ILK__ETCD_RANGE)
            continue;
        ops[i].kvs = kvs;
        ops[i].kv_count = kv_count;
        if (!one->puts && !one->deletes && one->op_count == 2) {
            ops[i].kvs = i ? kvs + 1 : kvs;
            ops[i].kv_count = i ? kv_count - 1 : 1;
        }
    }
    one->kind = NONE;
    one->done(one->owner, &answer);
}

static ilk__etcd_kv key_of(const char *key, int64_t created, int64_t modified,
                           int64_t lease)
{
    return (ilk__etcd_kv){.key = {key, strlen(key)},
                          .create_revision = created,
                          .mod_revision = modified,
                          .lease = lease};
}

/* ---- requests ------------------------------------------------------------ */

extern const ilk__backend ilk__etcd_backend;

static void *backend;

static int setup(void)
{
    const ilk__url url = {.hosts = NULL};

    messages = 0;
    call_count = 0;
    return ilk__etcd_backend.open(&backend, NULL, &url, NULL);
}

static int teardown(void)
{
    ilk__etcd_backend.close(backend);
    return 0;
}

AROUND_EACH(setup, teardown);

static void turn(void)
{
    ilk__etcd_backend.polled(backend, NULL, 0);
}

static void send(request *r, int script, const char *key, ...)
{
    const char *word = key;
    size_t count = 0;
    va_list args;

    memset(r, 0, sizeof *r);
    va_start(args, key);
    for (; word; word = va_arg(args, const char *)) {
        snprintf(r->texts[count], WORD, "%s", word);
        r->words[count] = (ilk__reply){.type = ILK__REPLY_STR,
                                       .str = r->texts[count],
                                       .len = strlen(r->texts[count])};
        r->pointers[count] = &r->words[count];
        count++;
    }
    va_end(args);
    r->seen = (ilk__gateway_request){.script = script,
                                     .keys = r->pointers,
                                     .key_count = 1,
                                     .args = r->pointers + 1,
                                     .arg_count = count - 1,
                                     .number = 7};
    ilk__etcd_backend.call(backend, &r->seen);
}

static void acquire(request *r, const char *key, const char *token, int waits)
{
    char entry[WORD];

    snprintf(entry, sizeof entry, "1 x c x1.%s %s 2000 1 me", token, token);
    send(r, ILK__SCRIPT_LOCK_ACQUIRE, key, token, "2000", "me", "0",
         waits ? entry : "", "c", "0", "60000", "1000", NULL);
}

static void extend(request *r, const char *lease_ms)
{
    send(r, ILK__SCRIPT_LOCK_EXTEND, "n", "t", lease_ms, "0", NULL);
}

/* It tries once, and holds `n` in lease 7 with 2 s, and fence 10. */
static void hold(char key[KEY])
{
    request r;
    call *join;

    acquire(&r, "n", "t", 0);
    answer_lease(GRANT, 7, 2, 0);
    join = expect_call(TXN);
    memcpy(key, join->key, KEY);
    answer_txn(join, 10, NULL, 0);
    if (!r.replies) /* a slow machine: the lease is kept alive first */
        answer_lease(KEEP, 7, 2, 0);
    assert_int_equal(1, r.replies);
    assert_int_equal(ILK__CODE_HELD, r.code);
}

static void expect(const request *r, int code)
{
    assert_int_equal(1, r->replies);
    assert_int_equal(code, r->code);
}

/* ---- tests --------------------------------------------------------------- */

/* The key is read before the new lease has a number. */
TEST(a_key_is_never_put_in_no_lease)
{
    char key[KEY];
    ilk__etcd_kv own;
    request r;
    call *put;

    hold(key);
    own = key_of(key, 10, 10, 7);
    extend(&r, "20000");
    answer_txn(expect_call(TXN), 10, &own, 1);
    assert_null(find(TXN));
    answer_lease(GRANT, 8, 20, 0);
    put = expect_call(TXN);
    assert_int_equal(1, put->puts);
    assert_int_equal(8, put->lease);
    assert_int_equal(10, put->compared);
    answer_txn(put, 11, NULL, 0);
    expect(&r, ILK__CODE_HELD);
    assert_true(r.numbers[0] > 19000);
}

/* The move may be executed at any later time: a renewal puts the key again, and so
 * makes it void. */
TEST(a_move_without_an_answer_is_made_void)
{
    char key[KEY];
    ilk__etcd_kv own;
    request r;
    call *put;

    hold(key);
    own = key_of(key, 10, 10, 7);
    extend(&r, "20000");
    answer_txn(expect_call(TXN), 10, &own, 1);
    answer_lease(GRANT, 8, 20, 0);
    fail_call(expect_call(TXN), 1);
    expect(&r, ERROR);
    extend(&r, "1900");
    answer_txn(expect_call(TXN), 10, &own, 1);
    assert_int_equal(0, r.replies);
    put = expect_call(TXN);
    assert_int_equal(7, put->lease);
    assert_int_equal(10, put->compared);
    answer_txn(put, 11, NULL, 0);
    if (!r.replies)
        answer_lease(KEEP, 7, 2, 0);
    expect(&r, ILK__CODE_HELD);
}

static void wait_for(int ms)
{
    const struct timespec pause = {.tv_nsec = ms * 1000000L};

    nanosleep(&pause, NULL);
    turn();
}

/* The server says that the lease of a hold and of a wait has ended. */
static void end_lease(void)
{
    ilk__etcd_kv kvs[2];
    request waits;
    call *join;

    acquire(&waits, "m", "u", 1);
    join = expect_call(TXN);
    kvs[0] = key_of(join->key, 12, 12, 7);
    kvs[1] = key_of("m/9", 11, 11, 9);
    answer_txn(join, 12, kvs, 2);
    expect(&waits, ILK__CODE_QUEUED);
    wait_for(500);
    answer_lease(KEEP, 7, 0, 0);
}

/* The first lease ends after a move without an answer: the key may be in the other. */
TEST(a_lease_that_ends_takes_no_key_that_may_have_moved)
{
    char key[KEY];
    ilk__etcd_kv own;
    request r, released;
    call *delete;

    hold(key);
    own = key_of(key, 10, 10, 7);
    extend(&r, "20000");
    answer_txn(expect_call(TXN), 10, &own, 1);
    answer_lease(GRANT, 8, 20, 0);
    fail_call(expect_call(TXN), 1);
    expect(&r, ERROR);
    end_lease();
    send(&released, ILK__SCRIPT_LOCK_RELEASE, "n", "t", NULL);
    assert_int_equal(0, released.replies);
    delete = expect_call(TXN);
    assert_int_equal(1, delete->deletes);
    assert_string_equal(key, delete->key);
    answer_txn(delete, 12, NULL, 0);
    assert_int_equal(1, released.replies);
}

/* It was first, but its lease ends before it is reported: the next place is behind
 * another one. */
TEST(a_place_that_is_lost_grants_nothing)
{
    ilk__etcd_kv kvs[2];
    request r;
    call *join;

    acquire(&r, "n", "t", 1);
    answer_lease(GRANT, 7, 2, 1000);
    join = expect_call(TXN);
    kvs[0] = key_of(join->key, 10, 10, 7);
    answer_txn(join, 10, kvs, 1);
    assert_int_equal(0, r.replies);
    answer_lease(KEEP, 7, 0, 0);
    answer_lease(GRANT, 8, 2, 1000);
    join = expect_call(TXN);
    kvs[0] = key_of(join->key, 12, 12, 8);
    kvs[1] = key_of("n/9", 11, 11, 9);
    answer_txn(join, 12, kvs, 2);
    if (!find(KEEP))
        turn();
    answer_lease(KEEP, 8, 2, 0);
    expect(&r, ILK__CODE_QUEUED);
    assert_int_equal(0, messages);
}

/* It waits under `key`, kvs[0], behind another one, kvs[1]. */
static void wait_behind(request *r, char key[KEY], ilk__etcd_kv kvs[2],
                        int64_t ttl_s, int64_t age_ms)
{
    call *join;

    acquire(r, "n", "t", 1);
    answer_lease(GRANT, 7, ttl_s, age_ms);
    join = expect_call(TXN);
    memcpy(key, join->key, KEY);
    kvs[0] = key_of(key, 10, 10, 7);
    kvs[1] = key_of("n/9", 9, 9, 9);
    answer_txn(join, 10, kvs, 2);
}

/* It is first, and its lease cannot be kept alive at that moment. */
TEST(a_place_whose_keep_alive_fails_is_read_again)
{
    const ilk__etcd_news created = {.kind = ILK__ETCD_CREATED, .revision = 20};
    ilk__etcd_kv kvs[2];
    char key[KEY];
    request r;

    wait_behind(&r, key, kvs, 2, 1200);
    answer_lease(KEEP, 7, 2, 1100);
    expect(&r, ILK__CODE_QUEUED);
    watcher(watching, &created);
    answer_txn(expect_call(TXN), 20, kvs, 1);
    fail_call(expect_call(KEEP), 1);
    assert_int_equal(0, messages);
    wait_for(400);
    if (find(KEEP))
        answer_lease(KEEP, 7, 2, 0);
    answer_txn(expect_call(TXN), 21, kvs, 1);
    assert_int_equal(1, messages);
}

/* The release came just when etcd began the watch: no event says so soon, and the
 * watch's revision is still that of the list. */
TEST(the_list_is_read_again_when_its_watch_is_there)
{
    const ilk__etcd_news created = {.kind = ILK__ETCD_CREATED, .revision = 10};
    ilk__etcd_kv kvs[2];
    char key[KEY];
    request r;

    wait_behind(&r, key, kvs, 20, 0);
    expect(&r, ILK__CODE_QUEUED);
    watcher(watching, &created);
    answer_txn(expect_call(TXN), 11, kvs, 1);
    if (!messages) /* a slow machine: the lease is kept alive first */
        answer_lease(KEEP, 7, 20, 0);
    assert_int_equal(1, messages);
}

/* The lease ends while the delete is under way, and the delete has no answer. */
TEST(a_leave_whose_lease_has_ended_ends)
{
    char key[KEY];
    request r;
    call *delete;

    hold(key);
    send(&r, ILK__SCRIPT_LOCK_RELEASE, "n", "t", NULL);
    delete = expect_call(TXN);
    assert_int_equal(1, delete->deletes);
    delete->kind = LATER;
    end_lease();
    fail_call(delete, 1);
    expect(&r, ILK__CODE_LOST);
    assert_int_equal(0, r.numbers[1]); /* it may have been released in time */
}

/* An operator deletes the key of a join whose first copy may be executed later: it is
 * put again as the same key, so that the copy finds it, or is void after a leave. */
TEST(a_join_is_repeated_under_its_key)
{
    ilk__etcd_kv own;
    ilk__etcd_op_answer op = {.kind = ILK__ETCD_RANGE, .kvs = &own};
    const ilk__etcd_answer refused = {.revision = 10,
                                      .sent_at = ilk__now_ms(),
                                      .ops = &op,
                                      .op_count = op.kv_count = 1};
    char key[KEY];
    static request r; /* the join is under way when the client ends */
    call *join;

    acquire(&r, "n", "t", 1);
    answer_lease(GRANT, 7, 2, 0);
    join = expect_call(TXN);
    memcpy(key, join->key, KEY);
    fail_call(join, 1);
    expect(&r, ERROR);
    acquire(&r, "n", "t", 1);
    join = expect_call(TXN);
    assert_string_equal(key, join->key);
    own = key_of(key, 10, 10, 7);
    join->kind = NONE;
    join->done(join->owner, &refused);
    own = key_of("n/9", 9, 9, 9);
    answer_txn(expect_call(TXN), 12, &own, 1);
    join = expect_call(TXN);
    assert_int_equal(1, join->puts);
    assert_string_equal(key, join->key);
}

/* A lease that is over, and that a late move may still name, wakes nobody. */
TEST(a_lease_that_is_over_wakes_nobody)
{
    int64_t until = INT64_MAX;
    char key[KEY];
    ilk__etcd_kv own;
    request r;

    hold(key);
    own = key_of(key, 10, 10, 7);
    extend(&r, "3000");
    answer_txn(expect_call(TXN), 10, &own, 1);
    answer_lease(GRANT, 8, 3, 500);
    fail_call(expect_call(TXN), 1);
    expect(&r, ERROR);
    for (int i = 0; i < 3; i++)
        wait_for(900);
    turn();
    assert_int_equal(1, expect_call(TXN)->deletes); /* the hold has lapsed */
    (void)ilk__etcd_backend.prepare(backend, NULL, 0, &until);
    assert_true(until > ilk__now_ms());
}

TEST(a_lease_may_last_for_ever)
{
    request r;

    acquire(&r, "n", "t", 0);
    answer_lease(GRANT, 7, INT64_MAX, 0);
    answer_txn(expect_call(TXN), 10, NULL, 0);
    expect(&r, ILK__CODE_HELD);
    assert_in_range(r.numbers[0], 1, 2000);
}

TEST(versions_that_may_end_leases_are_known)
{
    static const char *const faulty[] = {"3.3.27", "3.4.0", "3.4.23",
                                         "3.4.30", "3.5.0", "3.5.12"},
                             *const mended[] = {"3.4.31", "3.4.40", "3.5.13",
                                                "3.5.30", "3.6.0",  "4.0.0",
                                                "",       "unknown"};

    for (size_t i = 0; i < sizeof faulty / sizeof faulty[0]; i++)
        assert_true(ilk__etcd_may_end_leases(faulty[i]));
    for (size_t i = 0; i < sizeof mended / sizeof mended[0]; i++)
        assert_false(ilk__etcd_may_end_leases(mended[i]));
}
