/* SPDX-License-Identifier: MIT */
/* queue_wait.c -- the request that reserves messages and waits for them: it
 * checks a wait out (queue.h), runs the operation of queue_commands.c on it and
 * checks it in again, as idle or, after ILK_EINTR, as suspended. */
#include "base/alloc.h"
#include "base/clock.h"
#include "queue.h"
#include "wait/give_back.h"

/* The lease time of the waiter of a pop, which has no lease of its own. */
enum { GOOD_MS = ILK__LEASE_DEFAULT_MS };

/* ---- checking waits out and in ------------------------------------------ */

static int same_args(const ilk__reserve_args *a, const ilk__reserve_args *b)
{
    return a->max == b->max && a->lease_ms == b->lease_ms;
}

static void add_free(ilk__queue_wait **list, ilk__queue_wait *wait)
{
    wait->next_free = *list;
    *list = wait;
}

/* Removes and returns the suspended wait of this thread, or NULL. Those
 * whose entry was withdrawn meanwhile become idle. */
static ilk__queue_wait *find_suspended(ilk_queue *queue)
{
    ilk__queue_wait **link = &queue->suspended, *wait;

    while ((wait = *link)) {
        int mine = pthread_equal(wait->thread, pthread_self());

        if (!mine && wait->waiter.refresher) {
            link = &wait->next_free;
            continue;
        }
        *link = wait->next_free;
        if (mine)
            return wait;
        wait->suspended = 0;
        add_free(&queue->idle, wait);
    }
    return NULL;
}

static ilk__queue_wait *find(ilk_queue *queue, int started)
{
    ilk__queue_wait *wait = started ? NULL : find_suspended(queue);

    if (wait)
        return wait;
    wait = queue->idle;
    if (wait)
        queue->idle = wait->next_free;
    return wait;
}

static ilk_status add(ilk__queue_wait **out, ilk_queue *queue, ilk_error *err)
{
    ilk__queue_wait *wait = ilk__calloc(1, sizeof *wait);
    ilk_status st;

    if (!wait)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__waiter_init(&wait->waiter, queue->client->shared,
                          &queue->wait_queue, err);
    if (st) {
        ilk__free(wait);
        return st;
    }
    wait->queue = queue;
    wait->busy = 1;
    ilk__shared_lock(queue->client->shared);
    wait->next = queue->waits;
    queue->waits = wait;
    ilk__shared_unlock(queue->client->shared);
    *out = wait;
    return ILK_OK;
}

/* A suspended wait goes on only with the same arguments. It is given up if those
 * differ, if this call must not wait, or if it has settlements to send. */
static ilk_status check_out(ilk__reserve_request *self)
{
    ilk_queue *queue = ilk__queue_of(&self->request);
    const ilk__reserve_args *args = &self->args;
    ilk__shared *shared = queue->client->shared;
    ilk__queue_wait *wait;
    int has_settlements = args->settlements && args->settlements->count;

    ilk__shared_lock(shared);
    wait = find(queue, self->started);
    if (wait) {
        wait->busy = 1;
        wait->queued = wait->suspended && wait->waiter.refresher;
    }
    ilk__shared_unlock(shared);
    if (wait && wait->suspended
        && (has_settlements || args->timeout_ms == 0
            || !same_args(&wait->args, args)))
        ilk__waiter_cancel(&wait->waiter);
    self->wait = wait;
    return wait ? ILK_OK : add(&self->wait, queue, self->request.err);
}

static void check_in(ilk__queue_wait *wait, ilk_status st)
{
    ilk_queue *queue = wait->queue;
    ilk__shared *shared = queue->client->shared;

    ilk__shared_lock(shared);
    wait->busy = 0;
    wait->suspended = st == ILK_EINTR && wait->waiter.refresher;
    wait->thread = pthread_self();
    add_free(wait->suspended ? &queue->suspended : &queue->idle, wait);
    ilk__shared_unlock(shared);
}

/* ---- the request -------------------------------------------------------- */

/* There is no memory for the lease: return the messages, so that others get
 * them at once. */
static void give_back(ilk__queue_wait *wait)
{
    ilk__shared *shared = wait->waiter.shared;

    ilk__shared_lock(shared);
    ilk__give_back_token(shared, &wait->queue->wait_queue,
                         ilk__waiter_token(&wait->waiter));
    ilk__shared_unlock(shared);
}

