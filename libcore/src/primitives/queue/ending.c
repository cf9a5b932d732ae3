/* SPDX-License-Identifier: MIT */
/* ending.c -- how deliveries ended: saying it, and hearing what came of it. */
#include "ending.h"

#include "base/alloc.h"
#include "wait/wait_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { REASON_MAX = 1000, HEAD_MAX = 256 };

void ilk__endings_free(ilk__endings *endings)
{
    ilk__buf_free(&endings->text);
    ilk__free(endings->items);
    endings->items = NULL;
    endings->count = endings->room = 0;
}

/* Where the next one goes; NULL: no memory. */
static ilk__ending *make_room(ilk__endings *endings)
{
    size_t room = endings->room ? endings->room * 2 : 1;
    ilk__ending *items;

    if (endings->count < endings->room)
        return &endings->items[endings->count];
    items = ilk__realloc(endings->items, room * sizeof *items);
    if (!items)
        return NULL;
    endings->items = items;
    endings->room = room;
    return &items[endings->count];
}

static size_t size_of(const ilk__ending *item)
{
    return item->to - item->from + 1;
}

static void set_states(const ilk__ending *item, ilk__job_state state)
{
    for (size_t i = item->from; i <= item->to; i++)
        atomic_store(&item->batch->jobs[i - 1].state, state);
}

static int in_doubt(const ilk__ending *item)
{
    for (size_t i = item->from; i <= item->to; i++)
        if (item->batch->jobs[i - 1].doubt)
            return 1;
    return 0;
}

static void open_again(const ilk__ending *item)
{
    set_states(item, ILK__JOB_OPEN);
    atomic_fetch_add(&item->batch->open, (int32_t)size_of(item));
}

/* ---- saying ------------------------------------------------------------- */

/* With the number of all messages in the item that leaves none open. */
static ilk_status write_item(ilk__endings *endings, const ilk__ending *item,
                             ilk__ending_verb kind, size_t all,
                             int64_t delay_ms, const void *reason,
                             size_t reason_len)
{
    const ilk_batch *batch = item->batch;
    char head[HEAD_MAX];
    int len = snprintf(head, sizeof head, "%c %zu %s %zu %zu %zu %" PRId64 " ",
                       (char)kind, endings->alone ? 0 : batch->index,
                       batch->lease.token, item->from, item->to, all, delay_ms);

    if (reason_len > REASON_MAX)
        reason_len = REASON_MAX;
    if (!ilk__buf_reserve(&endings->text, (size_t)len + reason_len))
        return ILK_ENOMEM;
    ilk__buf_add(&endings->text, head, (size_t)len);
    return ilk__buf_add(&endings->text, reason, reason_len);
}

