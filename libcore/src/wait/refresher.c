/* SPDX-License-Identifier: MIT */
/* refresher.c -- the refresher of a waited name: its waiters, and when the next
 * refresh or claim is due. */
#include "refresher.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "lease.h"

#include <stddef.h>
#include <string.h>

static ilk__refresher *refresher_of(ilk__node *node)
{
    return (ilk__refresher *)((char *)node - offsetof(ilk__refresher, node));
}

/* ---- making, finding ---------------------------------------------------- */

/* Write the key of this wait queue's refresher into the shared state's scratch
 * buffer: the refresh operation, and all keys with their lengths. */
static ilk_status identify(ilk__shared *shared,
                           const ilk__wait_queue *wait_queue)
{
    ilk__buf *out = &shared->scratch;
    ilk_status st;

    ilk__buf_drop(out, ilk__buf_len(out));
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
    size_t size = sizeof(ilk__refresher) + wait_queue->channel.len + ident_len
                  + wait_queue->key_count * sizeof(ilk__bytes)
                  + wait_queue->name_count * sizeof(ilk__refresher_list);

    for (size_t i = 0; i < wait_queue->key_count; i++)
        size += wait_queue->keys[i].len;
    for (size_t i = 0; i < wait_queue->name_count; i++)
        size += wait_queue->names[i].len;
    return size;
}

/* The scratch buffer holds its key. All it points to lies behind the struct. */
static ilk__refresher *refresher_new(ilk__shared *shared,
                                     const ilk__wait_queue *wait_queue)
{
    size_t ident_len = ilk__buf_len(&shared->scratch);
    ilk__refresher *refresher = ilk__calloc(1, size_of(wait_queue, ident_len));
    char *to;

    if (!refresher)
        return NULL;
    refresher->shared = shared;
    ilk__wait_queue_address(refresher->address, shared, wait_queue);
    refresher->wait_queue = *wait_queue;
    refresher->wait_queue.names = NULL;
    refresher->lists = (ilk__refresher_list *)(refresher + 1);
    refresher->wait_queue.keys = refresher->keys =
        (ilk__bytes *)(refresher->lists + wait_queue->name_count);
    to = (char *)(refresher->keys + wait_queue->key_count);
    for (size_t i = 0; i < wait_queue->key_count; i++)
        refresher->keys[i] =
            put(&to, wait_queue->keys[i].data, wait_queue->keys[i].len);
    for (size_t i = 0; i < wait_queue->name_count; i++) {
        ilk__bytes name =
            put(&to, wait_queue->names[i].data, wait_queue->names[i].len);

        refresher->lists[i] = (ilk__refresher_list){
            .refresher = refresher,
            .index = i,
            .node = {.key = name.data, .key_len = name.len}};
    }
    refresher->wait_queue.channel =
        put(&to, wait_queue->channel.data, wait_queue->channel.len);
    refresher->ident = put(&to, ilk__buf_data(&shared->scratch), ident_len);
    refresher->timer.fire = ilk__refresher_fire;
    refresher->claim_at = ILK__FOREVER;
    refresher->shortest_ms = ILK__REFRESH_MS;
    refresher->refresh_at = ilk__now_ms() + ILK__REFRESH_MS;
    return refresher;
}

/* ---- known to the shared state ------------------------------------------ */

static void unlist(ilk__refresher *refresher, size_t count)
{
    while (count-- > 0)
        ilk__table_remove(&refresher->shared->lists,
                          &refresher->lists[count].node);
}

static ilk_status list(ilk__refresher *refresher)
{
    for (size_t i = 0; i < refresher->wait_queue.name_count; i++) {
        ilk__node *node = &refresher->lists[i].node;

        if (ilk__table_add(&refresher->shared->lists, node, node->key,
                           node->key_len)) {
            unlist(refresher, i);
            return ILK_ENOMEM;
        }
    }
    return ILK_OK;
}

/* Two timers: the refresher's and its operation's. */
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

