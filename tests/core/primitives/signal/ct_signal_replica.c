/* SPDX-License-Identifier: MIT */
/* ct_signal_replica.c -- signals that come from a replica as well:
 * either connection is killed in turn, and none is lost or comes twice. */
#include "replica_case.h"
#include "signal_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

AROUND_ALL(replica_setup, replica_teardown);

enum { SIGNALS = 300, WAITERS = 4 };

typedef struct hearer {
    pthread_t thread;
    ilk_signal *signal;
    _Atomic int *heard, *stop;
    int failures;
} hearer;

static void *hear_all(void *arg)
{
    hearer *self = arg;

    while (!atomic_load(self->stop)) {
        ilk_arrival *arrival = NULL;
        ilk_status st = ilk_signal_wait(&arrival, self->signal, 200, NULL);

        if (st == ILK_OK)
            atomic_fetch_add(
                &self->heard[atoi(ilk_arrival_data(arrival, 0, NULL))], 1);
        else
            self->failures += st != ILK_ETIMEOUT;
        ilk_arrival_free(arrival);
    }
    return NULL;
}

static void start_hearers(hearer h[WAITERS], ilk_client *client,
                          _Atomic int *heard_numbers, _Atomic int *stop)
{
    for (int i = 0; i < WAITERS; i++) {
        h[i] = (hearer){.signal = open_signal(client, "both"),
                        .heard = heard_numbers,
                        .stop = stop};
        pthread_create(&h[i].thread, NULL, hear_all, &h[i]);
    }
    await_waits("both", WAITERS);
    await_subscribers(&fx, client, 1);
    await_subscribers(&replica, client, 1);
}

static void end_hearers(hearer h[WAITERS], _Atomic int *stop)
{
    atomic_store(stop, 1);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(h[i].thread, NULL);
        assert_int_equal(0, h[i].failures);
        ilk_signal_free(h[i].signal);
    }
}

static int64_t sum_of(const _Atomic int *numbers)
{
    int64_t sum = 0;

    for (int i = 0; i < SIGNALS; i++)
        sum += numbers[i];
    return sum;
}

/* All that was sent so far has arrived, and both connections are there. */
static void settle(ilk_client *client, const _Atomic int *numbers, int64_t sent)
{
    int64_t until = fixture_now_ms() + patience(10000);

    while (sum_of(numbers) < sent && fixture_now_ms() < until)
        fixture_sleep_ms(1);
    assert_true(sum_of(numbers) >= sent);
    await_subscribers(&fx, client, 1);
    await_subscribers(&replica, client, 1);
}

/* Every 20 signals each connection is killed once, while five are on their way
 * at most. */
static void disturb(int i)
{
    if (i % 20 == 10)
        (void)fixture_int(&fx, "CLIENT KILL TYPE pubsub");
    if (i % 20 == 0)
        (void)fixture_int(&replica, "CLIENT KILL TYPE pubsub");
}

/* A signal sent while both live survives the death of either one. */
static int may_settle(int i)
{
    return i % 20 == 5 || i % 20 == 15;
}

/* Give each number to one; the answer is sent again while nobody is there. */
static void give_all(ilk_client *client, const _Atomic int *numbers,
                     int settles)
{
    ilk_client *giver = open_client();
    ilk_signal *give = open_signal(giver, "both");
    int64_t until = fixture_now_ms() + patience(30000);

    for (int i = 0; i < SIGNALS; i++) {
        char text[16];

        snprintf(text, sizeof text, "%d", i);
        if (settles && may_settle(i))
            settle(client, numbers, i);
        disturb(i);
        while (!tell_one(give, text) && fixture_now_ms() < until)
            fixture_sleep_ms(1);
    }
    if (settles)
        settle(client, numbers, SIGNALS);
    fixture_sleep_ms(500); /* for a second copy */
    ilk_signal_free(give);
    ilk_client_free(giver);
}

static int count_twice(const _Atomic int *numbers)
{
    int twice = 0;

    for (int i = 0; i < SIGNALS; i++)
        twice += numbers[i] > 1;
    return twice;
}

TEST(each_is_received_once_while_one_connection_lives)
{
    static _Atomic int numbers[SIGNALS];
    ilk_client *client = open_listening();
    hearer h[WAITERS];
    _Atomic int stop = 0;

    start_hearers(h, client, numbers, &stop);
    give_all(client, numbers, 1);
    end_hearers(h, &stop);

    assert_int_equal(0, count_twice(numbers));
    assert_int_equal(SIGNALS, sum_of(numbers));
    ilk_client_free(client);
}

