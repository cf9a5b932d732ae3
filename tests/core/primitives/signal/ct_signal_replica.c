/* SPDX-License-Identifier: MIT */
/* ct_signal_replica.c -- signals that are heard from a replica as well:
 * either connection is killed in turn, and none is lost or comes twice. */
#include "replica_case.h"
#include "signal_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    await_ears(&fx, client, 1);
    await_ears(&replica, client, 1);
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

/* Every 20 signals one of the two connections is killed. */
static void disturb(int i)
{
    if (i % 20 == 10)
        (void)fixture_int(&fx, "CLIENT KILL TYPE pubsub");
    if (i % 20 == 0)
        (void)fixture_int(&replica, "CLIENT KILL TYPE pubsub");
}

static void each_is_heard_once_whichever_connection_dies(void **state)
{
    static _Atomic int numbers[SIGNALS];
    ilk_client *client = open_listening(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "both");
    int64_t until = fixture_now_ms() + patience(30000);
    hearer h[WAITERS];
    _Atomic int stop = 0;
    int lost = 0, twice = 0;

    (void)state;
    memset(numbers, 0, sizeof numbers);
    start_hearers(h, client, numbers, &stop);
    for (int i = 0; i < SIGNALS; i++) {
        char text[16];

        snprintf(text, sizeof text, "%d", i);
        disturb(i);
        while (!tell_one(give, text) && fixture_now_ms() < until)
            fixture_sleep_ms(1);
    }
    fixture_sleep_ms(500);
    end_hearers(h, &stop);

    for (int i = 0; i < SIGNALS; i++) {
        lost += numbers[i] == 0;
        twice += numbers[i] > 1;
    }
    assert_int_equal(0, twice);
    assert_int_equal(0, lost);
    ilk_signal_free(give);
    ilk_client_free(giver);
    ilk_client_free(client);
}

/* Who is deaf to the server is not counted, and hears it all the same. */
static void a_broadcast_is_heard_while_one_connection_lives(void **state)
{
    static _Atomic int numbers[SIGNALS];
    ilk_client *client = open_listening(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "both");
    hearer h[WAITERS];
    _Atomic int stop = 0;
    int too_often = 0, counted = 0, heard_in_all = 0;

    (void)state;
    memset(numbers, 0, sizeof numbers);
    start_hearers(h, client, numbers, &stop);
    for (int i = 0; i < SIGNALS; i++) {
        char text[16];

        snprintf(text, sizeof text, "%d", i);
        disturb(i);
        counted += (int)tell_all(give, text);
        fixture_sleep_ms(2);
    }
    fixture_sleep_ms(500);
    end_hearers(h, &stop);

    for (int i = 0; i < SIGNALS; i++) {
        too_often += numbers[i] > WAITERS;
        heard_in_all += numbers[i];
    }
    assert_int_equal(0, too_often);
    assert_true(heard_in_all >= counted);
    assert_true(counted > SIGNALS);
    ilk_signal_free(give);
    ilk_client_free(giver);
    ilk_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_heard_once_whichever_connection_dies),
        cmocka_unit_test(a_broadcast_is_heard_while_one_connection_lives),
    };

    return cmocka_run_group_tests(tests, replica_setup, replica_teardown);
}
