/* SPDX-License-Identifier: MIT */
/*
 * lock_many_take.c -- taking many names, all or none.
 *
 * When all are free and unawaited one script takes them. Otherwise they are
 * taken one by one in byte order, each through its own line and all under
 * one token; then one script sets the common lease and raises every record
 * to the greatest of the fences.
 */
#include "clock.h"
#include "lock_many.h"
#include "run.h"

#include <stdio.h>
#include <string.h>

typedef struct taking {
    ilk_lock_many *many;
    int64_t ttl_ms;
    int64_t lease_ms, fence; /* when all were free */
    size_t busy;             /* which was not */
} taking;

static void ask_all(ilk__op *op)
{
    const taking *self = op->subject;
    const ilk_lock_many *many = self->many;

    ilk__script_begin(&op->command, op->type->script, many->keys,
                      many->line.key_count);
    ilk__command_add_str(&op->command, many->token);
    ilk__command_add_int(&op->command, self->ttl_ms);
    ilk__command_add_str(&op->command, many->client->desk->label);
    ilk__command_add_int(&op->command, many->lease.fence);
}

static ilk__act took_all(ilk__op *op, const ilk__reply *reply)
{
    taking *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_HELD) {
        self->lease_ms = ilk__script_int(reply, 0);
        self->fence = ilk__script_int(reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
    self->busy = (size_t)ilk__script_int(reply, 0);
    if (self->busy >= self->many->count)
        return ilk__op_fail(op, ILK_EREPLY, "many_acquire: no such name");
    return ilk__op_fail(op, ILK_EBUSY, "held elsewhere: \"%.*s\"", 64,
                        self->many->locks[self->busy]->keys[0].data);
}

static const ilk__op_type many_acquire = {
    .name = "many_acquire",
    .script = ILK__SCRIPT_MANY_ACQUIRE,
    .ask = ask_all,
    .reply = took_all,
};

static void hold(ilk_lock_many *many, int64_t asked_at, int64_t lease_ms,
                 int64_t fence)
{
    snprintf(many->lease.token, sizeof many->lease.token, "%s", many->token);
    many->lease.token_len = ILK__TOKEN_LEN;
    ilk__lease_begin(&many->lease, fence,
                     ilk__lease_deadline(asked_at, lease_ms), lease_ms);
}

/* The lane is down: the keeper sees to each. */
static void give_back_later(ilk_lock_many *many)
{
    ilk__desk *desk = many->client->desk;

    ilk__desk_lock(desk);
    for (size_t i = 0; i < many->count; i++)
        ilk__give_back_orphan(desk, &many->locks[i]->line, "", 0, many->token);
    ilk__desk_unlock(desk);
}

/*
 * Told, not asked: the caller's time may be over, and what is not undone here
 * is not renewed any more.
 */
void ilk__lock_many_give_back(ilk_lock_many *many)
{
    ilk__giving giving = {
        .line = &many->line, .token = many->token, .token_len = ILK__TOKEN_LEN};

    for (size_t i = 0; i < many->count; i++) {
        ilk__waiter_cancel(&many->locks[i]->waiter);
        ilk__lease_end(&many->locks[i]->lease);
    }
    many->parked = 0;
    if (ilk__ask(many->client, &ilk__many_give_back_op, &giving, 0, NULL))
        give_back_later(many);
}

/* Renew what is taken while the rest is waited for, or until hold_end. */
static void keep_taken(ilk_lock_many *many, int64_t hold_end)
{
    for (size_t i = 0; i < many->taken; i++)
        if (many->locks[i]->lease.state == ILK__LEASE_HELD)
            ilk__lease_watch(&many->locks[i]->lease, many->opts.ttl_ms, 1,
                             hold_end);
}

static ilk_status take_next(ilk_lock_many *many, int64_t deadline,
                            ilk_error *err)
{
    ilk_lock *lock = many->locks[many->taken];
    ilk_status st;

    if (atomic_load(&many->cancelled))
        return ilk__fail(err, ILK_ECANCELLED, "the wait was cancelled");
    lock->waiter.fixed_token = many->token;
    st = ilk__lock_take(lock, deadline, 0, many->opts.ttl_ms, err);
    if (st)
        return st;
    many->taken++;
    ilk__lease_watch(&lock->lease, many->opts.ttl_ms, 1, ILK__FOREVER);
    return ILK_OK;
}

/* All are held, under leases of their own: now under one. */
static ilk_status unite(ilk_lock_many *many, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    memcpy(many->lease.token, many->token, sizeof many->token);
    many->lease.token_len = ILK__TOKEN_LEN;
    ilk__lease_extension(&many->lease, &extension, many->opts.ttl_ms);
    for (size_t i = 0; i < many->count; i++)
        if (many->locks[i]->lease.fence > extension.fence)
            extension.fence = many->locks[i]->lease.fence;
    st = ilk__ask(many->client, &ilk__many_extend_op, &extension,
                  many->client->opts.reply_timeout_ms, err);
    if (st)
        return st;
    for (size_t i = 0; i < many->count; i++)
        ilk__lease_end(&many->locks[i]->lease);
    hold(many, asked_at, extension.ttl_ms, extension.fence);
    return ILK_OK;
}

/* Name by name. A signal leaves what is taken and the place for a while. */
static ilk_status take_each(ilk_lock_many *many, int64_t deadline,
                            ilk_error *err)
{
    ilk_status st = ilk__keeper_start(many->client->keeper, err);

    if (many->parked)
        keep_taken(many, ILK__FOREVER);
    many->parked = 0;
    while (many->taken < many->count && st == ILK_OK)
        st = take_next(many, deadline, err);
    if (st == ILK_OK)
        st = unite(many, err);
    if (st == ILK_EINTR) {
        many->parked = 1;
        keep_taken(many, ilk__deadline(ILK__LIVENESS_MS));
    } else if (st) {
        ilk__lock_many_give_back(many);
    }
    return st;
}

/* All at once, when nobody holds or awaits any. */
static ilk_status take_all(ilk_lock_many *many, int64_t timeout_ms,
                           ilk_error *err)
{
    int64_t patience = many->client->opts.reply_timeout_ms;
    int64_t asked_at = ilk__now_ms();
    taking all = {.many = many, .ttl_ms = many->opts.ttl_ms};
    ilk_status st;

    for (size_t i = 0; i < many->count; i++)
        ilk__waiter_forget(&many->locks[i]->waiter);
    st = ilk__token(many->token, ILK__TOKEN_LEN, err);
    if (st)
        return st;
    many->taken = 0;
    if (timeout_ms > 0)
        patience = ilk__sooner(patience, timeout_ms);
    st = ilk__ask(many->client, &many_acquire, &all, patience, err);
    if (st == ILK_OK) {
        hold(many, asked_at, all.lease_ms, all.fence);
        if (ilk_lock_many_held(many))
            return ILK_OK;
        st = ilk__fail(err, ILK_ETIMEOUT, "the reply came after the lease");
    }
    if (st != ILK_EBUSY)
        ilk__lock_many_give_back(many);
    return st == ILK_EUNKNOWN ? ILK_ECONN : st;
}

static void keep(ilk_lock_many *many)
{
    int renews = !(many->opts.flags & ILK_LOCK_NO_RENEW);

    many->depth = 1;
    if (renews || many->client->desk->events_wanted)
        ilk__lease_watch(&many->lease, many->opts.ttl_ms, renews,
                         many->opts.max_hold_ms
                             ? ilk__deadline(many->opts.max_hold_ms)
                             : ILK__FOREVER);
}

ilk_status ilk__lock_many_take(ilk_lock_many *many, int64_t timeout_ms,
                               ilk_error *err)
{
    int64_t deadline = ilk__deadline(timeout_ms);
    ilk_status st = ILK_EBUSY;

    atomic_store(&many->cancelled, 0);
    if (!(many->opts.flags & ILK_LOCK_NO_RENEW)
        && ilk__keeper_start(many->client->keeper, err))
        return ILK_ESYSTEM;
    if (!many->parked)
        st = take_all(many, timeout_ms, err);
    if (st == ILK_EBUSY && timeout_ms != 0) {
        st = take_each(many, deadline, err);
    } else if (many->parked) { /* taken up to look once */
        ilk__lock_many_give_back(many);
        ilk__fail(err, st, "%s", ilk_strerror(st));
    }
    if (st == ILK_OK)
        keep(many);
    return st;
}
