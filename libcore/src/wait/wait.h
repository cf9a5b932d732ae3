/* SPDX-License-Identifier: MIT */
/*
 * wait.h -- standing in the wait queue: one machine for everything that waits.
 *
 *            try          enqueue            news             confirm
 *   IDLE ---------> TRY ----------> QUEUED ---------> grant ----------> held
 *                    |  busy once?    |  \__ woken, gone: enqueue again
 *                    +-> INBOX -------+      too late: pass it on, enqueue
 *                                     +-- time, cancel ----> tell: cancel
 *                                     |               or LEAVE: ask to go
 *                                     |                 \_ LINGER: it was
 *                                     |                    on its way
 *                                     +-- signal ----------> got
 *
 * The acquiring operation runs in its caller's driver. News for it (granted,
 * woken, gone) are written by the keeper, from the inbox and from refreshes
 * (refresher.h), under the shared state's mutex. A wait that a signal ended
 * stays in the wait queue and is taken up by the next acquire.
 *
 * A primitive tells what is special about its thing in an ilk__wait_queue. One
 * whose question or answers differ from the lock's has an ask and a reply of
 * its own, made of the parts below, and the other four functions from here:
 *
 *     ask     if (ilk__wait_ask_to_go(op)) return; else its own arguments,
 *             then ilk__wait_add_place()
 *     reply   stage LEAVE: ilk__wait_left(); else one of ilk__wait_held(),
 *             ilk__wait_got(), ilk__wait_queued(), ilk__wait_busy()
 *
 * Woken, it asks again, in the wait queue with the same entry.
 * tests/core/support/gate_case.c has the smallest such primitive.
 */
#ifndef ILK__WAIT_H
#define ILK__WAIT_H

#include "wait_queue.h"

typedef enum ilk__wait_news {
    ILK__NEWS_NONE,
    ILK__NEWS_GRANTED,
    ILK__NEWS_WOKEN,      /* try again: the name may be free */
    ILK__NEWS_GONE,       /* the server knows us no more: enqueue again */
    ILK__NEWS_NO_CONTACT, /* the server has been away for too long */
    ILK__NEWS_SIGNAL      /* the delivered signals are complete */
} ilk__wait_news;

typedef enum ilk__wait_stage {
    ILK__STAGE_IDLE,
    ILK__STAGE_TRY,
    ILK__STAGE_INBOX,
    ILK__STAGE_ENQUEUE,
    ILK__STAGE_QUEUED,
    ILK__STAGE_LEAVE,  /* asks to be let go */
    ILK__STAGE_LINGER, /* what was on its way will be here soon */
    ILK__STAGE_CANCEL
} ilk__wait_stage;

typedef struct ilk__refresher ilk__refresher;

typedef struct ilk__waiter {
    /* set by the primitive for each acquire */
    const ilk__wait_queue *wait_queue;
    ilk__shared *shared;
    int64_t lease_ms;
    int64_t floor;    /* the greatest fence seen for this name */
    int64_t permits;  /* in its entry; 0 counts as 1 */
    int once;         /* do not stand in the wait queue */
    int wants_all;    /* a signal of every name, not of any one */
    int64_t *tickets; /* in its lists, one per name; the primitive's */

    /* the acquiring operation's */
    ilk__wait_stage stage;
    char token[128];
    const char *fixed_token; /* used instead of fresh ones; may be NULL */
    const char *prefix;      /* of fresh ones that are numbered; or NULL */
    char *entry; /* in the wait queue: of the last place; NULL: never in the
                    wait queue */
    size_t entry_len, entry_room;
    ilk_status end_status; /* what a cancel under way will answer */
    int rejoin;            /* or enqueue again under a fresh token */
    int64_t inbox_since;   /* when it began to wait for the inbox */
    int64_t linger_until;
    int64_t until;     /* when the wait ends, while its place is asked for */
    int asked;         /* how often it asked to stand in the wait queue */
    int64_t sample_at; /* local time before a question ... */
    int64_t sample_us; /* ... that the server answered at this time of its */
    ilk__parker parker;
    _Atomic int cancelled;

    /* the outcome */
    int64_t fence, began, granted_ms;

    /* under the shared state's mutex */
    ilk__node node; /* in shared->waiters while it stands in the wait queue */
    int64_t id;
    ilk__refresher *refresher; /* NULL: not in the wait queue */
    int succeeded; /* holds, and is known by its id all the same, so that
                           a grant told twice is not taken for orphaned */
    struct ilk__waiter *next, *previous; /* in the refresher */
    ilk__wait_news news;
    int64_t news_fence, news_lease_ms, news_us; /* GRANTED by the inbox */
    int64_t news_at; /* local: receipt of a grant, or when it began for sure */
    int64_t parked_since; /* a signal ended the wait; 0: somebody waits */
    struct ilk__delivered_signal *delivered; /* signals, see
                                                delivered_signal.h */
    size_t delivered_count;                  /* of those that are not aside */
    int told_last; /* of one that leaves: nothing more comes */
} ilk__waiter;

