/* SPDX-License-Identifier: MIT */
/*
 * settlement.c -- settlements: writing them, and reading what the server did.
 *
 *   add    jobs OPEN -> SETTLING, batch->open falls; the settlement that leaves
 *          no open job has the batch's size, so that the script ends the lease
 *   reply  found n of n: SETTLED. Fewer: somebody else got the rest, or a first
 *          copy of this request settled them. -1: refused, OPEN again
 *   none   the jobs are in doubt; sent again later, or OPEN again
 */
#include "settlement.h"

#include "base/alloc.h"
#include "wait/give_back.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { REASON_MAX = 1000, HEAD_MAX = 256 };

void ilk__settlements_free(ilk__settlements *settlements)
{
    ilk__buf_free(&settlements->text);
    ilk__free(settlements->list);
    settlements->list = NULL;
    settlements->count = settlements->room = 0;
}

/* Returns the place for the next settlement; NULL: no memory. */
static ilk__settlement *make_room(ilk__settlements *settlements)
{
    size_t room = settlements->room ? settlements->room * 2 : 1;
    ilk__settlement *list;

    if (settlements->count < settlements->room)
        return &settlements->list[settlements->count];
    list = ilk__realloc(settlements->list, room * sizeof *list);
    if (!list)
        return NULL;
    settlements->list = list;
    settlements->room = room;
    return &list[settlements->count];
}

static size_t size_of(const ilk__settlement *settlement)
{
    return settlement->to - settlement->from + 1;
}

static void set_states(const ilk__settlement *settlement, ilk__job_state state)
{
    for (size_t i = settlement->from; i <= settlement->to; i++)
        atomic_store(&settlement->batch->jobs[i - 1].state, state);
}

static int in_doubt(const ilk__settlement *settlement)
{
    for (size_t i = settlement->from; i <= settlement->to; i++)
        if (settlement->batch->jobs[i - 1].doubt)
            return 1;
    return 0;
}

static int are_all_settled(const ilk_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (atomic_load(&batch->jobs[i].state) != ILK__JOB_SETTLED)
            return 0;
    return 1;
}

static void open_again(const ilk__settlement *settlement)
{
    set_states(settlement, ILK__JOB_OPEN);
    atomic_fetch_add(&settlement->batch->open, (int32_t)size_of(settlement));
}

/* ---- writing ------------------------------------------------------------ */

/* `all` is the batch's size if no message remains open after this settlement,
 * else 0. */
static ilk_status write_settlement(ilk__settlements *settlements,
                                   const ilk__settlement *settlement,
                                   ilk__settlement_kind kind, size_t all,
                                   int64_t delay_ms, const void *reason,
                                   size_t reason_len)
{
    const ilk_batch *batch = settlement->batch;
    char head[HEAD_MAX];
    int len = snprintf(head, sizeof head, "%c %zu %s %zu %zu %zu %" PRId64 " ",
                       (char)kind, settlements->alone ? 0 : batch->index,
                       batch->lease.token, settlement->from, settlement->to,
                       all, delay_ms);

    if (reason_len > REASON_MAX)
        reason_len = REASON_MAX;
    if (!ilk__buf_reserve(&settlements->text, (size_t)len + reason_len))
        return ILK_ENOMEM;
    ilk__buf_add(&settlements->text, head, (size_t)len);
    return ilk__buf_add(&settlements->text, reason, reason_len);
}

/* Takes these messages, all or none. Another thread may settle one of them at the same
 * time. */
static int take(ilk_batch *batch, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        int32_t open = ILK__JOB_OPEN;

        if (atomic_compare_exchange_strong(&batch->jobs[i - 1].state, &open,
                                           ILK__JOB_SETTLING))
            continue;
        for (size_t taken = from; taken < i; taken++)
            atomic_store(&batch->jobs[taken - 1].state, ILK__JOB_OPEN);
        return 0;
    }
    return 1;
}

