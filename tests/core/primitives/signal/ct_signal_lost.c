/* SPDX-License-Identifier: MIT */
/* ct_signal_lost.c -- replies, connections and servers that get lost. */
#include "proxy_case.h"
#include "redis/script.h"
#include "signal_case.h"

#include <stdio.h>
#include <string.h>

AROUND_ALL(proxy_setup, proxy_teardown);

/* Its scripts are known to the server: what is lost below did run. */
static ilk_client *open_giver(void)
{
    ilk_client *giver = open_client_at(between.url);
    ilk_signal *warm = open_signal(giver, "warm");

    assert_int_equal(0, tell_one(warm, "x") + report_all(warm, "x"));
    ilk_signal_free(warm);
    return giver;
}

/* ---- replies ------------------------------------------------------------ */

TEST(a_lost_reply_gives_the_signal_once)
{
    ilk_client *client = open_client(), *giver = open_giver();
    ilk_signal *signals[2], *give = open_signal(giver, "once");
    hearing l[2];

    for (int i = 0; i < 2; i++) {
        signals[i] = open_signal(client, "once");
        start_hearing(&l[i], LISTEN_ANY, &signals[i], 1, 20000);
        await_waits("once", i + 1);
    }

    proxy_cut(&between, "word-a", 0);
    assert_int_equal(1, tell_one(give, "word-a"));
    assert_int_equal(1, proxy_struck(&between));
    assert_heard(ILK_OK, &l[0]);
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:signal:wait:{once}"));

    proxy_cut(&between, "word-b", 3);
    assert_int_equal(1, report_all(give, "word-b"));
    assert_int_equal(1, proxy_struck(&between));
    assert_heard(ILK_OK, &l[1]);
    assert_string_equal("0 once=word-b;", heard(l[1].arrival));

    for (int i = 0; i < 2; i++) {
        free_hearing(&l[i]);
        ilk_signal_free(signals[i]);
    }
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

TEST(a_command_that_never_arrived_is_sent_again)
{
    ilk_client *client = open_client(), *giver = open_giver();
    ilk_signal *signal = open_signal(client, "again");
    ilk_signal *give = open_signal(giver, "again");
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, 20000);
    await_waits("again", 1);

    proxy_arm(&between, PROXY_LOSE, "word-c");
    assert_int_equal(1, tell_one(give, "word-c"));

    assert_int_equal(1, proxy_struck(&between));
    assert_heard(ILK_OK, &l);
    free_hearing(&l);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

TEST(where_no_reply_comes_it_is_unknown)
{
    ilk_client *giver = NULL;
    ilk_signal *give;
    ilk_client_opts opts;
    ilk_error err = {0};

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 300;
    assert_status(ILK_OK, ilk_client_open(&giver, fx.unix_url, &opts, &err));
    give = open_signal(giver, "silent");
    tell_one(give, "x");

    fixture_pause(&fx);
    assert_status(ILK_EUNKNOWN,
                  ilk_signal_notify_one(NULL, give, "x", 1, &err));
    fixture_resume(&fx);

    ilk_signal_free(give);
    ilk_client_free(giver);
}

/* The wait's own request is sent twice, and stands in the wait queue once. */
TEST(a_wait_whose_reply_is_lost_is_queued_once)
{
    ilk_client *client = open_client_at(between.url), *giver = open_client();
    ilk_signal *signal = open_signal(client, "inline");
    ilk_signal *give = open_signal(giver, "inline");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    hearing l;

    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, signal, 50, &err));
    proxy_cut(&between, "ilk:signal:wait:{inline}", 0);
    start_hearing(&l, LISTEN_ANY, &signal, 1, 20000);
    await_waits("inline", 1);
    fixture_sleep_ms(200);

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:signal:wait:{inline}"));
    assert_int_equal(1, report_all(give, "x"));

    assert_heard(ILK_OK, &l);
    free_hearing(&l);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

/* ---- connections and servers -------------------------------------------- */

