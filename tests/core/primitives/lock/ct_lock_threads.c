/* SPDX-License-Identifier: MIT */
/* ct_lock_threads.c -- many threads on one client, and threads that get into
 * each other's way. */
#include "lock_thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_client_stats stats_of(ilk_client *client)
{
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_get_stats(client, &stats, &err));
    return stats;
}

/* A holder of another client, and one of ours who waits. */
typedef struct scene {
    ilk_client *other, *client;
    ilk_lock *holder, *lock;
    taker t;
} scene;

static void set_scene(scene *s, const char *name)
{
    ilk_error err = {0};

    s->other = open_client();
    s->client = open_client();
    s->holder = open_lock(s->other, name);
    s->lock = open_lock(s->client, name);
    assert_status(ILK_OK, ilk_lock_acquire(s->holder, 0, &err));
    start_taker(&s->t, s->lock, -1);
    await_waiters(name, 1);
    fixture_sleep_ms(10); /* and sleeps */
}

static void clear_scene(scene *s)
{
    ilk_lock_free(s->holder);
    ilk_lock_free(s->lock);
    ilk_client_free(s->other);
    ilk_client_free(s->client);
}

/* ---- in each other's way ------------------------------------------------ */

TEST(second_thread_on_a_handle_is_refused)
{
    ilk_error err = {0};
    scene s;

    set_scene(&s, "shared");
    assert_status(ILK_EHELD, ilk_lock_acquire(s.lock, -1, &err));
    assert_string_equal("the handle is in use by another thread or task",
                        err.msg);
    assert_status(ILK_EHELD, ilk_lock_release(s.lock, &err));
    assert_status(ILK_EHELD, ilk_lock_check(s.lock, &err));
    assert_status(ILK_EHELD, ilk_lock_adopt(s.lock, "token", 5, &err));
    assert_int_equal(0, ilk_lock_held(s.lock));
    assert_status(ILK_OK, ilk_lock_release(s.holder, &err));
    assert_took(ILK_OK, &s.t);
    clear_scene(&s);
}

TEST(closing_the_client_ends_its_waits_at_once)
{
    ilk_error err = {0};
    int64_t closed_at;
    scene s;

    set_scene(&s, "closed");
    closed_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_client_close(s.client, &err));
    assert_took(ILK_ECLOSED, &s.t);
    assert_on_time(s.t.ended_at - closed_at, 0);
    assert_int_equal(
        0, fixture_await(&fx, "0", 3000, "ZCARD ilk:lock:wait:{closed}"));
    assert_status(ILK_ECLOSED, ilk_lock_acquire(s.lock, 0, &err));
    assert_status(ILK_ECLOSED, ilk_lock_release(s.lock, &err));
    assert_status(ILK_ECLOSED, ilk_client_ping(s.client, 0, &err));
    assert_status(ILK_OK, ilk_client_close(s.client, &err));
    clear_scene(&s);
}

static void *close_client(void *client)
{
    return ilk_client_close(client, NULL) ? client : NULL;
}

TEST(closing_the_client_under_calls_ends_them)
{
    pthread_t closer;

    for (int i = 0; i < 20; i++) {
        ilk_client *client = open_client();
        ilk_lock *lock = open_lock(client, "under");
        ilk_status st = ILK_OK;

        pthread_create(&closer, NULL, close_client, client);
        for (int n = 0; n < 100000 && st == ILK_OK; n++) {
            st = ilk_lock_acquire(lock, 0, NULL);
            if (st == ILK_OK)
                st = ilk_lock_release(lock, NULL);
        }
        assert_string_equal("ILK_ECLOSED", ilk_status_name(st));
        pthread_join(closer, NULL);
        ilk_lock_free(lock);
        ilk_client_free(client);
        fixture_command(&fx, "DEL under");
    }
}

/* Until it has ended: an interrupt from before its call ends no wait. */
static void interrupt_client(ilk_client *client, const taker *t)
{
    for (int i = 0; i < 500 && !atomic_load(&t->done); i++) {
        ilk_client_interrupt(client);
        fixture_sleep_ms(10);
    }
}

