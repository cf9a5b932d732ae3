/* SPDX-License-Identifier: MIT */
/* queue_wait.c -- the requests that take from a queue, each with its place. */
#include "base/alloc.h"
#include "base/clock.h"
#include "queue.h"

/* What a wait for messages that are taken for good counts as. */
enum { GOOD_MS = ILK__LEASE_DEFAULT_MS };

/* ---- one for each request ----------------------------------------------- */

static int same_wish(const ilk__wanted *a, const ilk__wanted *b)
{
    return a->max == b->max && a->lease_ms == b->lease_ms;
}

static void add_free(ilk__take **list, ilk__take *take)
{
    take->next_free = *list;
    *list = take;
}

/* The place in the wait queue that this thread kept, or NULL. Places that were
 * given up meanwhile are idle. */
static ilk__take *find_parked(ilk_queue *queue)
{
    ilk__take **link = &queue->parked, *take;

    while ((take = *link)) {
        int mine = pthread_equal(take->thread, pthread_self());

        if (!mine && take->waiter.refresher) {
            link = &take->next_free;
            continue;
        }
        *link = take->next_free;
        if (mine)
            return take;
        take->parked = 0;
        add_free(&queue->idle, take);
    }
    return NULL;
}

static ilk__take *find(ilk_queue *queue, int started)
{
    ilk__take *take = started ? NULL : find_parked(queue);

    if (take)
        return take;
    take = queue->idle;
    if (take)
        queue->idle = take->next_free;
    return take;
}

static ilk_status add(ilk__take **out, ilk_queue *queue, ilk_error *err)
{
    ilk__take *take = ilk__calloc(1, sizeof *take);
    ilk_status st;

    if (!take)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__waiter_init(&take->waiter, queue->client->shared,
                          &queue->wait_queue, err);
    if (st) {
        ilk__free(take);
        return st;
    }
    take->queue = queue;
    take->busy = 1;
    ilk__shared_lock(queue->client->shared);
    take->next = queue->takes;
    queue->takes = take;
    ilk__shared_unlock(queue->client->shared);
    *out = take;
    return ILK_OK;
}

/* A place that was kept for another question, or without settlements that are
 * to be sent now, is given up. */
static ilk_status check_out(ilk__taking *self)
{
    ilk_queue *queue = ilk__queue_of(&self->request);
    const ilk__wanted *wanted = &self->wanted;
    ilk__shared *shared = queue->client->shared;
    ilk__take *take;
    int has_settlements = wanted->settlements && wanted->settlements->count;

    ilk__shared_lock(shared);
    take = find(queue, self->started);
    if (take) {
        take->busy = 1;
        take->stood = take->parked && take->waiter.refresher;
    }
    ilk__shared_unlock(shared);
    if (take && take->parked
        && (has_settlements || wanted->timeout_ms == 0
            || !same_wish(&take->wanted, wanted)))
        ilk__waiter_cancel(&take->waiter);
    self->take = take;
    return take ? ILK_OK : add(&self->take, queue, self->request.err);
}

static void check_in(ilk__take *take, ilk_status st)
{
    ilk_queue *queue = take->queue;
    ilk__shared *shared = queue->client->shared;

    ilk__shared_lock(shared);
    take->busy = 0;
    take->parked = st == ILK_EINTR && take->waiter.refresher;
    take->thread = pthread_self();
    add_free(take->parked ? &queue->parked : &queue->idle, take);
    ilk__shared_unlock(shared);
}

/* ---- the request -------------------------------------------------------- */

/* What a late answer brought is on its way back already. */
static ilk_status keep(ilk__taking *self)
{
    ilk__take *take = self->take;
    const ilk__waiter *waiter = &take->waiter;
    const ilk_queue *queue = take->queue;
    int64_t lease_ms = take->wanted.lease_ms;
    ilk_batch *batch = take->got;
    ilk_status st = ILK_OK;

    if (lease_ms)
        st = ilk__batch_hold(
            batch, ilk__waiter_token(waiter), waiter->began, waiter->granted_ms,
            (queue->opts.flags & ILK_QUEUE_RENEW) != 0, self->request.err);
    else
        ilk__batch_count_delivery(batch);
    if (st)
        return st;
    if (lease_ms)
        batch->lease_ms = lease_ms;
    atomic_store(&batch->unfetched, self->started && lease_ms);
    ilk__batch_answer(&self->request, batch);
    take->got = NULL;
    return ILK_OK;
}

void ilk__queue_end_take(ilk__taking *self, ilk_status status)
{
    ilk__settlements_doubt(&self->settlements);
    /* none, if it was answered */
    ilk__settlements_unanswered(&self->settlements);
    ilk_batch_free(self->done);
    ilk__queue_end(&self->request, status);
}

/* What was started and has answered so keeps its place until give_up(). */
static void taken(ilk__request *request, ilk_status status)
{
    ilk__taking *self = (ilk__taking *)request;
    ilk__take *take = self->take;

    if (status && take->unknown)
        status = ilk__fail(request->err, ILK_EUNKNOWN,
                           "no answer: a message may be gone with it");
    if (status == ILK_OK)
        status = keep(self);
    ilk_batch_free(take->got);
    take->got = NULL;
    self->kept = self->started && status == ILK_EINTR;
    if (self->kept) {
        ilk__request_end(request, status);
        return;
    }
    check_in(take, status);
    ilk__queue_end_take(self, status);
}

static void give_up(ilk__request *request)
{
    ilk__taking *self = (ilk__taking *)request;

    ilk__waiter_cancel(&self->take->waiter);
    if (!self->kept)
        return; /* it will hear of that */
    check_in(self->take, ILK_ECANCELLED);
    ilk__queue_end_take(self, ILK_ECANCELLED);
}

void ilk__queue_take(ilk__taking *self)
{
    ilk_queue *queue = ilk__queue_of(&self->request);
    const ilk_client_opts *opts = &queue->client->opts;
    const ilk__wanted *wanted = &self->wanted;
    int once = wanted->timeout_ms == 0, for_good = wanted->lease_ms == 0;
    int64_t deadline =
        ilk__deadline(once ? opts->connect_timeout_ms + opts->reply_timeout_ms
                           : wanted->timeout_ms);
    uint32_t cancels = atomic_load(&queue->cancels);
    ilk__take *take;
    ilk_status st = ILK_OK;

    if (queue->opts.flags & ILK_QUEUE_RENEW && wanted->lease_ms)
        st = ilk__keeper_start(queue->client->keeper, self->request.err);
    if (st == ILK_OK)
        st = check_out(self);
    if (st) {
        ilk__queue_end_take(self, st);
        return;
    }
    take = self->take;
    take->wanted = *wanted;
    take->told = take->unknown = 0;
    take->cancels = cancels;
    take->waiter.lease_ms = for_good ? GOOD_MS : wanted->lease_ms;
    take->waiter.once = once;
    ilk__request_wait(&self->request,
                      for_good ? &ilk__queue_pop_op : &ilk__queue_reserve_op,
                      take, &take->waiter.parker, deadline, taken);
}

ilk__taking ilk__queue_taking(ilk_queue *queue, const ilk__wanted *wanted)
{
    return (ilk__taking){.request = {.handle = queue, .give_up = give_up},
                         .wanted = *wanted};
}
