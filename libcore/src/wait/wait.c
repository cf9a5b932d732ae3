/* SPDX-License-Identifier: MIT */
/*
 * wait.c -- the operation that acquires, waiting in a wait queue. wait.h draws
 * its stages.
 *
 * Every way out of the wait leaves the server without traces of it. An entry,
 * or a grant that may have been made meanwhile, is withdrawn (withdraw());
 * signals that have arrived and are not wanted go to other waiters (finish()).
 * There are two exceptions: after EINTR park() leaves the entry for the next
 * call, and after the close of the client the entry's liveness runs out.
 */
#include "wait.h"

#include "base/clock.h"
#include "delivered_signal.h"
#include "lease.h"
#include "refresher.h"

enum {
    /* The server may send a signal as soon as the entry is queued. So the reply
     * to ENQUEUE is awaited for at least this long, even past the caller's
     * deadline: only then can the wait LEAVE in order. */
    PLACE_MS = 500,
    LEAVE_MS = 1000, /* how long to wait for the reply to LEAVE */
    LINGER_MS = 1000 /* then for the signal; it counts as lost after that */
};

/* ---- the machine -------------------------------------------------------- */

/* A wait that failed gives the signals it has to other waiters. */
static void pass_on(ilk__waiter *waiter)
{
    ilk__shared_lock(waiter->shared);
    ilk__delivered_signal_pass_on(waiter);
    ilk__shared_unlock(waiter->shared);
}

static ilk__act finish(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;

    waiter->stage = ILK__STAGE_IDLE;
    if (!status)
        return ilk__op_done(op, ILK_OK);
    if (waiter->delivered)
        pass_on(waiter);
    return ilk__op_end(op, status);
}

static ilk__act enqueue(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st =
        waiter->refresher ? ILK_OK : ilk__waiter_join(waiter, op->err);

    if (st)
        return finish(op, st);
    waiter->stage = ILK__STAGE_ENQUEUE;
    waiter->asked++;
    op->patient = 1;
    op->hasty = 0;
    if (waiter->wait_queue->asks_to_leave) {
        waiter->until = op->deadline;
        if (op->deadline < op->now + PLACE_MS)
            op->deadline = op->now + PLACE_MS;
    }
    return ilk__op_ask(op);
}

/* The outcome of ENQUEUE is known: the caller's deadline applies again. */
static void was_placed(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    if (waiter->stage == ILK__STAGE_ENQUEUE
        && waiter->wait_queue->asks_to_leave)
        op->deadline = waiter->until;
}

/*
 * Remove our entry and a possible grant from the server. The cancel follows our
 * other commands on the same connection, so it undoes them, and its reply is
 * not read. If that connection breaks, the keeper sends the cancel over its
 * own. It must not when we rejoin under a fixed token: its copy could arrive
 * after our new request and withdraw what that one has got.
 */
static ilk__act withdraw(ilk__op *op, ilk_status end_status, int rejoin)
{
    ilk__waiter *waiter = op->subject;
    ilk__ensured *ensured = NULL;

    ilk__waiter_leave(waiter);
    waiter->stage = ILK__STAGE_CANCEL;
    waiter->end_status = end_status;
    waiter->rejoin = rejoin;
    if (!rejoin || !waiter->fixed_token)
        ensured = ilk__give_back_ensured(waiter->shared, waiter->wait_queue,
                                         waiter->entry, waiter->entry_len,
                                         ilk__waiter_token(waiter), NULL);
    return ilk__op_tell(op, ensured);
}

/* The lease may be over when the grant is read late, for example after the
 * process was stopped. Then it is returned, not used. */
ilk__act ilk__wait_held(ilk__op *op, int64_t fence, int64_t began,
                        int64_t lease_ms)
{
    ilk__waiter *waiter = op->subject;

    if (op->now >= ilk__lease_deadline(began, lease_ms))
        return withdraw(op, ILK_ETIMEOUT,
                        !waiter->once && op->now < op->deadline);
    waiter->fence = fence;
    waiter->began = began;
    waiter->granted_ms = lease_ms;
    return ilk__wait_got(op);
}

ilk__act ilk__wait_got(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    if (waiter->refresher)
        ilk__waiter_succeed(waiter);
    waiter->stage = ILK__STAGE_IDLE;
    return ilk__op_done(op, ILK_OK);
}

/* The delivering list removed our entry. Entries in other lists, or a second
 * one from a repeated ENQUEUE, must be withdrawn. */
