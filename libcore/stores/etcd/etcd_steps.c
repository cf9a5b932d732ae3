/* SPDX-License-Identifier: MIT */
/* etcd_steps.c -- requests to the server, and what their answers are for. */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

const char ilk__etcd_no_memory[] = "ERR out of memory in the backend of etcd";

/* ---- references ---------------------------------------------------------- */

void ilk__etcd_lease_unref(ilk__etcd_lease *lease)
{
    ilk__etcd_lease **at;

    if (!lease || --lease->refs)
        return;
    for (at = &lease->store->leases; *at && *at != lease; at = &(*at)->next)
        ;
    if (*at)
        *at = lease->next;
    ilk__free(lease);
}

void ilk__etcd_name_unref(ilk__etcd_name *name)
{
    if (!name || --name->refs)
        return;
    *(name->previous ? &name->previous->next : &name->store->names) =
        name->next;
    if (name->next)
        name->next->previous = name->previous;
    ilk__free(name->before.data);
    ilk__free(name->watched.data);
    ilk__free(name->prefix);
    ilk__free(name->prefix_end);
    ilk__free(name->limit_key);
    ilk__free(name);
}

void ilk__etcd_entry_unref(ilk__etcd_entry *entry)
{
    if (!entry || --entry->refs)
        return;
    ilk__etcd_lease_part(entry);
    ilk__etcd_lease_unref(entry->moves_to);
    ilk__etcd_lease_unref(entry->perhaps_in);
    ilk__etcd_name_unref(entry->name);
    ilk__free(entry);
}

void ilk__etcd_timer(ilk__etcd_store *store, int64_t at)
{
    store->due = ilk__sooner(store->due, at);
}

/* ---- steps --------------------------------------------------------------- */

ilk__etcd_step *ilk__etcd_step_new(ilk__etcd_store *store, ilk__etcd_then *then,
                                   ilk__etcd_name *name, ilk__etcd_entry *entry,
                                   ilk__etcd_lease *lease)
{
    ilk__etcd_step *step = ilk__calloc(1, sizeof *step);

    if (!step)
        return NULL;
    step->store = store;
    step->then = then;
    step->name = name;
    step->entry = entry;
    step->lease = lease;
    if (name)
        name->refs++;
    if (entry)
        entry->refs++;
    if (lease)
        lease->refs++;
    return step;
}

void ilk__etcd_step_free(ilk__etcd_step *step)
{
    if (!step)
        return;
    ilk__etcd_entry_unref(step->before_of);
    ilk__etcd_entry_unref(step->entry);
    ilk__etcd_name_unref(step->name);
    ilk__etcd_lease_unref(step->lease);
    ilk__free(step);
}

static void end_step(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    step->then(step, answer);
    ilk__etcd_step_free(step);
}

static void answered(void *owner, const ilk__etcd_answer *answer)
{
    end_step(owner, answer);
}

/* A call that could not begin. */
static void note_begun(ilk__etcd_step *step, ilk_status status)
{
    const ilk__etcd_answer none = {.status = status,
                                   .error = ilk__etcd_no_memory};

    if (status)
        end_step(step, &none);
}

void ilk__etcd_step_commit(ilk__etcd_step *step, const ilk__etcd_txn *txn)
{
    note_begun(step,
               ilk__etcd_commit(step->store->client, txn, 0, answered, step));
}

void ilk__etcd_step_grant(ilk__etcd_step *step, int64_t lease, int64_t ttl_s)
{
    note_begun(step, ilk__etcd_grant(step->store->client, lease, ttl_s, 0,
                                     answered, step));
}

void ilk__etcd_step_revoke(ilk__etcd_step *step, int64_t lease)
{
    note_begun(step,
               ilk__etcd_revoke(step->store->client, lease, 0, answered, step));
}

void ilk__etcd_step_keep_alive(ilk__etcd_step *step, int64_t lease)
{
    note_begun(step, ilk__etcd_keep_alive(step->store->client, lease, 0,
                                          answered, step));
}

void ilk__etcd_step_time_to_live(ilk__etcd_step *step, int64_t lease)
{
    note_begun(step, ilk__etcd_time_to_live(step->store->client, lease, 0,
                                            answered, step));
}

void ilk__etcd_step_ask_status(ilk__etcd_step *step)
{
    note_begun(step,
               ilk__etcd_ask_status(step->store->client, 0, answered, step));
}

/* ---- parts of transactions ----------------------------------------------- */

ilk__etcd_op ilk__etcd_get(const void *key, size_t len)
{
    return (ilk__etcd_op){.kind = ILK__ETCD_RANGE, .key = {key, len}};
}

ilk__etcd_compare ilk__etcd_compare_number(ilk__etcd_target target,
                                           const void *key, size_t len,
                                           int64_t number)
{
    return (ilk__etcd_compare){.target = target,
                               .relation = ILK__ETCD_EQUAL,
                               .key = {key, len},
                               .number = number};
}

size_t ilk__etcd_list_ops(const ilk__etcd_step *step, ilk__etcd_op *ops)
{
    const ilk__etcd_name *name = step->name;
    ilk__etcd_op list = ilk__etcd_get(name->prefix, name->prefix_len);
    size_t count = 0;

    list.range_end = (ilk__span){name->prefix_end, name->prefix_len};
    list.keys_only = 1;
    list.order = ILK__ETCD_BY_CREATE_REVISION_DESCENDING;
    switch (step->mode) {
    case ILK__ETCD_READ_NONE: return 0;
    case ILK__ETCD_READ_LAST: list.limit = 2; break;
    case ILK__ETCD_READ_BEFORE:
        ops[count] =
            ilk__etcd_get(step->before_of->key.data, step->before_of->key.len);
        ops[count++].keys_only = 1;
        list.limit = 1;
        list.max_create_revision = step->before_of->create_revision - 1;
        break;
    case ILK__ETCD_READ_WHOLE:
        list.order = ILK__ETCD_BY_CREATE_REVISION;
        if (name->limit_key)
            ops[count++] = ilk__etcd_get(name->limit_key, name->limit_len);
        break;
    }
    ops[count++] = list;
    return count;
}
