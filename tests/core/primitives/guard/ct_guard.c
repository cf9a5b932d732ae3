/* SPDX-License-Identifier: MIT */
/* ct_guard.c -- a value that refuses reads and writes under an older fence. */
#include "client_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(client_setup, client_teardown);
AROUND_EACH(server_flush, NULL);

#define FENCE_TOP ((INT64_C(1) << 53) - 1)

static ilk_status set(const char *key, int64_t fence, const char *value,
                      ilk_error *err)
{
    return ilk_guard_set(client, key, strlen(key), fence, value, strlen(value),
                         err);
}

static void assert_set(const char *key, int64_t fence, const char *value)
{
    ilk_error err = {0};

    assert_status(ILK_OK, set(key, fence, value, &err));
}

static void assert_set_is_stale(const char *key, int64_t fence,
                                const char *value)
{
    ilk_error err = {0};

    assert_status(ILK_ESTALE, set(key, fence, value, &err));
}

/* The value, to be freed, read under a fence. */
static ilk_value *read_under(const char *key, int64_t fence)
{
    ilk_value *value = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_guard_get(&value, client, key, strlen(key), fence, &err));
    assert_non_null(value);
    return value;
}

static void assert_read_is_stale(const char *key, int64_t fence)
{
    ilk_value *before = read_under(key, 0);
    ilk_value *value = before;
    ilk_error err = {0};

    assert_status(ILK_ESTALE,
                  ilk_guard_get(&value, client, key, strlen(key), fence, &err));
    assert_null(value);
    ilk_value_free(before);
}

/* A read under `fence` finds this value; NULL: no value. */
static void assert_found(const char *key, int64_t fence, const char *expected,
                         int64_t on_record)
{
    ilk_value *value = read_under(key, fence);

    if (expected)
        assert_string_equal(expected, ilk_value_data(value, NULL));
    else
        assert_null(ilk_value_data(value, NULL));
    assert_int_equal(on_record, ilk_value_fence(value));
    ilk_value_free(value);
}

/* ---- writing and reading ------------------------------------------------ */

TEST(value_of_any_bytes_comes_back_with_its_fence)
{
    static const char bytes[] = "a\0b\r\n\xff";
    ilk_error err = {0};
    ilk_value *value;
    size_t len = 0;

    assert_status(ILK_OK, ilk_guard_set(client, "k", 1, FENCE_TOP, bytes,
                                        sizeof bytes - 1, &err));
    value = read_under("k", 0);
    assert_int_equal(FENCE_TOP, ilk_value_fence(value));
    assert_memory_equal(bytes, ilk_value_data(value, &len), sizeof bytes);
    assert_int_equal(sizeof bytes - 1, len);
    ilk_value_free(value);
    assert_int_equal(sizeof bytes - 1, fixture_int(&fx, "STRLEN k"));
    assert_set_is_stale("k", FENCE_TOP - 1, "late");
}

TEST(empty_value_is_a_value)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_guard_set(client, "k", 1, 3, NULL, 0, &err));
    assert_found("k", 0, "", 3);
}

TEST(nothing_is_there_at_first_and_after_remove)
{
    ilk_error err = {0};
    size_t len = 1;

    assert_found("k", 0, NULL, 0);
    assert_string_equal("", fixture_command(&fx, "KEYS *"));
    assert_set("k", 7, "x");
    for (int i = 0; i < 2; i++)
        assert_status(ILK_OK, ilk_guard_remove(client, "k", 1, &err));
    assert_found("k", 0, NULL, 0);
    assert_string_equal("", fixture_command(&fx, "KEYS *"));
    assert_set("k", 1, "again");
    assert_null(ilk_value_data(NULL, &len));
    assert_int_equal(0, len);
    assert_int_equal(0, ilk_value_fence(NULL));
    ilk_value_free(NULL);
}

