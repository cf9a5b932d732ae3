/* SPDX-License-Identifier: MIT */
/* wait.c -- standing in line: the acquiring operation. */
#include "wait.h"

#include "clock.h"
#include "lease.h"
#include "watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

ilk_status ilk__waiter_init(ilk__waiter *waiter, ilk__desk *desk,
                            const ilk__line *line, ilk_error *err)
{
    waiter->desk = desk;
    waiter->line = line;
    return ilk__parker_init(&waiter->parker, err);
}

const char *ilk__waiter_token(const ilk__waiter *waiter)
{
    return waiter->fixed_token ? waiter->fixed_token : waiter->token;
}

/* ---- in and out of line ------------------------------------------------- */

/* A fresh token for a fresh try, so that what is late finds nobody. */
static ilk_status renew_token(ilk__waiter *waiter, ilk_error *err)
{
    if (waiter->fixed_token)
        return ILK_OK;
    return ilk__token(waiter->token, ILK__TOKEN_LEN, err);
}

static ilk_status join(ilk__waiter *waiter, ilk_error *err)
{
    ilk__desk *desk = waiter->desk;
    ilk_status st;
    int len;

    ilk__desk_lock(desk);
    waiter->id = ++desk->last_id;
    waiter->news = ILK__NEWS_NONE;
    waiter->parked_since = 0;
    len = snprintf(waiter->entry, sizeof waiter->entry,
                   "1 %c %s %c%" PRId64 " %s %" PRId64 " 1 %s",
                   waiter->line->kind, desk->client_id, waiter->line->kind,
                   waiter->id, ilk__waiter_token(waiter), waiter->lease_ms,
                   desk->label);
    waiter->entry_len = (size_t)len;
    st = ilk__watch_join(waiter);
    ilk__desk_unlock(desk);
    if (st)
        return ilk__fail(err, st, "out of memory");
    return ILK_OK;
}

static void leave(ilk__waiter *waiter)
{
    ilk__desk_lock(waiter->desk);
    if (waiter->watch)
        ilk__watch_leave(waiter);
    ilk__desk_unlock(waiter->desk);
}

void ilk__waiter_destroy(ilk__waiter *waiter)
{
    ilk__desk *desk = waiter->desk;

    ilk__desk_lock(desk);
    if (waiter->watch) {
        ilk__give_back(desk, waiter->line, waiter->entry,
                            waiter->entry_len, ilk__waiter_token(waiter));
        ilk__watch_leave(waiter);
    }
    ilk__desk_unlock(desk);
    ilk__parker_destroy(&waiter->parker);
}

void ilk__waiter_cancel(ilk__waiter *waiter)
{
    ilk__desk *desk = waiter->desk;

    ilk__desk_lock(desk);
    if (waiter->watch && waiter->parked_since) {
        ilk__give_back(desk, waiter->line, waiter->entry,
                            waiter->entry_len, ilk__waiter_token(waiter));
        ilk__watch_leave(waiter);
    } else {
        atomic_store(&waiter->cancelled, 1);
        ilk__unpark(&waiter->parker);
    }
    ilk__desk_unlock(desk);
}

/* ---- news --------------------------------------------------------------- */

ilk__waiter *ilk__wait_find(ilk__desk *desk, int64_t id)
{
    ilk__node *node = ilk__table_find(&desk->waiters, &id, sizeof id);

    if (!node)
        return NULL;
    return (ilk__waiter *)((char *)node - offsetof(ilk__waiter, node));
}

void ilk__wait_tell_news(ilk__waiter *waiter, ilk__wait_news news)
{
    waiter->news = news;
    ilk__unpark(&waiter->parker);
}

/*
 * When the granted lease began. The grant carries the server's time G, an
 * earlier answer to us its time S, and t0 is our time before that was asked:
 * so the grant was made at t0 + (G - S) at the latest by our clock, give or
 * take 1 % of the time since. Receipt is a bound of its own.
 */
static int64_t began_at(const ilk__waiter *waiter)
{
    int64_t since = (waiter->news_us - waiter->sample_us) / 1000;
    int64_t began = waiter->sample_at + since - (since > 0 ? since / 100 : 0);

    if (!waiter->news_us) /* a refresh told: counted from its question */
        return waiter->news_at;
    return ilk__sooner(began, waiter->news_at);
}

/* ---- asking ------------------------------------------------------------- */

