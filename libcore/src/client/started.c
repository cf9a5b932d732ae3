/* SPDX-License-Identifier: MIT */
/*
 * started.c -- started operations, from the start until they are freed.
 *
 *     running ---- over ----> done --fetched--> in no list, until ilk_op_free()
 *         \                     ^
 *          `--> cancelling -----'    cancelled, and its cancel is not written yet
 *
 * Other threads wake an operation: unparking the bound parker pushes it
 * onto the lock-free stack loop->ready and raises the wake-up descriptor. The
 * next turn pops all of them and wakes those that sleep.
 */
#include "loop_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "client.h"

#include <string.h>

/* ---- lists -------------------------------------------------------------- */

static void list_add(ilk__started_list *list, ilk_op *op)
{
    op->list = list;
    op->next = NULL;
    op->previous = list->last;
    if (list->last)
        list->last->next = op;
    else
        list->first = op;
    list->last = op;
}

void ilk__started_remove(ilk_op *op)
{
    ilk__started_list *list = op->list;

    if (!list)
        return;
    if (op->previous)
        op->previous->next = op->next;
    else
        list->first = op->next;
    if (op->next)
        op->next->previous = op->previous;
    else
        list->last = op->previous;
    op->list = NULL;
}

static int is_running(const ilk_op *op)
{
    return op->list == &op->client->loop->running;
}

/* Move it from `running` or `cancelling`. */
static void move_to_done(ilk__loop *loop, ilk_op *op)
{
    ilk__started_remove(op);
    atomic_fetch_sub(&loop->under_way, 1);
    op->done = 1;
    list_add(&loop->done, op);
}

void ilk__loop_cancels_sent(ilk__loop *loop)
{
    while (loop->cancelling.first)
        move_to_done(loop, loop->cancelling.first);
}

/* ---- news --------------------------------------------------------------- */

static ilk_op *op_of_wake(ilk__wake *wake)
{
    return (ilk_op *)((char *)wake - offsetof(ilk_op, wake));
}

static void push_ready(ilk__loop *loop, ilk_op *op)
{
    op->next_ready = atomic_load(&loop->ready);
    while (!atomic_compare_exchange_weak(&loop->ready, &op->next_ready, op))
        continue;
}

/* Called by the keeper, or by a thread that cancels through the handle, with
 * the shared state's mutex held. */
static void on_news(ilk__wake *wake)
{
    ilk_op *op = op_of_wake(wake);
    ilk__loop *loop = op->client->loop;

    if (atomic_exchange(&op->ready, 1))
        return;
    push_ready(loop, op);
    ilk__loop_wake_up(loop);
}

static void bind(ilk_op *op, ilk__parker *parker)
{
    ilk__shared *shared = op->client->shared;

    if (op->bound == parker)
        return;
    ilk__shared_lock(shared);
    if (op->bound)
        op->bound->wake = NULL;
    if (parker)
        parker->wake = &op->wake;
    ilk__shared_unlock(shared);
    op->bound = parker;
}

/* Empty the stack; returns its operations in the order in which news came. */
static ilk_op *pop_ready(ilk__loop *loop)
{
    ilk_op *last = atomic_exchange(&loop->ready, NULL), *first = NULL;

    while (last) {
        ilk_op *op = last;

        last = op->next_ready;
        op->next_ready = first;
        first = op;
    }
    return first;
}

void ilk__loop_wake_ready(ilk__loop *loop)
{
    for (ilk_op *next, *op = pop_ready(loop); op; op = next) {
        next = op->next_ready;
        atomic_store(&op->ready, 0);
        if (op->inflight.state == ILK__INFLIGHT_ASLEEP && op->bound
            && ilk__parker_consume(op->bound))
            ilk__inflight_wake(&loop->pipeline, &op->inflight, ILK__CAUSE_NEWS);
    }
}

void ilk__loop_wake_all(ilk__loop *loop)
{
    for (ilk_op *next, *op = loop->running.first; op; op = next) {
        next = op->next;
        ilk__inflight_wake(&loop->pipeline, &op->inflight, ILK__CAUSE_NEWS);
    }
}

