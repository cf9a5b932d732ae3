/* SPDX-License-Identifier: MIT */
/*
 * etcd_join.c -- how an entry gets into the list of its name.
 *
 *     join    if neither the own key nor its void key exists: put it, and read
 *             the list that says who holds; else read the own key
 *     try     the same if no key begins with `N/`; else read the own key and the
 *             first one: if that is a contender's, the try is in vain
 *
 * Readers and permits join always, and so does a try whose first key was no
 * contender's. Each is one round trip. A join that is repeated finds its key.
 *
 * A semaphore's limit is the text `<limit> <base>` in `ilk:semaphore:{N}`. The first
 * join writes it, or one that finds no permits in use; a join compares the revision
 * that it has seen.
 */
#include "etcd_store.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPS = 6, COMPARES = 4, LIMIT_TEXT = 48, OWN = 0, LIMIT_FIRST = 1 };

void ilk__etcd_join_failed(ilk__etcd_entry *entry, const char *text)
{
    entry->joins = 0;
    if (entry->contender && entry->contender->state == ILK__CONTENDER_JOINS)
        ilk__contender_failed(entry->contender, text);
}

/* ---- the transaction ----------------------------------------------------- */

static int is_try(const ilk__etcd_entry *entry)
{
    const ilk__contender *contender = entry->contender;

    return !contender->waiter.len && !entry->has_listed
           && !entry->name->has_strangers
           && (contender->kind == ILK__CONTENDER_EXCLUSIVE
               || contender->kind == ILK__CONTENDER_CANDIDATE);
}

static void choose_list(ilk__etcd_step *step, const ilk__etcd_entry *entry)
{
    step->is_try = is_try(entry);
    if (step->is_try)
        step->mode = ILK__ETCD_READ_NONE;
    else if (entry->contender->kind == ILK__CONTENDER_READER
             || ilk__etcd_name_needs_whole(entry->name))
        step->mode = ILK__ETCD_READ_WHOLE;
    else
        step->mode = ILK__ETCD_READ_LAST;
}

/* The revision that a semaphore's limit must have; -1, which none has, to learn the
 * limit first. */
static int64_t limit_revision(const ilk__etcd_entry *entry)
{
    const ilk__etcd_name *name = entry->name;
    const ilk__contender *contender = entry->contender;
    const int fits = contender->limit == name->limit
                     || contender->limit == name->base || entry->sets_limit;

    if (!name->limit_revision
        || (fits && (entry->sets_limit || contender->permits <= name->limit)))
        return name->limit_revision;
    return -1;
}

static size_t add_compares(ilk__etcd_compare *compares,
                           const ilk__etcd_step *step, ilk__bytes void_key)
{
    const ilk__etcd_entry *entry = step->entry;
    const ilk__etcd_name *name = step->name;
    ilk__etcd_compare none = ilk__etcd_compare_number(
        ILK__ETCD_CREATE_REVISION, name->prefix, name->prefix_len, 0);
    size_t count = 0;

    none.range_end = (ilk__span){name->prefix_end, name->prefix_len};
    if (step->is_try || entry->sets_limit) /* among them its own */
        compares[count++] = none;
    else
        compares[count++] = ilk__etcd_compare_number(
            ILK__ETCD_CREATE_REVISION, entry->key.data, entry->key.len, 0);
    compares[count++] = ilk__etcd_compare_number(
        ILK__ETCD_CREATE_REVISION, void_key.data, void_key.len, 0);
    if (name->limit_key)
        compares[count++] =
            ilk__etcd_compare_number(ILK__ETCD_MOD_REVISION, name->limit_key,
                                     name->limit_len, limit_revision(entry));
    return count;
}

static ilk__etcd_op put(ilk__span key, ilk__span value, int64_t lease)
{
    return (ilk__etcd_op){
        .kind = ILK__ETCD_PUT, .key = key, .value = value, .lease = lease};
}

/* All that is written; the list follows. */
static size_t add_puts(ilk__etcd_op *ops, const ilk__etcd_entry *entry,
                       ilk__span value, char limit[LIMIT_TEXT],
                       char client[LIMIT_TEXT])
{
    const ilk__contender *contender = entry->contender;
    const ilk__etcd_name *name = entry->name;
    const int64_t lease = entry->lease->id;
    size_t count = 0;
    int len;

    ops[count++] =
        put((ilk__span){entry->key.data, entry->key.len}, value, lease);
    if (contender->kind == ILK__CONTENDER_CANDIDATE) {
        len = snprintf(client, LIMIT_TEXT, "ilk:client/%" PRIx64,
                       (uint64_t)lease);
        ops[count++] =
            put((ilk__span){client, (size_t)len},
                (ilk__span){contender->who.data, contender->who.len}, lease);
    }
    if (name->limit_key && (!name->limit_revision || entry->sets_limit)) {
        len = snprintf(limit, LIMIT_TEXT, "%" PRId64 " %" PRId64,
                       contender->limit, contender->limit);
        ops[count++] = put((ilk__span){name->limit_key, name->limit_len},
                           (ilk__span){limit, (size_t)len}, 0);
    }
    return count;
}