ilk_status ilk__waiter_init(ilk__waiter *waiter, ilk__shared *shared,
                            const ilk__wait_queue *wait_queue, ilk_error *err);
/* Leaves the wait queue, if it stands in one. */
void ilk__waiter_destroy(ilk__waiter *waiter);

/* A fresh token for a fresh try, so that what is late finds nobody. */
ilk_status ilk__waiter_renew_token(ilk__waiter *waiter, ilk_error *err);
ilk_status ilk__waiter_join(ilk__waiter *waiter, ilk_error *err);
void ilk__waiter_leave(ilk__waiter *waiter);
void ilk__waiter_succeed(ilk__waiter *waiter); /* leaves, because it holds */
/* No longer known by its id: before its token changes, which the keeper reads
   of all who are. */
void ilk__waiter_forget(ilk__waiter *waiter);

/*
 * When the granted lease began. The grant carries the server's time G, an
 * earlier answer to us its time S, and t0 is our time before that was asked:
 * so the grant was made at t0 + (G - S) at the latest by our clock, give or
 * take 1 % of the time since. Receipt is a bound of its own.
 */
int64_t ilk__waiter_began(const ilk__waiter *waiter);

/* The token of this wait, after it succeeded. */
const char *ilk__waiter_token(const ilk__waiter *waiter);

/*
 * End a wait from outside: who waits answers ILK_ECANCELLED, a parked wait
 * leaves the wait queue. Any thread.
 */
void ilk__waiter_cancel(ilk__waiter *waiter);

/* With the mutex held: out of the wait queue, and what it may have got is
 * passed on. */
void ilk__wait_give_up(ilk__waiter *waiter);

/* For the primitives' acquiring op types; op->subject is an ilk__waiter. */
void ilk__wait_ask(ilk__op *op);
ilk__act ilk__wait_start(ilk__op *op);
ilk__act ilk__wait_reply(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__wait_wake(ilk__op *op, ilk__cause cause);
ilk__act ilk__wait_failed(ilk__op *op, ilk_status status);
ilk__act ilk__wait_told(ilk__op *op, ilk_status status);

/* ---- parts of a primitive's own ask and reply --------------------------- */

/* 1: it is about leaving the wait queue, and has been asked. */
int ilk__wait_ask_to_go(ilk__op *op);
/* The place in the wait queue: entry or '', client id, liveness, limit. */
void ilk__wait_add_place(ilk__op *op);

/* It has what it waited for: a lease, unless that is too late to be sure; or
 * what needs none. The server knows it no more as one who waits. */
ilk__act ilk__wait_held(ilk__op *op, int64_t fence, int64_t began,
                        int64_t lease_ms);
ilk__act ilk__wait_got(ilk__op *op);
/*
 * It stands in the wait queue. holder_ms: what is left of the holder's lease,
 * -1 when nothing ends by itself; ours: whoever holds will tell us. Times in
 * primitive replies that are not known: now_us 0.
 */
ilk__act ilk__wait_queued(ilk__op *op, int64_t holder_ms, int64_t now_us,
                          int ours);
/* Its ticket in the list of the wait queue's index-th name; before queued(). */
void ilk__waiter_placed(ilk__waiter *waiter, size_t index, int64_t ticket);
/* It was not put in the wait queue: that was all, or it needs the inbox
 * first. */
ilk__act ilk__wait_busy(ilk__op *op);
/* The answer in stage LEAVE: is something on its way to us? */
ilk__act ilk__wait_left(ilk__op *op, int under_way);

/* With the mutex held: who has this id, in the wait queue or after it
 * succeeded; and its news. */
ilk__waiter *ilk__wait_find(ilk__shared *shared, int64_t id);
void ilk__wait_tell_news(ilk__waiter *waiter, ilk__wait_news news);

/*
 * With the mutex held: nobody of ours has a use for this message, so the
 * primitive of its waiter passes it on. A shared state learns a primitive's
 * function when the first of the primitive's waiters joins; no message can come
 * before that, also not to the new shared state of a reopened client.
 */
void ilk__wait_orphaned(ilk__shared *shared, const ilk__message *message);

#endif
