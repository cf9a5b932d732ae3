/* SPDX-License-Identifier: MIT */
/*
 * wait.c -- the operation that acquires, waiting in a wait queue. wait.h draws
 * its stages.
 *
 * Every way out of the wait leaves the server without traces of it. An entry,
 * or a grant that may have been made meanwhile, is withdrawn (withdraw());
 * the same command has the server hand on signals that were given to the wait.
 * There are two exceptions: after EINTR suspend() leaves the entry for the next
 * call, and after the close of the client the entry's liveness runs out.
 */
#include "wait.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "delivered_signal.h"
#include "lease.h"
#include "refresher.h"

enum {
    /* TRY and ENQUEUE have at least this long for one attempt and its reply, even
     * past the caller's deadline: less time says nothing about the server. Also,
     * the server may send a signal as soon as the entry is queued, and the wait
     * can LEAVE in order only after the reply to ENQUEUE; and the reply to a
     * command that is sent only once may carry a queue message that is nowhere
     * else any more. */
    PLACE_MS = 500,
    SILENCE_MS = 500, /* a refresh without a reply for so long is an outage */
    LOOK_MS = 750,    /* so long before its deadline a wait asks once more */
    LEAVE_MS = 1000,  /* how long to wait for the reply to LEAVE */
    LINGER_MS = 1000  /* then for the signal; after that it is handed on */
};

/* ---- the machine -------------------------------------------------------- */

/* The server hands on signals that a wait has not acknowledged. */
static void drop_delivered(ilk__waiter *waiter)
{
    ilk__shared_lock(waiter->shared);
    ilk__delivered_signal_drop(waiter);
    ilk__shared_unlock(waiter->shared);
}

static ilk__act finish(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;

    waiter->stage = ILK__STAGE_IDLE;
    if (!status)
        return ilk__op_done(op, ILK_OK);
    if (waiter->delivered)
        drop_delivered(waiter);
    if (status == ILK_ECANCELLED && ilk__shared_is_stopped(waiter->shared))
        ilk__fail(op->err, status, "the client is stopped");
    if (status == ILK_EBUSY && waiter->wait_queue->busy_text)
        ilk__fail(op->err, status, "%s", waiter->wait_queue->busy_text);
    return ilk__op_end(op, status);
}

static ilk__act ask(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    waiter->until = op->deadline;
    if (op->deadline < op->now + PLACE_MS) {
        op->retries_until = op->deadline;
        op->deadline = op->now + PLACE_MS;
    }
    return ilk__op_ask(op);
}

static ilk__act enqueue(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st =
        waiter->refresher ? ILK_OK : ilk__waiter_join(waiter, op->err);

    if (st)
        return finish(op, st);
    waiter->stage = ILK__STAGE_ENQUEUE;
    waiter->enqueues++;
    return ask(op);
}

/* The outcome of TRY or ENQUEUE is known: the caller's deadline applies again. */
static void was_answered(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    if (waiter->stage == ILK__STAGE_TRY || waiter->stage == ILK__STAGE_ENQUEUE)
        op->deadline = waiter->until;
    op->retries_until = 0;
}

/*
 * Remove our entry and a possible grant from the server. The cancel follows our
 * other commands on the same connection, so it undoes them, and its reply is
 * not read. If that connection breaks, the keeper sends the cancel over its
 * own, with one exception: a waiter with a fixed token that enqueues again uses
 * the same token. The keeper's copy might arrive after that new request, and
 * the server would withdraw what the request has got.
 */
