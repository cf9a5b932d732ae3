/* SPDX-License-Identifier: MIT */
/* give_back.c -- withdraws entries and orphaned grants from a wait queue. */
#include "give_back.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stddef.h>
#include <string.h>

enum {
    TRY_FOR_MS = 30 * 1000, /* by then most grants have expired anyway */
    LATE_MS = 15 * 1000 /* a server that is away may execute so much later */
};

typedef struct give_back {
    ilk__inflight inflight;
    ilk__ensured ensured;
    ilk__ensured *also;
    ilk__wait_queue wait_queue;
    ilk__bytes *keys;
    const char *entry, *token, *accepted;
    size_t entry_len;
    int64_t lease_ms;
    int again;         /* send a second copy, see ilk__give_back_ensured() */
    ilk__bytes room[]; /* the keys, then all bytes */
} give_back;

void ilk__wait_queue_cancel(ilk__command *command,
                            const ilk__withdrawal *withdrawal)
{
    const ilk__wait_queue *wait_queue = withdrawal->wait_queue;
    int script = wait_queue->cancel->script;

    ilk__script_begin(command, script, wait_queue->keys, wait_queue->key_count);
    if (wait_queue->withdraw_args) {
        wait_queue->withdraw_args(command, withdrawal);
        return;
    }
    ilk__command_add(command, withdrawal->entry, withdrawal->entry_len);
    ilk__command_add_str(command, withdrawal->token);
    if (wait_queue->channel.len)
        ilk__command_add(command, wait_queue->channel.data,
                         wait_queue->channel.len);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    if (script == ILK__SCRIPT_LOCK_CANCEL)
        ilk__command_add_int(command, wait_queue->barge);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

ilk__act ilk__give_back_done(ilk__op *op, const ilk__reply *reply)
{
    give_back *self = op->subject;

    (void)reply;
    if (!self->again)
        return ilk__op_done(op, ILK_OK);
    self->again = 0;
    return ilk__op_sleep(op, op->now + ILK__SECOND_CANCEL_PAUSE_MS);
}

ilk__act ilk__give_back_wake(ilk__op *op, ilk__cause cause)
{
    (void)cause;
    return ilk__op_ask(op);
}

/* A client that is closed may give thousands of holds back in one pipeline. The first
 * command for a script carries its source; by the answers to the rest the server would
 * ask for it a thousand times. */
static void load_first(ilk__op *op, ilk__shared *shared)
{
    const int script = op->type->script;

    if (!shared->closed || shared->knows_script[script])
        return;
    shared->knows_script[script] = 1;
    (void)ilk__script_use_source(&op->command, script);
}

void ilk__give_back_ask(ilk__op *op)
{
    const give_back *self = op->subject;
    const ilk__withdrawal withdrawal = {.shared = self->inflight.shared,
                                        .wait_queue = &self->wait_queue,
                                        .entry = self->entry,
                                        .entry_len = self->entry_len,
                                        .token = self->token,
                                        .accepted = self->accepted};

    ilk__wait_queue_cancel(&op->command, &withdrawal);
    load_first(op, self->inflight.shared);
}

static void finished(ilk__inflight *inflight)
{
    inflight->shared->giving_back--;
    ilk__timers_unreserve(&inflight->shared->timers);
    ilk__op_free(&inflight->op);
    ilk__free(inflight);
}

static char *put(char **to, const void *data, size_t len)
{
    char *here = *to;

    if (len)
        memcpy(here, data, len);
    here[len] = '\0';
    *to += len + 1;
    return here;
}

static give_back *copy_of(const ilk__withdrawal *withdrawal)
{
    const ilk__wait_queue *wait_queue = withdrawal->wait_queue;
    size_t token_len = strlen(withdrawal->token);
    size_t accepted_len =
        withdrawal->accepted ? strlen(withdrawal->accepted) : 0;
    size_t room = withdrawal->entry_len + token_len + accepted_len
                  + wait_queue->channel.len + 4;
    give_back *self;
    char *to;

    for (size_t i = 0; i < wait_queue->key_count; i++)
        room += sizeof *wait_queue->keys + wait_queue->keys[i].len + 1;
    self = ilk__calloc(1, sizeof *self + room);
    if (!self)
        return NULL;
    self->keys = self->room;
    to = (char *)(self->room + wait_queue->key_count);
    self->wait_queue = *wait_queue;
    self->wait_queue.keys = self->keys;
    self->wait_queue.names = NULL;
    self->wait_queue.name_count = 0;
    for (size_t i = 0; i < wait_queue->key_count; i++) {
        self->keys[i].len = wait_queue->keys[i].len;
        self->keys[i].data =
            put(&to, wait_queue->keys[i].data, wait_queue->keys[i].len);
    }
    self->wait_queue.channel.data =
        put(&to, wait_queue->channel.data, wait_queue->channel.len);
    self->entry = put(&to, withdrawal->entry, withdrawal->entry_len);
    self->entry_len = withdrawal->entry_len;
    self->lease_ms = withdrawal->lease_ms;
    self->token = put(&to, withdrawal->token, token_len);
    if (withdrawal->accepted)
        self->accepted = put(&to, withdrawal->accepted, accepted_len);
    return self;
}

/* The mutex is held. */
static void post(give_back *self)
{
    ilk__shared *shared = self->inflight.shared;

    if (ilk__timers_reserve(&shared->timers, NULL)) {
        ilk__free(self);
        return;
    }
    shared->giving_back++;
    self->inflight.op.deadline = ilk__deadline(
        self->lease_ms + LATE_MS > TRY_FOR_MS ? self->lease_ms + LATE_MS
                                              : TRY_FOR_MS);
    shared->stats.passed_on++;
    ilk__shared_post(shared, &self->inflight);
}

static give_back *prepare(const ilk__withdrawal *withdrawal)
{
    give_back *self = copy_of(withdrawal);

    if (!self)
        return NULL;
    ilk__inflight_init(&self->inflight, withdrawal->shared,
                       withdrawal->wait_queue->cancel, self);
    self->inflight.finished = finished;
    /* A gateway agrees at once and withdraws when it can, so its reply does not say that
     * its servers are back. */
    if (withdrawal->shared->has_gateway)
        self->inflight.op.outage = NULL;
    return self;
}

void ilk__give_back(const ilk__withdrawal *withdrawal)
{
    give_back *self = prepare(withdrawal);

    if (self)
        post(self);
}

void ilk__give_back_token(ilk__shared *shared,
                          const ilk__wait_queue *wait_queue, const char *token)
{
    const ilk__withdrawal withdrawal = {.shared = shared,
                                        .wait_queue = wait_queue,
                                        .entry = "",
                                        .token = token};

    ilk__give_back(&withdrawal);
}

ilk_status ilk__give_back_judge(const ilk__ensured *ensured,
                                const ilk__reply *reply)
{
    const give_back *self = (const give_back *)((const char *)ensured
                                                - offsetof(give_back, ensured));
    int was_executed = reply->type != ILK__REPLY_ERROR;

    self->inflight.shared->knows_script[self->wait_queue.cancel->script] =
        (char)was_executed;
    return was_executed ? ILK_OK : ILK_ESERVER;
}

static void ensured_ended(ilk__ensured *ensured, ilk_status status)
{
    give_back *self =
        (give_back *)((char *)ensured - offsetof(give_back, ensured));
    ilk__ensured *also = self->also;
    ilk__shared *shared = self->inflight.shared;

    if (status == ILK_OK || status == ILK_ECLOSED) {
        ilk__free(self);
    } else {
        self->again = 1;
        ilk__shared_lock(shared);
        post(self);
        ilk__shared_unlock(shared);
    }
    if (also)
        also->ended(also, status);
}

ilk__ensured *ilk__give_back_ensured(const ilk__withdrawal *withdrawal,
                                     ilk__ensured *also)
{
    give_back *self = prepare(withdrawal);

    if (!self)
        return also;
    self->ensured.ended = ensured_ended;
    self->also = also;
    return &self->ensured;
}

ilk__ensured *ilk__give_back_after(const ilk__withdrawal *withdrawal,
                                   ilk_status end_status, ilk__ensured *also)
{
    if (!withdrawal->shared->has_gateway
        || (end_status != ILK_ECONN && end_status != ILK_ENOQUORUM
            && end_status != ILK_EUNKNOWN))
        return ilk__give_back_ensured(withdrawal, also);
    ilk__shared_lock(withdrawal->shared);
    ilk__give_back(withdrawal);
    ilk__shared_unlock(withdrawal->shared);
    return also;
}

/* ---- detached tokens ---------------------------------------------------- */

/* Among the marks of messages, which are hashes as well. */
static uint64_t mark_of(const char *token)
{
    return ilk__hash(ilk__hash(ILK__HASH_START, "detached", 8), token,
                     strlen(token));
}

void ilk__detached_token_add(ilk__shared *shared, const char *token)
{
    ilk__shared_lock(shared);
    (void)ilk__recent_seen(&shared->recent, mark_of(token));
    ilk__shared_unlock(shared);
}

int ilk__detached_token_has(const ilk__shared *shared, const char *token)
{
    return ilk__recent_has(&shared->recent, mark_of(token));
}
