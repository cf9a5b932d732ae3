/* SPDX-License-Identifier: MIT */
/* ut_inflight_lost.c -- in-flight operations: a lost connection, what is ensured,
 * who sleeps. */
/* link: -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__async_conn_send */
#include "inflight_case.h"

AROUND_EACH(inflight_setup, inflight_teardown);

/* ---- a link that is lost ------------------------------------------------ */

TEST(a_request_that_was_on_the_wire_is_sent_again)
{
    start_many(3);

    lose_connection();
    assert_int_equal(pipeline.count, 0);
    assert_int_equal(runners[0].ended, 0);
    bring_connection_up();

    assert_int_equal(sent, 6);
    answer_inflight(3);
    for (int i = 0; i < 3; i++)
        assert_inflight_ended(&runners[i], ILK_OK);
    assert_int_equal(runners[0].err.code, 0);
}

TEST(a_held_request_fails_with_the_reason)
{
    pipeline.connection.up = 0;
    start_inflight(0, &op_case_change, -1);
    runners[0].inflight.op.persist_ms = 0;

    lose_connection();

    assert_inflight_ended(&runners[0], ILK_ECONN);
    assert_string_equal(runners[0].err.msg, "gone");
    assert_int_equal(sent, 0);
}

TEST(the_backlog_moves_up_when_the_wire_is_lost)
{
    start_many(ILK__WIRE_FULL + 2);

    lose_connection();
    bring_connection_up();

    assert_int_equal(sent, 2 * ILK__WIRE_FULL + 2);
    answer_inflight((int)pipeline.count);
    for (int i = 0; i < ILK__WIRE_FULL + 2; i++)
        assert_inflight_ended(&runners[i], ILK_OK);
}

/* ---- telling ------------------------------------------------------------ */

static ilk__act tell(ilk__op *op)
{
    return ilk__op_send_only(op, &ensured_one.ensured);
}

static ilk__act told(ilk__op *op, ilk_status status)
{
    return ilk__op_done(op, status);
}

static void ask_ping(ilk__op *op)
{
    ilk__command_add_str(&op->command, "PING");
}

static const ilk__op_type telling = {.name = "telling",
                                     .script = ILK__SCRIPT_NONE,
                                     .ask = ask_ping,
                                     .start = tell,
                                     .sent = told};

static void assert_kept(ilk_status status)
{
    assert_int_equal(ensured_one.ended, 1);
    assert_int_equal(ensured_one.status, status);
}

TEST(an_ensured_command_is_done_by_the_answer)
{
    const runner *self;

    self = start_inflight(0, &telling, -1);

    assert_inflight_ended(self, ILK_OK); /* nobody waits for it */
    assert_int_equal(ensured_one.ended, 0);
    answer_inflight(1);
    assert_kept(ILK_OK);
}

TEST(an_ensured_command_fails_by_an_error)
{
    start_inflight(0, &telling, -1);

    ilk__pipeline_reply(&pipeline, op_case_reply("-ERR no\r\n"));

    assert_kept(ILK_ESERVER);
}

TEST(an_ensured_command_fails_with_the_connection)
{
    start_inflight(0, &telling, -1);

    lose_connection();

    assert_kept(ILK_ECONN);
}

TEST(an_ensured_command_fails_when_nothing_is_sent)
{
    const runner *self;

    pipeline.connection.up = 0;
    self = start_inflight(0, &telling, -1);

    assert_inflight_ended(self,
                          ILK_ECONN); /* sent later it could follow what it was
                                      to be ahead of */
    assert_kept(ILK_ECONN);
}

TEST(an_ensured_command_ends_with_the_client)
{
    start_inflight(0, &telling, -1);

    ilk__pipeline_free(&pipeline);

    assert_kept(ILK_ECLOSED);
}

/* ---- sleeping ----------------------------------------------------------- */

static ilk__act doze(ilk__op *op)
{
    return ilk__op_sleep(op, op->deadline);
}

static ilk__act woken(ilk__op *op, ilk__cause cause)
{
    return ilk__op_done(op, cause == ILK__CAUSE_NEWS     ? ILK_OK
                            : cause == ILK__CAUSE_CLOSED ? ILK_ECLOSED
                                                         : ILK_ETIMEOUT);
}

static const ilk__op_type dozing = {.name = "dozing",
                                    .script = ILK__SCRIPT_NONE,
                                    .ask = ask_ping,
                                    .start = doze,
                                    .wake = woken};

TEST(a_sleeper_is_woken_by_messages_by_time_and_by_the_end)
{
    for (int i = 0; i < 3; i++)
        start_inflight(i, &dozing, 100);

    ilk__inflight_wake(&pipeline, &runners[0].inflight, ILK__CAUSE_NEWS);
    assert_inflight_ended(&runners[0], ILK_OK);
    ilk__inflight_close(&pipeline, &runners[1].inflight);
    assert_inflight_ended(&runners[1], ILK_ECLOSED);
    tick(99);
    assert_int_equal(runners[2].ended, 0);
    tick(1);
    assert_inflight_ended(&runners[2], ILK_ETIMEOUT);
}
