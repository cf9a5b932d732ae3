/* SPDX-License-Identifier: MIT */
/**
 * @file job.h
 * A job: a message that was taken from a queue, until it is finished.
 *
 * Messages that were reserved together have one lease: extending one extends
 * all. A consumer whose lease ended gets ILK_ELOST: once a message has gone to
 * another consumer, the first can neither acknowledge it nor give it back.
 */
#ifndef INTERLOCK_JOB_H
#define INTERLOCK_JOB_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A queue's handle, or one for several queues in order of priority. */
typedef struct ilk_queue ilk_queue;

/** One message. */
typedef struct ilk_job ilk_job;

/** Messages that were reserved, popped or peeked at together. */
typedef struct ilk_batch ilk_batch;

/**
 * The message of a started reserve or pop; the first one of several.
 *
 * @param op  the operation
 * @return the message; NULL while it is running, when it failed, and for
 *         an operation of another kind
 * Ownership: freed with the operation; ilk_batch_job() of ilk_op_batch() makes
 * one that outlives it. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_job *ilk_op_job(ilk_op *op);

/**
 * The messages of a started reserve, pop or peek.
 *
 * @param op  the operation
 * @return the batch; NULL while it is running, when it failed, and for an
 *         operation of another kind
 * Ownership: freed with the operation. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_batch *ilk_op_batch(ilk_op *op);

/**
 * The message's data.
 *
 * @param job           the message
 * @param[out] out_len  its bytes; may be NULL
 * @return its bytes with a NUL behind them
 * Ownership: borrowed until the job is freed. Threads: immutable. Blocks: no.
 * Since: 0.1
 */
ILK_API const char *ilk_job_data(const ilk_job *job, size_t *out_len);

/**
 * The name of the queue it was taken from.
 *
 * @param job           the message
 * @param[out] out_len  its bytes; may be NULL
 * @return its bytes with a NUL behind them
 * Ownership: borrowed until the job is freed. Threads: immutable. Blocks: no.
 * Since: 0.1
 */
ILK_API const char *ilk_job_queue(const ilk_job *job, size_t *out_len);

/**
 * Why the message is dead, for a dead one from ilk_queue_peek(); else "".
 *
 * @param job           the message
 * @param[out] out_len  its bytes; may be NULL
 * @return its bytes with a NUL behind them
 * Ownership: borrowed until the job is freed. Threads: immutable. Blocks: no.
 * Since: 0.1
 */
ILK_API const char *ilk_job_reason(const ilk_job *job, size_t *out_len);

/**
 * The message's number, which its push returned. Numbers rise in a queue.
 *
 * @param job  the message; NULL yields 0
 * @return 1 or more
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_job_id(const ilk_job *job);

/**
 * Which delivery this is: 1 for the first. For a message from
 * ilk_queue_peek(): how many deliveries there were.
 *
 * @param job  the message; NULL yields 0
 * @return the number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_job_attempts(const ilk_job *job);

/**
 * When it was pushed, in milliseconds of the server's clock since 1970.
 *
 * @param job  the message; NULL yields 0
 * @return milliseconds
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_job_pushed_ms(const ilk_job *job);

/**
 * Time until the local deadline, up to which the reservation certainly holds.
 *
 * @param job  the message; NULL yields 0
 * @return milliseconds; 0 when it is finished, or no longer certain
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_job_remaining_ms(const ilk_job *job);

/**
 * The token of this delivery, under which another handle, also in another
 * process, may finish the message; see ilk_job_adopt().
 *
 * @param job  the message
 * @return a NUL-terminated string; "" for one that was not reserved
 * Ownership: borrowed until the job is freed. Threads: immutable. Blocks: no.
 * Since: 0.1
 */
ILK_API const char *ilk_job_token(const ilk_job *job);