static void send(ilk__etcd_step *step, ilk__span value, ilk__bytes void_key)
{
    const ilk__etcd_entry *entry = step->entry;
    const ilk__etcd_name *name = step->name;
    char limit[LIMIT_TEXT], client[LIMIT_TEXT];
    ilk__etcd_compare compares[COMPARES];
    ilk__etcd_op then_ops[OPS], else_ops[OPS];
    ilk__etcd_txn txn = {.compares = compares,
                         .then_ops = then_ops,
                         .else_ops = else_ops,
                         .may_repeat = 1};
    ilk__etcd_op first = ilk__etcd_get(name->prefix, name->prefix_len);

    txn.compare_count = add_compares(compares, step, void_key);
    step->list_at[0] = txn.then_count =
        add_puts(then_ops, entry, value, limit, client);
    txn.then_count += ilk__etcd_list_ops(step, then_ops + txn.then_count);

    else_ops[OWN] = ilk__etcd_get(entry->key.data, entry->key.len);
    else_ops[OWN].keys_only = 1;
    txn.else_count = step->list_at[1] = 1;
    if (step->is_try) {
        first.range_end = (ilk__span){name->prefix_end, name->prefix_len};
        first.order = ILK__ETCD_BY_CREATE_REVISION;
        first.limit = 1;
        first.keys_only = 1;
        else_ops[txn.else_count++] = first;
    } else if (step->mode == ILK__ETCD_READ_WHOLE) {
        txn.else_count += ilk__etcd_list_ops(step, else_ops + txn.else_count);
    }
    ilk__etcd_step_commit(step, &txn);
}

/* ---- answers ------------------------------------------------------------- */

/* The own key exists, from now or from an earlier copy. */
static void has_key(ilk__etcd_step *step, const ilk__etcd_answer *answer,
                    int64_t create_revision, int64_t mod_revision)
{
    ilk__etcd_entry *entry = step->entry;

    entry->create_revision = create_revision;
    entry->mod_revision = mod_revision;
    if (answer->succeeded && step->is_try) {
        ilk__etcd_name_grant(entry, answer->sent_at);
        return;
    }
    if (answer->succeeded || step->mode == ILK__ETCD_READ_WHOLE)
        ilk__etcd_name_learn(step, answer);
    else
        ilk__etcd_name_read(step->name, ILK__ETCD_READ_BEFORE, entry);
}

static void try_again(ilk__etcd_entry *entry, const char *text)
{
    if (++entry->attempts > ILK__ETCD_ATTEMPTS)
        ilk__etcd_join_failed(entry, text);
    else
        ilk__etcd_join_send(entry);
}

/* The first key says that a try is in vain, or nothing. */
static void tried(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;
    ilk__etcd_shape shape;

    if (answer->op_count < 2 || !answer->ops[1].kv_count) {
        try_again(entry, "ERR etcd: the first key of this name changes all the "
                         "time; try again");
        return;
    }
    if (ilk__etcd_key_parse(&shape, step->name, answer->ops[1].kvs[0].key)) {
        ilk__contender_busy(entry->contender, -1, !shape.is_foreign);
        return;
    }
    entry->has_listed = 1;
    ilk__etcd_join_send(entry);
}

static int has_permits(const ilk__etcd_name *name,
                       const ilk__etcd_op_answer *list)
{
    ilk__etcd_shape shape;

    for (size_t i = 0; i < list->kv_count; i++)
        if (ilk__etcd_key_parse(&shape, name, list->kvs[i].key))
            return 1;
    return 0;
}

/* The limit is another one than was compared: whether this one may join under it.
 * ops[1] has the limit, ops[2] the list. */
static void met_limit(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;
    ilk__etcd_name *name = step->name;
    const ilk__contender *contender = entry->contender;
    int is_other;

    if (answer->op_count < 3
        || !ilk__etcd_limit_parse(name, &answer->ops[LIMIT_FIRST])) {
        ilk__etcd_join_failed(entry, "ERR etcd: the key of this semaphore does "
                                     "not contain its limit");
        return;
    }
    is_other = name->limit && contender->limit != name->limit
               && contender->limit != name->base;
    entry->sets_limit = is_other && !has_permits(name, &answer->ops[2]);
    if (name->limit
        && ((is_other && !entry->sets_limit)
            || contender->permits
                   > (is_other ? contender->limit : name->limit))) {
        const int64_t limit = name->limit, base = name->base;

        ilk__contender_differs(entry->contender, limit, base);
        return;
    }
    try_again(entry, "ERR etcd: the limit of this semaphore changes again and "
                     "again");
}

