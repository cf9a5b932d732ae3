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
    int64_t lease_ms, fence; /* when all were free */
    size_t busy;             /* which was not */
} taking;

static void ask_all(ilk__op *op)
{
    const taking *self = op->subject;
    const ilk_lock_many *many = self->many;

    ilk__script_begin(&op->command, op->type->script, many->hold.keys,
                      many->hold.key_count);
    ilk__command_add_str(&op->command, many->token);
    ilk__command_add_int(&op->command, many->hold.opts.ttl_ms);
    ilk__command_add_str(&op->command, many->hold.client->desk->label);
    ilk__command_add_int(&op->command, many->hold.lease.fence);
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
                        self->many->locks[self->busy]->hold.keys[0].data);
}

static const ilk__op_type many_acquire = {
    .name = "many_acquire",
    .script = ILK__SCRIPT_MANY_ACQUIRE,
    .ask = ask_all,
    .reply = took_all,
};

static void begin(ilk_lock_many *many, int64_t asked_at, int64_t lease_ms,
                  int64_t fence)
{
    ilk__lease *lease = &many->hold.lease;

    memcpy(lease->token, many->token, sizeof many->token);
    lease->token_len = ILK__TOKEN_LEN;
    ilk__lease_begin(lease, fence, ilk__lease_deadline(asked_at, lease_ms),
                     lease_ms);
}

/* ---- giving back -------------------------------------------------------- */

/* One question for all names; if it is lost, the keeper asks for each. */
static ilk__act tell_give_back(ilk__op *op)
{
    const ilk__giving *giving = op->subject;
    const ilk_lock_many *many = (const ilk_lock_many *)giving->hold;
    ilk__desk *desk = many->hold.client->desk;
    ilk__promise *promise = NULL;

    for (size_t i = 0; i < many->count; i++)
        promise = ilk__give_back_promise(desk, &many->locks[i]->hold.line, "",
                                         0, many->token, promise);
    return ilk__op_tell(op, promise);
}

/* With its source: nobody reads whether the server knew it. */
static void ask_give_back(ilk__op *op)
{
    ilk__hold_ask_release(op);
    ilk__script_use_source(&op->command, op->type->script);
}

static ilk__act gave_back(ilk__op *op, ilk_status status)
{
    return ilk__op_done(op, status);
}

static const ilk__op_type many_give_back = {
    .name = "many_give_back",
    .script = ILK__SCRIPT_MANY_RELEASE,
    .ask = ask_give_back,
    .start = tell_give_back,
    .told = gave_back,
};

/*
 * Told, not asked: the caller's time may be over, and what is not undone here
 * is not renewed any more.
 */
void ilk__lock_many_give_back(ilk__hold *hold)
{
    ilk_lock_many *many = (ilk_lock_many *)hold;
    ilk__giving giving = {.kind = hold->kind,
                          .hold = hold,
                          .line = &hold->line,
                          .token = many->token,
                          .token_len = ILK__TOKEN_LEN};

    for (size_t i = 0; i < many->count; i++) {
        ilk__waiter_cancel(&many->locks[i]->hold.waiter);
        ilk__lease_end(&many->locks[i]->hold.lease);
    }
    hold->parked = 0;
    (void)ilk__ask(hold->client, &many_give_back, &giving, 0, NULL);
}

/* ---- one after the other ------------------------------------------------ */

/* Renew what is taken while the rest is waited for, or until hold_end. */
static void keep_taken(ilk_lock_many *many, int64_t hold_end)
{
    for (size_t i = 0; i < many->taken; i++) {
        ilk__lease *lease = &many->locks[i]->hold.lease;

        if (lease->state == ILK__LEASE_HELD)
            ilk__lease_watch(lease, many->hold.opts.ttl_ms, 1, hold_end);
    }
}

static ilk_status take_next(ilk_lock_many *many, int64_t deadline,
                            ilk_error *err)
{
    ilk__hold *next = &many->locks[many->taken]->hold;
    int64_t ttl_ms = many->hold.opts.ttl_ms;
    ilk_status st;

    if (atomic_load(&many->cancelled))
        return ilk__fail(err, ILK_ECANCELLED, "the wait was cancelled");
    next->waiter.fixed_token = many->token;
    st = ilk__hold_take(next, deadline, 0, ttl_ms, err);
    if (st)
        return st;
    many->taken++;
    ilk__lease_watch(&next->lease, ttl_ms, 1, ILK__FOREVER);
    return ILK_OK;
}

