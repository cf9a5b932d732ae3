/* SPDX-License-Identifier: MIT */
/* ct_register.c -- a value with a version, on a server. */
#include "started.h"
#include "state_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(state_setup, state_teardown);

static void assert_seen(const ilk_register *reg, const char *value, size_t len)
{
    size_t got_len = 99;
    const char *got = ilk_register_value(reg, &got_len);

    assert_non_null(got);
    assert_int_equal(len, got_len);
    assert_memory_equal(value, got, len);
    assert_int_equal('\0', got[len]);
}

static void assert_nothing_seen(const ilk_register *reg)
{
    size_t len = 99;

    assert_null(ilk_register_value(reg, &len));
    assert_int_equal(0, len);
}

/* ---- reading and writing ------------------------------------------------ */

TEST(a_register_that_nobody_wrote_has_version_0)
{
    ilk_register *a = open_register(client, "unset");
    ilk_error err = {0};

    assert_nothing_seen(a);
    assert_int_equal(0, ilk_register_version(a));
    assert_status(ILK_OK, ilk_register_get(a, &err));
    assert_nothing_seen(a);
    assert_int_equal(0, ilk_register_version(a));
    ilk_register_free(a);
}

TEST(a_value_set_by_one_is_read_by_another)
{
    ilk_register *a = open_register(client, "get"),
                 *b = open_register(other, "get");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(a, "x\0\r\n\xff", 5, &err));
    assert_seen(a, "x\0\r\n\xff", 5);

    assert_status(ILK_OK, ilk_register_get(b, &err));
    assert_seen(b, "x\0\r\n\xff", 5);
    assert_true(ilk_register_version(a) > 0);
    assert_int_equal(ilk_register_version(a), ilk_register_version(b));

    assert_status(ILK_OK, ilk_register_set(b, NULL, 0, &err));
    assert_status(ILK_OK, ilk_register_get(a, &err));
    assert_seen(a, "", 0);
    ilk_register_free(a);
    ilk_register_free(b);
}

TEST(a_cas_over_an_old_version_is_refused_and_shows_the_new_one)
{
    ilk_register *a = open_register(client, "cas"),
                 *b = open_register(other, "cas");
    ilk_error err = {0};
    int64_t first, second;
    char text[96];

    assert_status(ILK_OK, ilk_register_cas(a, 0, "1", 1, &err));
    first = ilk_register_version(a);
    assert_status(ILK_OK, ilk_register_cas(b, first, "2", 1, &err));
    second = ilk_register_version(b);
    assert_true(second > first);

    assert_status(ILK_ESTALE, ilk_register_cas(a, first, "3", 1, &err));

    snprintf(text, sizeof text, "version %lld is on record, not %lld",
             (long long)second, (long long)first);
    assert_string_equal(text, err.msg);
    assert_seen(a, "2", 1);
    assert_int_equal(second, ilk_register_version(a));
    assert_status(ILK_ESTALE, ilk_register_cas(a, 0, "3", 1, &err));
    assert_status(ILK_OK, ilk_register_cas(a, second, "3", 1, &err));
    ilk_register_free(a);
    ilk_register_free(b);
}

TEST(a_delete_leaves_a_version_that_the_next_value_exceeds)
{
    ilk_register *a = open_register(client, "delete");
    ilk_error err = {0};
    int64_t version, deleted;

    assert_status(ILK_ESTALE, ilk_register_delete(a, ILK_REGISTER_ANY, &err));
    assert_string_equal("there is no value", err.msg);
    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));
    version = ilk_register_version(a);
    assert_status(ILK_ESTALE, ilk_register_delete(a, version - 1, &err));
    assert_seen(a, "x", 1);

    assert_status(ILK_OK, ilk_register_delete(a, version, &err));

    assert_nothing_seen(a);
    deleted = ilk_register_version(a);
    assert_true(deleted > version);
    assert_status(ILK_OK, ilk_register_get(a, &err));
    assert_nothing_seen(a);
    assert_int_equal(deleted, ilk_register_version(a));
    assert_status(ILK_ESTALE, ilk_register_delete(a, deleted, &err));
    assert_status(ILK_OK, ilk_register_cas(a, deleted, "y", 1, &err));
    assert_true(ilk_register_version(a) > deleted);
    assert_status(ILK_OK, ilk_register_delete(a, ILK_REGISTER_ANY, &err));
    ilk_register_free(a);
}

