/* SPDX-License-Identifier: MIT */
/* ct_lock_signals.c -- signals, and descriptors that run out. */
#include "lock_thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static _Atomic int drops;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&drops, 1);
}

static int setup(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */

    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    return fixture_start(&fx, NULL);
}

AROUND_ALL(setup, server_teardown);

static void rain(int period_us)
{
    struct itimerval every = {{0, period_us}, {0, period_us}};

    assert_int_equal(0, setitimer(ITIMER_REAL, &every, NULL));
}

static void shelter(int how)
{
    sigset_t drop;

    sigemptyset(&drop);
    sigaddset(&drop, SIGALRM);
    pthread_sigmask(how, &drop, NULL);
}

/* ---- rain --------------------------------------------------------------- */

typedef struct walker {
    pthread_t thread;
    ilk_client *client;
    int *inside, *shared; /* guarded by the lock */
    int rounds, failures, interrupted;
    ilk_error err;
} walker;

static ilk_status acquire_in_rain(walker *w, ilk_lock *lock)
{
    ilk_status st;

    while ((st = ilk_lock_acquire(lock, 20000, &w->err)) == ILK_EINTR)
        w->interrupted++;
    return st;
}

static void *walk(void *arg)
{
    walker *w = arg;
    ilk_lock *lock = NULL;

    w->failures += ilk_lock_open(&lock, w->client, "rain", 4, NULL, &w->err);
    for (int i = 0; i < w->rounds && !w->failures; i++) {
        w->failures += acquire_in_rain(w, lock) != ILK_OK;
        w->failures += ++*w->inside != 1;
        ++*w->shared;
        fixture_sleep_ms(2); /* so that the others see rain while waiting */
        --*w->inside;
        w->failures += ilk_lock_release(lock, &w->err) != ILK_OK;
    }
    ilk_lock_free(lock);
    return NULL;
}

TEST(rain_of_signals_stops_nobody)
{
    ilk_client *clients[] = {open_client(), open_client()};
    walker walkers[4];
    int inside = 0, shared = 0, interrupted = 0;

    rain(1000);
    for (int i = 0; i < 4; i++) {
        walkers[i] = (walker){.client = clients[i % 2],
                              .inside = &inside,
                              .shared = &shared,
                              .rounds = 50};
        pthread_create(&walkers[i].thread, NULL, walk, &walkers[i]);
    }
    shelter(SIG_BLOCK); /* the kernel would send all of them to us */
    for (int i = 0; i < 4; i++) {
        pthread_join(walkers[i].thread, NULL);
        interrupted += walkers[i].interrupted;
    }
    rain(0);
    shelter(SIG_UNBLOCK);
    for (int i = 0; i < 4; i++) {
        if (walkers[i].failures)
            print_error("walker %d: %s\n", i, walkers[i].err.msg);
        assert_int_equal(0, walkers[i].failures);
    }
    assert_int_equal(200, shared);
    assert_true(atomic_load(&drops) > 100);
    assert_true(interrupted > 10); /* it did rain on those who waited */
    for (int i = 0; i < 2; i++)
        ilk_client_free(clients[i]);
}

typedef struct queuer {
    walker walker;
    ilk_lock *lock;
    int *turn, got_turn; /* the turn is guarded by the lock */
} queuer;

static void *queue_up(void *arg)
{
    queuer *q = arg;

    q->walker.failures = acquire_in_rain(&q->walker, q->lock) != ILK_OK;
    q->got_turn = ++*q->turn;
    q->walker.failures += ilk_lock_release(q->lock, NULL) != ILK_OK;
    return NULL;
}

TEST(order_holds_in_the_rain)
{
    ilk_client *client = open_client();
    ilk_lock *holder = open_lock(client, "queue");
    static queuer queuers[8];
    ilk_error err = {0};
    int turn = 0;

    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    rain(1000);
    for (int i = 0; i < 8; i++) {
        queuers[i].lock = open_lock(client, "queue");
        queuers[i].turn = &turn;
        pthread_create(&queuers[i].walker.thread, NULL, queue_up, &queuers[i]);
        await_waiters("queue", i + 1);
    }
    shelter(SIG_BLOCK);
    fixture_sleep_ms(50);
    assert_status(ILK_OK, ilk_lock_release(holder, &err));
    for (int i = 0; i < 8; i++)
        pthread_join(queuers[i].walker.thread, NULL);
    rain(0);
    shelter(SIG_UNBLOCK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(0, queuers[i].walker.failures);
        assert_int_equal(i + 1, queuers[i].got_turn);
        ilk_lock_free(queuers[i].lock);
    }
    ilk_lock_free(holder);
    ilk_client_free(client);
}

TEST(deadline_holds_in_the_rain)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "until"), *b = open_lock(client, "until");
    ilk_error err = {0};
    int64_t began, until;
    ilk_status st;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    rain(1000);
    began = fixture_now_ms();
    until = began + 300;
    do {
        int64_t left = until - fixture_now_ms();

        st = ilk_lock_acquire(b, left > 0 ? left : 0, &err);
    } while (st == ILK_EINTR);
    rain(0);
    assert_true(st == ILK_ETIMEOUT || st == ILK_EBUSY);
    assert_on_time(fixture_now_ms() - began, 300);
    await_waiters("until", 0);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

