/* SPDX-License-Identifier: MIT */
/* ct_election_observe.c -- an observer receives each change, and polls for
 * none. */
#include "client_case.h"
#include "election_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

static ilk_observer *observe(ilk_election *election, uint32_t flags)
{
    ilk_observer *observer = NULL;

    assert_status(ILK_OK,
                  ilk_election_observe(&observer, election, flags, &err));
    return observer;
}

/* The observer's next state, in a thread of its own. */
typedef struct listener {
    ilk_observer *observer;
    pthread_t thread;
    ilk_leader *found;
    ilk_status status;
    ilk_error err;
    int64_t timeout_ms, ended_at;
} listener;

static void *listen_once(void *context)
{
    listener *l = context;

    l->status =
        ilk_observer_next(&l->found, l->observer, l->timeout_ms, &l->err);
    l->ended_at = fixture_now_ms();
    return NULL;
}

static void start_listening(listener *l, ilk_observer *observer)
{
    *l = (listener){.observer = observer, .timeout_ms = 20000};
    assert_int_equal(0, pthread_create(&l->thread, NULL, listen_once, l));
}

static ilk_leader *heard(listener *l)
{
    pthread_join(l->thread, NULL);
    assert_status_at(ILK_OK, l->status, &l->err, "next", __FILE__, __LINE__);
    return l->found;
}

TEST(each_change_is_received_as_it_happens)
{
    ilk_election *a = open_candidate(client, "told", 0, "a");
    ilk_election *b = open_candidate(client, "told", 0, "b");
    ilk_observer *o = observe(a, 0);
    listener l;
    campaign c;
    int64_t at, term;

    start_listening(&l, o);
    await_observers("told", 1);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    term = expect_state(heard(&l), "a");
    assert_int_equal(ilk_election_term(a), term);
    assert_true(l.ended_at - at <= patience(50));

    start_listening(&l, o);
    await_observers("told", 1);
    assert_status(ILK_OK, ilk_election_proclaim(a, "a2", 2, &err));
    assert_int_equal(term, expect_state(heard(&l), "a2"));

    start_campaign(&c, b, -1);
    await_candidates("told", 1);
    start_listening(&l, o);
    await_observers("told", 1);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    assert_true(expect_state(heard(&l), "b") > term);
    assert_true(l.ended_at - at <= patience(50));
    end_campaign(&c, ILK_OK);
    ilk_observer_free(o);
    ilk_election_free(a);
    ilk_election_free(b);
}

TEST(a_known_state_is_not_returned_again)
{
    ilk_election *a = open_candidate(client, "known", 0, "a");
    ilk_observer *o = observe(a, 0);
    ilk_leader *found;
    int64_t began;

    assert_status(ILK_EINVAL, ilk_observer_next(&found, o, -2, &err));
    assert_status(ILK_EBUSY, ilk_observer_next(&found, o, 0, &err));
    assert_null(found);
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    expect_state(next_state(o, 0), "a");
    assert_status(ILK_EBUSY, ilk_observer_next(&found, o, 0, &err));
    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, ilk_observer_next(&found, o, 100, &err));
    assert_on_time(fixture_now_ms() - began, 100);
    await_observers("known", 0);
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    assert_status(ILK_EBUSY, ilk_observer_next(&found, o, 0, &err));
    ilk_observer_free(o);
    ilk_election_free(a);
}

TEST(vacancies_are_sent_to_observers_that_want_them)
{
    ilk_election_opts opts;
    ilk_election *a;
    ilk_observer *o;
    listener l;
    int64_t term, left, at;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 1500;
    opts.flags = ILK_ELECTION_NO_RENEW;
    a = open_candidate_with(client, "vacant", &opts);
    o = observe(a, ILK_OBSERVE_VACANT);
    assert_int_equal(0, expect_state(next_state(o, 0), "-"));
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    term = expect_state(next_state(o, 0), "");

    start_listening(&l, o); /* resigned */
    await_observers("vacant", 1);
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    assert_int_equal(term, expect_state(heard(&l), "-"));

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    expect_state(next_state(o, 0), "");
    start_listening(&l, o); /* its lease ran out, and nobody says so */
    await_observers("vacant", 1);
    left = fixture_int(&fx, "PTTL ilk:election:{vacant}");
    at = fixture_now_ms();
    expect_state(heard(&l), "-");
    assert_true(l.ended_at - at <= left + patience(100));
    ilk_observer_free(o);
    ilk_election_free(a);
}

TEST(lost_message_costs_a_refresh_and_no_change)
{
    ilk_election *a = open_candidate(client, "lost", 0, "a");
    ilk_observer *o = observe(a, 0);
    listener l;
    int64_t at;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    expect_state(next_state(o, 0), "a");
    start_listening(&l, o);
    await_observers("lost", 1);
    /* what proclaiming does, but for the message */
    fixture_command(&fx, "MULTI");
    fixture_command(&fx, "HINCRBY ilk:election:fence:{lost} version 1");
    fixture_command(&fx, "HSET ilk:election:value:{lost} %s a2",
                    ilk_election_token(a));
    fixture_command(&fx, "DEL ilk:election:seen:{lost}");
    fixture_command(&fx, "EXEC");
    at = fixture_now_ms();

    expect_state(heard(&l), "a2");

    assert_true(l.ended_at - at <= 2000 + patience(300));
    ilk_observer_free(o);
    ilk_election_free(a);
}

