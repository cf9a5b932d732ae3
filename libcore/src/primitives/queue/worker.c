/* SPDX-License-Identifier: MIT */
/*
 * worker.c -- the loop of a consumer.
 *
 *   the current batch:  [ done | failed | now | later ... ]
 *                          \______/        |      \___ not begun
 *                          settlements,    being worked on
 *                          not sent yet
 *
 * The worker collects the settlements of a batch and sends them in the command
 * that reserves the next one, so a batch costs one round trip.
 */
#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/opts.h"
#include "client/run.h"
#include "queue.h"

#include <interlock/worker.h>
#include <string.h>

struct ilk_worker {
    ilk_queue *queue;
    ilk_worker_opts opts;
    _Atomic int32_t stopped;
    _Atomic int64_t lost;
    ilk_batch *batch;             /* the current one; NULL: none */
    size_t next;                  /* index of the first message not begun */
    int working;                  /* on the message before that */
    ilk__settlements settlements; /* not sent yet */
};

/* ---- options, handles --------------------------------------------------- */

void ilk_worker_opts_init(ilk_worker_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_worker_opts *out, const ilk_worker_opts *in,
                             ilk_error *err)
{
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_worker_opts", err);

    if (st)
        return st;
    if (out->lease_ms == 0)
        out->lease_ms = ILK__LEASE_DEFAULT_MS;
    if (out->backoff_ms == 0)
        out->backoff_ms = ILK__DELIVERY_PAUSE_FIRST_MS;
    if (out->backoff_max_ms == 0)
        out->backoff_max_ms = ILK__DELIVERY_PAUSE_MOST_MS;
    if (out->batch == 0)
        out->batch = 1;
    if (out->batch < 1 || out->batch > ILK_QUEUE_BATCH_MAX)
        return ilk__fail(err, ILK_EINVAL, "batch must be 1 to %d, got %d",
                         ILK_QUEUE_BATCH_MAX, (int)out->batch);
    st = ilk__check_delay(out->backoff_ms, err);
    if (st == ILK_OK)
        st = ilk__check_delay(out->backoff_max_ms, err);
    return st ? st : ilk__check_lease(out->lease_ms, err);
}

static ilk_status open_queue(ilk_worker *worker, ilk_client *client,
                             const void *const *names, const size_t *name_lens,
                             size_t count, const ilk_queue_opts *opts,
                             ilk_error *err)
{
    ilk_queue_opts own;
    ilk_status st =
        ilk__opts_copy(&own, sizeof own, opts, "ilk_queue_opts", err);

    if (st)
        return st;
    own.flags |= ILK_QUEUE_RENEW;
    return ilk_queue_open_many(&worker->queue, client, names, name_lens, count,
                               &own, err);
}

ilk_status ilk_worker_open(ilk_worker **out, ilk_client *client,
                           const void *const *names, const size_t *name_lens,
                           size_t count, const ilk_queue_opts *queue,
                           const ilk_worker_opts *opts, ilk_error *err)
{
    ilk_worker *worker;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    worker = ilk__calloc(1, sizeof *worker);
    if (!worker)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = check_opts(&worker->opts, opts, err);
    if (st == ILK_OK)
        st = open_queue(worker, client, names, name_lens, count, queue, err);
    if (st)
        ilk__free(worker);
    else
        *out = worker;
    return st;
}

void ilk_worker_free(ilk_worker *worker)
{
    if (!worker)
        return;
    ilk__settlements_free(&worker->settlements);
    ilk_batch_free(worker->batch);
    ilk_queue_free(worker->queue);
    ilk__free(worker);
}

/* ---- answering ---------------------------------------------------------- */

static ilk_status enter(ilk_worker *worker, ilk_error *err)
{
    ilk_status st;

    if (!worker)
        return ilk__fail(err, ILK_EINVAL, "worker must not be NULL");
    st = ilk__queue_enter(worker->queue, 0, err);
    if (st == ILK_OK && worker->batch)
        st = ilk__batch_enter(worker->batch, err);
    return st;
}

static ilk_status answer(ilk_worker *worker, ilk__settlement_kind kind,
                         int64_t delay_ms, const void *reason,
                         size_t reason_len, ilk_error *err)
{
    ilk_status st = enter(worker, err);

    if (st)
        return st;
    if (!worker->working)
        return ilk__fail(err, ILK_ENOTOWNER, "no message is being worked on");
    if (!reason && reason_len)
        return ilk__fail(err, ILK_EINVAL, "reason must not be NULL");
    st = ilk__settlements_add(&worker->settlements, worker->batch, kind,
                              worker->next, worker->next, delay_ms, reason,
                              reason_len, err);
    if (st == ILK_OK)
        worker->working = 0;
    return st;
}

static int64_t pause_of(const ilk_worker *worker)
{
    return ilk__failure_pause_ms(
        worker->opts.backoff_ms, worker->opts.backoff_max_ms,
        worker->batch->jobs[worker->next - 1].attempts);
}

ilk_status ilk_worker_done(ilk_worker *worker, ilk_error *err)
{
    return answer(worker, ILK__SETTLE_DONE, 0, NULL, 0, err);
}

