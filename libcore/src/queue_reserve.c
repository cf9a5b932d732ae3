/* SPDX-License-Identifier: MIT */
/* queue_reserve.c -- the verbs that take messages. */
#include "queue.h"

static ilk_status first_job(ilk_job **out, ilk_queue *queue,
                            const ilk__wanted *wanted, ilk_error *err)
{
    ilk_batch *batch = NULL;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__queue_enter(queue, 0, err);
    if (st == ILK_OK)
        st = ilk__queue_take(&batch, queue, wanted, err);
    if (st == ILK_OK)
        *out = &batch->jobs[0]; /* with the batch's own reference */
    return st;
}

ilk_status ilk_queue_pop(ilk_job **out, ilk_queue *queue, int64_t timeout_ms,
                         ilk_error *err)
{
    ilk__wanted wanted = {.max = 1, .timeout_ms = timeout_ms};

    return first_job(out, queue, &wanted, err);
}

ilk_status ilk_queue_reserve(ilk_job **out, ilk_queue *queue,
                             int64_t timeout_ms, int64_t lease_ms,
                             ilk_error *err)
{
    ilk__wanted wanted = {.max = 1,
                          .lease_ms =
                              lease_ms ? lease_ms : ILK__LEASE_DEFAULT_MS,
                          .timeout_ms = timeout_ms};
    ilk_status st = ilk__check_lease(wanted.lease_ms, err);

    if (st && out)
        *out = NULL;
    return st ? st : first_job(out, queue, &wanted, err);
}

static ilk_status check_done(const ilk_queue *queue, const ilk_batch *done,
                             ilk_error *err)
{
    ilk_status st;

    if (!done)
        return ILK_OK;
    st = ilk__batch_enter(done, err);
    if (st)
        return st;
    if (done->client == queue->client && done->leased
        && done->index < queue->count
        && done->shelf == queue->shelves[done->index])
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "done must be a batch that this handle reserved");
}

static ilk_status check_many(const ilk_queue *queue, int32_t max,
                             int64_t lease_ms, const ilk_batch *done,
                             ilk_error *err)
{
    ilk_status st = ilk__check_lease(lease_ms, err);

    if (st == ILK_OK && (max < 1 || max > ILK_QUEUE_BATCH_MAX))
        st = ilk__fail(err, ILK_EINVAL, "max must be 1 to %d, got %d",
                       ILK_QUEUE_BATCH_MAX, (int)max);
    return st ? st : check_done(queue, done, err);
}

ilk_status ilk_queue_reserve_many(ilk_batch **out, ilk_queue *queue,
                                  int32_t max, int64_t timeout_ms,
                                  int64_t lease_ms, ilk_batch *done,
                                  ilk_error *err)
{
    ilk__endings endings = {0};
    ilk__wanted wanted = {.max = max,
                          .lease_ms =
                              lease_ms ? lease_ms : ILK__LEASE_DEFAULT_MS,
                          .timeout_ms = timeout_ms,
                          .endings = done ? &endings : NULL};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__queue_enter(queue, 0, err);
    if (st == ILK_OK)
        st = check_many(queue, max, wanted.lease_ms, done, err);
    if (st == ILK_OK && done)
        st = ilk__endings_add_open(&endings, done, ILK__ENDING_DONE, err);
    if (st == ILK_OK)
        st = ilk__queue_take(out, queue, &wanted, err);
    ilk__endings_doubt(&endings);
    ilk__endings_unheard(&endings); /* none, if the question was answered */
    return st;
}

ilk_status ilk_queue_cancel(ilk_queue *queue, ilk_error *err)
{
    ilk_status st = ilk__queue_enter(queue, 0, err);
    ilk__desk *desk;

    if (st)
        return st;
    desk = queue->client->desk;
    atomic_fetch_add(&queue->cancels, 1);
    ilk__desk_lock(desk);
    for (ilk__take *take = queue->takes; take; take = take->next) {
        if (take->parked && !take->busy && take->waiter.watch) {
            ilk__wait_give_up(&take->waiter);
        } else if (take->busy) {
            atomic_store(&take->waiter.cancelled, 1);
            ilk__unpark(&take->waiter.parker);
        }
    }
    ilk__desk_unlock(desk);
    return ILK_OK;
}

ilk_status ilk_queue_leave(ilk_queue *queue, ilk_error *err)
{
    ilk_status st = ilk__queue_enter(queue, 0, err);
    ilk__desk *desk;

    if (st)
        return st;
    desk = queue->client->desk;
    ilk__desk_lock(desk);
    for (ilk__take *take = queue->takes; take; take = take->next)
        if (take->parked && !take->busy && take->waiter.watch
            && pthread_equal(take->thread, pthread_self()))
            ilk__wait_give_up(&take->waiter);
    ilk__desk_unlock(desk);
    return ILK_OK;
}