TEST(interrupted_wait_keeps_its_place)
{
    ilk_error err = {0};
    ilk_lock *second;
    int64_t at;
    taker later;
    scene s;

    set_scene(&s, "place");
    second = open_lock(s.other, "place");
    start_taker(&later, second, -1);
    await_waiters("place", 2);
    for (int i = 0; i < 5; i++) {
        at = fixture_now_ms();
        interrupt_client(s.client, &s.t);
        assert_took(ILK_EINTR, &s.t);
        assert_on_time(s.t.ended_at - at, 0);
        assert_int_equal(2, fixture_int(&fx, "ZCARD ilk:lock:wait:{place}"));
        start_taker(&s.t, s.lock, -1);
    }
    interrupt_client(s.client, &s.t);
    assert_took(ILK_EINTR, &s.t);
    assert_status(ILK_OK, ilk_lock_release(s.holder, &err));
    assert_status(ILK_OK,
                  ilk_lock_acquire(s.lock, patience(5000), &err)); /* first */
    assert_false(atomic_load(&later.done));
    assert_status(ILK_OK, ilk_lock_release(s.lock, &err));
    assert_took(ILK_OK, &later);
    ilk_lock_free(second);
    clear_scene(&s);
}

TEST(interrupt_of_a_client_that_does_not_wait_is_no_trap)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "calm"), *b = open_lock(client, "calm");
    ilk_error err = {0};

    ilk_client_interrupt(NULL);
    ilk_client_interrupt(client);
    assert_status(ILK_OK, ilk_lock_acquire(a, patience(1000), &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(b, 50, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(cancelled_wait_leaves_the_queue)
{
    ilk_error err = {0};
    int64_t at;
    scene s;

    set_scene(&s, "cancel");
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_cancel(s.lock, &err));
    assert_took(ILK_ECANCELLED, &s.t);
    assert_on_time(s.t.ended_at - at, 0);
    await_waiters("cancel", 0);
    assert_status(ILK_OK, ilk_lock_cancel(s.lock, &err)); /* nothing waits */
    assert_status(ILK_OK, ilk_lock_release(s.holder, &err));
    assert_status(ILK_OK, ilk_lock_acquire(s.lock, patience(1000), &err));
    assert_status(ILK_OK, ilk_lock_cancel(s.lock, &err)); /* it holds */
    assert_status(ILK_OK, ilk_lock_check(s.lock, &err));
    clear_scene(&s);
}

static void *cancel_wait(void *arg)
{
    ilk_lock_cancel(arg, NULL);
    return NULL;
}

/* The keeper also ends suspended waits, but not before 6 s. */
TEST(cancel_and_request_may_both_end_a_suspended_wait)
{
    ilk_error err = {0};
    pthread_t canceller;
    scene s;

    set_scene(&s, "both");
    for (int i = 0; i < 20; i++) {
        interrupt_client(s.client, &s.t);
        assert_took(ILK_EINTR, &s.t);
        pthread_create(&canceller, NULL, cancel_wait, s.lock);
        assert_status(ILK_ENOTOWNER, ilk_lock_release(s.lock, &err));
        pthread_join(canceller, NULL);
        assert_int_equal(0, stats_of(s.client).waiting);
        await_waiters("both", 0);
        start_taker(&s.t, s.lock, -1);
        await_waiters("both", 1);
    }
    assert_status(ILK_OK, ilk_lock_release(s.holder, &err));
    assert_took(ILK_OK, &s.t);
    clear_scene(&s);
}

TEST(cancelled_grant_goes_to_the_next)
{
    ilk_error err = {0};
    int64_t at;
    taker next;
    ilk_lock *lock;
    scene s;

    set_scene(&s, "passed");
    ilk_client_interrupt(s.client); /* suspended: nobody takes the grant */
    assert_took(ILK_EINTR, &s.t);
    lock = open_lock(s.other, "passed");
    start_taker(&next, lock, -1);
    await_waiters("passed", 2);
    assert_status(ILK_OK, ilk_lock_release(s.holder, &err));
    fixture_sleep_ms(20);
    assert_false(atomic_load(&next.done));
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_cancel(s.lock, &err));
    assert_took(ILK_OK, &next);
    assert_on_time(next.ended_at - at, 0);
    ilk_lock_free(lock);
    clear_scene(&s);
}

TEST(client_may_be_freed_before_its_handles)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "order:a"), *b = open_lock(client, "o:b");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    ilk_client_free(client);
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, 0, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(NULL);
}

