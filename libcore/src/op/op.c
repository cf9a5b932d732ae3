/* SPDX-License-Identifier: MIT */
/*
 * op.c -- what all operations share: sending, retransmitting, giving up.
 *
 *     NO_REPLY, the command may have run     only_once: fail (ILK_EUNKNOWN).
 *                                            The connection broke: send a copy at
 *                                            once, but only one
 *     NO_REPLY otherwise                     an outage
 *     error ILKDOWN, from a gateway          the same
 *     error READONLY, where another server   the same: it was the primary
 *     takes over
 *     error NOQUORUM, from a gateway         the same, with that status
 *     error NOSCRIPT                         only_once: fail (ILK_EUNKNOWN), for
 *                                            an error has no number and may be
 *                                            another's; else send a copy as EVAL
 *     error BUSY, LOADING                    as an outage, but the server is there
 *     closed, refused login, other errors    fail
 *
 * In an outage (outage.h) copies are sent after growing pauses until the earliest of
 * these, and then it fails with ILK_ECONN, or ILK_EUNKNOWN if a copy may have run:
 *
 *     the operation's deadline
 *     persist_ms after the beginning of the outage, but not before one attempt
 *     ILK__COPIES_WITHIN_MS after the first copy, if one may have run
 *     without a deadline: ILK__CONTACT_LOST_MS after the last reply or wake-up
 */
#include "op.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "redis/missing_right.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SILENCE_MS = 500 /* without a reply for so long, the server is away */
};

void ilk__op_init(ilk__op *op, const ilk__op_type *type, void *subject,
                  int64_t deadline, ilk_error *err)
{
    memset(op, 0, offsetof(ilk__op, command));
    memset((char *)op + offsetof(ilk__op, deadline), 0,
           sizeof *op - offsetof(ilk__op, deadline));
    op->type = type;
    op->subject = subject;
    op->deadline = deadline;
    op->err = err;
    op->persist_ms = ILK__FOREVER;
    ilk__command_init(&op->command);
}

static void end_ensured(ilk__op *op, ilk_status status)
{
    ilk__ensured *ensured = op->ensured;

    op->ensured = NULL;
    if (ensured)
        ensured->ended(ensured, status);
}

void ilk__op_free(ilk__op *op)
{
    end_ensured(op, ILK_ECLOSED);
    ilk__command_free(&op->command);
}

ilk__act ilk__op_done(ilk__op *op, ilk_status status)
{
    op->status = status;
    return ILK__ACT_DONE;
}