/* Whether the server is away, so that a request that does not wait may end before it
 * has a reply. */
static int is_away(const ilk_op *op)
{
    return op->inflight.op.resend
           || atomic_load(&op->client->shared->outage.since);
}

void ilk__loop_stop_waits(ilk__loop *loop)
{
    for (ilk_op *next, *op = loop->running.first; op; op = next) {
        int is_pausing;

        next = op->next;
        is_pausing = op->inflight.state == ILK__INFLIGHT_UNSENT
                     && !op->request->parker && is_away(op);
        if ((op->inflight.state != ILK__INFLIGHT_ASLEEP && !is_pausing)
            || !ilk__shared_is_stopped_anew(op->client->shared, &op->stop))
            continue;
        if (is_pausing)
            ilk__inflight_withhold(&loop->pipeline, &op->inflight,
                                   ILK_ECANCELLED);
        else
            ilk__inflight_wake(&loop->pipeline, &op->inflight,
                               ILK__CAUSE_STOPPED);
    }
}

/* The request is over: unbind its parker and remove it from the stack. */
static void withdraw_from_ready(ilk__loop *loop, ilk_op *gone)
{
    bind(gone, NULL);
    if (!gone->ready)
        return;
    for (ilk_op *next, *op = pop_ready(loop); op; op = next) {
        next = op->next_ready;
        if (op != gone)
            push_ready(loop, op);
    }
    gone->ready = 0;
}

/* ---- from one operation of the request to the next ---------------------- */

static int is_awake(ilk__inflight *inflight, ilk__cause *cause)
{
    ilk_op *op = (ilk_op *)inflight;

    *cause = ILK__CAUSE_INTERRUPT;
    if (op->cancelled && inflight->op.resend)
        return 1; /* it would go on retransmitting */
    *cause = ILK__CAUSE_STOPPED;
    if (ilk__shared_is_stopped_anew(op->client->shared, &op->stop))
        return 1;
    if (!op->request->parker)
        return 0;
    bind(op, op->request->parker);
    *cause = ILK__CAUSE_NEWS;
    return ilk__parker_consume(op->bound);
}

/* A wait that was cancelled between two copies of a command ends with ILK_EINTR
 * and leaves its entry in the wait queue. Give that up, and return
 * ILK_ECANCELLED instead. Another request keeps its status, which may say that it has
 * a reply or may have been executed, unless it was ended like this or dropped. */
static void settle_cancelled(ilk_op *op)
{
    ilk__request *request = op->request;

    if (!op->cancelled || request->status == ILK_OK
        || (!request->give_up && request->status != ILK_EINTR
            && request->status != ILK_ECLOSED))
        return;
    if (request->status == ILK_EINTR && request->give_up)
        request->give_up(request);
    request->status = ilk__fail(request->err, ILK_ECANCELLED, "%s",
                                ilk_strerror(ILK_ECANCELLED));
}

static void over(ilk_op *op)
{
    ilk__loop *loop = op->client->loop;

    withdraw_from_ready(loop, op);
    settle_cancelled(op);
    if (op->request->status && op->request->err->code == 0)
        ilk__fail(op->request->err, op->request->status, "%s",
                  ilk_strerror(op->request->status));
    ilk__timers_unreserve(&loop->timers);
    if (op->cancelled
        && ilk__async_conn_unwritten(&loop->pipeline.connection)) {
        ilk__started_remove(op);
        list_add(&loop->cancelling, op);
    } else {
        move_to_done(loop, op);
    }
}

/* It was cancelled during one operation, and the request went on to another
 * one that waits: cancel that, too. */
static void cancel_again(ilk_op *op)
{
    if (!op->cancelled || !is_running(op) || !op->request->parker)
        return;
    op->request->give_up(op->request);
    ilk__inflight_withhold(&op->client->loop->pipeline, &op->inflight,
                           ILK_ECANCELLED);
}

