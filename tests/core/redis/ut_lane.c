/* SPDX-License-Identifier: MIT */
/* ut_lane.c -- a shared connection whose other end behaves badly. */
#include "lane_case.h"

#include "base/clock.h"
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "test.h"

#define HELLO "%2\r\n+proto\r\n:3\r\n+mode\r\n+standalone\r\n:7\r\n"

static peer far_end;

static void serve(const char *const *says)
{
    char text[64];

    assert_int_equal(peer_serve(&far_end, says), 0);
    snprintf(text, sizeof text, "redis://127.0.0.1:%d", far_end.port);
    lane_case_open(text);
}

static int setup(void)
{
    return peer_open(&far_end);
}

static int teardown(void)
{
    lane_case_close();
    peer_close(&far_end);
    return 0;
}

AROUND_EACH(setup, teardown);

TEST(news_between_answers_are_skipped)
{
    static const char *const says[] = {
        HELLO, ">2\r\n+invalidate\r\n*0\r\n:1\r\n>1\r\n+x\r\n", ":2\r\n", NULL};

    serve(says);

    assert_string_equal(lane_ask("INCR key"), "1");
    assert_string_equal(lane_ask("INCR key"), "2");
}

TEST(a_reply_without_a_request_ends_the_connection)
{
    static const char *const says[] = {HELLO, ":1\r\n:2\r\n", NULL};

    serve(says);

    /* One of the two is a surplus, and no number says which. */
    assert_string_equal(lane_ask("INCR key"), "ILK_ECONN");

    assert_int_equal(lane_case_traffic().connected, 0);
    assert_int_equal(lane_tell("PING"), ILK_ECONN);
}

TEST(garbage_ends_the_connection)
{
    static const char *const says[] = {HELLO, "what?\r\n", NULL};

    serve(says);

    assert_string_equal(lane_ask("PING"), "ILK_ECONN");
    assert_int_equal(lane_case_traffic().connected, 0);
}

/* The caller reads its own reply, and behind it what ends the connection. */
TEST(a_call_that_succeeded_has_no_error)
{
    static const char *const says[] = {HELLO, ":1\r\nwhat?\r\n", NULL};
    asker one = {.words = "INCR key", .timeout_ms = 5000};

    serve(says);

    asker_run(&one);
    assert_int_equal(one.status, ILK_OK);
    assert_string_equal(one.answer, "1");
    assert_int_equal(one.err.code, 0);
    assert_string_equal(one.err.msg, "");
}

TEST(half_an_answer_is_none)
{
    static const char *const says[] = {HELLO, "$10\r\nhello", NULL};
    asker one = {.words = "GET key", .timeout_ms = 150};

    serve(says);

    asker_run(&one);
    assert_int_equal(one.status, ILK_ETIMEOUT);
    assert_int_equal(one.may_have_run, 1);
    assert_in_range(one.took_ms, 150, 150 + patience(60));
}

TEST(the_end_of_the_connection_fails_all_that_wait)
{
    static const char *const says[] = {HELLO, ":1\r\n", "$5\r\nab", "", NULL};
    asker waiting[4];

    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");
    for (int i = 0; i < 4; i++) {
        waiting[i] = (asker){.words = "INCR key", .timeout_ms = 500};
        asker_start(&waiting[i]);
    }

    for (int i = 0; i < 4; i++) {
        asker_join(&waiting[i]);
        assert_string_equal(waiting[i].answer, "");
        /* who came after the end tries to connect, and nobody accepts */
        assert_true(waiting[i].status == ILK_ECONN
                    || waiting[i].status == ILK_ETIMEOUT);
    }
}

/* The far end reads no more: a command larger than all buffers stays. */
TEST(a_full_socket_keeps_nobody_beyond_the_deadline)
{
    static const char *const says[] = {HELLO, ":1\r\n", NULL};
    enum { MUCH = 8 * 1024 * 1024 };
    char *much = calloc(1, MUCH);
    asker large = {
        .words = "SET key", .much = much, .much_len = MUCH, .timeout_ms = 900};
    asker small = {.words = "PING", .timeout_ms = 150};

    assert_non_null(much);
    far_end.deaf = 1;
    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");

    asker_start_in_turn(&large); /* copied once, with sanitizers slowly */
    asker_start(&small);
    asker_join(&small);
    asker_join(&large);

    assert_int_equal(small.status, ILK_ETIMEOUT);
    assert_in_range(small.took_ms, 150, 150 + patience(60));
    assert_int_equal(large.status, ILK_ETIMEOUT);
    assert_in_range(large.took_ms, 900, 900 + patience(135));
    free(much);
}

