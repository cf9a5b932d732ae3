/* SPDX-License-Identifier: MIT */
/*
 * hold_acquire.c -- acquire: wait in the queue, begin the lease, hand it to the
 * keeper.
 *
 *     begin_acquire       calls acquire(), await_lease()
 *         ...             the driver (run.c, loop.c) runs the waiting operation
 *     wait_ended          the lease begins; ilk__hold_acquired() decides:
 *                           the full lease, or the keeper renews: keep(), end
 *                           a short lease without renewal: sends an extend
 *         ...             the driver runs the extending operation
 *     extended            keep(), end; after ILK_ELOST await_lease() again
 *
 * With min_replicas in the URL ilk__hold_acquired() takes another way:
 *
 *     confirm             withholds the lease: the handle does not hold yet
 *         ...             the driver sleeps, the keeper confirms (confirmer.h)
 *     confirmed           the lease begins again: keep(), end; if too few
 *                         replicas have it: give_back(), await_lease() again
 *
 * At each "..." the function returns to the driver, which later calls the next
 * one as the request's `then`. A kind with a run_acquire of its own has its own
 * steps instead of the first "..." and wait_ended.
 *
 * A grant has a short lease (ILK__GRANT_MS), because the waiter's process may
 * no longer run. A hold that is renewed gets its full lease (ttl_ms) by its
 * first renewal, after a third of the short lease: next_probe() and renew() in
 * lease.c. A hold without renewal is extended once before acquire returns.
 */
#include "base/clock.h"
#include "base/log.h"
#include "client/run.h"
#include "hold.h"

#include <stdio.h>
#include <string.h>

/* ---- steps for requests of other files ---------------------------------- */

void ilk__hold_await(ilk__request *request, ilk__hold *hold, int64_t deadline,
                     int once, int64_t ttl_ms, ilk__request_then *then)
{
    ilk__waiter *waiter = &hold->waiter;

    waiter->lease_ms = ttl_ms;
    waiter->floor = hold->lease.fence;
    waiter->once = once;
    ilk__request_wait(request, hold->kind->acquire, waiter, &waiter->parker,
                      deadline, then);
}

void ilk__hold_begin_lease(ilk__hold *hold)
{
    const ilk__waiter *waiter = &hold->waiter;
    ilk__lease *lease = &hold->lease;

    snprintf(lease->token, sizeof lease->token, "%s",
             ilk__waiter_token(waiter));
    lease->token_len = strlen(lease->token);
    ilk__lease_begin(lease, waiter->fence,
                     ilk__lease_deadline(waiter->began, waiter->granted_ms),
                     waiter->granted_ms);
}

void ilk__hold_keep(ilk__hold *hold, int64_t ttl_ms)
{
    int renews = !hold->opts.no_renew;
    int64_t hold_end = hold->opts.max_hold_ms
                           ? ilk__deadline(hold->opts.max_hold_ms)
                           : ILK__FOREVER;

    hold->depth = 1;
    if (renews || hold->handle.client->shared->notifications_wanted)
        ilk__lease_watch(&hold->lease, ttl_ms, renews, hold_end);
}

/* ---- the request -------------------------------------------------------- */

static void wait_ended(ilk__request *request, ilk_status status)
{
    ilk__acquire_request *self = (ilk__acquire_request *)request;

    if (status == ILK_OK)
        ilk__hold_begin_lease(self->hold);
    ilk__hold_acquired(self, status);
}

static void await_lease(ilk__acquire_request *self)
{
    if (self->hold->kind->run_acquire)
        self->hold->kind->run_acquire(self);
    else
        ilk__hold_await(&self->request, self->hold, self->deadline, self->once,
                        self->ttl_ms, wait_ended);
}

void ilk__hold_give_back_token(ilk__hold *hold)
{
    if (hold->kind->give_back)
        hold->kind->give_back(hold);
    else
        ilk__give_back_token(hold->handle.client->shared, &hold->wait_queue,
                             hold->lease.token);
}

