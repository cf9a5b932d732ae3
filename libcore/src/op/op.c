/* SPDX-License-Identifier: MIT */
/*
 * op.c -- what all operations share: sending, retransmitting, giving up.
 *
 *     NO_REPLY, the command may have run     only_once: fail (ILK_EUNKNOWN);
 *                                            else send a copy at once, and
 *                                            after that with growing pauses
 *     NO_REPLY, it cannot have run           fail; retry with pauses if the op
 *                                            is patient or a copy may have run
 *     error NOSCRIPT                         only_once: fail (ILK_EUNKNOWN), for
 *                                            an error has no number and may be
 *                                            another's; else send a copy as EVAL
 *                                            (a hasty op has one copy, no pauses)
 *     no reply by the deadline, closed,      fail
 *     refused login
 *     error BUSY, LOADING                    retry with pauses if patient
 *     error ILKNOQUORUM, from a gateway      the same
 *     error ILKDOWN, from a gateway          as a connection that cannot be
 *                                            opened
 *     other errors                           fail
 *
 * Retries end at the deadline, or ILK__CONTACT_LOST_MS after the last reply or
 * wake-up.
 */
#include "op.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "redis/missing_right.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static ilk__act compose(ilk__op *op, ilk__act act)
{
    ilk__command_free(&op->command);
    op->script = op->type->script;
    op->type->ask(op);
    op->retried = 0;
    op->backoff_ms = 0;
    op->sent_at = op->now;
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
    if (op->type->reads)
        return status == ILK_EUNKNOWN ? ILK_ECONN : status;
    return status == ILK_ETIMEOUT && op->retried ? ILK_EUNKNOWN : status;
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

/* When to stop retrying. */
static int64_t limit_of(const ilk__op *op)
{
    return ilk__sooner(op->deadline, op->contact_at + ILK__CONTACT_LOST_MS);
}

/* Send the same command once more, after a pause that grows. */
static ilk__act ask_again_later(ilk__op *op, ilk_status status)
{
    int64_t pause;

    if (op->now >= limit_of(op))
        return give_up(op, status);
    pause = ilk__request_pause_ms(&op->backoff_ms);
    op->resend = 1;
    op->refused = 0;
    return ilk__op_sleep(op, ilk__sooner(op->now + pause, limit_of(op)));
}

static ilk__act send_copy(ilk__op *op)
{
    op->resend = 0;
    op->sent_at = op->now;
    ilk__error_clear(op->err);
    return ILK__ACT_SEND;
}

/* This copy was not executed. Retry only if the operation is patient or another copy
 * may have run. */
static ilk__act on_no_contact(ilk__op *op)
{
    if (op->hasty || (!op->patient && !op->retried))
        return give_up(op, ILK_ECONN);
    return ask_again_later(op, op->retried ? ILK_EUNKNOWN : ILK_ECONN);
}

static ilk__act on_no_reply(ilk__op *op, const ilk__input *input)
{
    ilk_status status = input->status;
    int is_first = input->may_have_run && !op->retried;

    if (input->may_have_run)
        op->retried = 1;
    if (input->may_have_run && op->type->only_once)
        return give_up(op, ILK_EUNKNOWN);
    if (status == ILK_ETIMEOUT && op->now < op->deadline)
        status = ILK_ECONN; /* the reply timeout, not our deadline */
    if (status != ILK_ECONN)
        return give_up(op, status);
    /* When the connection broke after the first sending, send a copy at once
     * over a new one. */
    return is_first ? send_copy(op) : on_no_contact(op);
}

static int is_passing(ilk_status status)
{
    return status == ILK_ESERVERBUSY || status == ILK_ESERVERLOADING;
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
    if (ilk__reply_is_error(reply, "ILKNOQUORUM") && op->patient) {
        ilk__act act = ask_again_later(op, status);

        op->refused = status;
        return act;
    }
    if (status == ILK_ECONN)
        return on_no_contact(op);
    if (is_passing(status) && op->patient)
        return ask_again_later(op, status);
    return give_up(op, status);
}

static ilk__act on_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__act act;

    if (!ilk__reply_is_error(reply, "ILKDOWN"))
        op->contact_at = op->now;
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

static int ends_pause(const ilk__op *op, ilk__cause cause)
{
    return op->type->wake
           && (cause == ILK__CAUSE_INTERRUPT || cause == ILK__CAUSE_STOPPED);
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
    if (op->resend && !ends_pause(op, cause)) {
        if (op->now < op->wake_at)
            return ILK__ACT_SLEEP;
        if (op->refused && op->now >= limit_of(op))
            return give_up(op, op->refused); /* no reply could come in time */
        return send_copy(op);
    }
    op->resend = 0;
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
