/* SPDX-License-Identifier: MIT */
/*
 * etcd_renew.c -- how a hold gets a later end, and a leader another value.
 *
 * A renewal is a keep-alive of the lease, which its entries share, and a read of the
 * own key; both are sent at once. Where the hold needs a longer ttl than the lease has,
 * the key is put again under another lease; its create_revision, and so the hold,
 * stays. All puts compare the key's mod_revision, so a late copy is void.
 */
#include "etcd_store.h"

#include "base/clock.h"

#include <string.h>

static void finish(ilk__etcd_entry *entry)
{
    ilk__contender *contender = entry->contender;
    int64_t ends = entry->renew_sent_at + contender->lease_ms;

    entry->renews = 0;
    if (contender->renews && contender->ends > ends)
        ends = contender->ends;
    ends = ilk__sooner(ends, ilk__etcd_lease_end(entry->lease));
    ilk__contender_granted(contender, entry->create_revision, ends);
}

void ilk__etcd_renew_failed(ilk__etcd_entry *entry, const char *text)
{
    entry->renews = entry->awaits_lease = 0;
    ilk__etcd_lease_unref(entry->moves_to);
    entry->moves_to = NULL;
    if (entry->contender)
        ilk__contender_failed(entry->contender, text);
}

/* A lease that was kept alive just now needs no further keep-alive. */
static int is_kept(const ilk__etcd_entry *entry)
{
    const int64_t lease_ms = entry->contender->lease_ms;

    return ilk__etcd_lease_end(entry->lease) - ilk__now_ms()
           >= lease_ms - lease_ms / 10;
}

void ilk__etcd_renew_follow(ilk__etcd_entry *entry, ilk__etcd_lease *to)
{
    const int64_t create_revision = entry->create_revision;
    const int64_t mod_revision = entry->mod_revision;
    const ilk__bytes key = entry->key;

    if (entry->lease == to)
        return;
    entry->key.data = NULL; /* it stays, and stays in the table */
    ilk__etcd_lease_part(entry);
    ilk__etcd_lease_join(to, entry);
    entry->key = key;
    entry->create_revision = create_revision;
    entry->mod_revision = mod_revision;
    entry->renew_is_kept = entry->contender && is_kept(entry);
}

/* Puts that compare another revision are void from now on. */
static void note_revision(ilk__etcd_entry *entry, int64_t mod_revision)
{
    if (entry->mod_revision == mod_revision)
        return;
    entry->mod_revision = mod_revision;
    ilk__etcd_lease_unref(entry->perhaps_in);
    entry->perhaps_in = NULL;
}

/* A move whose answer was lost may have changed the lease. A key in a lease that is
 * not known must be put again. */
static void note_lease(ilk__etcd_entry *entry, int64_t id)
{
    ilk__etcd_lease *to = entry->name->store->leases;

    entry->is_astray = 0;
    if (entry->lease->id == id)
        return;
    while (to && (to->id != id || to->state != ILK__ETCD_LEASE_READY))
        to = to->next;
    if (to)
        ilk__etcd_renew_follow(entry, to);
    else
        entry->is_astray = 1;
}

/* An answer that shows the own key, or that it is gone: then 0. */
static int note_own(ilk__etcd_entry *entry, const ilk__etcd_op_answer *op)
{
    if (op->kind != ILK__ETCD_RANGE || !op->kv_count
        || op->kvs[0].create_revision != entry->create_revision)
        return 0;
    note_revision(entry, op->kvs[0].mod_revision);
    note_lease(entry, op->kvs[0].lease);
    return 1;
}

/* ---- extending ----------------------------------------------------------- */

static void was_read(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;

    if (!entry->contender || !entry->renews || step->store->is_closing
        || step->number != entry->renew_sent_at)
        return;
    if (!entry->lease) {
        ilk__etcd_entry_gone(entry);
    } else if (answer->status) {
        ilk__etcd_renew_failed(entry, answer->error);
    } else if (!answer->op_count || !note_own(entry, &answer->ops[0])) {
        ilk__etcd_entry_gone(entry);
    } else {
        entry->renew_is_read = 1;
        ilk__etcd_renew_continue(entry);
    }
}