TEST(versions_rise_after_the_server_lost_its_data)
{
    ilk_register *a = open_register(client, "loss");
    ilk_error err = {0};
    int64_t last;

    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));
    last = ilk_register_version(a);
    fixture_command(&fx, "FLUSHALL");

    assert_status(ILK_ESTALE, ilk_register_cas(a, last, "y", 1, &err));
    assert_nothing_seen(a);
    assert_status(ILK_OK, ilk_register_set(a, "y", 1, &err));
    assert_true(ilk_register_version(a) > last);
    ilk_register_free(a);
}

TEST(sixty_four_kibibytes_come_through_and_no_more)
{
    ilk_register *a = open_register(client, "large");
    char *value = malloc(ILK_REGISTER_VALUE_MAX + 1);
    ilk_error err = {0};

    assert_non_null(value);
    for (int i = 0; i <= ILK_REGISTER_VALUE_MAX; i++)
        value[i] = (char)(i * 7);
    assert_status(ILK_OK,
                  ilk_register_set(a, value, ILK_REGISTER_VALUE_MAX, &err));
    assert_status(ILK_OK, ilk_register_get(a, &err));
    assert_seen(a, value, ILK_REGISTER_VALUE_MAX);

    assert_status(ILK_EINVAL,
                  ilk_register_set(a, value, ILK_REGISTER_VALUE_MAX + 1, &err));
    assert_string_equal("value must have at most 65536 bytes, got 65537",
                        err.msg);
    free(value);
    ilk_register_free(a);
}

/* ---- waiting ------------------------------------------------------------ */

TEST(each_kind_of_change_wakes_who_waits)
{
    ilk_register *a = open_register(client, "wake"),
                 *b = open_register(other, "wake");
    ilk_error err = {0};

    for (int i = 0; i < 3; i++) {
        waiting w = {
            .reg = b, .version = ilk_register_version(a), .timeout_ms = 20000};
        int64_t at;
        ilk_status st;

        start_waiting(&w);
        await_queue_length("register", "wake", 1);
        at = fixture_now_ms();
        st = i == 0   ? ilk_register_set(a, "1", 1, &err)
             : i == 1 ? ilk_register_cas(a, w.version, "2", 1, &err)
                      : ilk_register_delete(a, w.version, &err);
        assert_status(ILK_OK, st);

        assert_waited(ILK_OK, &w);
        assert_in_range(w.ended_at - at, 0, patience(200));
        assert_int_equal(ilk_register_version(a), ilk_register_version(b));
        await_queue_length("register", "wake", 0);
    }
    assert_nothing_seen(b);
    ilk_register_free(a);
    ilk_register_free(b);
}

TEST(a_wait_past_another_version_returns_at_once)
{
    ilk_register *a = open_register(client, "at once");
    ilk_error err = {0};
    int64_t version;

    assert_status(ILK_EBUSY, ilk_register_wait(a, 0, 0, &err));
    assert_string_equal("the condition does not hold yet", err.msg);
    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));
    version = ilk_register_version(a);
    assert_status(ILK_EBUSY, ilk_register_wait(a, version, 0, &err));
    assert_status(ILK_OK, ilk_register_wait(a, 0, 0, &err));
    assert_status(ILK_OK, ilk_register_wait(a, version - 1, -1, &err));
    assert_status(ILK_OK, ilk_register_wait(a, version + 1, -1, &err));
    assert_seen(a, "x", 1);
    ilk_register_free(a);
}

TEST(a_wait_ends_in_time)
{
    ilk_register *a = open_register(client, "time");
    waiting w = {.reg = a, .timeout_ms = 150};

    start_waiting(&w);
    assert_waited(ILK_ETIMEOUT, &w);
    assert_on_time(waited_ms(&w), 150);
    await_queue_length("register", "time", 0);
    ilk_register_free(a);
}