static ilk__act withdraw(ilk__op *op, ilk_status end_status, int rejoin)
{
    ilk__waiter *waiter = op->subject;
    const ilk__withdrawal withdrawal = ilk__waiter_withdrawal(waiter);
    ilk__ensured *ensured = NULL;

    ilk__waiter_leave(waiter);
    op->retries_until = 0;
    waiter->stage = ILK__STAGE_CANCEL;
    waiter->end_status = end_status;
    waiter->rejoin = rejoin;
    if (!rejoin || !waiter->fixed_token)
        ensured = ilk__give_back_after(&withdrawal, end_status, NULL);
    if (ensured)
        ensured->judge = ilk__give_back_judge;
    return ilk__op_send_only(op, ensured);
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

/*
 * Whether a grant's fence is plausible. A new exclusive grant rises above the
 * highest fence that the handle has seen, which its request carried. Readers
 * share a fence, and a handle with an identity of its own may find its earlier
 * hold.
 */
static int fence_fits(const ilk__waiter *waiter, int64_t fence)
{
    int may_equal = waiter->wait_queue->kind == 'r' || waiter->fixed_token
                    || waiter->prefix;

    return ilk__fence_is_valid(fence)
           && (may_equal ? fence >= waiter->floor : fence > waiter->floor);
}

/* A lock, permit or leadership was granted. */
static ilk__act granted(ilk__op *op, int64_t fence, int64_t began,
                        int64_t lease_ms)
{
    const ilk__waiter *waiter = op->subject;

    if (fence_fits(waiter, fence))
        return ilk__wait_held(op, fence, began, lease_ms);
    ilk__fail(op->err, ILK_EREPLY, "a grant with fence %lld, after %lld",
              (long long)fence, (long long)waiter->floor);
    return withdraw(op, ILK_EREPLY, 0);
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
 * one from a repeated ENQUEUE, must be withdrawn. The same command acknowledges
 * the signals that are accepted, and the server hands on all others that were
 * given to us. Our id stays known, so that second copies are ignored. */
static ilk__act signalled(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    int acknowledges = ilk__delivered_signal_take(waiter);

    if (acknowledges
        || (waiter->stage != ILK__STAGE_LINGER
            && (waiter->enqueues > 1 || waiter->wait_queue->name_count > 1
                || waiter->delivered->message->second_hand)))
        return withdraw(op, ILK_OK, 0);
    return ilk__wait_got(op);
}

/*
 * The deadline has passed. ILK_ETIMEOUT says that the server would have granted by
 * now, so it must have been in reach: no outage is known, and the last refresh has
 * its reply, or is on its way for a moment only.
 */
static ilk_status timed_out(ilk__op *op, const ilk__waiter *waiter)
{
    ilk__shared *shared = waiter->shared;
    ilk_status st = ilk__outage_status(&shared->outage, op->now, op->err);
    int64_t unanswered_since;

    if (st)
        return st;
    ilk__shared_lock(shared);
    unanswered_since = ilk__refresher_unanswered_since(waiter->refresher);
    ilk__shared_unlock(shared);
    if (op->now - unanswered_since < SILENCE_MS)
        return ILK_ETIMEOUT;
    ilk__fail(op->err, ILK_ECONN, "the server does not reply");
    ilk__outage_tell(op->err, unanswered_since, op->now);
    return ILK_ECONN;
}

static ilk_status ended(ilk__op *op, ilk__waiter *waiter)
{
    if (atomic_exchange(&waiter->cancelled, 0))
        return ILK_ECANCELLED;
    if (waiter->once) /* a suspended wait was resumed by a try: do not sleep */
        return ILK_EBUSY;
    if (op->now >= op->deadline)
        return timed_out(op, waiter);
    return ilk__shared_is_stopped(waiter->shared) ? ILK_ECANCELLED : ILK_OK;
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
    op->retries_until = 0;
    op->persist_ms = 0;
    return ilk__op_ask(op);
}

/* The server has removed the entry. A signal sent before that may still arrive;
 * last_received counts the message that a server sends after all others. */
static ilk__act linger(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk__wait_report report;
    int last;

    ilk__shared_lock(waiter->shared);
    report = waiter->report;
    last = waiter->last_received;
    ilk__shared_unlock(waiter->shared);
    if (report == ILK__REPORT_SIGNAL)
        return signalled(op);
    if (op->now < waiter->linger_until && last < waiter->last_expected)
        return ilk__op_sleep(op, waiter->linger_until);
    if (waiter->may_be_given)
        return withdraw(op, waiter->end_status, 0);
    ilk__waiter_leave(waiter);
    return finish(op, waiter->end_status);
}

ilk__act ilk__wait_left(ilk__op *op, int under_way, int given)
{
    ilk__waiter *waiter = op->subject;

    waiter->stage = ILK__STAGE_LINGER;
    waiter->may_be_given = given;
    waiter->last_expected = under_way;
    waiter->linger_until = op->now + (under_way ? LINGER_MS : 0);
    return linger(op);
}

/* Whether silence ends it before its own limit. */
static int is_out_of_patience(const ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    return op->deadline == ILK__FOREVER
           || ilk__outage_silence_ms(&waiter->shared->outage)
                  < ILK__CONTACT_LOST_MS;
}

/* It has waited long enough for the server. */
static ilk_status no_contact(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    ilk_status st =
        ilk__outage_status(&waiter->shared->outage, op->now, op->err);

    return st ? st : ILK_ECONN;
}

/*
 * Shortly before its deadline the wait has the keeper ask whether the name is free: by the
 * reply, or its absence, timed_out() knows whether the server is in reach, also when it
 * has gone silent since the last refresh.
 */
static ilk__act sleep_in_queue(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    const int64_t look_at =
        op->deadline == ILK__FOREVER ? ILK__FOREVER : op->deadline - LOOK_MS;

    waiter->stage = ILK__STAGE_QUEUED;
    if (op->now < look_at) {
        waiter->looks_again = 1;
        return ilk__op_sleep(op, look_at);
    }
    if (waiter->looks_again) {
        waiter->looks_again = 0;
        ilk__shared_lock(waiter->shared);
        ilk__refresher_claim_now(waiter->refresher);
        ilk__shared_unlock(waiter->shared);
    }
    return ilk__op_sleep(op, op->deadline);
}

/* Although it has been in its wait queue: an outage ends it no sooner than a wait that has
 * nothing to send, also where outage=0 leaves other requests one attempt. */
static ilk__act enqueue_again(ilk__op *op)
{
    if (op->persist_ms == 0)
        op->persist_ms = ILK__FOREVER;
    return enqueue(op);
}

/* In the wait queue: act on the report, end the wait, or sleep on. */
static ilk__act act_on_report(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    int64_t fence, began, lease;
    ilk__wait_report report;
    ilk_status over;

    ilk__shared_lock(waiter->shared);
    report = waiter->report;
    fence = waiter->report_fence;
    began = ilk__waiter_began(waiter);
    lease = waiter->report_lease_ms;
    waiter->report = ILK__REPORT_NONE;
    waiter->suspended_since = 0;
    ilk__shared_unlock(waiter->shared);
    if (report == ILK__REPORT_GRANTED)
        return granted(op, fence, began, lease);
    if (report == ILK__REPORT_SIGNAL)
        return signalled(op);
    if (report == ILK__REPORT_NO_CONTACT && is_out_of_patience(op))
        return withdraw(op, no_contact(op), 0);
    if (report == ILK__REPORT_NO_CONTACT) /* it has a limit of its own */
        report = ILK__REPORT_NONE;
    over = ended(op, waiter);
    if (over)
        return leave(op, over);
    if (report != ILK__REPORT_NONE || !waiter->refresher)
        return enqueue_again(op);
    return sleep_in_queue(op);
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

    if (inbox
        == ILK__INBOX_READY) /* act_on_report() checks deadline and cancel */
        return enqueue(op);
    over = ended(op, waiter);
    if (waiter->stage != ILK__STAGE_INBOX)
        waiter->inbox_since = op->now;
    limit = op->deadline == ILK__FOREVER
                ? waiter->inbox_since + ILK__CONTACT_LOST_MS
                : op->deadline;
    waiter->stage = ILK__STAGE_IDLE;
    if (inbox == ILK__INBOX_REFUSED)
        return ilk__op_fail(op, (ilk_status)why.code, "%s", why.msg);
    if (over && (over != ILK_ETIMEOUT || why.code != ILK_ECONN))
        return finish(op, over);
    if (op->now >= limit)
        return ilk__op_fail(op, ILK_ECONN, "no connection for wake-ups: %s",
                            why.msg);
    waiter->stage = ILK__STAGE_INBOX;
    return ilk__op_sleep(op, limit);
}

/* Nothing of this wait is on the server now. */
static ilk__act pause_on(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status over = ended(op, waiter);

    if (over)
        return finish(op, over);
    if (op->now >= waiter->pause_until)
        return await_inbox(op);
    waiter->stage = ILK__STAGE_PAUSE;
    return ilk__op_sleep(op, ilk__sooner(waiter->pause_until, op->deadline));
}

/*
 * A late grant was returned. One of them means that this process was stopped
 * for a while, and it waits again at once. With a lease that is shorter than
 * the way to the server every grant is late, and the pauses keep the wait from
 * occupying a processor and the server.
 */
static ilk__act rejoin(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    if (waiter->late_grants++ == 0)
        return await_inbox(op);
    waiter->pause_until =
        op->now + ilk__request_pause_ms(&waiter->late_pause_ms);
    return pause_on(op);
}

ilk__act ilk__wait_sent(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st;

    (void)status; /* if it was not sent, the keeper sends it: withdraw() */
    if (!waiter->rejoin)
        return finish(op, waiter->end_status);
    st = ilk__waiter_renew_token(waiter, op->err);
    return st ? finish(op, st) : rejoin(op);
}

/* EINTR: leave the entry in the wait queue, for the next acquire to resume. */
static ilk__act suspend(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    if (!waiter->refresher && op->retried)
        return withdraw(op, ILK_EINTR, 0);
    if (!waiter->refresher)
        return finish(op, ILK_EINTR);
    ilk__shared_lock(waiter->shared);
    waiter->suspended_since = op->now;
    ilk__shared_unlock(waiter->shared);
    return ilk__op_fail(op, ILK_EINTR, "%s", ilk_strerror(ILK_EINTR));
}

/*
 * The client is stopped: end the wait. It may be asleep in any stage. A signal
 * that the server has sent before our entry was removed is still awaited.
 */
static ilk__act stop(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;

    if (waiter->stage == ILK__STAGE_LINGER)
        return linger(op);
    if (waiter->refresher || op->retried)
        return leave(op, ILK_ECANCELLED);
    return finish(op, ILK_ECANCELLED);
}

/* Whether this start must end at once. A try is no wait. */
static int is_stopped(const ilk__op *op, const ilk__waiter *waiter)
{
    return !waiter->once && !waiter->does_more && op->now < op->deadline
           && ilk__shared_is_stopped(waiter->shared);
}

/* 0 when the suspended wait has left the wait queue meanwhile. */
static int resume(ilk__waiter *waiter)
{
    int queued;

    ilk__shared_lock(waiter->shared);
    waiter->suspended_since = 0;
    queued = waiter->refresher != NULL;
    ilk__shared_unlock(waiter->shared);
    return queued;
}

ilk__act ilk__wait_start(ilk__op *op)
{
    ilk__waiter *waiter = op->subject;
    ilk_status st;

    if (!waiter->keeps_cancel)
        atomic_store(&waiter->cancelled, 0);
    if (is_stopped(op, waiter))
        return resume(waiter) ? stop(op) : finish(op, ILK_ECANCELLED);
    if (waiter->stage == ILK__STAGE_LINGER && resume(waiter))
        return linger(op);
    if (waiter->stage == ILK__STAGE_QUEUED && resume(waiter))
        return act_on_report(op);
    /* The server may have the entry already: send it with the same token. */
    if (waiter->stage == ILK__STAGE_ENQUEUE && resume(waiter))
        return enqueue(op);
    st = ilk__waiter_renew_token(waiter, op->err);
    if (st)
        return finish(op, st);
    /* No mutex: the keeper adds signals only to waiters in a wait queue. */
    ilk__delivered_signal_drop(waiter);
    waiter->late_grants = waiter->late_pause_ms = waiter->looks_again = 0;
    if (waiter->once)
        op->persist_ms = 0;
    waiter->stage = ILK__STAGE_TRY;
    if (!waiter->once && waiter->shared->inbox == ILK__INBOX_READY)
        return enqueue(op);
    return ask(op);
}

/*
 * QUEUED is the reply to a request with the entry, BUSY to one without. After a
 * reply of the wrong kind it is unknown whether the entry is in the wait queue,
 * so the wait is withdrawn.
 */
static int had_entry(const ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    return waiter->stage == ILK__STAGE_ENQUEUE;
}

static ilk__act misfit(ilk__op *op)
{
    op->bad_reply = 1;
    return ilk__wait_failed(op, ilk__fail(op->err, ILK_EREPLY, "%s",
                                          had_entry(op)
                                              ? "busy, in reply to an entry"
                                              : "queued, without an entry"));
}

ilk__act ilk__wait_queued(ilk__op *op, int64_t holder_ms, int64_t now_us,
                          int ours)
{
    ilk__waiter *waiter = op->subject;

    if (!had_entry(op))
        return misfit(op);
    was_answered(op);
    ilk__shared_lock(waiter->shared);
    ilk__waiter_sample(waiter, op->sent_at, now_us);
    waiter->shared->stats.waits++;
    if (waiter->refresher)
        ilk__refresher_note_holder(waiter->refresher, op->sent_at, holder_ms,
                                   ours);
    ilk__shared_unlock(waiter->shared);
    return act_on_report(op);
}

ilk__act ilk__wait_busy(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    if (had_entry(op))
        return misfit(op);
    was_answered(op);
    return waiter->once ? finish(op, ILK_EBUSY) : await_inbox(op);
}

ilk__act ilk__wait_reply(ilk__op *op, const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_HELD:
        op->bad_reply = !fence_fits(op->subject, ilk__script_int(reply, 1));
        return granted(op, ilk__script_int(reply, 1), op->sent_at,
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
        return suspend(op);
    if (cause == ILK__CAUSE_STOPPED)
        return stop(op);
    if (waiter->stage == ILK__STAGE_LINGER)
        return linger(op);
    if (waiter->stage == ILK__STAGE_PAUSE)
        return pause_on(op);
    return waiter->stage == ILK__STAGE_INBOX ? await_inbox(op)
                                             : act_on_report(op);
}

int ilk__wait_is_cancelled(const ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    return atomic_load(&waiter->cancelled);
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

    was_answered(op);
    if (status == ILK_EUNKNOWN)
        status = ILK_ECONN;
    if (waiter->stage == ILK__STAGE_LEAVE)
        return withdraw(op,
                        waiter->end_status == ILK_ETIMEOUT
                                && status == ILK_ECONN
                            ? status
                            : waiter->end_status,
                        0);
    if (waiter->refresher || is_open(op, status))
        return withdraw(op, status, 0);
    return finish(op, status);
}