static void read_own(ilk__etcd_entry *entry)
{
    ilk__etcd_op op = ilk__etcd_get(entry->key.data, entry->key.len);
    ilk__etcd_step *step = ilk__etcd_step_new(entry->name->store, was_read,
                                              entry->name, entry, entry->lease);

    if (!step) {
        ilk__etcd_renew_failed(entry, ilk__etcd_no_memory);
        return;
    }
    op.keys_only = 1;
    step->number = entry->renew_sent_at;
    ilk__etcd_step_commit(step,
                          &(ilk__etcd_txn){.then_ops = &op, .then_count = 1});
}

/* Note an answer of the server; 0: the key is gone. */
static int note_move(ilk__etcd_entry *entry, const ilk__etcd_step *step,
                     const ilk__etcd_answer *answer)
{
    if (!answer->succeeded)
        return answer->op_count && note_own(entry, &answer->ops[0]);
    note_revision(entry, answer->revision);
    note_lease(entry, step->lease->id);
    return 1;
}

static void was_moved(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;

    entry->is_moving = 0;
    if (!entry->contender || entry->leaves || step->store->is_closing)
        return;
    ilk__etcd_lease_unref(entry->moves_to);
    entry->moves_to = NULL;
    if (answer->is_gone) {
        ilk__etcd_lease_lost(step->lease);
        ilk__etcd_renew_failed(entry, "ILKDOWN etcd: a new lease has ended");
    } else if (answer->status) {
        ilk__etcd_renew_failed(entry, answer->error);
    } else if (!entry->lease || !note_move(entry, step, answer)) {
        ilk__etcd_entry_gone(entry);
    } else if (entry->renews && ++entry->attempts > ILK__ETCD_ATTEMPTS) {
        ilk__etcd_renew_failed(entry, "ERR etcd: a key changes all the time");
    } else {
        ilk__etcd_renew_continue(entry);
    }
}

static void move(ilk__etcd_entry *entry)
{
    const ilk__etcd_compare same =
        ilk__etcd_compare_number(ILK__ETCD_MOD_REVISION, entry->key.data,
                                 entry->key.len, entry->mod_revision);
    const ilk__etcd_op put = {.kind = ILK__ETCD_PUT,
                              .key = {entry->key.data, entry->key.len},
                              .keeps_value = 1,
                              .lease = entry->moves_to->id};
    ilk__etcd_op own = ilk__etcd_get(entry->key.data, entry->key.len);
    ilk__etcd_step *step = ilk__etcd_step_new(
        entry->name->store, was_moved, entry->name, entry, entry->moves_to);

    if (!step) {
        ilk__etcd_renew_failed(entry, ilk__etcd_no_memory);
        return;
    }
    own.keys_only = 1;
    entry->is_moving = 1;
    entry->moves_to->refs++;
    ilk__etcd_lease_unref(entry->perhaps_in);
    entry->perhaps_in = entry->moves_to;
    ilk__etcd_step_commit(step, &(ilk__etcd_txn){.compares = &same,
                                                 .compare_count = 1,
                                                 .then_ops = &put,
                                                 .then_count = 1,
                                                 .else_ops = &own,
                                                 .else_count = 1,
                                                 .may_repeat = 1});
}

/* After a move without an answer the key is put again before anything is reported:
 * a late copy could take it to a lease that nobody keeps alive. */
static int is_to_move(const ilk__etcd_entry *entry)
{
    return entry->contender->lease_ms > entry->lease->ttl_ms
           || entry->perhaps_in || entry->is_astray;
}

/* A lease that lasts until the present end of the hold, however late the move is
 * executed. NULL: no memory. */
static ilk__etcd_lease *choose_target(const ilk__etcd_entry *entry)
{
    const ilk__contender *contender = entry->contender;
    ilk__etcd_lease *lease =
        contender->lease_ms > entry->lease->ttl_ms ? ilk__etcd_lease_find(
            entry->name->store, contender->lease_ms, contender->ends)
                                                   : entry->lease;

    return lease && lease->state != ILK__ETCD_LEASE_LOST ? lease : NULL;
}

/* Whether the lease is there already. */
static int has_target(ilk__etcd_entry *entry)
{
    ilk__etcd_lease *lease = entry->moves_to;

    if (!lease
        || (lease->state == ILK__ETCD_LEASE_READY
            && ilk__etcd_lease_end(lease) < entry->contender->ends)) {
        ilk__etcd_lease_unref(lease);
        entry->moves_to = lease = choose_target(entry);
        if (!lease) {
            ilk__etcd_renew_failed(entry, ilk__etcd_no_memory);
            return 0;
        }
        lease->refs++;
    }
    entry->awaits_lease = lease->state == ILK__ETCD_LEASE_BEGINS;
    return !entry->awaits_lease;
}

