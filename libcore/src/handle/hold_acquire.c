/* SPDX-License-Identifier: MIT */
/*
 * hold_acquire.c -- acquire: wait in the queue, begin the lease, hand it to the
 * keeper.
 *
 *     begin_acquire       calls acquire(), await_lease()
 *         ...             the driver (run.c, loop.c) runs the waiting operation
 *     queue_left          the lease begins; ilk__hold_acquired() decides:
 *                           the full lease, or the keeper renews: keep(), end
 *                           a short lease without renewal: sends an extend
 *         ...             the driver runs the extending operation
 *     extended            keep(), end; after ILK_ELOST await_lease() again
 *
 * At each "..." the function returns to the driver, which later calls the next
 * one as the request's `then`. A kind with a run_acquire of its own has its own
 * steps instead of the first "..." and queue_left.
 *
 * A grant has a short lease (ILK__GRANT_MS), because nobody knows whether the
 * waiter still runs. A hold that is renewed gets its full lease (ttl_ms) by its
 * first renewal, after a third of the short lease: next_probe() and renew() in
 * lease.c. A hold without renewal is extended once before acquire returns.
 */
#include "base/clock.h"
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

static void queue_left(ilk__request *request, ilk_status status)
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
                        self->ttl_ms, queue_left);
}

/* Release a hold that the server granted but that this acquire cannot keep. */
static void give_back(ilk__hold *hold)
{
    ilk__shared *shared = hold->handle.client->shared;

    ilk__shared_lock(shared);
    ilk__give_back_token(shared, &hold->wait_queue, hold->lease.token);
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
                                kind, id, user, ILK_OK);
}

/*
 * If the extend failed without a reply, the hold stays valid for the lease of
 * the grant. ILK_ECLOSED is different: the handle was freed or the client
 * closed meanwhile, and the hold is given back.
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
    if (status != ILK_ELOST) {
        keep(self);
        return;
    }
    ilk__lease_end(lease); /* the grant ended before the extend */
    if (self->once)
        ilk__hold_end(
            self->hold, request,
            ilk__fail(request->err, ILK_EBUSY, "%s", ilk_strerror(ILK_EBUSY)));
    else
        await_lease(self);
}

void ilk__hold_acquired(ilk__acquire_request *self, ilk_status status)
{
    ilk__hold *hold = self->hold;

    self->kept = self->started && status == ILK_EINTR;
    if (self->kept) {
        ilk__request_end(&self->request, status);
    } else if (status) {
        ilk__hold_end(hold, &self->request, status);
    } else if (hold->lease.span_ms >= self->ttl_ms || !hold->opts.no_renew) {
        keep(self);
    } else {
        self->sent_at = ilk__now_ms();
        ilk__lease_extension(&hold->lease, &self->extension, self->ttl_ms, 1);
        ilk__request_ask(&self->request, hold->kind->lease.extend,
                         &self->extension,
                         ilk__request_patience(&self->request), extended);
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
    if (st)
        ilk__hold_end(hold, request, st);
    else if (ilk__hold_held(hold))
        ilk__hold_end(hold, request, nest(hold, request->err));
    else
        acquire(self);
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
        ilk__waiter_cancel(&hold->waiter);
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
        ilk__waiter_cancel(&hold->waiter);
    return st;
}