/* ---- crowds ------------------------------------------------------------- */

enum { THREADS = 64, NAMES = 4 };

typedef struct counter {
    int64_t value, fence; /* plain: the lock alone guards them */
} counter;

typedef struct worker {
    pthread_t thread;
    ilk_client *client;
    counter *counters;
    int rounds, failures, disorders;
    ilk_error err;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    ilk_lock *locks[NAMES];

    for (int n = 0; n < NAMES; n++) {
        char name[] = {'n', (char)('0' + n), '\0'};

        if (ilk_lock_open(&locks[n], w->client, name, 2, NULL, &w->err))
            w->failures++;
    }
    for (int i = 0; i < w->rounds && !w->failures; i++) {
        counter *c = &w->counters[i % NAMES];
        ilk_lock *lock = locks[i % NAMES];

        w->failures += ilk_lock_acquire(lock, 60000, &w->err) != ILK_OK;
        c->value++;
        w->disorders += ilk_lock_fence(lock) <= c->fence;
        c->fence = ilk_lock_fence(lock);
        w->failures += ilk_lock_release(lock, &w->err) != ILK_OK;
    }
    for (int n = 0; n < NAMES; n++)
        ilk_lock_free(locks[n]);
    return NULL;
}

TEST(threads_of_one_client_exclude_each_other)
{
    const int rounds = NAMES * OFTEN(50);
    ilk_client *client = open_client();
    counter counters[NAMES] = {{0, 0}};
    worker workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i] =
            (worker){.client = client, .counters = counters, .rounds = rounds};
        assert_int_equal(
            0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].failures)
            print_error("thread %d: %s\n", i, workers[i].err.msg);
        assert_int_equal(0, workers[i].failures);
        assert_int_equal(0, workers[i].disorders);
    }
    for (int n = 0; n < NAMES; n++)
        assert_int_equal(THREADS * rounds / NAMES, counters[n].value);
    assert_in_range(stats_of(client).connections, 1, 6);
    assert_in_range(stats_of(client).connects, 1, 6);
    ilk_client_free(client);
}

enum { WAITERS = 1000 };

typedef struct sleeper {
    pthread_t thread;
    ilk_client *client;
    int *turn; /* guarded by the lock */
    ilk_status status;
} sleeper;

static void *sleep_queued(void *arg)
{
    sleeper *s = arg;
    ilk_lock *lock = NULL;

    s->status = ilk_lock_open(&lock, s->client, "line", 4, NULL, NULL);
    if (s->status == ILK_OK)
        s->status = ilk_lock_acquire(lock, -1, NULL);
    if (s->status == ILK_OK) {
        ++*s->turn;
        s->status = ilk_lock_release(lock, NULL);
    }
    ilk_lock_free(lock);
    return NULL;
}

static int64_t cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000
           + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

TEST(thousand_waiters_share_three_connections)
{
    static sleeper sleepers[WAITERS];
    ilk_client *client = open_client();
    ilk_lock *holder = open_lock(client, "line");
    ilk_error err = {0};
    pthread_attr_t small;
    int64_t cpu;
    int turn = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    for (int i = 0; i < WAITERS; i++) {
        sleepers[i] = (sleeper){.client = client, .turn = &turn};
        assert_int_equal(0, pthread_create(&sleepers[i].thread, &small,
                                           sleep_queued, &sleepers[i]));
    }
    await_waiters("line", WAITERS);
    assert_in_range(stats_of(client).connections, 2, 6);
    assert_int_equal(WAITERS, stats_of(client).waiting);
    cpu = cpu_ms();
    fixture_sleep_ms(2500); /* a refresh goes by */
    assert_true(cpu_ms() - cpu < 250);
    assert_int_equal(WAITERS, stats_of(client).waiting);

    assert_status(ILK_OK, ilk_lock_release(holder, &err));
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(sleepers[i].thread, NULL);
        assert_string_equal("ILK_OK", ilk_status_name(sleepers[i].status));
    }
    assert_int_equal(WAITERS, turn);
    assert_in_range(stats_of(client).connects, 2, 6);
    pthread_attr_destroy(&small);
    ilk_lock_free(holder);
    ilk_client_free(client);
}