/* Adds one for messages that were taken. If that fails, they are open again. */
static ilk_status add(ilk__settlements *settlements, ilk_batch *batch,
                      ilk__settlement_kind kind, size_t from, size_t to,
                      int64_t delay_ms, const void *reason, size_t reason_len,
                      ilk_error *err)
{
    const ilk__settlement added = {.batch = batch, .from = from, .to = to};
    ilk__settlement *settlement = make_room(settlements);
    int32_t size = (int32_t)(to - from + 1), before;

    if (!settlement) {
        set_states(&added, ILK__JOB_OPEN);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    *settlement = added;
    settlement->sure_until = atomic_load(&batch->lease.deadline);
    before = atomic_fetch_sub(&batch->open, size);
    if (write_settlement(settlements, settlement, kind,
                         before == size ? batch->count : 0, delay_ms, reason,
                         reason_len)) {
        atomic_fetch_add(&batch->open, size);
        set_states(settlement, ILK__JOB_OPEN);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    settlement->text_end = ilk__buf_len(&settlements->text);
    settlements->count++;
    return ILK_OK;
}

ilk_status ilk__settlements_add(ilk__settlements *settlements, ilk_batch *batch,
                                ilk__settlement_kind kind, size_t from,
                                size_t to, int64_t delay_ms, const void *reason,
                                size_t reason_len, ilk_error *err)
{
    if (!take(batch, from, to))
        return ilk__fail(err, ILK_ENOTOWNER, "the message is finished already");
    return add(settlements, batch, kind, from, to, delay_ms, reason, reason_len,
               err);
}

ilk_status ilk__settlements_add_open(ilk__settlements *settlements,
                                     ilk_batch *batch,
                                     ilk__settlement_kind kind, ilk_error *err)
{
    ilk_status st = ILK_OK;
    size_t from = 0;

    for (size_t i = 1; i <= batch->count + 1 && st == ILK_OK; i++) {
        int taken = i <= batch->count && take(batch, i, i);

        if (taken && !from)
            from = i;
        if (!taken && from) {
            st = add(settlements, batch, kind, from, i - 1, 0, NULL, 0, err);
            from = 0;
        }
    }
    return st;
}

void ilk__settlements_ask(const ilk__settlements *settlements,
                          ilk__command *command)
{
    const char *text = ilk__buf_data(&settlements->text);
    size_t from = 0;

    for (size_t i = 0; i < settlements->count; i++) {
        ilk__command_add(command, text + from,
                         settlements->list[i].text_end - from);
        from = settlements->list[i].text_end;
    }
}

/* ---- reading the reply -------------------------------------------------- */

/*
 * Counts the messages that the server did not find. If the command was sent
 * more than once, an earlier copy may have settled them. That is sure if the
 * lease was still ours when the reply came: nobody else can have got them. It is
 * not enough that the earlier copy was sent in time, for it may not have arrived.
 */
static void count_reply(ilk__settlements *settlements,
                        const ilk__settlement *settlement, const ilk__op *op,
                        long found)
{
    ilk_batch *batch = settlement->batch;
    int32_t missing = (int32_t)size_of(settlement) - (int32_t)found;
    int repeated = op->retried || in_doubt(settlement);

    if (found < 0) {
        open_again(settlement);
        settlements->refused += (int32_t)size_of(settlement);
        return;
    }
    set_states(settlement, ILK__JOB_SETTLED);
    if (are_all_settled(batch)) /* one that is on its way may be open again */
        ilk__lease_end(&batch->lease);
    if (missing <= 0 || (repeated && op->now < settlement->sure_until))
        return;
    if (repeated) {
        settlements->unknown += missing;
        return;
    }
    settlements->lost += missing;
    atomic_fetch_add(&batch->lost, missing);
}

int ilk__settlements_reply(ilk__settlements *settlements, const ilk__op *op,
                           const char *text)
{
    const char *at = text;

    for (size_t i = 0; i < settlements->count; i++) {
        char *end;
        long found = strtol(at, &end, 10);

        if (end == at || found > (long)size_of(&settlements->list[i])) {
            return 0;
        }
        at = end;
    }
    at = text;
    for (size_t i = 0; i < settlements->count; i++) {
        char *end;

        count_reply(settlements, &settlements->list[i], op,
                    strtol(at, &end, 10));
        at = end;
    }
    ilk__settlements_free(settlements);
    return 1;
}

void ilk__settlements_doubt(ilk__settlements *settlements)
{
    for (size_t n = 0; n < settlements->count; n++) {
        const ilk__settlement *settlement = &settlements->list[n];

        for (size_t i = settlement->from; i <= settlement->to; i++)
            settlement->batch->jobs[i - 1].doubt = 1;
    }
}

void ilk__settlements_unanswered(ilk__settlements *settlements)
{
    for (size_t i = 0; i < settlements->count; i++)
        open_again(&settlements->list[i]);
    ilk__settlements_free(settlements);
}

ilk_status ilk__settlements_status(const ilk__settlements *settlements,
                                   ilk_error *err)
{
    if (settlements->refused)
        return ilk__fail(err, ILK_ESERVERMEMORY,
                         "the server has no memory to keep what is given back");
    if (settlements->lost)
        return ilk__fail(err, ILK_ELOST,
                         "%d of the messages were no longer ours",
                         (int)settlements->lost);
    if (settlements->unknown)
        return ilk__fail(err, ILK_EUNKNOWN,
                         "finished, or lost before: the reply is missing");
    return ILK_OK;
}

/* ---- sending them alone ------------------------------------------------- */

static void ask_ack(ilk__op *op)
{
    const ilk__settlement_query *self = op->subject;

    ilk__script_begin(&op->command, op->type->script,
                      &self->queue_keys->keys[ILK__QUEUE_KEY_LEASES], 2);
    ilk__settlements_ask(self->settlements, &op->command);
}

static void ask_settle(ilk__op *op)
{
    const ilk__settlement_query *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      self->key_count);
    ilk__command_add_str(&op->command, self->queue_keys->order);
    ilk__command_add_int(&op->command, self->queue_keys->most);
    ilk__command_add_int(&op->command, ILK__LIVENESS_MS);
    ilk__settlements_ask(self->settlements, &op->command);
}

static ilk__act settled(ilk__op *op, const ilk__reply *reply)
{
    const ilk__settlement_query *self = op->subject;

    if (!ilk__settlements_reply(self->settlements, op,
                                ilk__script_item(reply, 0)->str))
        return ilk__op_fail(op, ILK_EREPLY, "an answer without numbers");
    return ilk__op_done(op,
                        ilk__settlements_status(self->settlements, op->err));
}

static const ilk__op_type job_ack = {.name = "job_ack",
                                     .script = ILK__SCRIPT_JOB_ACK,
                                     .ask = ask_ack,
                                     .reply = settled};
static const ilk__op_type job_settle = {.name = "job_settle",
                                        .script = ILK__SCRIPT_JOB_SETTLE,
                                        .ask = ask_settle,
                                        .reply = settled};

void ilk__settlements_send(ilk__request *request, ilk__settlement_query *query,
                           int all_done, ilk__request_then *then)
{
    ilk__request_ask(request, all_done ? &job_ack : &job_settle, query,
                     ilk__request_patience(request), then);
}
