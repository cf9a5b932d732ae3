/* SPDX-License-Identifier: MIT */
/* inflight_connection.c -- in-flight operations: replies, loss of the
 * connection, and ending all at close. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "inflight_internal.h"

#include <string.h>

static void end_ensured(ilk__ensured *ensured, ilk_status status)
{
    if (ensured)
        ensured->ended(ensured, status);
}

static void drop_held(ilk__pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->held_count; i++)
        ilk__reply_free(pipeline->held[i]);
    pipeline->held_count = 0;
}

void ilk__pipeline_free(ilk__pipeline *pipeline)
{
    for (uint64_t i = 0; i < pipeline->count; i++)
        end_ensured(ilk__pipeline_at(pipeline, pipeline->first + i)->ensured,
                    ILK_ECLOSED);
    drop_held(pipeline);
    pipeline->count = 0;
    ilk__free(pipeline->wire);
    pipeline->wire = NULL;
    pipeline->room = 0;
}

/* ---- what happened on the connection ------------------------------------ */

void ilk__pipeline_connection_up(ilk__pipeline *pipeline)
{
    ilk__inflight *unsent = ilk__inflight_list_detach(&pipeline->unsent), *next;

    for (; unsent; unsent = next) {
        ilk__input input;

        next = unsent->next;
        unsent->op.now = ilk__now_ms();
        ilk__timer_clear(pipeline->timers, &unsent->timer);
        if (!ilk__inflight_send(pipeline, unsent, &input))
            ilk__inflight_run(pipeline, unsent, input);
    }
}

static void report_status(const ilk__pipeline *pipeline,
                          ilk__inflight *inflight)
{
    if (inflight->op.err)
        *inflight->op.err = pipeline->connection.error;
}

/* All slots end without a reply. Some operations send a copy at once, which
 * goes to `unsent` or to the new connection: so the end is fixed before. */
static void wire_lost(ilk__pipeline *pipeline)
{
    uint64_t end = pipeline->first + pipeline->count;

    while (pipeline->first < end) {
        ilk__pipeline_slot lost = *ilk__pipeline_at(pipeline, pipeline->first);
        ilk__input input = {.kind = ILK__INPUT_NO_REPLY,
                            .may_have_run = 1,
                            .status =
                                pipeline->silent ? ILK_ETIMEOUT : ILK_ECONN};

        pipeline->first++;
        pipeline->count--;
        end_ensured(lost.ensured, ILK_ECONN);
        if (!lost.inflight)
            continue;
        report_status(pipeline, lost.inflight);
        ilk__inflight_run(pipeline, lost.inflight, input);
    }
}

static void unsent_lost(ilk__pipeline *pipeline, ilk__inflight *unsent)
{
    ilk_status status = (ilk_status)pipeline->connection.error.code;

    for (ilk__inflight *next; unsent; unsent = next) {
        ilk__input input = {.kind = ILK__INPUT_NO_REPLY,
                            .status = status ? status : ILK_ECONN};

        next = unsent->next;
        report_status(pipeline, unsent);
        ilk__inflight_run(pipeline, unsent, input);
    }
}

void ilk__pipeline_connection_lost(ilk__pipeline *pipeline)
{
    ilk__inflight *unsent = ilk__inflight_list_detach(&pipeline->unsent);

    wire_lost(pipeline);
    unsent_lost(pipeline, unsent);
    ilk__pipeline_start_next(pipeline);
}

int ilk__pipeline_reply(ilk__pipeline *pipeline, const ilk__reply *reply)
{
    ilk__pipeline_slot slot;
    if (!pipeline->count)
        return 0;
    slot = *ilk__pipeline_at(pipeline, pipeline->first);
    pipeline->first++;
    pipeline->count--;
    if (slot.ensured)
        end_ensured(slot.ensured, ilk__ensured_judge(slot.ensured, reply));
    if (slot.inflight)
        ilk__inflight_run(
            pipeline, slot.inflight,
            (ilk__input){.kind = ILK__INPUT_REPLY, .reply = reply});
    if (pipeline->backlog.first)
        ilk__pipeline_start_next(pipeline);
    return 1;
}

int64_t ilk__pipeline_patience(const ilk__pipeline *pipeline)
{
    return pipeline->count
               ? ilk__pipeline_at(pipeline, pipeline->first)->patience
               : ILK__FOREVER;
}

/* Operations note an outage as well, but there may be none now. */
static void note_outage(const ilk__pipeline *pipeline)
{
    const ilk_error *why = &pipeline->connection.error;

    if (pipeline->outage
        && (why->code == ILK_ECONN || why->code == ILK_ETIMEOUT))
        ilk__outage_note(
            pipeline->outage,
            ilk__now_ms() - (pipeline->silent ? pipeline->reply_timeout_ms : 0),
            ILK_ECONN, why);
}

