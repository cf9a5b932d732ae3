/* SPDX-License-Identifier: MIT */
/* queue_reserve.c -- the requests that take messages. */
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

static ilk_status check(const ilk__taking *self, ilk_error *err)
{
    const ilk__wanted *wanted = &self->wanted;
    ilk_status st = ILK_OK;

    if (wanted->lease_ms) /* else for good */
        st = ilk__check_lease(wanted->lease_ms, err);
    if (st == ILK_OK && (wanted->max < 1 || wanted->max > ILK_QUEUE_BATCH_MAX))
        st = ilk__fail(err, ILK_EINVAL, "max must be 1 to %d, got %d",
                       ILK_QUEUE_BATCH_MAX, (int)wanted->max);
    if (st == ILK_OK && self->done)
        st = check_done(ilk__queue_of(&self->request), self->done, err);
    return st;
}

static ilk_status add_done(ilk__taking *self)
{
    ilk__batch_ref(self->done);
    self->wanted.settlements = &self->settlements;
    return ilk__settlements_add_open(&self->settlements, self->done,
                                     ILK__SETTLE_DONE, self->request.err);
}

void ilk__queue_begin_take(ilk__request *request)
{
    ilk__taking *self = (ilk__taking *)request;
    ilk_status st;

    if (!ilk__queue_begin(request, 0))
        return;
    st = check(self, request->err);
    if (st)
        self->done = NULL; /* not referred to yet */
    else if (self->done)
        st = add_done(self);
    if (st)
        ilk__queue_end_take(self, st);
    else
        ilk__queue_take(self);
}

static ilk_status run(ilk_batch **out, ilk__taking *self, ilk_error *err)
{
    ilk_status st = ilk__queue_run(&self->request, ilk__queue_begin_take, err);

    *out = self->request.result.object;
    return st;
}

static ilk_status start(ilk_op **out, ilk__taking *self, ilk_error *err)
{
    self->started = 1;
    return ilk__queue_start(out, &self->request, sizeof *self,
                            ilk__queue_begin_take, err);
}

static ilk_status first_job(ilk_job **out, ilk__taking *self, ilk_error *err)
{
    ilk_batch *batch;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = run(&batch, self, err);
    *out = batch ? &batch->jobs[0] : NULL; /* with the batch's own reference */
    return st;
}

/* ---- one, for good ------------------------------------------------------ */

static ilk__taking popping(ilk_queue *queue, int64_t timeout_ms)
{
    const ilk__wanted wanted = {.max = 1, .timeout_ms = timeout_ms};

    return ilk__queue_taking(queue, &wanted);
}

ilk_status ilk_queue_pop(ilk_job **out, ilk_queue *queue, int64_t timeout_ms,
                         ilk_error *err)
{
    ilk__taking self = popping(queue, timeout_ms);

    return first_job(out, &self, err);
}

ilk_status ilk_queue_pop_start(ilk_op **out, ilk_queue *queue,
                               int64_t timeout_ms, ilk_error *err)
{
    ilk__taking self = popping(queue, timeout_ms);

    return start(out, &self, err);
}

/* ---- under a lease ------------------------------------------------------ */

static ilk__taking reserving(ilk_queue *queue, int32_t max, int64_t timeout_ms,
                             int64_t lease_ms)
{
    const ilk__wanted wanted = {.max = max,
                                .lease_ms =
                                    lease_ms ? lease_ms : ILK__LEASE_DEFAULT_MS,
                                .timeout_ms = timeout_ms};

    return ilk__queue_taking(queue, &wanted);
}

ilk_status ilk_queue_reserve(ilk_job **out, ilk_queue *queue,
                             int64_t timeout_ms, int64_t lease_ms,
                             ilk_error *err)
{
    ilk__taking self = reserving(queue, 1, timeout_ms, lease_ms);

    return first_job(out, &self, err);
}

ilk_status ilk_queue_reserve_start(ilk_op **out, ilk_queue *queue,
                                   int64_t timeout_ms, int64_t lease_ms,
                                   ilk_error *err)
{
    ilk__taking self = reserving(queue, 1, timeout_ms, lease_ms);

    return start(out, &self, err);
}

ilk_status ilk_queue_reserve_many(ilk_batch **out, ilk_queue *queue,
                                  int32_t max, int64_t timeout_ms,
                                  int64_t lease_ms, ilk_batch *done,
                                  ilk_error *err)
{
    ilk__taking self = reserving(queue, max, timeout_ms, lease_ms);

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
    ilk__taking self = reserving(queue, max, timeout_ms, lease_ms);

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
    for (ilk__take *take = queue->takes; take; take = take->next) {
        if (take->parked && !take->busy && take->waiter.refresher) {
            ilk__wait_give_up(&take->waiter);
        } else if (take->busy) {
            atomic_store(&take->waiter.cancelled, 1);
            ilk__unpark(&take->waiter.parker);
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
    for (ilk__take *take = queue->takes; take; take = take->next)
        if (take->parked && !take->busy && take->waiter.refresher
            && pthread_equal(take->thread, pthread_self()))
            ilk__wait_give_up(&take->waiter);
    ilk__shared_unlock(shared);
    return ILK_OK;
}