TEST(older_write_is_refused_with_the_greater_fence)
{
    ilk_error err = {0};

    assert_set("k", 7, "new");
    assert_set("k", 7, "newer");
    assert_status(ILK_ESTALE, set("k", 6, "late", &err));
    assert_non_null(strstr(err.msg, "7"));
    assert_found("k", 0, "newer", 7);
}

TEST(fence_0_is_not_checked_and_not_recorded)
{
    assert_set("k", 9, "guarded");
    assert_set("k", 0, "forced");
    assert_found("k", 0, "forced", 9);
    assert_set("k", 9, "guarded");
}

/* ---- reading under a fence ---------------------------------------------- */

TEST(read_under_a_fence_puts_it_on_record)
{
    assert_set("k", 7, "old");
    assert_found("k", 8, "old", 8);
    assert_found("k", 8, "old", 8); /* the same again, as after a retry */
    assert_set_is_stale("k", 7, "late");
    assert_set("k", 8, "new");
    assert_found("k", 0, "new", 8);
}

TEST(read_under_a_fence_guards_what_is_not_there_yet)
{
    assert_found("k", FENCE_TOP, NULL, FENCE_TOP);
    assert_set_is_stale("k", FENCE_TOP - 1, "late");
    assert_string_equal("(nil)", fixture_command(&fx, "GET k"));
    assert_set("k", FENCE_TOP, "first");
}

TEST(older_read_is_refused_and_changes_nothing)
{
    assert_set("k", 7, "new");
    assert_read_is_stale("k", 6);
    assert_found("k", 0, "new", 7);
    assert_found("k", 8, "new", 8);
    assert_read_is_stale("k", 7);
    assert_set("k", 8, "newer");
}

/* The holder that was frozen wakes while the next one is at work. */
TEST(late_write_between_read_and_write_is_refused)
{
    ilk_lock *frozen = open_lock(client, "stock");
    ilk_lock *next = open_lock(client, "stock");
    ilk_error err = {0};

    assert_set("left", 0, "10");
    assert_status(ILK_OK, ilk_lock_acquire(frozen, 0, &err));
    assert_found("left", ilk_lock_fence(frozen), "10", ilk_lock_fence(frozen));
    assert_status(ILK_OK, ilk_lock_break(client, "stock", 5, NULL, 0, &err));
    assert_status(ILK_OK, ilk_lock_acquire(next, 0, &err));
    assert_found("left", ilk_lock_fence(next), "10", ilk_lock_fence(next));

    assert_set_is_stale("left", ilk_lock_fence(frozen), "9");
    assert_set("left", ilk_lock_fence(next), "9");
    assert_set_is_stale("left", ilk_lock_fence(frozen), "9");
    assert_read_is_stale("left", ilk_lock_fence(frozen));
    assert_found("left", 0, "9", ilk_lock_fence(next));
    ilk_lock_free(frozen);
    ilk_lock_free(next);
}

/* ---- without any lock --------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

typedef struct adder {
    pthread_t thread;
    atomic_int_fast64_t *fences;
    int written, refused;
    ilk_status status;
} adder;

/* Read, add one, write: what a holder does whose lock is not worth much. */
static ilk_status add_one(int64_t fence)
{
    char text[32];
    ilk_value *value = NULL;
    ilk_status st = ilk_guard_get(&value, client, "sum", 3, fence, NULL);
    int n;

    if (st != ILK_OK)
        return st;
    n = atoi(ilk_value_data(value, NULL)) + 1;
    ilk_value_free(value);
    snprintf(text, sizeof text, "%d", n);
    return set("sum", fence, text, NULL);
}

static void *add(void *arg)
{
    adder *a = arg;

    for (int i = 0; i < ROUNDS && a->status == ILK_OK; i++) {
        ilk_status st = add_one(atomic_fetch_add(a->fences, 1));

        if (st == ILK_OK)
            a->written++;
        else if (st == ILK_ESTALE)
            a->refused++;
        else
            a->status = st;
    }
    return NULL;
}

