/* SPDX-License-Identifier: MIT */
/*
 * queue.h -- the queue's handle: used by any number of threads at once.
 *
 *   ilk_queue    queue_keys: one for each queue, in order of priority
 *     keys       of all of them in a row: what one wait is queued for
 *     waits ---> one for each request that waits, kept for the next
 *
 * A wait is one question for messages: an ilk__waiter and what is special
 * about it. It belongs to the request that has checked it out. After EINTR it
 * stays in the wait queue, for the next call of the same thread; that of a
 * request which was started stays the request's, until the wait is given up.
 */
#ifndef ILK__QUEUE_H
#define ILK__QUEUE_H

#include "client/loop.h"
#include "pubsub/message.h"
#include "settlement.h"
#include "wait/refresher.h"

#include <pthread.h>

typedef struct ilk__queue_wait ilk__queue_wait;

/* What is to be reserved. */
typedef struct ilk__reserve_args {
    int32_t max;
    int64_t lease_ms; /* 0: for good */
    int64_t timeout_ms;
    ilk__settlements *settlements; /* to be told first; NULL: none */
    const _Atomic int32_t *stop;   /* ends the wait when it is not 0; or NULL */
} ilk__reserve_args;

struct ilk__queue_wait {
    ilk__waiter waiter; /* first: one is the other */
    ilk_queue *queue;
    ilk__queue_wait *next;      /* of all */
    ilk__queue_wait *next_free; /* of those that are parked, or idle */
    int busy;                   /* a request has it */
    int parked;                 /* it keeps the place of that thread */
    pthread_t thread;
    ilk__reserve_args args;
    int told;    /* the settlements were answered */
    int stood;   /* the server has our entry */
    int unknown; /* it was asked to give for good, and no answer came */
    uint32_t cancels;
    ilk_batch *got;
};

struct ilk_queue {
    ilk_client *client;
    ilk_queue_opts opts;
    uint32_t era; /* the client's, when the waits were set up */
    size_t count;
    ilk__queue_keys **queue_keys;
    ilk__bytes *keys; /* borrowed from queue_keys */
    ilk__wait_queue wait_queue;
    ilk__queue_wait *waits, *parked, *idle; /* under the shared state's mutex */
    _Atomic uint32_t cancels;
    _Atomic int32_t requests; /* at work */
};

/* To be called first by what asks nothing; alone: by what is for one queue. */
ilk_status ilk__queue_enter(ilk_queue *queue, int alone, ilk_error *err);

/* Frees all takes, when the handle goes or was the parent process'. */
void ilk__queue_drop_waits(ilk_queue *queue);

/* Begin and end of every request, whose handle is the queue. 0: it has
 * ended. */
int ilk__queue_begin(ilk__request *request, int alone);
void ilk__queue_end(ilk__request *request, ilk_status status);
ilk_queue *ilk__queue_of(const ilk__request *request);

/* As ilk__request_run() and ilk__request_start(); the handle may be NULL. */
ilk_status ilk__queue_run(ilk__request *request, ilk__request_begin *begin,
                          ilk_error *err);
ilk_status ilk__queue_start(ilk_op **out, ilk__request *request, size_t size,
                            ilk__request_begin *begin, ilk_error *err);

/* ---- reserving ---------------------------------------------------------- */

/* The request that waits for messages, and answers a batch. */
typedef struct ilk__reserve_request {
    ilk__request request;
    ilk__reserve_args args;
    int started, kept;
    ilk_batch *done; /* to be acknowledged first; or NULL */
    ilk__settlements settlements;
    ilk__queue_wait *wait;
} ilk__reserve_request;

ilk__reserve_request ilk__queue_reserve_request(ilk_queue *queue,
                                                const ilk__reserve_args *args);
void ilk__queue_begin_reserve(ilk__request *request);

/* Inside of it, when all is checked: stand in the wait queue; then it is
 * over. */
void ilk__queue_await(ilk__reserve_request *self);
void ilk__queue_end_reserve(ilk__reserve_request *self, ilk_status status);

/* Fill in what the options leave open, and check them. */
ilk_status ilk__queue_check_opts(ilk_queue_opts *out, const ilk_queue_opts *in,
                                 ilk_error *err);

extern const ilk__op_type ilk__queue_reserve_op, ilk__queue_pop_op,
    ilk__queue_refresh_op, ilk__queue_cancel_op; /* subjects: ilk__queue_wait */

/* line->orphaned: a wake for a consumer that left goes to the next. */
void ilk__queue_orphaned(ilk__shared *shared, const ilk__message *message);

#endif
