/* SPDX-License-Identifier: MIT */
/* queue_case.h -- what the tests of queues share. */
#ifndef ILK__QUEUE_CASE_H
#define ILK__QUEUE_CASE_H

#include "client_case.h"

int queue_begin(void); /* an empty server, a client */
int queue_end(void);

ilk_queue *open_queue(const char *name);
ilk_queue *open_queue_at(ilk_client *of, const char *name, int32_t order,
                         int32_t max_attempts, uint32_t flags);

/* Each must succeed. */
int64_t push(ilk_queue *queue, const char *text);
ilk_job *reserve(ilk_queue *queue, int64_t timeout_ms, int64_t lease_ms);
void ack(ilk_job *job); /* and free */
int64_t count_of(ilk_queue *queue, int32_t count);

/* The next message is this one; reserved, acknowledged. */
void assert_next(ilk_queue *queue, const char *text);
void assert_empty(ilk_queue *queue);
void assert_data(const ilk_job *job, const char *text);

/* Until so many consumers wait for the queue of this name. */
void await_consumers(const char *name, int n);

/* ---- started ------------------------------------------------------------ */

/* Must start. */
ilk_op *start_reserve(ilk_queue *queue, int64_t timeout_ms);
/* Turn the client's loop until so many wait for the queue "mail". */
void turn_until_waiting(int n);
/* The message it got, to be kept. */
ilk_job *job_of(ilk_op *op);

#endif
