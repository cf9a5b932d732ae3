/* SPDX-License-Identifier: MIT */
/*
 * queue.h -- the queue's handle, for any number of threads at once.
 *
 *   ilk_queue
 *     queue_keys   one set for each queue, in order of priority
 *     keys         the keys of all queues in a row, for scripts that use all
 *     waits -----> ilk__queue_wait: one for each request that waits
 *     suspended    those whose thread was interrupted and may come back
 *     idle         those that the next request can use
 *
 * A wait is an ilk__waiter with the arguments of one reserve or pop. The
 * request that checked it out owns it. After ILK_EINTR the entry stays in the
 * wait queue, and the wait is suspended: the next call of the same thread
 * continues it. A started request keeps its own wait after ILK_EINTR, until
 * the application gives the request up.
 */
#ifndef ILK__QUEUE_H
#define ILK__QUEUE_H

#include "client/loop.h"
#include "pubsub/message.h"
#include "settlement.h"
#include "wait/refresher.h"

#include <pthread.h>

typedef struct ilk__queue_wait ilk__queue_wait;

/* The arguments of a reservation. */
typedef struct ilk__reserve_args {
    int32_t max;
    int64_t lease_ms; /* 0: pop, without a lease */
    int64_t timeout_ms;
    ilk__settlements *settlements; /* sent with the first command; or NULL */
    const _Atomic int32_t *stop;   /* ends the wait when it is not 0; or NULL */
} ilk__reserve_args;

struct ilk__queue_wait {
    ilk__waiter waiter; /* first: a pointer to it is one to the wait */
    ilk_queue *queue;
    ilk__queue_wait *next;      /* in queue->waits */
    ilk__queue_wait *next_free; /* in queue->suspended or queue->idle */
    int busy;                   /* a request owns it */
    int suspended;              /* its entry keeps the place of `thread` */
    pthread_t thread;
    ilk__reserve_args args;
    int settled; /* the server has replied to the settlements */
    int queued;  /* the server's wait queue has our entry */
    int unknown; /* a pop got no reply: a message may be lost */
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
    ilk__queue_wait *waits, *suspended,
        *idle; /* under the shared state's mutex */
    _Atomic uint32_t cancels;
    _Atomic int32_t requests; /* that have begun and not ended */
};

/* Checks the handle: ilk__queue_begin() does so for a request, functions that
 * send nothing call it first. alone: fails if the handle has several queues. */
ilk_status ilk__queue_enter(ilk_queue *queue, int alone, ilk_error *err);

/* Frees all waits: the handle is freed, or it came from the parent process. */
void ilk__queue_drop_waits(ilk_queue *queue);

/* Begin and end of every request on a queue. Begin returns 0 if a check failed
 * and the request has ended; alone as above. */
int ilk__queue_begin(ilk__request *request, int alone);
void ilk__queue_end(ilk__request *request, ilk_status status);
ilk_queue *ilk__queue_of(const ilk__request *request);

/* As ilk__request_run() and ilk__request_start(); the handle may be NULL. */
ilk_status ilk__queue_run(ilk__request *request, ilk__request_begin *begin,
                          ilk_error *err);
ilk_status ilk__queue_start(ilk_op **out, ilk__request *request, size_t size,
                            ilk__request_begin *begin, ilk_error *err);

/* ---- reserving ---------------------------------------------------------- */

/* The request that waits for messages; its result is a batch. */
typedef struct ilk__reserve_request {
    ilk__request request;
    ilk__reserve_args args;
    int started, kept;
    ilk_batch *done; /* to acknowledge in the same command; or NULL */
    ilk__settlements settlements;
    ilk__settlement_query query; /* sends them alone, from a stopped client */
    ilk__queue_wait *wait;
} ilk__reserve_request;

ilk__reserve_request ilk__queue_reserve_request(ilk_queue *queue,
                                                const ilk__reserve_args *args);
void ilk__queue_begin_reserve(ilk__request *request);

/* Inside that request, when everything is checked: reserve, and wait if
 * nothing is ready. The second ends the request. */
void ilk__queue_await(ilk__reserve_request *self);
void ilk__queue_end_reserve(ilk__reserve_request *self, ilk_status status);

/* Fill in what the options leave open, and check them. */
ilk_status ilk__queue_check_opts(ilk_queue_opts *out, const ilk_queue_opts *in,
                                 ilk_error *err);

extern const ilk__op_type ilk__queue_reserve_op, ilk__queue_pop_op,
    ilk__queue_refresh_op, ilk__queue_cancel_op; /* subjects: ilk__queue_wait */

/* wait_queue->orphaned: passes the wake-up of a consumer that has left on to
 * the next one. */
void ilk__queue_orphaned(ilk__shared *shared, const ilk__message *message);

#endif
