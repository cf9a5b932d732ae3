/* SPDX-License-Identifier: MIT */
/* ct_listen.c -- a client that listens to a replica as well: either
 * connection is killed in turn, and nothing is lost or comes twice. */
#include "base/clock.h"
#include "client/client.h"
#include "listener_case.h"
#include "lock_thread.h"
#include "replica_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(replica_setup, replica_teardown);

/* The replica has passed on its messages, so only one loses the next ones. */
static void kill_subscribers(fixture *at)
{
    assert_int_equal(fixture_await(&fx, "1", 10000, "WAIT 1 1000"), 0);
    (void)fixture_int(at, "CLIENT KILL TYPE pubsub");
}

/* A first wait, until the inbox is open on both. */
static void open_inbox(ilk_client *client)
{
    ilk_client *other = open_client();
    ilk_lock *held = open_lock(other, "door"),
             *lock = open_lock(client, "door");
    ilk_error err = {0};
    taker waits;

    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    start_taker(&waits, lock, -1);
    await_subscribers(&fx, client, 1);
    await_subscribers(&replica, client, 1);
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_took(ILK_OK, &waits);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_lock_free(held);
    ilk_client_free(other);
}

/* ---- messages ----------------------------------------------------------- */

enum { MESSAGES = 400 };

typedef struct audience {
    ilk_client *client;
    ilk__listener listener;
    int received[MESSAGES]; /* how often each */
    ilk_status ended;
} audience;

static void *listen_to_all(void *context)
{
    audience *a = context;
    ilk_error err = {0};
    ilk__channel_message *message;
    int number = 0;

    while (number < MESSAGES - 1) {
        a->ended = listen_next(a->client, &a->listener, &message,
                               ilk__deadline(patience(5000)), &err);
        if (a->ended)
            return NULL;
        number = atoi(message->parsed.data);
        if (number >= 0 && number < MESSAGES)
            a->received[number]++;
        ilk__channel_message_free(message);
    }
    return NULL;
}

static void publish_message(int number)
{
    char text[64];

    snprintf(text, sizeof text, "1 notify 0.- id%d 3 red%d", number, number);
    (void)fixture_call(&fx, "PUBLISH", "jobs.red", text, (char *)NULL);
}

TEST(each_message_is_received_once_whichever_connection_dies)
{
    const ilk__channel_of jobs = {
        .name = "jobs.*", .len = 6, .is_pattern = 1, .own_format = 1};
    static audience a;
    ilk_error err = {0};
    pthread_t thread;

    memset(&a, 0, sizeof a);
    a.client = open_listening();
    open_inbox(a.client);
    assert_status(ILK_OK,
                  ilk__listener_init(&a.listener, a.client->shared, &err));
    assert_status(ILK_OK, listen_begin(a.client, &a.listener, &jobs,
                                       ilk__deadline(5000), &err));
    assert_int_equal(
        fixture_await(&replica, "1", (int)patience(5000), "PUBSUB NUMPAT"), 0);
    assert_int_equal(pthread_create(&thread, NULL, listen_to_all, &a), 0);

    for (int i = 0; i < MESSAGES; i++) {
        fixture *victim = i / 20 % 2 ? &replica : &fx;

        publish_message(i);
        if (i % 20 != 10)
            continue;
        kill_subscribers(victim); /* one dies, the other receives the rest */
        for (int more = 0; more < 5 && i < MESSAGES - 2; more++)
            publish_message(++i);
        assert_int_equal(
            fixture_await(victim, "1", (int)patience(5000), "PUBSUB NUMPAT"),
            0);
    }

    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(a.ended, ILK_OK);
    for (int i = 0; i < MESSAGES; i++)
        if (a.received[i] != 1)
            fail_msg("message %d was received %d times", i, a.received[i]);
    /* A gap that was none: on a busy machine one dies before the client has
       read that the other is back. */
    assert_true(a.listener.gaps <= MESSAGES / 20);
    ilk__listener_destroy(&a.listener);
    ilk_client_free(a.client);
}

/* ---- grants ------------------------------------------------------------- */

enum { TAKERS = 4, TURNS = 60 };

static _Atomic int inside, clashes, turns;
static _Atomic int64_t longest_ms;

