/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_names.c -- the nodes of a name: the list from which the holders follow, and
 * the watch after whose event it is read again.
 *
 * All entries that need a list in one turn of the loop share one, which is sent at the
 * end of the turn. It follows a write or a sync, so it is a proof about the time of its
 * sending, and the session is known to have lasted until then.
 *
 * The node that the first own waiter waits for is watched by reading it: a watch for
 * the existence of a node that is gone would stay for ever. Where more than one node
 * may matter, the parent's children are watched, and of a semaphore its data.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------- */

ilk_status ilk__zk_name_find(ilk__zk_name **out, ilk__zk *store,
                             ilk__contended *contended)
{
    ilk__zk_name *name = contended->at_store;

    *out = name;
    if (name)
        return ILK_OK;
    name = ilk__calloc(1, sizeof *name);
    if (!name)
        return ILK_ENOMEM;
    name->path = ilk__zk_path_of(
        store->path, (ilk__span){contended->key.data, contended->key.len});
    if (!name->path) {
        ilk__free(name);
        return ILK_ENOMEM;
    }
    name->store = store;
    name->contended = contended;
    name->kind = contended->kind;
    name->number = ++store->name_number;
    name->limit_version = -1;
    name->refs = 1;
    name->next = store->names;
    if (name->next)
        name->next->previous = name;
    store->names = name;
    contended->at_store = *out = name;
    return ILK_OK;
}

void ilk__zk_name_unref(ilk__zk_name *name)
{
    if (!name || --name->refs)
        return;
    *(name->previous ? &name->previous->next : &name->store->names) =
        name->next;
    if (name->next)
        name->next->previous = name->previous;
    ilk__free(name->watched);
    ilk__free(name->path);
    ilk__free(name);
}

void ilk__zk_forget_name(void *self, ilk__contended *contended)
{
    ilk__zk_name *name = contended->at_store;

    (void)self;
    if (!name)
        return;
    contended->at_store = NULL;
    name->contended = NULL;
    name->observes = name->must_read = 0;
    ilk__zk_name_unref(name);
}

static void advance_entries(ilk__zk_name *name)
{
    ilk__contender *next;

    for (ilk__contender *one = name->contended ? name->contended->first : NULL;
         one; one = next) {
        ilk__zk_entry *entry = one->at_store;

        next = one->next;
        if (!entry)
            continue;
        entry->refs++;
        ilk__zk_entry_advance(entry);
        ilk__zk_entry_unref(entry);
    }
}

static void unwatch(ilk__zk_name *name)
{
    ilk__free(name->watched);
    name->watched = NULL;
}

void ilk__zk_name_must_read(ilk__zk_name *name)
{
    name->must_read = 1;
    if (name->read_at > ilk__now_ms())
        ilk__zk_timer(name->store, name->read_at);
}

void ilk__zk_name_deletes(ilk__zk_name *name, const char *node)
{
    if (name->watched && strcmp(name->watched, node) == 0)
        unwatch(name);
    ilk__zk_name_must_read(name);
}

void ilk__zk_name_read_later(ilk__zk_name *name)
{
    name->must_read = 1;
    name->read_at = ilk__now_ms() + ILK__ZK_AGAIN_MS;
    ilk__zk_timer(name->store, name->read_at);
}

/* ---- the parent ---------------------------------------------------------- */

static void fail_joins(ilk__zk_name *name, const char *text)
{
    ilk__contender *next;

    for (ilk__contender *one = name->contended->first; one; one = next) {
        next = one->next;
        if (one->state == ILK__CONTENDER_JOINS && one->request && one->at_store)
            ilk__zk_entry_failed(one->at_store, text);
    }
}

static void made(ilk__zk_op *op)
{
    ilk__zk *store = op->store;
    ilk__zk_name *name = op->name;
    char text[200];

    name->is_making = 0;
    if (!name->contended || store->is_closing)
        return;
    if (op->rc == ILK__ZK_UNIMPLEMENTED && !store->has_no_containers) {
        store->has_no_containers = 1;       /* an old server */
    } else if (op->rc == ILK__ZK_NO_NODE) { /* the path is gone */
        store->made = 0;
        ilk__zk_prepare_path(store);
        return; /* which resumes all */
    } else if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NODE_EXISTS
               && !ilk__zk_is_unsure(op->rc)) {
        fail_joins(name, ilk__zk_error(text, op->rc));
        return;
    }
    advance_entries(name);
    ilk__zk_jobs_resume(store);
}

