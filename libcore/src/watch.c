/* SPDX-License-Identifier: MIT */
/* watch.c -- one name that this client waits for: refresh and claim. */
#include "watch.h"

#include "alloc.h"
#include "clock.h"

#include <stddef.h>
#include <string.h>

enum {
    RETRY_MS = 50,   /* a refresh that failed is repeated after this */
    PARKED_MS = 6000 /* so long a wait that a signal ended keeps its place */
};

static void fire(ilk__timer *timer, void *context);
static void refreshed(ilk__errand *errand);

static ilk__watch *watch_of(ilk__node *node)
{
    return (ilk__watch *)((char *)node - offsetof(ilk__watch, node));
}

/* ---- making, joining, leaving ------------------------------------------- */

static ilk__watch *watch_new(ilk__desk *desk, const ilk__line *line)
{
    size_t room = line->channel.len;
    ilk__watch *watch;
    char *to;

    for (size_t i = 0; i < line->key_count; i++)
        room += line->keys[i].len;
    watch = ilk__calloc(1, sizeof *watch + room);
    if (!watch)
        return NULL;
    to = (char *)(watch + 1);
    watch->desk = desk;
    watch->line = *line;
    watch->line.keys = watch->keys;
    for (size_t i = 0; i < line->key_count; i++) {
        watch->keys[i] = (ilk__bytes){.data = to, .len = line->keys[i].len};
        memcpy(to, line->keys[i].data, line->keys[i].len);
        to += line->keys[i].len;
    }
    watch->line.channel.data = to;
    if (line->channel.len)
        memcpy(to, line->channel.data, line->channel.len);
    watch->timer.fire = fire;
    watch->claim_at = ILK__FOREVER;
    watch->refresh_at = ilk__now_ms() + ILK__REFRESH_MS;
    return watch;
}

/* Two timers: the watch's and its errand's. */
static ilk_status enter(ilk__desk *desk, ilk__watch *watch)
{
    const ilk__bytes *key = &watch->keys[2];
    ilk_status st = ilk__timers_reserve(&desk->timers, NULL);

    if (st)
        return st;
    st = ilk__timers_reserve(&desk->timers, NULL);
    if (st == ILK_OK) {
        st = ilk__table_add(&desk->watches, &watch->node, key->data, key->len);
        if (st)
            ilk__timers_unreserve(&desk->timers);
    }
    if (st)
        ilk__timers_unreserve(&desk->timers);
    else if (watch->line.channel.len)
        desk->channels_changed = 1;
    return st;
}

static ilk_status find_or_make(ilk__waiter *waiter, ilk__watch **out)
{
    const ilk__bytes *key = &waiter->line->keys[2];
    ilk__desk *desk = waiter->desk;
    ilk__node *node = ilk__table_find(&desk->watches, key->data, key->len);
    ilk_status st;

    if (node) {
        *out = watch_of(node);
        return ILK_OK;
    }
    *out = watch_new(desk, waiter->line);
    if (!*out)
        return ILK_ENOMEM;
    st = enter(desk, *out);
    if (st)
        ilk__free(*out);
    return st;
}

/* An empty watch goes once its question is answered. */
static void drop_if_empty(ilk__watch *watch)
{
    ilk__desk *desk = watch->desk;

    if (watch->count || watch->in_flight)
        return;
    ilk__timer_clear(&desk->timers, &watch->timer);
    ilk__table_remove(&desk->watches, &watch->node);
    ilk__timers_unreserve(&desk->timers);
    ilk__timers_unreserve(&desk->timers);
    if (watch->line.channel.len)
        desk->channels_changed = 1;
    ilk__buf_free(&watch->entries);
    ilk__free(watch);
}

static void schedule(ilk__watch *watch)
{
    ilk__desk_set_timer(watch->desk, &watch->timer,
                        ilk__sooner(watch->refresh_at, watch->claim_at));
}

