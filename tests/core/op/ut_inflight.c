/* SPDX-License-Identifier: MIT */
/* ut_inflight.c -- operations over one asynchronous connection: in order, in
 * time, in the backlog. */
/* link: -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__async_conn_send */
#include "inflight_case.h"

AROUND_EACH(inflight_setup, inflight_teardown);

/* ---- in order ----------------------------------------------------------- */

TEST(replies_come_in_the_order_of_the_commands)
{
    start_many(100); /* more than there is room for at first */
    assert_int_equal(sent, 100);

    answer_inflight(60);

    assert_inflight_ended(&runners[59], ILK_OK);
    assert_int_equal(runners[60].ended, 0);
    start_inflight(100, &op_case_change, -1);
    answer_inflight(41);
    assert_inflight_ended(&runners[100], ILK_OK);
    assert_int_equal(ilk__pipeline_reply(&pipeline, op_case_reply("1")), 0);
}

TEST(a_command_for_which_there_is_no_memory_ends_alone)
{
    start_inflight(0, &op_case_change, -1);
    sending = ILK_ENOMEM;
    start_inflight(1, &op_case_change, -1);
    sending = ILK_OK;
    start_inflight(2, &op_case_change, -1);

    assert_inflight_ended(&runners[1], ILK_ENOMEM);
    answer_inflight(2);
    assert_inflight_ended(&runners[0], ILK_OK);
    assert_inflight_ended(&runners[2], ILK_OK);
}

/* ---- deadlines ---------------------------------------------------------- */

TEST(a_deadline_is_kept_while_it_is_unsent)
{
    pipeline.connection.up = 0;
    start_inflight(0, &op_case_look, 100);
    start_inflight(1, &op_case_look, -1);
    assert_int_equal(pipeline.connection.wanted, 1);

    tick(99);
    assert_int_equal(runners[0].ended, 0);
    tick(1);

    assert_inflight_ended(&runners[0], ILK_ECONN);
    bring_connection_up();
    assert_int_equal(sent, 1); /* the other one's */
    answer_inflight(1);
    assert_inflight_ended(&runners[1], ILK_OK);
}

TEST(a_short_wait_has_one_attempt_to_connect)
{
    pipeline.connection.up = 0;
    start_short(0, &op_case_look, 100, 500);
    start_short(1, &op_case_look, 100, 500);
    pipeline.connection.conn = (ilk__conn *)&pipeline; /* being opened */
    tick(100);
    assert_int_equal(runners[0].ended, 0);

    pipeline.connection.conn = NULL;
    bring_connection_up();
    answer_inflight(2);
    assert_inflight_ended(&runners[0], ILK_OK);

    pipeline.connection.up = 0;
    start_short(2, &op_case_look, 100, 500);
    tick(100);
    assert_inflight_ended(&runners[2], ILK_ECONN); /* there was only a pause */
}

TEST(a_deadline_on_the_wire_abandons_the_slot)
{
    start_inflight(0, &op_case_look, 100);
    start_inflight(1, &op_case_look, -1);

    tick(100);

    assert_inflight_ended(&runners[0], ILK_ECONN);
    answer_inflight(1); /* to the abandoned slot */
    assert_int_equal(runners[1].ended, 0);
    assert_int_equal(op_case_seen.answered, 0);
    answer_inflight(1);
    assert_inflight_ended(&runners[1], ILK_OK);
}

TEST(the_servers_patience_keeps_a_deadline_behind_it)
{
    const runner *self;

    self = start_inflight(0, &op_case_look, INFLIGHT_REPLY_MS);

    assert_int_equal(timers.count, 0); /* most requests need no timer */
    assert_int_equal(ilk__pipeline_patience(&pipeline),
                     local_ms + INFLIGHT_REPLY_MS);
    local_ms += INFLIGHT_REPLY_MS;
    lose_connection();
    tick(0);

    assert_int_equal(self->ended, 1);
    assert_int_equal(self->status, ILK_ECONN);
}

/* ---- a full wire -------------------------------------------------------- */

TEST(a_full_wire_leaves_the_rest_in_the_backlog)
{
    start_many(ILK__WIRE_FULL + 3);
    assert_int_equal(sent, ILK__WIRE_FULL);

    answer_inflight(1);
    assert_int_equal(sent, ILK__WIRE_FULL + 1);
    answer_inflight(2);
    assert_int_equal(sent, ILK__WIRE_FULL + 3);

    answer_inflight(ILK__WIRE_FULL);
    assert_inflight_ended(&runners[ILK__WIRE_FULL + 2], ILK_OK);
}

TEST(a_deadline_is_kept_in_the_backlog)
{
    runner *late, *next;

    start_many(ILK__WIRE_FULL);
    late = start_inflight(ILK__WIRE_FULL, &op_case_look, 50);
    next = start_inflight(ILK__WIRE_FULL + 1, &op_case_look, -1);

    tick(50);

    assert_inflight_ended(late, ILK_ECONN);
    assert_int_equal(late->ended_at, OP_CASE_BEGIN_MS + 50);
    answer_inflight((int)pipeline.count - 1);
    answer_inflight((int)pipeline.count);
    assert_inflight_ended(next, ILK_OK);
}

TEST(an_operation_that_must_end_does_not_enter_the_backlog)
{
    runner *self;

    self = start_inflight(INFLIGHT_MOST - 1, &op_case_change, -1);
    self->more = &op_case_change; /* as a request of two questions */
    start_many(ILK__WIRE_FULL + 1);

    ilk__inflight_close(&pipeline, &self->inflight);

    assert_inflight_ended(self, ILK_ECLOSED);
    answer_inflight((int)pipeline.count); /* the abandoned slot's, too */
    answer_inflight((int)pipeline.count);
    assert_inflight_ended(&runners[ILK__WIRE_FULL], ILK_OK);
}

TEST(an_operation_withheld_in_the_backlog_is_not_sent)
{
    runner *self;

    start_many(ILK__WIRE_FULL);
    self = start_inflight(ILK__WIRE_FULL, &op_case_change, -1);

    ilk__inflight_withhold(&pipeline, &self->inflight, ILK_ECANCELLED);

    assert_inflight_ended(self, ILK_ECLOSED); /* who withholds knows better */
    answer_inflight((int)pipeline.count);
    assert_int_equal(sent, ILK__WIRE_FULL);
}