void ilk__zk_name_make(ilk__zk_name *name, int64_t limit)
{
    ilk__zk *store = name->store;
    char data[48] = "";
    ilk__zk_op *op;

    if (name->is_making)
        return;
    op = ilk__zk_op_new(store, made, name, NULL, NULL);
    if (!op) {
        fail_joins(name, ilk__zk_no_memory);
        return;
    }
    if (name->kind == ILK__CONTENDED_SEMAPHORE)
        snprintf(data, sizeof data, "%" PRId64 " %" PRId64, limit, limit);
    name->is_making = 1;
    ilk__zk_create(op, name->path, (ilk__span){data, strlen(data)},
                   store->has_no_containers ? ILK__ZK_PERSISTENT
                                            : ILK__ZK_CONTAINER,
                   ilk__zk_acl(store));
}

/* ---- the list ------------------------------------------------------------ */

static int by_order(const void *a, const void *b)
{
    const uint32_t one = ((const ilk__zk_listed *)a)->order,
                   two = ((const ilk__zk_listed *)b)->order;

    return (one > two) - (one < two);
}

/* "Before" is no order of numbers that lie all around, as a server that lies may send
 * them, and qsort() must not get such a comparison. The distance from the first is. */
static void set_orders(ilk__zk_listed *list, size_t count)
{
    int32_t first = count ? list[0].shape.number : 0;

    for (size_t i = 1; i < count; i++)
        if (ilk__zk_is_before(list[i].shape.number, first))
            first = list[i].shape.number;
    for (size_t i = 0; i < count; i++)
        list[i].order = (uint32_t)list[i].shape.number - (uint32_t)first;
}

ilk__zk_listed *ilk__zk_sorted(const ilk__zk_name *name, const ilk__zk_op *op,
                               size_t *out_count)
{
    ilk__zk_listed *list = ilk__calloc(op->child_count + 1, sizeof *list);

    *out_count = 0;
    if (!list)
        return NULL;
    for (size_t i = 0; i < op->child_count; i++)
        if (ilk__zk_shape_parse(&list[*out_count].shape, name, op->children[i]))
            list[(*out_count)++].node = op->children[i];
    set_orders(list, *out_count);
    qsort(list, *out_count, sizeof *list, by_order);
    return list;
}

static int is_known(const ilk__contender *contender)
{
    const ilk__zk_entry *entry = contender->at_store;

    return entry && entry->czxid && !entry->creates && !entry->is_unsure
           && entry->created_op < entry->name->listed;
}

static int node_has_uuid(const char *node, const char *uuid)
{
    return strncmp(node, "_c_", 3) == 0
           && strncmp(node + 3, uuid, ILK__ZK_UUID) == 0;
}

/* A create without an answer was executed if the list has its node, and is void if not.
 * Lists that were sent before that create are no proof, but their answers came before
 * its end. */
static void resolve_unsure(ilk__zk_name *name, const ilk__zk_listed *list,
                           size_t count)
{
    ilk__contender *next;

    for (ilk__contender *one = name->contended->first; one; one = next) {
        ilk__zk_entry *entry = one->at_store;
        const char *node = NULL;

        next = one->next;
        if (!entry || !entry->is_unsure || entry->creates)
            continue;
        for (size_t i = 0; i < count && !node; i++)
            if (node_has_uuid(list[i].node, entry->uuid))
                node = list[i].node;
        if (node)
            ilk__zk_entry_found(entry, node);
        else
            ilk__zk_entry_missing(entry);
    }
}

typedef struct own_node {
    ilk__node by_node;
    ilk__contender *contender;
} own_node;