/* Makes the batch the request's result. (Messages of a reply that came too late
 * are not here: the wait has sent their return already.) */
static ilk_status keep(ilk__reserve_request *self)
{
    ilk__queue_wait *wait = self->wait;
    const ilk__waiter *waiter = &wait->waiter;
    const ilk_queue *queue = wait->queue;
    int64_t lease_ms = wait->args.lease_ms;
    ilk_batch *batch = wait->got;
    ilk_status st = ILK_OK;

    if (lease_ms)
        st = ilk__batch_hold(batch, ilk__waiter_token(waiter), waiter->began,
                             waiter->granted_ms, self->request.err);
    else
        ilk__batch_count_delivery(batch);
    if (st) {
        give_back(wait);
        return st;
    }
    if (lease_ms && queue->opts.flags & ILK_QUEUE_RENEW)
        ilk__lease_watch(&batch->lease, lease_ms, 1, ILK__FOREVER);
    if (lease_ms)
        batch->lease_ms = lease_ms;
    atomic_store(&batch->unfetched, self->started && lease_ms);
    ilk__batch_answer(&self->request, batch);
    wait->got = NULL;
    return ILK_OK;
}

void ilk__queue_end_reserve(ilk__reserve_request *self, ilk_status status)
{
    /* A reply has emptied the list; these are the ones without a reply. */
    ilk__settlements_doubt(&self->settlements);
    ilk__settlements_unanswered(&self->settlements);
    ilk_batch_free(self->done);
    ilk__queue_end(&self->request, status);
}

/* The operation is done. After ILK_EINTR a started request keeps its wait and
 * its entry until give_up(). */
static void reserved(ilk__request *request, ilk_status status)
{
    ilk__reserve_request *self = (ilk__reserve_request *)request;
    ilk__queue_wait *wait = self->wait;

    if (status && wait->unknown)
        status = ilk__fail(request->err, ILK_EUNKNOWN,
                           "no reply: a message may be lost with it");
    if (status == ILK_OK)
        status = keep(self);
    ilk_batch_free(wait->got);
    wait->got = NULL;
    self->kept = self->started && status == ILK_EINTR;
    if (self->kept) {
        ilk__request_end(request, status);
        return;
    }
    check_in(wait, status);
    ilk__queue_end_reserve(self, status);
}

static void give_up(ilk__request *request)
{
    ilk__reserve_request *self = (ilk__reserve_request *)request;

    if (!self->wait)
        return; /* it only settles, and does not wait yet */
    ilk__waiter_cancel(&self->wait->waiter);
    if (!self->kept)
        return; /* the operation ends with ILK_ECANCELLED: reserved() */
    check_in(self->wait, ILK_ECANCELLED);
    ilk__queue_end_reserve(self, ILK_ECANCELLED);
}

void ilk__queue_await(ilk__reserve_request *self)
{
    ilk_queue *queue = ilk__queue_of(&self->request);
    const ilk_client_opts *opts = &queue->client->opts;
    const ilk__reserve_args *args = &self->args;
    int once = args->timeout_ms == 0, for_good = args->lease_ms == 0;
    int64_t deadline =
        ilk__deadline(once ? opts->connect_timeout_ms + opts->reply_timeout_ms
                           : args->timeout_ms);
    uint32_t cancels = atomic_load(&queue->cancels);
    ilk__queue_wait *wait;
    ilk_status st = ILK_OK;

    if (queue->opts.flags & ILK_QUEUE_RENEW && args->lease_ms)
        st = ilk__keeper_start(queue->client->keeper, self->request.err);
    if (st == ILK_OK)
        st = check_out(self);
    if (st) {
        ilk__queue_end_reserve(self, st);
        return;
    }
    wait = self->wait;
    wait->args = *args;
    wait->settled = wait->unknown = 0;
    wait->cancels = cancels;
    wait->waiter.lease_ms = for_good ? GOOD_MS : args->lease_ms;
    wait->waiter.once = once;
    wait->waiter.does_more = args->settlements && args->settlements->count;
    ilk__request_wait(&self->request,
                      for_good ? &ilk__queue_pop_op : &ilk__queue_reserve_op,
                      wait, &wait->waiter.parker, deadline, reserved);
}

ilk__reserve_request ilk__queue_reserve_request(ilk_queue *queue,
                                                const ilk__reserve_args *args)
{
    return (ilk__reserve_request){
        .request = {.handle = queue, .give_up = give_up}, .args = *args};
}
