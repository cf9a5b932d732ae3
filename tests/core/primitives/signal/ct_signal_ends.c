/* SPDX-License-Identifier: MIT */
/* ct_signal_ends.c -- what ends a wait for signals but a signal. */
#include "fork_case.h"
#include "signal_case.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static int setup(void)
{
    fixture_wake_on(SIGALRM);
    fixture_wake_on(SIGUSR1);
    return server_setup();
}

AROUND_ALL(setup, server_teardown);

TEST(a_close_ends_the_wait)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "close");
    int64_t began;
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("close", 1);
    began = fixture_now_ms();
    ilk_client_close(client, NULL);

    assert_heard(ILK_ECLOSED, &l);
    assert_true(fixture_now_ms() - began < patience(500));
    ilk_signal_free(signal);
    ilk_client_free(client);
}

TEST(a_cancel_ends_the_wait_and_its_place)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "cancel");
    ilk_error err = {0};
    int64_t began;
    hearing l;

    assert_status(ILK_OK, ilk_signal_cancel(signal, &err)); /* no wait */
    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("cancel", 1);
    began = fixture_now_ms();
    assert_status(ILK_OK, ilk_signal_cancel(signal, &err));

    assert_heard(ILK_ECANCELLED, &l);
    assert_true(fixture_now_ms() - began < patience(300));
    await_waits("cancel", 0);
    ilk_signal_free(signal);
    ilk_client_free(client);
}

TEST(a_handle_waits_in_one_thread_at_a_time)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "busy");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("busy", 1);

    assert_status(ILK_EHELD, ilk_signal_wait(&arrival, signal, 10, &err));
    assert_status(ILK_EHELD, ilk_signal_notify_one(NULL, signal, "", 0, &err));

    ilk_signal_cancel(signal, NULL);
    assert_heard(ILK_ECANCELLED, &l);
    ilk_signal_free(signal);
    ilk_client_free(client);
}

/* ---- signals of the system ---------------------------------------------- */

TEST(a_wait_that_was_interrupted_goes_on)
{
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *signal = open_signal(client, "park");
    ilk_signal *give = open_signal(giver, "park");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("park", 1);
    interrupt_hearing(&l);
    assert_heard(ILK_EINTR, &l);

    assert_int_equal(1, tell_one(give, "meanwhile"));
    fixture_sleep_ms(50);

    assert_status(ILK_OK, ilk_signal_wait(&arrival, signal, 0, &err));
    assert_string_equal("0 park=meanwhile;", heard(arrival));
    ilk_arrival_free(arrival);
    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, signal, 0, &err));

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("park", 1);
    ilk_client_interrupt(client);
    assert_heard(ILK_EINTR, &l);
    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, signal, 100, &err));
    await_waits("park", 0);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