static void take_a_turn(ilk_lock *lock)
{
    int64_t began = fixture_now_ms(), took;
    ilk_error err = {0};

    if (ilk_lock_acquire(lock, patience(20000), &err))
        return;
    took = fixture_now_ms() - began;
    if (took > longest_ms)
        longest_ms = took;
    clashes += atomic_fetch_add(&inside, 1) != 0;
    turns++;
    fixture_sleep_ms(2);
    atomic_fetch_sub(&inside, 1);
    if (ilk_lock_release(lock, &err))
        clashes++;
}

static void *take_turns(void *client)
{
    ilk_lock *lock = open_lock(client, "turns");

    for (int i = 0; i < TURNS; i++)
        take_a_turn(lock);
    ilk_lock_free(lock);
    return NULL;
}

TEST(grants_go_on_whichever_connection_dies)
{
    ilk_client *clients[TAKERS];
    pthread_t threads[TAKERS];

    for (int i = 0; i < TAKERS; i++) {
        clients[i] = open_listening();
        open_inbox(clients[i]);
    }
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, take_turns, clients[i]), 0);
    for (int i = 0; turns < TAKERS * TURNS && i < 500; i++) {
        kill_subscribers(i % 2 ? &replica : &fx);
        fixture_sleep_ms(40);
    }
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    assert_int_equal(turns, TAKERS * TURNS);
    assert_int_equal(clashes, 0);
    assert_true(longest_ms < patience(5000));
    for (int i = 0; i < TAKERS; i++)
        ilk_client_free(clients[i]);
}

/* ---- a replica that dies ------------------------------------------------ */

static void hand_over(ilk_lock *from, ilk_lock *to)
{
    taker waiting;
    ilk_error err = {0};
    int64_t began;

    assert_status(ILK_OK, ilk_lock_acquire(from, patience(5000), &err));
    start_taker(&waiting, to, 10000);
    await_waiters("pier", 1);
    began = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_release(from, &err));
    assert_took(ILK_OK, &waiting);
    assert_on_time(fixture_now_ms() - began, 0);
    assert_status(ILK_OK, ilk_lock_release(to, &err));
}

TEST(a_replica_may_die_and_come_back)
{
    ilk_client *client = open_listening(), *other = open_client();
    ilk_lock *a = open_lock(other, "pier"), *b = open_lock(client, "pier");

    open_inbox(client);
    hand_over(a, b);
    assert_int_equal(fixture_kill(&replica), 0);
    hand_over(a, b);
    hand_over(a, b);
    assert_int_equal(fixture_restart(&replica), 0);

    await_subscribers(&replica, client, 1);
    hand_over(a, b);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(other);
    ilk_client_free(client);
}

TEST(a_replica_that_is_not_there_is_no_hindrance)
{
    ilk_client *client, *other = open_client();
    ilk_lock *a = open_lock(other, "pier"), *b;
    char url[256];

    snprintf(url, sizeof url, "%s?listen=127.0.0.1:1,127.0.0.1:%d", fx.tcp_url,
             replica.port);
    client = open_client_at(url);
    b = open_lock(client, "pier");

    hand_over(a, b);

    await_subscribers(&replica, client, 1);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(other);
    ilk_client_free(client);
}

/* ---- the option --------------------------------------------------------- */

TEST(a_list_that_makes_no_sense_is_refused)
{
    static const char *const bad[] = {
        ",", "a,", "a b", "a:0", "a:x", "[::1", "1,2,3,4,5,6,7,8"};
    ilk_client_opts opts;
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ilk_client *client = NULL;

        ilk_client_opts_init(&opts, sizeof opts);
        opts.listen = bad[i];
        assert_status(ILK_EINVAL,
                      ilk_client_open(&client, fx.unix_url, &opts, &err));
        assert_memory_equal(err.msg, "listen: ", 8);
        assert_null(client);
    }
}

TEST(the_option_listens_over_a_unix_socket_too)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;
    ilk_error err = {0};
    char list[64];

    snprintf(list, sizeof list, "localhost:%d", replica.port);
    ilk_client_opts_init(&opts, sizeof opts);
    opts.listen = list;
    assert_status(ILK_OK, ilk_client_open(&client, fx.unix_url, &opts, &err));
    memset(list, 'x', sizeof list - 1); /* it was copied */

    open_inbox(client);

    ilk_client_free(client);
}
