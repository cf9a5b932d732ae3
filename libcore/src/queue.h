/* SPDX-License-Identifier: MIT */
/*
 * queue.h -- the queue's handle: used by any number of threads at once.
 *
 *   ilk_queue    shelves: one for each queue, in order of priority
 *     keys       of all of them in a row: what one wait stands in line for
 *     takes ---> one for each thread that is in a call, kept for the next
 *
 * A take is one thread's question for messages: an ilk__waiter and what is
 * special about it. After EINTR it stays in line, for the same thread.
 */
#ifndef ILK__QUEUE_H
#define ILK__QUEUE_H

#include "ending.h"
#include "letter.h"
#include "watch.h"

#include <pthread.h>

typedef struct ilk__take ilk__take;

/* What is wanted. */
typedef struct ilk__wanted {
    int32_t max;
    int64_t lease_ms; /* 0: for good */
    int64_t timeout_ms;
    ilk__endings *endings;       /* to be told first; NULL: none */
    const _Atomic int32_t *stop; /* ends the wait when it is not 0; or NULL */
} ilk__wanted;

struct ilk__take {
    ilk__waiter waiter; /* first: one is the other */
    ilk_queue *queue;
    ilk__take *next;
    int busy;   /* a thread is in a call */
    int parked; /* it keeps the place of that thread */
    pthread_t thread;
    ilk__wanted wanted;
    int told;    /* the endings were heard */
    int stood;   /* the server has our entry */
    int unknown; /* it was asked to give for good, and no answer came */
    uint32_t cancels;
    ilk_batch *got;
};

struct ilk_queue {
    ilk_client *client;
    ilk_queue_opts opts;
    uint32_t era; /* the client's, when the takes were set up */
    size_t count;
    ilk__shelf **shelves;
    ilk__bytes *keys; /* borrowed from the shelves */
    ilk__line line;
    ilk__take *takes; /* under the desk's mutex */
    _Atomic uint32_t cancels;
};

/* Begin of every verb; alone: of one that is for one queue. */
ilk_status ilk__queue_enter(ilk_queue *queue, int alone, ilk_error *err);

/* Wait for messages. ILK_OK: *out has some. */
ilk_status ilk__queue_take(ilk_batch **out, ilk_queue *queue,
                           const ilk__wanted *wanted, ilk_error *err);
void ilk__queue_drop_takes(ilk_queue *queue);

/* Fill in what the options leave open, and check them. */
ilk_status ilk__queue_check_opts(ilk_queue_opts *out, const ilk_queue_opts *in,
                                 ilk_error *err);

extern const ilk__op_type ilk__queue_reserve_op, ilk__queue_pop_op,
    ilk__queue_refresh_op, ilk__queue_cancel_op; /* subjects: ilk__take */

/* desk->unclaimed: a wake for a consumer that left goes to the next. */
void ilk__queue_unclaimed(ilk__desk *desk, const ilk__letter *letter);

#endif