static ilk__act signalled(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    if (waiter->stage != ILK__STAGE_LINGER
        && (waiter->asked > 1 || waiter->wait_queue->name_count > 1
            || waiter->delivered->message->second_hand))
        return withdraw(op, ILK_OK, 0);
    return ilk__wait_got(op);
}

static ilk_status ended(const ilk__op *op, ilk__waiter *waiter)
{
    if (atomic_exchange(&waiter->cancelled, 0))
        return ILK_ECANCELLED;
    if (waiter->once) /* a parked wait was resumed by a try: do not sleep */
        return ILK_EBUSY;
    return op->now >= op->deadline ? ILK_ETIMEOUT : ILK_OK;
}

/* The wait fails with end_status. */
static ilk__act leave(ilk__op *op, ilk_status end_status)
{
    ilk__waiter *waiter = op->subject;

    if (!waiter->wait_queue->asks_to_leave || !waiter->refresher)
        return withdraw(op, end_status, 0);
    waiter->stage = ILK__STAGE_LEAVE;
    waiter->end_status = end_status;
    op->deadline = op->now + LEAVE_MS;
    op->patient = 0;
    op->hasty = 1;
    return ilk__op_ask(op);
}

/* The server has removed the entry. A signal sent before that may still arrive;
 * told_last is set by the message that the server sends after all others. */
static ilk__act linger(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk__wait_news news;
    int last;

    ilk__shared_lock(waiter->shared);
    news = waiter->news;
    last = waiter->told_last;
    ilk__shared_unlock(waiter->shared);
    if (news == ILK__NEWS_SIGNAL)
        return signalled(op);
    if (op->now < waiter->linger_until && !last)
        return ilk__op_sleep(op, waiter->linger_until);
    ilk__waiter_leave(waiter);
    return finish(op, waiter->end_status);
}

ilk__act ilk__wait_left(ilk__op *op, int under_way)
{
    ilk__waiter *waiter = op->subject;

    waiter->stage = ILK__STAGE_LINGER;
    waiter->linger_until = op->now + (under_way ? LINGER_MS : 0);
    return linger(op);
}

/* In the wait queue: act on news, end the wait, or sleep on. */
static ilk__act look(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    int64_t fence, began, lease;
    ilk__wait_news news;
    ilk_status over;

    ilk__shared_lock(waiter->shared);
    news = waiter->news;
    fence = waiter->news_fence;
    began = ilk__waiter_began(waiter);
    lease = waiter->news_lease_ms;
    waiter->news = ILK__NEWS_NONE;
    waiter->parked_since = 0;
    ilk__shared_unlock(waiter->shared);
    if (news == ILK__NEWS_GRANTED)
        return ilk__wait_held(op, fence, began, lease);
    if (news == ILK__NEWS_SIGNAL)
        return signalled(op);
    if (news == ILK__NEWS_NO_CONTACT)
        return withdraw(op, ILK_ECONN, 0);
    over = ended(op, waiter);
    if (over)
        return leave(op, over);
    if (news != ILK__NEWS_NONE || !waiter->refresher)
        return enqueue(op);
    waiter->stage = ILK__STAGE_QUEUED;
    return ilk__op_sleep(op, op->deadline);
}

/* The first wait of a client: sleep until its inbox is open. */
static ilk__act await_inbox(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status over;
    ilk_error why;
    int32_t inbox = ilk__shared_want_inbox(
        waiter->shared, waiter->stage != ILK__STAGE_INBOX, &why);
    int64_t limit;

    if (inbox == ILK__INBOX_READY) /* look() checks deadline and cancel */
        return enqueue(op);
    over = ended(op, waiter);
    if (waiter->stage != ILK__STAGE_INBOX)
        waiter->inbox_since = op->now;
    limit = waiter->inbox_since + ILK__CONTACT_LOST_MS;
    waiter->stage = ILK__STAGE_IDLE;
    if (inbox == ILK__INBOX_REFUSED)
        return ilk__op_fail(op, (ilk_status)why.code, "%s", why.msg);
    if (over)
        return finish(op, over);
    if (op->now >= limit)
        return ilk__op_fail(op, ILK_ECONN, "no connection for wake-ups: %s",
                            why.msg);
    waiter->stage = ILK__STAGE_INBOX;
    return ilk__op_sleep(op, ilk__sooner(op->deadline, limit));
}

