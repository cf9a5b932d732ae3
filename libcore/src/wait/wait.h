/* SPDX-License-Identifier: MIT */
/*
 * wait.h -- the state machine of an operation that waits in a wait queue.
 *
 *           start          busy           inbox open            queued
 *     IDLE ------> TRY ----------> INBOX ------------> ENQUEUE --------> QUEUED
 *
 * TRY and ENQUEUE may also end with the lease held. TRY is skipped when the
 * inbox is open already. QUEUED sleeps until one of these:
 *
 *     granted            held; but when so much of the lease has passed that
 *                        it may be over: CANCEL, then ENQUEUE with a new token,
 *                        from the second time on after a PAUSE
 *     woken, gone        ENQUEUE again, with the same entry
 *     signals complete   done
 *     timeout, cancel,   CANCEL: a command whose reply is not read; or, if the
 *     stop               wait queue asks_to_leave, LEAVE: a command whose reply
 *                        says whether a signal was already sent to us, and
 *                        LINGER until that signal arrives
 *
 * The acquiring operation runs in its caller's driver. The keeper writes a
 * report for it (ilk__wait_report) under the shared state's mutex, after an inbox
 * message or a refresh (refresher.h). When EINTR ends a wait, its entry
 * stays in the wait queue for a while and the next acquire resumes the wait.
 *
 * On a stopped client (ilk_client_stop()) a wait that starts ends at once, with
 * ILK_ECANCELLED, unless it tries only once.
 *
 * A primitive describes what it waits for in an ilk__wait_queue. If its
 * arguments or replies differ from the lock's, it has its own ask and reply,
 * made of the parts below, and uses the other four functions from here:
 *
 *     ask     if (ilk__wait_ask_to_go(op)) return; else its own arguments,
 *             then ilk__wait_add_place()
 *     reply   stage LEAVE: ilk__wait_left(); else one of ilk__wait_held(),
 *             ilk__wait_got(), ilk__wait_queued(), ilk__wait_busy()
 *
 * tests/core/support/gate_case.c has the smallest such primitive.
 */
#ifndef ILK__WAIT_H
#define ILK__WAIT_H

#include "give_back.h"

typedef enum ilk__wait_report {
    ILK__REPORT_NONE,
    ILK__REPORT_GRANTED,
    ILK__REPORT_WOKEN, /* try again: the name may be free */
    ILK__REPORT_GONE,  /* the server has dropped our entry: enqueue again */
    ILK__REPORT_NO_CONTACT, /* no reply for ILK__CONTACT_LOST_MS: give up */
    ILK__REPORT_SIGNAL      /* the delivered signals are complete */
} ilk__wait_report;

typedef enum ilk__wait_stage {
    ILK__STAGE_IDLE,
    ILK__STAGE_TRY,
    ILK__STAGE_INBOX,
    ILK__STAGE_ENQUEUE,
    ILK__STAGE_QUEUED,
    ILK__STAGE_LEAVE,  /* the server is to remove the entry */
    ILK__STAGE_LINGER, /* entry removed; a signal may still arrive */
    ILK__STAGE_CANCEL, /* sends the cancel, reads no reply */
    ILK__STAGE_PAUSE   /* after several late grants, before the next ENQUEUE */
} ilk__wait_stage;

typedef struct ilk__refresher ilk__refresher;