static void was_refused(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    const ilk__etcd_op_answer *own = answer->ops;

    if (!answer->op_count)
        ilk__etcd_join_failed(step->entry,
                              "ERR etcd: a transaction without answers");
    else if (own->kv_count)
        has_key(step, answer, own->kvs[0].create_revision,
                own->kvs[0].mod_revision);
    else if (step->name->limit_key)
        met_limit(step, answer);
    else if (step->is_try)
        tried(step, answer);
    else
        ilk__etcd_join_failed(step->entry,
                              "ERR etcd: this wait has ended before");
}

static void joined(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;
    ilk__etcd_name *name = step->name;

    entry->joins = 0;
    if (!entry->contender || step->store->is_closing)
        return;
    if (answer->was_repeated
        || (answer->status && answer->may_have_run && !answer->is_gone))
        entry->is_unknown = 1;
    if (entry->leaves) {
        ilk__etcd_leave_send(entry);
    } else if (step->lease != entry->lease) { /* it was lost meanwhile */
        try_again(entry, "ERR etcd: new leases end at once");
    } else if (answer->is_gone) {
        ilk__etcd_lease_lost(entry->lease); /* which joins again */
    } else if (answer->status) {
        ilk__etcd_join_failed(entry, answer->error);
    } else if (answer->succeeded) {
        entry->sets_limit = 0;
        has_key(step, answer, answer->revision, answer->revision);
    } else {
        was_refused(step, answer);
    }
    ilk__etcd_name_settle(name);
}

/* ---- beginning ----------------------------------------------------------- */

static ilk_status make_key(ilk__etcd_entry *entry)
{
    ilk_status st;

    if (entry->key.data)
        return ILK_OK;
    st = ilk__etcd_key_make(&entry->key, entry);
    if (st)
        return st;
    st = ilk__table_add(&entry->name->store->by_key, &entry->by_key,
                        entry->key.data, entry->key.len);
    if (st) {
        ilk__free(entry->key.data);
        entry->key = (ilk__bytes){NULL, 0};
    }
    return st;
}

static ilk_status send_in_memory(ilk__etcd_entry *entry)
{
    ilk__bytes value = {NULL, 0}, void_key = {NULL, 0};
    ilk__etcd_step *step = NULL;
    ilk_status st = make_key(entry);

    if (st == ILK_OK)
        st = ilk__etcd_value_make(&value, entry->contender);
    if (st == ILK_OK)
        st = ilk__etcd_void_key_make(&void_key, entry);
    if (st == ILK_OK) {
        step = ilk__etcd_step_new(entry->name->store, joined, entry->name,
                                  entry, entry->lease);
        st = step ? ILK_OK : ILK_ENOMEM;
    }
    if (st == ILK_OK) {
        choose_list(step, entry);
        if (!ilk__etcd_lease_is_fresh(entry->lease, entry->contender))
            ilk__etcd_lease_keep(entry->lease);
        entry->joins = 1;
        send(step, (ilk__span){value.data, value.len}, void_key);
    }
    ilk__free(value.data);
    ilk__free(void_key.data);
    return st;
}

void ilk__etcd_join_send(ilk__etcd_entry *entry)
{
    ilk_status st;

    if (entry->joins)
        return;
    st = ilk__etcd_lease_bind(entry, entry->contender->lease_ms);
    if (st == ILK_OK && entry->lease->state == ILK__ETCD_LEASE_BEGINS) {
        entry->awaits_lease = 1;
        return;
    }
    if (st == ILK_OK)
        st = send_in_memory(entry);
    if (st)
        ilk__etcd_join_failed(entry, ilk__etcd_no_memory);
}

static ilk__etcd_entry *new_entry(ilk__etcd_store *store,
                                  ilk__contender *contender)
{
    ilk__etcd_entry *entry = ilk__calloc(1, sizeof *entry);

    if (!entry)
        return NULL;
    if (ilk__etcd_name_find(&entry->name, store, contender->of)) {
        ilk__free(entry);
        return NULL;
    }
    entry->name->refs++;
    entry->name->readers += contender->kind == ILK__CONTENDER_READER;
    entry->refs = 1;
    entry->contender = contender;
    entry->leave_at = INT64_MAX;
    return entry;
}

void ilk__etcd_join(void *self, ilk__contender *contender)
{
    if (!contender->at_store)
        contender->at_store = new_entry(self, contender);
    if (!contender->at_store) {
        ilk__contender_failed(contender, ilk__etcd_no_memory);
        return;
    }
    ((ilk__etcd_entry *)contender->at_store)->attempts = 0;
    ilk__etcd_join_send(contender->at_store);
}