ilk__act ilk__op_fail(ilk__op *op, ilk_status status, const char *format, ...)
{
    char text[ILK_ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ilk__op_done(op, ilk__fail(op->err, status, "%s", text));
}

ilk__act ilk__op_sleep(ilk__op *op, int64_t until)
{
    op->wake_at = until;
    return ILK__ACT_SLEEP;
}

/* Nothing was sent, but the type has to tidy up: an entry may be on the server. */
static ilk__act without_memory(ilk__op *op, ilk__act act)
{
    ilk_status status =
        ilk__fail(op->err, ILK_ENOMEM, "%s: out of memory", op->type->name);

    if (act == ILK__ACT_SEND && op->type->failed)
        return op->type->failed(op, status);
    if (act == ILK__ACT_SEND_ONLY && op->type->sent) {
        end_ensured(op, status);
        return op->type->sent(op, status);
    }
    return ilk__op_done(op, status);
}

/* Once the outage has lasted too long for this operation, one attempt is left. */
static void plan_connecting(ilk__op *op)
{
    int64_t since = op->away_since;

    op->pauses_until = op->deadline;
    if (op->deadline == ILK__FOREVER)
        op->pauses_until = op->contact_at + ILK__CONTACT_LOST_MS;
    if (op->retries_until)
        op->pauses_until = op->retries_until > op->now ? op->retries_until : 0;
    if (op->persist_ms == ILK__FOREVER)
        return;
    if (!since && op->outage)
        since = atomic_load_explicit(&op->outage->since, memory_order_relaxed);
    op->pauses_until = (since ? since : op->now) + op->persist_ms;
    if (op->pauses_until <= op->now)
        op->pauses_until = 0;
}

static ilk__act compose(ilk__op *op, ilk__act act)
{
    ilk__command_free(&op->command);
    op->script = op->type->script;
    op->type->ask(op);
    op->retried = 0;
    op->backoff_ms = 0;
    op->sent_at = op->first_sent_at = op->now;
    plan_connecting(op);
    if (op->command.failed)
        return without_memory(op, act);
    return act;
}

ilk__act ilk__op_ask(ilk__op *op)
{
    return compose(op, ILK__ACT_SEND);
}

ilk__act ilk__op_send_only(ilk__op *op, ilk__ensured *ensured)
{
    ilk__act act;

    op->ensured = ensured;
    act = compose(op, ILK__ACT_SEND_ONLY);
    if (act != ILK__ACT_SEND_ONLY)
        end_ensured(op, ILK_ENOMEM);
    return act;
}

int ilk__op_may_have_run(const ilk__op *op)
{
    return op->retried || op->status == ILK_EREPLY || op->status == ILK_ENOMEM
           || op->status == ILK_ECLOSED;
}

/* The meaning of a missing reply: for a read-only command no more than a failed
 * connection; any other command may have been executed. */
static ilk_status silence(const ilk__op *op, ilk_status status)
{
    return op->type->reply_is_optional && status == ILK_EUNKNOWN ? ILK_ECONN
                                                                 : status;
}

ilk__act ilk__op_end(ilk__op *op, ilk_status status)
{
    ilk_error *err = op->err;
    char text[ILK_ERROR_MAX];

    if (err && err->code == 0)
        ilk__fail(err, status, "%s", ilk_strerror(status));
    if (err && err->code != status) {
        memcpy(text, err->msg, sizeof text);
        ilk__fail(err, status, "%s: %.200s", ilk_strerror(status), text);
    }
    return ilk__op_done(op, status);
}

static ilk__act give_up(ilk__op *op, ilk_status status)
{
    ilk_error *err = op->err;

    if (op->type->failed)
        return op->type->failed(op, status);
    status = silence(op, status);
    if (err && err->code == 0)
        ilk__fail(err, status, "%s: %s", op->type->name, ilk_strerror(status));
    return ilk__op_end(op, status);
}

/* Whether a copy that comes late may be executed a second time, when the server has
 * forgotten the first one. A wait has its entry and its token, and takes back what it
 * does not use. */
static int needs_memory(const ilk__op_type *type)
{
    return !type->reply_is_optional && (!type->wake || type->arrives);
}

/* When to stop retrying. */
static int64_t limit_of(const ilk__op *op)
{
    int64_t limit = op->retries_until ? op->retries_until : op->deadline;

    if (limit == ILK__FOREVER)
        limit = op->contact_at + ILK__CONTACT_LOST_MS;
    if (op->persist_ms != ILK__FOREVER)
        limit = ilk__sooner(limit, op->away_since + op->persist_ms);
    if (op->retried && needs_memory(op->type))
        limit = ilk__sooner(limit, op->first_sent_at + ILK__COPIES_WITHIN_MS);
    return limit;
}

/* Send the same command once more, after a pause that grows. */
static ilk__act ask_again_later(ilk__op *op, ilk_status status)
{
    const int64_t limit = limit_of(op);
    int64_t pause;

    if (op->now >= limit)
        return give_up(op, status);
    pause = ilk__request_pause_ms(&op->backoff_ms);
    op->resend = 1;
    op->refused = 0;
    return ilk__op_sleep(op, ilk__sooner(op->now + pause, limit));
}

static ilk__act send_copy(ilk__op *op)
{
    op->resend = 0;
    op->sent_at = op->now;
    plan_connecting(op);
    ilk__error_clear(op->err);
    return ILK__ACT_SEND;
}

/* The server cannot be reached, or does not reply. Not sure: its reply is not here at a
 * deadline that was short. */
static ilk__act on_outage(ilk__op *op, ilk_status status, int is_sure)
{
    if (!op->away_since)
        op->away_since = op->sent_at;
    if (op->outage && is_sure)
        op->away_since =
            ilk__outage_note(op->outage, op->away_since, status, op->err);
    if (op->now >= limit_of(op))
        ilk__outage_tell(op->err, op->away_since, op->now);
    return ask_again_later(op, op->retried ? ILK_EUNKNOWN : status);
}

/* An earlier copy, which got no reply, may have run and changed something. */
static int is_in_doubt(const ilk__op *op)
{
    return op->retried && !op->type->reply_is_optional;
}

/* A request that does not wait leaves its pause. */
static ilk__act end_early(ilk__op *op, ilk_status status)
{
    op->ended_early = 1;
    return give_up(op, is_in_doubt(op) ? ILK_EUNKNOWN : status);
}

static ilk__act on_no_reply(ilk__op *op, const ilk__input *input)
{
    const int is_first = input->may_have_run && !op->retried;
    const int broke = input->status == ILK_ECONN;

    if (input->may_have_run)
        op->retried = 1;
    if (input->may_have_run && op->type->only_once)
        return give_up(op, ILK_EUNKNOWN);
    if (input->status == ILK_ENOQUORUM) /* of a gateway that is not reached */
        return on_outage(op, ILK_ENOQUORUM, 1);
    if (input->status == ILK_ECANCELLED && !op->type->wake)
        return end_early(op, ILK_ECANCELLED);
    if (!broke && input->status != ILK_ETIMEOUT)
        return give_up(op, input->status);
    /* An idle connection may have been closed: try a new one. */
    return broke && is_first
               ? send_copy(op)
               : on_outage(op, ILK_ECONN,
                           broke || op->now - op->sent_at >= SILENCE_MS);
}

static int is_passing(ilk_status status)
{
    return status == ILK_ESERVERBUSY || status == ILK_ESERVERLOADING;
}

/* The refusal is of the last copy. A type with failed() judges the others by itself. */
static ilk_status refusal(const ilk__op *op, ilk_status status)
{
    return is_in_doubt(op) && !op->type->failed ? ILK_EUNKNOWN : status;
}

/* The server is there but cannot serve. At the limit no copy is sent: no
 * reply could come in time. */
static ilk__act on_refusal(ilk__op *op, ilk_status status)
{
    ilk__act act;

    if (status == ILK_ENOQUORUM) {
        act = on_outage(op, status, 1);
    } else {
        if (!op->away_since)
            op->away_since = op->now;
        act = ask_again_later(op, refusal(op, status));
    }
    op->refused = status;
    return act;
}

enum { KEY_SHOWN = 64 }; /* bytes of a key in a text */

/* A server says neither which key has another type nor anything that the caller knows,
 * but the script's hash. */
static void name_key(const ilk__op *op, const char *text)
{
    const ilk__command *command = &op->command;
    const size_t first = op->script == ILK__SCRIPT_NONE ? 1 : 3;
    const char *script = strstr(text, " script: ");

    if (command->argc <= first)
        return;
    ilk__fail(op->err, ILK_ETYPE, "%.*s: the key \"%.*s\" or one beside it",
              script ? (int)(script - text) : KEY_SHOWN * 2, text,
              (int)(command->lens[first] < KEY_SHOWN ? command->lens[first]
                                                     : KEY_SHOWN),
              command->argv[first]);
}

/* A former primary says READONLY until the client has found the new one. */
static int is_from_former_primary(const ilk__op *op, const ilk__reply *reply)
{
    return op->outage && op->outage->fails_over
           && ilk__reply_is_error(reply, "READONLY");
}

static int is_outage(const ilk__op *op, const ilk__reply *reply)
{
    return ilk__reply_is_error(reply, "ILKDOWN")
           || ilk__reply_is_error(reply, "NOQUORUM")
           || is_from_former_primary(op, reply);
}

static ilk__act on_error_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk_status status;

    if (op->script != ILK__SCRIPT_NONE && ilk__reply_is_error(reply, "NOSCRIPT")
        && ilk__script_use_source(&op->command, op->script)) {
        if (!op->type->only_once)
            return send_copy(op);
        (void)ilk__reply_error(reply, op->err);
        return give_up(op, ILK_EUNKNOWN);
    }
    status = ilk__missing_right(reply, &op->command, op->script, op->err);
    if (status == ILK_ETYPE)
        name_key(op, reply->str);
    if (status == ILK_ECONN || is_from_former_primary(op, reply))
        return on_outage(op, ILK_ECONN, 1);
    return status == ILK_ENOQUORUM || is_passing(status)
               ? on_refusal(op, status)
               : give_up(op, status);
}