typedef struct ilk__waiter {
    /* set by the primitive for each acquire */
    const ilk__wait_queue *wait_queue;
    ilk__shared *shared;
    int64_t lease_ms;
    int64_t floor;    /* the greatest fence seen for this name */
    int64_t permits;  /* to acquire, as in the entry; 0 counts as 1 */
    int once;         /* try only, never enter the wait queue */
    int does_more;    /* its command does more than wait, so it is sent by a
                         stopped client as well */
    int wants_all;    /* wait for a signal of every name, not of any one */
    int64_t *tickets; /* one per name's list; the primitive's memory */
    char *accepted;   /* the same, the digits for ilk__withdrawal; or NULL */

    /* the acquiring operation's */
    ilk__wait_stage stage;
    char token[128];
    char address[ILK__ADDRESS_LEN + 1]; /* see ilk__wait_queue_address() */
    const char *fixed_token; /* used instead of fresh ones; may be NULL */
    const char *prefix;      /* of fresh ones that are numbered; or NULL */
    char *entry;             /* the latest; NULL before the first join */
    size_t entry_len, entry_room;
    ilk_status end_status; /* the outcome once CANCEL or LEAVE is over */
    int rejoin;            /* instead, enqueue again after CANCEL */
    int late_grants;       /* how many this wait has returned */
    int late_pause_ms;     /* the last pause between two of them */
    int64_t pause_until;
    int looks_again; /* QUEUED: whether it is still to ask before its deadline */
    int64_t inbox_since; /* when it began to wait for the inbox */
    int64_t linger_until;
    int64_t until; /* the caller's deadline, which ENQUEUE may exceed */
    int enqueues;  /* how many times this wait has sent ENQUEUE */
    ilk__parker parker;
    _Atomic int cancelled;
    int keeps_cancel; /* a cancel from before the next start counts for it too */

    /* the outcome */
    int64_t fence, began, granted_ms;

    /* under the shared state's mutex */
    ilk__node node; /* in shared->waiters while it waits or `succeeded` */
    int64_t id;
    ilk__refresher *refresher; /* NULL: not in the wait queue */
    int succeeded; /* it no longer waits, but its id stays in shared->waiters:
                      a second report of its grant must find it, or the grant
                      would be given back as orphaned */
    struct ilk__waiter *next, *previous; /* in the refresher */
    ilk__wait_report report;
    int64_t report_fence, report_lease_ms, report_us; /* GRANTED by the inbox */
    int64_t report_at; /* local: the grant was received, or the refresh sent */
    int64_t sample_at; /* our time before a request was sent ... */
    int64_t sample_us; /* ... and the server's time in its reply */
    int64_t suspended_since; /* since EINTR ended the wait; 0: not suspended */
    struct ilk__delivered_signal *delivered; /* see delivered_signal.h */
    size_t delivered_count; /* without those that are put aside */
    int last_received; /* how often a server has sent its last message for our
                          entry */
    int last_expected; /* LINGER: by how many servers; 1 except in a cluster */
    int may_be_given;  /* LINGER: a signal was given that may never arrive */
} ilk__waiter;

ilk_status ilk__waiter_init(ilk__waiter *waiter, ilk__shared *shared,
                            const ilk__wait_queue *wait_queue, ilk_error *err);
/* If it is in the wait queue, it leaves and returns what it was granted. */
void ilk__waiter_destroy(ilk__waiter *waiter);

/* A new token for each try: a late grant to the old one matches no waiter. */
ilk_status ilk__waiter_renew_token(ilk__waiter *waiter, ilk_error *err);
ilk_status ilk__waiter_join(ilk__waiter *waiter, ilk_error *err);
void ilk__waiter_leave(ilk__waiter *waiter);
void ilk__waiter_succeed(ilk__waiter *waiter); /* leaves, because it holds */
/* Remove a waiter that succeeded from shared->waiters. Must precede a change of
 * its token, because the keeper reads the tokens of all waiters there. */
void ilk__waiter_forget(ilk__waiter *waiter);

/*
 * The earliest local time at which the granted lease can have begun, so that
 * we never count on it for too long. The grant carries the server's time G;
 * an earlier reply carried its time S, and we had sent that request at our
 * time t0. S was taken after t0, so the grant was made at t0 + (G - S) or
 * later; 1 % of G - S is subtracted because the clocks may differ in speed.
 * The receipt of the grant is an upper bound. Each refresh takes a new sample of
 * S and t0, so that a long wait does not make that 1 % longer than a lease.
 */
