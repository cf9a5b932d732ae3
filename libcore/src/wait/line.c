/* SPDX-License-Identifier: MIT */
/* line.c -- taking back entries and grants that nobody wants. */
#include "line.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stddef.h>
#include <string.h>

enum {
    TRY_FOR_MS = 30 * 1000, /* a lease that was given rarely lasts longer */
    STRAGGLER_MS = 100      /* what a dead connection still carries is in */
};

typedef struct give_back {
    ilk__inflight inflight;
    ilk__promise promise;
    ilk__promise *also;
    ilk__line line;
    ilk__bytes *keys;
    const char *entry, *token;
    size_t entry_len;
    int again; /* once more, for what may have come in behind the first */
    ilk__bytes room[]; /* of the keys; their bytes are behind */
} give_back;

void ilk__line_cancel(ilk__command *command, const ilk__leaving *leaving)
{
    const ilk__line *line = leaving->line;
    int script = line->cancel->script;

    ilk__script_begin(command, script, line->keys, line->key_count);
    if (line->leave_args) {
        line->leave_args(command, leaving);
        return;
    }
    ilk__command_add(command, leaving->entry, leaving->entry_len);
    ilk__command_add_str(command, leaving->token);
    if (line->channel.len)
        ilk__command_add(command, line->channel.data, line->channel.len);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    if (script == ILK__SCRIPT_LOCK_CANCEL)
        ilk__command_add_int(command, line->barge);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

ilk__act ilk__give_back_done(ilk__op *op, const ilk__reply *reply)
{
    give_back *self = op->subject;

    (void)reply;
    if (!self->again)
        return ilk__op_done(op, ILK_OK);
    self->again = 0;
    return ilk__op_sleep(op, op->now + STRAGGLER_MS);
}

ilk__act ilk__give_back_wake(ilk__op *op, ilk__cause cause)
{
    (void)cause;
    return ilk__op_ask(op);
}

void ilk__give_back_ask(ilk__op *op)
{
    const give_back *self = op->subject;
    const ilk__leaving leaving = {.shared = self->inflight.shared,
                                  .line = &self->line,
                                  .entry = self->entry,
                                  .entry_len = self->entry_len,
                                  .token = self->token};

    ilk__line_cancel(&op->command, &leaving);
}

static void finished(ilk__inflight *inflight)
{
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

static give_back *copy_of(const ilk__line *line, const char *entry,
                          size_t entry_len, const char *token)
{
    size_t room = entry_len + strlen(token) + line->channel.len + 3;
    give_back *self;
    char *to;

    for (size_t i = 0; i < line->key_count; i++)
        room += sizeof *line->keys + line->keys[i].len + 1;
    self = ilk__calloc(1, sizeof *self + room);
    if (!self)
        return NULL;
    self->keys = self->room;
    to = (char *)(self->room + line->key_count);
    self->line = *line;
    self->line.keys = self->keys;
    self->line.names = NULL;
    self->line.name_count = 0;
    for (size_t i = 0; i < line->key_count; i++) {
        self->keys[i].len = line->keys[i].len;
        self->keys[i].data = put(&to, line->keys[i].data, line->keys[i].len);
    }
    self->line.channel.data = put(&to, line->channel.data, line->channel.len);
    self->entry = put(&to, entry, entry_len);
    self->entry_len = entry_len;
    self->token = put(&to, token, strlen(token));
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
    self->inflight.op.deadline = ilk__deadline(TRY_FOR_MS);
    shared->stats.passed_on++;
    ilk__shared_post(shared, &self->inflight);
}

static give_back *prepare(ilk__shared *shared, const ilk__line *line,
                          const char *entry, size_t entry_len,
                          const char *token)
{
    give_back *self = copy_of(line, entry, entry_len, token);

    if (!self)
        return NULL;
    ilk__inflight_init(&self->inflight, shared, line->cancel, self);
    self->inflight.op.patient = 1;
    self->inflight.finished = finished;
    return self;
}

void ilk__give_back(ilk__shared *shared, const ilk__line *line,
                    const char *entry, size_t entry_len, const char *token)
{
    give_back *self = prepare(shared, line, entry, entry_len, token);

    if (self)
        post(self);
}

static void promise_ended(ilk__promise *promise, ilk_status status)
{
    give_back *self =
        (give_back *)((char *)promise - offsetof(give_back, promise));
    ilk__promise *also = self->also;
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

ilk__promise *ilk__give_back_promise(ilk__shared *shared, const ilk__line *line,
                                     const char *entry, size_t entry_len,
                                     const char *token, ilk__promise *also)
{
    give_back *self = prepare(shared, line, entry, entry_len, token);

    if (!self)
        return also;
    self->promise.ended = promise_ended;
    self->also = also;
    return &self->promise;
}
