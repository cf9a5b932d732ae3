/* SPDX-License-Identifier: MIT */
/**
 * @file worker.h
 * The loop of a consumer: reserve, work, settle, with one round trip per turn.
 *
 *     while (ilk_worker_next(&job, worker, -1, &err) == ILK_OK) {
 *         if (handle(job))
 *             ilk_worker_done(worker, &err);
 *         else
 *             ilk_worker_failed(worker, "why", 3, &err);
 *         ilk_job_free(job);
 *     }
 *     ilk_worker_finish(worker, &err);
 *
 * The result of a message is sent together with the request for the next one.
 * A failed message is retried after a pause that grows with each failure, with
 * random jitter so that failed messages do not return all at once. The lease is
 * renewed while the caller works.
 */
#ifndef INTERLOCK_WORKER_H
#define INTERLOCK_WORKER_H

#include "queue.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A consumer's loop. */
typedef struct ilk_worker ilk_worker;

/** Options of a worker. Zero means the default everywhere. */
typedef struct ilk_worker_opts {
    size_t size;            /**< set by ilk_worker_opts_init() */
    int64_t lease_ms;       /**< of reserved messages; default 30000 */
    int64_t backoff_ms;     /**< pause after the first failure, doubled by
                                 each further one; default 1000 */
    int64_t backoff_max_ms; /**< the longest pause; default 10 minutes */
    int32_t batch;          /**< messages reserved and settled together;
                                 default 1, at most ILK_QUEUE_BATCH_MAX. More is
                                 faster, but after a crash all of them are
                                 delivered again */
} ilk_worker_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_worker_opts_init(ilk_worker_opts *opts, size_t size);

/**
 * Make a worker. Nothing is sent.
 *
 * @param[out] out   the worker, to be freed; NULL when the call fails
 * @param client     the client; the worker keeps a reference on it
 * @param names      count queues, in order of priority
 * @param name_lens  count lengths in bytes
 * @param count      1 to ILK_MANY_MAX
 * @param queue      options of all of them; may be NULL; ILK_QUEUE_RENEW is
 *                   always on
 * @param opts       may be NULL for the defaults
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_worker_open(ilk_worker **out, ilk_client *client,
                                   const void *const *names,
                                   const size_t *name_lens, size_t count,
                                   const ilk_queue_opts *queue,
                                   const ilk_worker_opts *opts, ilk_error *err);

/**
 * Send the result of the last message and reserve the next one. A message
 * without a result counts as failed.
 *
 * @param[out] out    the message, to be freed; ilk_worker_done() and its like
 *                    finish it, not ilk_job_ack(). NULL when the call fails
 * @param worker      the worker
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return as ilk_queue_reserve(); ILK_ECANCELLED after ilk_worker_stop(), and
 *         after ilk_client_stop() unless timeout_ms is 0
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: as ilk_queue_reserve(); ended by ilk_worker_stop(), too.
 * Since: 0.1
 */
ILK_API ilk_status ilk_worker_next(ilk_job **out, ilk_worker *worker,
                                   int64_t timeout_ms, ilk_error *err);

/**
 * The message is done. This is sent with the next ilk_worker_next().
 *
 * @param worker    the worker
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ENOTOWNER when no message is being worked on
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_worker_done(ilk_worker *worker, ilk_error *err);

/**
 * The work failed: the message is delivered again after a pause, or is dead if
 * this was its last attempt.
 *
 * @param worker      the worker
 * @param reason      why, shown when it is dead; may be NULL
 * @param reason_len  its bytes; cut after 1000
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_ENOTOWNER when no message is being worked on
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_worker_failed(ilk_worker *worker, const void *reason,
                                     size_t reason_len, ilk_error *err);

/**
 * Make the message dead: no retry can succeed.
 *
 * @param worker      the worker
 * @param reason      why, shown by peek; may be NULL
 * @param reason_len  its bytes; cut after 1000
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_ENOTOWNER when no message is being worked on
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_worker_bury(ilk_worker *worker, const void *reason,
                                   size_t reason_len, ilk_error *err);

/**
 * Send the results that were not sent yet, and give back messages that were
 * reserved but not begun, as if they had never been delivered.
 *
 * @param worker    the worker
 * @param[out] err  may be NULL
 * @return ILK_OK, also with nothing to send; ILK_ELOST when a message had
 *         gone to another consumer; ILK_EUNKNOWN, ILK_ECONN and the server's
 *         errors: try again, or let the leases end
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_worker_finish(ilk_worker *worker, ilk_error *err);

/**
 * Stop the loop: a wait ends, and ilk_worker_next() returns ILK_ECANCELLED from
 * now on; call ilk_worker_finish() then. This takes a mutex, so a signal
 * handler must not call it.
 *
 * @param worker    the worker
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_worker_stop(ilk_worker *worker, ilk_error *err);

/**
 * Leave the place in the wait queue that this thread kept after ILK_EINTR.
 *
 * @param worker    the worker
 * @param[out] err  may be NULL
 * @return ILK_OK, also for none; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_worker_leave(ilk_worker *worker, ilk_error *err);

/**
 * How many results were refused because the message had gone to another
 * consumer. A result that was sent again because a reply was missing, and came after
 * the end of the lease, is not counted: its first copy may have been in time.
 *
 * @param worker  the worker; NULL yields 0
 * @return their number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_worker_lost(const ilk_worker *worker);

/**
 * Free the worker, after ilk_worker_finish(). Messages that are neither
 * finished nor given back are delivered again when their lease ends.
 *
 * @param worker  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_worker_free(ilk_worker *worker);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
