/* SPDX-License-Identifier: MIT */
/* ct_lane.c -- one connection to a real server that many threads share. */
/* link: -Wl,--wrap=ilk__conn_send */
#include "lane_case.h"

#include "base/clock.h"
#include "server_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

enum { THREADS = 16, CALLS = 1000 };

static int open_lane(void)
{
    fixture_command(&fx, "FLUSHALL");
    lane_case_open(fx.unix_url);
    return 0;
}

static int close_lane(void)
{
    lane_case_close();
    return 0;
}

AROUND_EACH(open_lane, close_lane);

/* ---- combining ---------------------------------------------------------- */

static _Atomic int wrong_answers;

/* Count a key of its own up: every answer is known, and its order. */
static void *count_up(void *context)
{
    char words[64], expected[16];
    asker self = {.words = words, .timeout_ms = -1, .patience_ms = 30000};

    snprintf(words, sizeof words, "INCR key-%d", *(int *)context);
    for (int i = 1; i <= CALLS; i++) {
        asker_run(&self);
        snprintf(expected, sizeof expected, "%d", i);
        if (self.status || strcmp(self.answer, expected) != 0)
            atomic_fetch_add(&wrong_answers, 1);
    }
    return NULL;
}

static void count_in_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    wrong_answers = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(
            pthread_create(&threads[i], NULL, count_up, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wrong_answers, 0);
}

TEST(many_threads_share_writes_and_get_their_own_answers)
{
    ilk__traffic traffic;

    count_in_threads();

    traffic = lane_case_traffic();
    assert_int_equal(traffic.commands, THREADS * CALLS);
    assert_int_equal(traffic.connects, 1);
    assert_in_range(traffic.writes, 1, THREADS * CALLS - 1);
}

/* ---- large and small ---------------------------------------------------- */

enum { MUCH = 1024 * 1024, ROUNDS = 300, QUICK_MS = 2000 };

/* Small questions beside a large one: each may find the other's write cut. */
TEST(a_large_command_and_small_ones_do_not_stall)
{
    char *much = calloc(1, MUCH);
    int64_t slowest = 0;

    for (int i = 0; i < ROUNDS; i++) {
        asker large = {.words = "SET much",
                       .much = much,
                       .much_len = MUCH,
                       .timeout_ms = -1,
                       .patience_ms = 20000};
        asker small = {.words = "PING", .timeout_ms = -1, .patience_ms = 20000};

        asker_start(&large);
        asker_start(&small);
        asker_join(&small);
        asker_join(&large);
        assert_int_equal(large.status, ILK_OK);
        assert_int_equal(small.status, ILK_OK);
        if (large.took_ms > slowest)
            slowest = large.took_ms;
    }
    assert_in_range(slowest, 0, patience(QUICK_MS));
    free(much);
}

TEST(one_thread_alone_writes_each_command_at_once)
{
    ilk__traffic traffic;

    for (int i = 0; i < 10; i++)
        assert_string_equal(lane_ask("ECHO hello"), "hello");

    traffic = lane_case_traffic();
    assert_int_equal(traffic.commands, 10);
    assert_int_equal(traffic.writes, 10);
}

TEST(a_command_without_a_reply_runs_before_the_next_call)
{
    char words[64], expected[16];

    assert_int_equal(lane_tell("SET key 1"), ILK_ECONN); /* never opens it */
    assert_string_equal(lane_ask("GET key"), "");

    for (int i = 0; i < 500; i++) {
        snprintf(words, sizeof words, "SET key %d", i);
        snprintf(expected, sizeof expected, "%d", i);
        assert_int_equal(lane_tell(words), ILK_OK);
        assert_string_equal(lane_ask("GET key"), expected);
    }
}

TEST(commands_without_replies_do_not_pile_up)
{
    assert_string_equal(lane_ask("PING"), "PONG");

    for (int i = 0; i < 20000; i++)
        assert_int_equal(lane_tell("INCR told"), ILK_OK);

    assert_string_equal(lane_ask("INCR told"), "20001");
    assert_int_equal(lane_case_traffic().connects, 1);
}

/* ---- giving up ---------------------------------------------------------- */

TEST(a_call_that_gives_up_leaves_the_others_their_replies)
{
    asker hasty = {.words = "INCR key", .timeout_ms = 100};
    asker patient = {.words = "INCR key", .timeout_ms = 5000};
    asker late = {.words = "ECHO late", .timeout_ms = 5000};

    assert_string_equal(lane_ask("INCR key"), "1");
    fixture_pause(&fx);
    asker_start_in_turn(&hasty);
    asker_start_in_turn(&patient);
    asker_join(&hasty); /* it read for both; now the other must */
    fixture_resume(&fx);
    asker_join(&patient);
    asker_start(&late);
    asker_join(&late);

    assert_int_equal(hasty.status, ILK_ETIMEOUT);
    assert_int_equal(hasty.err.code, ILK_ETIMEOUT);
    assert_int_equal(hasty.may_have_run, 1);
    assert_in_range(hasty.took_ms, 100, 100 + patience(60));
    assert_int_equal(patient.status, ILK_OK);
    assert_string_equal(patient.answer, "3"); /* the hasty one's was 2 */
    assert_in_range(patient.took_ms, 0, patience(1000));
    assert_string_equal(late.answer, "late");
    assert_int_equal(lane_case_traffic().connects, 1);
}

