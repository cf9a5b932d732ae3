/* SPDX-License-Identifier: MIT */
/* watch.c -- one name that this client waits for: who waits, when to look. */
#include "watch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lease.h"

#include <stddef.h>
#include <string.h>

static ilk__watch *watch_of(ilk__node *node)
{
    return (ilk__watch *)((char *)node - offsetof(ilk__watch, node));
}

/* ---- making, finding ---------------------------------------------------- */

/* What two watches differ in, into the shared state's scratch. */
static ilk_status identify(ilk__shared *shared,
                           const ilk__wait_queue *wait_queue)
{
    ilk__buf *out = &shared->scratch;
    ilk_status st;

    ilk__buf_take(out, ilk__buf_len(out));
    st = ilk__buf_add(out, &wait_queue->refresh, sizeof wait_queue->refresh);
    for (size_t i = 0; i < wait_queue->key_count && st == ILK_OK; i++) {
        const ilk__bytes *key = &wait_queue->keys[i];

        st = ilk__buf_add(out, &key->len, sizeof key->len);
        if (st == ILK_OK)
            st = ilk__buf_add(out, key->data, key->len);
    }
    return st;
}

static ilk__bytes put(char **to, const void *data, size_t len)
{
    ilk__bytes here = {.data = *to, .len = len};

    if (len)
        memcpy(here.data, data, len);
    *to += len;
    return here;
}

static size_t size_of(const ilk__wait_queue *wait_queue, size_t ident_len)
{
    size_t size = sizeof(ilk__watch) + wait_queue->channel.len + ident_len
                  + wait_queue->key_count * sizeof(ilk__bytes)
                  + wait_queue->name_count * sizeof(ilk__listing);

    for (size_t i = 0; i < wait_queue->key_count; i++)
        size += wait_queue->keys[i].len;
    for (size_t i = 0; i < wait_queue->name_count; i++)
        size += wait_queue->names[i].len;
    return size;
}

/* Of what is in the shared state's scratch; all bytes lie behind the struct. */
static ilk__watch *watch_new(ilk__shared *shared,
                             const ilk__wait_queue *wait_queue)
{
    size_t ident_len = ilk__buf_len(&shared->scratch);
    ilk__watch *watch = ilk__calloc(1, size_of(wait_queue, ident_len));
    char *to;

    if (!watch)
        return NULL;
    watch->shared = shared;
    watch->wait_queue = *wait_queue;
    watch->wait_queue.names = NULL;
    watch->listings = (ilk__listing *)(watch + 1);
    watch->wait_queue.keys = watch->keys =
        (ilk__bytes *)(watch->listings + wait_queue->name_count);
    to = (char *)(watch->keys + wait_queue->key_count);
    for (size_t i = 0; i < wait_queue->key_count; i++)
        watch->keys[i] =
            put(&to, wait_queue->keys[i].data, wait_queue->keys[i].len);
    for (size_t i = 0; i < wait_queue->name_count; i++) {
        ilk__bytes name =
            put(&to, wait_queue->names[i].data, wait_queue->names[i].len);

        watch->listings[i] =
            (ilk__listing){.watch = watch,
                           .index = i,
                           .node = {.key = name.data, .key_len = name.len}};
    }
    watch->wait_queue.channel =
        put(&to, wait_queue->channel.data, wait_queue->channel.len);
    watch->ident = put(&to, ilk__buf_data(&shared->scratch), ident_len);
    watch->timer.fire = ilk__watch_fire;
    watch->claim_at = ILK__FOREVER;
    watch->shortest_ms = ILK__REFRESH_MS;
    watch->refresh_at = ilk__now_ms() + ILK__REFRESH_MS;
    return watch;
}

/* ---- known to the shared state ------------------------------------------ */

static void unlist(ilk__watch *watch, size_t count)
{
    while (count-- > 0)
        ilk__table_remove(&watch->shared->lists, &watch->listings[count].node);
}

static ilk_status list(ilk__watch *watch)
{
    for (size_t i = 0; i < watch->wait_queue.name_count; i++) {
        ilk__node *node = &watch->listings[i].node;

        if (ilk__table_add(&watch->shared->lists, node, node->key,
                           node->key_len)) {
            unlist(watch, i);
            return ILK_ENOMEM;
        }
    }
    return ILK_OK;
}

/* Two timers: the watch's and its operation's. */
static ilk_status reserve_timers(ilk__timers *timers)
{
    ilk_status st = ilk__timers_reserve(timers, NULL);

    if (st)
        return st;
    st = ilk__timers_reserve(timers, NULL);
    if (st)
        ilk__timers_unreserve(timers);
    return st;
}

static void unreserve_timers(ilk__timers *timers)
{
    ilk__timers_unreserve(timers);
    ilk__timers_unreserve(timers);
}

static ilk_status enter(ilk__shared *shared, ilk__watch *watch)
{
    ilk_status st = reserve_timers(&shared->timers);

    if (st)
        return st;
    st = list(watch);
    if (st == ILK_OK) {
        st = ilk__table_add(&shared->watches, &watch->node, watch->ident.data,
                            watch->ident.len);
        if (st)
            unlist(watch, watch->wait_queue.name_count);
    }
    if (st) {
        unreserve_timers(&shared->timers);
    } else if (watch->wait_queue.channel.len) {
        shared->channels_changed = 1;
        shared->watch_channels++;
    }
    return st;
}