static ilk_status enter(ilk__shared *shared, ilk__refresher *refresher)
{
    ilk_status st = reserve_timers(&shared->timers);

    if (st)
        return st;
    st = list(refresher);
    if (st == ILK_OK) {
        st = ilk__table_add(&shared->refreshers, &refresher->node,
                            refresher->ident.data, refresher->ident.len);
        if (st)
            unlist(refresher, refresher->wait_queue.name_count);
    }
    if (st) {
        unreserve_timers(&shared->timers);
    } else if (refresher->wait_queue.channel.len) {
        shared->channels_changed = 1;
        shared->refresher_channels++;
    }
    return st;
}

static ilk_status find_or_make(ilk__waiter *waiter, ilk__refresher **out)
{
    ilk__shared *shared = waiter->shared;
    ilk_status st = identify(shared, waiter->wait_queue);
    ilk__node *node;

    if (st)
        return st;
    node = ilk__table_find(&shared->refreshers, ilk__buf_data(&shared->scratch),
                           ilk__buf_len(&shared->scratch));
    if (node) {
        *out = refresher_of(node);
        return ILK_OK;
    }
    *out = refresher_new(shared, waiter->wait_queue);
    if (!*out)
        return ILK_ENOMEM;
    st = enter(shared, *out);
    if (st)
        ilk__free(*out);
    return st;
}

void ilk__refresher_drop_if_empty(ilk__refresher *refresher)
{
    ilk__shared *shared = refresher->shared;

    if (refresher->count || refresher->in_flight)
        return;
    ilk__timer_clear(&shared->timers, &refresher->timer);
    ilk__table_remove(&shared->refreshers, &refresher->node);
    unlist(refresher, refresher->wait_queue.name_count);
    unreserve_timers(&shared->timers);
    if (refresher->wait_queue.channel.len)
        shared->refresher_channels--;
    ilk__buf_free(&refresher->entries);
    ilk__free(refresher);
}

void ilk__refresher_schedule(ilk__refresher *refresher)
{
    ilk__shared_set_timer(
        refresher->shared, &refresher->timer,
        ilk__sooner(refresher->refresh_at, refresher->claim_at));
}

/* ---- joining, leaving --------------------------------------------------- */

ilk_status ilk__refresher_join(ilk__waiter *waiter)
{
    ilk__shared *shared = waiter->shared;
    ilk__refresher *refresher;
    ilk_status st;

    ilk__refresher_forget(waiter);
    waiter->id = ++shared->last_id;
    st = find_or_make(waiter, &refresher);
    if (st)
        return st;
    st = ilk__table_add(&shared->waiters, &waiter->node, &waiter->id,
                        sizeof waiter->id);
    if (st) {
        ilk__refresher_drop_if_empty(refresher);
        return st;
    }
    waiter->refresher = refresher;
    waiter->next = NULL;
    waiter->previous = refresher->last;
    *(refresher->last ? &refresher->last->next : &refresher->first) = waiter;
    refresher->last = waiter;
    refresher->shortest_ms =
        ilk__sooner(refresher->shortest_ms, waiter->lease_ms);
    refresher->count++;
    shared->stats.waiting++;
    ilk__refresher_schedule(refresher);
    return ILK_OK;
}

static void leave_wait_queue(ilk__waiter *waiter)
{
    ilk__refresher *refresher = waiter->refresher;

    *(waiter->previous ? &waiter->previous->next : &refresher->first) =
        waiter->next;
    *(waiter->next ? &waiter->next->previous : &refresher->last) =
        waiter->previous;
    waiter->refresher = NULL;
    refresher->count--;
    refresher->shared->stats.waiting--;
    ilk__refresher_drop_if_empty(refresher);
}

void ilk__refresher_leave(ilk__waiter *waiter)
{
    ilk__table_remove(&waiter->shared->waiters, &waiter->node);
    leave_wait_queue(waiter);
}