static void lost(ilk__pipeline *pipeline, const char *whose)
{
    if (pipeline->connection.was_opening || pipeline->silent)
        note_outage(pipeline);
    ilk__log(ILK__LOG_INFO, "%s: %s", whose, pipeline->connection.error.msg);
    pipeline->failure = pipeline->connection.error;
    ilk__pipeline_connection_lost(pipeline);
}

static void broken(ilk__pipeline *pipeline, const char *why, const char *whose)
{
    ilk__async_conn_break(&pipeline->connection, why);
    lost(pipeline, whose);
}

/* ---- replies ------------------------------------------------------------ */

static void distrust(ilk__pipeline *pipeline, const char *whose)
{
    drop_held(pipeline);
    pipeline->distrusted = 0;
    broken(pipeline, ILK__FOREIGN_REPLY, whose);
}

/* Deliver one reply that matched; 0: it made no sense to its operation. */
static int deliver(ilk__pipeline *pipeline, ilk__reply *reply)
{
    (void)ilk__pipeline_reply(pipeline, reply);
    ilk__reply_free(reply);
    return !pipeline->distrusted;
}

static void deliver_held(ilk__pipeline *pipeline, const char *whose)
{
    size_t count = pipeline->held_count, i = 0;
    ilk__reply *held[ILK__HELD_MOST];

    memcpy(held, pipeline->held, count * sizeof *held);
    pipeline->held_count = 0;
    while (i < count && deliver(pipeline, held[i]))
        i++;
    if (i == count)
        return;
    for (i++; i < count; i++)
        ilk__reply_free(held[i]);
    distrust(pipeline, whose);
}

static void handle_reply(ilk__pipeline *pipeline, ilk__reply *reply,
                         const char *whose)
{
    uint64_t position = pipeline->first + pipeline->held_count;
    ilk__match match = ILK__MATCH_FOREIGN;

    if (reply->type == ILK__REPLY_PUSH) {
        ilk__reply_free(reply);
        return;
    }
    if (pipeline->held_count < pipeline->count)
        match = ilk__match_reply(
            &ilk__pipeline_at(pipeline, position)->expected, reply);
    if (match == ILK__MATCH_FOREIGN) {
        ilk__reply_free(reply);
        distrust(pipeline, whose);
    } else if (match == ILK__MATCH_POSSIBLE || pipeline->held_count) {
        pipeline->held[pipeline->held_count++] = reply;
        if (pipeline->held_count == ILK__HELD_MOST)
            deliver_held(pipeline, whose);
    } else if (!deliver(pipeline, reply)) {
        distrust(pipeline, whose);
    }
}

void ilk__pipeline_handle(ilk__pipeline *pipeline,
                          ilk__async_conn_result result, ilk__reply *reply,
                          const char *whose)
{
    switch (result) {
    case ILK__ASYNC_CONN_REPLY: handle_reply(pipeline, reply, whose); break;
    case ILK__ASYNC_CONN_CAME_UP: ilk__pipeline_connection_up(pipeline); break;
    case ILK__ASYNC_CONN_NOTHING: deliver_held(pipeline, whose); break;
    case ILK__ASYNC_CONN_LOST:
        deliver_held(pipeline, whose);
        lost(pipeline, whose);
        break;
    }
}

void ilk__pipeline_check_patience(ilk__pipeline *pipeline, int64_t now,
                                  const char *whose)
{
    if (now < ilk__pipeline_patience(pipeline))
        return;
    pipeline->silent = 1;
    broken(pipeline, "the server does not reply", whose);
    pipeline->silent = 0;
}

/* ---- the end of all ----------------------------------------------------- */

void ilk__inflight_end(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    inflight->op.status = ILK_ECLOSED;
    ilk__timer_clear(pipeline->timers, &inflight->timer);
    inflight->finished(inflight);
}

static void end_list(ilk__pipeline *pipeline, ilk__inflight *inflight)
{
    for (ilk__inflight *next; inflight; inflight = next) {
        next = inflight->next;
        ilk__inflight_end(pipeline, inflight);
    }
}

void ilk__pipeline_end(ilk__pipeline *pipeline)
{
    ilk__timer *timer;

    for (uint64_t i = 0; i < pipeline->count; i++)
        if (ilk__pipeline_at(pipeline, pipeline->first + i)->inflight)
            ilk__inflight_end(
                pipeline,
                ilk__pipeline_at(pipeline, pipeline->first + i)->inflight);
    pipeline->count = 0;
    end_list(pipeline, ilk__inflight_list_detach(&pipeline->unsent));
    end_list(pipeline, ilk__inflight_list_detach(&pipeline->backlog));
    /* The rest sleep: they are in no list, only their timers are known. */
    while ((timer = ilk__timers_pop(pipeline->timers, INT64_MAX)))
        if (timer->fire == ilk__inflight_fire)
            ilk__inflight_end(pipeline, ilk__inflight_of(timer));
}