static ilk_status find_or_make(ilk__waiter *waiter, ilk__watch **out)
{
    ilk__shared *shared = waiter->shared;
    ilk_status st = identify(shared, waiter->wait_queue);
    ilk__node *node;

    if (st)
        return st;
    node = ilk__table_find(&shared->watches, ilk__buf_data(&shared->scratch),
                           ilk__buf_len(&shared->scratch));
    if (node) {
        *out = watch_of(node);
        return ILK_OK;
    }
    *out = watch_new(shared, waiter->wait_queue);
    if (!*out)
        return ILK_ENOMEM;
    st = enter(shared, *out);
    if (st)
        ilk__free(*out);
    return st;
}

void ilk__watch_drop_if_empty(ilk__watch *watch)
{
    ilk__shared *shared = watch->shared;

    if (watch->count || watch->in_flight)
        return;
    ilk__timer_clear(&shared->timers, &watch->timer);
    ilk__table_remove(&shared->watches, &watch->node);
    unlist(watch, watch->wait_queue.name_count);
    unreserve_timers(&shared->timers);
    if (watch->wait_queue.channel.len)
        shared->watch_channels--;
    ilk__buf_free(&watch->entries);
    ilk__free(watch);
}

void ilk__watch_schedule(ilk__watch *watch)
{
    ilk__shared_set_timer(watch->shared, &watch->timer,
                          ilk__sooner(watch->refresh_at, watch->claim_at));
}

/* ---- joining, leaving --------------------------------------------------- */

ilk_status ilk__watch_join(ilk__waiter *waiter)
{
    ilk__shared *shared = waiter->shared;
    ilk__watch *watch;
    ilk_status st;

    ilk__watch_forget(waiter);
    waiter->id = ++shared->last_id;
    st = find_or_make(waiter, &watch);
    if (st)
        return st;
    st = ilk__table_add(&shared->waiters, &waiter->node, &waiter->id,
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
    shared->stats.waiting++;
    ilk__watch_schedule(watch);
    return ILK_OK;
}

static void leave_wait_queue(ilk__waiter *waiter)
{
    ilk__watch *watch = waiter->watch;

    *(waiter->previous ? &waiter->previous->next : &watch->first) =
        waiter->next;
    *(waiter->next ? &waiter->next->previous : &watch->last) = waiter->previous;
    waiter->watch = NULL;
    watch->count--;
    watch->shared->stats.waiting--;
    ilk__watch_drop_if_empty(watch);
}

void ilk__watch_leave(ilk__waiter *waiter)
{
    ilk__table_remove(&waiter->shared->waiters, &waiter->node);
    leave_wait_queue(waiter);
}

void ilk__watch_settle(ilk__waiter *waiter)
{
    leave_wait_queue(waiter);
    waiter->settled = 1;
}

void ilk__watch_forget(ilk__waiter *waiter)
{
    if (waiter->settled)
        ilk__table_remove(&waiter->shared->waiters, &waiter->node);
    waiter->settled = 0;
}

/* ---- when to look ------------------------------------------------------- */

/*
 * Answers overtake each other: that to who has just joined may be here before
 * one to a refresh that was asked, and answered, earlier. So what is heard
 * since the last look only ever puts the next one forward.
 */
void ilk__watch_heard(ilk__watch *watch, int64_t asked_at, int64_t holder_ms,
                      int ours)
{
    int64_t now = ilk__now_ms(), claim_at = watch->claim_at;

    holder_ms = ilk__sooner(holder_ms, ILK__LEASE_MAX_MS);
    if (holder_ms >= 0) /* the reply may be old, the lease was not longer */
        claim_at = ilk__sooner(claim_at, asked_at + holder_ms + 1);
    /* The lock may have changed hands since: a fleet that takes short leases
     * looks as often, to be there when a new holder's runs out. */
    if (watch->shortest_ms < ILK__REFRESH_MS)
        claim_at = ilk__sooner(claim_at, now + watch->shortest_ms);
    if (!ours)
        claim_at =
            ilk__sooner(claim_at, now + watch->wait_queue.foreign_poll_ms);
    watch->claim_at = claim_at <= now ? now + 1 : claim_at;
    ilk__watch_schedule(watch);
}

void ilk__watch_changed(ilk__watch *watch, const char *key, size_t key_len)
{
    const ilk__bytes *list = &watch->keys[ILK__LIST_KEY];

    if (watch->wait_queue.key_count <= ILK__LIST_KEY || list->len != key_len
        || memcmp(list->data, key, key_len) != 0)
        return;
    for (ilk__waiter *w = watch->first; w; w = w->next)
        if (w->news == ILK__NEWS_NONE)
            ilk__wait_tell_news(w, ILK__NEWS_WOKEN);
}

void ilk__watch_hurry(ilk__watch *watch)
{
    watch->claim_at = ilk__now_ms();
    ilk__watch_schedule(watch);
}

void ilk__watch_refresh(ilk__watch *watch)
{
    watch->refresh_at = ilk__now_ms();
    watch->asked_up_to = 0;
    ilk__watch_schedule(watch);
}

void ilk__watch_hurry_all(ilk__shared *shared)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->watches, &cursor)))
        for (; node; node = node->next)
            ilk__watch_refresh(watch_of(node));
}