static void finished(ilk__inflight *inflight)
{
    ilk_op *op = (ilk_op *)inflight;
    ilk__request *request = op->request;
    ilk__request_then *then = request->then;
    ilk_status st = inflight->op.status;

    ilk__op_free(&inflight->op);
    bind(op, NULL); /* the next user of the handle also uses its parker */
    request->then = NULL;
    then(request, st);
    if (!request->then) {
        over(op);
        return;
    }
    ilk__inflight_start(&op->client->loop->pipeline, inflight);
    cancel_again(op);
}

/* ---- starting ----------------------------------------------------------- */

static ilk_op *make(const ilk__request *request, size_t size,
                    ilk_client *client)
{
    ilk_op *op = ilk__calloc(1, sizeof *op + size);

    if (!op)
        return NULL;
    op->request = memcpy(op->room, request, size);
    op->request->client = client;
    op->request->reply_timeout_ms = client->opts.reply_timeout_ms;
    op->request->outage = &client->shared->outage;
    op->request->op = &op->inflight.op;
    op->request->err = &op->error;
    op->client = ilk__client_ref(client);
    op->era = client->era;
    op->id = ilk__shared_new_id(client->shared);
    op->wake.call = on_news;
    ilk__inflight_init(&op->inflight, client->shared, NULL, NULL);
    op->inflight.is_awake = is_awake;
    op->inflight.finished = finished;
    return op;
}

/* Free it. The mutex is not held. */
static void discard(ilk_op *op)
{
    ilk__result *result = &op->request->result;

    if (result->object)
        result->dispose(result->object);
    ilk__client_unref(op->client);
    ilk__free(op);
}

static ilk_status start(ilk__loop *loop, ilk_op *op, ilk__request_begin *begin,
                        ilk_error *err)
{
    ilk__request *request = op->request;
    ilk_status st = loop->shut ? ilk__client_enter(loop->client, err)
                               : ilk__loop_open(loop, err);

    if (st == ILK_OK)
        st = ilk__timers_reserve(&loop->timers, err);
    if (st)
        return st;
    begin(request);
    if (!request->parker) /* an earlier stop does not end it */
        (void)ilk__shared_is_stopped_anew(op->client->shared, &op->stop);
    if (!request->then && request->status) {
        ilk__timers_unreserve(&loop->timers);
        if (err)
            *err = op->error;
        return request->status;
    }
    list_add(&loop->running, op);
    atomic_fetch_add(&loop->under_way, 1);
    if (request->then)
        ilk__inflight_start(&loop->pipeline, &op->inflight);
    else
        over(op);
    ilk__loop_kick(loop);
    return ILK_OK;
}

ilk_status ilk__request_start(ilk_op **out, const ilk__request *request,
                              size_t size, ilk_client *client,
                              ilk__request_begin *begin, ilk_error *err)
{
    ilk_status st;
    ilk_op *op;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    op = make(request, size, client);
    if (!op)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ilk__loop_lock(client->loop);
    st = start(client->loop, op, begin, err);
    ilk__loop_unlock(client->loop);
    if (st)
        discard(op);
    else
        *out = op;
    return st;
}

ilk_status ilk__started_none(ilk_op **out, ilk_status status)
{
    if (out)
        *out = NULL;
    return status;
}

/* ---- ending early ------------------------------------------------------- */

/* A request that does not wait runs to its end, but ends its pauses. */
static void cancel(ilk__loop *loop, ilk_op *op)
{
    if (!is_running(op))
        return;
    op->cancelled = 1;
    if (op->request->give_up)
        op->request->give_up(op->request);
    else if (!is_away(op))
        return;
    if (op->inflight.op.resend)
        ilk__inflight_wake(&loop->pipeline, &op->inflight,
                           ILK__CAUSE_INTERRUPT);
    else
        ilk__loop_wake_ready(loop);
    if (is_running(op))
        ilk__inflight_withhold(&loop->pipeline, &op->inflight, ILK_ECANCELLED);
}

