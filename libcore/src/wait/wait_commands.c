/* SPDX-License-Identifier: MIT */
/* wait_commands.c -- the commands of an acquiring operation: try, enqueue, leave,
 * cancel. */
#include "wait.h"

/* Nobody reads the reply to a cancel, so a NOSCRIPT would go unnoticed. It is
 * sent as EVAL with the script's text, unless an earlier reply proved that the
 * server has the script and an ensured command notices if that has changed. */
int ilk__wait_ask_to_go(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    ilk__withdrawal withdrawal;

    if (waiter->stage != ILK__STAGE_CANCEL && waiter->stage != ILK__STAGE_LEAVE)
        return 0;
    withdrawal = ilk__waiter_withdrawal(waiter);
    if (waiter->stage == ILK__STAGE_LEAVE)
        withdrawal.accepted = NULL;
    ilk__wait_queue_cancel(&op->command, &withdrawal);
    op->script = waiter->wait_queue->cancel->script;
    if (waiter->stage == ILK__STAGE_CANCEL
        && (op->ensured == NULL || !waiter->shared->knows_script[op->script]))
        ilk__script_use_source(&op->command, op->script);
    return 1;
}

/* In stage TRY the entry is empty: the script then enqueues nothing. */
static void add_entry(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    int queues = waiter->stage == ILK__STAGE_ENQUEUE;

    ilk__command_add(&op->command, waiter->entry,
                     queues ? waiter->entry_len : 0);
    ilk__command_add_str(&op->command, waiter->address);
}

void ilk__wait_add_place(ilk__op *op)
{
    add_entry(op);
    ilk__command_add_int(&op->command, ILK__LIVENESS_MS);
    ilk__command_add_int(&op->command, ILK__GRANT_LIMIT);
}

enum { LIMITS = 4 };

/* A script that declares the limits as optional has them itself
 * (scripts/include/limits.lua). */
static void add_limits(ilk__op *op, int barge)
{
    const ilk__script *script = &ilk__scripts[op->type->script];
    ilk__command *command = &op->command;

    if (script->args_most == script->args + LIMITS) {
        if (barge)
            ilk__command_add_int(command, barge);
        return;
    }
    ilk__command_add_int(command, barge);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
}

void ilk__wait_ask(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk__wait_queue *wait_queue = waiter->wait_queue;
    ilk__command *command = &op->command;

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__script_begin(command, op->type->script, wait_queue->keys,
                      wait_queue->key_count);
    ilk__command_add_str(command, ilk__waiter_token(waiter));
    ilk__command_add_int(command, waiter->lease_ms);
    ilk__command_add_str(command, waiter->shared->who);
    ilk__command_add_int(command, waiter->floor);
    add_entry(op);
    add_limits(op, wait_queue->barge);
}