void ilk__etcd_renew_continue(ilk__etcd_entry *entry)
{
    if (!entry->contender || !entry->renews || !entry->lease
        || entry->awaits_lease || entry->is_moving)
        return;
    if (is_to_move(entry)) {
        if (entry->renew_is_read && has_target(entry))
            move(entry);
    } else if (!entry->renew_is_kept) {
        ilk__etcd_lease_keep(entry->lease);
    } else if (entry->renew_is_read) {
        finish(entry);
    }
}

void ilk__etcd_renew(void *self, ilk__contender *contender)
{
    ilk__etcd_entry *entry = contender->at_store;

    (void)self;
    if (!entry || !entry->lease || !entry->key.data) {
        ilk__contender_lost(contender);
        return;
    }
    entry->renews = 1;
    entry->attempts = 0;
    entry->renew_sent_at = ilk__now_ms();
    entry->renew_is_read = 0;
    entry->renew_is_kept = is_kept(entry);
    entry->refs++;
    read_own(entry);
    if (entry->renews && entry->contender)
        ilk__etcd_renew_continue(entry);
    ilk__etcd_entry_unref(entry);
}

/* ---- a leader's value ---------------------------------------------------- */

static void proclaim(ilk__etcd_entry *entry, int attempts);

static int has_value(const ilk__etcd_op_answer *op,
                     const ilk__contender *contender)
{
    const ilk__span value = op->kvs[0].value;

    return value.len == contender->value.len
           && (!value.len
               || memcmp(value.at, contender->value.data, value.len) == 0);
}

static void was_proclaimed(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;
    ilk__contender *contender = entry->contender;

    if (!contender || step->store->is_closing || entry->leaves)
        return;
    if (answer->status) {
        ilk__contender_failed(contender, answer->error);
    } else if (!entry->lease) {
        ilk__etcd_entry_gone(entry);
    } else if (answer->succeeded) {
        note_revision(entry, answer->revision);
        ilk__contender_granted(contender, entry->create_revision,
                               contender->ends);
    } else if (!answer->op_count || !note_own(entry, &answer->ops[0])) {
        ilk__etcd_entry_gone(entry);
    } else if (has_value(&answer->ops[0], contender)) {
        ilk__contender_granted(contender, entry->create_revision,
                               contender->ends);
    } else if (step->attempts < ILK__ETCD_ATTEMPTS) {
        proclaim(entry, step->attempts + 1);
    } else {
        ilk__contender_failed(contender,
                              "ERR etcd: a key changes all the time");
    }
}

static void proclaim(ilk__etcd_entry *entry, int attempts)
{
    const ilk__etcd_compare same =
        ilk__etcd_compare_number(ILK__ETCD_MOD_REVISION, entry->key.data,
                                 entry->key.len, entry->mod_revision);
    const ilk__bytes value = entry->contender->value;
    const ilk__etcd_op put = {.kind = ILK__ETCD_PUT,
                              .key = {entry->key.data, entry->key.len},
                              .value = {value.data, value.len},
                              .lease = entry->lease->id};
    const ilk__etcd_op own = ilk__etcd_get(entry->key.data, entry->key.len);
    ilk__etcd_step *step = ilk__etcd_step_new(
        entry->name->store, was_proclaimed, entry->name, entry, entry->lease);

    if (!step) {
        ilk__contender_failed(entry->contender, ilk__etcd_no_memory);
        return;
    }
    step->attempts = attempts;
    ilk__etcd_step_commit(step, &(ilk__etcd_txn){.compares = &same,
                                                 .compare_count = 1,
                                                 .then_ops = &put,
                                                 .then_count = 1,
                                                 .else_ops = &own,
                                                 .else_count = 1,
                                                 .may_repeat = 1});
}

void ilk__etcd_proclaim(void *self, ilk__contender *contender)
{
    ilk__etcd_entry *entry = contender->at_store;

    (void)self;
    if (!entry || !entry->lease || !entry->key.data)
        ilk__contender_lost(contender);
    else
        proclaim(entry, 0);
}