/* ---- many at once ------------------------------------------------------- */

enum { COUNTERS = 8, COUNTS = 50 };

static void *count_up(void *arg)
{
    ilk_register *reg = arg;
    ilk_error err = {0};
    int counted = 0;
    ilk_status st = ilk_register_get(reg, &err);

    while (counted < COUNTS && (st == ILK_OK || st == ILK_ESTALE)) {
        const char *value = ilk_register_value(reg, NULL);
        char text[16];

        snprintf(text, sizeof text, "%d", (value ? atoi(value) : 0) + 1);
        st = ilk_register_cas(reg, ilk_register_version(reg), text,
                              strlen(text), &err);
        counted += st == ILK_OK;
    }
    return counted == COUNTS ? NULL : arg;
}

/* No increment is lost: of two that began with one version, one is refused. */
TEST(many_that_count_up_by_cas_lose_nothing)
{
    ilk_register *regs[COUNTERS];
    pthread_t threads[COUNTERS];
    ilk_error err = {0};
    void *failed;

    for (int i = 0; i < COUNTERS; i++) {
        regs[i] = open_register(i % 2 ? client : other, "count");
        pthread_create(&threads[i], NULL, count_up, regs[i]);
    }
    for (int i = 0; i < COUNTERS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_status(ILK_OK, ilk_register_get(regs[0], &err));
    assert_seen(regs[0], "400", 3);
    for (int i = 0; i < COUNTERS; i++)
        ilk_register_free(regs[i]);
}

static void *set_often(void *arg)
{
    ilk_error err = {0};

    for (int i = 0; i < 300; i++)
        if (i % 3 == 2 ? ilk_register_delete(arg, ILK_REGISTER_ANY, &err)
                       : ilk_register_set(arg, "v", 1, &err))
            if (err.code != ILK_ESTALE)
                return arg;
    return NULL;
}

/* Some in between may be skipped; none comes twice or late, the last never
 * fails to come. */
TEST(a_follower_of_two_that_race_sees_the_last)
{
    ilk_register *a = open_register(client, "race"),
                 *b = open_register(client, "race"),
                 *follower = open_register(other, "race");
    pthread_t threads[2];
    ilk_error err = {0};
    int64_t seen = 0;
    void *failed;

    pthread_create(&threads[0], NULL, set_often, a);
    pthread_create(&threads[1], NULL, set_often, b);
    while (ilk_register_wait(follower, seen, 700, &err) == ILK_OK) {
        assert_true(ilk_register_version(follower) > seen);
        seen = ilk_register_version(follower);
    }
    assert_int_equal(ILK_ETIMEOUT, err.code);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_status(ILK_OK, ilk_register_get(a, &err));
    assert_int_equal(ilk_register_version(a), seen);
    ilk_register_free(a);
    ilk_register_free(b);
    ilk_register_free(follower);
}

/* ---- started ------------------------------------------------------------ */

TEST(a_started_cas_leaves_what_it_saw_in_the_handle)
{
    ilk_register *a = open_register(client, "started"),
                 *b = open_register(client, "started");
    ilk_error err = {0};
    ilk_op *op;
    int64_t version;

    assert_status(ILK_OK, ilk_register_set_start(&op, a, "one", 3, &err));
    assert_ends(ILK_OK, client, op);
    assert_seen(a, "one", 3);
    version = ilk_register_version(a);

    assert_status(ILK_OK,
                  ilk_register_cas_start(&op, b, version - 1, "no", 2, &err));
    assert_ends(ILK_ESTALE, client, op);
    assert_seen(b, "one", 3);
    assert_int_equal(version, ilk_register_version(b));

    assert_status(ILK_OK, ilk_register_wait_start(&op, b, version, -1, &err));
    turn_until(client, "1", "ZCARD ilk:register:wait:{started}");
    assert_status(ILK_OK, ilk_register_delete(a, version, &err));
    assert_ends(ILK_OK, client, op);
    assert_nothing_seen(b);
    assert_int_equal(ilk_register_version(a), ilk_register_version(b));
    ilk_register_free(a);
    ilk_register_free(b);
}
