/* SPDX-License-Identifier: MIT */
/*
 * job.h -- messages that were taken together: one reservation, one lease.
 *
 *   ilk_batch   refs: one for the batch handle, one for each job handle
 *     queue_keys  which queue
 *     lease     token and local deadline; the keeper renews it if asked to
 *     jobs[]    then their bytes, all in one block
 *
 *   a job:  OPEN --sent--> SETTLING --answered--> SETTLED
 *             ^----not answered---'
 */
#ifndef ILK__JOB_H
#define ILK__JOB_H

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
    size_t place; /* in the reservation, from 1 */
    _Atomic int32_t state;
    int doubt; /* it may have ended already: no answer came */
    int32_t attempts;
    int64_t id, pushed_ms;
    const char *data, *reason; /* in the batch's block */
    size_t len, reason_len;
    /* `<the lease's token>:<place>:<how many were taken together>` */
    char token[ILK__TOKEN_LEN + 16];
};

struct ilk_batch {
    _Atomic int32_t refs;
    ilk_client *client;
    uint32_t era;
    ilk__queue_keys *queue_keys;
    size_t index; /* of the queue among the handle's */
    size_t count;
    _Atomic int32_t open, lost;
    int leased;            /* it was taken, not looked at or popped */
    _Atomic int unfetched; /* what a started reserve got, until it is asked */
    int64_t lease_ms;
    ilk__lease lease;
    ilk_job jobs[];
};

/*
 * From the elements of a reply, beginning with the at-th behind the code, as
 * the dead lie or as all others do. ILK_EREPLY for what is no message. They
 * are finished: nobody's.
 */
ilk_status ilk__batch_new(ilk_batch **out, ilk_client *client,
                          ilk__queue_keys *queue_keys, const ilk__reply *reply,
                          size_t at, int dead, ilk_error *err);

/* The server counts the deliveries that have ended; count this one, too. */
void ilk__batch_count_delivery(ilk_batch *batch);

/* They are ours: delivered under this token, from then on. */
ilk_status ilk__batch_hold(ilk_batch *batch, const char *token, int64_t began,
                           int64_t lease_ms, int renew, ilk_error *err);

/* What a caller may ask for. */
ilk_status ilk__check_delay(int64_t delay_ms, ilk_error *err);
ilk_status ilk__check_lease(int64_t lease_ms, ilk_error *err);

/* Begin of every request; what is started keeps a reference until it ends. */
ilk_status ilk__batch_enter(const ilk_batch *batch, ilk_error *err);
void ilk__batch_ref(ilk_batch *batch);
/* What an operation answers: ilk_op_batch(), ilk_op_job(). */
void ilk__batch_answer(ilk__request *request, ilk_batch *batch);
int ilk__batch_is_mine(const ilk_batch *batch); /* not the parent process' */

#endif
