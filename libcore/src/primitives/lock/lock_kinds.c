/* SPDX-License-Identifier: MIT */
/* lock_kinds.c -- the keys and scripts of plain, reader and Redisson locks. */
#include "base/alloc.h"
#include "lock.h"
#include "pubsub/message.h"

#include <stdio.h>
#include <string.h>

const char *const ilk__lock_key_kinds[ILK__LOCK_KEYS] = {
    NULL, "lock:fence", "lock:wait", "lock:live", "lock:readers"};

ilk_status ilk__lock_keys(ilk__bytes keys[ILK__LOCK_KEYS], const void *name,
                          size_t len, ilk_error *err)
{
    ilk_status st = ilk__keys_make(keys, ilk__lock_key_kinds, ILK__LOCK_KEYS,
                                   name, len, err);

    if (st)
        ilk__lock_keys_free(keys);
    return st;
}

void ilk__lock_keys_free(ilk__bytes keys[ILK__LOCK_KEYS])
{
    ilk__keys_free(keys, ILK__LOCK_KEYS);
}

/* ---- release ------------------------------------------------------------ */

/* The script has the usual limits itself (scripts/include/limits.lua). */
static void ask_lock_release(ilk__op *op)
{
    const ilk__release *release = ilk__hold_begin_release(op);

    if (release->at.wait_queue->barge)
        ilk__command_add_int(&op->command, 1);
}

static void ask_redisson_release(ilk__op *op)
{
    const ilk__release *release = ilk__hold_begin_release(op);
    const ilk__bytes *channel = &release->at.wait_queue->channel;
    ilk__command *command = &op->command;

    ilk__command_add(command, channel->data, channel->len);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_str(command, release->breaker ? release->breaker : "");
}

/* ---- Redisson's layout -------------------------------------------------- */

/* Redisson's owner field is `uuid:thread`. Ours has the client's id as the UUID
   and a number of the hold as the thread. */
static ilk_status set_owner(ilk__hold *hold, ilk_error *err)
{
    ilk_lock *lock = (ilk_lock *)hold;
    const char *id = hold->handle.client->shared->client_id;

    (void)err;
    snprintf(lock->owner, sizeof lock->owner, "%.8s-%.4s-4%.3s-8%.3s-%.12s", id,
             id + 8, id + 9, id + 12, id + 4);
    hold->waiter.prefix = lock->owner;
    return ILK_OK;
}

ilk_status ilk__lock_set_channel(ilk_lock *lock, ilk_error *err)
{
    const ilk__bytes *name = &lock->hold.keys[0];
    ilk__bytes *channel = &lock->channel;
    int tagged = memchr(name->data, '{', name->len) != NULL;
    size_t room = sizeof "redisson_lock__channel:{}" + name->len;

    channel->data = ilk__malloc(room);
    if (!channel->data)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    channel->len = (size_t)snprintf(
        channel->data, room, "redisson_lock__channel:%s", tagged ? "" : "{");
    memcpy(channel->data + channel->len, name->data, name->len);
    channel->len += name->len;
    if (!tagged)
        channel->data[channel->len++] = '}';
    channel->data[channel->len] = '\0';
    lock->hold.wait_queue.channel = *channel;
    return ILK_OK;
}

/* ---- the tables --------------------------------------------------------- */

static const ilk__op_type lock_acquire = ILK__HOLD_ACQUIRE(LOCK_ACQUIRE),
                          lock_refresh = ILK__HOLD_REFRESH(LOCK_REFRESH),
                          lock_cancel = ILK__HOLD_CANCEL(LOCK_CANCEL),
                          lock_extend = ILK__HOLD_EXTEND(LOCK_EXTEND),
                          lock_release = {.name = "LOCK_RELEASE",
                                          .script = ILK__SCRIPT_LOCK_RELEASE,
                                          .ask = ask_lock_release,
                                          .reply = ilk__hold_released};

