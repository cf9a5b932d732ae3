/* SPDX-License-Identifier: MIT */
/* ct_semaphore_wait_queue.c -- waiting for permits: order, cost, ends of
 * waits. */
#include "fork_case.h"
#include "semaphore_case.h"
#include "started.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(server_flush, NULL);

/* ---- order -------------------------------------------------------------- */

/* 3 of 3 taken; then stand in the wait queue: 1, 2, 3, 1 permits. */
TEST(as_many_heads_as_fit_enter_and_nobody_overtakes)
{
    static const int32_t wants[] = {1, 2, 3, 1};
    ilk_client *clients[] = {open_client(), open_client()};
    ilk_semaphore *all = open_semaphore_with(clients[0], "fifo", 3, 3, 0, 0);
    ilk_semaphore *s[4];
    ilk_error err = {0};
    sem_taker t[4];
    int64_t at;

    assert_status(ILK_OK, ilk_semaphore_acquire(all, 0, &err));
    for (int i = 0; i < 4; i++) {
        s[i] = open_semaphore_with(clients[i % 2], "fifo", 3, wants[i], 0, 0);
        start_sem_taker(&t[i], s[i], -1);
        await_queued("fifo", i + 1);
    }

    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_semaphore_release(all, &err));
    assert_sem_took(ILK_OK, &t[0]);
    assert_sem_took(ILK_OK, &t[1]);
    assert_on_time(t[1].ended_at - at, 0);
    assert_true(ilk_semaphore_fence(s[1]) > ilk_semaphore_fence(s[0]));
    assert_status(ILK_OK, ilk_semaphore_release(s[0], &err));
    assert_still_waits(&t[2]); /* one is free, it wants three */
    assert_still_waits(&t[3]); /* wants one, and stands behind */
    assert_status(ILK_OK, ilk_semaphore_release(s[1], &err));
    assert_sem_took(ILK_OK, &t[2]);
    assert_still_waits(&t[3]);
    assert_status(ILK_OK, ilk_semaphore_release(s[2], &err));
    assert_sem_took(ILK_OK, &t[3]);
    for (int i = 0; i < 4; i++)
        ilk_semaphore_free(s[i]);
    ilk_semaphore_free(all);
    ilk_client_free(clients[0]);
    ilk_client_free(clients[1]);
}

TEST(one_that_gives_up_lets_those_behind_in)
{
    ilk_client *client = open_client();
    ilk_semaphore *one = open_semaphore(client, "up", 2);
    ilk_semaphore *big = open_semaphore_with(client, "up", 2, 2, 0, 0);
    ilk_semaphore *small = open_semaphore(client, "up", 2);
    ilk_error err = {0};
    sem_taker tb, ts;
    int64_t at;

    assert_status(ILK_OK, ilk_semaphore_acquire(one, 0, &err));
    start_sem_taker(&tb, big, -1);
    await_queued("up", 1);
    start_sem_taker(&ts, small, -1);
    await_queued("up", 2);
    assert_still_waits(&ts);

    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_semaphore_cancel(big, &err));
    assert_sem_took(ILK_ECANCELLED, &tb);
    assert_sem_took(ILK_OK, &ts);
    assert_on_time(ts.ended_at - at, 0);
    assert_int_equal(2, permits_taken("up"));
    ilk_semaphore_free(one);
    ilk_semaphore_free(big);
    ilk_semaphore_free(small);
    ilk_client_free(client);
}

TEST(a_time_out_is_kept_and_leaves_nothing)
{
    ilk_client *client = open_client();
    ilk_semaphore *holder = open_semaphore(client, "late", 1);
    ilk_semaphore *s = open_semaphore(client, "late", 1);
    ilk_error err = {0};
    int64_t at;

    assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
    at = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, ilk_semaphore_acquire(s, 300, &err));
    assert_on_time(fixture_now_ms() - at, 300);
    await_queued("late", 0);
    ilk_semaphore_free(holder);
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

static int64_t scripts_run(void)
{
    const char *info = fixture_command(&fx, "INFO commandstats");
    const char *at = strstr(info, "cmdstat_evalsha:calls=");

    assert_non_null(at);
    return strtoll(at + strlen("cmdstat_evalsha:calls="), NULL, 10);
}

