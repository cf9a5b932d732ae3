/* SPDX-License-Identifier: MIT */
/* queue_push.c -- pushing messages. A request id makes a retry safe: the server
 * keeps it beside the first message's id, and a second copy pushes nothing. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/opts.h"
#include "queue.h"

#include <string.h>

/* COPIES_MS: a generous bound for how long copies of one request can be under
 * way; the server keeps an id of our own that long. */
enum { COPIES_MS = 60 * 1000, PUSH_KEYS = 6 };

typedef struct push_request {
    ilk__request request;
    ilk__bytes keys[PUSH_KEYS]; /* the first queue keys, then the once key */
    const char *order;
    int64_t once_ms, delay_ms;
    const void *const *data; /* the caller's, or inside `copy` */
    const size_t *lens;
    size_t count;
    const ilk_push_opts *opts; /* the caller's: valid until begin() returns */
    int started;
    void *copy; /* of the messages, if the request was started */
} push_request;

static void ask_push(ilk__op *op)
{
    const push_request *self = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, self->keys, PUSH_KEYS);
    ilk__command_add_str(command, self->order);
    ilk__command_add_int(command, self->once_ms);
    ilk__command_add_int(command, self->delay_ms);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, (int64_t)self->count);
    for (size_t i = 0; i < self->count; i++)
        ilk__command_add(command, self->data[i], self->lens[i]);
}

/* The message is in the queue even if no consumer could be woken: the refresh
 * every two seconds makes them ask. */
