/* SPDX-License-Identifier: MIT */
/* watch_ask.c -- a watch's question, refresh or claim, and its answer. */
#include "watch.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "delivered_signal.h"

#include <stddef.h>

enum {
    PARKED_MS = 6000 /* so long a wait that a signal ended keeps its place */
};

static void refreshed(ilk__inflight *inflight);

/* ---- asking ------------------------------------------------------------- */

/* The next waiters of this round, and when the next question for some is due.
 * Without memory they are fewer. */
static void choose(ilk__watch *watch, int64_t now)
{
    ilk__buf *entries = &watch->entries;

    ilk__buf_take(entries, ilk__buf_len(entries));
    watch->asked_count = 0;
    for (ilk__waiter *w = watch->first; w; w = w->next) {
        if (w->id <= watch->asked_up_to)
            continue;
        if (watch->asked_count == ILK__WATCH_BATCH
            || ilk__buf_add(entries, w->entry, w->entry_len))
            break;
        watch->ends[watch->asked_count] = ilk__buf_len(entries);
        watch->asked[watch->asked_count++] = w->id;
    }
    watch->refresh_at = now;
    if (watch->asked_count < ILK__WATCH_BATCH) { /* the round ends */
        watch->refresh_at += ILK__REFRESH_MS;
        watch->asked_up_to = 0;
    } else {
        watch->asked_up_to = watch->asked[ILK__WATCH_BATCH - 1];
    }
    watch->shared->stats.refreshes += watch->asked_count > 0;
}

void ilk__watch_ask(ilk__op *op)
{
    const ilk__watch *watch = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, watch->keys,
                      watch->wait_queue.key_count);
    ilk__command_add_str(command, watch->shared->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__watch_add_entries(op);
}

void ilk__watch_add_entries(ilk__op *op)
{
    const ilk__watch *watch = op->subject;
    ilk__command *command = &op->command;

    ilk__command_add_int(command, (int64_t)watch->asked_count);
    for (size_t i = 0, from = 0; i < watch->asked_count; i++) {
        ilk__command_add(command, ilk__buf_data(&watch->entries) + from,
                         watch->ends[i] - from);
        from = watch->ends[i];
    }
}

/* A wait that a signal ended long ago leaves the wait queue. */
static void drop_parked(ilk__watch *watch, int64_t now)
{
    for (ilk__waiter *w = watch->first, *next; w; w = next) {
        next = w->next;
        if (!w->parked_since || now - w->parked_since < PARKED_MS)
            continue;
        watch->in_flight++; /* stay while walking */
        ilk__wait_give_up(w);
        watch->in_flight--;
    }
}

void ilk__watch_fire(ilk__timer *timer, void *context)
{
    ilk__watch *watch =
        (ilk__watch *)((char *)timer - offsetof(ilk__watch, timer));
    int64_t now = ilk__now_ms();

    (void)context;
    if (watch->in_flight)
        return; /* its answer schedules the next look */
    drop_parked(watch, now);
    if (!watch->count) {
        ilk__watch_drop_if_empty(watch);
        return;
    }
    watch->asked_count = 0;
    if (now >= watch->refresh_at)
        choose(watch, now);
    watch->claim_at = ILK__FOREVER;
    ilk__inflight_init(&watch->inflight, watch->shared,
                       watch->wait_queue.refresh, watch);
    watch->inflight.op.deadline = now + ILK__REFRESH_MS;
    watch->inflight.op.patient = 1;
    watch->inflight.finished = refreshed;
    watch->in_flight = 1;
    ilk__shared_post(watch->shared, &watch->inflight);
}

/* ---- hearing ------------------------------------------------------------ */

static void tell(ilk__waiter *waiter, int64_t asked_at, const ilk__reply *reply,
                 size_t at)
{
    switch (ilk__script_int(reply, at)) {
    case ILK__CODE_HELD:
        if (waiter->news == ILK__NEWS_GRANTED)
            return; /* the inbox was faster, and knows it more exactly */
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

ilk__act ilk__watch_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__watch *watch = op->subject;

    if (reply->count != 4 + 3 * watch->asked_count)
        return ilk__op_fail(op, ILK_EREPLY, "a refresh of a wrong shape");
    for (size_t i = 0; i < watch->asked_count; i++) {
        ilk__waiter *waiter = ilk__wait_find(watch->shared, watch->asked[i]);

        if (waiter && waiter->watch == watch)
            tell(waiter, op->sent_at, reply, 3 + 3 * i);
    }
    ilk__watch_heard(watch, op->sent_at, ilk__script_int(reply, 0),
                     (int)ilk__script_int(reply, 2));
    if (ilk__script_code(reply) == ILK__CODE_MORE)
        watch->claim_at = op->now;
    return ilk__op_done(op, ILK_OK);
}

/* What failed is asked again soon, but not as fast as it can fail. */
static void plan_retry(ilk__watch *watch, int64_t now)
{
    watch->claim_at = ilk__sooner(watch->claim_at, now + ILK__REFRESH_PAUSE_MS);
    if (!watch->asked_count)
        return;
    watch->refresh_at = now + ILK__REFRESH_PAUSE_MS;
    watch->asked_up_to = 0;
}

/* What no patience mends: let the waiters ask and hear it themselves. */
static int is_final(ilk_status status)
{
    return status == ILK_ETYPE || status == ILK_EAUTH
           || status == ILK_ESERVERREADONLY || status == ILK_ECLUSTER;
}

static void tell_all(ilk__watch *watch, ilk__wait_news news)
{
    for (ilk__waiter *w = watch->first; w; w = w->next)
        if (w->news != ILK__NEWS_GRANTED && w->news != ILK__NEWS_SIGNAL)
            ilk__wait_tell_news(w, news);
}

static void tell_of_failure(ilk__watch *watch, ilk_status status, int64_t now)
{
    if (!status)
        watch->failing_since = 0;
    else if (!watch->failing_since)
        watch->failing_since = now;
    if (is_final(status))
        tell_all(watch, ILK__NEWS_GONE);
    else if (status && now - watch->failing_since >= ILK__CONTACT_LOST_MS)
        tell_all(watch, ILK__NEWS_NO_CONTACT);
}

/* The operation is done. The mutex is held. */
static void refreshed(ilk__inflight *inflight)
{
    ilk__watch *watch =
        (ilk__watch *)((char *)inflight - offsetof(ilk__watch, inflight));
    int64_t now = ilk__now_ms();

    watch->in_flight = 0;
    if (inflight->op.status)
        plan_retry(watch, now);
    tell_of_failure(watch, inflight->op.status, now);
    ilk__op_free(&inflight->op);
    if (watch->count)
        ilk__watch_schedule(watch);
    else
        ilk__watch_drop_if_empty(watch);
}
