/* SPDX-License-Identifier: MIT */
/*
 * etcd_watches.c -- which watch says that the list of a name must be read again.
 *
 *     waiters                      watched
 *
 *     a lock or an election        the key before the first own waiter
 *     behind a hold of this client the hold's key, after a while
 *     readers, permits, or among   as name_queue says: one key or all
 *     strange keys
 *
 * Watches begin at the present revision: etcd serves those that begin earlier every
 * 100 ms only. When a change comes just as a watch begins, etcd takes the watch for one
 * of those: the change is in no list yet, and its event is late. So the list is read
 * again when the watch is there, and also when it has ended.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum { LAZY_MS = 50 };

static void drop_watch(ilk__etcd_name *name)
{
    if (!name->watch)
        return;
    ilk__etcd_watch_cancel(name->watch);
    name->watch = NULL;
    ilk__etcd_name_unref(name);
}

static int concerns(const ilk__etcd_name *name, const ilk__etcd_news *news)
{
    ilk__etcd_shape shape;

    if (!news->kv)
        return 0;
    if (name->limit_key && news->kv->key.len == name->limit_len
        && memcmp(news->kv->key.at, name->limit_key, name->limit_len) == 0)
        return 1;
    return news->kind == ILK__ETCD_KEY_DELETED
           && ilk__etcd_key_parse(&shape, name, news->kv->key);
}

static void on_news(void *owner, const ilk__etcd_news *news)
{
    ilk__etcd_name *name = owner;

    name->refs++;
    switch (news->kind) {
    case ILK__ETCD_CREATED: name->must_read = 1; break;
    case ILK__ETCD_KEY_PUT:
    case ILK__ETCD_KEY_DELETED: name->must_read |= concerns(name, news); break;
    case ILK__ETCD_PROGRESS: break;
    case ILK__ETCD_ENDED:
        name->watch = NULL;
        ilk__etcd_name_unref(name);
        name->must_read = 1;
        name->watch_at = name->read_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
        ilk__etcd_timer(name->store, name->watch_at);
        break;
    }
    if (!name->store->is_closing)
        ilk__etcd_name_settle(name);
    ilk__etcd_name_unref(name);
}

static int is_watched(const ilk__etcd_name *name, ilk__bytes key)
{
    return name->watch && name->watched.len == key.len
           && (!key.len || memcmp(name->watched.data, key.data, key.len) == 0);
}

/* Watch a key, or all with an empty one. */
static void watch(ilk__etcd_name *name, ilk__bytes key)
{
    ilk__etcd_watch_request request = {.key = {key.data, key.len},
                                       .without_puts = !name->limit_key};
    const int64_t now = ilk__now_ms();

    if (is_watched(name, key))
        return;
    drop_watch(name);
    if (now < name->watch_at) {
        ilk__etcd_timer(name->store, name->watch_at);
        return;
    }
    if (!key.len) {
        request.key = name->limit_key
                          ? (ilk__span){name->limit_key, name->limit_len}
                          : (ilk__span){name->prefix, name->prefix_len};
        request.range_end = (ilk__span){name->prefix_end, name->prefix_len};
    }
    ilk__free(name->watched.data);
    name->watched =
        (ilk__bytes){ilk__memdup(key.data ? key.data : "", key.len), key.len};
    if (!name->watched.data
        || ilk__etcd_watch_begin(&name->watch, name->store->client, &request, 0,
                                 on_news, name)) {
        name->watch = NULL;
        name->watch_at = now + ILK__ETCD_AGAIN_MS;
        ilk__etcd_timer(name->store, name->watch_at);
        return;
    }
    name->refs++;
}

/* A hold of this client's before the entry. */
static ilk__etcd_entry *own_hold(const ilk__etcd_name *name,
                                 const ilk__etcd_entry *first)
{
    for (ilk__contender *one = name->contended->first; one; one = one->next) {
        ilk__etcd_entry *entry = one->at_store;

        if (one->state == ILK__CONTENDER_HOLDS && entry && entry->key.data
            && entry->create_revision < first->create_revision)
            return entry;
    }
    return NULL;
}

/* The leave of an own hold reads the list for the next entry, so the hold's key is
 * watched only when the hold lasts: an operator may delete the key. */
static void watch_own_hold(ilk__etcd_name *name, const ilk__etcd_entry *hold)
{
    const int64_t now = ilk__now_ms();

    if (name->lazy_for != hold->create_revision) {
        name->lazy_for = hold->create_revision;
        name->lazy_at = now + LAZY_MS;
        name->revision = hold->create_revision;
    }
    if (now >= name->lazy_at) {
        watch(name, hold->key);
        return;
    }
    drop_watch(name);
    ilk__etcd_timer(name->store, name->lazy_at);
}

static void read_again(ilk__etcd_name *name, ilk__etcd_entry *first)
{
    const int64_t now = ilk__now_ms();

    if (name->is_reading)
        return; /* it comes here afterwards */
    if (now < name->read_at) {
        ilk__etcd_timer(name->store, name->read_at);
        return;
    }
    name->must_read = 0;
    if (ilk__etcd_name_needs_whole(name))
        ilk__etcd_name_read(name, ILK__ETCD_READ_WHOLE, NULL);
    else
        ilk__etcd_name_read(name, ILK__ETCD_READ_BEFORE, first);
}

