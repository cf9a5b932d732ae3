/* SPDX-License-Identifier: MIT */
/* queue_look.c -- what lies in a queue: counting, looking, clearing up. */
#include "alloc.h"
#include "queue.h"
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COUNTS = ILK_QUEUE_N_OLDEST_MS + 1, COPIES_MS = 60 * 1000 };

/* Where they stand in the answer of queue_inspect. */
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

typedef struct looking {
    ilk_queue *queue;
    ilk__bytes keys[ILK__SHELF_KEYS + 1]; /* the shelf's, then a once key */
    int64_t found[AT_ORDER];
    int32_t order;
    int32_t where;
    int64_t from, max; /* purge: neither; requeue: max */
    char id[24];
    ilk_batch *batch;
    int64_t count;
} looking;

static ilk_status look(looking *self, const ilk__op_type *type, ilk_error *err)
{
    ilk_status st = ilk__queue_enter(self->queue, 1, err);

    if (st)
        return st;
    memcpy(self->keys, self->queue->keys, ILK__SHELF_KEYS * sizeof *self->keys);
    return ilk__ask(self->queue->client, type, self,
                    self->queue->client->opts.reply_timeout_ms, err);
}

/* ---- counting ----------------------------------------------------------- */

static void ask_inspect(ilk__op *op)
{
    const looking *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__SHELF_KEYS);
}

static ilk__act inspected(ilk__op *op, const ilk__reply *reply)
{
    looking *self = op->subject;
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
                                           .reads = 1,
                                           .ask = ask_inspect,
                                           .reply = inspected};

ilk_status ilk_queue_size(int64_t *out_count, ilk_queue *queue, ilk_error *err)
{
    looking self = {.queue = queue};
    ilk_status st;

    if (!out_count)
        return ilk__fail(err, ILK_EINVAL, "out_count must not be NULL");
    *out_count = 0;
    st = look(&self, &queue_inspect, err);
    if (st == ILK_OK)
        *out_count = self.found[AT_READY] + self.found[AT_DUE];
    return st;
}

/* Every message is somewhere, or finished. */
static int64_t finished(const int64_t *found)
{
    int64_t rest = found[AT_PUSHED] - found[AT_READY] - found[AT_DELAYED]
                   - found[AT_TAKEN] - found[AT_DEAD] - found[AT_PURGED];

    return rest > 0 ? rest : 0;
}

ilk_status ilk_queue_inspect(ilk_queue_info **out, ilk_queue *queue,
                             ilk_error *err)
{
    looking self = {.queue = queue};
    const int64_t *found = self.found;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = look(&self, &queue_inspect, err);
    if (st)
        return st;
    *out = ilk__calloc(1, sizeof **out);
    if (!*out)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    **out = (ilk_queue_info){.counts = {
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
                                 [ILK_QUEUE_N_ORDER] = self.order,
                                 [ILK_QUEUE_N_OLDEST_MS] = found[AT_OLDEST],
                             }};
    return ILK_OK;
}

int64_t ilk_queue_info_get(const ilk_queue_info *info, int32_t count)
{
    return info && count >= 0 && count < COUNTS ? info->counts[count] : 0;
}

void ilk_queue_info_free(ilk_queue_info *info)
{
    ilk__free(info);
}

/* ---- looking ------------------------------------------------------------ */

static void ask_peek(ilk__op *op)
{
    const looking *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__SHELF_KEYS);
    ilk__command_add_int(&op->command, self->where);
    ilk__command_add_int(&op->command, self->from);
    ilk__command_add_int(&op->command, self->max);
}

static ilk__act peeked(ilk__op *op, const ilk__reply *reply)
{
    looking *self = op->subject;

    return ilk__op_done(op,
                        ilk__batch_new(&self->batch, self->queue->client,
                                       self->queue->shelves[0], reply, 0,
                                       self->where == ILK_QUEUE_DEAD, op->err));
}

static const ilk__op_type queue_peek = {.name = "queue_peek",
                                        .script = ILK__SCRIPT_QUEUE_PEEK,
                                        .reads = 1,
                                        .ask = ask_peek,
                                        .reply = peeked};

