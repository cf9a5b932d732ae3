/* SPDX-License-Identifier: MIT */
/*
 * lock_many_acquire.c -- acquiring many names, all or none.
 *
 *     acquire_at_once ---- all are free, nobody waits ----------> held
 *          | BUSY; after a repeat give everything back first
 *     acquire_each -> acquire_next -> ... -> acquire_next -> unite -> held
 *          |                                                   | ILK_ELOST
 *          +- failure: end_without gives everything back <-----+
 *                                                 too few replicas: the same
 *
 * One script acquires all names if they are free and nobody waits for them.
 * Otherwise they are acquired one by one in byte order, so that two callers
 * cannot wait for each other. Each name has its own wait queue and, for the
 * time being, its own lease; all are held under one token. many_extend then
 * sets one common lease and raises every record to the greatest fence.
 */
#include "base/clock.h"
#include "client/run.h"
#include "lock_many.h"

#include <stdio.h>
#include <string.h>

static void ask_all(ilk__op *op)
{
    const ilk_lock_many *many = op->subject;

    ilk__script_begin(&op->command, op->type->script, many->hold.keys,
                      many->hold.key_count);
    ilk__command_add_str(&op->command, many->token);
    ilk__command_add_int(&op->command, many->hold.opts.ttl_ms);
    ilk__command_add_str(&op->command, many->hold.handle.client->shared->who);
    ilk__command_add_int(&op->command, many->hold.lease.fence);
}

static ilk__act all_acquired(ilk__op *op, const ilk__reply *reply)
{
    ilk_lock_many *many = op->subject;
    size_t busy;

    many->was_repeated = op->retried;
    if (ilk__script_code(reply) == ILK__CODE_HELD) {
        /* Of this copy: its reply says how much of the lease is left. */
        many->began = op->sent_at;
        many->lease_ms = ilk__script_int(reply, 0);
        many->fence = ilk__script_int(reply, 1);
        if (!ilk__fence_is_valid(many->fence)
            || many->fence <= many->hold.lease.fence)
            return ilk__op_fail(op, ILK_EREPLY, "many_acquire: fence %lld",
                                (long long)many->fence);
        return ilk__op_done(op, ILK_OK);
    }
    busy = (size_t)ilk__script_int(reply, 0);
    if (busy >= many->count)
        return ilk__op_fail(op, ILK_EREPLY, "many_acquire: no such name");
    return ilk__op_fail(op, ILK_EBUSY, "held elsewhere: \"%.*s\"", 64,
                        many->locks[busy]->hold.keys[0].data);
}

/* A possible grant is given back, so the outcome is never unknown. */
static ilk__act not_acquired(ilk__op *op, ilk_status status)
{
    return ilk__op_end(op, status == ILK_EUNKNOWN ? ILK_ECONN : status);
}

/* Between two copies, while the server is away. */
static ilk__act woken(ilk__op *op, ilk__cause cause)
{
    return ilk__op_end(op, cause == ILK__CAUSE_INTERRUPT ? ILK_EINTR
                                                         : ILK_ECANCELLED);
}

static int is_cancelled(const ilk__op *op)
{
    const ilk_lock_many *many = op->subject;

    return atomic_load(&many->cancelled);
}

static const ilk__op_type many_acquire = {
    .name = "many_acquire",
    .script = ILK__SCRIPT_MANY_ACQUIRE,
    .ask = ask_all,
    .reply = all_acquired,
    .wake = woken,
    .failed = not_acquired,
    .cancelled = is_cancelled,
};

static void begin(ilk_lock_many *many, int64_t sent_at, int64_t lease_ms,
                  int64_t fence)
{
    ilk__lease *lease = &many->hold.lease;

    memcpy(lease->token, many->token, sizeof many->token);
    lease->token_len = ILK__TOKEN_LEN;
    ilk__lease_begin(lease, fence, ilk__lease_deadline(sent_at, lease_ms),
                     lease_ms);
}

/* ---- giving back -------------------------------------------------------- */

/* One command for all names. If it gets lost, or may be refused because of an outage, the
 * keeper sends one for each. */
static ilk__act send_give_back(ilk__op *op)
{
    const ilk__release *release = op->subject;
    const ilk_lock_many *many = (const ilk_lock_many *)release->hold;
    ilk__shared *shared = many->hold.handle.client->shared;
    ilk__ensured *ensured = NULL;

    for (size_t i = 0; i < many->count; i++)
        ensured = ilk__give_back_after(
            &(ilk__withdrawal){.shared = shared,
                               .wait_queue = &many->locks[i]->hold.wait_queue,
                               .entry = "",
                               .token = many->token,
                               .lease_ms = many->hold.opts.ttl_ms},
            many->end_status, ensured);
    return ilk__op_send_only(op, ensured);
}

/* Sent with the script's source: the reply is not read, so a NOSCRIPT would go
   unnoticed. */
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
    .start = send_give_back,
    .sent = gave_back,
};