/* Fences alone: who reads and writes under one of its own loses no update. */
TEST(no_update_is_lost_among_threads)
{
    atomic_int_fast64_t fences = 1;
    adder adders[THREADS];
    int written = 0, refused = 0;
    ilk_value *sum;

    assert_set("sum", 0, "0");
    for (int i = 0; i < THREADS; i++) {
        adders[i] = (adder){.fences = &fences};
        assert_int_equal(
            0, pthread_create(&adders[i].thread, NULL, add, &adders[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(adders[i].thread, NULL);
        assert_string_equal("ILK_OK", ilk_status_name(adders[i].status));
        written += adders[i].written;
        refused += adders[i].refused;
    }
    sum = read_under("sum", 0);
    assert_int_equal(written, atoi(ilk_value_data(sum, NULL)));
    ilk_value_free(sum);
    assert_int_equal(THREADS * ROUNDS, written + refused);
    assert_true(written > 0);
}

/* ---- what is refused ---------------------------------------------------- */

static void assert_refused(const char *key, size_t key_len, int64_t fence,
                           const char *in_text)
{
    ilk_value *value = NULL;
    ilk_error err = {0};

    assert_status(ILK_EINVAL,
                  ilk_guard_get(&value, client, key, key_len, fence, &err));
    assert_non_null(strstr(err.msg, in_text));
    assert_null(value);
    assert_status(ILK_EINVAL,
                  ilk_guard_set(client, key, key_len, fence, "x", 1, &err));
    assert_non_null(strstr(err.msg, in_text));
}

TEST(arguments_without_sense_are_refused)
{
    static char large[1024 * 1024 + 1];
    char key[513];
    ilk_value *value = NULL;
    ilk_error err = {0};

    memset(key, 'k', sizeof key);
    assert_refused("k", 1, -1, "-1");
    assert_refused("k", 1, FENCE_TOP + 1, "9007199254740992");
    assert_refused("k", 1, INT64_MIN, "fence");
    assert_refused("", 0, 1, "key");
    assert_refused(NULL, 1, 1, "key");
    assert_refused(key, sizeof key, 1, "key");
    assert_refused("ilk:guard:{k}", 13, 1, "key");
    assert_status(ILK_EINVAL, ilk_guard_get(NULL, client, "k", 1, 1, &err));
    assert_status(ILK_EINVAL, ilk_guard_get(&value, NULL, "k", 1, 1, &err));
    assert_status(ILK_EINVAL, ilk_guard_set(NULL, "k", 1, 1, "x", 1, &err));
    assert_status(ILK_EINVAL, ilk_guard_set(client, "k", 1, 1, NULL, 1, &err));
    assert_status(ILK_EINVAL,
                  ilk_guard_set(client, "k", 1, 1, large, sizeof large, &err));
    assert_status(ILK_EINVAL, ilk_guard_remove(client, "", 0, &err));
    assert_status(ILK_EINVAL, ilk_guard_remove(NULL, "k", 1, &err));
    assert_string_equal("", fixture_command(&fx, "KEYS *"));

    assert_status(ILK_OK, ilk_guard_set(client, key, sizeof key - 1, 1, large,
                                        sizeof large - 1, &err));
}

static void assert_wrong_type(const char *key)
{
    ilk_value *value = NULL;
    ilk_error err = {0};

    assert_status(ILK_ETYPE,
                  ilk_guard_get(&value, client, key, strlen(key), 5, &err));
    assert_null(value);
    assert_status(ILK_ETYPE, set(key, 5, "x", &err));
}

TEST(wrong_type_is_refused_and_nothing_is_changed)
{
    fixture_command(&fx, "RPUSH list x");
    assert_wrong_type("list");
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:guard:{list}"));
    assert_int_equal(1, fixture_int(&fx, "LLEN list"));
    fixture_command(&fx, "RPUSH ilk:guard:{k} x");
    assert_wrong_type("k");
    assert_int_equal(0, fixture_int(&fx, "EXISTS k"));
    assert_int_equal(1, fixture_int(&fx, "LLEN ilk:guard:{k}"));
}
