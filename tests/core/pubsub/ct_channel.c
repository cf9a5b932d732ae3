/* SPDX-License-Identifier: MIT */
/* ct_channel.c -- listening to channels and patterns of a real server. */
#include "base/clock.h"
#include "client/client.h"
#include "listener_case.h"
#include "lock_thread.h"

#include <stdio.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

typedef struct listening {
    ilk_client *client;
    ilk__listener listener;
} listening;

static void listener_open(listening *e, const char *url)
{
    ilk_error err = {0};

    e->client = open_client_at(url);
    assert_status(ILK_OK,
                  ilk__listener_init(&e->listener, e->client->shared, &err));
}

static void listener_close(listening *e)
{
    ilk__listener_destroy(&e->listener);
    ilk_client_free(e->client);
}

static ilk_status begin(listening *e, const char *name, int is_pattern,
                        ilk_error *err)
{
    const ilk__channel_of to = {
        .name = name, .len = strlen(name), .is_pattern = is_pattern};

    return listen_begin(e->client, &e->listener, &to,
                        ilk__deadline(patience(2000)), err);
}

static ilk_status next(listening *e, int64_t timeout_ms,
                       ilk__channel_message **out, ilk_error *err)
{
    return listen_next(e->client, &e->listener, out, ilk__deadline(timeout_ms),
                       err);
}

static void assert_hears(listening *e, const char *channel, const char *data)
{
    ilk_error err = {0};
    ilk__channel_message *message;

    assert_status(ILK_OK, next(e, patience(2000), &message, &err));
    assert_int_equal(message->channel_len, strlen(channel));
    assert_memory_equal(message->channel, channel, strlen(channel));
    assert_int_equal(message->data_len, strlen(data));
    assert_memory_equal(message->data, data, strlen(data));
    ilk__channel_message_free(message);
}

/* ---- hearing ------------------------------------------------------------ */

TEST(messages_published_after_begin_are_received)
{
    ilk_error err = {0};
    listening e;

    listener_open(&e, fx.unix_url);
    assert_status(ILK_OK, begin(&e, "news", 0, &err));

    assert_int_equal(fixture_int(&fx, "PUBLISH news one"), 1);
    assert_int_equal(fixture_int(&fx, "PUBLISH news two"), 1);

    assert_hears(&e, "news", "one");
    assert_hears(&e, "news", "two");
    listener_close(&e);
}

TEST(a_pattern_receives_all_that_match)
{
    ilk_error err = {0};
    listening e;

    listener_open(&e, fx.unix_url);
    assert_status(ILK_OK, begin(&e, "jobs.*", 1, &err));

    assert_int_equal(fixture_int(&fx, "PUBLISH jobs.red 1"), 1);
    assert_int_equal(fixture_int(&fx, "PUBLISH work.red 1"), 0);
    assert_int_equal(fixture_int(&fx, "PUBLISH jobs.blue 2"), 1);

    assert_hears(&e, "jobs.red", "1");
    assert_hears(&e, "jobs.blue", "2");
    listener_close(&e);
}

TEST(a_subscription_lasts_as_long_as_somebody_listens)
{
    ilk_error err = {0};
    listening e;
    ilk__listener second;
    const ilk__channel_of news = {.name = "news", .len = 4};

    listener_open(&e, fx.unix_url);
    assert_status(ILK_OK, begin(&e, "news", 0, &err));
    assert_status(ILK_OK, ilk__listener_init(&second, e.client->shared, &err));
    assert_status(ILK_OK, listen_begin(e.client, &second, &news,
                                       ilk__deadline(2000), &err));
    ilk__listen_end(&e.listener);
    assert_int_equal(fixture_int(&fx, "PUBLISH news one"), 1);

    ilk__listener_destroy(&second);

    assert_int_equal(fixture_await(&fx, "news\n0", (int)patience(2000),
                                   "PUBSUB NUMSUB news"),
                     0);
    assert_status(ILK_OK, begin(&e, "news", 0, &err));
    assert_int_equal(fixture_int(&fx, "PUBLISH news two"), 1);
    assert_hears(&e, "news", "two");
    listener_close(&e);
}

