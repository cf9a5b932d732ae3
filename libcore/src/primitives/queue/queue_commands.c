/* SPDX-License-Identifier: MIT */
/* queue_commands.c -- the operation that reserves messages: its command, and how it
 * reads the reply. */
#include "queue.h"

/* ---- asking ------------------------------------------------------------- */

/* Whether the server has the script, as far as replies prove it. A pop cannot be
 * sent again after a NOSCRIPT, so it is sent with the source until then. */
static _Atomic char *known(const ilk__queue_wait *wait)
{
    return &wait->waiter.shared->knows_script[ILK__SCRIPT_QUEUE_RESERVE];
}

static void ask_messages(ilk__op *op)
{
    ilk__queue_wait *wait = op->subject;
    const ilk_queue *queue = wait->queue;
    const ilk__queue_keys *queue_keys = queue->queue_keys[0];
    ilk__command *command = &op->command;

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__script_begin(command, op->type->script, queue->keys,
                      queue->wait_queue.key_count);
    if (op->type->only_once && !*known(wait))
        ilk__script_use_source(command, op->type->script);
    ilk__command_add_str(command, ilk__waiter_token(&wait->waiter));
    ilk__command_add_int(command, wait->args.max);
    ilk__command_add_int(command, wait->args.lease_ms);
    ilk__command_add_str(command, queue_keys->order);
    ilk__command_add_int(command, queue_keys->most);
    ilk__wait_add_place(op);
    ilk__command_add_int(command, wait->queued);
    if (wait->args.settlements && !wait->settled)
        ilk__settlements_ask(wait->args.settlements, command);
}

/* ---- reading the reply -------------------------------------------------- */

static ilk__act fail(ilk__op *op, ilk_status status)
{
    return ilk__wait_failed(op, status);
}

enum { JOBS_HEAD = 5 }; /* elements before the messages, with the code */

static ilk__act got(ilk__op *op, const ilk__reply *reply)
{
    ilk__queue_wait *wait = op->subject;
    const ilk_queue *queue = wait->queue;
    int64_t index = ilk__script_int(reply, 1);
    int64_t lease_ms = ilk__script_int(reply, 2);
    ilk_status st;

    if (index < 0 || index >= (int64_t)queue->count)
        return fail(op, ilk__fail(op->err, ILK_EREPLY, "no queue %lld",
                                  (long long)index));
    if (reply->count <= JOBS_HEAD)
        return fail(
            op, ilk__fail(op->err, ILK_EREPLY, "a batch without a message"));
    st = ilk__batch_new(&wait->got, queue->client, queue->queue_keys[index],
                        reply, 4, 0, op->err);
    if (st) {
        op->retried = 1; /* the messages are this wait's: it gives them back */
        return fail(op, st);
    }
    wait->got->index = (size_t)index;
    if (wait->args.lease_ms == 0)
        return ilk__wait_got(op);
    return ilk__wait_held(op, 0, op->sent_at, lease_ms);
}

static ilk__act differs(ilk__op *op, const ilk__reply *reply)
{
    const ilk__queue_wait *wait = op->subject;

    return fail(op, ilk__fail(op->err, ILK_EDIFFERS, "the queue is %s, not %s",
                              ilk__script_item(reply, 2)->str,
                              wait->queue->queue_keys[0]->order));
}

/* The script did the settlements; then the server refused to reserve. */
static ilk__act refused(ilk__op *op, const ilk__reply *reply)
{
    const ilk__reply *text = ilk__script_item(reply, 1);
    ilk__reply error = {
        .type = ILK__REPLY_ERROR, .str = text->str, .len = text->len};

    return fail(op, ilk__reply_error(&error, op->err));
}

static ilk__act read_messages(ilk__op *op, const ilk__reply *reply)
{
    ilk__queue_wait *wait = op->subject;
    ilk__reserve_args *args = &wait->args;

    *known(wait) = 1;
    ilk_batch_free(wait->got); /* from an earlier reply that came too late */
    wait->got = NULL;
    if (args->settlements && !wait->settled) {
        wait->settled = 1;
        if (!ilk__settlements_reply(args->settlements, op,
                                    ilk__script_item(reply, 0)->str))
            return fail(op, ilk__fail(op->err, ILK_EREPLY,
                                      "an answer without numbers"));
    }
    switch (ilk__script_code(reply)) {
    case ILK__CODE_JOBS: return got(op, reply);
    case ILK__CODE_DIFFERS: return differs(op, reply);
    case ILK__CODE_REFUSED: return refused(op, reply);
    default: break;
    }
    if (wait->waiter.stage != ILK__STAGE_ENQUEUE)
        return ilk__wait_busy(op);
    wait->queued = 1;
    return ilk__wait_queued(op, ilk__script_int(reply, 1),
                            ilk__script_int(reply, 2), 1);
}

/* Another thread may have called ilk_queue_cancel() or stopped the worker after
 * this call began and before its wait could be seen: then it ends here. */
static ilk__act start(ilk__op *op)
{
    ilk__queue_wait *wait = op->subject;
    ilk__act act = ilk__wait_start(op);

    if (atomic_load(&wait->queue->cancels) != wait->cancels
        || (wait->args.stop && atomic_load(wait->args.stop)))
        atomic_store(&wait->waiter.cancelled, 1);
    return act;
}

static ilk__act failed_for_good(ilk__op *op, ilk_status status)
{
    ilk__queue_wait *wait = op->subject;

    wait->unknown = status == ILK_EUNKNOWN;
    if (wait->unknown)
        *known(wait) = 0;
    return ilk__wait_failed(op, status);
}

#define RESERVE(called, once, if_failed)                                       \
    {                                                                          \
        .name = (called), .script = ILK__SCRIPT_QUEUE_RESERVE,                 \
        .only_once = (once), .ask = ask_messages, .reply = read_messages,      \
        .start = start, .wake = ilk__wait_wake,                                \
        .cancelled = ilk__wait_is_cancelled, .failed = (if_failed),            \
        .sent = ilk__wait_sent                                                 \
    }
const ilk__op_type ilk__queue_reserve_op =
                       RESERVE("queue_reserve", 0, ilk__wait_failed),
                   ilk__queue_pop_op = RESERVE("queue_pop", 1, failed_for_good);

const ilk__op_type ilk__queue_refresh_op = {.name = "queue_refresh",
                                            .script = ILK__SCRIPT_QUEUE_REFRESH,
                                            .reply_is_optional = 1,
                                            .ask = ilk__refresher_ask,
                                            .reply = ilk__refresher_reply};