const ilk__op_type ilk__lock_break_op = {.name = "LOCK_BREAK",
                                         .script = ILK__SCRIPT_LOCK_BREAK,
                                         .ask = ilk__hold_ask_break,
                                         .reply = ilk__hold_released};

static const ilk__op_type rwlock_acquire = ILK__HOLD_ACQUIRE(RWLOCK_ACQUIRE),
                          rwlock_cancel = ILK__HOLD_CANCEL(RWLOCK_CANCEL),
                          rwlock_release = ILK__HOLD_RELEASE(RWLOCK_RELEASE),
                          rwlock_extend = ILK__HOLD_EXTEND(RWLOCK_EXTEND);

static const ilk__op_type re_acquire = ILK__HOLD_ACQUIRE(REDISSON_ACQUIRE),
                          re_refresh = ILK__HOLD_REFRESH(REDISSON_REFRESH),
                          re_cancel = ILK__HOLD_CANCEL(REDISSON_CANCEL),
                          re_extend = ILK__HOLD_EXTEND(REDISSON_EXTEND),
                          re_release = {.name = "REDISSON_RELEASE",
                                        .script = ILK__SCRIPT_REDISSON_RELEASE,
                                        .ask = ask_redisson_release,
                                        .reply = ilk__hold_released};

/* An orphaned grant is given back, which serves the next waiter. */
static void pass_on(ilk__shared *shared, const ilk__message *message)
{
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk__wait_queue wait_queue = {
        .keys = keys,
        .key_count = ILK__LOCK_KEYS,
        .cancel = message->kind == 'r' ? &rwlock_cancel : &lock_cancel};

    if (message->type != ILK__MESSAGE_GRANT
        || ilk__lock_keys(keys, message->name, message->name_len, NULL))
        return;
    ilk__give_back_token(shared, &wait_queue, message->token);
    ilk__lock_keys_free(keys);
}

#define LEASE(how, when_lost)                                                  \
    {                                                                          \
        .noun = "lock", .lost_notification = (when_lost), .extend = &(how)     \
    }
#define PLAIN(when_lost)                                                       \
    {                                                                          \
        .lease = LEASE(lock_extend, when_lost),                                \
        .key_kinds = ilk__lock_key_kinds, .key_count = ILK__LOCK_KEYS,         \
        .acquire = &lock_acquire, .refresh = &lock_refresh,                    \
        .cancel = &lock_cancel, .release = &lock_release, .waits_as = 'x',     \
        .orphaned = pass_on, .extend_keys = {0, 1}, .extend_key_count = 2      \
    }

const ilk__hold_kind ilk__lock_plain = PLAIN(ILK_NOTIFICATION_LOCK_LOST);
/* The program has no handle with its id, so there is no notification of its
 * loss. */
const ilk__hold_kind ilk__lock_of_many = PLAIN(ILK_NOTIFICATION_NONE);

/* Readers and writers share one wait queue, so one refresh script serves both.
 */
const ilk__hold_kind ilk__lock_reader = {
    .lease = LEASE(rwlock_extend, ILK_NOTIFICATION_LOCK_LOST),
    .key_kinds = ilk__lock_key_kinds,
    .key_count = ILK__LOCK_KEYS,
    .acquire = &rwlock_acquire,
    .refresh = &lock_refresh,
    .cancel = &rwlock_cancel,
    .release = &rwlock_release,
    .waits_as = 'r',
    .orphaned = pass_on,
    .extend_keys = {0, 1, 4},
    .extend_key_count = 3,
};

const ilk__hold_kind ilk__lock_redisson = {
    .lease = LEASE(re_extend, ILK_NOTIFICATION_LOCK_LOST),
    .key_kinds = ilk__lock_key_kinds,
    .key_count = ILK__LOCK_KEYS,
    .acquire = &re_acquire,
    .refresh = &re_refresh,
    .cancel = &re_cancel,
    .release = &re_release,
    .waits_as = 'w',
    .barges = 1,
    .extend_keys = {0, 1},
    .extend_key_count = 2,
    .bind = set_owner,
};