/* After any trouble of the server a signal soon reaches the wait again. */
static void assert_reached_after(const char *name, void (*trouble)(void),
                                 int within_ms)
{
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *signal = open_signal(client, name);
    ilk_signal *give = open_signal(giver, name);
    int64_t began, reached = 0;
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits(name, 1);
    trouble();

    began = fixture_now_ms();
    while (!reached && fixture_now_ms() - began < 15000) {
        (void)ilk_signal_notify_one(&reached, give, "x", 1, NULL);
        fixture_sleep_ms(5);
    }
    assert_int_equal(1, reached);
    assert_heard(ILK_OK, &l);
    assert_in_range(fixture_now_ms() - began, 0, patience(within_ms));
    free_hearing(&l);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

static void flush(void)
{
    fixture_command(&fx, "FLUSHALL");
}

static void kill_subscriptions(void)
{
    fixture_command(&fx, "CLIENT KILL TYPE pubsub");
}

static void kill_connections(void)
{
    fixture_command(&fx, "CLIENT KILL TYPE normal");
    fixture_command(&fx, "CLIENT KILL TYPE pubsub");
}

static void restart(void)
{
    fixture_kill(&fx);
    assert_int_equal(0, fixture_restart(&fx));
}

static void forget_scripts(void)
{
    fixture_command(&fx, "SCRIPT FLUSH");
}

TEST(a_wait_survives_what_happens_to_its_server)
{
    assert_reached_after("flush", flush, 3000);
    assert_reached_after("deaf", kill_subscriptions, 1500);
    assert_reached_after("cut", kill_connections, 1500);
    assert_reached_after("forget", forget_scripts, 300);
    assert_reached_after("restart", restart, 5000);
}

/* A broadcast that could not be received was not counted. */
TEST(a_broadcast_to_the_deaf_is_not_counted)
{
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *signal = open_signal(client, "noise");
    ilk_signal *give = open_signal(giver, "noise");
    int64_t reached, heard_in_all = 0, counted = 0;

    for (int i = 0; i < 50; i++) {
        hearing l;

        start_hearing(&l, LISTEN_ANY, &signal, 1, 300);
        while (!l.done
               && fixture_int(&fx, "ZCARD ilk:signal:wait:{noise}") != 1)
            fixture_sleep_ms(1);
        if (i % 2)
            fixture_command(&fx, "CLIENT KILL TYPE pubsub");
        reached = report_all(give, "x");
        counted += reached;
        while (!l.done)
            fixture_sleep_ms(1);
        pthread_join(l.thread, NULL);
        heard_in_all += l.status == ILK_OK;
        free_hearing(&l);
    }
    assert_true(counted >= 15);
    assert_int_equal(counted, heard_in_all);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

/* The first call replies that 5 have the signal and that there are more; the second one
 * finds keys of another type. */
TEST(a_notify_that_fails_half_way_is_unknown)
{
    ilk_client *giver = open_giver();
    ilk_signal *give = open_signal(giver, "half");
    ilk_error err = {0};
    int64_t reached = -1;
    char more[64];

    fixture_command(&fx, "SET ilk:signal:wait:{half} x");
    snprintf(more, sizeof more, "*4\r\n:%d\r\n:5\r\n:1\r\n:0\r\n",
             ILK__CODE_SIGNALLED);
    proxy_replace(&between, "word-e", more, strlen(more));
    assert_status(ILK_EUNKNOWN,
                  ilk_signal_notify_all(&reached, give, "word-e", 6, &err));
    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(5, reached);
    assert_non_null(strstr(err.msg, "5 were reached"));
    assert_non_null(strstr(err.msg, "WRONGTYPE"));
    assert_status(ILK_ETYPE,
                  ilk_signal_notify_all(&reached, give, "x", 1, &err));
    fixture_command(&fx, "DEL ilk:signal:wait:{half}");
    ilk_signal_free(give);
    ilk_client_free(giver);
}
