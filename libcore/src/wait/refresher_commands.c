/* SPDX-License-Identifier: MIT */
/* refresher_commands.c -- a refresher's calls, refresh and claim, and their
 * replies. */
#include "refresher.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "delivered_signal.h"

#include <stddef.h>

enum {
    SUSPENDED_MS = 6000 /* how long an entry stays queued after EINTR */
};

static void refreshed(ilk__inflight *inflight);

/* ---- asking ------------------------------------------------------------- */

/* Choose the next batch of this round, and when the one after it is due. If
 * memory runs out, the batch is shorter and the rest waits for the next
 * round. */
static void choose(ilk__refresher *refresher, int64_t now)
{
    ilk__buf *entries = &refresher->entries;

    ilk__buf_drop(entries, ilk__buf_len(entries));
    refresher->batch_count = 0;
    for (ilk__waiter *w = refresher->first; w; w = w->next) {
        if (w->id <= refresher->refreshed_up_to)
            continue;
        if (refresher->batch_count == ILK__REFRESHER_BATCH
            || ilk__buf_add(entries, w->entry, w->entry_len))
            break;
        refresher->ends[refresher->batch_count] = ilk__buf_len(entries);
        refresher->batch[refresher->batch_count++] = w->id;
    }
    refresher->refresh_at = now;
    if (refresher->batch_count < ILK__REFRESHER_BATCH) { /* the round ends */
        refresher->refresh_at += ILK__REFRESH_MS;
        refresher->refreshed_up_to = 0;
        refresher->asked_openings = refresher->openings;
    } else {
        refresher->refreshed_up_to = refresher->batch[ILK__REFRESHER_BATCH - 1];
    }
    refresher->shared->stats.refreshes += refresher->batch_count > 0;
}

void ilk__refresher_ask(ilk__op *op)
{
    const ilk__refresher *refresher = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, refresher->keys,
                      refresher->wait_queue.key_count);
    ilk__command_add_str(command, refresher->address);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__refresher_add_entries(op);
}

void ilk__refresher_add_entries(ilk__op *op)
{
    const ilk__refresher *refresher = op->subject;
    ilk__command *command = &op->command;

    ilk__command_add_int(command, (int64_t)refresher->batch_count);
    for (size_t i = 0, from = 0; i < refresher->batch_count; i++) {
        ilk__command_add(command, ilk__buf_data(&refresher->entries) + from,
                         refresher->ends[i] - from);
        from = refresher->ends[i];
    }
}

/* Suspended waits that nobody has resumed for too long leave the wait queue. */
static void drop_suspended(ilk__refresher *refresher, int64_t now)
{
    for (ilk__waiter *w = refresher->first, *next; w; w = next) {
        next = w->next;
        if (!w->suspended_since || now - w->suspended_since < SUSPENDED_MS)
            continue;
        refresher->in_flight++; /* or the last to leave would free this */
        ilk__wait_give_up(w);
        refresher->in_flight--;
    }
}

void ilk__refresher_fire(ilk__timer *timer, void *context)
{
    ilk__refresher *refresher =
        (ilk__refresher *)((char *)timer - offsetof(ilk__refresher, timer));
    int64_t now = ilk__now_ms();

    (void)context;
    if (refresher->in_flight)
        return; /* refreshed() will schedule the next call */
    drop_suspended(refresher, now);
    if (!refresher->count) {
        ilk__refresher_drop_if_empty(refresher);
        return;
    }
    refresher->batch_count = 0;
    if (now >= refresher->refresh_at)
        choose(refresher, now);
    refresher->claim_at = ILK__FOREVER;
    ilk__inflight_init(&refresher->inflight, refresher->shared,
                       refresher->wait_queue.refresh, refresher);
    refresher->inflight.op.deadline = now + ILK__REFRESH_MS;
    refresher->inflight.finished = refreshed;
    refresher->in_flight = 1;
    ilk__shared_post(refresher->shared, &refresher->inflight);
}

/* ---- replies ------------------------------------------------------------ */