TEST(a_server_that_is_silent_for_too_long_is_left)
{
    asker first = {.words = "PING", .timeout_ms = 5000, .patience_ms = 150};
    asker second = {.words = "PING", .timeout_ms = 5000};

    assert_string_equal(lane_ask("PING"), "PONG");
    fixture_pause(&fx);
    asker_start_in_turn(&first);
    asker_start_in_turn(&second);
    asker_join(&first);
    asker_join(&second);
    fixture_resume(&fx);

    assert_int_equal(first.status, ILK_ETIMEOUT);
    assert_in_range(first.took_ms, 150, 150 + patience(60));
    assert_int_equal(second.status, ILK_ECONN);
    assert_int_equal(second.may_have_run, 1);
    assert_string_equal(lane_ask("PING"), "PONG");
    assert_int_equal(lane_case_traffic().connects, 2);
}

/* ---- broken and closed -------------------------------------------------- */

TEST(a_broken_connection_fails_all_and_the_next_call_opens_another)
{
    asker waiting[8];

    assert_string_equal(lane_ask("PING"), "PONG");
    fixture_pause(&fx);
    for (int i = 0; i < 8; i++) {
        waiting[i] = (asker){.words = "PING", .timeout_ms = 10000};
        asker_start_in_turn(&waiting[i]);
    }
    fixture_kill(&fx);
    for (int i = 0; i < 8; i++) {
        asker_join(&waiting[i]);
        assert_int_equal(waiting[i].status, ILK_ECONN);
        assert_int_equal(waiting[i].err.code, ILK_ECONN);
        assert_in_range(waiting[i].took_ms, 0, patience(2000));
    }

    assert_string_equal(lane_ask("PING"), "ILK_ECONN");
    assert_int_equal(fixture_restart(&fx), 0);
    assert_string_equal(lane_ask("PING"), "PONG");
    assert_int_equal(lane_case_traffic().connects, 2);
}

TEST(tries_to_connect_are_spaced)
{
    int64_t begin = ilk__now_ms();
    int tries = 0;

    fixture_kill(&fx);
    while (ilk__now_ms() < begin + 600) {
        assert_string_equal(lane_ask("PING"), "ILK_ECONN");
        tries++;
    }

    assert_in_range(tries, 4, 20); /* 2, 4, 8 ... ms apart */
    assert_int_equal(fixture_restart(&fx), 0);
}

TEST(shutting_ends_calls_for_ever)
{
    asker waiting[4];
    int64_t begin;

    assert_string_equal(lane_ask("PING"), "PONG");
    fixture_pause(&fx);
    for (int i = 0; i < 4; i++) {
        waiting[i] = (asker){.words = "PING", .timeout_ms = 10000};
        asker_start_in_turn(&waiting[i]);
    }
    begin = ilk__now_ms();
    ilk__lane_shut(lane);
    for (int i = 0; i < 4; i++) {
        asker_join(&waiting[i]);
        assert_int_equal(waiting[i].status, ILK_ECLOSED);
    }
    assert_in_range(ilk__now_ms() - begin, 0, patience(100));
    fixture_resume(&fx);

    assert_string_equal(lane_ask("PING"), "ILK_ECLOSED");
    assert_int_equal(lane_tell("PING"), ILK_ECONN);
}

/* The connection is killed again and again under calling threads. */
TEST(threads_survive_a_connection_that_keeps_breaking)
{
    asker callers[6];
    int answered = 0;

    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 6; i++) {
            callers[i] = (asker){.words = "PING", .timeout_ms = 5000};
            asker_start(&callers[i]);
        }
        fixture_command(&fx, "CLIENT KILL TYPE normal SKIPME yes");
        for (int i = 0; i < 6; i++) {
            asker_join(&callers[i]);
            if (callers[i].status == ILK_OK)
                answered += strcmp(callers[i].answer, "PONG") == 0;
            else
                assert_int_equal(callers[i].status, ILK_ECONN);
        }
    }

    assert_true(answered > 0);
    (void)lane_ask("PING"); /* may find the last one that was killed */
    assert_string_equal(lane_ask("PING"), "PONG");
}

ilk_status __real_ilk__conn_send(ilk__conn *conn, const void *data, size_t len,
                                 size_t *out_sent, ilk_error *err);
ilk_status __wrap_ilk__conn_send(ilk__conn *conn, const void *data, size_t len,
                                 size_t *out_sent, ilk_error *err);

static int breaks_in_a_write;

/* The socket accepts no byte, and the connection breaks before the writer has
 * the lane's mutex again. */
ilk_status __wrap_ilk__conn_send(ilk__conn *conn, const void *data, size_t len,
                                 size_t *out_sent, ilk_error *err)
{
    if (!breaks_in_a_write)
        return __real_ilk__conn_send(conn, data, len, out_sent, err);
    breaks_in_a_write = 0;
    ilk__lane_distrust(lane);
    *out_sent = 0;
    return ILK_OK;
}

TEST(a_connection_that_breaks_during_a_write_is_replaced)
{
    assert_string_equal(lane_ask("PING"), "PONG");

    breaks_in_a_write = 1;
    assert_string_equal(lane_ask("PING"), "ILK_ECONN");

    assert_string_equal(lane_ask("PING"), "PONG");
    assert_int_equal(lane_case_traffic().connects, 2);
}