/* When both die before either is back, what was counted may be lost. */
TEST(none_is_received_twice_whichever_connection_dies)
{
    static _Atomic int numbers[SIGNALS];
    ilk_client *client = open_listening();
    hearer h[WAITERS];
    _Atomic int stop = 0;

    start_hearers(h, client, numbers, &stop);
    give_all(client, numbers, 0);
    end_hearers(h, &stop);

    assert_int_equal(0, count_twice(numbers));
    assert_true(sum_of(numbers) >= SIGNALS - SIGNALS / 10); /* each death: 1 */
    ilk_client_free(client);
}

/* A listener without the server's connection is not counted, and receives it still. */
TEST(a_broadcast_is_received_while_one_connection_lives)
{
    static _Atomic int numbers[SIGNALS];
    ilk_client *client = open_listening(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "both");
    hearer h[WAITERS];
    _Atomic int stop = 0;
    int64_t counted = 0;
    int too_often = 0;

    start_hearers(h, client, numbers, &stop);
    for (int i = 0; i < SIGNALS; i++) {
        char text[16];

        snprintf(text, sizeof text, "%d", i);
        if (may_settle(i))
            settle(client, numbers, counted);
        disturb(i);
        counted += report_all(give, text);
        fixture_sleep_ms(2);
    }
    settle(client, numbers, counted);
    fixture_sleep_ms(500); /* for a second copy */
    end_hearers(h, &stop);

    for (int i = 0; i < SIGNALS; i++)
        too_often += numbers[i] > WAITERS;
    assert_int_equal(0, too_often);
    assert_true(counted > SIGNALS);
    ilk_signal_free(give);
    ilk_client_free(giver);
    ilk_client_free(client);
}

enum { WAIT_MS = 1000, LATE_MS = 1300, TOO_LATE_MS = 1800 };

typedef struct waiter {
    ilk_signal *signal;
    ilk_status status;
} waiter;

static void *wait_once(void *arg)
{
    waiter *self = arg;
    ilk_arrival *arrival = NULL;

    self->status = ilk_signal_wait(&arrival, self->signal, WAIT_MS, NULL);
    ilk_arrival_free(arrival);
    return NULL;
}

/* Signal while the client is connected to the replica alone, whose copy comes after the
 * wait's time. 0: the machine was too slow for this scene. */
static int signal_over_a_slow_replica(waiter *w, ilk_signal *give)
{
    const int64_t began = fixture_now_ms();
    int64_t sent, resumed;
    pthread_t thread;

    pthread_create(&thread, NULL, wait_once, w);
    while (fixture_int(&fx, "ZCARD ilk:signal:wait:{both}") != 1
           && fixture_now_ms() < began + WAIT_MS)
        fixture_sleep_ms(1);
    (void)fixture_pause(&replica);
    (void)report_all(give, "0");
    sent = fixture_now_ms() - began;
    while (fixture_now_ms() < began + LATE_MS)
        fixture_sleep_ms(1);
    (void)fixture_resume(&replica);
    resumed = fixture_now_ms() - began;
    pthread_join(thread, NULL);
    return sent < WAIT_MS && resumed < TOO_LATE_MS;
}

TEST(the_copy_of_a_slow_replica_is_awaited_after_the_time)
{
    ilk_client *client = open_listening(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "both");
    waiter w = {.signal = open_signal(client, "both")};
    pthread_t thread;
    int tries = 10;

    pthread_create(&thread, NULL, wait_once, &w);
    await_subscribers(&fx, client, 1);
    await_subscribers(&replica, client, 1);
    pthread_join(thread, NULL);
    fixture_command(&fx, "CONFIG SET maxclients 1"); /* nobody comes back */
    assert_int_equal(fixture_int(&fx, "CLIENT KILL TYPE pubsub"), 1);
    while (tries-- && !signal_over_a_slow_replica(&w, give))
        continue;
    fixture_command(&fx, "CONFIG SET maxclients 10000");

    assert_int_equal(w.status, ILK_OK);
    ilk_signal_free(give);
    ilk_signal_free(w.signal);
    ilk_client_free(giver);
    ilk_client_free(client);
}