TEST(a_barger_passes_those_who_wait)
{
    ilk_client *client = open_client();
    ilk_semaphore *one = open_semaphore(client, "barge", 2);
    ilk_semaphore *big = open_semaphore_with(client, "barge", 2, 2, 0, 0);
    ilk_semaphore *rude =
        open_semaphore_with(client, "barge", 2, 1, 0, ILK_SEMAPHORE_BARGE);
    ilk_semaphore *late =
        open_semaphore_with(client, "barge", 2, 2, 0, ILK_SEMAPHORE_BARGE);
    ilk_error err = {0};
    sem_taker t, tl;

    assert_status(ILK_OK, ilk_semaphore_acquire(one, 0, &err));
    start_sem_taker(&t, big, -1);
    await_queued("barge", 1);
    assert_status(ILK_OK, ilk_semaphore_acquire(rude, 0, &err));
    start_sem_taker(&tl, late, -1);
    await_queued("barge", 2);
    assert_memory_equal(
        "1 w ", fixture_command(&fx, "ZRANGE ilk:semaphore:wait:{barge} 1 1"),
        4);
    assert_status(ILK_OK, ilk_semaphore_release(one, &err));
    assert_still_waits(&t);
    fixture_command(&fx, "CONFIG RESETSTAT");
    assert_status(ILK_OK, ilk_semaphore_release(rude, &err)); /* wakes */
    assert_sem_took(ILK_OK, &t);
    assert_in_range(scripts_run(), 2, 4); /* it was not granted: it polled */
    assert_status(ILK_OK, ilk_semaphore_release(big, &err)); /* wakes it */
    assert_sem_took(ILK_OK, &tl);
    ilk_semaphore_free(one);
    ilk_semaphore_free(big);
    ilk_semaphore_free(rude);
    ilk_semaphore_free(late);
    ilk_client_free(client);
}

/* ---- what it costs ------------------------------------------------------ */

enum { CROWD = 24, TURNS = 40 };

static _Atomic int64_t turns_done;

static void *take_turns(void *arg)
{
    ilk_semaphore *s = arg;

    for (int i = 0; i < TURNS; i++)
        if (ilk_semaphore_acquire(s, 30000, NULL) == ILK_OK
            && ilk_semaphore_release(s, NULL) == ILK_OK)
            atomic_fetch_add(&turns_done, 1);
    return NULL;
}

/* And one refresh for each client every 2 s. */
TEST(an_acquisition_in_a_crowd_costs_two_commands)
{
    ilk_client *clients[4];
    ilk_semaphore *s[CROWD];
    pthread_t threads[CROWD];
    int64_t began = fixture_now_ms(), ran, refreshes;

    atomic_store(&turns_done, 0);
    for (int i = 0; i < 4; i++)
        clients[i] = open_client();
    for (int i = 0; i < CROWD; i++)
        s[i] = open_semaphore(clients[i % 4], "cost", 3);
    fixture_command(&fx, "CONFIG RESETSTAT");
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(0,
                         pthread_create(&threads[i], NULL, take_turns, s[i]));
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    ran = scripts_run();
    refreshes = 4 * (1 + (fixture_now_ms() - began) / 2000);
    print_message("%lld scripts for %d acquisitions\n", (long long)ran,
                  CROWD * TURNS);

    assert_int_equal(CROWD * TURNS, atomic_load(&turns_done));
    /* The first of each handle may try before its client has an inbox. On a busy
     * machine a few ask again: 2.05 for each is the goal of the benchmark. */
    assert_in_range(ran, 2 * CROWD * TURNS,
                    2 * CROWD * TURNS + CROWD * TURNS / 20 + CROWD + refreshes);
    for (int i = 0; i < CROWD; i++)
        ilk_semaphore_free(s[i]);
    for (int i = 0; i < 4; i++)
        ilk_client_free(clients[i]);
}

/* ---- ends of waits ------------------------------------------------------ */