/*
 * Nobody waits for the reply, because the caller's timeout may be over. If the
 * keeper cannot repeat a lost command either, the leases end by themselves:
 * they are not renewed any more.
 */
static ilk__release prepare_give_back(ilk_lock_many *many)
{
    for (size_t i = 0; i < many->count; i++) {
        ilk__waiter_end_suspended(&many->locks[i]->hold.waiter);
        ilk__lease_end(&many->locks[i]->hold.lease);
    }
    many->hold.suspended = 0;
    return (ilk__release){.at = {.wait_queue = &many->hold.wait_queue},
                          .kind = many->hold.kind,
                          .hold = &many->hold,
                          .token = many->token,
                          .token_len = ILK__TOKEN_LEN};
}

void ilk__lock_many_give_back(ilk__hold *hold)
{
    ilk_lock_many *many = (ilk_lock_many *)hold;
    ilk__release release = prepare_give_back(many);

    many->end_status = ILK_OK;
    (void)ilk__ask(hold->handle.client, &many_give_back, &release,
                   ilk__now_ms(), NULL);
}

static ilk_lock_many *many_of(const ilk__request *request)
{
    return (ilk_lock_many *)((const ilk__acquire_request *)request)->hold;
}

static void acquire_at_once(ilk__acquire_request *self);

/* The server lost the names that were held already, or too few replicas have
 * them: start over. The same after a reply that came too late, and after a repeat
 * that found a name busy; the next request checks the deadline and a cancel. */
static int begins_anew(const ilk__acquire_request *self)
{
    const ilk_lock_many *many = (const ilk_lock_many *)self->hold;

    if (many->end_status == ILK_EBUSY)
        return !self->once;
    if (many->end_status == ILK_ETIMEOUT)
        return !self->once && ilk__now_ms() < self->deadline;
    return ilk__hold_may_begin_anew(self, many->end_status)
           && !atomic_load(&many->cancelled)
           && !ilk__shared_is_stopped(self->request.client->shared);
}

static void ended(ilk__request *request, ilk_status status)
{
    ilk__acquire_request *self = (ilk__acquire_request *)request;

    (void)status;
    if (begins_anew(self))
        acquire_at_once(self);
    else
        ilk__hold_acquired(self, many_of(request)->end_status);
}

/* Give everything back and end. This is a step of the request, so that the
   command follows earlier ones without a reply. */
static void end_without(ilk__request *request, ilk_status end_status)
{
    ilk_lock_many *many = many_of(request);

    many->end_status = end_status;
    many->release = prepare_give_back(many);
    ilk__request_ask(request, &many_give_back, &many->release, 0, ended);
    ilk__request_hush(request);
}

void ilk__lock_many_unconfirmed(ilk__acquire_request *request,
                                ilk_status status)
{
    if (status == ILK_ELOST && request->once)
        status = ilk__fail(request->request.err, ILK_EBUSY, "%s",
                           ilk_strerror(ILK_EBUSY));
    end_without(&request->request, status);
}

/* ---- one by one --------------------------------------------------------- */

/* Renew the names that are held while waiting for the rest, until hold_end. */
static void keep_acquired(ilk_lock_many *many, int64_t hold_end)
{
    for (size_t i = 0; i < many->acquired; i++) {
        ilk__lease *lease = &many->locks[i]->hold.lease;

        if (lease->state == ILK__LEASE_HELD)
            ilk__lease_watch(lease, many->hold.opts.ttl_ms, 1, hold_end);
    }
}

/* After a signal the names that are held, and the place in the wait queue, are
   kept for the time that the entry lives without a refresh. */
static void end_each(ilk__request *request, ilk_status status)
{
    ilk_lock_many *many = many_of(request);

    if (status && status != ILK_EINTR) {
        end_without(request, status);
        return;
    }
    if (status) {
        many->hold.suspended = 1;
        keep_acquired(many, ilk__deadline(ILK__LIVENESS_MS));
    }
    ilk__hold_acquired((ilk__acquire_request *)request, status);
}

static void united(ilk__request *request, ilk_status status)
{
    const ilk__acquire_request *self = (ilk__acquire_request *)request;
    ilk_lock_many *many = many_of(request);

    if (status == ILK_OK) {
        for (size_t i = 0; i < many->count; i++)
            ilk__lease_end(&many->locks[i]->hold.lease);
        begin(many, self->sent_at, self->extension.ttl_ms,
              self->extension.fence);
        if (!ilk__hold_held(&many->hold)) /* the reply came too late */
            status = ilk__fail(request->err, ILK_ELOST, "%s",
                               ilk_strerror(ILK_ELOST));
    }
    if (status == ILK_EUNKNOWN) /* all names are given back */
        status =
            ilk__fail(request->err, ILK_ECONN, "%s", ilk_strerror(ILK_ECONN));
    end_each(request, status);
}

/* All names are held under leases of their own: replace these by a common one.
 */
