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

#include "cmocka_all.h"

static ilk__parker parker;

static int setup(void **state)
{
    (void)state;
    return ilk__parker_init(&parker, NULL);
}

static int teardown(void **state)
{
    (void)state;
    ilk__parker_destroy(&parker);
    return 0;
}

static void nap(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&left, NULL);
}

static void a_permit_is_consumed_at_once(void **state)
{
    (void)state;
    ilk__unpark(&parker);
    ilk__unpark(&parker);

    assert_int_equal(ilk__park(&parker, ilk__deadline(0)), ILK_OK);
    assert_int_equal(ilk__park(&parker, ilk__deadline(0)), ILK_ETIMEOUT);
}

static void sleep_ends_at_the_deadline(void **state)
{
    int64_t before = ilk__now_ms(), passed;

    (void)state;
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

static void another_thread_wakes(void **state)
{
    int64_t before = ilk__now_ms();
    pthread_t thread;

    (void)state;
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

static void a_signal_ends_the_sleep(void **state)
{
    (void)state;
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

static void a_signal_ends_the_sleep_without_a_deadline(void **state)
{
    pthread_t self = pthread_self(), thread;

    (void)state;
    handle(on_signal);
    atomic_store(&slept, 0);
    pthread_create(&thread, NULL, signal_and_wake, &self);
    assert_int_equal(ilk__park(&parker, ILK__FOREVER), ILK_EINTR);
    atomic_store(&slept, 1);
    pthread_join(thread, NULL);
    assert_int_equal(ilk__park(&parker, ILK__FOREVER), ILK_OK);
}

static void a_signal_handler_may_wake(void **state)
{
    (void)state;
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

static void no_wake_up_is_lost(void **state)
{
    pthread_t thread;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_permit_is_consumed_at_once),
        cmocka_unit_test(sleep_ends_at_the_deadline),
        cmocka_unit_test(another_thread_wakes),
        cmocka_unit_test(a_signal_ends_the_sleep),
        cmocka_unit_test(a_signal_ends_the_sleep_without_a_deadline),
        cmocka_unit_test(a_signal_handler_may_wake),
        cmocka_unit_test(no_wake_up_is_lost),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
