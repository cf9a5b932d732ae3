/* SPDX-License-Identifier: MIT */
/* ct_lock.c -- taking, keeping and giving up a lock on a server that is well. */
#include "lock_thread.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_client_stats stats_of(ilk_client *client)
{
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_get_stats(client, &stats, &err));
    return stats;
}

/* ---- taking ------------------------------------------------------------- */

TEST(pair_costs_two_commands_and_two_round_trips)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "pair");
    ilk_client_stats before, after;
    ilk_error err = {0};

    for (int i = 0; i < 2; i++) { /* the first run loads the scripts */
        before = stats_of(client);
        fixture_command(&fx, "CONFIG RESETSTAT");
        assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
    }
    after = stats_of(client);

    assert_int_equal(2, after.commands - before.commands);
    assert_int_equal(2, after.writes - before.writes);
    assert_non_null(strstr(fixture_command(&fx, "INFO commandstats"),
                           "cmdstat_evalsha:calls=2,"));
    assert_null(strstr(fx.reply, "cmdstat_eval:"));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(try_of_a_held_lock_is_busy_at_once)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "try"), *b = open_lock(client, "try");
    ilk_error err = {0};
    int64_t began;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    began = fixture_now_ms();
    assert_status(ILK_EBUSY, ilk_lock_acquire(b, 0, &err));
    assert_on_time(fixture_now_ms() - began, 0);
    assert_int_equal(0, ilk_lock_held(b));
    assert_status(ILK_ENOTOWNER, ilk_lock_release(b, &err));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, 0, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(wait_ends_at_its_deadline)
{
    static const int64_t timeouts[] = {1, 10, 100, 700};
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "timed"), *b = open_lock(client, "timed");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        int64_t began = fixture_now_ms();

        assert_status(ILK_ETIMEOUT, ilk_lock_acquire(b, timeouts[i], &err));
        assert_on_time(fixture_now_ms() - began, timeouts[i]);
    }
    await_waiters("timed", 0);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(wait_without_end_gets_the_lock_when_it_is_released)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "end"), *b = open_lock(client, "end");
    ilk_error err = {0};
    int64_t released_at;
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, -1, &err));
    start_taker(&t, b, -1);
    await_waiters("end", 1);
    released_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_release(a, &err));

    assert_took(ILK_OK, &t);

    assert_on_time(t.ended_at - released_at, 0);
    assert_true(ilk_lock_fence(b) > ilk_lock_fence(a));
    assert_string_equal(ilk_lock_token(b), fixture_command(&fx, "GET end"));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(handle_that_holds_cannot_acquire)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "twice");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_EHELD, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_EHELD, ilk_lock_acquire(lock, -1, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(reentrant_handle_counts)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "nest", 0, ILK_LOCK_REENTRANT);
    ilk_error err = {0};
    int64_t fence;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fence = ilk_lock_fence(lock);
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    for (int i = 0; i < 2; i++) {
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
        assert_int_equal(1, ilk_lock_held(lock));
        assert_int_equal(1, fixture_int(&fx, "EXISTS nest"));
    }
    assert_int_equal(fence, ilk_lock_fence(lock));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_int_equal(0, fixture_int(&fx, "EXISTS nest"));
    assert_status(ILK_ENOTOWNER, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(second_release_owns_nothing)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "double"), *b = open_lock(client, "double");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, 0, &err));
    assert_status(ILK_ENOTOWNER, ilk_lock_release(a, &err));
    assert_status(ILK_ENOTOWNER, ilk_lock_extend(a, 0, &err));
    assert_status(ILK_ENOTOWNER, ilk_lock_check(a, &err));
    assert_status(ILK_ENOTOWNER, ilk_lock_detach(a, &err));
    assert_string_equal(ilk_lock_token(b), fixture_command(&fx, "GET double"));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

/* ---- leases ------------------------------------------------------------- */

