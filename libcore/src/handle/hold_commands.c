/* SPDX-License-Identifier: MIT */
/* hold_commands.c -- the operations of a hold: release, claim, probe. */
#include "hold.h"

#include <stdio.h>

/* ---- release and break -------------------------------------------------- */

const ilk__release *ilk__hold_begin_release(ilk__op *op)
{
    const ilk__release *release = op->subject;
    const ilk__wait_queue *wait_queue = release->at.wait_queue;

    ilk__script_begin(&op->command, op->type->script, wait_queue->keys,
                      wait_queue->key_count);
    ilk__command_add(&op->command, release->token, release->token_len);
    return release;
}

void ilk__hold_ask_release(ilk__op *op)
{
    ilk__command *command = &op->command;

    (void)ilk__hold_begin_release(op);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

ilk_status ilk__hold_breaker(char out[ILK__BREAKER_MAX + 1],
                             const ilk__shared *shared, ilk_error *err)
{
    ilk_status st = ilk__token(out, ILK__TOKEN_LEN, err);

    if (st == ILK_OK)
        snprintf(out + ILK__TOKEN_LEN, sizeof shared->label + 1, " %s",
                 shared->label);
    return st;
}

void ilk__hold_ask_break(ilk__op *op)
{
    const ilk__release *release = op->subject;

    ilk__hold_ask_release(op);
    ilk__command_add_str(&op->command, release->breaker);
}

/*
 * A retried release found that the token no longer holds: either an earlier
 * copy released the hold, or the hold was lost before. Only an earlier copy can
 * be the reason if the lease has not ended, the server still has its record
 * from the time of the hold, and the record shows no later break.
 */
static ilk__act judge_repeated(ilk__op *op, const ilk__reply *reply)
{
    const ilk__release *release = op->subject;
    int64_t born = release->hold ? ilk__script_int(reply, 0) : 0;
    int64_t broken = release->hold ? ilk__script_int(reply, 1) : 0;

    if (broken < 0)
        return ilk__op_fail(op, ILK_ELOST, "the %s was broken",
                            release->kind->lease.noun);
    if (op->now < release->sure_until && born > 0 && born <= release->fence
        && broken < release->fence)
        return ilk__op_done(op, ILK_OK);
    return ilk__op_fail(op, ILK_EUNKNOWN,
                        "a reply is missing: the %s was released by this call, "
                        "or was lost before it",
                        release->kind->lease.noun);
}

/* A gateway's store has retried it, and says so (contention_replies.c). */
static int was_retried_behind(const ilk__release *release,
                              const ilk__reply *reply)
{
    return release->hold && ilk__script_int(reply, 0) < 0;
}

ilk__act ilk__hold_released(ilk__op *op, const ilk__reply *reply)
{
    ilk__release *release = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_RELEASED) {
        release->more = (int)ilk__script_int(reply, 0);
        release->denied = (int)ilk__script_int(reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
    ilk__evidence_read(&release->evidence, reply);
    if (!op->retried && !was_retried_behind(release, reply))
        return ilk__op_fail(op, ILK_ELOST, "the %s was no longer ours",
                            release->kind->lease.noun);
    return judge_repeated(op, reply);
}

/* ---- a refresh of the wait queue ---------------------------------------- */

/* Sends the primitive's own refresh script. op->subject must begin with an
   ilk__wait_queue_query. */
static void ask_refresh(ilk__op *op, int entries)
{
    const ilk__wait_queue_query *self = op->subject;
    const ilk__wait_queue *wait_queue = self->wait_queue;
    ilk__command *command = &op->command;

    op->script = wait_queue->refresh->script;
    ilk__script_begin(command, op->script, wait_queue->keys,
                      wait_queue->key_count);
    ilk__command_add_str(command, self->shared->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, entries);
}

/* ---- claiming ----------------------------------------------------------- */

/*
 * A release looks at a limited number of waiters and may reach its limit before
 * it finds a live one. The name is free then although somebody may be waiting.
 * A claim is a refresh without entries of ours: it lets the script look at the
 * next ones.
 */

enum { CLAIM_TRIES = 100 };

static void ask_claim(ilk__op *op)
{
    ask_refresh(op, 0);
}

static ilk__act claimed(ilk__op *op, const ilk__reply *reply)
{
    ilk__release *release = op->subject;

    release->more = ilk__script_code(reply) == ILK__CODE_MORE;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type claim = {.name = "claim",
                                   .script = ILK__SCRIPT_NONE,
                                   .reply_is_optional = 1,
                                   .ask = ask_claim,
                                   .reply = claimed};

static ilk__release *release_of(const ilk__request *request)
{
    return request->op->subject;
}

static void released_all(ilk__request *request, ilk__release *release)
{
    ilk_status st = ILK_OK;

    if (release->denied)
        st = ilk__fail(request->err, ILK_EAUTH,
                       "released, but this user may not PUBLISH to "
                       "ilk:inbox:* and the next holder was not notified");
    release->then(request, st);
}

/* Claim until the script has seen all waiters. The number of claims is bounded:
   a waiter that was not reached finds the free name at its next refresh. */
static void claim_rest(ilk__request *request, ilk_status status)
{
    ilk__release *release = release_of(request);

    if (status || !release->more || release->tries++ == CLAIM_TRIES) {
        released_all(request, release);
        return;
    }
    ilk__request_ask(request, &claim, release, ilk__request_patience(request),
                     claim_rest);
    ilk__request_hush(request);
}

static void answered(ilk__request *request, ilk_status status)
{
    ilk__release *release = release_of(request);

    if (status)
        release->then(request, status);
    else if (release->at.wait_queue->refresh)
        claim_rest(request, ILK_OK);
    else
        released_all(request, release);
}

void ilk__hold_send_release(ilk__request *request, const ilk__op_type *type,
                            ilk__release *release, ilk__request_then *then)
{
    release->then = then;
    release->tries = 0;
    ilk__request_ask(request, type, release, ilk__request_patience(request),
                     answered);
}

/* ---- probe: does this token still hold? --------------------------------- */

/* A refresh reports the state of each entry it is sent, also of one that is not
   in the wait queue: send one with our token. */
static void ask_probe(ilk__op *op)
{
    const ilk__probe *self = op->subject;

    ask_refresh(op, 1);
    ilk__command_add(&op->command, self->entry, self->entry_len);
}

static ilk__act probed(ilk__op *op, const ilk__reply *reply)
{
    ilk__probe *self = op->subject;

    if (reply->count != 7)
        return ilk__op_fail(op, ILK_EREPLY,
                            "check: the reply has %zu elements instead of 7",
                            reply->count);
    if (ilk__script_int(reply, 3) != ILK__CODE_HELD)
        return ilk__op_fail(op, ILK_ELOST, "the %s is no longer ours",
                            self->hold->kind->lease.noun);
    self->lease_ms = ilk__script_int(reply, 4);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type check = {.name = "check",
                                   .script = ILK__SCRIPT_NONE,
                                   .reply_is_optional = 1,
                                   .ask = ask_probe,
                                   .reply = probed};

void ilk__hold_probe(ilk__request *request, ilk__probe *probe,
                     const ilk__hold *hold, ilk__request_then *then)
{
    const ilk__entry entry = {
        .kind = hold->kind->waits_as,
        .client = hold->handle.client->shared->client_id,
        .secret = "-",
        .token = probe->hold->lease.token,
        .lease_ms = 1,
        .permits = hold->waiter.permits ? hold->waiter.permits : 1,
        .who = "-"};

    probe->at.wait_queue = &hold->wait_queue;
    probe->at.shared = hold->handle.client->shared;
    probe->entry_len = ilk__entry_write(probe->entry, &entry);
    ilk__request_ask(request, &check, probe, ilk__request_patience(request),
                     then);
}