ilk_status ilk_worker_failed(ilk_worker *worker, const void *reason,
                             size_t reason_len, ilk_error *err)
{
    int64_t pause = worker && worker->working ? pause_of(worker) : 0;

    return answer(worker, ILK__SETTLE_FAILED, pause, reason, reason_len, err);
}

ilk_status ilk_worker_bury(ilk_worker *worker, const void *reason,
                           size_t reason_len, ilk_error *err)
{
    return answer(worker, ILK__SETTLE_DEAD, 0, reason, reason_len, err);
}

/* After a command with settlements. If a reply came, the batch is done. If not,
 * the settlements stay and are sent again. Messages whose return the server
 * refused for lack of memory are delivered again when their lease ends. */
static void receive(ilk_worker *worker)
{
    ilk__settlements *settlements = &worker->settlements;

    atomic_fetch_add(&worker->lost, settlements->lost);
    ilk__settlements_doubt(settlements);
    if (settlements->count == 0) {
        ilk_batch_free(worker->batch);
        worker->batch = NULL;
    }
    settlements->lost = settlements->unknown = settlements->refused = 0;
}

/* ---- the loop ----------------------------------------------------------- */

static ilk_status fetch(ilk_worker *worker, int64_t timeout_ms, ilk_error *err)
{
    const ilk__reserve_args args = {.max = worker->opts.batch,
                                    .lease_ms = worker->opts.lease_ms,
                                    .timeout_ms = timeout_ms,
                                    .settlements = &worker->settlements,
                                    .stop = &worker->stopped};
    ilk__reserve_request reserve =
        ilk__queue_reserve_request(worker->queue, &args);
    ilk_status st =
        ilk__queue_run(&reserve.request, ilk__queue_begin_reserve, err);

    receive(worker);
    if (st)
        return st;
    worker->batch = reserve.request.result.object;
    worker->next = 0;
    return ILK_OK;
}

ilk_status ilk_worker_next(ilk_job **out, ilk_worker *worker,
                           int64_t timeout_ms, ilk_error *err)
{
    static const char reason[] = "no answer from the worker";
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = enter(worker, err);
    if (st == ILK_OK && worker->working)
        st = ilk_worker_failed(worker, reason, sizeof reason - 1, err);
    if (st)
        return st;
    if (atomic_load(&worker->stopped))
        return ilk__fail(err, ILK_ECANCELLED, "the worker was stopped");
    if (timeout_ms != 0 && ilk_client_stopped(worker->queue->client))
        return ilk__fail(err, ILK_ECANCELLED, "the client is stopped");
    if (!worker->batch || worker->next == worker->batch->count)
        st = fetch(worker, timeout_ms, err);
    if (st)
        return st;
    worker->next++;
    worker->working = 1;
    return ilk_batch_job(out, worker->batch, worker->next - 1, err);
}

/* ---- the end ------------------------------------------------------------ */

static ilk_status give_back_rest(ilk_worker *worker, ilk_error *err)
{
    const ilk_batch *batch = worker->batch;
    ilk_status st = ILK_OK;

    if (batch && worker->next < batch->count)
        st = ilk__settlements_add(&worker->settlements, worker->batch,
                                  ILK__SETTLE_UNTOUCHED, worker->next + 1,
                                  batch->count, 0, NULL, 0, err);
    if (st == ILK_OK && batch)
        worker->next = batch->count;
    return st;
}

typedef struct settle_request {
    ilk__request request;
    ilk__settlement_query query;
} settle_request;

static void send_settlements(ilk__request *request)
{
    settle_request *self = (settle_request *)request;

    ilk__settlements_send(request, &self->query, 0, ilk__request_end);
}

static ilk_status settle_all(ilk_worker *worker, ilk_error *err)
{
    const ilk_queue *queue = worker->queue;
    settle_request self = {.query = {.settlements = &worker->settlements,
                                     .queue_keys = worker->batch->queue_keys,
                                     .keys = queue->keys,
                                     .key_count = queue->wait_queue.key_count}};

    return ilk__request_run(&self.request, queue->client, send_settlements,
                            err);
}

ilk_status ilk_worker_finish(ilk_worker *worker, ilk_error *err)
{
    static const char reason[] = "no answer from the worker";
    ilk_status st = enter(worker, err);

    if (st == ILK_OK && worker->working)
        st = ilk_worker_failed(worker, reason, sizeof reason - 1, err);
    if (st == ILK_OK)
        st = give_back_rest(worker, err);
    if (st || !worker->batch)
        return st;
    if (worker->settlements.count)
        st = settle_all(worker, err);
    receive(worker);
    return st;
}

ilk_status ilk_worker_stop(ilk_worker *worker, ilk_error *err)
{
    if (!worker)
        return ilk__fail(err, ILK_EINVAL, "worker must not be NULL");
    atomic_store(&worker->stopped, 1);
    return ilk_queue_cancel(worker->queue, err);
}

int64_t ilk_worker_lost(const ilk_worker *worker)
{
    return worker ? atomic_load(&worker->lost) : 0;
}

ilk_status ilk_worker_leave(ilk_worker *worker, ilk_error *err)
{
    if (!worker)
        return ilk__fail(err, ILK_EINVAL, "worker must not be NULL");
    return ilk_queue_leave(worker->queue, err);
}