ilk_status ilk__watch_join(ilk__waiter *waiter)
{
    ilk__desk *desk = waiter->desk;
    ilk__watch *watch;
    ilk_status st;

    ilk__watch_forget(waiter);
    waiter->id = ++desk->last_id;
    st = find_or_make(waiter, &watch);
    if (st)
        return st;
    st = ilk__table_add(&desk->waiters, &waiter->node, &waiter->id,
                        sizeof waiter->id);
    if (st) {
        drop_if_empty(watch);
        return st;
    }
    waiter->watch = watch;
    waiter->next = NULL;
    waiter->previous = watch->last;
    *(watch->last ? &watch->last->next : &watch->first) = waiter;
    watch->last = waiter;
    watch->count++;
    desk->stats.waiting++;
    schedule(watch);
    return ILK_OK;
}

static void leave_line(ilk__waiter *waiter)
{
    ilk__watch *watch = waiter->watch;

    *(waiter->previous ? &waiter->previous->next : &watch->first) =
        waiter->next;
    *(waiter->next ? &waiter->next->previous : &watch->last) =
        waiter->previous;
    waiter->watch = NULL;
    watch->count--;
    watch->desk->stats.waiting--;
    drop_if_empty(watch);
}

void ilk__watch_leave(ilk__waiter *waiter)
{
    ilk__table_remove(&waiter->desk->waiters, &waiter->node);
    leave_line(waiter);
}

void ilk__watch_settle(ilk__waiter *waiter)
{
    leave_line(waiter);
    waiter->settled = 1;
}

void ilk__watch_forget(ilk__waiter *waiter)
{
    if (waiter->settled)
        ilk__table_remove(&waiter->desk->waiters, &waiter->node);
    waiter->settled = 0;
}

/* ---- when to look ------------------------------------------------------- */

void ilk__watch_heard(ilk__watch *watch, int64_t asked_at, int64_t holder_ms,
                      int ours)
{
    int64_t now = ilk__now_ms();

    watch->claim_at = ILK__FOREVER;
    if (holder_ms >= 0) /* the reply may be old, the lease was not longer */
        watch->claim_at = asked_at + holder_ms + 1;
    if (!ours)
        watch->claim_at = ilk__sooner(watch->claim_at,
                                      now + watch->line.foreign_poll_ms);
    if (watch->claim_at <= now)
        watch->claim_at = now + 1;
    schedule(watch);
}

void ilk__watch_hurry(ilk__watch *watch)
{
    watch->claim_at = ilk__now_ms();
    schedule(watch);
}

void ilk__watch_hurry_all(ilk__desk *desk)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&desk->watches, &cursor)))
        for (; node; node = node->next) {
            watch_of(node)->refresh_at = ilk__now_ms();
            watch_of(node)->asked_up_to = 0;
            schedule(watch_of(node));
        }
}

/* ---- asking ------------------------------------------------------------- */

/* The next waiters of this round. Without memory they are fewer. */
static void choose(ilk__watch *watch)
{
    ilk__buf *entries = &watch->entries;

    ilk__buf_take(entries, ilk__buf_len(entries));
    watch->asked_count = 0;
    for (ilk__waiter *w = watch->first; w; w = w->next) {
        if (w->id <= watch->asked_up_to)
            continue;
        if (watch->asked_count == ILK__WATCH_BATCH ||
            ilk__buf_add(entries, w->entry, w->entry_len))
            break;
        watch->ends[watch->asked_count] = ilk__buf_len(entries);
        watch->asked[watch->asked_count++] = w->id;
    }
    watch->asked_up_to =
        watch->asked_count ? watch->asked[watch->asked_count - 1] : 0;
    watch->desk->stats.refreshes += watch->asked_count > 0;
}

void ilk__watch_ask(ilk__op *op)
{
    const ilk__watch *watch = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, watch->line.key_count);
    for (size_t i = 0; i < watch->line.key_count; i++)
        ilk__command_add(command, watch->keys[i].data, watch->keys[i].len);
    ilk__command_add_str(command, watch->desk->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, (int64_t)watch->asked_count);
    for (size_t i = 0, from = 0; i < watch->asked_count; i++) {
        ilk__command_add(command, ilk__buf_data(&watch->entries) + from,
                         watch->ends[i] - from);
        from = watch->ends[i];
    }
}