static void unite(ilk__acquire_request *self)
{
    ilk_lock_many *many = (ilk_lock_many *)self->hold;
    ilk__hold *hold = &many->hold;
    ilk__extension *extension = &self->extension;

    self->sent_at = ilk__now_ms();
    memcpy(hold->lease.token, many->token, sizeof many->token);
    hold->lease.token_len = ILK__TOKEN_LEN;
    ilk__lease_extension(&hold->lease, extension, hold->opts.ttl_ms, 1);
    for (size_t i = 0; i < many->count; i++)
        if (many->locks[i]->hold.lease.fence > extension->fence)
            extension->fence = many->locks[i]->hold.lease.fence;
    ilk__request_ask(&self->request, hold->kind->lease.extend, extension,
                     ilk__request_patience(&self->request), united);
}

static void next_acquired(ilk__request *request, ilk_status status);

static void acquire_next(ilk__acquire_request *self)
{
    ilk_lock_many *many = (ilk_lock_many *)self->hold;
    ilk__hold *next = &many->locks[many->acquired]->hold;

    if (atomic_load(&many->cancelled)) {
        end_each(&self->request, ilk__fail(self->request.err, ILK_ECANCELLED,
                                           "the wait was cancelled"));
        return;
    }
    ilk__hold_await(&self->request, next, self->deadline, 0,
                    many->hold.opts.ttl_ms, next_acquired);
}

static void next_acquired(ilk__request *request, ilk_status status)
{
    ilk_lock_many *many = many_of(request);
    ilk__hold *next = &many->locks[many->acquired]->hold;

    if (status) {
        end_each(request, status);
        return;
    }
    ilk__hold_begin_lease(next);
    many->acquired++;
    ilk__lease_watch(&next->lease, many->hold.opts.ttl_ms, 1, ILK__FOREVER);
    if (many->acquired < many->count)
        acquire_next((ilk__acquire_request *)request);
    else
        unite((ilk__acquire_request *)request);
}

static void acquire_each(ilk__acquire_request *self)
{
    ilk_lock_many *many = (ilk_lock_many *)self->hold;
    ilk_status st =
        ilk__keeper_start(many->hold.handle.client->keeper, self->request.err);

    if (many->hold.suspended)
        keep_acquired(many, ILK__FOREVER);
    many->hold.suspended = 0;
    if (st)
        end_each(&self->request, st);
    else if (many->acquired < many->count)
        acquire_next(self);
    else
        unite(self);
}

/* ---- all at once -------------------------------------------------------- */

static void at_once_acquired(ilk__request *request, ilk_status status)
{
    ilk__acquire_request *self = (ilk__acquire_request *)request;
    ilk_lock_many *many = many_of(request);

    if (status == ILK_OK) {
        begin(many, many->began, many->lease_ms, many->fence);
        if (!ilk__hold_held(&many->hold))
            status = ilk__fail(request->err, ILK_ETIMEOUT,
                               "the reply came after the lease");
    }
    if (status == ILK_EBUSY && !self->once && !many->was_repeated) {
        acquire_each(self);
        return;
    }
    /* An earlier copy may have acquired some of the names. */
    if (status && (status != ILK_EBUSY || many->was_repeated))
        end_without(request, status);
    else
        ilk__hold_acquired(self, status);
}

static void acquire_at_once(ilk__acquire_request *self)
{
    ilk_lock_many *many = (ilk_lock_many *)self->hold;
    ilk_status st;

    for (size_t i = 0; i < many->count; i++)
        ilk__waiter_forget(&many->locks[i]->hold.waiter);
    st = ilk__token(many->token, ILK__TOKEN_LEN, self->request.err);
    if (st) {
        ilk__hold_acquired(self, st);
        return;
    }
    many->acquired = 0;
    self->sent_at = ilk__now_ms();
    ilk__request_wait(&self->request, &many_acquire, many,
                      &many->locks[0]->hold.waiter.parker, self->deadline,
                      at_once_acquired);
    if (self->once)
        self->request.op->persist_ms = 0;
}

void ilk__lock_many_acquire(ilk__acquire_request *self)
{
    ilk_lock_many *many = (ilk_lock_many *)self->hold;

    self->ttl_ms = many->hold.opts.ttl_ms; /* no per-acquire lease */
    atomic_store(&many->cancelled, 0);
    for (size_t i = 0; i < many->count; i++) {
        ilk__waiter *waiter = &many->locks[i]->hold.waiter;

        atomic_store(&waiter->cancelled, 0);
        /* A cancel is for all names, also for those not waited for yet. */
        waiter->keeps_cancel = 1;
    }
    if (!self->once && ilk__shared_is_stopped(self->request.client->shared)) {
        end_without(&self->request, ilk__fail(self->request.err, ILK_ECANCELLED,
                                              "the client is stopped"));
    } else if (!many->hold.suspended) {
        acquire_at_once(self);
    } else if (!self->once) {
        acquire_each(self);
    } else { /* resumed by an acquire that tries once */
        end_without(&self->request, ilk__fail(self->request.err, ILK_EBUSY,
                                              "%s", ilk_strerror(ILK_EBUSY)));
    }
}