static size_t count_own(const ilk__zk_name *name)
{
    size_t count = 0;

    for (ilk__contender *one = name->contended->first; one; one = one->next)
        count++;
    return count;
}

/* Find the own contenders by the names of their nodes. There may be more of them than
 * nodes: an operator has removed some. */
static int fill(ilk__queue_entry *entries, const ilk__zk_name *name,
                const ilk__zk_listed *list, size_t count)
{
    ilk__table table = {NULL, 0, 0};
    own_node *own = ilk__calloc(count_own(name) + 1, sizeof *own);
    size_t used = 0;
    int is_good = own != NULL;

    for (ilk__contender *one = name->contended->first; is_good && one;
         one = one->next) {
        const ilk__zk_entry *entry = one->at_store;

        if (!entry || !entry->node || !entry->czxid || entry->leaves)
            continue;
        own[used].contender = one;
        is_good = !ilk__table_add(&table, &own[used++].by_node, entry->node,
                                  strlen(entry->node));
    }
    for (size_t i = 0; is_good && i < count; i++) {
        const size_t len = strlen(list[i].node);
        ilk__node *node =
            used ? ilk__table_find(&table, list[i].node, len) : NULL;

        entries[i] = (ilk__queue_entry){.number = list[i].shape.number,
                                        .permits = list[i].shape.permits,
                                        .kind = list[i].shape.kind,
                                        .id = {list[i].node, len}};
        if (!node)
            continue;
        entries[i].own =
            ((own_node *)((char *)node - offsetof(own_node, by_node)))
                ->contender;
        entries[i].number =
            ((const ilk__zk_entry *)entries[i].own->at_store)->czxid;
    }
    ilk__table_free(&table);
    ilk__free(own);
    return is_good;
}

static void watched_node(ilk__zk_op *op)
{
    ilk__zk_name *name = op->name;

    if (op->rc == ILK__ZK_OK || !name->contended
        || op->number != name->watch_op)
        return;
    unwatch(name);
    if (op->rc == ILK__ZK_NO_NODE) /* gone in between */
        ilk__zk_name_must_read(name);
    else if (!ilk__zk_is_unsure(op->rc))
        ilk__zk_name_read_later(name);
}

static void watch_node(ilk__zk_name *name, const char *node)
{
    ilk__zk_op *op;
    char *path;

    if (name->watched && strcmp(name->watched, node) == 0)
        return;
    ilk__free(name->watched);
    name->watched = ilk__strdup(node);
    op = ilk__zk_op_new(name->store, watched_node, name, NULL, NULL);
    path = ilk__zk_child_path(name, node);
    if (op && path && name->watched) {
        ilk__zk_get(op, path, 1);
        name->watch_op = op->number;
    } else {
        ilk__zk_op_free(op);
        unwatch(name);
        ilk__zk_name_read_later(name);
    }
    ilk__free(path);
}

/* Another list follows the delete. */
static int is_being_deleted(const ilk__zk_name *name, const char *node)
{
    for (const ilk__contender *one = name->contended->first; one;
         one = one->next) {
        const ilk__zk_entry *entry = one->at_store;

        if (entry && entry->deletes && strcmp(entry->node, node) == 0)
            return 1;
    }
    return 0;
}

static void set_watch(ilk__zk_name *name, const ilk__queue_entry *entries,
                      size_t count, const ilk__zk_op *op)
{
    const ptrdiff_t at = ilk__name_queue_watch(entries, count, name->limit);

    name->watches_all = at == ILK__QUEUE_WATCH_ALL
                        || (at >= 0 && name->kind == ILK__CONTENDED_SEMAPHORE);
    if (name->watches_all && !op->watches)
        ilk__zk_name_must_read(name); /* the same, with a watch */
    else if (!name->watches_all && at >= 0
             && !is_being_deleted(name, entries[at].id.at))
        watch_node(name, entries[at].id.at);
}

/* ---- learning ------------------------------------------------------------ */