TEST(a_signal_parks_the_wait_and_acquire_takes_it_up)
{
    ilk_client *client = open_client();
    ilk_semaphore *holder = open_semaphore(client, "park", 1);
    ilk_semaphore *s = open_semaphore(client, "park", 1);
    ilk_error err = {0};
    sem_taker t;

    fixture_wake_on(SIGUSR1);
    assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
    start_sem_taker(&t, s, -1);
    await_queued("park", 1);
    while (!atomic_load(&t.done)) { /* one that meets no wait ends none */
        pthread_kill(t.thread, SIGUSR1);
        fixture_sleep_ms(10);
    }
    assert_sem_took(ILK_EINTR, &t);
    await_queued("park", 1);
    assert_status(ILK_OK, ilk_semaphore_release(holder, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(s, patience(2000), &err));
    ilk_semaphore_free(holder);
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

TEST(close_ends_a_wait)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_semaphore *holder = open_semaphore(client, "close", 1);
    ilk_semaphore *s = open_semaphore(other, "close", 1);
    ilk_error err = {0};
    sem_taker t;

    assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
    start_sem_taker(&t, s, -1);
    await_queued("close", 1);
    assert_status(ILK_OK, ilk_client_close(other, &err));
    assert_sem_took(ILK_ECLOSED, &t);
    ilk_semaphore_free(holder);
    ilk_semaphore_free(s);
    ilk_client_free(client);
    ilk_client_free(other);
}

TEST(a_handle_freed_while_suspended_gives_its_place_up)
{
    ilk_client *client = open_client();
    ilk_semaphore *holder = open_semaphore(client, "free", 1);
    ilk_semaphore *s = open_semaphore(client, "free", 1);
    ilk_error err = {0};
    sem_taker t;

    assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
    start_sem_taker(&t, s, -1);
    await_queued("free", 1);
    ilk_client_interrupt(client);
    assert_sem_took(ILK_EINTR, &t);
    ilk_semaphore_free(s);
    await_queued("free", 0);
    ilk_semaphore_free(holder);
    ilk_client_free(client);
}

/* A grant for a token that nobody here waits under goes to the next. */
TEST(an_orphaned_grant_is_passed_on)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_semaphore *holder = open_semaphore(client, "pass", 1);
    ilk_semaphore *s = open_semaphore(other, "pass", 1);
    ilk_error err = {0};
    sem_taker t;
    char entry[256], waiter[64];
    int64_t at;

    assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
    start_sem_taker(&t, s, -1);
    await_queued("pass", 1);
    /* a waiter of the same client that has gone without a word */
    snprintf(entry, sizeof entry, "1 p %s %s ghost 10000 1 x",
             ilk_client_id(other),
             fixture_first_waiter(&fx, "ilk:semaphore:wait:{pass}", waiter));
    assert_string_equal("1",
                        fixture_call(&fx, "ZADD", "ilk:semaphore:wait:{pass}",
                                     "0", entry, (char *)NULL));
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_semaphore_release(holder, &err));
    assert_sem_took(ILK_OK, &t);
    assert_on_time(t.ended_at - at, 0);
    assert_int_equal(1, permits_taken("pass"));
    ilk_semaphore_free(holder);
    ilk_semaphore_free(s);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* In the child of a fork: a grant for a ghost comes before that of s. */
static void demand_passed_on(ilk_client *client, ilk_semaphore *s,
                             ilk_semaphore *holder)
{
    int64_t until = fixture_now_ms() + 4000; /* less than a ghost's lease */
    char entry[256], waiter[64];
    ilk_op *op = NULL;

    demand(ilk_client_reopen(client, NULL) == ILK_OK);
    demand(ilk_semaphore_acquire(holder, 0, NULL) == ILK_OK);
    demand(ilk_semaphore_acquire_start(&op, s, -1, 0, NULL) == ILK_OK);
    while (
        fixture_now_ms() < until
        && *fixture_call(&fx, "ZCARD", "ilk:semaphore:wait:{kid}", (char *)NULL)
               == '0')
        (void)turn(client, 10);
    snprintf(entry, sizeof entry, "1 p %s %s ghost 10000 1 x",
             ilk_client_id(client),
             fixture_first_waiter(&fx, "ilk:semaphore:wait:{kid}", waiter));
    (void)fixture_call(&fx, "ZADD", "ilk:semaphore:wait:{kid}", "0", entry,
                       (char *)NULL);
    demand(ilk_semaphore_release(holder, NULL) == ILK_OK);
    while (fixture_now_ms() < until && ilk_op_status(op, NULL) == ILK_EAGAIN)
        (void)turn(client, 10);
    demand(ilk_op_status(op, NULL) == ILK_OK);
    ilk_op_free(op);
}

TEST(an_orphaned_grant_is_passed_on_by_a_reopened_client)
{
    ilk_client *client = open_client();
    ilk_semaphore *holder = open_semaphore(client, "kid", 1);
    ilk_semaphore *s = open_semaphore(client, "kid", 1);
    pid_t pid;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    pid = fork_now();
    if (pid == 0) {
        demand_passed_on(client, s, holder);
        _exit(0);
    }
    assert_ends_well(pid);
    ilk_semaphore_free(holder);
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

TEST(a_wait_outlives_a_server_that_forgets_all)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_semaphore *holder = open_semaphore(client, "lost", 2);
    ilk_semaphore *s = open_semaphore_with(other, "lost", 2, 2, 0, 0);
    ilk_error err = {0};
    sem_taker t;

    assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
    start_sem_taker(&t, s, 20000);
    await_queued("lost", 1);
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));

    assert_sem_took(ILK_OK, &t);

    assert_int_equal(2, permits_taken("lost"));
    assert_status(ILK_OK, ilk_semaphore_release(s, &err));
    ilk_semaphore_free(holder);
    ilk_semaphore_free(s);
    ilk_client_free(client);
    ilk_client_free(other);
}
