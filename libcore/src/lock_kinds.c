/* SPDX-License-Identifier: MIT */
/* lock_kinds.c -- which scripts the plain, reading and Redisson locks use. */
#include "clock.h"
#include "lock.h"
#include "watch.h"

/* ---- release: the same question for all, but for two arguments ---------- */

static void ask_release(ilk__op *op)
{
    const ilk__giving *giving = op->subject;
    const ilk__line *line = giving->line;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, line->keys, line->key_count);
    ilk__command_add(command, giving->token, giving->token_len);
    if (op->type->script == ILK__SCRIPT_REDISSON_RELEASE)
        ilk__command_add(command, line->channel.data, line->channel.len);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    if (op->type->script == ILK__SCRIPT_LOCK_RELEASE)
        ilk__command_add_int(command, line->barge);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

/*
 * LOST in answer to a repeated question: the first copy may have released
 * it. It surely has, if the lease was still ours when that was sent.
 */
static ilk__act released(ilk__op *op, const ilk__reply *reply)
{
    ilk__giving *giving = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_RELEASED) {
        giving->more = (int)ilk__script_int(reply, 0);
        giving->denied = (int)ilk__script_int(reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
    if (!op->retried)
        return ilk__op_fail(op, ILK_ELOST, "the lock was no longer ours");
    if (op->first_sent_at < giving->sure_until)
        return ilk__op_done(op, ILK_OK);
    return ilk__op_fail(op, ILK_EUNKNOWN,
                        "released, or lost before: the reply is missing");
}

/* With its source: nobody reads whether the server knew it. */
static void ask_give_back(ilk__op *op)
{
    ask_release(op);
    ilk__script_use_source(&op->command, op->type->script);
}

static ilk__act gave_back(ilk__op *op, ilk_status status)
{
    return ilk__op_done(op, status);
}

/* ---- the tables --------------------------------------------------------- */

#define ACQUIRE(what)                                                          \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = ilk__wait_ask,     \
        .reply = ilk__wait_reply, .start = ilk__wait_start,                    \
        .wake = ilk__wait_wake, .failed = ilk__wait_failed,                    \
        .told = ilk__wait_told                                                 \
    }
#define REFRESH(what)                                                          \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .reads = 1,               \
        .ask = ilk__watch_ask, .reply = ilk__watch_reply                       \
    }
#define CANCEL(what)                                                           \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what,                           \
        .ask = ilk__give_back_ask, .reply = ilk__give_back_done,               \
        .wake = ilk__give_back_wake                                            \
    }
#define RELEASE(what)                                                          \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = ask_release,       \
        .reply = released                                                      \
    }
#define EXTEND(what)                                                           \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = ilk__lease_ask,    \
        .reply = ilk__lease_extended                                           \
    }

static const ilk__op_type lock_acquire = ACQUIRE(LOCK_ACQUIRE),
                          lock_refresh = REFRESH(LOCK_REFRESH),
                          lock_cancel = CANCEL(LOCK_CANCEL),
                          lock_release = RELEASE(LOCK_RELEASE),
                          lock_extend = EXTEND(LOCK_EXTEND);

const ilk__op_type ilk__lock_break_op = RELEASE(LOCK_BREAK);

const ilk__op_type ilk__many_release_op = RELEASE(MANY_RELEASE);
const ilk__op_type ilk__many_give_back_op = {
    .name = "many_give_back",
    .script = ILK__SCRIPT_MANY_RELEASE,
    .ask = ask_give_back,
    .start = ilk__op_tell,
    .told = gave_back,
};
const ilk__op_type ilk__many_extend_op = EXTEND(MANY_EXTEND);

static const ilk__op_type rwlock_acquire = ACQUIRE(RWLOCK_ACQUIRE),
                          rwlock_cancel = CANCEL(RWLOCK_CANCEL),
                          rwlock_release = RELEASE(RWLOCK_RELEASE),
                          rwlock_extend = EXTEND(RWLOCK_EXTEND);

static const ilk__op_type redisson_acquire = ACQUIRE(REDISSON_ACQUIRE),
                          redisson_refresh = REFRESH(REDISSON_REFRESH),
                          redisson_cancel = CANCEL(REDISSON_CANCEL),
                          redisson_release = RELEASE(REDISSON_RELEASE),
                          redisson_extend = EXTEND(REDISSON_EXTEND);

const ilk__lock_kind ilk__lock_plain = {
    .acquire = &lock_acquire,
    .refresh = &lock_refresh,
    .cancel = &lock_cancel,
    .release = &lock_release,
    .extend = &lock_extend,
    .waits_as = 'x',
    .extend_keys = {0, 1},
    .extend_key_count = 2,
};

/* Readers and writers stand in one line, so one refresh serves both. */
const ilk__lock_kind ilk__lock_reader = {
    .acquire = &rwlock_acquire,
    .refresh = &lock_refresh,
    .cancel = &rwlock_cancel,
    .release = &rwlock_release,
    .extend = &rwlock_extend,
    .waits_as = 'r',
    .extend_keys = {0, 1, 4},
    .extend_key_count = 3,
};

const ilk__lock_kind ilk__lock_redisson = {
    .acquire = &redisson_acquire,
    .refresh = &redisson_refresh,
    .cancel = &redisson_cancel,
    .release = &redisson_release,
    .extend = &redisson_extend,
    .waits_as = 'w',
    .barges = 1,
    .has_channel = 1,
    .extend_keys = {0, 1},
    .extend_key_count = 2,
};
