/* SPDX-License-Identifier: MIT */
/* queue_wait.c -- the threads that take from a queue, each with its place. */
#include "alloc.h"
#include "clock.h"
#include "queue.h"
#include "run.h"

/* What a wait for messages that are taken for good counts as. */
enum { GOOD_MS = ILK__LEASE_DEFAULT_MS };

/* ---- one for each thread ------------------------------------------------ */

static int same_wish(const ilk__wanted *a, const ilk__wanted *b)
{
    return a->max == b->max && a->lease_ms == b->lease_ms;
}

/* This thread's place in line, or a take that is free. */
static ilk__take *find(ilk_queue *queue)
{
    ilk__take *idle = NULL;

    for (ilk__take *take = queue->takes; take; take = take->next) {
        if (take->busy)
            continue;
        if (take->parked && pthread_equal(take->thread, pthread_self()))
            return take;
        if (!take->parked || !take->waiter.watch) {
            take->parked = 0;
            idle = take;
        }
    }
    return idle;
}

static ilk_status add(ilk__take **out, ilk_queue *queue, ilk_error *err)
{
    ilk__take *take = ilk__calloc(1, sizeof *take);
    ilk_status st;

    if (!take)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st =
        ilk__waiter_init(&take->waiter, queue->client->desk, &queue->line, err);
    if (st) {
        ilk__free(take);
        return st;
    }
    take->queue = queue;
    take->busy = 1;
    ilk__desk_lock(queue->client->desk);
    take->next = queue->takes;
    queue->takes = take;
    ilk__desk_unlock(queue->client->desk);
    *out = take;
    return ILK_OK;
}

/* A place that was kept for another question, or without what is to be said
 * now, is given up. */
static ilk_status check_out(ilk__take **out, ilk_queue *queue,
                            const ilk__wanted *wanted, ilk_error *err)
{
    ilk__desk *desk = queue->client->desk;
    ilk__take *take;
    int says = wanted->endings && wanted->endings->count;

    ilk__desk_lock(desk);
    take = find(queue);
    if (take) {
        take->busy = 1;
        take->stood = take->parked && take->waiter.watch;
    }
    ilk__desk_unlock(desk);
    if (take && take->parked
        && (says || wanted->timeout_ms == 0
            || !same_wish(&take->wanted, wanted)))
        ilk__waiter_cancel(&take->waiter);
    *out = take;
    return take ? ILK_OK : add(out, queue, err);
}

static void check_in(ilk__take *take, ilk_status st)
{
    ilk__desk *desk = take->queue->client->desk;

    ilk__desk_lock(desk);
    take->busy = 0;
    take->parked = st == ILK_EINTR && take->waiter.watch;
    take->thread = pthread_self();
    ilk__desk_unlock(desk);
}

void ilk__queue_drop_takes(ilk_queue *queue)
{
    /* A child, or what was the parent's, has nothing to take back. */
    int ours = !ilk__client_is_forked(queue->client)
               && queue->era == queue->client->era;
    ilk__take *take = queue->takes, *next;

    queue->takes = NULL;
    for (; take; take = next) {
        next = take->next;
        if (ours)
            ilk__waiter_destroy(&take->waiter);
        ilk__free(take);
    }
}

/* ---- the verb ----------------------------------------------------------- */

static ilk_status run(ilk__take *take, ilk_error *err)
{
    ilk_client *client = take->queue->client;
    const ilk__wanted *wanted = &take->wanted;
    int once = wanted->timeout_ms == 0, for_good = wanted->lease_ms == 0;
    int64_t deadline = ilk__deadline(once ? client->opts.connect_timeout_ms
                                                + client->opts.reply_timeout_ms
                                          : wanted->timeout_ms);
    ilk_status st;
    ilk__op op;

    take->waiter.lease_ms = for_good ? GOOD_MS : wanted->lease_ms;
    take->waiter.once = once;
    ilk__op_init(&op, for_good ? &ilk__queue_pop_op : &ilk__queue_reserve_op,
                 take, deadline, err);
    st = ilk__run(client, &op, &take->waiter.parker);
    ilk__op_free(&op);
    if (st && take->unknown)
        st = ilk__fail(err, ILK_EUNKNOWN,
                       "no answer: a message may be gone with it");
    return st;
}

/* What a late answer brought is on its way back already. */
static ilk_status keep(ilk_batch **out, ilk__take *take, ilk_error *err)
{
    const ilk__waiter *waiter = &take->waiter;
    const ilk_queue *queue = take->queue;
    ilk_status st = ILK_OK;

    *out = take->got;
    take->got = NULL;
    if (take->wanted.lease_ms)
        st = ilk__batch_hold(*out, ilk__waiter_token(waiter), waiter->began,
                             waiter->granted_ms,
                             (queue->opts.flags & ILK_QUEUE_RENEW) != 0, err);
    if (st) {
        ilk_batch_free(*out);
        *out = NULL;
        return st;
    }
    if (take->wanted.lease_ms)
        (*out)->lease_ms = take->wanted.lease_ms;
    return ILK_OK;
}

ilk_status ilk__queue_take(ilk_batch **out, ilk_queue *queue,
                           const ilk__wanted *wanted, ilk_error *err)
{
    uint32_t cancels = atomic_load(&queue->cancels);
    ilk__take *take;
    ilk_status st = ILK_OK;

    if (queue->opts.flags & ILK_QUEUE_RENEW && wanted->lease_ms)
        st = ilk__keeper_start(queue->client->keeper, err);
    if (st == ILK_OK)
        st = check_out(&take, queue, wanted, err);
    if (st)
        return st;
    take->wanted = *wanted;
    take->told = take->unknown = 0;
    take->cancels = cancels;
    st = run(take, err);
    if (st == ILK_OK)
        st = keep(out, take, err);
    ilk_batch_free(take->got);
    take->got = NULL;
    check_in(take, st);
    return st;
}
