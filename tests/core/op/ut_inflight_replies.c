/* SPDX-License-Identifier: MIT */
/* ut_inflight_replies.c -- replies that do not belong to the operation whose
 * turn it is. */
/* link: -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__async_conn_send */
#include "inflight_case.h"
#include "redis/script.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

/* The pipeline frees what it handles. */
static void receive(const char *resp)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;

    assert_int_equal(ilk__reader_feed(reader, resp, strlen(resp), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__pipeline_handle(&pipeline, ILK__ASYNC_CONN_REPLY, reply, "test");
    ilk__reader_free(reader);
}

/* The reply to the request with this number; op_case_change is its operation. */
static void receive_held(int number)
{
    char resp[96];

    snprintf(resp, sizeof resp, "*4\r\n:%d\r\n:30000\r\n:17\r\n:5\r\n",
             64 * number + ILK__CODE_HELD);
    receive(resp);
}

static void end_turn(void)
{
    ilk__pipeline_handle(&pipeline, ILK__ASYNC_CONN_NOTHING, NULL, "test");
}

static void assert_broken(void)
{
    assert_int_equal(pipeline.connection.up, 0);
    assert_int_equal(pipeline.count, 0);
    assert_int_equal(pipeline.held_count, 0);
}

/* All operations are sent again, over a connection that works. */
static void assert_all_go_on(int count)
{
    int first = sent + 1;

    assert_broken();
    for (int i = 0; i < count; i++)
        assert_int_equal(runners[i].ended, 0);
    bring_connection_up();
    for (int i = 0; i < count; i++)
        receive_held(first + i);
    for (int i = 0; i < count; i++)
        assert_inflight_ended(&runners[i], ILK_OK);
}

TEST(a_reply_with_its_number_ends_the_operation_at_once)
{
    start_many(2);
    receive_held(1);
    assert_inflight_ended(&runners[0], ILK_OK);
    receive_held(2);
    assert_inflight_ended(&runners[1], ILK_OK);
}

TEST(a_swapped_reply_ends_the_connection)
{
    start_many(2);
    receive_held(2);
    assert_all_go_on(2);
}

TEST(a_repeated_reply_is_not_believed)
{
    start_many(1);
    receive_held(1);
    start_inflight(1, &op_case_change, -1);
    receive_held(1);
    assert_broken();
    bring_connection_up();
    receive_held(sent);
    assert_inflight_ended(&runners[1], ILK_OK);
}

TEST(a_surplus_reply_ends_the_connection)
{
    receive("+OK\r\n");
    assert_broken();
}

TEST(an_error_waits_for_the_end_of_the_turn)
{
    start_many(3);
    receive("-ERR no\r\n");
    receive_held(2);
    assert_int_equal(runners[0].ended + runners[1].ended, 0);

    end_turn();

    assert_inflight_ended(&runners[0], ILK_ESERVER);
    assert_inflight_ended(&runners[1], ILK_OK);
    receive_held(3);
    assert_inflight_ended(&runners[2], ILK_OK);
}

/* The error was the surplus: what it displaced shows that in the same turn. */
TEST(an_error_beside_a_foreign_reply_is_not_believed)
{
    start_many(2);
    receive("-ERR surplus\r\n");
    receive_held(1);
    assert_all_go_on(2);
}

TEST(many_errors_are_not_held_for_ever)
{
    start_many(ILK__HELD_MOST + 1);
    for (int i = 0; i < ILK__HELD_MOST; i++)
        receive("-ERR no\r\n");
    assert_inflight_ended(&runners[ILK__HELD_MOST - 1], ILK_ESERVER);
    receive_held(ILK__HELD_MOST + 1);
    assert_inflight_ended(&runners[ILK__HELD_MOST], ILK_OK);
}

TEST(a_malformed_reply_ends_its_operation_and_the_connection)
{
    start_many(2);
    receive("*2\r\n:65\r\n:30000\r\n"); /* HELD of request 1, cut short */

    assert_inflight_ended(&runners[0], ILK_EREPLY);
    assert_int_equal(runners[1].ended, 0);
    assert_broken();
    bring_connection_up();
    receive_held(sent);
    assert_inflight_ended(&runners[1], ILK_OK);
}

/* There is no socket below that has a number on the server. */
static int setup(void)
{
    int failed = inflight_setup();

    pipeline.connection.carries_commands = 0;
    return failed;
}

AROUND_EACH(setup, inflight_teardown);