static ilk__act pushed(ilk__op *op, const ilk__reply *reply)
{
    push_request *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return ilk__op_fail(op, ILK_EDIFFERS, "the queue is %s, not %s",
                            ilk__script_item(reply, 0)->str, self->order);
    self->request.result.number = ilk__script_int(reply, 0);
    if (ilk__script_int(reply, 3))
        ilk__log(ILK__LOG_WARN,
                 "pushed, but this user may not PUBLISH to ilk:inbox:*");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type queue_push = {.name = "queue_push",
                                        .script = ILK__SCRIPT_QUEUE_PUSH,
                                        .ask = ask_push,
                                        .reply = pushed};

/* ---- options ------------------------------------------------------------ */

void ilk_push_opts_init(ilk_push_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_push_opts *out, const ilk_push_opts *in,
                             ilk_error *err)
{
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_push_opts", err);

    if (st == ILK_OK)
        st = ilk__check_delay(out->delay_ms, err);
    if (st == ILK_OK && out->once
        && (out->once_len < 1 || out->once_len > ILK_QUEUE_ID_MAX))
        st = ilk__fail(err, ILK_EINVAL, "once must have 1 to %d bytes, got %zu",
                       ILK_QUEUE_ID_MAX, out->once_len);
    return st;
}

static ilk_status check_data(const ilk_queue *queue, const void *const *data,
                             const size_t *lens, size_t count, ilk_error *err)
{
    if (count < 1 || count > ILK_QUEUE_BATCH_MAX)
        return ilk__fail(err, ILK_EINVAL, "count must be 1 to %d, got %zu",
                         ILK_QUEUE_BATCH_MAX, count);
    if (!data || !lens)
        return ilk__fail(err, ILK_EINVAL, "data must not be NULL");
    for (size_t i = 0; i < count; i++) {
        if (!data[i] && lens[i])
            return ilk__fail(err, ILK_EINVAL, "data must not be NULL");
        if (lens[i] > (size_t)queue->opts.data_max)
            return ilk__fail(err, ILK_EINVAL,
                             "data must have at most %lld bytes, got %zu",
                             (long long)queue->opts.data_max, lens[i]);
    }
    return ILK_OK;
}

/* ---- the request -------------------------------------------------------- */

/* The request id is the caller's, or a token of our own. */
static ilk_status set_once(push_request *self, const ilk_queue *queue,
                           const ilk_push_opts *opts, ilk_error *err)
{
    const ilk__queue_keys *queue_keys = queue->queue_keys[0];
    char token[ILK__TOKEN_LEN + 1];
    ilk_status st;

    self->once_ms = queue->opts.once_ms;
    if (opts->once)
        return ilk__queue_once_key(&self->keys[PUSH_KEYS - 1], queue_keys,
                                   opts->once, opts->once_len, err);
    self->once_ms = COPIES_MS;
    st = ilk__token(token, ILK__TOKEN_LEN, err);
    if (st)
        return st;
    return ilk__queue_once_key(&self->keys[PUSH_KEYS - 1], queue_keys, token,
                               strlen(token), err);
}

/* Copies the messages of a started request: pointers, lengths, then bytes. */
static ilk_status copy_data(push_request *self, ilk_error *err)
{
    size_t head = self->count * (sizeof *self->data + sizeof *self->lens);
    size_t size = head;
    const void **data;
    size_t *lens;
    char *to;

    for (size_t i = 0; i < self->count; i++)
        size += self->lens[i];
    self->copy = data = ilk__malloc(size);
    if (!data)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    lens = (size_t *)(data + self->count);
    to = (char *)(lens + self->count);
    for (size_t i = 0; i < self->count; i++) {
        data[i] = to;
        lens[i] = self->lens[i];
        if (lens[i])
            memcpy(to, self->data[i], lens[i]);
        to += lens[i];
    }
    self->data = data;
    self->lens = lens;
    return ILK_OK;
}

static ilk_status prepare(push_request *self, ilk_error *err)
{
    const ilk_queue *queue = ilk__queue_of(&self->request);
    ilk_push_opts own;
    ilk_status st = check_data(queue, self->data, self->lens, self->count, err);

    if (st == ILK_OK)
        st = check_opts(&own, self->opts, err);
    if (st)
        return st;
    memcpy(self->keys, queue->keys, (PUSH_KEYS - 1) * sizeof *self->keys);
    self->order = queue->queue_keys[0]->order;
    self->delay_ms = own.delay_ms;
    if (self->started)
        st = copy_data(self, err);
    return st ? st : set_once(self, queue, &own, err);
}

static void end(ilk__request *request, ilk_status status)
{
    push_request *self = (push_request *)request;

    ilk__free(self->copy);
    ilk__free(self->keys[PUSH_KEYS - 1].data);
    ilk__queue_end(request, status);
}

static void begin(ilk__request *request)
{
    push_request *self = (push_request *)request;
    ilk_status st;

    if (!ilk__queue_begin(request, 1))
        return;
    st = prepare(self, request->err);
    if (st)
        end(request, st);
    else
        ilk__request_ask(request, &queue_push, self,
                         ilk__request_patience(request), end);
}

ilk_status ilk_queue_push_many(int64_t *out_id, ilk_queue *queue,
                               const void *const *data, const size_t *data_lens,
                               size_t count, const ilk_push_opts *opts,
                               ilk_error *err)
{
    push_request self = {.request = {.handle = queue},
                         .data = data,
                         .lens = data_lens,
                         .count = count,
                         .opts = opts};
    ilk_status st = ilk__queue_run(&self.request, begin, err);

    if (st == ILK_OK && out_id)
        *out_id = self.request.result.number;
    return st;
}

ilk_status ilk_queue_push_many_start(ilk_op **out, ilk_queue *queue,
                                     const void *const *data,
                                     const size_t *data_lens, size_t count,
                                     const ilk_push_opts *opts, ilk_error *err)
{
    push_request self = {.request = {.handle = queue},
                         .data = data,
                         .lens = data_lens,
                         .count = count,
                         .opts = opts,
                         .started = 1};

    return ilk__queue_start(out, &self.request, sizeof self, begin, err);
}

ilk_status ilk_queue_push(int64_t *out_id, ilk_queue *queue, const void *data,
                          size_t data_len, const ilk_push_opts *opts,
                          ilk_error *err)
{
    return ilk_queue_push_many(out_id, queue, &data, &data_len, 1, opts, err);
}

ilk_status ilk_queue_push_start(ilk_op **out, ilk_queue *queue,
                                const void *data, size_t data_len,
                                const ilk_push_opts *opts, ilk_error *err)
{
    return ilk_queue_push_many_start(out, queue, &data, &data_len, 1, opts,
                                     err);
}
