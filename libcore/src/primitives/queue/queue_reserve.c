/* SPDX-License-Identifier: MIT */
/* queue_reserve.c -- reserving and popping: public functions, their checks, and
 * ending waits. */
#include "base/clock.h"
#include "queue.h"

static ilk_status check_done(const ilk_queue *queue, const ilk_batch *done,
                             ilk_error *err)
{
    ilk_status st = ilk__batch_enter(done, err);

    if (st)
        return st;
    if (done->client == queue->client && done->leased
        && done->index < queue->count
        && done->queue_keys == queue->queue_keys[done->index])
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "done must be a batch that this handle reserved");
}

static ilk_status check(const ilk__reserve_request *self, ilk_error *err)
{
    const ilk__reserve_args *args = &self->args;
    ilk_status st = ilk__check_timeout(args->timeout_ms, err);

    if (st == ILK_OK && args->lease_ms) /* 0: a pop */
        st = ilk__check_lease(args->lease_ms, err);
    if (st == ILK_OK && (args->max < 1 || args->max > ILK_QUEUE_BATCH_MAX))
        st = ilk__fail(err, ILK_EINVAL, "max must be 1 to %d, got %d",
                       ILK_QUEUE_BATCH_MAX, (int)args->max);
    if (st == ILK_OK && self->done)
        st = check_done(ilk__queue_of(&self->request), self->done, err);
    return st;
}

static ilk_status add_done(ilk__reserve_request *self)
{
    ilk__batch_ref(self->done);
    self->args.settlements = &self->settlements;
    return ilk__settlements_add_open(&self->settlements, self->done,
                                     ILK__SETTLE_DONE, self->request.err);
}

/* After a reply there are no settlements left, and batch->lost has the number
 * of messages that were lost. */
static void was_settled(ilk__request *request, ilk_status status)
{
    ilk__reserve_request *self = (ilk__reserve_request *)request;

    if (self->settlements.count) {
        ilk__queue_end_reserve(self, status);
        return;
    }
    ilk__error_clear(request->err);
    ilk__queue_await(self);
}

/* The client is stopped, so the reservation will send nothing, and the
 * acknowledgements go first. */
static void settle_first(ilk__reserve_request *self)
{
    ilk_queue *queue = ilk__queue_of(&self->request);

    self->query =
        (ilk__settlement_query){.settlements = &self->settlements,
                                .queue_keys = queue->queue_keys[0],
                                .keys = queue->keys,
                                .key_count = queue->wait_queue.key_count};
    ilk__settlements_send(&self->request, &self->query, 0, was_settled);
}

static int must_settle_first(const ilk__reserve_request *self)
{
    return self->settlements.count && self->args.timeout_ms != 0
           && ilk__shared_is_stopped(self->request.client->shared);
}

void ilk__queue_begin_reserve(ilk__request *request)
{
    ilk__reserve_request *self = (ilk__reserve_request *)request;
    ilk_status st;

    if (!ilk__queue_begin(request, 0))
        return;
    st = check(self, request->err);
    if (st)
        self->done = NULL; /* its reference was not taken yet */
    else if (self->done)
        st = add_done(self);
    if (st)
        ilk__queue_end_reserve(self, st);
    else if (must_settle_first(self))
        settle_first(self);
    else
        ilk__queue_await(self);
}

static ilk_status run(ilk_batch **out, ilk__reserve_request *self,
                      ilk_error *err)
{
    ilk_status st =
        ilk__queue_run(&self->request, ilk__queue_begin_reserve, err);

    *out = self->request.result.object;
    return st;
}

static ilk_status start(ilk_op **out, ilk__reserve_request *self,
                        ilk_error *err)
{
    self->started = 1;
    return ilk__queue_start(out, &self->request, sizeof *self,
                            ilk__queue_begin_reserve, err);
}

static ilk_status first_job(ilk_job **out, ilk__reserve_request *self,
                            ilk_error *err)
{
    ilk_batch *batch;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = run(&batch, self, err);
    *out = batch ? &batch->jobs[0] : NULL; /* owns the batch's reference */
    return st;
}

/* ---- pop ---------------------------------------------------------------- */

