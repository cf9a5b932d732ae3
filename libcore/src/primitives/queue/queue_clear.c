/* SPDX-License-Identifier: MIT */
/* queue_clear.c -- clearing up: purge removes messages, requeue moves dead ones
 * back. */
#include "base/alloc.h"
#include "queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COPIES_MS = 60 * 1000 };

/* The result is a number of messages, and is right also if the request fails
 * half-way. */
typedef struct clear_request {
    ilk__request request;
    int64_t count; /* from the last reply */
    int32_t where; /* purge */
    /* requeue */
    int64_t id, most;
    int64_t left;                         /* the most still to move */
    ilk__bytes keys[ILK__QUEUE_KEYS + 1]; /* the queue's, then a once key */
    char id_text[24];
} clear_request;

static ilk__act counted(ilk__op *op, const ilk__reply *reply)
{
    clear_request *self = op->subject;

    self->count = ilk__script_int(reply, 0);
    return ilk__op_done(op, ILK_OK);
}

static ilk_status run(int64_t *out_count, clear_request *self,
                      ilk__request_begin *begin, ilk_error *err)
{
    ilk_status st = ilk__queue_run(&self->request, begin, err);

    if (out_count)
        *out_count = self->request.result.number;
    return st;
}

/* ---- purge -------------------------------------------------------------- */

static void ask_purge(ilk__op *op)
{
    const clear_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script,
                      ilk__queue_of(&self->request)->keys, ILK__QUEUE_KEYS);
    ilk__command_add_int(&op->command, self->where);
}

static const ilk__op_type queue_purge = {.name = "queue_purge",
                                         .script = ILK__SCRIPT_QUEUE_PURGE,
                                         .ask = ask_purge,
                                         .reply = counted};

static void purged(ilk__request *request, ilk_status status)
{
    request->result.number = ((clear_request *)request)->count;
    ilk__queue_end(request, status);
}

static void begin_purge(ilk__request *request)
{
    const int32_t all = ILK_QUEUE_READY | ILK_QUEUE_DELAYED | ILK_QUEUE_DEAD;
    int32_t where = ((clear_request *)request)->where;

    if (where < 1 || where > all)
        ilk__request_fail(request, ILK_EINVAL, "where must be 1 to %d, got %d",
                          (int)all, (int)where);
    else if (ilk__queue_begin(request, 1))
        ilk__request_ask(request, &queue_purge, request,
                         ilk__request_patience(request), purged);
}

ilk_status ilk_queue_purge(int64_t *out_count, ilk_queue *queue, int32_t where,
                           ilk_error *err)
{
    clear_request self = {.request = {.handle = queue}, .where = where};

    return run(out_count, &self, begin_purge, err);
}

ilk_status ilk_queue_purge_start(ilk_op **out, ilk_queue *queue, int32_t where,
                                 ilk_error *err)
{
    clear_request self = {.request = {.handle = queue}, .where = where};

    return ilk__queue_start(out, &self.request, sizeof self, begin_purge, err);
}

/* ---- requeue ------------------------------------------------------------ */

static int64_t batch_of(const clear_request *self)
{
    return self->left < ILK_QUEUE_BATCH_MAX ? self->left : ILK_QUEUE_BATCH_MAX;
}

static void ask_requeue(ilk__op *op)
{
    const clear_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__QUEUE_KEYS + 1);
    ilk__command_add_str(&op->command, self->id_text);
    ilk__command_add_int(&op->command, batch_of(self));
    ilk__command_add_int(&op->command, ILK__LIVENESS_MS);
    ilk__command_add_int(&op->command, COPIES_MS);
}

static const ilk__op_type queue_requeue = {.name = "queue_requeue",
                                           .script = ILK__SCRIPT_QUEUE_REQUEUE,
                                           .ask = ask_requeue,
                                           .reply = counted};

static void requeued(ilk__request *request, ilk_status status);

/* Moves at most one batch. Each command has a request id of its own, so that a
 * retry moves nothing more. */
static void requeue_some(clear_request *self)
{
    ilk__request *request = &self->request;
    const ilk_queue *queue = ilk__queue_of(request);
    char token[ILK__TOKEN_LEN + 1];
    ilk_status st = ilk__token(token, ILK__TOKEN_LEN, request->err);

    if (st == ILK_OK)
        st = ilk__queue_once_key(&self->keys[ILK__QUEUE_KEYS],
                                 queue->queue_keys[0], token, strlen(token),
                                 request->err);
    self->count = 0;
    if (st)
        ilk__queue_end(request, st);
    else
        ilk__request_ask(request, &queue_requeue, self,
                         ilk__request_patience(request), requeued);
}

static void requeued(ilk__request *request, ilk_status status)
{
    clear_request *self = (clear_request *)request;

    ilk__free(self->keys[ILK__QUEUE_KEYS].data);
    request->result.number += self->count;
    self->left -= self->count;
    if (status == ILK_OK && self->left > 0
        && self->count == ILK_QUEUE_BATCH_MAX)
        requeue_some(self);
    else
        ilk__queue_end(request, status);
}

static void begin_requeue(ilk__request *request)
{
    clear_request *self = (clear_request *)request;
    int64_t id = self->id, most = self->most;

    if (!ilk__queue_begin(request, 1))
        return;
    if (id < 0 || most < 0) {
        ilk__queue_end(request, ilk__fail(request->err, ILK_EINVAL,
                                          "%s must not be negative, got %lld",
                                          id < 0 ? "id" : "max",
                                          (long long)(id < 0 ? id : most)));
        return;
    }
    memcpy(self->keys, ilk__queue_of(request)->keys,
           ILK__QUEUE_KEYS * sizeof *self->keys);
    self->left = most ? most : INT64_MAX;
    if (id) {
        snprintf(self->id_text, sizeof self->id_text, "%" PRId64, id);
        self->left = 1;
    }
    requeue_some(self);
}

ilk_status ilk_queue_requeue(int64_t *out_count, ilk_queue *queue, int64_t id,
                             int64_t max, ilk_error *err)
{
    clear_request self = {.request = {.handle = queue}, .id = id, .most = max};

    return run(out_count, &self, begin_requeue, err);
}

ilk_status ilk_queue_requeue_start(ilk_op **out, ilk_queue *queue, int64_t id,
                                   int64_t max, ilk_error *err)
{
    clear_request self = {.request = {.handle = queue}, .id = id, .most = max};

    return ilk__queue_start(out, &self.request, sizeof self, begin_requeue,
                            err);
}