/* Many changes, slow observers: some see few of them, all see the last. */
TEST(last_state_is_never_missed)
{
    enum { OBSERVERS = 6, CHANGES = 300 };
    ilk_client *clients[OBSERVERS];
    ilk_election *a = open_candidate(client, "last", 0, "start");
    ilk_election *seats[OBSERVERS];
    ilk_observer *o[OBSERVERS];
    listener l[OBSERVERS];
    char text[16];

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    for (int i = 0; i < OBSERVERS; i++) {
        clients[i] = i % 2 ? open_client() : client;
        seats[i] = open_candidate(clients[i], "last", 0, "");
        o[i] = observe(seats[i], 0);
        expect_state(next_state(o[i], 0), "start");
        start_listening(&l[i], o[i]);
    }
    await_observers("last", OBSERVERS);
    for (int i = 1; i <= CHANGES; i++) {
        int len = snprintf(text, sizeof text, "%d", i);

        assert_status(ILK_OK,
                      ilk_election_proclaim(a, text, (size_t)len, &err));
    }
    for (int i = 0; i < OBSERVERS; i++) {
        int seen = 0;

        for (ilk_leader *found = heard(&l[i]); seen < CHANGES;
             found = seen < CHANGES ? next_state(o[i], 5000) : NULL) {
            int now = atoi(ilk_leader_value(found, NULL));

            assert_true(now > seen);
            seen = now;
            ilk_leader_free(found);
        }
        ilk_observer_free(o[i]);
        ilk_election_free(seats[i]);
        if (clients[i] != client)
            ilk_client_free(clients[i]);
    }
    ilk_election_free(a);
}

TEST(an_observer_outlives_its_election_and_ends_by_stop)
{
    ilk_client *own = open_client();
    ilk_election *a = open_candidate(own, "ends", 0, "");
    ilk_observer *o = observe(a, 0);
    ilk_leader *found;
    listener l;

    ilk_election_free(a);
    assert_status(ILK_OK, ilk_observer_cancel(o, &err));
    start_listening(&l, o);
    await_observers("ends", 1);
    assert_status(ILK_EHELD, ilk_observer_next(&found, o, 0, &err));
    assert_status(ILK_OK, ilk_observer_cancel(o, &err));
    pthread_join(l.thread, NULL);
    assert_int_equal(ILK_ECANCELLED, l.status);
    await_observers("ends", 0);

    start_listening(&l, o); /* a signal suspends it, the next one takes it up */
    await_observers("ends", 1);
    ilk_client_interrupt(own);
    pthread_join(l.thread, NULL);
    assert_int_equal(ILK_EINTR, l.status);
    await_observers("ends", 1);
    start_listening(&l, o);
    assert_status(ILK_OK, ilk_client_close(own, &err));
    pthread_join(l.thread, NULL);
    assert_int_equal(ILK_ECLOSED, l.status);
    assert_status(ILK_ECLOSED, ilk_observer_next(&found, o, 0, &err));
    ilk_observer_free(o);
    ilk_client_free(own);
}

static int64_t calls(const char *command)
{
    char field[64];
    const char *at;

    snprintf(field, sizeof field, "cmdstat_%s:calls=", command);
    at = strstr(fixture_command(&fx, "INFO commandstats"), field);
    return at ? atoll(at + strlen(field)) : 0;
}

/* Each client refreshes its two wait queues once in two seconds, and that is
 * all. */
TEST(hundred_standbys_and_observers_do_not_poll)
{
    enum { CLIENTS = 10, EACH = 10 };
    ilk_election *a = open_candidate(client, "idle", 60000, "");
    ilk_client *clients[CLIENTS];
    ilk_election *standby[CLIENTS][EACH];
    ilk_observer *o[CLIENTS];
    campaign c[CLIENTS][EACH];
    listener l[CLIENTS];
    int64_t asked;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = open_client();
        for (int j = 0; j < EACH; j++) {
            standby[i][j] = open_candidate(clients[i], "idle", 0, "");
            start_campaign(&c[i][j], standby[i][j], -1);
        }
        o[i] = observe(standby[i][0], 0);
        expect_state(next_state(o[i], 0), "");
        start_listening(&l[i], o[i]);
    }
    await_candidates("idle", CLIENTS * EACH);
    await_observers("idle", CLIENTS);

    fixture_command(&fx, "CONFIG RESETSTAT");
    fixture_sleep_ms(1000);
    asked = calls("evalsha") + calls("eval");

    assert_true(asked <= 2 * CLIENTS);
    assert_int_equal(0, calls("subscribe") + calls("ping"));
    for (int i = 0; i < CLIENTS; i++) {
        assert_status(ILK_OK, ilk_client_close(clients[i], &err));
        pthread_join(l[i].thread, NULL);
        ilk_observer_free(o[i]);
        for (int j = 0; j < EACH; j++) {
            end_campaign(&c[i][j], ILK_ECLOSED);
            ilk_election_free(standby[i][j]);
        }
        ilk_client_free(clients[i]);
    }
    ilk_election_free(a);
}