void ilk__etcd_name_settle(ilk__etcd_name *name)
{
    ilk__etcd_entry *first, *hold;

    if (!name->contended || name->store->is_closing)
        return;
    first = ilk__etcd_name_first_waiting(name);
    if (!first) {
        name->must_read = 0;
        drop_watch(name);
        return;
    }
    if (name->must_read)
        read_again(name, first);
    if (ilk__etcd_name_needs_whole(name)) {
        if (name->whole_watch == ILK__QUEUE_WATCH_ALL)
            watch(name, (ilk__bytes){NULL, 0});
        else if (name->whole_watch == 0)
            watch(name, name->before);
        else if (!name->must_read)
            read_again(name, first);
    } else if ((hold = own_hold(name, first))) {
        watch_own_hold(name, hold);
    } else if (name->before_number == first->create_revision) {
        watch(name, name->before);
    } else if (!name->must_read) {
        read_again(name, first);
    }
}

/* ---- observers ----------------------------------------------------------- */

static void begin_observer(ilk__etcd_name *name);

static void on_change(void *owner, const ilk__etcd_news *news)
{
    ilk__etcd_name *name = owner;

    if (news->kind == ILK__ETCD_PROGRESS)
        return;
    if (news->kind == ILK__ETCD_ENDED) {
        name->observer = NULL;
        name->observe_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
        ilk__etcd_timer(name->store, name->observe_at);
        ilk__etcd_name_unref(name);
        return;
    }
    name->has_changed = 1; /* reported once for all events of a turn */
    ilk__etcd_timer(name->store, 0);
}

static void begin_observer(ilk__etcd_name *name)
{
    const ilk__etcd_watch_request request = {
        .key = {name->prefix, name->prefix_len},
        .range_end = {name->prefix_end, name->prefix_len}};

    if (ilk__etcd_watch_begin(&name->observer, name->store->client, &request, 0,
                              on_change, name)) {
        name->observer = NULL;
        name->observe_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
        ilk__etcd_timer(name->store, name->observe_at);
        return;
    }
    name->refs++;
}

void ilk__etcd_observe(void *self, ilk__contended *contended, int begins)
{
    ilk__etcd_name *name;

    if (ilk__etcd_name_find(&name, self, contended))
        return; /* observers come back */
    name->observes = begins;
    if (begins && !name->observer) {
        begin_observer(name);
    } else if (!begins && name->observer) {
        ilk__etcd_watch_cancel(name->observer);
        name->observer = NULL;
        ilk__etcd_name_unref(name);
    }
}

/* ---- timers -------------------------------------------------------------- */

static void fire_name(ilk__etcd_name *name, int64_t now)
{
    if (!name->contended)
        return;
    if (name->has_changed) {
        name->has_changed = 0;
        ilk__contention_election_changed(name->contended);
    }
    if (name->observes && !name->observer && name->contended) {
        if (now >= name->observe_at)
            begin_observer(name);
        else
            ilk__etcd_timer(name->store, name->observe_at);
    }
    ilk__etcd_name_settle(name);
}

static void fire_leaves(ilk__etcd_store *store, int64_t now)
{
    for (ilk__etcd_lease *of = store->leases; of; of = of->next)
        for (ilk__etcd_entry *next, *one = of->entries; one; one = next) {
            next = one->next;
            if (one->leave_at <= now)
                ilk__etcd_leave_send(one); /* which only sends */
            else if (one->leave_at != ILK__FOREVER)
                ilk__etcd_timer(store, one->leave_at);
        }
}

void ilk__etcd_names_fire(ilk__etcd_store *store, int64_t now)
{
    ilk__etcd_name *next, *name;

    if (now < store->due)
        return;
    store->due = ILK__FOREVER;
    fire_leaves(store, now);
    for (name = store->names; name; name = next) {
        name->refs++;
        fire_name(name, now);
        next = name->next;
        ilk__etcd_name_unref(name);
    }
}

/* The name is not used any more. */
void ilk__etcd_forget_name(void *self, ilk__contended *contended)
{
    ilk__etcd_name *name = contended->at_store;

    (void)self;
    if (!name)
        return;
    contended->at_store = NULL;
    name->contended = NULL;
    drop_watch(name);
    if (name->observer) {
        ilk__etcd_watch_cancel(name->observer);
        name->observer = NULL;
        ilk__etcd_name_unref(name);
    }
    ilk__etcd_name_unref(name);
}

void ilk__etcd_forget(void *self, ilk__contender *contender)
{
    ilk__etcd_entry *entry = contender->at_store;

    (void)self;
    if (!entry)
        return;
    contender->at_store = NULL;
    entry->contender = NULL;
    entry->name->readers -= contender->kind == ILK__CONTENDER_READER;
    ilk__etcd_lease_part(entry);
    ilk__etcd_entry_unref(entry);
}