TEST(renewal_keeps_a_short_lease_for_long)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "renewed", 1200, 0);
    int64_t until = fixture_now_ms() + 3000;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    while (fixture_now_ms() < until) {
        assert_string_equal(ilk_lock_token(lock),
                            fixture_command(&fx, "GET renewed"));
        assert_int_equal(1, ilk_lock_held(lock));
        fixture_sleep_ms(20);
    }
    assert_true(stats_of(client).renewals >= 4);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_int_equal(0, stats_of(client).held);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(extend_sets_the_lease_left)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "ext", 2000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_extend(lock, 60000, &err));
    assert_in_range(fixture_int(&fx, "PTTL ext"), 50000, 60000);
    assert_in_range(ilk_lock_remaining_ms(lock), 50000, 59400);
    assert_status(ILK_OK, ilk_lock_extend(lock, 1000, &err));
    assert_in_range(fixture_int(&fx, "PTTL ext"), 500, 1000);
    assert_status(ILK_OK, ilk_lock_extend(lock, 0, &err));
    assert_in_range(fixture_int(&fx, "PTTL ext"), 1500, 2000);
    assert_status(ILK_EINVAL, ilk_lock_extend(lock, -5, &err));
    assert_string_equal("ttl_ms must be 3 to 31622400000 (0: the default), "
                        "got -5",
                        err.msg);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_negative_timeout_is_refused)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "negative");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_EINVAL, ilk_lock_acquire(lock, -5, &err));
    assert_string_equal("timeout_ms must be -1 (for ever) or more, got -5",
                        err.msg);
    assert_status(ILK_EINVAL,
                  ilk_lock_acquire_start(&op, lock, INT64_MIN, 0, &err));
    assert_null(op);
    assert_int_equal(0, fixture_int(&fx, "EXISTS negative"));
    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_lease_that_cannot_be_held_is_refused)
{
    ilk_client *client = open_client();
    ilk_lock_opts opts = {.size = sizeof opts, .ttl_ms = 2};
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_EINVAL,
                  ilk_lock_open(&lock, client, "short", 5, &opts, &err));
    assert_string_equal("ttl_ms must be 3 to 31622400000 (0: the default), "
                        "got 2",
                        err.msg);
    assert_status(ILK_EINVAL,
                  ilk_rwlock_read_open(&lock, client, "short", 5, &opts, &err));
    opts.ttl_ms = ILK_LEASE_MIN_MS;
    assert_status(ILK_OK,
                  ilk_lock_open(&lock, client, "short", 5, &opts, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(lease_for_one_acquire)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "once", 0, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_EINVAL, ilk_lock_acquire_ttl(lock, 0, 2, &err));
    assert_int_equal(0, fixture_int(&fx, "EXISTS once"));
    assert_status(ILK_OK, ilk_lock_acquire_ttl(lock, 0, 1000, &err));
    assert_in_range(fixture_int(&fx, "PTTL once"), 500, 1000);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_in_range(fixture_int(&fx, "PTTL once"), 29000, 30000);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(check_within_the_lease_sends_nothing)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "check", 1500, ILK_LOCK_NO_RENEW);
    ilk_client_stats before;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    before = stats_of(client);
    for (int i = 0; i < 10; i++)
        assert_status(ILK_OK, ilk_lock_check(lock, &err));
    assert_int_equal(before.commands, stats_of(client).commands);

    fixture_command(&fx, "PEXPIRE check 30000"); /* past ours: ask the server */
    fixture_sleep_ms(1520);
    assert_int_equal(0, ilk_lock_held(lock));
    assert_status(ILK_OK, ilk_lock_check(lock, &err));
    assert_true(stats_of(client).commands > before.commands);
    assert_int_equal(1, ilk_lock_held(lock));
    fixture_command(&fx, "DEL check");
    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

static int64_t sure_for(ilk_lock *lock, const char *name)
{
    int64_t server = fixture_int(&fx, "PTTL %s", name);
    int64_t local = ilk_lock_remaining_ms(lock);

    assert_true(local <= server);
    return local;
}

TEST(remaining_is_never_more_than_the_server_knows)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock_with(client, "sure", 2000, ILK_LOCK_NO_RENEW);
    ilk_lock *b = open_lock_with(client, "sure", 5000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};
    taker t;

    for (int i = 0; i < 60; i++) {
        assert_status(ILK_OK, ilk_lock_acquire_ttl(a, 0, 1000 + i, &err));
        assert_true(sure_for(a, "sure") > 0);
        assert_status(ILK_OK, ilk_lock_extend(a, 5000 + i, &err));
        assert_true(sure_for(a, "sure") > 3000);
        start_taker(&t, b, -1);
        await_waiters("sure", 1);
        fixture_sleep_ms(i % 5);
        assert_status(ILK_OK, ilk_lock_release(a, &err));
        assert_took(ILK_OK, &t); /* was granted */
        assert_true(sure_for(b, "sure") > 3000);
        assert_status(ILK_OK, ilk_lock_release(b, &err));
    }
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

/* ---- fences ------------------------------------------------------------- */

static int64_t next_fence(ilk_lock *lock, int64_t last)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(5000), &err));
    assert_true(ilk_lock_fence(lock) > last);
    assert_true(ilk_lock_fence(lock) < INT64_C(1) << 53);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    return ilk_lock_fence(lock);
}

TEST(fence_rises_through_flush_and_restart)
{
    ilk_client *a = open_client(), *b = open_client();
    ilk_lock *locks[] = {open_lock(a, "fence"), open_lock(b, "fence")};
    int64_t last = 0;

    for (int i = 0; i < 50; i++)
        last = next_fence(locks[i % 2], last);
    fixture_command(&fx, "FLUSHALL");
    last = next_fence(locks[1], last);
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    last = next_fence(locks[0], last);
    last = next_fence(locks[1], last);
    for (int i = 0; i < 2; i++)
        ilk_lock_free(locks[i]);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(fence_is_above_what_this_handle_has_seen)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "floor");
    int64_t ahead = INT64_C(1) << 52;

    fixture_command(&fx, "HSET ilk:lock:fence:{floor} fence %lld",
                    (long long)ahead);
    ahead = next_fence(lock, ahead);
    fixture_command(&fx, "FLUSHALL"); /* the clock alone is far below */
    next_fence(lock, ahead);
    ilk_lock_free(lock);
    ilk_client_free(client);
}
