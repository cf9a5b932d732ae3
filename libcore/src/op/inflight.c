/* SPDX-License-Identifier: MIT */
/* inflight.c -- in-flight operations: starting, stepping and ending them. */
#include "inflight_internal.h"
#include "shared.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    FIRST_ROOM = 64,
    /* A deadline needs a timer only if it comes at least this long before the
     * reply timeout, which breaks the connection and ends the operation too. */
    SLACK_MS = 20
};

/* ---- lists -------------------------------------------------------------- */

static void empty(ilk__inflight_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void put(ilk__inflight_list *list, ilk__inflight *inflight,
                ilk__inflight_state state)
{
    inflight->next = NULL;
    *list->end = inflight;
    list->end = &inflight->next;
    inflight->state = state;
}

static void remove_from(ilk__inflight_list *list, ilk__inflight *inflight)
{
    ilk__inflight **link = &list->first;

    while (*link != inflight)
        link = &(*link)->next;
    *link = inflight->next;
    if (!inflight->next)
        list->end = link;
}

ilk__inflight *ilk__inflight_list_detach(ilk__inflight_list *list)
{
    ilk__inflight *first = list->first;

    empty(list);
    return first;
}

/* ---- making ------------------------------------------------------------- */

void ilk__inflight_init(ilk__inflight *inflight, ilk__shared *shared,
                        const ilk__op_type *type, void *subject)
{
    memset((char *)inflight + sizeof inflight->op, 0,
           sizeof *inflight - sizeof inflight->op);
    inflight->shared = shared;
    inflight->timer.fire = ilk__inflight_fire;
    ilk__op_init(&inflight->op, type, subject, ILK__FOREVER, NULL);
    inflight->op.outage = shared ? &shared->outage : NULL;
}

void ilk__pipeline_init(ilk__pipeline *pipeline, const ilk__target *target,
                        ilk__timers *timers, int64_t reply_timeout_ms)
{
    memset(pipeline, 0, sizeof *pipeline);
    ilk__async_conn_init(&pipeline->connection, target);
    pipeline->connection.carries_commands = 1;
    pipeline->timers = timers;
    pipeline->reply_timeout_ms = reply_timeout_ms;
    empty(&pipeline->backlog);
    empty(&pipeline->unsent);
}

/* ---- the wire ----------------------------------------------------------- */

ilk__pipeline_slot *ilk__pipeline_at(const ilk__pipeline *pipeline,
                                     uint64_t position)
{
    assert(pipeline->room > 0);
    return &pipeline->wire[position % pipeline->room];
}

/* A slot's index is its position modulo the length, so all slots move when the
 * ring gets longer. */
static ilk_status make_room(ilk__pipeline *pipeline)
{
    size_t room = pipeline->room ? pipeline->room * 2 : FIRST_ROOM;
    ilk__pipeline_slot *wire;

    if (pipeline->count < pipeline->room)
        return ILK_OK;
    wire = ilk__malloc(room * sizeof *wire);
    if (!wire)
        return ILK_ENOMEM;
    for (uint64_t i = 0; i < pipeline->count; i++)
        wire[(pipeline->first + i) % room] =
            *ilk__pipeline_at(pipeline, pipeline->first + i);
    ilk__free(pipeline->wire);
    pipeline->wire = wire;
    pipeline->room = room;
    return ILK_OK;
}

static ilk_status put_on_wire(ilk__pipeline *pipeline, ilk__inflight *inflight,
                              const ilk__command *command,
                              ilk__ensured *ensured)
{
    ilk__expected_reply expected;
    ilk_status st = make_room(pipeline);

    if (st == ILK_OK)
        st = ilk__async_conn_send(&pipeline->connection, command, &expected);
    if (st)
        return st;
    *ilk__pipeline_at(pipeline, pipeline->first + pipeline->count) =
        (ilk__pipeline_slot){
            .inflight = inflight,
            .ensured = ensured,
            .expected = expected,
            .patience = ilk__deadline(pipeline->reply_timeout_ms),
        };
    if (inflight)
        inflight->position = pipeline->first + pipeline->count;
    pipeline->count++;
    return ILK_OK;
}

/* ---- steps -------------------------------------------------------------- */

static void set_timer(ilk__pipeline *pipeline, ilk__inflight *inflight,
                      int64_t due)
{
    if (due < ILK__FOREVER)
        ilk__timer_set(pipeline->timers, &inflight->timer, due);
    else
        ilk__timer_clear(pipeline->timers, &inflight->timer);
}

/* The connection is down: the command waits for it, or for its next failure. */
static void await_connection(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    const ilk__op *op = &inflight->op;
    const int64_t limit = op->pauses_until
                              ? ilk__sooner(op->deadline, op->pauses_until)
                              : op->deadline;

    pipeline->connection.wanted = 1;
    if (!op->pauses_until)
        pipeline->connection.retry_at = 0;
    else if (limit != ILK__FOREVER && !op->away_since) /* its first attempt */
        pipeline->connection.retry_at = ilk__sooner(
            pipeline->connection.retry_at, op->now + (limit - op->now) / 2);
    put(&pipeline->unsent, inflight, ILK__INFLIGHT_UNSENT);
    set_timer(pipeline, inflight, limit);
}

int ilk__inflight_send(ilk__pipeline *pipeline, ilk__inflight *inflight,
                       ilk__input *input)
{
    ilk__op *op = &inflight->op;

    *input = (ilk__input){.kind = ILK__INPUT_NO_REPLY, .status = ILK_ECLOSED};
    if (inflight->closed)
        return 0;
    if (!pipeline->connection.up) {
        await_connection(pipeline, inflight);
        return 1;
    }
    input->status = put_on_wire(pipeline, inflight, &op->command, NULL);
    if (input->status)
        return 0;
    inflight->state = ILK__INFLIGHT_ON_WIRE;
    if (op->deadline
        < ilk__pipeline_at(pipeline, inflight->position)->patience - SLACK_MS)
        set_timer(pipeline, inflight, op->deadline);
    return 1;
}

static void send_only(ilk__pipeline *pipeline, ilk__inflight *inflight,
                      ilk__input *input)
{
    ilk__ensured *ensured = inflight->op.ensured;

    *input = (ilk__input){.kind = ILK__INPUT_SENT, .status = ILK_ECONN};
    if (!pipeline->connection.up)
        return;
    input->status = put_on_wire(pipeline, NULL, &inflight->op.command, ensured);
    if (input->status == ILK_OK)
        inflight->op.ensured = NULL;
}

static int sleep_on(ilk__pipeline *pipeline, ilk__inflight *inflight,
                    ilk__input *input)
{
    *input = (ilk__input){.kind = ILK__INPUT_WAKE, .cause = ILK__CAUSE_CLOSED};
    if (inflight->closed
        || (inflight->is_awake && inflight->is_awake(inflight, &input->cause)))
        return 0;
    if (!inflight->op.resend)
        ilk__command_free(&inflight->op.command); /* ask() composes anew */
    inflight->state = ILK__INFLIGHT_ASLEEP;
    set_timer(pipeline, inflight, inflight->op.wake_at);
    return 1;
}

void ilk__inflight_run(ilk__pipeline *pipeline, ilk__inflight *inflight,
                       ilk__input input)
{
    int waits = 0;

    inflight->state = ILK__INFLIGHT_IDLE;
    ilk__timer_clear(pipeline->timers, &inflight->timer);
    while (!waits) {
        ilk__act act;

        input.now = ilk__now_ms();
        act = ilk__op_step(&inflight->op, &input);
        pipeline->distrusted |= inflight->op.bad_reply;
        inflight->op.bad_reply = 0;
        if (act == ILK__ACT_DONE)
            break;
        if (act == ILK__ACT_SEND)
            waits = ilk__inflight_send(pipeline, inflight, &input);
        else if (act == ILK__ACT_SEND_ONLY)
            send_only(pipeline, inflight, &input);
        else
            waits = sleep_on(pipeline, inflight, &input);
    }
    if (!waits)
        inflight->finished(inflight);
}

static void start(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    ilk__inflight_run(pipeline, inflight,
                      (ilk__input){.kind = ILK__INPUT_START});
}

/* A closed operation sends no SEND, and its closer does not wait for room: it
 * bypasses the backlog. */
void ilk__inflight_start(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    if (inflight->closed
        || (pipeline->count < ILK__WIRE_FULL && !pipeline->backlog.first)) {
        start(pipeline, inflight);
    } else {
        put(&pipeline->backlog, inflight, ILK__INFLIGHT_BACKLOG);
        set_timer(pipeline, inflight, inflight->op.deadline);
    }
}

void ilk__pipeline_start_next(ilk__pipeline *pipeline)
{
    ilk__inflight *next;

    while (pipeline->count < ILK__WIRE_FULL
           && (next = pipeline->backlog.first)) {
        remove_from(&pipeline->backlog, next);
        start(pipeline, next);
    }
}

void ilk__inflight_wake(ilk__pipeline *pipeline, ilk__inflight *inflight,
                        ilk__cause cause)
{
    if (inflight->state == ILK__INFLIGHT_ASLEEP)
        ilk__inflight_run(
            pipeline, inflight,
            (ilk__input){.kind = ILK__INPUT_WAKE, .cause = cause});
}

/* ---- ending early ------------------------------------------------------- */

/* The operation goes on with NO_REPLY; its slot is abandoned. */
static void give_up(ilk__pipeline *pipeline, ilk__inflight *inflight,
                    ilk_status status)
{
    ilk__input input = {.kind = ILK__INPUT_NO_REPLY, .status = status};

    if (inflight->state == ILK__INFLIGHT_UNSENT) {
        remove_from(&pipeline->unsent, inflight);
        if (inflight->op.err && pipeline->failure.code)
            *inflight->op.err = pipeline->failure;
    } else {
        ilk__pipeline_at(pipeline, inflight->position)->inflight = NULL;
        input.may_have_run = 1;
    }
    ilk__inflight_run(pipeline, inflight, input);
}

static void leave_backlog(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    remove_from(&pipeline->backlog, inflight);
    start(pipeline, inflight);
}

ilk__inflight *ilk__inflight_of(ilk__timer *timer)
{
    return (ilk__inflight *)((char *)timer - offsetof(ilk__inflight, timer));
}

/* It has waited as long as it may for the end of a pause, and a connection is being
 * opened: a short wait has its first attempt. */
static int has_its_attempt(const ilk__pipeline *pipeline,
                           const ilk__inflight *inflight)
{
    return inflight->state == ILK__INFLIGHT_UNSENT && inflight->op.retries_until
           && !inflight->op.away_since && pipeline->connection.conn
           && ilk__now_ms() < inflight->op.deadline;
}

void ilk__inflight_fire(ilk__timer *timer, void *context)
{
    ilk__inflight *inflight = ilk__inflight_of(timer);

    if (inflight->state == ILK__INFLIGHT_ASLEEP)
        ilk__inflight_wake(context, inflight, ILK__CAUSE_TIME);
    else if (inflight->state == ILK__INFLIGHT_BACKLOG)
        leave_backlog(context, inflight); /* then its deadline ends it */
    else if (has_its_attempt(context, inflight))
        set_timer(context, inflight, inflight->op.deadline);
    else
        give_up(context, inflight, ILK_ETIMEOUT);
}

void ilk__inflight_withhold(ilk__pipeline *pipeline, ilk__inflight *inflight,
                            ilk_status status)
{
    if (inflight->state == ILK__INFLIGHT_UNSENT)
        give_up(pipeline, inflight, status);
    else if (inflight->state == ILK__INFLIGHT_BACKLOG)
        ilk__inflight_close(pipeline, inflight);
}

void ilk__inflight_close(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    inflight->closed = 1;
    if (inflight->state == ILK__INFLIGHT_ASLEEP)
        ilk__inflight_wake(pipeline, inflight, ILK__CAUSE_CLOSED);
    else if (inflight->state == ILK__INFLIGHT_BACKLOG)
        leave_backlog(pipeline, inflight);
    else
        give_up(pipeline, inflight, ILK_ECLOSED);
}