/* All are held, under leases of their own: now under one. */
static ilk_status unite(ilk_lock_many *many, ilk_error *err)
{
    ilk__hold *hold = &many->hold;
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    memcpy(hold->lease.token, many->token, sizeof many->token);
    hold->lease.token_len = ILK__TOKEN_LEN;
    ilk__lease_extension(&hold->lease, &extension, hold->opts.ttl_ms);
    for (size_t i = 0; i < many->count; i++)
        if (many->locks[i]->hold.lease.fence > extension.fence)
            extension.fence = many->locks[i]->hold.lease.fence;
    st = ilk__ask(hold->client, hold->kind->lease.extend, &extension,
                  hold->client->opts.reply_timeout_ms, err);
    if (st)
        return st;
    for (size_t i = 0; i < many->count; i++)
        ilk__lease_end(&many->locks[i]->hold.lease);
    begin(many, asked_at, extension.ttl_ms, extension.fence);
    return ILK_OK;
}

/* Name by name. A signal leaves what is taken and the place for a while. */
static ilk_status take_each(ilk_lock_many *many, int64_t deadline,
                            ilk_error *err)
{
    ilk__hold *hold = &many->hold;
    ilk_status st = ilk__keeper_start(hold->client->keeper, err);

    if (hold->parked)
        keep_taken(many, ILK__FOREVER);
    hold->parked = 0;
    while (many->taken < many->count && st == ILK_OK)
        st = take_next(many, deadline, err);
    if (st == ILK_OK)
        st = unite(many, err);
    if (st == ILK_EINTR) {
        hold->parked = 1;
        keep_taken(many, ilk__deadline(ILK__LIVENESS_MS));
    } else if (st) {
        ilk__lock_many_give_back(hold);
    }
    return st;
}

/* ---- all at once, when nobody holds or awaits any ----------------------- */

static ilk_status take_all(ilk_lock_many *many, int64_t patience,
                           ilk_error *err)
{
    ilk__hold *hold = &many->hold;
    int64_t asked_at = ilk__now_ms();
    taking all = {.many = many};
    ilk_status st;

    for (size_t i = 0; i < many->count; i++)
        ilk__waiter_forget(&many->locks[i]->hold.waiter);
    st = ilk__token(many->token, ILK__TOKEN_LEN, err);
    if (st)
        return st;
    many->taken = 0;
    st = ilk__ask(hold->client, &many_acquire, &all, patience, err);
    if (st == ILK_OK) {
        begin(many, asked_at, all.lease_ms, all.fence);
        if (ilk__hold_held(hold))
            return ILK_OK;
        st = ilk__fail(err, ILK_ETIMEOUT, "the reply came after the lease");
    }
    if (st != ILK_EBUSY)
        ilk__lock_many_give_back(hold);
    return st == ILK_EUNKNOWN ? ILK_ECONN : st;
}

/* How long the first answer may take. */
static int64_t patience_until(const ilk__hold *hold, int64_t deadline, int once)
{
    int64_t most = hold->client->opts.reply_timeout_ms;
    int64_t left = deadline - ilk__now_ms();

    if (once)
        return most;
    return left > 1 ? ilk__sooner(most, left) : 1;
}

ilk_status ilk__lock_many_take(ilk__hold *hold, int64_t deadline, int once,
                               int64_t ttl_ms, ilk_error *err)
{
    ilk_lock_many *many = (ilk_lock_many *)hold;
    ilk_status st = ILK_EBUSY;

    (void)ttl_ms; /* always that of the options */
    atomic_store(&many->cancelled, 0);
    if (!hold->parked)
        st = take_all(many, patience_until(hold, deadline, once), err);
    if (st == ILK_EBUSY && !once) {
        st = take_each(many, deadline, err);
    } else if (hold->parked) { /* taken up to look once */
        ilk__lock_many_give_back(hold);
        ilk__fail(err, st, "%s", ilk_strerror(st));
    }
    return st;
}