/* Bytes that were not sent when the connection was given up are gone. */
TEST(nothing_arrives_after_a_connection_was_given_up)
{
    static const char *const says[] = {HELLO, ":1\r\n", NULL};
    enum { MUCH = 8 * 1024 * 1024 };
    char *much = calloc(1, MUCH);
    asker large = {.words = "SET key",
                   .much = much,
                   .much_len = MUCH,
                   .timeout_ms = 900,
                   .patience_ms = 300};
    ssize_t got;

    assert_non_null(much);
    far_end.deaf = 1;
    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");

    asker_run(&large);
    assert_int_equal(large.status, ILK_ETIMEOUT);
    assert_int_equal(lane_case_traffic().connected, 0);

    peer_wait(&far_end);
    while ((got = recv(far_end.fd, much, MUCH, 0)) > 0)
        continue;
    assert_int_equal(got, -1);
    assert_int_equal(errno, ECONNRESET);
    free(much);
}

/* ---- ensured commands --------------------------------------------------- */

static ilk_status ensured_status;
static int ensured_ends;

static void ensured_ended(ilk__ensured *ensured, ilk_status status)
{
    ensured_status = status;
    ensured_ends++;
    free(ensured);
}

static ilk_status tell(const char *name)
{
    ilk__ensured *ensured = calloc(1, sizeof *ensured);
    ilk__command command;
    ilk_status st;

    assert_non_null(ensured);
    ensured->ended = ensured_ended;
    ensured_ends = 0;
    ilk__command_init(&command);
    ilk__command_add_str(&command, name);
    st = ilk__lane_send_only(lane, &command, ensured, NULL);
    ilk__command_free(&command);
    return st;
}

/* The peer answers what it reads at once, so it has to read one at a time. */
static void let_peer_hear(void)
{
    fixture_sleep_ms(100);
}

TEST(an_ensured_command_is_done_by_an_answer)
{
    static const char *const says[] = {HELLO, ":1\r\n", "+OK\r\n", ":2\r\n",
                                       NULL};

    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");
    assert_int_equal(tell("PING"), ILK_OK);
    let_peer_hear();

    assert_string_equal(lane_ask("INCR key"), "2");

    assert_int_equal(ensured_ends, 1);
    assert_int_equal(ensured_status, ILK_OK);
}

TEST(an_ensured_command_fails_by_a_refusal)
{
    static const char *const says[] = {HELLO, ":1\r\n", "-BUSY script\r\n",
                                       ":2\r\n", NULL};

    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");
    assert_int_equal(tell("PING"), ILK_OK);
    let_peer_hear();

    assert_string_equal(lane_ask("INCR key"), "2");

    assert_int_equal(ensured_ends, 1);
    assert_int_equal(ensured_status, ILK_ESERVER);
}

TEST(an_ensured_command_fails_with_its_connection)
{
    static const char *const says[] = {HELLO, ":1\r\n", NULL};
    asker one = {.words = "PING", .timeout_ms = 900, .patience_ms = 100};

    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");
    assert_int_equal(tell("PING"), ILK_OK);
    assert_int_equal(ensured_ends, 0);

    asker_run(&one);

    assert_int_equal(one.status, ILK_ETIMEOUT);
    assert_int_equal(ensured_ends, 1);
    assert_int_equal(ensured_status, ILK_ECONN);

    assert_int_equal(tell("PING"), ILK_ECONN); /* the lane is down */
    assert_int_equal(ensured_ends, 1);
    assert_int_equal(ensured_status, ILK_ECONN);
}

TEST(an_ensured_command_ends_with_its_lane)
{
    static const char *const says[] = {HELLO, ":1\r\n", NULL};

    serve(says);
    assert_string_equal(lane_ask("INCR key"), "1");
    assert_int_equal(tell("PING"), ILK_OK);
    ilk__lane_shut(lane);
    assert_int_equal(ensured_ends, 1);
    assert_int_equal(ensured_status, ILK_ECLOSED);

    assert_int_equal(tell("PING"), ILK_ECONN);
    assert_int_equal(ensured_ends, 1);
    assert_int_equal(ensured_status, ILK_ECLOSED);
}