/* Release a hold that the server granted but that this acquire cannot keep. */
static void give_back(ilk__hold *hold)
{
    ilk__shared *shared = hold->handle.client->shared;

    ilk__shared_lock(shared);
    ilk__hold_give_back_token(hold);
    ilk__shared_unlock(shared);
    ilk__lease_end(&hold->lease);
}

/*
 * The reply to an earlier unconfirmed release may arrive during the acquire and
 * report that the previous hold was lost. The caller has to learn that first:
 * the new hold is given back and the status is ILK_ELOST.
 *
 * The notification is pushed after the handle is left, because another thread
 * may receive it and use the handle at once.
 */
static void keep(ilk__acquire_request *self)
{
    ilk__hold *hold = self->hold;
    ilk_notification_kind kind =
        (ilk_notification_kind)hold->kind->acquired_notification;
    int64_t id = hold->id;
    void *user = hold->opts.user;
    ilk_status st = ilk__hold_report_lost(hold, self->request.err);

    if (st)
        give_back(hold);
    else
        ilk__hold_keep(hold, self->ttl_ms);
    ilk__hold_end(hold, &self->request, st);
    if (st == ILK_OK && kind)
        ilk__notifications_push(&self->request.client->shared->notifications,
                                kind, id, user, ILK_OK, ILK_LOSS_NONE);
}

/* The server does not have the hold any more. A cancel since the wait ended must not
 * be lost. */
static void begin_anew_or_fail(ilk__acquire_request *self)
{
    ilk__request *request = &self->request;

    if (self->once) {
        ilk__hold_end(
            self->hold, request,
            ilk__fail(request->err, ILK_EBUSY, "%s", ilk_strerror(ILK_EBUSY)));
        return;
    }
    self->hold->waiter.keeps_cancel = 1;
    await_lease(self);
}

/*
 * If the extend failed without a reply, the hold stays valid for the lease of
 * the grant; when that is over as well, the hold is given back. It is given
 * back after ILK_ECLOSED, too: the handle was freed or the client closed
 * meanwhile.
 */
static void extended(ilk__request *request, ilk_status status)
{
    ilk__acquire_request *self = (ilk__acquire_request *)request;
    ilk__lease *lease = &self->hold->lease;

    if (status == ILK_OK)
        ilk__lease_begin(
            lease, lease->fence,
            ilk__lease_deadline(self->sent_at, self->extension.ttl_ms),
            self->extension.ttl_ms);
    if (status == ILK_ECLOSED) {
        give_back(self->hold);
        ilk__hold_end(self->hold, request, status);
        return;
    }
    ilk__error_clear(request->err); /* the acquire has an outcome of its own */
    if (status != ILK_ELOST && ilk__hold_held(self->hold)) {
        keep(self);
        return;
    }
    if (self->hold->kind->unconfirmed) {
        self->hold->kind->unconfirmed(
            self,
            ilk__fail(request->err, ILK_ELOST, "%s", ilk_strerror(ILK_ELOST)));
        return;
    }
    if (status != ILK_ELOST)
        give_back(self->hold);
    else
        ilk__lease_end(lease); /* the grant ended before the extend */
    begin_anew_or_fail(self);
}

/* ---- confirming --------------------------------------------------------- */

int ilk__hold_may_begin_anew(const ilk__acquire_request *self,
                             ilk_status status)
{
    return (status == ILK_ELOST || status == ILK_ENOQUORUM) && !self->once
           && ilk__now_ms() < self->deadline;
}