/* 0: the reply makes no sense. */
static int report_to(ilk__waiter *waiter, int64_t sent_at,
                     const ilk__reply *reply, size_t at)
{
    switch (ilk__script_int(reply, at)) {
    case ILK__CODE_HELD:
        if (!ilk__wait_queue_grants(waiter->wait_queue))
            return 0;
        if (waiter->report == ILK__REPORT_GRANTED)
            return 1; /* from the inbox, which gives the begin more exactly */
        waiter->report_fence = ilk__script_int(reply, at + 2);
        waiter->report_lease_ms = ilk__script_int(reply, at + 1);
        waiter->report_us = 0;
        waiter->report_at = sent_at;
        ilk__waiter_report(waiter, ILK__REPORT_GRANTED);
        return 1;
    case ILK__CODE_GONE:
        ilk__delivered_signal_confirm(waiter, NULL, 0);
        if (waiter->report == ILK__REPORT_NONE)
            ilk__waiter_report(waiter, ILK__REPORT_GONE);
        return 1;
    default: return 1;
    }
}

ilk__act ilk__refresher_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__refresher *refresher = op->subject;

    if (reply->count != 4 + 3 * refresher->batch_count)
        return ilk__op_fail(op, ILK_EREPLY,
                            "a reply to a refresh in the wrong form");
    for (size_t i = 0; i < refresher->batch_count; i++) {
        ilk__waiter *waiter =
            ilk__wait_find(refresher->shared, refresher->batch[i]);

        if (!waiter || waiter->refresher != refresher)
            continue;
        if (!report_to(waiter, op->sent_at, reply, 3 + 3 * i))
            return ilk__op_fail(
                op, ILK_EREPLY,
                "a refresh reports a hold for a wait without one");
        ilk__waiter_sample(waiter, op->sent_at, ilk__script_int(reply, 1));
    }
    ilk__refresher_note_holder(refresher, op->sent_at,
                               ilk__script_int(reply, 0),
                               (int)ilk__script_int(reply, 2));
    if (refresher->refreshed_up_to == 0 && refresher->batch_count > 0)
        refresher->answered_openings = refresher->asked_openings;
    if (ilk__script_code(reply) == ILK__CODE_MORE)
        refresher->claim_at = op->now;
    return ilk__op_done(op, ILK_OK);
}

/* Repeat a failed call soon, after a pause so that it does not spin. */
static void plan_retry(ilk__refresher *refresher, int64_t now)
{
    refresher->claim_at =
        ilk__sooner(refresher->claim_at, now + ILK__REFRESH_PAUSE_MS);
    if (!refresher->batch_count)
        return;
    refresher->refresh_at = now + ILK__REFRESH_PAUSE_MS;
    refresher->refreshed_up_to = 0;
}

/* Errors that a retry will not cure. The waiters enqueue again, get the same
 * error and return it to their callers. */
static int is_final(ilk_status status)
{
    return status == ILK_ETYPE || status == ILK_EAUTH
           || status == ILK_ESERVERREADONLY || status == ILK_ECLUSTER;
}

static void report_all(ilk__refresher *refresher, ilk__wait_report report)
{
    for (ilk__waiter *w = refresher->first; w; w = w->next)
        if (w->report != ILK__REPORT_GRANTED && w->report != ILK__REPORT_SIGNAL)
            ilk__waiter_report(w, report);
}

static void report_failure(ilk__refresher *refresher, const ilk__op *op,
                           int64_t now)
{
    if (!op->status)
        refresher->failing_since = 0;
    else if (!refresher->failing_since)
        refresher->failing_since = op->deadline - ILK__REFRESH_MS;
    if (is_final(op->status))
        report_all(refresher, ILK__REPORT_GONE);
    else if (op->status
             && now - refresher->failing_since
                    >= ilk__outage_silence_ms(&refresher->shared->outage))
        report_all(refresher, ILK__REPORT_NO_CONTACT);
}

int64_t ilk__refresher_unanswered_since(const ilk__refresher *refresher)
{
    if (!refresher || !refresher->in_flight
        || refresher->inflight.state == ILK__INFLIGHT_IDLE)
        return ILK__FOREVER;
    return refresher->inflight.op.first_sent_at;
}

/* The operation is done. The mutex is held. */
static void refreshed(ilk__inflight *inflight)
{
    ilk__refresher *refresher =
        (ilk__refresher *)((char *)inflight
                           - offsetof(ilk__refresher, inflight));
    int64_t now = ilk__now_ms();

    refresher->in_flight = 0;
    if (inflight->op.status)
        plan_retry(refresher, now);
    report_failure(refresher, &inflight->op, now);
    ilk__op_free(&inflight->op);
    if (refresher->count)
        ilk__refresher_schedule(refresher);
    else
        ilk__refresher_drop_if_empty(refresher);
}