/* A command that is given up before it is sent stays in its place, and the next
 * call sends it. */
TEST(a_command_that_is_not_sent_yet_may_be_executed)
{
    static const char *const says[] = {HELLO, NULL};
    asker one = {.words = "INCR key", .timeout_ms = 100};

    serve(says);
    assert_int_equal(
        ilk__lane_connect(lane, ilk__deadline(5000), 0, NULL, NULL), ILK_OK);
    for (int i = 0; i < ILK__LANE_BATCHES; i++)
        assert_int_equal(tell("PING"), ILK_OK);

    asker_run(&one);
    assert_int_equal(one.status, ILK_ETIMEOUT);
    assert_int_equal(one.may_have_run, 1);
}

TEST(no_answer_belongs_to_a_command_that_is_not_sent_yet)
{
    static const char *const says[] = {HELLO, NULL};
    asker one = {.words = "INCR key", .timeout_ms = 5000};
    char answers[ILK__LANE_BATCHES * 7 + 32] = "";

    serve(says);
    assert_int_equal(
        ilk__lane_connect(lane, ilk__deadline(5000), 0, NULL, NULL), ILK_OK);
    for (int i = 0; i < ILK__LANE_BATCHES; i++) {
        assert_int_equal(tell("PING"), ILK_OK);
        strcat(answers, "+PONG\r\n");
    }
    strcat(answers, "-ERR one too many\r\n");
    asker_start_in_turn(&one);
    assert_int_equal(send(far_end.fd, answers, strlen(answers), MSG_NOSIGNAL),
                     strlen(answers));

    asker_join(&one);
    assert_int_equal(one.status, ILK_ECONN);
}

/* ---- connecting --------------------------------------------------------- */

TEST(nobody_answering_at_all_is_no_connection)
{
    asker one = {.words = "PING", .timeout_ms = 150};
    asker two = {.words = "PING", .timeout_ms = 100};
    char text[64];

    snprintf(text, sizeof text, "redis://127.0.0.1:%d", far_end.port);
    lane_case_open(text);

    asker_start(&one);
    asker_start(&two);
    asker_join(&two);
    asker_join(&one);

    assert_int_not_equal(one.status, ILK_OK);
    assert_int_equal(one.may_have_run, 0);
    assert_in_range(one.took_ms, 140, 150 + patience(60));
    assert_int_not_equal(two.status, ILK_OK);
    assert_in_range(two.took_ms, 95, 100 + patience(60));
}

TEST(shutting_while_connecting_ends_it)
{
    asker one = {.words = "PING", .timeout_ms = 400};
    char text[64];

    snprintf(text, sizeof text, "redis://127.0.0.1:%d", far_end.port);
    lane_case_open(text);
    asker_start(&one);
    fixture_sleep_ms(50);

    ilk__lane_shut(lane);
    asker_join(&one);

    assert_int_not_equal(one.status, ILK_OK);
    assert_in_range(one.took_ms, 0, 400 + patience(80));
    assert_string_equal(lane_ask("PING"), "ILK_ECLOSED");
}

/* Take the connections that nobody has answered out of the queue. */
static void forget_attempts(void)
{
    struct pollfd queue = {.fd = far_end.listener, .events = POLLIN};

    while (poll(&queue, 1, 50) > 0)
        close(accept(far_end.listener, NULL, NULL));
}

TEST(a_call_makes_an_attempt_of_its_own_in_a_long_pause)
{
    static const char *const says[] = {HELLO, "+PONG\r\n", NULL};
    asker one = {.words = "PING", .timeout_ms = patience(1000)};
    char text[64];

    snprintf(text, sizeof text, "redis://127.0.0.1:%d", far_end.port);
    lane_case_open(text);
    for (int i = 0; i < 8; i++) /* the pause grows to 10 s */
        assert_int_equal(
            ilk__lane_connect(lane, ilk__deadline(10), 0, NULL, NULL),
            ILK_ETIMEOUT);
    forget_attempts();
    assert_int_equal(peer_serve(&far_end, says), 0);

    asker_run(&one);

    assert_int_equal(one.status, ILK_OK);
}