static void add_line(ilk__command *command, const ilk__line *line, int script)
{
    ilk__script_begin(command, script, line->key_count);
    for (size_t i = 0; i < line->key_count; i++)
        ilk__command_add(command, line->keys[i].data, line->keys[i].len);
}

void ilk__wait_add_cancel(ilk__command *command, const ilk__line *line,
                          const char *entry, size_t entry_len,
                          const char *token)
{
    int script = line->cancel->script;

    add_line(command, line, script);
    ilk__command_add(command, entry, entry_len);
    ilk__command_add_str(command, token);
    if (line->channel.len)
        ilk__command_add(command, line->channel.data, line->channel.len);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    if (script == ILK__SCRIPT_LOCK_CANCEL)
        ilk__command_add_int(command, line->barge);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

ilk__act ilk__wait_cancelled(ilk__op *op, const ilk__reply *reply)
{
    (void)reply;
    return ilk__op_done(op, ILK_OK);
}

void ilk__wait_ask(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk__line *line = waiter->line;
    ilk__command *command = &op->command;
    int queues = waiter->stage == ILK__STAGE_ENQUEUE;

    if (waiter->stage == ILK__STAGE_CANCEL) {
        ilk__wait_add_cancel(command, line, waiter->entry, waiter->entry_len,
                             ilk__waiter_token(waiter));
        ilk__script_use_source(command, line->cancel->script);
        return;
    }
    add_line(command, line, op->type->script);
    ilk__command_add_str(command, ilk__waiter_token(waiter));
    ilk__command_add_int(command, waiter->lease_ms);
    ilk__command_add_str(command, waiter->desk->label);
    ilk__command_add_int(command, waiter->floor);
    ilk__command_add(command, waiter->entry, queues ? waiter->entry_len : 0);
    ilk__command_add_str(command, waiter->desk->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, line->barge);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
}

/* ---- the machine -------------------------------------------------------- */

static ilk__act finish(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;

    waiter->stage = ILK__STAGE_IDLE;
    if (op->err && op->err->code != status)
        return ilk__op_fail(op, status, "%s", ilk_strerror(status));
    return ilk__op_done(op, status);
}

static ilk__act enqueue(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st = waiter->watch ? ILK_OK : join(waiter, op->err);

    if (st)
        return finish(op, st);
    waiter->stage = ILK__STAGE_ENQUEUE;
    op->patient = 1;
    op->hasty = 0;
    return ilk__op_ask(op);
}

/*
 * Take back what the server may know of us. Nobody reads the answer: it
 * follows our other commands on the same connection, so it undoes them.
 */
static ilk__act withdraw(ilk__op *op, ilk_status ending, int rejoin)
{
    ilk__waiter *waiter = op->subject;

    leave(waiter);
    waiter->stage = ILK__STAGE_CANCEL;
    waiter->ending = ending;
    waiter->rejoin = rejoin;
    return ilk__op_tell(op);
}

/* Ours, unless it is too late to be sure: a frozen process wakes up here. */
static ilk__act held(ilk__op *op, int64_t fence, int64_t began, int64_t lease)
{
    ilk__waiter *waiter = op->subject;

    if (op->now >= ilk__lease_deadline(began, lease))
        return withdraw(op, ILK_ETIMEOUT,
                        !waiter->once && op->now < op->deadline);
    if (waiter->watch)
        leave(waiter);
    waiter->stage = ILK__STAGE_IDLE;
    waiter->fence = fence;
    waiter->began = began;
    waiter->granted_ms = lease;
    return ilk__op_done(op, ILK_OK);
}

static ilk_status ended(const ilk__op *op, ilk__waiter *waiter)
{
    if (atomic_exchange(&waiter->cancelled, 0))
        return ILK_ECANCELLED;
    return op->now >= op->deadline ? ILK_ETIMEOUT : ILK_OK;
}

/* In line: is there news, is it over, or sleep on? */
static ilk__act look(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk__wait_news news;
    ilk_status over;

    ilk__desk_lock(waiter->desk);
    news = waiter->news;
    waiter->news = ILK__NEWS_NONE;
    waiter->parked_since = 0;
    ilk__desk_unlock(waiter->desk);
    if (news == ILK__NEWS_GRANTED)
        return held(op, waiter->news_fence, began_at(waiter),
                    waiter->news_lease_ms);
    over = ended(op, waiter);
    if (over)
        return withdraw(op, over, 0);
    if (news != ILK__NEWS_NONE || !waiter->watch)
        return enqueue(op);
    waiter->stage = ILK__STAGE_QUEUED;
    return ilk__op_sleep(op, op->deadline);
}

/* The first wait of a client: sleep until its inbox is open. */
static ilk__act await_inbox(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk__desk *desk = waiter->desk;
    int32_t inbox;
    ilk_status over = ended(op, waiter);

    ilk__desk_lock(desk);
    if (desk->inbox == ILK__INBOX_NONE ||
        (desk->inbox == ILK__INBOX_REFUSED &&
         waiter->stage != ILK__STAGE_INBOX)) {
        desk->inbox = ILK__INBOX_WANTED;
        ilk__desk_ring(desk, 0);
    }
    inbox = desk->inbox;
    if (inbox == ILK__INBOX_REFUSED && op->err)
        *op->err = desk->inbox_error;
    ilk__desk_unlock(desk);
    if (inbox == ILK__INBOX_READY)
        return enqueue(op);
    if (inbox == ILK__INBOX_REFUSED)
        return finish(op, op->err ? (ilk_status)op->err->code : ILK_EAUTH);
    if (over)
        return finish(op, over);
    waiter->stage = ILK__STAGE_INBOX;
    return ilk__op_sleep(op, op->deadline);
}

ilk__act ilk__wait_told(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st;

    if (status) { /* the lane is down: the keeper will see to it */
        ilk__desk_lock(waiter->desk);
        ilk__give_back(waiter->desk, waiter->line, waiter->entry,
                       waiter->entry_len, ilk__waiter_token(waiter));
        ilk__desk_unlock(waiter->desk);
    }
    if (!waiter->rejoin)
        return finish(op, waiter->ending);
    st = renew_token(waiter, op->err);
    return st ? finish(op, st) : await_inbox(op);
}

static ilk__act park(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    if (!waiter->watch && op->retried)
        return withdraw(op, ILK_EINTR, 0);
    if (!waiter->watch)
        return finish(op, ILK_EINTR);
    ilk__desk_lock(waiter->desk);
    waiter->parked_since = op->now;
    ilk__desk_unlock(waiter->desk);
    return ilk__op_fail(op, ILK_EINTR, "%s", ilk_strerror(ILK_EINTR));
}

ilk__act ilk__wait_start(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st;

    atomic_store(&waiter->cancelled, 0);
    if (waiter->watch) /* a parked wait */
        return look(op);
    st = renew_token(waiter, op->err);
    if (st)
        return finish(op, st);
    op->hasty = 1;
    waiter->stage = ILK__STAGE_TRY;
    if (!waiter->once && waiter->desk->inbox == ILK__INBOX_READY)
        return enqueue(op);
    return ilk__op_ask(op);
}

ilk__act ilk__wait_reply(ilk__op *op, const ilk__reply *reply)
{
    ilk__waiter *waiter = op->subject;

    waiter->sample_at = op->sent_at;
    waiter->sample_us = ilk__script_int(reply, ilk__script_code(reply) ==
                                                       ILK__CODE_HELD
                                                   ? 2
                                                   : 1);
    switch (ilk__script_code(reply)) {
    case ILK__CODE_HELD:
        return held(op, ilk__script_int(reply, 1), op->sent_at,
                    ilk__script_int(reply, 0));
    case ILK__CODE_QUEUED:
        ilk__desk_lock(waiter->desk);
        waiter->desk->stats.waits++;
        if (waiter->watch)
            ilk__watch_heard(waiter->watch, op->sent_at,
                             ilk__script_int(reply, 0),
                             (int)ilk__script_int(reply, 2));
        ilk__desk_unlock(waiter->desk);
        return look(op);
    default:
        return waiter->once ? finish(op, ILK_EBUSY) : await_inbox(op);
    }
}

ilk__act ilk__wait_wake(ilk__op *op, ilk__cause cause)
{
    ilk__waiter *waiter = op->subject;

    if (cause == ILK__CAUSE_CLOSED) {
        leave(waiter);
        return finish(op, ILK_ECLOSED);
    }
    if (cause == ILK__CAUSE_INTERRUPT)
        return park(op);
    return waiter->stage == ILK__STAGE_INBOX ? await_inbox(op) : look(op);
}

/* An acquire never leaves it open whether it holds: it takes all back. */
ilk__act ilk__wait_failed(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;

    if (status == ILK_EUNKNOWN)
        status = ILK_ECONN;
    if (op->retried || status == ILK_ETIMEOUT || waiter->watch)
        return withdraw(op, status, 0);
    return finish(op, status);
}