static void give_up_passes_on(void (*give_up)(ilk_signal *signal), int frees)
{
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *signal = open_signal(client, "give up");
    ilk_signal *next = open_signal(client, "give up");
    ilk_signal *give = open_signal(giver, "give up");
    hearing l, other;

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    fixture_sleep_ms(300);
    interrupt_hearing(&l);
    assert_heard(ILK_EINTR, &l);
    start_hearing(&other, LISTEN_ANY, &next, 1, 20000);
    fixture_sleep_ms(100);
    assert_int_equal(1, tell_one(give, "to the suspended one"));
    fixture_sleep_ms(50);
    assert_false(other.done);

    give_up(signal);

    assert_heard(ILK_OK, &other);
    assert_string_equal("0 give up=to the suspended one;",
                        heard(other.arrival));
    free_hearing(&other);
    if (!frees)
        ilk_signal_free(signal);
    ilk_signal_free(next);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

static void cancel(ilk_signal *signal)
{
    ilk_signal_cancel(signal, NULL);
}

TEST(a_signal_to_a_wait_that_is_given_up_is_passed_on)
{
    give_up_passes_on(cancel, 0);
    give_up_passes_on(ilk_signal_free, 1);
}

typedef struct rained {
    ilk_signal *signal;
    int heard, interrupted, failed;
    _Atomic int *stop;
} rained;

static void *wait_in_the_rain(void *arg)
{
    rained *r = arg;
    sigset_t drop;

    sigemptyset(&drop);
    sigaddset(&drop, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &drop, NULL);
    while (!atomic_load(r->stop)) {
        ilk_arrival *arrival = NULL;
        ilk_status st = ilk_signal_wait(&arrival, r->signal, 50, NULL);

        r->heard += st == ILK_OK;
        r->interrupted += st == ILK_EINTR;
        r->failed += st != ILK_OK && st != ILK_EINTR && st != ILK_ETIMEOUT;
        ilk_arrival_free(arrival);
    }
    return NULL;
}

enum { DROPS = 1000 };

TEST(a_rain_of_interruptions_loses_no_signal)
{
    struct itimerval every = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "rain");
    _Atomic int stop = 0;
    pthread_t threads[4];
    rained r[4] = {{0}};
    sigset_t drop;
    int reached = 0, heard_in_all = 0, interrupted = 0;

    sigemptyset(&drop);
    sigaddset(&drop, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &drop, NULL);
    for (int i = 0; i < 4; i++) {
        r[i] = (rained){.signal = open_signal(client, "rain"), .stop = &stop};
        pthread_create(&threads[i], NULL, wait_in_the_rain, &r[i]);
    }
    setitimer(ITIMER_REAL, &every, NULL);
    for (int64_t until = fixture_now_ms() + 20000;
         reached < DROPS && fixture_now_ms() < until;)
        reached += (int)tell_one(give, "drop");
    fixture_sleep_ms(200);
    atomic_store(&stop, 1);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        heard_in_all += r[i].heard;
        interrupted += r[i].interrupted;
        assert_int_equal(0, r[i].failed);
    }
    setitimer(ITIMER_REAL, &none, NULL);
    pthread_sigmask(SIG_UNBLOCK, &drop, NULL);

    assert_int_equal(DROPS, reached);
    assert_int_equal(DROPS, heard_in_all);
    assert_true(interrupted > 10);
    for (int i = 0; i < 4; i++)
        ilk_signal_free(r[i].signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

/* ---- fork --------------------------------------------------------------- */

static void child_of(ilk_client *client, ilk_signal *signal)
{
    ilk_arrival *arrival = NULL;
    ilk_signal *made = NULL;
    int64_t reached = 1;

    demand(ilk_signal_wait(&arrival, signal, 0, NULL) == ILK_EFORKED);
    demand(ilk_signal_wait(&arrival, signal, -1, NULL) == ILK_EFORKED);
    demand(ilk_signal_wait_all(&arrival, &signal, 1, -1, NULL) == ILK_EFORKED);
    demand(ilk_signal_notify_one(NULL, signal, "", 0, NULL) == ILK_EFORKED);
    demand(ilk_signal_notify_all(NULL, signal, "", 0, NULL) == ILK_EFORKED);
    demand(ilk_signal_cancel(signal, NULL) == ILK_EFORKED);
    demand(ilk_signal_open(&made, client, "x", 1, NULL, NULL) == ILK_EFORKED);
    demand(ilk_client_reopen(client, NULL) == ILK_OK);
    /* the wait was the parent's; the next one is ours */
    demand(ilk_signal_wait(&arrival, signal, 100, NULL) == ILK_EFORKED);
    demand(ilk_signal_wait(&arrival, signal, 100, NULL) == ILK_ETIMEOUT);
    demand(ilk_signal_notify_one(&reached, signal, "c", 1, NULL) == ILK_OK);
    demand(reached == 1); /* the parent's */
    ilk_signal_free(signal);
    ilk_client_free(client);
    _exit(0);
}

TEST(a_fork_leaves_the_wait_to_the_parent)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "fork");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    hearing l;
    pid_t pid;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("fork", 1);
    interrupt_hearing(&l);
    assert_heard(ILK_EINTR, &l); /* suspended */
    pid = fork_now();
    if (pid == 0)
        child_of(client, signal);

    assert_status(ILK_OK, ilk_signal_wait(&arrival, signal, 20000, &err));
    assert_string_equal("0 fork=c;", heard(arrival));
    assert_ends_well(pid);
    ilk_arrival_free(arrival);
    ilk_signal_free(signal);
    ilk_client_free(client);
}