/* The server has replied. */
static void note_contact(ilk__op *op, const ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_ERROR && is_outage(op, reply))
        return;
    op->contact_at = op->now;
    if (reply->type != ILK__REPLY_ERROR)
        op->away_since = 0;
    if (op->outage
        && atomic_load_explicit(&op->outage->since, memory_order_relaxed))
        ilk__outage_end(op->outage, op->now);
}

static ilk__act on_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__act act;

    note_contact(op, reply);
    if (reply->type == ILK__REPLY_ERROR)
        return on_error_reply(op, reply);
    if (op->script != ILK__SCRIPT_NONE) {
        ilk_status status = ilk__script_check(op->script, reply, op->err);

        if (status) {
            op->bad_reply = 1;
            return give_up(op, status);
        }
    }
    act = op->type->reply(op, reply);
    if (act == ILK__ACT_DONE && op->status == ILK_EREPLY)
        op->bad_reply = 1;
    return act;
}

static int ends_pause(ilk__cause cause)
{
    return cause == ILK__CAUSE_INTERRUPT || cause == ILK__CAUSE_STOPPED;
}

/* A cancel comes as news, and ends a pause as a stop does. */
static int is_cancel(const ilk__op *op, ilk__cause cause)
{
    return op->resend && cause == ILK__CAUSE_NEWS && op->type->cancelled
           && op->type->cancelled(op);
}