static void report(ilk__zk_name *name, const ilk__zk_listed *list, size_t count,
                   const ilk__zk_op *op)
{
    ilk__queue_entry *entries = ilk__calloc(count + 1, sizeof *entries);
    const int64_t ends = ilk__zk_session_end(name->store);

    if (!entries || !fill(entries, name, list, count)) {
        ilk__free(entries);
        ilk__zk_name_read_later(name);
        return;
    }
    if (ends <= ilk__now_ms()) { /* nobody may be granted anything */
        ilk__free(entries);
        ilk__zk_name_read_later(name);
        return;
    }
    name->listed = op->number;
    ilk__name_queue_report(name->contended, entries, count,
                           name->kind == ILK__CONTENDED_SEMAPHORE ? name->limit
                                                                  : 1,
                           ends, is_known);
    for (ilk__contender *one = name->contended->first; one; one = one->next) {
        ilk__zk_entry *entry = one->at_store;

        if (!entry)
            continue;
        entry->holds |= one->state == ILK__CONTENDER_HOLDS;
        if (!one->request && !entry->leaves)
            entry->by = ILK__FOREVER;
    }
    set_watch(name, entries, count, op);
    ilk__free(entries);
}

void ilk__zk_name_learn(ilk__zk_name *name, ilk__zk_op *op)
{
    size_t count = 0;
    ilk__zk_listed *list = ilk__zk_sorted(name, op, &count);

    if (!list) {
        ilk__zk_name_read_later(name);
        return;
    }
    resolve_unsure(name, list, count);
    if (name->kind != ILK__CONTENDED_SEMAPHORE
        || !ilk__zk_limits_judge(name, list, count))
        report(name, list, count, op);
    ilk__free(list);
}

static void has_list(ilk__zk_op *op)
{
    ilk__zk_name *name = op->name;
    char text[200];

    if (!name->contended || op->store->is_closing)
        return;
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_NODE) {
        ilk__zk_name_learn(name, op);
    } else if (!ilk__zk_is_unsure(op->rc)) {
        fail_joins(name, ilk__zk_error(text, op->rc));
        ilk__zk_name_read_later(name);
    }
}

static int needs_list(const ilk__zk_name *name)
{
    for (ilk__contender *one = name->contended->first; one; one = one->next)
        if (one->state == ILK__CONTENDER_WAITS
            || one->state == ILK__CONTENDER_JOINS
            || (one->at_store
                && ((const ilk__zk_entry *)one->at_store)->is_unsure))
            return 1;
    return 0;
}

static void has_limit(ilk__zk_op *op)
{
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_NODE)
        ilk__zk_limit_parse(op->name, op);
}

int ilk__zk_read_list(ilk__zk_op *list, int watches, int is_synced)
{
    ilk__zk_op *limit = NULL;
    int is_semaphore;

    if (!list)
        return 0;
    is_semaphore = list->name->kind == ILK__CONTENDED_SEMAPHORE;
    if (is_semaphore)
        limit = ilk__zk_op_new(list->store, has_limit, list->name, NULL, NULL);
    if ((is_semaphore && !limit)
        || (!is_synced && !ilk__zk_sync(list->store))) {
        ilk__zk_op_free(list);
        ilk__zk_op_free(limit);
        return 0;
    }
    if (limit)
        ilk__zk_get(limit, list->name->path, watches);
    ilk__zk_children(list, list->name->path, watches);
    return 1;
}

static void read_list(ilk__zk_name *name)
{
    name->must_read = 0;
    if (!ilk__zk_read_list(
            ilk__zk_op_new(name->store, has_list, name, NULL, NULL),
            name->watches_all, name->has_written))
        ilk__zk_name_read_later(name);
}

void ilk__zk_names_flush(ilk__zk *store)
{
    const int64_t now = ilk__now_ms();
    ilk__zk_name *next;

    if (store->state != ILK__ZK_READY)
        return;
    for (ilk__zk_name *name = store->names; name; name = next) {
        next = name->next;
        if (name->must_read && name->contended && name->read_at <= now) {
            if (needs_list(name))
                read_list(name);
            else
                name->must_read = 0;
        }
        name->has_written = 0;
    }
}

/* ---- checks -------------------------------------------------------------- */

