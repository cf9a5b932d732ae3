/* SPDX-License-Identifier: MIT */
/* refresher_ask.c -- a refresher's calls, refresh and claim, and their
 * replies. */
#include "refresher.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "delivered_signal.h"

#include <stddef.h>

enum {
    PARKED_MS = 6000 /* how long an entry stays queued after EINTR */
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
    refresher->asked_count = 0;
    for (ilk__waiter *w = refresher->first; w; w = w->next) {
        if (w->id <= refresher->asked_up_to)
            continue;
        if (refresher->asked_count == ILK__REFRESHER_BATCH
            || ilk__buf_add(entries, w->entry, w->entry_len))
            break;
        refresher->ends[refresher->asked_count] = ilk__buf_len(entries);
        refresher->asked[refresher->asked_count++] = w->id;
    }
    refresher->refresh_at = now;
    if (refresher->asked_count < ILK__REFRESHER_BATCH) { /* the round ends */
        refresher->refresh_at += ILK__REFRESH_MS;
        refresher->asked_up_to = 0;
    } else {
        refresher->asked_up_to = refresher->asked[ILK__REFRESHER_BATCH - 1];
    }
    refresher->shared->stats.refreshes += refresher->asked_count > 0;
}

void ilk__refresher_ask(ilk__op *op)
{
    const ilk__refresher *refresher = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, refresher->keys,
                      refresher->wait_queue.key_count);
    ilk__command_add_str(command, refresher->shared->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__refresher_add_entries(op);
}

void ilk__refresher_add_entries(ilk__op *op)
{
    const ilk__refresher *refresher = op->subject;
    ilk__command *command = &op->command;

    ilk__command_add_int(command, (int64_t)refresher->asked_count);
    for (size_t i = 0, from = 0; i < refresher->asked_count; i++) {
        ilk__command_add(command, ilk__buf_data(&refresher->entries) + from,
                         refresher->ends[i] - from);
        from = refresher->ends[i];
    }
}

/* Parked waits that nobody has resumed for too long leave the wait queue. */
static void drop_parked(ilk__refresher *refresher, int64_t now)
{
    for (ilk__waiter *w = refresher->first, *next; w; w = next) {
        next = w->next;
        if (!w->parked_since || now - w->parked_since < PARKED_MS)
            continue;
        refresher->in_flight++; /* or the last one to leave would free us */
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
    drop_parked(refresher, now);
    if (!refresher->count) {
        ilk__refresher_drop_if_empty(refresher);
        return;
    }
    refresher->asked_count = 0;
    if (now >= refresher->refresh_at)
        choose(refresher, now);
    refresher->claim_at = ILK__FOREVER;
    ilk__inflight_init(&refresher->inflight, refresher->shared,
                       refresher->wait_queue.refresh, refresher);
    refresher->inflight.op.deadline = now + ILK__REFRESH_MS;
    refresher->inflight.op.patient = 1;
    refresher->inflight.finished = refreshed;
    refresher->in_flight = 1;
    ilk__shared_post(refresher->shared, &refresher->inflight);
}

/* ---- replies ------------------------------------------------------------ */

static void tell(ilk__waiter *waiter, int64_t asked_at, const ilk__reply *reply,
                 size_t at)
{
    switch (ilk__script_int(reply, at)) {
    case ILK__CODE_HELD:
        if (waiter->news == ILK__NEWS_GRANTED)
            return; /* from the inbox, which gives the begin more exactly */
        waiter->news_fence = ilk__script_int(reply, at + 2);
        waiter->news_lease_ms = ilk__script_int(reply, at + 1);
        waiter->news_us = 0;
        waiter->news_at = asked_at;
        ilk__wait_tell_news(waiter, ILK__NEWS_GRANTED);
        return;
    case ILK__CODE_GONE:
        ilk__delivered_signal_confirm(waiter, NULL, 0);
        if (waiter->news == ILK__NEWS_NONE)
            ilk__wait_tell_news(waiter, ILK__NEWS_GONE);
        return;
    default: return;
    }
}

ilk__act ilk__refresher_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__refresher *refresher = op->subject;

    if (reply->count != 4 + 3 * refresher->asked_count)
        return ilk__op_fail(op, ILK_EREPLY, "a refresh of a wrong shape");
    for (size_t i = 0; i < refresher->asked_count; i++) {
        ilk__waiter *waiter =
            ilk__wait_find(refresher->shared, refresher->asked[i]);

        if (waiter && waiter->refresher == refresher)
            tell(waiter, op->sent_at, reply, 3 + 3 * i);
    }
    ilk__refresher_note_holder(refresher, op->sent_at,
                               ilk__script_int(reply, 0),
                               (int)ilk__script_int(reply, 2));
    if (ilk__script_code(reply) == ILK__CODE_MORE)
        refresher->claim_at = op->now;
    return ilk__op_done(op, ILK_OK);
}

/* Repeat a failed call soon, after a pause so that it does not spin. */
static void plan_retry(ilk__refresher *refresher, int64_t now)
{
    refresher->claim_at =
        ilk__sooner(refresher->claim_at, now + ILK__REFRESH_PAUSE_MS);
    if (!refresher->asked_count)
        return;
    refresher->refresh_at = now + ILK__REFRESH_PAUSE_MS;
    refresher->asked_up_to = 0;
}

/* Errors that a retry will not cure. The waiters enqueue again, get the same
 * error and return it to their callers. */
static int is_final(ilk_status status)
{
    return status == ILK_ETYPE || status == ILK_EAUTH
           || status == ILK_ESERVERREADONLY || status == ILK_ECLUSTER;
}

static void tell_all(ilk__refresher *refresher, ilk__wait_news news)
{
    for (ilk__waiter *w = refresher->first; w; w = w->next)
        if (w->news != ILK__NEWS_GRANTED && w->news != ILK__NEWS_SIGNAL)
            ilk__wait_tell_news(w, news);
}

static void tell_of_failure(ilk__refresher *refresher, ilk_status status,
                            int64_t now)
{
    if (!status)
        refresher->failing_since = 0;
    else if (!refresher->failing_since)
        refresher->failing_since = now;
    if (is_final(status))
        tell_all(refresher, ILK__NEWS_GONE);
    else if (status && now - refresher->failing_since >= ILK__CONTACT_LOST_MS)
        tell_all(refresher, ILK__NEWS_NO_CONTACT);
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
    tell_of_failure(refresher, inflight->op.status, now);
    ilk__op_free(&inflight->op);
    if (refresher->count)
        ilk__refresher_schedule(refresher);
    else
        ilk__refresher_drop_if_empty(refresher);
}
