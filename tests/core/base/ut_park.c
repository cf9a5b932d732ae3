/* SPDX-License-Identifier: MIT */
/* ut_park.c -- sleeping, waking and being interrupted. */
#include "base/park.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static ilk__parker parker;

static int setup(void)
{
    return ilk__parker_init(&parker, NULL);
}

static int teardown(void)
{
    ilk__parker_destroy(&parker);
    return 0;
}

AROUND_ALL(setup, teardown);

static void nap(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&left, NULL);
}

TEST(a_permit_is_consumed_at_once)
{
    ilk__unpark(&parker);
    ilk__unpark(&parker);

    assert_int_equal(ilk__park(&parker, ilk__deadline(0)), ILK_OK);
    assert_int_equal(ilk__park(&parker, ilk__deadline(0)), ILK_ETIMEOUT);
}

TEST(sleep_ends_at_the_deadline)
{
    int64_t before = ilk__now_ms(), passed;

    assert_int_equal(ilk__park(&parker, ilk__deadline(50)), ILK_ETIMEOUT);
    passed = ilk__now_ms() - before;

    assert_in_range(passed, 50, 500);
}

static void *wake_later(void *arg)
{
    (void)arg;
    nap(50);
    ilk__unpark(&parker);
    return NULL;
}

TEST(another_thread_wakes)
{
    int64_t before = ilk__now_ms();
    pthread_t thread;

    pthread_create(&thread, NULL, wake_later, NULL);
    assert_int_equal(ilk__park(&parker, ILK__FOREVER), ILK_OK);
    assert_in_range(ilk__now_ms() - before, 40, 2000);
    pthread_join(thread, NULL);
}

static void on_signal(int number)
{
    (void)number;
}

static void on_signal_unpark(int number)
{
    (void)number;
    ilk__unpark(&parker);
}

/* As sloppy programs do it: SA_RESTART must not hide the signal. */
static void handle(void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
}

static void *signal_later(void *arg)
{
    nap(50);
    pthread_kill(*(pthread_t *)arg, SIGUSR1);
    return NULL;
}

static ilk_status park_under_signal(void (*handler)(int))
{
    pthread_t self = pthread_self(), thread;
    ilk_status st;

    handle(handler);
    pthread_create(&thread, NULL, signal_later, &self);
    st = ilk__park(&parker, ilk__deadline(5000));
    pthread_join(thread, NULL);
    return st;
}

TEST(a_signal_ends_the_sleep)
{
    assert_int_equal(park_under_signal(on_signal), ILK_EINTR);
}

/* Signals, until the sleep has ended; in the end a wake-up, for a sleep that
 * signals do not end. */
static atomic_int slept;

static void *signal_and_wake(void *arg)
{
    for (int i = 0; i < 100 && !atomic_load(&slept); i++) {
        nap(10);
        pthread_kill(*(pthread_t *)arg, SIGUSR1);
    }
    ilk__unpark(&parker);
    return NULL;
}

TEST(a_signal_ends_the_sleep_without_a_deadline)
{
    pthread_t self = pthread_self(), thread;

    handle(on_signal);
    atomic_store(&slept, 0);
    pthread_create(&thread, NULL, signal_and_wake, &self);
    assert_int_equal(ilk__park(&parker, ILK__FOREVER), ILK_EINTR);
    atomic_store(&slept, 1);
    pthread_join(thread, NULL);
    assert_int_equal(ilk__park(&parker, ILK__FOREVER), ILK_OK);
}

TEST(a_signal_handler_may_wake)
{
    assert_int_equal(park_under_signal(on_signal_unpark), ILK_OK);
}

/* Two threads pass a ball: one lost wake-up and both sleep for ever. */
enum { ROUNDS = 20000 };
static ilk__parker other;
static int ball;

static void *return_ball(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (ilk__park(&other, ILK__FOREVER) != ILK_OK)
            continue;
        ball++;
        ilk__unpark(&parker);
    }
    return NULL;
}

TEST(no_wake_up_is_lost)
{
    pthread_t thread;

    alarm(60);
    assert_int_equal(ilk__parker_init(&other, NULL), ILK_OK);
    pthread_create(&thread, NULL, return_ball, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        ilk__unpark(&other);
        while (ilk__park(&parker, ILK__FOREVER) != ILK_OK)
            continue;
        assert_int_equal(ball, i + 1);
    }
    pthread_join(thread, NULL);
    ilk__parker_destroy(&other);
    alarm(0);
}