void ilk__refresher_succeed(ilk__waiter *waiter)
{
    leave_wait_queue(waiter);
    waiter->succeeded = 1;
}

void ilk__refresher_forget(ilk__waiter *waiter)
{
    if (waiter->succeeded)
        ilk__table_remove(&waiter->shared->waiters, &waiter->node);
    waiter->succeeded = 0;
}

/* ---- when to claim ------------------------------------------------------ */

/* How long until the next look at a foreign holder. If this client has the
 * first waiter, -ours is that time in ms for the default foreign_poll_ms; it is
 * scaled to the one of this wait queue. */
static int64_t foreign_poll(const ilk__refresher *refresher, int ours)
{
    int64_t usual =
        ilk__sooner(refresher->wait_queue.foreign_poll_ms, ILK__LEASE_MAX_MS);
    int64_t hundredths = ours ? -(int64_t)ours : ILK__FOREIGN_POLL_MS;

    if (hundredths > ILK__FOREIGN_POLL_MS)
        hundredths = ILK__FOREIGN_POLL_MS;
    return usual * hundredths / ILK__FOREIGN_POLL_MS;
}

/*
 * Replies come over several connections and overtake each other: the reply to
 * a new waiter's ENQUEUE may arrive before that to an older refresh. So until
 * the claim is sent, a reply can only make it earlier, never later.
 */
void ilk__refresher_note_holder(ilk__refresher *refresher, int64_t sent_at,
                                int64_t holder_ms, int ours)
{
    int64_t now = ilk__now_ms(), claim_at = refresher->claim_at;

    holder_ms = ilk__sooner(holder_ms, ILK__LEASE_MAX_MS);
    if (holder_ms >= 0) /* counted from the request: early rather than late */
        claim_at = ilk__sooner(claim_at, sent_at + holder_ms + 1);
    /* The name may change hands before that, and the new holder's lease is not
     * known until the next refresh. The leases that our own waiters request are
     * the best guess, so if one is shorter than the time between two refreshes,
     * claim that often. */
    if (refresher->shortest_ms < ILK__REFRESH_MS)
        claim_at = ilk__sooner(claim_at, now + refresher->shortest_ms);
    if (ours <= 0)
        claim_at = ilk__sooner(claim_at, now + foreign_poll(refresher, ours));
    refresher->claim_at = claim_at <= now ? now + 1 : claim_at;
    ilk__refresher_schedule(refresher);
}

void ilk__refresher_changed(ilk__refresher *refresher, const char *key,
                            size_t key_len)
{
    const ilk__bytes *list = &refresher->keys[ILK__LIST_KEY];

    if (refresher->wait_queue.key_count <= ILK__LIST_KEY || list->len != key_len
        || memcmp(list->data, key, key_len) != 0)
        return;
    for (ilk__waiter *w = refresher->first; w; w = w->next)
        if (w->report == ILK__REPORT_NONE)
            ilk__waiter_report(w, ILK__REPORT_WOKEN);
}

void ilk__refresher_claim_now(ilk__refresher *refresher)
{
    refresher->claim_at = ilk__now_ms();
    ilk__refresher_schedule(refresher);
}

void ilk__refresher_refresh_now(ilk__refresher *refresher)
{
    refresher->refresh_at = ilk__now_ms();
    refresher->refreshed_up_to = 0;
    ilk__refresher_schedule(refresher);
}

void ilk__refresher_refresh_all(ilk__shared *shared)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->refreshers, &cursor)))
        for (; node; node = node->next) {
            refresher_of(node)->openings++;
            ilk__refresher_refresh_now(refresher_of(node));
        }
}

void ilk__refresher_withdraw_all(ilk__shared *shared)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->refreshers, &cursor)))
        for (; node; node = node->next)
            for (const ilk__waiter *one = refresher_of(node)->first; one;
                 one = one->next) {
                const ilk__withdrawal withdrawal = ilk__waiter_withdrawal(one);

                ilk__give_back(&withdrawal);
            }
}
