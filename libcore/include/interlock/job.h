/* SPDX-License-Identifier: MIT */
/**
 * @file job.h
 * A message that was taken from a queue, until it is finished.
 *
 * Messages that were taken together lie under one lease: extending one
 * extends all. Whoever was too slow is told so: a message that went to
 * somebody else can be neither acknowledged nor given back by the first.
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

/** Messages that were taken or looked at together. */
typedef struct ilk_batch ilk_batch;

/**
 * The message that a started reserve or pop has got, the first of several.
 *
 * @param op  the operation
 * @return the message; NULL while it is under way, when it failed, and for
 *         an operation that answers something else
 * Ownership: the operation's, with which it is freed; ilk_batch_job() of
 * ilk_op_batch() makes one that stays. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_job *ilk_op_job(ilk_op *op);

/**
 * The messages that a started reserve, pop or peek has got.
 *
 * @param op  the operation
 * @return the batch; NULL while it is under way, when it failed, and for an
 *         operation that answers something else
 * Ownership: the operation's, with which it is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_batch *ilk_op_batch(ilk_op *op);

/**
 * The message itself.
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
 * Why it is dead, for one that was looked at among the dead; else "".
 *
 * @param job           the message
 * @param[out] out_len  its bytes; may be NULL
 * @return its bytes with a NUL behind them
 * Ownership: borrowed until the job is freed. Threads: immutable. Blocks: no.
 * Since: 0.1
 */
ILK_API const char *ilk_job_reason(const ilk_job *job, size_t *out_len);

/**
 * The message's number, that its push answered; rising in its queue.
 *
 * @param job  the message; NULL answers 0
 * @return 1 or more
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_job_id(const ilk_job *job);

/**
 * Which delivery this is: 1 for the first. Of a message that was only looked
 * at, how many there were.
 *
 * @param job  the message; NULL answers 0
 * @return the number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_job_attempts(const ilk_job *job);

/**
 * When it was pushed, in milliseconds of the server's clock since 1970.
 *
 * @param job  the message; NULL answers 0
 * @return milliseconds
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_job_pushed_ms(const ilk_job *job);

/**
 * Milliseconds that the message is ours for sure.
 *
 * @param job  the message; NULL answers 0
 * @return milliseconds; 0 when it is finished or not sure any more
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
 * Make a handle for a message that another one has reserved, to acknowledge
 * it, give it back, bury or extend it. It has no data and is not renewed;
 * whether it is still held the verbs will tell. Nothing is sent.
 *
 * @param[out] out   the message, to be freed; NULL when the call fails
 * @param queue      a handle for the one queue it was taken from
 * @param token      what ilk_job_token() told
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL (that is no token), ILK_ENOMEM, ILK_ECLOSED,
 *         ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_job_adopt(ilk_job **out, ilk_queue *queue,
                                 const void *token, size_t token_len,
                                 ilk_error *err);

/**
 * It is done: the message is gone for good.
 *
 * @param job       a message that was reserved
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST (it went to somebody else, or was thrown away);
 *         ILK_ENOTOWNER (finished before, popped or only looked at);
 *         ILK_EUNKNOWN; ILK_ECONN and the server's conditions: try again
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_job_ack(ilk_job *job, ilk_error *err);

/**
 * Start ilk_job_ack().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param job       a message that was reserved; may be freed meanwhile
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_ack_start(ilk_op **out, ilk_job *job,
                                     ilk_error *err);

/**
 * Give it back: it is the next to be delivered, or delivered later; dead if
 * that was the last of its attempts.
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
 * @param job       a message that was reserved; may be freed meanwhile
 * @param delay_ms  0, or deliver it no earlier; at most 1 year
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_nack_start(ilk_op **out, ilk_job *job,
                                      int64_t delay_ms, ilk_error *err);

/**
 * Put it among the dead, whatever its attempts.
 *
 * @param job         a message that was reserved
 * @param reason      why, for who looks at it; may be NULL
 * @param reason_len  its bytes; what is above 1000 is cut
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
 * @param job         a message that was reserved; may be freed meanwhile
 * @param reason      why, for who looks at it; copied; may be NULL
 * @param reason_len  its bytes; what is above 1000 is cut
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_bury_start(ilk_op **out, ilk_job *job,
                                      const void *reason, size_t reason_len,
                                      ilk_error *err);

/**
 * Set the lease left, of this and all that were taken with it, counted from
 * now.
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
 * @param job       a message that was reserved; may be freed meanwhile
 * @param lease_ms  the lease; 0 for that of the reservation
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_job_extend_start(ilk_op **out, ilk_job *job,
                                        int64_t lease_ms, ilk_error *err);

/**
 * Free the message. One that is not finished is delivered again when its
 * lease runs out.
 *
 * @param job  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_job_free(ilk_job *job);

/**
 * How many messages the batch has.
 *
 * @param batch  the batch; NULL answers 0
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
 *         are acknowledged all the same
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_batch_ack(ilk_batch *batch, ilk_error *err);

/**
 * Start ilk_batch_ack().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param batch     messages that were reserved; may be freed meanwhile
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_batch_ack_start(ilk_op **out, ilk_batch *batch,
                                       ilk_error *err);

/**
 * How many of them had gone to somebody else when they were to be finished.
 *
 * @param batch  the batch; NULL answers 0
 * @return their number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_batch_lost(const ilk_batch *batch);

/**
 * Free the batch; messages that were taken out of it stay.
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