TEST(after_a_broken_connection_it_listens_again)
{
    ilk_error err = {0};
    listening e;

    listener_open(&e, fx.unix_url);
    assert_status(ILK_OK, begin(&e, "news", 0, &err));

    assert_true(fixture_int(&fx, "CLIENT KILL TYPE pubsub") >= 1);
    assert_int_equal(
        fixture_await(&fx, "1", (int)patience(2000), "PUBLISH news back"), 0);

    assert_hears(&e, "news", "back");
    assert_int_equal(e.listener.gaps, 1);
    listener_close(&e);
}

/* ---- the end of a wait -------------------------------------------------- */

TEST(silence_lasts_as_long_as_its_limit)
{
    ilk_error err = {0};
    ilk__channel_message *message;
    int64_t began;
    listening e;

    listener_open(&e, fx.unix_url);
    assert_status(ILK_OK, begin(&e, "news", 0, &err));

    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, next(&e, 0, &message, &err));
    assert_on_time(fixture_now_ms() - began, 0);
    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, next(&e, 200, &message, &err));
    assert_on_time(fixture_now_ms() - began, 200);

    assert_null(message);
    listener_close(&e);
}

static listening disturbed;

static void *listen_for_ever(void *context)
{
    ilk_error err = {0};
    ilk__channel_message *message;

    return (void *)(intptr_t)next(context, -1, &message, &err);
}

static ilk_status end_by(void (*disturb)(void))
{
    ilk_error err = {0};
    pthread_t thread;
    void *status;

    listener_open(&disturbed, fx.unix_url);
    assert_status(ILK_OK, begin(&disturbed, "news", 0, &err));
    assert_int_equal(pthread_create(&thread, NULL, listen_for_ever, &disturbed),
                     0);
    fixture_sleep_ms(50);
    disturb();
    assert_int_equal(pthread_join(thread, &status), 0);
    listener_close(&disturbed);
    return (ilk_status)(intptr_t)status;
}

static void interrupt(void)
{
    (void)ilk_client_interrupt(disturbed.client);
}

static void cancel(void)
{
    ilk__listen_cancel(&disturbed.listener);
}

static void shut(void)
{
    (void)ilk_client_close(disturbed.client, NULL);
}

TEST(interrupt_cancel_and_close_end_a_wait)
{
    assert_int_equal(end_by(interrupt), ILK_EINTR);
    assert_int_equal(end_by(cancel), ILK_ECANCELLED);
    assert_int_equal(end_by(shut), ILK_ECLOSED);
}

/* ---- refused ------------------------------------------------------------ */

TEST(a_channel_without_a_right_is_refused_and_waits_go_on)
{
    ilk_client *other = open_client();
    ilk_lock *held = open_lock(other, "pier"), *lock;
    ilk_error err = {0};
    char url[256];
    listening e;

    assert_string_equal(
        fixture_command(&fx, "ACL SETUSER bob on >pw ~* +@all resetchannels "
                             "&ilk:inbox:* &news"),
        "OK");
    snprintf(url, sizeof url, "redis://bob:pw@127.0.0.1:%d", fx.port);
    listener_open(&e, url);

    assert_status(ILK_EAUTH, begin(&e, "secret", 0, &err));
    assert_non_null(strstr(err.msg, "NOPERM"));

    assert_status(ILK_OK, begin(&e, "news", 0, &err));
    assert_int_equal(fixture_int(&fx, "PUBLISH news one"), 1);
    assert_hears(&e, "news", "one");
    lock = open_lock(e.client, "pier");
    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(lock, 50, &err));
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(2000), &err));
    ilk_lock_free(lock);
    ilk_lock_free(held);
    listener_close(&e);
    ilk_client_free(other);
}
