/* SPDX-License-Identifier: MIT */
/*
 * refresher.h -- one thing that this client waits for, however many waiters: a
 * name, or several at once. It is found by all its keys and its refresh.
 *
 * The keeper runs one question per refresher at a time: every ILK__REFRESH_MS a
 * refresh that says for all waiters that they live and hears how each stands,
 * and at the holder's expiry, or every foreign_poll_ms while the holder is
 * none of ours, the same question without waiters, which is a claim: a free
 * name goes to the head of the wait queue.
 */
#ifndef ILK__REFRESHER_H
#define ILK__REFRESHER_H

#include "wait.h"

enum { ILK__REFRESHER_BATCH = 100 }; /* waiters in one refresh */

/* One of a refresher's lists that take signals. */
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
    ilk__wait_queue wait_queue; /* a copy; keys and channel are our own */
    ilk__bytes *keys;
    ilk__refresher_list *lists; /* as many as the wait queue has names */
    ilk__waiter *first, *last;
    size_t count;
    ilk__timer timer;
    int in_flight;
    int64_t shortest_ms;   /* of the leases that our waiters will hold */
    int64_t refresh_at;    /* when all are to be refreshed */
    int64_t claim_at;      /* when the name may be free */
    int64_t failing_since; /* no answer since then; 0: the last one came */
    int64_t asked_up_to;   /* ids up to this were refreshed in this round */
    int64_t asked[ILK__REFRESHER_BATCH]; /* the waiters of the question ... */
    size_t ends[ILK__REFRESHER_BATCH];   /* ... and where their entries end
                                            in */
    ilk__buf entries;                    /* a copy: they may leave meanwhile */
    size_t asked_count;
};

/* With the mutex held. */
ilk_status ilk__refresher_join(ilk__waiter *waiter); /* ILK_ENOMEM */
void ilk__refresher_leave(ilk__waiter *waiter);
/* leave the wait queue, it holds */
void ilk__refresher_succeed(ilk__waiter *waiter);
void ilk__refresher_forget(ilk__waiter *waiter); /* no longer known */

/* What a reply told about the holder: its lease left, and is it ours. */
void ilk__refresher_note_holder(ilk__refresher *refresher, int64_t asked_at,
                                int64_t holder_ms, int ours);
/* The list with this key is told of a change: if it is ours, all look. */
void ilk__refresher_changed(ilk__refresher *refresher, const char *key,
                            size_t key_len);
void ilk__refresher_claim_now(ilk__refresher *refresher); /* claim now */
/* how do all stand? */
void ilk__refresher_refresh_now(ilk__refresher *refresher);
/* after a reconnect: refresh */
void ilk__refresher_refresh_all(ilk__shared *shared);

/* by what is due next */
void ilk__refresher_schedule(ilk__refresher *refresher);
void ilk__refresher_fire(ilk__timer *timer, void *context); /* it is due: ask */
/* An empty refresher goes once its question is answered. */
void ilk__refresher_drop_if_empty(ilk__refresher *refresher);

/* For the primitives' refreshing op types; op->subject is an ilk__refresher. */
void ilk__refresher_ask(ilk__op *op);
void ilk__refresher_add_entries(ilk__op *op); /* for an ask of one's own */
ilk__act ilk__refresher_reply(ilk__op *op, const ilk__reply *reply);

#endif