ilk_status ilk_queue_peek(ilk_batch **out, ilk_queue *queue, int32_t where,
                          int64_t from, int32_t max, ilk_error *err)
{
    looking self = {.queue = queue, .where = where, .from = from, .max = max};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (where != ILK_QUEUE_READY && where != ILK_QUEUE_DELAYED
        && where != ILK_QUEUE_DEAD)
        return ilk__fail(err, ILK_EINVAL, "where must be one place, got %d",
                         (int)where);
    if (from < 0)
        return ilk__fail(err, ILK_EINVAL, "from must not be negative, got %lld",
                         (long long)from);
    if (max < 1 || max > ILK_QUEUE_BATCH_MAX)
        return ilk__fail(err, ILK_EINVAL, "max must be 1 to %d, got %d",
                         ILK_QUEUE_BATCH_MAX, (int)max);
    st = look(&self, &queue_peek, err);
    *out = self.batch;
    return st;
}

/* ---- clearing up -------------------------------------------------------- */

static ilk__act counted(ilk__op *op, const ilk__reply *reply)
{
    looking *self = op->subject;

    self->count = ilk__script_int(reply, 0);
    return ilk__op_done(op, ILK_OK);
}

static void ask_purge(ilk__op *op)
{
    const looking *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__SHELF_KEYS);
    ilk__command_add_int(&op->command, self->where);
}

static const ilk__op_type queue_purge = {.name = "queue_purge",
                                         .script = ILK__SCRIPT_QUEUE_PURGE,
                                         .ask = ask_purge,
                                         .reply = counted};

ilk_status ilk_queue_purge(int64_t *out_count, ilk_queue *queue, int32_t where,
                           ilk_error *err)
{
    const int32_t all = ILK_QUEUE_READY | ILK_QUEUE_DELAYED | ILK_QUEUE_DEAD;
    looking self = {.queue = queue, .where = where};
    ilk_status st;

    if (where < 1 || where > all)
        return ilk__fail(err, ILK_EINVAL, "where must be 1 to %d, got %d",
                         (int)all, (int)where);
    st = look(&self, &queue_purge, err);
    if (out_count)
        *out_count = self.count;
    return st;
}

static void ask_requeue(ilk__op *op)
{
    const looking *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__SHELF_KEYS + 1);
    ilk__command_add_str(&op->command, self->id);
    ilk__command_add_int(&op->command, self->max);
    ilk__command_add_int(&op->command, ILK__LIVENESS_MS);
    ilk__command_add_int(&op->command, COPIES_MS);
}

static const ilk__op_type queue_requeue = {.name = "queue_requeue",
                                           .script = ILK__SCRIPT_QUEUE_REQUEUE,
                                           .ask = ask_requeue,
                                           .reply = counted};

/* Up to a batch of them, under a request id of its own. */
static ilk_status requeue_some(looking *self, ilk_error *err)
{
    ilk__bytes *once = &self->keys[ILK__SHELF_KEYS];
    char token[ILK__TOKEN_LEN + 1];
    ilk_status st = ilk__token(token, ILK__TOKEN_LEN, err);

    if (st == ILK_OK)
        st = ilk__shelf_once_key(once, self->queue->shelves[0], token,
                                 strlen(token), err);
    if (st)
        return st;
    st = look(self, &queue_requeue, err);
    ilk__free(once->data);
    return st;
}

ilk_status ilk_queue_requeue(int64_t *out_count, ilk_queue *queue, int64_t id,
                             int64_t max, ilk_error *err)
{
    looking self = {.queue = queue};
    int64_t count = 0, left = id ? 1 : max ? max : INT64_MAX;
    ilk_status st = ilk__queue_enter(queue, 1, err);

    if (st == ILK_OK && (id < 0 || max < 0))
        st = ilk__fail(err, ILK_EINVAL, "%s must not be negative, got %lld",
                       id < 0 ? "id" : "max", (long long)(id < 0 ? id : max));
    if (id)
        snprintf(self.id, sizeof self.id, "%" PRId64, id);
    do {
        self.count = 0;
        self.max = left < ILK_QUEUE_BATCH_MAX ? left : ILK_QUEUE_BATCH_MAX;
        if (st == ILK_OK)
            st = requeue_some(&self, err);
        count += self.count;
        left -= self.count;
    } while (st == ILK_OK && left > 0 && self.count == ILK_QUEUE_BATCH_MAX);
    if (out_count)
        *out_count = count;
    return st;
}