/* A wait that a signal ended long ago leaves the line. */
static void drop_parked(ilk__watch *watch, int64_t now)
{
    for (ilk__waiter *w = watch->first, *next; w; w = next) {
        next = w->next;
        if (!w->parked_since || now - w->parked_since < PARKED_MS)
            continue;
        ilk__give_back(watch->desk, w->line, w->entry, w->entry_len,
                       ilk__waiter_token(w));
        watch->in_flight++; /* stay while walking */
        ilk__watch_leave(w);
        watch->in_flight--;
    }
}

static void fire(ilk__timer *timer, void *context)
{
    ilk__watch *watch =
        (ilk__watch *)((char *)timer - offsetof(ilk__watch, timer));
    int64_t now = ilk__now_ms();

    (void)context;
    if (watch->in_flight)
        return; /* its answer schedules the next look */
    drop_parked(watch, now);
    if (!watch->count) {
        drop_if_empty(watch);
        return;
    }
    watch->asked_count = 0;
    if (now >= watch->refresh_at)
        choose(watch);
    watch->claim_at = ILK__FOREVER;
    ilk__errand_init(&watch->errand, watch->desk, watch->line.refresh, watch);
    watch->errand.op.deadline = now + ILK__REFRESH_MS;
    watch->errand.op.patient = 1;
    watch->errand.finished = refreshed;
    watch->in_flight = 1;
    ilk__desk_post(watch->desk, &watch->errand);
}

/* ---- hearing ------------------------------------------------------------ */

static void tell(ilk__waiter *waiter, int64_t asked_at,
                 const ilk__reply *reply, size_t at)
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
        if (waiter->news == ILK__NEWS_NONE)
            ilk__wait_tell_news(waiter, ILK__NEWS_GONE);
        return;
    default:
        return;
    }
}

ilk__act ilk__watch_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__watch *watch = op->subject;

    if (reply->count != 4 + 3 * watch->asked_count)
        return ilk__op_fail(op, ILK_EREPLY, "a refresh of a wrong shape");
    for (size_t i = 0; i < watch->asked_count; i++) {
        ilk__waiter *waiter = ilk__wait_find(watch->desk, watch->asked[i]);

        if (waiter && waiter->watch == watch)
            tell(waiter, op->sent_at, reply, 3 + 3 * i);
    }
    ilk__watch_heard(watch, op->sent_at, ilk__script_int(reply, 0),
                     (int)ilk__script_int(reply, 2));
    if (ilk__script_code(reply) == ILK__CODE_MORE)
        watch->claim_at = op->now;
    return ilk__op_done(op, ILK_OK);
}

static void after_refresh(ilk__watch *watch, ilk_status status, int64_t now)
{
    if (status) {
        watch->claim_at = ilk__sooner(watch->claim_at, now + RETRY_MS);
        watch->asked_up_to = 0;
    } else if (watch->asked_count == ILK__WATCH_BATCH) {
        watch->refresh_at = now; /* the rest of this round */
    } else if (now >= watch->refresh_at) {
        watch->refresh_at = now + ILK__REFRESH_MS;
        watch->asked_up_to = 0;
    }
}

/* What no patience mends: let the waiters ask and hear it themselves. */
static int is_final(ilk_status status)
{
    return status == ILK_ETYPE || status == ILK_EAUTH ||
           status == ILK_ESERVERREADONLY || status == ILK_ECLUSTER;
}

static void tell_all(ilk__watch *watch, ilk__wait_news news)
{
    for (ilk__waiter *w = watch->first; w; w = w->next)
        if (w->news != ILK__NEWS_GRANTED)
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

/* The errand is done. The mutex is held. */
static void refreshed(ilk__errand *errand)
{
    ilk__watch *watch =
        (ilk__watch *)((char *)errand - offsetof(ilk__watch, errand));
    int64_t now = ilk__now_ms();

    watch->in_flight = 0;
    after_refresh(watch, errand->op.status, now);
    tell_of_failure(watch, errand->op.status, now);
    ilk__op_free(&errand->op);
    if (watch->count)
        schedule(watch);
    else
        drop_if_empty(watch);
}