/* ---- one signal --------------------------------------------------------- */

/* A holder, and a wait that a signal has just ended. */
static void suspend_one(const char *name, ilk_lock *holder, ilk_lock *suspended)
{
    ilk_error err = {0};
    int64_t at;
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    start_taker(&t, suspended, -1);
    await_waiters(name, 1);
    at = fixture_now_ms();
    interrupt_taker(&t);
    assert_took(ILK_EINTR, &t);
    assert_on_time(t.ended_at - at, 0);
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:lock:wait:{%s}", name));
}

TEST(suspended_wait_that_nobody_resumes_leaves_the_queue)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "left"), *b = open_lock(client, "left");
    int64_t suspended_at;

    suspend_one("left", a, b);
    suspended_at = fixture_now_ms();
    await_waiters("left", 0);
    assert_in_range(fixture_now_ms() - suspended_at, 4000, 9000);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(grant_to_a_suspended_wait_ages_out)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock *a = open_lock(client, "aged"), *next = open_lock(other, "aged");
    ilk_lock *b = open_lock_with(client, "aged", 500, 0);
    ilk_error err = {0};
    int64_t fence;
    taker t;

    suspend_one("aged", a, b);
    start_taker(&t, next, -1);
    await_waiters("aged", 2);
    assert_status(ILK_OK, ilk_lock_release(a, &err)); /* for 500 ms */
    assert_took(ILK_OK, &t);
    fence = ilk_lock_fence(next);
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(b, 300, &err));
    assert_string_equal(ilk_lock_token(next), fixture_command(&fx, "GET aged"));
    assert_status(ILK_OK, ilk_lock_release(next, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, patience(1000), &err));
    assert_true(ilk_lock_fence(b) > fence);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_lock_free(next);
    ilk_client_free(client);
    ilk_client_free(other);
}

TEST(another_request_ends_a_suspended_wait)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "verb"), *b = open_lock(client, "verb");
    ilk_error err = {0};
    int64_t at;

    suspend_one("verb", a, b);
    at = fixture_now_ms();
    assert_status(ILK_ENOTOWNER, ilk_lock_release(b, &err));
    await_waiters("verb", 0);
    assert_true(fixture_now_ms() - at < patience(500));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    suspend_one("verb", a, b);
    at = fixture_now_ms();
    ilk_lock_free(b); /* so does freeing the handle */
    await_waiters("verb", 0);
    assert_true(fixture_now_ms() - at < patience(500));
    ilk_lock_free(a);
    ilk_client_free(client);
}

TEST(suspended_wait_taken_up_for_one_look_is_busy)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "look"), *b = open_lock(client, "look");
    ilk_error err = {0};
    int64_t began;

    suspend_one("look", a, b);
    began = fixture_now_ms();
    assert_status(ILK_EBUSY, ilk_lock_acquire(b, 0, &err));
    assert_on_time(fixture_now_ms() - began, 0);
    await_waiters("look", 0);
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    suspend_one("look", a, b);
    assert_status(ILK_OK, ilk_lock_release(a, &err)); /* granted meanwhile */
    fixture_sleep_ms(20);
    assert_status(ILK_OK, ilk_lock_acquire(b, 0, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

/* signal() of the C library installs handlers so. */
TEST(a_handler_with_restart_ends_a_wait_without_a_deadline)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction before;
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "restart"),
             *b = open_lock(client, "restart");
    ilk_error err = {0};
    taker t;

    sigaction(SIGUSR1, &action, &before);
    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, -1);
    await_waiters("restart", 1);
    interrupt_taker(&t);
    ilk_lock_release(a, &err); /* ends a wait that signals did not end */
    assert_took(ILK_EINTR, &t);
    sigaction(SIGUSR1, &before, NULL);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

/* ---- descriptors -------------------------------------------------------- */

static rlim_t limit_descriptors(rlim_t most)
{
    struct rlimit limit;
    rlim_t before;

    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    before = limit.rlim_cur;
    limit.rlim_cur = most;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
    return before;
}

TEST(no_descriptors_left)
{
    ilk_client *client = open_client(), *none = NULL;
    ilk_lock *a = open_lock_with(client, "fds", 0, ILK_LOCK_NO_RENEW);
    ilk_lock *b = open_lock_with(client, "fds", 0, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};
    int next = dup(STDIN_FILENO);
    rlim_t before;
    int64_t began;

    close(next);
    before = limit_descriptors((rlim_t)next);
    assert_status(ILK_ESYSTEM, ilk_client_open(&none, fx.unix_url, NULL, &err));
    assert_non_null(strstr(err.msg, "Too many open files"));
    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err)); /* has its lane */
    began = fixture_now_ms();
    assert_true(ilk_lock_acquire(b, 300, &err) < 0); /* cannot have an inbox */
    assert_true(fixture_now_ms() - began < patience(360));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, patience(300), &err));
    limit_descriptors(before);
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(a, 300, &err));
    assert_status(ILK_OK, ilk_lock_release(b, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}