/**
 * Make a handle for a message that another handle reserved, to acknowledge,
 * nack, bury or extend it. It has no data and is not renewed. Nothing is sent:
 * the first of those calls returns ILK_ELOST if the reservation has ended.
 *
 * @param[out] out   the message, to be freed; NULL when the call fails
 * @param queue      a handle for the one queue it was taken from
 * @param token      from ilk_job_token()
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL (not a token), ILK_ENOMEM, ILK_ECLOSED,
 *         ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_job_adopt(ilk_job **out, ilk_queue *queue,
                                 const void *token, size_t token_len,
                                 ilk_error *err);

/**
 * Acknowledge the message: it is done and is deleted.
 *
 * @param job       a message that was reserved
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST (it went to another consumer, or was purged);
 *         ILK_ENOTOWNER (finished before, popped or peeked at);
 *         ILK_EUNKNOWN; ILK_ECONN and the server's errors: try again
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_job_ack(ilk_job *job, ilk_error *err);

/**
 * Start ilk_job_ack().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param job       a message that was reserved; may be freed while it runs
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_ack_start(ilk_op **out, ilk_job *job,
                                     ilk_error *err);

/**
 * Give the message back: it is delivered next, or after a delay. It becomes
 * dead if this was its last attempt.
 *
 * @param job       a message that was reserved
 * @param delay_ms  0, or deliver it no earlier; at most 1 year
 * @param[out] err  may be NULL
 * @return as ilk_job_ack(); ILK_EINVAL for a bad delay
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_job_nack(ilk_job *job, int64_t delay_ms, ilk_error *err);

/**
 * Start ilk_job_nack().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param job       a message that was reserved; may be freed while it runs
 * @param delay_ms  0, or deliver it no earlier; at most 1 year
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_nack_start(ilk_op **out, ilk_job *job,
                                      int64_t delay_ms, ilk_error *err);

/**
 * Make the message dead, whatever its attempts.
 *
 * @param job         a message that was reserved
 * @param reason      why, shown by peek; may be NULL
 * @param reason_len  its bytes; cut after 1000
 * @param[out] err    may be NULL
 * @return as ilk_job_ack()
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_job_bury(ilk_job *job, const void *reason,
                                size_t reason_len, ilk_error *err);

/**
 * Start ilk_job_bury().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param job         a message that was reserved; may be freed while it runs
 * @param reason      why, shown by peek; copied; may be NULL
 * @param reason_len  its bytes; cut after 1000
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_bury_start(ilk_op **out, ilk_job *job,
                                      const void *reason, size_t reason_len,
                                      ilk_error *err);

/**
 * Set the remaining lease of this message, and of all that were reserved with
 * it, counted from now.
 *
 * @param job       a message that was reserved
 * @param lease_ms  the lease; 0 for that of the reservation
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EINVAL; ILK_EUNKNOWN and as
 *         ilk_job_ack()
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_job_extend(ilk_job *job, int64_t lease_ms,
                                  ilk_error *err);

/**
 * Start ilk_job_extend().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param job       a message that was reserved; may be freed while it runs
 * @param lease_ms  the lease; 0 for that of the reservation
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_extend_start(ilk_op **out, ilk_job *job,
                                        int64_t lease_ms, ilk_error *err);

/**
 * Free the handle. A message that is not finished is delivered again when its
 * lease ends.
 *
 * @param job  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_job_free(ilk_job *job);

/**
 * How many messages the batch has.
 *
 * @param batch  the batch; NULL yields 0
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_batch_count(const ilk_batch *batch);

/**
 * One of the messages, with a reference of its own.
 *
 * @param[out] out  the message, to be freed; NULL when the call fails
 * @param batch     the batch
 * @param index     from 0
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_batch_job(ilk_job **out, ilk_batch *batch, size_t index,
                                 ilk_error *err);

/**
 * Acknowledge all of them that are not finished, in one round trip.
 *
 * @param batch     messages that were reserved
 * @param[out] err  may be NULL
 * @return as ilk_job_ack(); ILK_ELOST when one of them was lost: the others
 *         are acknowledged nevertheless
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_batch_ack(ilk_batch *batch, ilk_error *err);

/**
 * Start ilk_batch_ack().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param batch     messages that were reserved; may be freed while it runs
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_batch_ack_start(ilk_op **out, ilk_batch *batch,
                                       ilk_error *err);

/**
 * How many of them could not be finished because their reservation had ended.
 * An acknowledgement may be sent again because a reply was missing, and arrive
 * after the end of the lease. Its messages are not counted, because its first
 * copy may have been in time.
 *
 * @param batch  the batch; NULL yields 0
 * @return their number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_batch_lost(const ilk_batch *batch);

/**
 * Free the batch; jobs from ilk_batch_job() stay valid.
 *
 * @param batch  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_batch_free(ilk_batch *batch);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