int64_t ilk__waiter_began(const ilk__waiter *waiter);
/* Under the shared state's mutex. */
void ilk__waiter_sample(ilk__waiter *waiter, int64_t sent_at, int64_t now_us);

/* The token of this wait, and of the lease once it has succeeded. */
const char *ilk__waiter_token(const ilk__waiter *waiter);

/* The withdrawal by which this wait ends. */
ilk__withdrawal ilk__waiter_withdrawal(const ilk__waiter *waiter);

/*
 * End a wait from another thread: a running wait returns ILK_ECANCELLED, a
 * suspended one leaves the wait queue. Any thread.
 */
void ilk__waiter_cancel(ilk__waiter *waiter);

/*
 * End a suspended wait, if there is one. For the thread that has entered the
 * handle. It must not read `refresher` for that without the mutex, because the
 * keeper or a cancel may end the same wait.
 */
void ilk__waiter_end_suspended(ilk__waiter *waiter);

/* With the mutex held: leave the wait queue. The keeper withdraws the entry
 * and a possible grant on the server; delivered signals are passed on. */
void ilk__wait_give_up(ilk__waiter *waiter);

/* For the primitives' acquiring op types; op->subject is an ilk__waiter. */
void ilk__wait_ask(ilk__op *op);
ilk__act ilk__wait_start(ilk__op *op);
ilk__act ilk__wait_reply(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__wait_wake(ilk__op *op, ilk__cause cause);
ilk__act ilk__wait_failed(ilk__op *op, ilk_status status);
int ilk__wait_is_cancelled(const ilk__op *op);
ilk__act ilk__wait_sent(ilk__op *op, ilk_status status);

/* ---- parts of a primitive's own ask and reply --------------------------- */

/* In stage CANCEL or LEAVE: compose the cancelling command and return 1. */
int ilk__wait_ask_to_go(ilk__op *op);
/* Add the arguments for the wait queue: entry ('' in stage TRY), client id,
 * liveness, limit. */
void ilk__wait_add_place(ilk__op *op);

/* The wait succeeded, and the server has removed the entry: with a lease,
 * which is returned if it may be over by now; or with something that needs
 * none. */
ilk__act ilk__wait_held(ilk__op *op, int64_t fence, int64_t began,
                        int64_t lease_ms);
ilk__act ilk__wait_got(ilk__op *op);
/*
 * The entry is in the wait queue. holder_ms: the rest of the holder's lease, -1
 * when it has no end. now_us: the server's time; 0 when the reply has none.
 * ours: passed to ilk__refresher_note_holder().
 */
ilk__act ilk__wait_queued(ilk__op *op, int64_t holder_ms, int64_t now_us,
                          int ours);
/* Record its ticket in the list of the index-th name of its wait queue. To be
 * called before ilk__wait_queued(). */
void ilk__waiter_placed(ilk__waiter *waiter, size_t index, int64_t ticket);
/* Busy, and nothing was enqueued. `once`: the operation ends; else it waits
 * for the inbox and enqueues then. */
ilk__act ilk__wait_busy(ilk__op *op);
/* The reply in stage LEAVE. under_way: from how many servers a signal may be on its way
 * to us. given: a server may keep one for us until we accept it or withdraw. */
ilk__act ilk__wait_left(ilk__op *op, int under_way, int given);

/* With the mutex held. The first returns the waiter with this id, if it waits
 * or has succeeded; the second sets a waiter's report and wakes it. */
ilk__waiter *ilk__wait_find(ilk__shared *shared, int64_t id);
void ilk__waiter_report(ilk__waiter *waiter, ilk__wait_report report);

/*
 * With the mutex held: no waiter of this client accepts the message, so the
 * function of the waiter's primitive passes it on. The shared state gets that
 * function when the first waiter of the primitive joins. No message can come
 * earlier, because a reopened client has a new id and with it a new inbox.
 */
void ilk__wait_orphaned(ilk__shared *shared, const ilk__message *message);

#endif