static void unconfirmed(ilk__acquire_request *self, ilk_status status)
{
    ilk__hold *hold = self->hold;
    char text[ILK__LEASE_TEXT];

    if (status == ILK_ENOQUORUM)
        ilk__log(ILK__LOG_WARN, "%s is given back: %s",
                 ilk__lease_describe(&hold->lease, text),
                 self->request.err->msg);
    if (hold->kind->unconfirmed) {
        hold->kind->unconfirmed(self, status);
        return;
    }
    if (status != ILK_ELOST)
        give_back(hold);
    if (status != ILK_ELOST && !ilk__hold_may_begin_anew(self, status)) {
        ilk__hold_end(hold, &self->request, status);
        return;
    }
    ilk__error_clear(self->request.err);
    begin_anew_or_fail(self);
}

/* An interrupt that came while the hold was being confirmed ends the acquire
 * instead of a new wait, which would not get the interrupt. */
static void confirmed(ilk__request *request, ilk_status status)
{
    ilk__acquire_request *self = (ilk__acquire_request *)request;
    ilk__hold *hold = self->hold;
    ilk__lease *lease = &hold->lease;
    ilk__confirmation *confirmation = hold->confirmation;
    ilk__confirmed result;

    ilk__shared_lock(request->client->shared);
    result = ilk__confirmation_result(confirmation);
    hold->confirmation = NULL;
    ilk__shared_unlock(request->client->shared);
    ilk__confirmation_free(confirmation);
    if (status == ILK_OK) {
        ilk__lease_begin(lease, lease->fence,
                         ilk__lease_deadline(result.sent_at, result.lease_ms),
                         result.lease_ms);
        keep(self);
        return;
    }
    if (result.interrupted && !self->started
        && ilk__hold_may_begin_anew(self, status))
        status =
            ilk__fail(request->err, ILK_EINTR, "%s", ilk_strerror(ILK_EINTR));
    unconfirmed(self, status);
}

static void confirm(ilk__acquire_request *self)
{
    ilk__hold *hold = self->hold;
    ilk_client *client = self->request.client;
    int64_t deadline = ilk__sooner(ilk__lease_withhold(&hold->lease),
                                   ilk__request_patience(&self->request));
    ilk__confirmation *confirmation;
    ilk_status st = ilk__keeper_start(client->keeper, self->request.err);

    if (st == ILK_OK)
        st = ilk__confirmation_new(&confirmation, client->shared, &hold->lease,
                                   self->ttl_ms, deadline, !self->once,
                                   self->request.err);
    if (st) {
        unconfirmed(self, st);
        return;
    }
    ilk__shared_lock(client->shared);
    hold->confirmation = confirmation;
    ilk__shared_unlock(client->shared);
    ilk__request_wait(&self->request, &ilk__confirm, confirmation,
                      ilk__confirmation_parker(confirmation), deadline,
                      confirmed);
}

void ilk__hold_cancel_confirmation(ilk__hold *hold)
{
    ilk__shared *shared = hold->handle.client->shared;

    ilk__shared_lock(shared);
    if (hold->confirmation)
        ilk__confirmation_cancel(hold->confirmation);
    ilk__shared_unlock(shared);
}

/* ---- the end of the wait ------------------------------------------------ */

void ilk__hold_acquired(ilk__acquire_request *self, ilk_status status)
{
    ilk__hold *hold = self->hold;

    self->kept = self->started && status == ILK_EINTR;
    if (self->kept) {
        ilk__request_end(&self->request, status);
    } else if (status) {
        ilk__hold_end(hold, &self->request, status);
    } else if (self->request.client->shared->confirmer) {
        confirm(self);
    } else if (hold->lease.span_ms >= self->ttl_ms || !hold->opts.no_renew) {
        keep(self);
    } else {
        self->sent_at = ilk__now_ms();
        ilk__lease_extension(&hold->lease, &self->extension, self->ttl_ms, 1);
        ilk__request_ask(&self->request, hold->kind->lease.extend,
                         &self->extension,
                         ilk__sooner(atomic_load(&hold->lease.deadline),
                                     ilk__request_patience(&self->request)),
                         extended);
    }
}

