/* SPDX-License-Identifier: MIT */
/* watch.c -- one name that this client waits for: who waits, when to look. */
#include "watch.h"

#include "alloc.h"
#include "clock.h"
#include "lease.h"

#include <stddef.h>
#include <string.h>

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
    watch->timer.fire = ilk__watch_fire;
    watch->claim_at = ILK__FOREVER;
    watch->shortest_ms = ILK__REFRESH_MS;
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

void ilk__watch_drop_if_empty(ilk__watch *watch)
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

void ilk__watch_schedule(ilk__watch *watch)
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
        ilk__watch_drop_if_empty(watch);
        return st;
    }
    waiter->watch = watch;
    waiter->next = NULL;
    waiter->previous = watch->last;
    *(watch->last ? &watch->last->next : &watch->first) = waiter;
    watch->last = waiter;
    watch->shortest_ms = ilk__sooner(watch->shortest_ms, waiter->lease_ms);
    watch->count++;
    desk->stats.waiting++;
    ilk__watch_schedule(watch);
    return ILK_OK;
}

static void leave_line(ilk__waiter *waiter)
{
    ilk__watch *watch = waiter->watch;

    *(waiter->previous ? &waiter->previous->next : &watch->first) =
        waiter->next;
    *(waiter->next ? &waiter->next->previous : &watch->last) = waiter->previous;
    waiter->watch = NULL;
    watch->count--;
    watch->desk->stats.waiting--;
    ilk__watch_drop_if_empty(watch);
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
    holder_ms = ilk__sooner(holder_ms, ILK__LEASE_MAX_MS);
    if (holder_ms >= 0) /* the reply may be old, the lease was not longer */
        watch->claim_at = asked_at + holder_ms + 1;
    /* The lock may have changed hands since: a fleet that takes short leases
     * looks as often, to be there when a new holder's runs out. */
    if (watch->shortest_ms < ILK__REFRESH_MS)
        watch->claim_at =
            ilk__sooner(watch->claim_at, now + watch->shortest_ms);
    if (!ours)
        watch->claim_at =
            ilk__sooner(watch->claim_at, now + watch->line.foreign_poll_ms);
    if (watch->claim_at <= now)
        watch->claim_at = now + 1;
    ilk__watch_schedule(watch);
}

void ilk__watch_hurry(ilk__watch *watch)
{
    watch->claim_at = ilk__now_ms();
    ilk__watch_schedule(watch);
}

void ilk__watch_hurry_all(ilk__desk *desk)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&desk->watches, &cursor)))
        for (; node; node = node->next) {
            watch_of(node)->refresh_at = ilk__now_ms();
            watch_of(node)->asked_up_to = 0;
            ilk__watch_schedule(watch_of(node));
        }
}
