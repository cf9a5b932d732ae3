/* SPDX-License-Identifier: MIT */
/* queue_enter.c -- how requests enter and leave the handle of a queue. */
#include "queue.h"

#include "base/alloc.h"
#include "client/run.h"

void ilk__queue_drop_waits(ilk_queue *queue)
{
    /* In a forked child the entries in the server are the parent's. */
    int ours = !ilk__client_is_forked(queue->client)
               && queue->era == queue->client->era;
    ilk__queue_wait *wait = queue->waits, *next;

    queue->waits = queue->suspended = queue->idle = NULL;
    for (; wait; wait = next) {
        next = wait->next;
        if (ours)
            ilk__waiter_destroy(&wait->waiter);
        ilk__free(wait);
    }
}

static ilk_status no_queue(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "queue must not be NULL");
}

ilk_status ilk__queue_enter(ilk_queue *queue, int alone, ilk_error *err)
{
    ilk_status st;

    if (!queue)
        return no_queue(err);
    st = ilk__client_enter(queue->client, err);
    if (st)
        return st;
    if (alone && queue->count > 1)
        return ilk__fail(err, ILK_EINVAL,
                         "a handle for %zu queues can only take from them",
                         queue->count);
    if (queue->era == queue->client->era)
        return ILK_OK;
    /* The waits are the parent's; a child begins with one thread. */
    ilk__queue_drop_waits(queue);
    queue->requests = 0;
    queue->era = queue->client->era;
    return ILK_OK;
}

ilk_queue *ilk__queue_of(const ilk__request *request)
{
    return (ilk_queue *)request->handle;
}

int ilk__queue_begin(ilk__request *request, int alone)
{
    ilk_queue *queue = ilk__queue_of(request);
    ilk_status st = ilk__queue_enter(queue, alone, request->err);

    if (st)
        ilk__request_end(request, st);
    else
        atomic_fetch_add(&queue->requests, 1);
    return st == ILK_OK;
}

void ilk__queue_end(ilk__request *request, ilk_status status)
{
    atomic_fetch_sub(&ilk__queue_of(request)->requests, 1);
    ilk__request_end(request, status);
}

ilk_status ilk__queue_run(ilk__request *request, ilk__request_begin *begin,
                          ilk_error *err)
{
    const ilk_queue *queue = request->handle;

    return queue ? ilk__request_run(request, queue->client, begin, err)
                 : no_queue(err);
}

ilk_status ilk__queue_start(ilk_op **out, ilk__request *request, size_t size,
                            ilk__request_begin *begin, ilk_error *err)
{
    const ilk_queue *queue = request->handle;

    return queue ? ilk__request_start(out, request, size, queue->client, begin,
                                      err)
                 : ilk__started_none(out, no_queue(err));
}