static void has_checked(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_NODE)
        ilk__zk_name_learn(job->name, op);
    if (job->name->contended)
        ilk__contention_checked(job->name->contended, job->request, NULL);
    ilk__zk_job_over(job);
}

static void run_check(ilk__zk_job *job)
{
    if (!ilk__zk_read_list(
            ilk__zk_op_new(job->store, has_checked, job->name, NULL, job),
            job->name->watches_all, 0))
        job->fail(job, ilk__zk_no_memory);
}

static void fail_check(ilk__zk_job *job, const char *text)
{
    if (job->name->contended)
        ilk__contention_checked(job->name->contended, job->request, text);
    ilk__zk_job_over(job);
}

void ilk__zk_check(void *self, ilk__contended *contended,
                   ilk__gateway_request *request)
{
    ilk__zk_job *job =
        ilk__zk_job_new(self, contended, request, run_check, fail_check);

    if (job)
        ilk__zk_job_start(job);
    else
        ilk__contention_checked(contended, request, ilk__zk_no_memory);
}

/* ---- watches ------------------------------------------------------------- */

static ilk__zk_name *find_number(const ilk__zk *store, uint64_t number)
{
    ilk__zk_name *name = store->names;

    while (name && name->number != number)
        name = name->next;
    return name;
}

void ilk__zk_watch_fired(ilk__zk *store, uint64_t number, const char *path)
{
    ilk__zk_name *name = find_number(store, number);
    const char *slash = strrchr(path, '/');

    if (!name) {
        ilk__zk_register_watch_fired(store, number);
        ilk__zk_group_watch_fired(store, number, path);
    }
    if (!name || !name->contended)
        return;
    if (name->watched && slash && strcmp(slash + 1, name->watched) == 0) {
        unwatch(name);
        ilk__zk_name_must_read(name);
    } else if (name->watches_all) {
        ilk__zk_name_must_read(name);
    }
    ilk__zk_observe_fired(name);
}

/* ---- the session, and timers --------------------------------------------- */

void ilk__zk_names_resume(ilk__zk *store)
{
    ilk__zk_name *next;

    for (ilk__zk_name *name = store->names; name; name = next) {
        name->refs++;
        name->is_making = 0;
        unwatch(name);
        if (name->contended) {
            name->must_read = 1;
            name->read_at = 0;
            advance_entries(name);
            if (name->observes)
                ilk__zk_observe_begin(name);
        }
        next = name->next;
        ilk__zk_name_unref(name);
    }
}

void ilk__zk_names_session_lost(ilk__zk *store)
{
    ilk__contender *one = NULL;

    ilk__zk_registers_read_again(store);
    ilk__zk_groups_session_lost(store);
    for (ilk__zk_name *name = store->names; name; name = name->next) {
        unwatch(name);
        name->watches_all = name->observer_is_set = 0;
        name->listed = 0;
    }
    while ((one = ilk__contention_next(store->contention, NULL, one))) {
        ilk__zk_entry *entry = one->at_store;

        if (!entry)
            continue;
        entry->refs++;
        ilk__zk_entry_session_lost(entry);
        ilk__zk_entry_unref(entry);
    }
}

static void fire_name(ilk__zk_name *name, int64_t now)
{
    ilk__contender *next;

    if (name->must_read && name->read_at > now)
        ilk__zk_timer(name->store, name->read_at);
    ilk__zk_observe_fire(name, now);
    for (ilk__contender *one = name->contended ? name->contended->first : NULL;
         one; one = next) {
        ilk__zk_entry *entry = one->at_store;

        next = one->next;
        if (!entry)
            continue;
        entry->refs++;
        ilk__zk_entry_fire(entry, now);
        ilk__zk_entry_unref(entry);
    }
}

void ilk__zk_names_fire(ilk__zk *store, int64_t now)
{
    ilk__zk_name *next;

    if (now < store->due)
        return;
    store->due = ILK__FOREVER;
    for (ilk__zk_name *name = store->names; name; name = next) {
        name->refs++;
        fire_name(name, now);
        next = name->next;
        ilk__zk_name_unref(name);
    }
}
