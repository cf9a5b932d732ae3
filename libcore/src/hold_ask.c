/* SPDX-License-Identifier: MIT */
/* hold_ask.c -- what a hold asks in its caller's thread: release, look. */
#include "clock.h"
#include "hold.h"
#include "run.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the releasing question --------------------------------------------- */

void ilk__hold_ask_release(ilk__op *op)
{
    const ilk__giving *giving = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, giving->line->keys,
                      giving->line->key_count);
    ilk__command_add(command, giving->token, giving->token_len);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

/*
 * LOST in answer to a repeated question: the first copy may have released
 * it. It surely has, if the lease was still ours when that was sent.
 */
ilk__act ilk__hold_released(ilk__op *op, const ilk__reply *reply)
{
    ilk__giving *giving = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_RELEASED) {
        giving->more = (int)ilk__script_int(reply, 0);
        giving->denied = (int)ilk__script_int(reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
    if (!op->retried)
        return ilk__op_fail(op, ILK_ELOST, "the %s was no longer ours",
                            giving->kind->lease.noun);
    if (op->first_sent_at < giving->sure_until)
        return ilk__op_done(op, ILK_OK);
    return ilk__op_fail(op, ILK_EUNKNOWN,
                        "released, or lost before: the reply is missing");
}

/* ---- claiming, until nobody is left behind ------------------------------ */

enum { SETTLE_TRIES = 100 };

typedef struct settling {
    const ilk__line *line;
    ilk__desk *desk;
    int more;
} settling;

static void ask_settle(ilk__op *op)
{
    const settling *self = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, self->line->keys,
                      self->line->key_count);
    ilk__command_add_str(command, self->desk->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, 0);
}

static ilk__act settled(ilk__op *op, const ilk__reply *reply)
{
    settling *self = op->subject;

    self->more = ilk__script_code(reply) == ILK__CODE_MORE;
    return ilk__op_done(op, ILK_OK);
}

/* The release left the name free at its limit: claim until it is settled.
 * Bounded: what is left then is found by the waiters' own refresh. */
static void settle(ilk_client *client, const ilk__line *line)
{
    settling self = {.line = line, .desk = client->desk, .more = 1};
    ilk__op_type type = {.name = "claim",
                         .script = line->refresh->script,
                         .reads = 1,
                         .ask = ask_settle,
                         .reply = settled};

    for (int i = 0; self.more && i < SETTLE_TRIES; i++)
        if (ilk__ask(client, &type, &self, client->opts.reply_timeout_ms, NULL))
            return;
}

ilk_status ilk__hold_give(ilk_client *client, const ilk__op_type *type,
                          ilk__giving *giving, ilk_error *err)
{
    ilk_status st;
    ilk_error own = {0};
    ilk__parker parker;
    ilk__op op;

    st = ilk__parker_init(&parker, err);
    if (st)
        return st;
    ilk__op_init(&op, type, giving,
                 ilk__deadline(client->opts.reply_timeout_ms),
                 err ? err : &own);
    op.patient = 1;
    st = ilk__run(client, &op, &parker);
    ilk__op_free(&op);
    ilk__parker_destroy(&parker);
    if (st)
        return st;
    if (giving->more && giving->line->refresh)
        settle(client, giving->line);
    if (!giving->denied)
        return ILK_OK;
    return ilk__fail(err, ILK_EAUTH,
                     "released, but this user may not PUBLISH to "
                     "ilk:inbox:* and the next holder was not told");
}

/* ---- does this token hold? ---------------------------------------------- */

typedef struct looking {
    settling question;
    const ilk__hold_kind *kind;
    char entry[ILK__ENTRY_MAX];
    size_t entry_len;
    int64_t lease_ms;
} looking;

/* A refresh that names an entry of our token hears how that stands. */
static void ask_look(ilk__op *op)
{
    looking *self = op->subject;

    ask_settle(op);
    op->command.argc--; /* not none but one entry */
    ilk__command_add_int(&op->command, 1);
    ilk__command_add(&op->command, self->entry, self->entry_len);
}

static ilk__act looked(ilk__op *op, const ilk__reply *reply)
{
    looking *self = op->subject;

    if (reply->count != 7)
        return ilk__op_fail(op, ILK_EREPLY, "check: an answer too short");
    if (ilk__script_int(reply, 3) != ILK__CODE_HELD)
        return ilk__op_fail(op, ILK_ELOST, "the %s is no longer ours",
                            self->kind->lease.noun);
    self->lease_ms = ilk__script_int(reply, 4);
    return ilk__op_done(op, ILK_OK);
}

ilk_status ilk__hold_look(const ilk__hold *hold, const char *token,
                          int64_t *out_lease_ms, ilk_error *err)
{
    ilk_client *client = hold->client;
    char as = hold->kind->waits_as;
    int64_t permits = hold->waiter.permits ? hold->waiter.permits : 1;
    looking self = {.question = {.line = &hold->line, .desk = client->desk},
                    .kind = hold->kind};
    ilk__op_type type = {.name = "check",
                         .script = hold->kind->refresh->script,
                         .reads = 1,
                         .ask = ask_look,
                         .reply = looked};
    ilk_status st;

    self.entry_len = (size_t)snprintf(
        self.entry, sizeof self.entry, "1 %c %s %c0 %s 1 %" PRId64 " -", as,
        client->desk->client_id, as, token, permits);
    st = ilk__ask(client, &type, &self, client->opts.reply_timeout_ms, err);
    *out_lease_ms = self.lease_ms;
    return st;
}
