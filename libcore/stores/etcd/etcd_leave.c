/* SPDX-License-Identifier: MIT */
/*
 * etcd_leave.c -- how an entry is removed.
 *
 * One transaction deletes the key, which nobody else ever has, and reads what the
 * next entry of this client needs: a hand-over within a client is one round trip.
 * A leave waits for the answer to a join that is under way; when a join had none, the
 * leave also writes the void key. It is repeated until it has an answer.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

enum { OPS = 6 };

/* A copy of the leave without an answer may have deleted it. */
static ilk__left how_it_left(const ilk__etcd_entry *entry, int is_deleted)
{
    if (!entry->holds)
        return ILK__LEFT_NO_HOLD;
    if (is_deleted)
        return ILK__LEFT_ITS_HOLD;
    return entry->is_left ? ILK__LEFT_EITHER_WAY : ILK__LEFT_NO_HOLD;
}

/* Its key is not there any more; is_deleted: by this client just now. */
void ilk__etcd_leave_done(ilk__etcd_entry *entry, int is_deleted)
{
    entry->leave_at = ILK__FOREVER;
    ilk__etcd_lease_part(entry);
    if (entry->leaves)
        ilk__contender_left(entry->contender, how_it_left(entry, is_deleted));
    else if (entry->is_lost)
        ilk__contender_lost(entry->contender);
}

static void failed(ilk__etcd_entry *entry, const char *text)
{
    entry->leave_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
    ilk__etcd_timer(entry->name->store, entry->leave_at);
    if (entry->leaves)
        ilk__contender_failed(entry->contender, text);
    else if (entry->renews)
        ilk__etcd_renew_failed(entry, text);
}

static int has_deleted(const ilk__etcd_answer *answer)
{
    for (size_t i = 0; i < answer->op_count; i++)
        if (answer->ops[i].kind == ILK__ETCD_DELETE)
            return answer->ops[i].count > 0;
    return 0;
}

static void left(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_entry *entry = step->entry;
    ilk__etcd_name *name = step->name;
    const int is_deleted = !answer->status && has_deleted(answer);

    entry->is_leaving = 0;
    entry->is_left |= answer->was_repeated;
    if (!entry->contender || step->store->is_closing)
        return;
    if (answer->is_gone) {
        if (step->lease == entry->lease)
            ilk__etcd_lease_lost(entry->lease); /* which ends this one, too */
        else
            ilk__etcd_leave_send(entry);
        return;
    }
    if (answer->status) {
        entry->is_left |= answer->may_have_run;
        if (entry->lease)
            failed(entry, answer->error);
        else /* the key has ended with it */
            ilk__etcd_leave_done(entry, 0);
        return;
    }
    entry->has_left = 1;
    ilk__etcd_name_learn(step, answer);
    if (entry->contender)
        ilk__etcd_leave_done(entry, is_deleted);
    ilk__etcd_name_settle(name);
}

static void send(ilk__etcd_step *step, ilk__bytes void_key)
{
    const ilk__etcd_entry *entry = step->entry;
    const ilk__etcd_op delete = {.kind = ILK__ETCD_DELETE,
                                 .key = {entry->key.data, entry->key.len}};
    ilk__etcd_op ops[OPS];
    ilk__etcd_txn txn = {.then_ops = ops, .may_repeat = 1};

    ops[txn.then_count++] = delete;
    if (void_key.data)
        ops[txn.then_count++] =
            (ilk__etcd_op){.kind = ILK__ETCD_PUT,
                           .key = {void_key.data, void_key.len},
                           .lease = entry->lease->id};
    step->list_at[0] = txn.then_count;
    txn.then_count += ilk__etcd_list_ops(step, ops + txn.then_count);
    ilk__etcd_step_commit(step, &txn);
}

void ilk__etcd_leave_send(ilk__etcd_entry *entry)
{
    ilk__bytes void_key = {NULL, 0};
    ilk__etcd_step *step;

    entry->leave_at = ILK__FOREVER;
    if (entry->joins || entry->is_leaving)
        return;
    if (!entry->key.data || !entry->lease) { /* nothing was ever sent */
        ilk__etcd_leave_done(entry, 0);
        return;
    }
    step = ilk__etcd_step_new(entry->name->store, left, entry->name, entry,
                              entry->lease);
    if (!step
        || (entry->is_unknown && ilk__etcd_void_key_make(&void_key, entry))) {
        failed(entry, ilk__etcd_no_memory);
        ilk__etcd_step_free(step);
        return;
    }
    entry->is_leaving = 1;
    ilk__etcd_name_choose_list(step);
    send(step, void_key);
    ilk__free(void_key.data);
}

void ilk__etcd_leave(void *self, ilk__contender *contender)
{
    ilk__etcd_entry *entry = contender->at_store;

    (void)self;
    if (!entry) {
        ilk__contender_left(contender, ILK__LEFT_NO_HOLD);
        return;
    }
    entry->leaves = 1;
    entry->renews = entry->awaits_lease = entry->awaits_fresh = 0;
    ilk__etcd_leave_send(entry);
}