ilk_status ilk__endings_add(ilk__endings *endings, ilk_batch *batch,
                            ilk__ending_verb kind, size_t from, size_t to,
                            int64_t delay_ms, const void *reason,
                            size_t reason_len, ilk_error *err)
{
    ilk__ending *item = make_room(endings);
    int32_t size = (int32_t)(to - from + 1), before;

    if (!item)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    *item = (ilk__ending){.batch = batch, .from = from, .to = to};
    item->sure_until = atomic_load(&batch->lease.deadline);
    before = atomic_fetch_sub(&batch->open, size);
    if (write_item(endings, item, kind, before == size ? batch->count : 0,
                   delay_ms, reason, reason_len)) {
        atomic_fetch_add(&batch->open, size);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    set_states(item, ILK__JOB_ENDING);
    item->text_end = ilk__buf_len(&endings->text);
    endings->count++;
    return ILK_OK;
}

ilk_status ilk__endings_add_open(ilk__endings *endings, ilk_batch *batch,
                                 ilk__ending_verb kind, ilk_error *err)
{
    ilk_status st = ILK_OK;
    size_t from = 0;

    for (size_t i = 1; i <= batch->count + 1 && st == ILK_OK; i++) {
        int open = i <= batch->count
                   && atomic_load(&batch->jobs[i - 1].state) == ILK__JOB_OPEN;

        if (open && !from)
            from = i;
        if (!open && from) {
            st = ilk__endings_add(endings, batch, kind, from, i - 1, 0, NULL, 0,
                                  err);
            from = 0;
        }
    }
    return st;
}

void ilk__endings_ask(const ilk__endings *endings, ilk__command *command)
{
    const char *text = ilk__buf_data(&endings->text);
    size_t from = 0;

    for (size_t i = 0; i < endings->count; i++) {
        ilk__command_add(command, text + from,
                         endings->items[i].text_end - from);
        from = endings->items[i].text_end;
    }
}

/* ---- hearing ------------------------------------------------------------ */

/*
 * What was missing in answer to a repeated question, the first copy may have
 * ended. It surely has, if the lease was still ours when that was sent.
 */
static void heard(ilk__endings *endings, const ilk__ending *item,
                  const ilk__op *op, long found)
{
    ilk_batch *batch = item->batch;
    int32_t missing = (int32_t)size_of(item) - (int32_t)found;
    int repeated = op->retried || in_doubt(item);

    if (found < 0) {
        open_again(item);
        endings->refused += (int32_t)size_of(item);
        return;
    }
    set_states(item, ILK__JOB_ENDED);
    if (atomic_load(&batch->open) == 0)
        ilk__lease_end(&batch->lease);
    if (missing <= 0 || (repeated && op->first_sent_at < item->sure_until))
        return;
    if (repeated) {
        endings->unknown += missing;
        return;
    }
    endings->lost += missing;
    atomic_fetch_add(&batch->lost, missing);
}

int ilk__endings_heard(ilk__endings *endings, const ilk__op *op,
                       const char *text)
{
    const char *at = text;

    for (size_t i = 0; i < endings->count; i++) {
        char *end;
        long found = strtol(at, &end, 10);

        if (end == at || found > (long)size_of(&endings->items[i])) {
            return 0;
        }
        at = end;
    }
    at = text;
    for (size_t i = 0; i < endings->count; i++) {
        char *end;

        heard(endings, &endings->items[i], op, strtol(at, &end, 10));
        at = end;
    }
    ilk__endings_free(endings);
    return 1;
}

void ilk__endings_doubt(ilk__endings *endings)
{
    for (size_t n = 0; n < endings->count; n++) {
        const ilk__ending *item = &endings->items[n];

        for (size_t i = item->from; i <= item->to; i++)
            item->batch->jobs[i - 1].doubt = 1;
    }
}

void ilk__endings_unheard(ilk__endings *endings)
{
    for (size_t i = 0; i < endings->count; i++)
        open_again(&endings->items[i]);
    ilk__endings_free(endings);
}

ilk_status ilk__endings_verdict(const ilk__endings *endings, ilk_error *err)
{
    if (endings->refused)
        return ilk__fail(err, ILK_ESERVERMEMORY,
                         "the server has no memory to keep what is given back");
    if (endings->lost)
        return ilk__fail(err, ILK_ELOST,
                         "%d of the messages were no longer ours",
                         (int)endings->lost);
    if (endings->unknown)
        return ilk__fail(err, ILK_EUNKNOWN,
                         "finished, or lost before: the reply is missing");
    return ILK_OK;
}

/* ---- by themselves ------------------------------------------------------ */

static void ask_ack(ilk__op *op)
{
    const ilk__saying *self = op->subject;

    ilk__script_begin(&op->command, op->type->script,
                      &self->shelf->keys[ILK__SHELF_LEASES], 2);
    ilk__endings_ask(self->endings, &op->command);
}

static void ask_finish(ilk__op *op)
{
    const ilk__saying *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      self->key_count);
    ilk__command_add_str(&op->command, self->shelf->order);
    ilk__command_add_int(&op->command, self->shelf->most);
    ilk__command_add_int(&op->command, ILK__LIVENESS_MS);
    ilk__endings_ask(self->endings, &op->command);
}

static ilk__act finished(ilk__op *op, const ilk__reply *reply)
{
    const ilk__saying *self = op->subject;

    if (!ilk__endings_heard(self->endings, op, ilk__script_item(reply, 0)->str))
        return ilk__op_fail(op, ILK_EREPLY, "an answer without numbers");
    return ilk__op_done(op, ilk__endings_verdict(self->endings, op->err));
}

static const ilk__op_type job_ack = {.name = "job_ack",
                                     .script = ILK__SCRIPT_JOB_ACK,
                                     .ask = ask_ack,
                                     .reply = finished};
static const ilk__op_type job_finish = {.name = "job_finish",
                                        .script = ILK__SCRIPT_JOB_FINISH,
                                        .ask = ask_finish,
                                        .reply = finished};

void ilk__endings_say(ilk__request *request, ilk__saying *saying, int all_done,
                      ilk__request_then *then)
{
    ilk__request_ask(request, all_done ? &job_ack : &job_finish, saying,
                     ilk__request_patience(request), then);
    request->op->patient = 1;
}