static ilk__act on_wake(ilk__op *op, ilk__cause cause)
{
    if (op->resend && cause == ILK__CAUSE_CLOSED)
        return give_up(op, ILK_ECLOSED);
    if (is_cancel(op, cause))
        cause = ILK__CAUSE_STOPPED;
    if (op->resend && !ends_pause(cause)) {
        if (op->now < op->wake_at)
            return ILK__ACT_SLEEP;
        if (op->refused && op->now >= limit_of(op)) {
            if (op->refused == ILK_ENOQUORUM)
                ilk__outage_tell(op->err, op->away_since, op->now);
            return give_up(op, refusal(op, op->refused));
        }
        return send_copy(op);
    }
    op->resend = 0;
    if (!op->type->wake)
        return end_early(op, cause == ILK__CAUSE_STOPPED ? ILK_ECANCELLED
                                                         : ILK_EINTR);
    op->contact_at = op->now;
    return op->type->wake(op, cause);
}

ilk__act ilk__op_step(ilk__op *op, const ilk__input *input)
{
    op->now = input->now;
    switch (input->kind) {
    case ILK__INPUT_START:
        op->contact_at = op->now;
        return op->type->start ? op->type->start(op) : ilk__op_ask(op);
    case ILK__INPUT_REPLY: return on_reply(op, input->reply);
    case ILK__INPUT_NO_REPLY: return on_no_reply(op, input);
    case ILK__INPUT_WAKE: return on_wake(op, input->cause);
    case ILK__INPUT_SENT:
        end_ensured(op, input->status);
        if (op->type->sent)
            return op->type->sent(op, input->status);
        break;
    }
    return ilk__op_done(op, op->status);
}
