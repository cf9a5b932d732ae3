/* SPDX-License-Identifier: MIT */
/* queue_inspect.c -- reading a queue: its size, all its numbers, its
 * messages. */
#include "base/alloc.h"
#include "queue.h"

#include <string.h>

enum { COUNTS = ILK_QUEUE_N_OLDEST_MS + 1 };

/* The elements of queue_inspect's reply, after the code. */
enum {
    AT_READY,
    AT_DUE,
    AT_DELAYED,
    AT_TAKEN,
    AT_DEAD,
    AT_WAITING,
    AT_PUSHED,
    AT_EXPIRED,
    AT_RETURNED,
    AT_BURIED,
    AT_PURGED,
    AT_OLDEST,
    AT_ORDER
};

struct ilk_queue_info {
    int64_t counts[COUNTS];
};

typedef struct inspect_request {
    ilk__request request;
    int64_t found[AT_ORDER];
    int32_t order;
    int32_t where;
    int64_t from;
    int32_t max;
    ilk_batch *batch;
} inspect_request;

static inspect_request inspect_request_of(ilk_queue *queue)
{
    return (inspect_request){.request = {.handle = queue}};
}

static void ask(ilk__request *request, const ilk__op_type *type,
                ilk__request_then *then)
{
    if (ilk__queue_begin(request, 1))
        ilk__request_ask(request, type, request, ilk__request_patience(request),
                         then);
}

/* Begins a command with all of the queue's keys. */
static const inspect_request *begin_question(ilk__op *op)
{
    const inspect_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script,
                      ilk__queue_of(&self->request)->keys, ILK__QUEUE_KEYS);
    return self;
}

static ilk_status run(inspect_request *self, ilk__request_begin *begin,
                      ilk_error *err)
{
    return ilk__queue_run(&self->request, begin, err);
}

static ilk_status start(ilk_op **out, inspect_request *self,
                        ilk__request_begin *begin, ilk_error *err)
{
    return ilk__queue_start(out, &self->request, sizeof *self, begin, err);
}

/* ---- size --------------------------------------------------------------- */

static void ask_inspect(ilk__op *op)
{
    (void)begin_question(op);
    ilk__command_add_int(&op->command, 0); /* no reservations */
}

