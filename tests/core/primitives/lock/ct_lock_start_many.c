/* SPDX-License-Identifier: MIT */
/* ct_lock_start_many.c -- thousands of started operations over one client. */
#include "started_case.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ALL = OFTEN(10000),
    QUEUED = 1000,
    MUCH = 100,
    LIMIT_MS = 60000,
    TOLD_MS = 5000
};

static ilk_lock *locks[ALL];
static ilk_op *ops[ALL];

/* Turn until so many have ended; returns how many were reported. */
static int turn_until_ended(int count)
{
    int64_t limit = fixture_now_ms() + patience(LIMIT_MS);
    int ended = 0;

    while (ended < count && fixture_now_ms() < limit)
        ended += turn(client, 100);
    return ended;
}

/* The same, but only when the descriptor says so. */
static int turn_when_told(ilk_client *of, int count)
{
    struct pollfd pfd = {.events = POLLIN};
    ilk_error err = {0};
    int ended = 0;

    assert_status(ILK_OK, ilk_client_notification_fd(of, &pfd.fd, &err));
    while (ended < count && poll(&pfd, 1, (int)patience(TOLD_MS)) == 1)
        ended += turn(of, 0);
    return ended;
}

static void assert_all_ended(int count, ilk_status expected)
{
    ilk_error err = {0};

    for (int i = 0; i < count; i++) {
        assert_status(expected, ilk_op_status(ops[i], &err));
        ilk_op_free(ops[i]);
        ops[i] = NULL;
    }
}

/* Each starts to acquire a name of its own: n0, n1, ... */
static void start_each(const char *prefix, int count)
{
    char name[32];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%d", prefix, i);
        locks[i] = open_lock(client, name);
        ops[i] = start_acquire(locks[i], -1);
    }
}

/* All start to acquire the same. */
static void start_queue(ilk_client *of, const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        locks[i] = open_lock(of, name);
        ops[i] = start_acquire(locks[i], -1);
    }
}

static void free_locks(int count)
{
    for (int i = 0; i < count; i++)
        ilk_lock_free(locks[i]);
}

static int64_t connections(void)
{
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_get_stats(client, &stats, &err));
    return stats.connections;
}

TEST(ten_thousand_acquires_are_in_flight_at_once)
{
    ilk_error err = {0};

    start_each("n", ALL);
    for (int i = 0; i < ALL; i++) /* nobody has looked for answers yet */
        assert_int_equal(ILK_EAGAIN, ilk_op_status(ops[i], NULL));
    assert_int_equal(ALL, turn_until_ended(ALL));
    assert_all_ended(ALL, ILK_OK);
    assert_in_range(connections(), 1, 3); /* lane, keeper, loop */
    for (int i = 0; i < ALL; i++)
        assert_true(ilk_lock_held(locks[i]));
    assert_int_equal(1, fixture_int(&fx, "EXISTS n%d", ALL - 1));

    for (int i = 0; i < ALL; i++)
        assert_status(ILK_OK, ilk_lock_release_start(&ops[i], locks[i], &err));
    assert_int_equal(ALL, turn_until_ended(ALL));
    assert_all_ended(ALL, ILK_OK);
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(0, fixture_int(&fx, "EXISTS n%d", i));
        ilk_lock_free(locks[i]);
    }
}

TEST(much_is_sent_before_the_next_turn)
{
    start_each("m", MUCH);
    assert_int_equal(0, fixture_await(&fx, "1", (int)patience(TOLD_MS),
                                      "EXISTS m%d", MUCH / 2));
    assert_int_equal(MUCH, turn_until_ended(MUCH));
    assert_all_ended(MUCH, ILK_OK);
    free_locks(MUCH);
}

TEST(ten_thousand_are_freed_while_under_way)
{
    start_each("f", ALL);
    for (int i = 0; i < ALL; i++)
        ilk_op_free(ops[i]);
    free_locks(ALL);
    for (int i = 0; i < ALL; i += 7)
        turn_until(client, "0", "EXISTS f%d", i);
}

TEST(a_queue_of_a_thousand_is_cancelled)
{
    ilk_lock *held = hold_elsewhere("line");
    ilk_error err = {0};

    start_queue(client, "line", QUEUED);
    await_lock_queue("line", "1000");
    for (int i = 0; i < QUEUED; i++)
        assert_status(ILK_OK, ilk_op_cancel(ops[i], &err));
    assert_int_equal(QUEUED, turn_until_ended(QUEUED));
    assert_all_ended(QUEUED, ILK_ECANCELLED);
    /* who has ended needs no turn of the loop */
    assert_int_equal(0, fixture_await(&fx, "0", (int)patience(TOLD_MS),
                                      "ZCARD ilk:lock:wait:{line}"));
    assert_nothing_left("line", held);
    free_locks(QUEUED);
}

/* The commands do not fit into the socket, and nobody reads there. */
TEST(a_queue_is_cancelled_while_the_server_stands)
{
    ilk_lock *held = hold_elsewhere("stands");
    ilk_client_opts opts;
    ilk_client *own;
    ilk_error err = {0};

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = patience(500);
    assert_status(ILK_OK, ilk_client_open(&own, fx.unix_url, &opts, &err));
    start_queue(own, "stands", MUCH);
    turn_until(own, "100", "ZCARD ilk:lock:wait:{stands}");
    assert_int_equal(0, fixture_pause(&fx));
    for (int i = 0; i < MUCH; i++)
        assert_status(ILK_OK, ilk_op_cancel(ops[i], &err));
    assert_status(ILK_EAGAIN, ilk_op_status(ops[MUCH - 1], &err));
    assert_status(ILK_OK, ilk_op_cancel(ops[MUCH - 1], &err));
    assert_int_equal(MUCH, turn_when_told(own, MUCH));
    assert_all_ended(MUCH, ILK_ECANCELLED);
    assert_int_equal(0, fixture_resume(&fx));
    assert_nothing_left("stands", held);
    free_locks(MUCH);
    ilk_client_free(own);
}

TEST(a_queue_of_a_thousand_is_served)
{
    ilk_lock *held = hold_elsewhere("served");
    ilk_error err = {0};
    int64_t fence = ilk_lock_fence(held);
    ilk_op *release;

    start_queue(client, "served", QUEUED);
    await_lock_queue("served", "1000");
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    for (int i = 0; i < QUEUED; i++) { /* in the order in which they came */
        assert_ends(ILK_OK, client, ops[i]);
        assert_true(ilk_lock_fence(locks[i]) > fence);
        fence = ilk_lock_fence(locks[i]);
        assert_status(ILK_OK, ilk_lock_release_start(&release, locks[i], &err));
        assert_ends(ILK_OK, client, release);
        ilk_lock_free(locks[i]);
    }
    assert_string_equal("0", fixture_command(&fx, "EXISTS served"));
    free_elsewhere(held);
}

/* A busy machine takes its time for the last reply of thousands. */
static int patient_setup(void)
{
    ilk_client_opts opts;
    ilk_error err = {0};

    if (server_setup() != 0)
        return -1;
    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = patience(5000);
    assert_status(ILK_OK, ilk_client_open(&client, fx.unix_url, &opts, &err));
    return 0;
}

AROUND_ALL(patient_setup, client_teardown);
