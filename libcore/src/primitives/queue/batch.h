/* SPDX-License-Identifier: MIT */
/*
 * batch.h -- a batch: the messages of one reservation, under one lease.
 *
 *   ilk_batch   refs: one for the batch handle, one for each job handle
 *     queue_keys  the queue that they came from
 *     lease     token and local deadline; the keeper may renew it
 *     jobs[]    followed by the messages' bytes, all in one block
 *
 *   a job:  OPEN --settlement sent--> SETTLING --reply--> SETTLED
 *             ^-------no reply----------'
 */
#ifndef ILK__BATCH_H
#define ILK__BATCH_H

#include "client/client.h"
#include "op/request.h"
#include "queue_keys.h"
#include "wait/lease.h"

#include <interlock/job.h>
#include <interlock/queue_inspect.h>

enum { ILK__BATCH_MAX = ILK_QUEUE_BATCH_MAX };

typedef enum ilk__job_state {
    ILK__JOB_OPEN,
    ILK__JOB_SETTLING,
    ILK__JOB_SETTLED
} ilk__job_state;

struct ilk_job {
    ilk_batch *batch;
    size_t place; /* position in the reservation, from 1 */
    _Atomic int32_t state;
    int doubt; /* a settlement got no reply: the server may have done it */
    int32_t attempts;
    int64_t id, pushed_ms;
    const char *data, *reason; /* in the batch's block */
    size_t len, reason_len;
    /* `<the lease's token>:<place>:<number of messages in the batch>` */
    char token[ILK__TOKEN_LEN + 16];
};

struct ilk_batch {
    _Atomic int32_t refs;
    ilk_client *client;
    uint32_t era;
    ilk__queue_keys *queue_keys;
    size_t index; /* of the queue in the handle's list of queues */
    size_t count;
    _Atomic int32_t open, lost;
    int leased;            /* reserved under a lease; not peeked at or popped */
    _Atomic int unfetched; /* from a started reserve, not fetched yet */
    int64_t lease_ms;
    ilk__lease lease;
    ilk_job jobs[];
};

/*
 * Makes a batch of a reply's elements, from index `at` on. dead: they have the
 * form of dead messages, with a reason. Fails with ILK_EREPLY if an element is
 * not a message. All jobs are SETTLED until ilk__batch_hold() opens them.
 */
ilk_status ilk__batch_new(ilk_batch **out, ilk_client *client,
                          ilk__queue_keys *queue_keys, const ilk__reply *reply,
                          size_t at, int dead, ilk_error *err);

/* The server counts the deliveries that have ended; this adds the current
 * one. */
void ilk__batch_count_delivery(ilk_batch *batch);

/* Begins the lease: the messages were delivered under this token, and the
 * request for them was sent at `began`. Opens all jobs. */
ilk_status ilk__batch_hold(ilk_batch *batch, const char *token, int64_t began,
                           int64_t lease_ms, ilk_error *err);

/* Fail with ILK_EINVAL if a caller's value is out of range. */
ilk_status ilk__check_delay(int64_t delay_ms, ilk_error *err);
ilk_status ilk__check_lease(int64_t lease_ms, ilk_error *err);

/* Every request on a batch begins with the first, and keeps a reference until
 * it ends. */
ilk_status ilk__batch_enter(const ilk_batch *batch, ilk_error *err);
void ilk__batch_ref(ilk_batch *batch);
/* Makes the batch the request's result: ilk_op_batch(), ilk_op_job(). */
void ilk__batch_answer(ilk__request *request, ilk_batch *batch);
/* 0 after a fork: the batch belongs to the parent process. */
int ilk__batch_is_mine(const ilk_batch *batch);

#endif
