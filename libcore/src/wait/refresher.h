/* SPDX-License-Identifier: MIT */
/*
 * refresher.h -- the refresher of a waited name, or of several names that are
 * waited for together. All waiters of the client with the same keys and the
 * same refresh operation share one.
 *
 *      waiter --join--> refresher --timer--> refresh or claim (one in flight)
 *      waiter <--news-- refresher <--reply--'
 *
 * The keeper sends one script call per refresher at a time, of two kinds:
 *
 *   refresh   every ILK__REFRESH_MS, with the entries of all waiters, in
 *             batches. It extends their liveness, and the reply gives each
 *             waiter's state: holds, waits, or gone.
 *   claim     the same call without entries. The script grants a free name to
 *             the head of the wait queue. It is sent when the holder's lease
 *             runs out, and every foreign_poll_ms while the holder does not
 *             use this library, since nobody would notify us of its release.
 */
#ifndef ILK__REFRESHER_H
#define ILK__REFRESHER_H

#include "wait.h"

enum { ILK__REFRESHER_BATCH = 100 }; /* waiters in one refresh */

/* A name whose signals the refresher's waiters receive. */
typedef struct ilk__refresher_list {
    ilk__node node; /* in shared->lists */
    ilk__refresher *refresher;
    size_t index;
} ilk__refresher_list;

struct ilk__refresher {
    ilk__inflight inflight; /* the refresh; op's subject is the refresher */
    ilk__node node;         /* in shared->refreshers */
    ilk__bytes ident;       /* its key there */
    ilk__shared *shared;
    char address[ILK__ADDRESS_LEN + 1]; /* see ilk__wait_queue_address() */
    ilk__wait_queue wait_queue; /* a copy, with its own keys and channel */
    ilk__bytes *keys;
    ilk__refresher_list *lists; /* as many as the wait queue has names */
    ilk__waiter *first, *last;
    size_t count;
    ilk__timer timer;
    int in_flight;
    int64_t shortest_ms;   /* the shortest lease that a waiter requested */
    int64_t refresh_at;    /* when the next batch is due */
    int64_t claim_at;      /* when the name may be free */
    int64_t failing_since; /* when the first failure in a row began; 0: none */
    int64_t refreshed_up_to; /* ids up to this were refreshed in this round */
    /* How often a connection had been opened anew: by now; when the last batch
     * of this round was sent; in the last round whose replies have come. */
    uint32_t openings, asked_openings, answered_openings;
    int64_t batch[ILK__REFRESHER_BATCH]; /* the waiters in this call ... */
    size_t ends[ILK__REFRESHER_BATCH];   /* ... where their entries end in */
    ilk__buf entries; /* copies, as waiters may leave during the call */
    size_t batch_count;
};

/* With the mutex held. */
ilk_status ilk__refresher_join(ilk__waiter *waiter); /* ILK_ENOMEM */
void ilk__refresher_leave(ilk__waiter *waiter);
/* Leave the wait queue after success; the id stays known until forget(). */
void ilk__refresher_succeed(ilk__waiter *waiter);
void ilk__refresher_forget(ilk__waiter *waiter);

/* When the refresh that has no reply yet was first sent; ILK__FOREVER when there is
 * none, or no refresher. */
int64_t ilk__refresher_unanswered_since(const ilk__refresher *refresher);

/* Plan the next claim by a reply: the rest of the holder's lease (-1: it has
 * no end), and whether the holder uses this library. ours: 1: yes; 0: no, so it
 * will notify nobody; negative: the same, and this client has the first waiter
 * (see scripts/include/note_poller.lua). */
void ilk__refresher_note_holder(ilk__refresher *refresher, int64_t sent_at,
                                int64_t holder_ms, int ours);
/* Something changed for which the waiters in the list with this key wait: if it
 * is this refresher's list, wake all its waiters. */
void ilk__refresher_changed(ilk__refresher *refresher, const char *key,
                            size_t key_len);
void ilk__refresher_claim_now(ilk__refresher *refresher);
void ilk__refresher_refresh_now(ilk__refresher *refresher);
/* After a reconnect, because messages may have been lost. */
void ilk__refresher_refresh_all(ilk__shared *shared);
/* Before the client closes: have the keeper remove the entries of all waiters,
 * whose waits end afterwards. */
void ilk__refresher_withdraw_all(ilk__shared *shared);

/* Set the timer to the next refresh or claim. */
void ilk__refresher_schedule(ilk__refresher *refresher);
void ilk__refresher_fire(ilk__timer *timer, void *context); /* send the call */
/* Free a refresher without waiters, unless its call is still in flight. */
void ilk__refresher_drop_if_empty(ilk__refresher *refresher);

/* For the primitives' refreshing op types; op->subject is an ilk__refresher. */
void ilk__refresher_ask(ilk__op *op);
void ilk__refresher_add_entries(ilk__op *op); /* for a primitive's own ask */
ilk__act ilk__refresher_reply(ilk__op *op, const ilk__reply *reply);

#endif