ilk__act ilk__wait_told(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st;

    (void)status; /* if it was not sent, the keeper sends it: withdraw() */
    if (!waiter->rejoin)
        return finish(op, waiter->end_status);
    st = ilk__waiter_renew_token(waiter, op->err);
    return st ? finish(op, st) : await_inbox(op);
}

/* EINTR: leave the entry in the wait queue, for the next acquire to resume. */
static ilk__act park(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    if (!waiter->refresher && op->retried)
        return withdraw(op, ILK_EINTR, 0);
    if (!waiter->refresher)
        return finish(op, ILK_EINTR);
    ilk__shared_lock(waiter->shared);
    waiter->parked_since = op->now;
    ilk__shared_unlock(waiter->shared);
    return ilk__op_fail(op, ILK_EINTR, "%s", ilk_strerror(ILK_EINTR));
}

/* 0 when the parked wait has left the wait queue meanwhile. */
static int resume(ilk__waiter *waiter)
{
    int queued;

    ilk__shared_lock(waiter->shared);
    waiter->parked_since = 0;
    queued = waiter->refresher != NULL;
    ilk__shared_unlock(waiter->shared);
    return queued;
}

ilk__act ilk__wait_start(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st;

    atomic_store(&waiter->cancelled, 0);
    if (waiter->stage == ILK__STAGE_LINGER && resume(waiter))
        return linger(op);
    if (waiter->stage == ILK__STAGE_QUEUED && resume(waiter))
        return look(op);
    st = ilk__waiter_renew_token(waiter, op->err);
    if (st)
        return finish(op, st);
    /* No mutex: the keeper adds signals only to waiters in a wait queue. */
    ilk__delivered_signal_drop(waiter);
    op->hasty = 1;
    waiter->stage = ILK__STAGE_TRY;
    if (!waiter->once && waiter->shared->inbox == ILK__INBOX_READY)
        return enqueue(op);
    return ilk__op_ask(op);
}

ilk__act ilk__wait_queued(ilk__op *op, int64_t holder_ms, int64_t now_us,
                          int ours)
{
    ilk__waiter *waiter = op->subject;

    was_placed(op);
    waiter->sample_at = op->sent_at;
    waiter->sample_us = now_us > 0 ? now_us : 0; /* G - S cannot overflow */
    ilk__shared_lock(waiter->shared);
    waiter->shared->stats.waits++;
    if (waiter->refresher)
        ilk__refresher_note_holder(waiter->refresher, op->sent_at, holder_ms,
                                   ours);
    ilk__shared_unlock(waiter->shared);
    return look(op);
}

ilk__act ilk__wait_busy(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    return waiter->once ? finish(op, ILK_EBUSY) : await_inbox(op);
}

ilk__act ilk__wait_reply(ilk__op *op, const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_HELD:
        return ilk__wait_held(op, ilk__script_int(reply, 1), op->sent_at,
                              ilk__script_int(reply, 0));
    case ILK__CODE_QUEUED:
        return ilk__wait_queued(op, ilk__script_int(reply, 0),
                                ilk__script_int(reply, 1),
                                (int)ilk__script_int(reply, 2));
    default: return ilk__wait_busy(op);
    }
}

ilk__act ilk__wait_wake(ilk__op *op, ilk__cause cause)
{
    ilk__waiter *waiter = op->subject;

    if (cause == ILK__CAUSE_CLOSED) {
        ilk__waiter_leave(waiter);
        return finish(op, ILK_ECLOSED);
    }
    if (cause == ILK__CAUSE_INTERRUPT)
        return park(op);
    if (waiter->stage == ILK__STAGE_LINGER)
        return linger(op);
    return waiter->stage == ILK__STAGE_INBOX ? await_inbox(op) : look(op);
}

/* Whether the server may have executed the request in spite of the failure. */
static int is_open(const ilk__op *op, ilk_status status)
{
    return op->retried || status == ILK_ETIMEOUT || status == ILK_EREPLY
           || status == ILK_ESERVER;
}

/* When it is unknown whether the server granted, the grant is withdrawn, so
 * a failed acquire never holds anything. */
ilk__act ilk__wait_failed(ilk__op *op, ilk_status status)
{
    const ilk__waiter *waiter = op->subject;

    was_placed(op);
    if (waiter->stage == ILK__STAGE_LEAVE)
        return withdraw(op, waiter->end_status, 0);
    if (status == ILK_EUNKNOWN)
        status = ILK_ECONN;
    if (waiter->refresher || is_open(op, status))
        return withdraw(op, status, 0);
    return finish(op, status);
}