static ilk__reserve_request pop_request(ilk_queue *queue, int64_t timeout_ms)
{
    const ilk__reserve_args args = {.max = 1, .timeout_ms = timeout_ms};

    return ilk__queue_reserve_request(queue, &args);
}

ilk_status ilk_queue_pop(ilk_job **out, ilk_queue *queue, int64_t timeout_ms,
                         ilk_error *err)
{
    ilk__reserve_request self = pop_request(queue, timeout_ms);

    return first_job(out, &self, err);
}

ilk_status ilk_queue_pop_start(ilk_op **out, ilk_queue *queue,
                               int64_t timeout_ms, ilk_error *err)
{
    ilk__reserve_request self = pop_request(queue, timeout_ms);

    return start(out, &self, err);
}

/* ---- under a lease ------------------------------------------------------ */

static ilk__reserve_request reserve_request(ilk_queue *queue, int32_t max,
                                            int64_t timeout_ms,
                                            int64_t lease_ms)
{
    const ilk__reserve_args args = {
        .max = max,
        .lease_ms = lease_ms ? lease_ms : ILK__LEASE_DEFAULT_MS,
        .timeout_ms = timeout_ms};

    return ilk__queue_reserve_request(queue, &args);
}

ilk_status ilk_queue_reserve(ilk_job **out, ilk_queue *queue,
                             int64_t timeout_ms, int64_t lease_ms,
                             ilk_error *err)
{
    ilk__reserve_request self = reserve_request(queue, 1, timeout_ms, lease_ms);

    return first_job(out, &self, err);
}

ilk_status ilk_queue_reserve_start(ilk_op **out, ilk_queue *queue,
                                   int64_t timeout_ms, int64_t lease_ms,
                                   ilk_error *err)
{
    ilk__reserve_request self = reserve_request(queue, 1, timeout_ms, lease_ms);

    return start(out, &self, err);
}

ilk_status ilk_queue_reserve_many(ilk_batch **out, ilk_queue *queue,
                                  int32_t max, int64_t timeout_ms,
                                  int64_t lease_ms, ilk_batch *done,
                                  ilk_error *err)
{
    ilk__reserve_request self =
        reserve_request(queue, max, timeout_ms, lease_ms);

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    self.done = done;
    return run(out, &self, err);
}

ilk_status ilk_queue_reserve_many_start(ilk_op **out, ilk_queue *queue,
                                        int32_t max, int64_t timeout_ms,
                                        int64_t lease_ms, ilk_batch *done,
                                        ilk_error *err)
{
    ilk__reserve_request self =
        reserve_request(queue, max, timeout_ms, lease_ms);

    self.done = done;
    return start(out, &self, err);
}

/* ---- ending waits ------------------------------------------------------- */

ilk_status ilk_queue_cancel(ilk_queue *queue, ilk_error *err)
{
    ilk_status st = ilk__queue_enter(queue, 0, err);
    ilk__shared *shared;

    if (st)
        return st;
    shared = queue->client->shared;
    atomic_fetch_add(&queue->cancels, 1);
    ilk__shared_lock(shared);
    for (ilk__queue_wait *wait = queue->waits; wait; wait = wait->next) {
        if (wait->suspended && !wait->busy && wait->waiter.refresher) {
            ilk__wait_give_up(&wait->waiter);
        } else if (wait->busy) {
            atomic_store(&wait->waiter.cancelled, 1);
            ilk__unpark(&wait->waiter.parker);
        }
    }
    ilk__shared_unlock(shared);
    return ILK_OK;
}

ilk_status ilk_queue_leave(ilk_queue *queue, ilk_error *err)
{
    ilk_status st = ilk__queue_enter(queue, 0, err);
    ilk__shared *shared;

    if (st)
        return st;
    shared = queue->client->shared;
    ilk__shared_lock(shared);
    for (ilk__queue_wait *wait = queue->waits; wait; wait = wait->next)
        if (wait->suspended && !wait->busy && wait->waiter.refresher
            && pthread_equal(wait->thread, pthread_self()))
            ilk__wait_give_up(&wait->waiter);
    ilk__shared_unlock(shared);
    return ILK_OK;
}