static ilk__act inspected(ilk__op *op, const ilk__reply *reply)
{
    inspect_request *self = op->subject;
    const ilk__reply *order = ilk__script_item(reply, AT_ORDER);

    for (size_t i = 0; i < AT_ORDER; i++)
        self->found[i] = ilk__script_int(reply, i);
    self->order = -1;
    if (order->len)
        self->order =
            strcmp(order->str, "filo") == 0 ? ILK_QUEUE_FILO : ILK_QUEUE_FIFO;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type queue_inspect = {.name = "queue_inspect",
                                           .script = ILK__SCRIPT_QUEUE_INSPECT,
                                           .reply_is_optional = 1,
                                           .ask = ask_inspect,
                                           .reply = inspected};

static void sized(ilk__request *request, ilk_status status)
{
    const int64_t *found = ((inspect_request *)request)->found;

    request->result.number = found[AT_READY] + found[AT_DUE];
    ilk__queue_end(request, status);
}

static void begin_size(ilk__request *request)
{
    ask(request, &queue_inspect, sized);
}

ilk_status ilk_queue_size(int64_t *out_count, ilk_queue *queue, ilk_error *err)
{
    inspect_request self = inspect_request_of(queue);
    ilk_status st;

    if (!out_count)
        return ilk__fail(err, ILK_EINVAL, "out_count must not be NULL");
    st = run(&self, begin_size, err);
    *out_count = self.request.result.number;
    return st;
}

ilk_status ilk_queue_size_start(ilk_op **out, ilk_queue *queue, ilk_error *err)
{
    inspect_request self = inspect_request_of(queue);

    return start(out, &self, begin_size, err);
}

/* ---- all numbers -------------------------------------------------------- */

/* A message that was pushed and is in none of these places is finished. */
static int64_t finished(const int64_t *found)
{
    int64_t rest = found[AT_PUSHED] - found[AT_READY] - found[AT_DELAYED]
                   - found[AT_TAKEN] - found[AT_DEAD] - found[AT_PURGED];

    return rest > 0 ? rest : 0;
}

static ilk_queue_info *info_of(const inspect_request *self)
{
    const int64_t *found = self->found;
    ilk_queue_info *info = ilk__calloc(1, sizeof *info);

    if (!info)
        return NULL;
    *info = (ilk_queue_info){.counts = {
                                 [ILK_QUEUE_N_READY] = found[AT_READY],
                                 [ILK_QUEUE_N_DELAYED] = found[AT_DELAYED],
                                 [ILK_QUEUE_N_TAKEN] = found[AT_TAKEN],
                                 [ILK_QUEUE_N_DEAD] = found[AT_DEAD],
                                 [ILK_QUEUE_N_WAITING] = found[AT_WAITING],
                                 [ILK_QUEUE_N_PUSHED] = found[AT_PUSHED],
                                 [ILK_QUEUE_N_FINISHED] = finished(found),
                                 [ILK_QUEUE_N_EXPIRED] = found[AT_EXPIRED],
                                 [ILK_QUEUE_N_RETURNED] = found[AT_RETURNED],
                                 [ILK_QUEUE_N_BURIED] = found[AT_BURIED],
                                 [ILK_QUEUE_N_PURGED] = found[AT_PURGED],
                                 [ILK_QUEUE_N_ORDER] = self->order,
                                 [ILK_QUEUE_N_OLDEST_MS] = found[AT_OLDEST],
                             }};
    return info;
}

static void dispose(void *info)
{
    ilk_queue_info_free(info);
}

static void found_out(ilk__request *request, ilk_status status)
{
    ilk_queue_info *info = status ? NULL : info_of((inspect_request *)request);

    if (status == ILK_OK && !info)
        status = ilk__fail(request->err, ILK_ENOMEM, "out of memory");
    ilk__request_answer(request, info, dispose);
    ilk__queue_end(request, status);
}

static void begin_inspect(ilk__request *request)
{
    ask(request, &queue_inspect, found_out);
}

ilk_status ilk_queue_inspect(ilk_queue_info **out, ilk_queue *queue,
                             ilk_error *err)
{
    inspect_request self = inspect_request_of(queue);
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = run(&self, begin_inspect, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_queue_inspect_start(ilk_op **out, ilk_queue *queue,
                                   ilk_error *err)
{
    inspect_request self = inspect_request_of(queue);

    return start(out, &self, begin_inspect, err);
}

const ilk_queue_info *ilk_op_queue_info(ilk_op *op)
{
    return ilk__started_object(op, dispose);
}

int64_t ilk_queue_info_get(const ilk_queue_info *info, int32_t count)
{
    return info && count >= 0 && count < COUNTS ? info->counts[count] : 0;
}

void ilk_queue_info_free(ilk_queue_info *info)
{
    ilk__free(info);
}

/* ---- peek --------------------------------------------------------------- */

static void ask_peek(ilk__op *op)
{
    const inspect_request *self = begin_question(op);

    ilk__command_add_int(&op->command, self->where);
    ilk__command_add_int(&op->command, self->from);
    ilk__command_add_int(&op->command, self->max);
}

static ilk__act peeked(ilk__op *op, const ilk__reply *reply)
{
    inspect_request *self = op->subject;
    const ilk_queue *queue = ilk__queue_of(&self->request);

    return ilk__op_done(
        op, ilk__batch_new(&self->batch, queue->client, queue->queue_keys[0],
                           reply, 0, self->where == ILK_QUEUE_DEAD, op->err));
}

static const ilk__op_type queue_peek = {.name = "queue_peek",
                                        .script = ILK__SCRIPT_QUEUE_PEEK,
                                        .reply_is_optional = 1,
                                        .ask = ask_peek,
                                        .reply = peeked};

static void seen(ilk__request *request, ilk_status status)
{
    ilk__batch_answer(request, ((inspect_request *)request)->batch);
    ilk__queue_end(request, status);
}

static void begin_peek(ilk__request *request)
{
    const inspect_request *self = (inspect_request *)request;

    if (self->where != ILK_QUEUE_READY && self->where != ILK_QUEUE_DELAYED
        && self->where != ILK_QUEUE_DEAD)
        ilk__request_fail(request, ILK_EINVAL,
                          "where must be one place, got %d", (int)self->where);
    else if (self->from < 0)
        ilk__request_fail(request, ILK_EINVAL,
                          "from must not be negative, got %lld",
                          (long long)self->from);
    else if (self->max < 1 || self->max > ILK_QUEUE_BATCH_MAX)
        ilk__request_fail(request, ILK_EINVAL, "max must be 1 to %d, got %d",
                          ILK_QUEUE_BATCH_MAX, (int)self->max);
    else
        ask(request, &queue_peek, seen);
}

static inspect_request peek_request_of(ilk_queue *queue, int32_t where,
                                       int64_t from, int32_t max)
{
    inspect_request self = inspect_request_of(queue);

    self.where = where;
    self.from = from;
    self.max = max;
    return self;
}

ilk_status ilk_queue_peek(ilk_batch **out, ilk_queue *queue, int32_t where,
                          int64_t from, int32_t max, ilk_error *err)
{
    inspect_request self = peek_request_of(queue, where, from, max);
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = run(&self, begin_peek, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_queue_peek_start(ilk_op **out, ilk_queue *queue, int32_t where,
                                int64_t from, int32_t max, ilk_error *err)
{
    inspect_request self = peek_request_of(queue, where, from, max);

    return start(out, &self, begin_peek, err);
}