static ilk_status nest(ilk__hold *hold, ilk_error *err)
{
    if (hold->kind->stays)
        return ILK_OK;
    if (!hold->opts.reentrant)
        return ilk__fail(err, ILK_EHELD, "the handle holds already");
    hold->depth++;
    return ILK_OK;
}

static void acquire(ilk__acquire_request *self)
{
    ilk__hold *hold = self->hold;
    const ilk_client_opts *opts = &hold->handle.client->opts;
    ilk_status st;

    ilk__lease_end(&hold->lease);
    hold->waiter.keeps_cancel = 0;
    self->once = self->timeout_ms == 0;
    self->deadline = ilk__deadline(self->once ? opts->connect_timeout_ms
                                                    + opts->reply_timeout_ms
                                              : self->timeout_ms);
    st = ilk__hold_report_lost(hold, self->request.err);
    if (st == ILK_OK && !hold->opts.no_renew)
        st = ilk__keeper_start(hold->handle.client->keeper, self->request.err);
    if (st)
        ilk__hold_end(hold, &self->request, st);
    else
        await_lease(self);
}

static void begin_acquire(ilk__request *request)
{
    ilk__acquire_request *self = (ilk__acquire_request *)request;
    ilk__hold *hold = self->hold;
    ilk_status st = ilk__hold_enter(hold, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    if (self->ttl_ms == 0)
        self->ttl_ms = hold->opts.ttl_ms;
    st = ilk__hold_check_ttl(self->ttl_ms, request->err);
    self->ttl_ms = ilk__hold_bounded_ttl(&hold->opts, self->ttl_ms);
    if (st)
        ilk__hold_end(hold, request, st);
    else if (ilk__hold_held(hold))
        ilk__hold_end(hold, request, nest(hold, request->err));
    else
        acquire(self);
}

static void cancel(ilk__hold *hold)
{
    ilk__hold_cancel_confirmation(hold);
    ilk__waiter_cancel(&hold->waiter);
}

static void give_up(ilk__request *request)
{
    const ilk__acquire_request *self = (ilk__acquire_request *)request;
    ilk__hold *hold = self->hold;

    if (hold->suspended)
        hold->kind->drop_kept(hold);
    else if (hold->kind->cancel_acquire)
        hold->kind->cancel_acquire(hold);
    else
        cancel(hold);
    if (self->kept)
        ilk__hold_leave(hold);
}

static ilk__acquire_request acquire_request_of(ilk__hold *hold,
                                               int64_t timeout_ms,
                                               int64_t ttl_ms)
{
    return (ilk__acquire_request){
        .request = {.handle = hold, .give_up = give_up},
        .hold = hold,
        .timeout_ms = timeout_ms,
        .ttl_ms = ttl_ms};
}

ilk_status ilk__hold_acquire(ilk__hold *hold, int64_t timeout_ms,
                             int64_t ttl_ms, ilk_error *err)
{
    ilk__acquire_request self = acquire_request_of(hold, timeout_ms, ttl_ms);
    ilk_status st = ilk__check_timeout(timeout_ms, err);

    if (st)
        return st;
    return ilk__request_run(&self.request, hold->handle.client, begin_acquire,
                            err);
}

ilk_status ilk__hold_acquire_start(ilk_op **out, ilk__hold *hold,
                                   int64_t timeout_ms, int64_t ttl_ms,
                                   ilk_error *err)
{
    ilk__acquire_request self = acquire_request_of(hold, timeout_ms, ttl_ms);

    self.started = 1;
    if (ilk__check_timeout(timeout_ms, err))
        return ilk__started_none(out, ILK_EINVAL);
    return ilk__request_start(out, &self.request, sizeof self,
                              hold->handle.client, begin_acquire, err);
}

ilk_status ilk__hold_cancel(ilk__hold *hold, ilk_error *err)
{
    int is_mine;
    ilk_status st = ilk__handle_check(&hold->handle, &is_mine, err);

    if (is_mine)
        cancel(hold);
    return st;
}