/*
 * Nobody will fetch the result. A sleeping wait ends as by EINTR, and its entry
 * is given up together with what it may have been granted. The application may
 * not run another turn soon, so the cancels are written now.
 */
static void end_early(ilk__loop *loop, ilk_op *op)
{
    op->cancelled = 1;
    if (is_running(op) && op->request->give_up && op->request->parker)
        ilk__inflight_wake(&loop->pipeline, &op->inflight,
                           ILK__CAUSE_INTERRUPT);
    if (is_running(op))
        ilk__inflight_close(&loop->pipeline, &op->inflight);
    ilk__async_conn_flush(&loop->pipeline.connection);
    if (!op->done)
        move_to_done(loop, op);
}

void ilk__loop_forget(ilk__loop *loop, const void *handle)
{
    ilk__loop_lock(loop);
    for (ilk_op *next, *op = loop->running.first; op; op = next) {
        next = op->next;
        if (op->request->handle == handle)
            end_early(loop, op);
    }
    ilk__loop_kick(loop);
    ilk__loop_unlock(loop);
}

void ilk__loop_end_all(ilk__loop *loop)
{
    while (loop->running.first)
        ilk__inflight_close(&loop->pipeline, &loop->running.first->inflight);
}

/* ---- the public functions (interlock/op.h) ------------------------------ */

static int is_mine(const ilk_op *op)
{
    return !ilk__client_is_forked(op->client) && op->era == op->client->era;
}

static ilk_status enter(const ilk_op *op, ilk_error *err)
{
    ilk__error_clear(err);
    if (!op)
        return ilk__fail(err, ILK_EINVAL, "op must not be NULL");
    if (!is_mine(op))
        return ilk__fail(err, ILK_EFORKED,
                         "the operation belongs to the parent process");
    return ILK_OK;
}

int64_t ilk_op_id(const ilk_op *op)
{
    return op ? op->id : 0;
}

void ilk_op_set_user(ilk_op *op, void *user)
{
    if (op)
        atomic_store(&op->user, user);
}

void *ilk_op_user(const ilk_op *op)
{
    return op ? atomic_load(&op->user) : NULL;
}

ilk_status ilk_op_status(ilk_op *op, ilk_error *err)
{
    ilk_status st = enter(op, err);

    if (st)
        return st;
    ilk__loop_lock(op->client->loop);
    st = op->done ? op->request->status : ILK_EAGAIN;
    if (st == ILK_EAGAIN)
        ilk__fail(err, st, "the operation is under way");
    else if (st && err)
        *err = op->error;
    ilk__loop_unlock(op->client->loop);
    return st;
}

int64_t ilk_op_number(ilk_op *op)
{
    int64_t number;

    if (enter(op, NULL))
        return 0;
    ilk__loop_lock(op->client->loop);
    number = op->done ? op->request->result.number : 0;
    ilk__loop_unlock(op->client->loop);
    return number;
}

void *ilk__started_object(ilk_op *op, void (*dispose)(void *object))
{
    void *object = NULL;

    if (enter(op, NULL))
        return NULL;
    ilk__loop_lock(op->client->loop);
    if (op->done && op->request->result.dispose == dispose)
        object = op->request->result.object;
    ilk__loop_unlock(op->client->loop);
    return object;
}

ilk_status ilk_op_cancel(ilk_op *op, ilk_error *err)
{
    ilk_status st = enter(op, err);

    if (st)
        return st;
    ilk__loop_lock(op->client->loop);
    cancel(op->client->loop, op);
    ilk__loop_kick(op->client->loop);
    ilk__loop_unlock(op->client->loop);
    return ILK_OK;
}

void ilk_op_free(ilk_op *op)
{
    if (!op)
        return;
    if (is_mine(op)) {
        ilk__loop *loop = op->client->loop;

        ilk__loop_lock(loop);
        if (!op->done)
            end_early(loop, op);
        ilk__started_remove(op);
        ilk__loop_kick(loop);
        ilk__loop_unlock(loop);
    }
    discard(op);
}
