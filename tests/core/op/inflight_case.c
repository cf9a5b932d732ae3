/* SPDX-License-Identifier: MIT */
/* inflight_case.c -- in-flight operations over a connection that is none. */
#include "inflight_case.h"

#include <string.h>

#include "test.h"

ilk__timers timers;
ilk__pipeline pipeline;
static ilk__target target;
runner runners[INFLIGHT_MOST];
ensured_result ensured_one;
int sent;
ilk_status sending;

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *connection,
                                       const ilk__command *command,
                                       ilk__expected_reply *out)
{
    (void)connection;
    (void)command;
    *out = (ilk__expected_reply){ILK__REPLIES_NUMBERED, sent + 1};
    if (sending == ILK_OK)
        sent++;
    return sending;
}

static void kept(ilk__ensured *ensured, ilk_status status)
{
    ensured_result *self = (ensured_result *)ensured;

    self->ended++;
    self->status = status;
}

static void finished(ilk__inflight *inflight)
{
    runner *self = (runner *)inflight;
    const ilk__op_type *more = self->more;

    self->status = inflight->op.status;
    ilk__op_free(&inflight->op);
    self->more = NULL;
    if (more) {
        ilk__op_init(&inflight->op, more, NULL, inflight->op.deadline,
                     &self->err);
        ilk__inflight_start(&pipeline, inflight);
        return;
    }
    self->ended++;
    self->ended_at = local_ms;
    ilk__timers_unreserve(&timers);
}

int inflight_setup(void)
{
    memset(runners, 0, sizeof runners);
    memset(&timers, 0, sizeof timers);
    memset(&ensured_one, 0, sizeof ensured_one);
    ensured_one.ensured.ended = kept;
    sent = 0;
    sending = ILK_OK;
    ilk__pipeline_init(&pipeline, &target, &timers, INFLIGHT_REPLY_MS);
    pipeline.connection.up = 1;
    return op_case_setup();
}

int inflight_teardown(void)
{
    assert_int_equal(pipeline.count, 0);
    assert_null(pipeline.backlog.first);
    assert_null(pipeline.unsent.first);
    assert_int_equal(timers.count, 0);
    assert_int_equal(timers.reserved, 0);
    ilk__pipeline_free(&pipeline);
    ilk__timers_free(&timers);
    return op_case_teardown();
}

runner *start_inflight(int number, const ilk__op_type *type, int64_t timeout_ms)
{
    return start_short(number, type, 0, timeout_ms);
}

runner *start_short(int number, const ilk__op_type *type, int64_t limit_ms,
                    int64_t timeout_ms)
{
    runner *self = &runners[number];

    ilk__inflight_init(&self->inflight, NULL, type, NULL);
    self->inflight.op.deadline = __wrap_ilk__deadline(timeout_ms);
    if (limit_ms)
        self->inflight.op.retries_until = __wrap_ilk__deadline(limit_ms);
    self->inflight.op.err = &self->err;
    self->inflight.finished = finished;
    assert_int_equal(ilk__timers_reserve(&timers, NULL), ILK_OK);
    ilk__inflight_start(&pipeline, &self->inflight);
    return self;
}

void start_many(int count)
{
    for (int i = 0; i < count; i++)
        start_inflight(i, &op_case_change, -1);
}

void answer_inflight(int count)
{
    while (count--)
        assert_int_equal(
            ilk__pipeline_reply(&pipeline, op_case_reply("1 30000 17 5")), 1);
}

void tick(int64_t ms)
{
    ilk__timer *timer;

    local_ms += ms;
    while ((timer = ilk__timers_pop(&timers, local_ms)))
        timer->fire(timer, &pipeline);
}

void lose_connection(void)
{
    pipeline.connection.up = 0;
    ilk__fail(&pipeline.connection.error, ILK_ECONN, "gone");
    ilk__pipeline_connection_lost(&pipeline);
}

void bring_connection_up(void)
{
    pipeline.connection.up = 1;
    ilk__pipeline_connection_up(&pipeline);
}
