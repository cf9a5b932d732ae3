/* SPDX-License-Identifier: MIT */
/* semaphore_kind.c -- the semaphore's scripts, arguments and replies. */
#include "semaphore.h"

#include "pubsub/message.h"

const char *const ilk__semaphore_key_kinds[ILK__SEMAPHORE_KEYS] = {
    "semaphore", "semaphore:fence", "semaphore:wait", "semaphore:live"};

/* ---- acquire: with permits and limit ------------------------------------ */

static void ask_acquire(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_semaphore *semaphore =
        (const ilk_semaphore *)ilk__hold_of(waiter);

    ilk__wait_ask(op);
    if (waiter->stage == ILK__STAGE_CANCEL)
        return;
    ilk__command_add_int(&op->command, waiter->permits);
    ilk__command_add_int(&op->command, semaphore->limit);
}

/* The server has another limit. ilk__wait_failed() removes our entry if it is
   in the wait queue. */
static ilk__act differs(ilk__op *op, const ilk__reply *reply)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_semaphore *semaphore =
        (const ilk_semaphore *)ilk__hold_of(waiter);
    long long limit = (long long)ilk__script_int(reply, 0);
    long long base = (long long)ilk__script_int(reply, 1);

    if (semaphore->limit == limit || semaphore->limit == base)
        ilk__fail(op->err, ILK_EDIFFERS,
                  "the semaphore has limit %lld now, this handle asks for "
                  "%lld permits",
                  limit, (long long)waiter->permits);
    else
        ilk__fail(op->err, ILK_EDIFFERS,
                  "the semaphore has limit %lld, this handle has %d", limit,
                  (int)semaphore->limit);
    return ilk__wait_failed(op, ILK_EDIFFERS);
}

static ilk__act acquired(ilk__op *op, const ilk__reply *reply)
{
    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return differs(op, reply);
    return ilk__wait_reply(op, reply);
}

static ilk_status set_permits(ilk__hold *hold, ilk_error *err)
{
    (void)err;
    hold->waiter.permits = ((ilk_semaphore *)hold)->opts.permits;
    return ILK_OK;
}

/* ---- release: with the barge flag --------------------------------------- */

static void ask_release(ilk__op *op)
{
    const ilk__release *release = op->subject;

    ilk__hold_ask_release(op);
    ilk__command_add_int(&op->command, release->at.wait_queue->barge);
}

/* ---- the tables --------------------------------------------------------- */

static const ilk__op_type acquire = {.name = "SEMAPHORE_ACQUIRE",
                                     .script = ILK__SCRIPT_SEMAPHORE_ACQUIRE,
                                     .ask = ask_acquire,
                                     .reply = acquired,
                                     .start = ilk__wait_start,
                                     .wake = ilk__wait_wake,
                                     .cancelled = ilk__wait_is_cancelled,
                                     .failed = ilk__wait_failed,
                                     .sent = ilk__wait_sent},
                          release = {.name = "SEMAPHORE_RELEASE",
                                     .script = ILK__SCRIPT_SEMAPHORE_RELEASE,
                                     .ask = ask_release,
                                     .reply = ilk__hold_released},
                          refresh = ILK__HOLD_REFRESH(SEMAPHORE_REFRESH),
                          cancel = ILK__HOLD_CANCEL(SEMAPHORE_CANCEL),
                          extend = ILK__HOLD_EXTEND(SEMAPHORE_EXTEND);

/* An orphaned grant is given back, which serves the next waiter. The message
   carries the semaphore's key, not its name. */
static void pass_on(ilk__shared *shared, const ilk__message *message)
{
    ilk__bytes keys[ILK__SEMAPHORE_KEYS] = {{0}};
    ilk__wait_queue wait_queue = {
        .keys = keys, .key_count = ILK__SEMAPHORE_KEYS, .cancel = &cancel};
    const char *name;
    size_t len;

    if (message->type != ILK__MESSAGE_GRANT
        || !ilk__side_key_name(message->name, message->name_len,
                               ilk__semaphore_key_kinds[0], &name, &len))
        return;
    if (ilk__keys_make(keys, ilk__semaphore_key_kinds, ILK__SEMAPHORE_KEYS,
                       name, len, NULL)
        == ILK_OK)
        ilk__give_back_token(shared, &wait_queue, message->token);
    ilk__keys_free(keys, ILK__SEMAPHORE_KEYS);
}

const ilk__hold_kind ilk__semaphore_kind = {
    .lease = {.noun = "semaphore",
              .lost_notification = ILK_NOTIFICATION_SEMAPHORE_LOST,
              .extend = &extend},
    .key_kinds = ilk__semaphore_key_kinds,
    .key_count = ILK__SEMAPHORE_KEYS,
    .acquire = &acquire,
    .refresh = &refresh,
    .cancel = &cancel,
    .release = &release,
    .waits_as = 'p',
    .orphaned = pass_on,
    .extend_keys = {0, 1},
    .extend_key_count = 2,
    .bind = set_permits,
};
