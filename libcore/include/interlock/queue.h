/* SPDX-License-Identifier: MIT */
/**
 * @file queue.h
 * Messages that are each delivered to one consumer and stay until it has
 * finished them.
 *
 * A message is any bytes. A consumer reserves one under a lease and
 * acknowledges it when it is done (job.h). If the lease ends first, because the
 * consumer died or was too slow, the message is delivered again, and the late
 * acknowledgement is refused. So every message is delivered at least once and
 * finished once. A message that was delivered too often becomes dead; dead
 * messages can be inspected and put back.
 *
 * All handles of a queue must have the same order: the first push sets it, and
 * handles with the other order get ILK_EDIFFERS. Nothing polls: a consumer of
 * an empty queue waits in the wait queue, and a push wakes one consumer for
 * each message.
 */
#ifndef INTERLOCK_QUEUE_H
#define INTERLOCK_QUEUE_H

#include "job.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** Limits of a queue. */
enum {
    ILK_QUEUE_DATA_MAX = 1024 * 1024, /**< bytes of a message */
    ILK_QUEUE_BATCH_MAX = 256,        /**< messages in one call */
    ILK_QUEUE_ID_MAX = 256            /**< bytes of a request id */
};

/** Which message is next. */
typedef enum ilk_queue_order {
    ILK_QUEUE_FIFO = 0, /**< the oldest */
    ILK_QUEUE_FILO = 1  /**< the newest */
} ilk_queue_order;

/** Flags of ilk_queue_opts; 0 is the default behaviour. */
enum {
    ILK_QUEUE_RENEW = 1 /**< renew the lease of reserved messages until they
                             are finished or freed */
};

/** Options of a queue. Zero means the default everywhere. */
typedef struct ilk_queue_opts {
    size_t size;          /**< set by ilk_queue_opts_init() */
    int32_t order;        /**< an ilk_queue_order */
    int32_t max_attempts; /**< deliveries before a message is dead; default
                               25, -1 for no limit. The limit of the consumer
                               that reserves or nacks applies */
    int64_t once_ms;      /**< how long a request id is remembered; default
                               10 minutes, at most 7 days */
    int64_t data_max;     /**< refuse messages with more bytes; default
                               and maximum ILK_QUEUE_DATA_MAX */
    uint32_t flags;       /**< ILK_QUEUE_RENEW */
} ilk_queue_opts;

/** Options of a push. Zero means the default everywhere. */
typedef struct ilk_push_opts {
    size_t size;      /**< set by ilk_push_opts_init() */
    int64_t delay_ms; /**< deliver it no earlier; at most 1 year */
    const char *once; /**< a request id: a push under the same id within
                               once_ms changes nothing, also when the first
                               message is done or dead; NULL for none */
    size_t once_len;  /**< its bytes, 1 to ILK_QUEUE_ID_MAX */
} ilk_push_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_queue_opts_init(ilk_queue_opts *opts, size_t size);

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_push_opts_init(ilk_push_opts *opts, size_t size);

/**
 * Make a handle for the queue of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_queue_open(ilk_queue **out, ilk_client *client,
                                  const void *name, size_t name_len,
                                  const ilk_queue_opts *opts, ilk_error *err);

/**
 * Make a handle that consumes several queues in order of priority: the first
 * one that has a message is served. It can only pop and reserve; everything
 * else needs a handle for one queue.
 *
 * @param[out] out   the handle, to be freed; NULL when the call fails
 * @param client     the client; the handle keeps a reference on it
 * @param names      count pointers to names as ilk_queue_open() takes them
 * @param name_lens  count lengths in bytes
 * @param count      1 to ILK_MANY_MAX; no name twice
 * @param opts       for all of them; may be NULL for the defaults
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_queue_open_many(ilk_queue **out, ilk_client *client,
                                       const void *const *names,
                                       const size_t *name_lens, size_t count,
                                       const ilk_queue_opts *opts,
                                       ilk_error *err);

/**
 * Put a message into the queue. If the reply gets lost the command is retried,
 * which does not push twice.
 *
 * @param[out] out_id  the message's number; for a known request id the number
 *                     of its first push; may be NULL
 * @param queue        a handle for one queue
 * @param data         any bytes; may be NULL when data_len is 0
 * @param data_len     their number, at most the handle's data_max
 * @param opts         may be NULL for the defaults
 * @param[out] err     may be NULL
 * @return ILK_OK; ILK_EINVAL (too long, bad delay or id); ILK_EDIFFERS (the
 *         queue has the other order); ILK_EUNKNOWN (no reply: it may be in
 *         the queue; with a request id the push can be repeated);
 *         ILK_ETYPE, ILK_ECONN, ILK_EAUTH and the server's errors
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_queue_push(int64_t *out_id, ilk_queue *queue,
                                  const void *data, size_t data_len,
                                  const ilk_push_opts *opts, ilk_error *err);

/**
 * Start ilk_queue_push(); ilk_op_number() returns the message's number.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param data      any bytes, copied; may be NULL when data_len is 0
 * @param data_len  their number, at most the handle's data_max
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_push_start(ilk_op **out, ilk_queue *queue,
                                        const void *data, size_t data_len,
                                        const ilk_push_opts *opts,
                                        ilk_error *err);

/**
 * Put several messages into the queue: all or none, in one step, in order.
 *
 * @param[out] out_id  the first message's number, the others follow it; may
 *                     be NULL
 * @param queue        a handle for one queue
 * @param data         count pointers to messages
 * @param data_lens    count lengths in bytes
 * @param count        1 to ILK_QUEUE_BATCH_MAX
 * @param opts         for all of them; may be NULL for the defaults
 * @param[out] err     may be NULL
 * @return as ilk_queue_push()
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_queue_push_many(int64_t *out_id, ilk_queue *queue,
                                       const void *const *data,
                                       const size_t *data_lens, size_t count,
                                       const ilk_push_opts *opts,
                                       ilk_error *err);

/**
 * Start ilk_queue_push_many(); ilk_op_number() returns the first's number.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param queue      a handle for one queue
 * @param data       count pointers to messages, which are copied
 * @param data_lens  count lengths in bytes
 * @param count      1 to ILK_QUEUE_BATCH_MAX
 * @param opts       for all of them; may be NULL for the defaults
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_push_many_start(ilk_op **out, ilk_queue *queue,
                                             const void *const *data,
                                             const size_t *data_lens,
                                             size_t count,
                                             const ilk_push_opts *opts,
                                             ilk_error *err);

/**
 * Take the next message and finish it at once. It is delivered at most once:
 * if this process dies, the message is lost. Use ilk_queue_reserve() for
 * messages that must not get lost.
 *
 * @param[out] out    the message, finished already, to be freed; NULL when
 *                    the call fails
 * @param queue       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing there); ILK_ETIMEOUT;
 *         ILK_EUNKNOWN (no reply: a message may be lost); and as
 *         ilk_queue_reserve()
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: as ilk_queue_reserve(); and for up to 500 ms beyond timeout_ms while
 * a reply is missing that may contain a message. Since: 0.1
 */
ILK_API ilk_status ilk_queue_pop(ilk_job **out, ilk_queue *queue,
                                 int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_queue_pop(); ilk_op_job() returns the message. If the operation is
 * freed while its command has no reply yet, a message may be lost.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param queue       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_pop_start(ilk_op **out, ilk_queue *queue,
                                       int64_t timeout_ms, ilk_error *err);

/**
 * Reserve the next message under a lease, waiting up to timeout_ms for one.
 *
 * Messages whose lease ended, and delayed messages that are due, are delivered
 * to any consumer that asks; no other process has to run for that.
 *
 * After ILK_EINTR the thread keeps its place in the wait queue for a few
 * seconds: the same call resumes the wait.
 *
 * @param[out] out    the message, to be finished and freed; NULL when the
 *                    call fails
 * @param queue       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param lease_ms    the lease; 0 for 30000, else ILK_LEASE_MIN_MS to 1 year
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, queue empty); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED; ILK_EINVAL; ILK_EDIFFERS; ILK_ECONN,
 *         ILK_EAUTH, ILK_ETYPE, ILK_ECLOSED, ILK_EFORKED and the server's
 *         errors
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_queue_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_queue_reserve(ilk_job **out, ilk_queue *queue,
                                     int64_t timeout_ms, int64_t lease_ms,
                                     ilk_error *err);

/**
 * Start ilk_queue_reserve(); ilk_op_job() returns the message. Any number of
 * operations may wait on one handle. If an operation is freed before its
 * message was fetched, the message goes back at once, as if it had never been
 * delivered.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param queue       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param lease_ms    the lease; 0 for 30000, else ILK_LEASE_MIN_MS to 1 year
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_reserve_start(ilk_op **out, ilk_queue *queue,
                                           int64_t timeout_ms, int64_t lease_ms,
                                           ilk_error *err);

/**
 * Reserve up to max messages of one queue under one lease and, in the same
 * round trip, acknowledge those of an earlier batch.
 *
 * The messages of `done` are acknowledged even if there is nothing to reserve;
 * ilk_batch_lost() counts those that had been lost.
 *
 * @param[out] out    the messages, to be freed; NULL when the call fails
 * @param queue       the handle
 * @param max         1 to ILK_QUEUE_BATCH_MAX; waits for the first only
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param lease_ms    the lease; 0 for 30000, else ILK_LEASE_MIN_MS to 1 year
 * @param done        a batch of the same handle, or NULL
 * @param[out] err    may be NULL
 * @return as ilk_queue_reserve()
 * Ownership: the caller frees *out; `done` stays the caller's.
 * Threads: any thread; one at a time for `done`.
 * Blocks: as ilk_queue_reserve(). Since: 0.1
 */
ILK_API ilk_status ilk_queue_reserve_many(ilk_batch **out, ilk_queue *queue,
                                          int32_t max, int64_t timeout_ms,
                                          int64_t lease_ms, ilk_batch *done,
                                          ilk_error *err);

/**
 * Start ilk_queue_reserve_many(); ilk_op_batch() returns the messages. If the
 * operation is freed before they were fetched, they go back at once.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param queue       the handle
 * @param max         1 to ILK_QUEUE_BATCH_MAX; waits for the first only
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param lease_ms    the lease; 0 for 30000, else ILK_LEASE_MIN_MS to 1 year
 * @param done        a batch of the same handle, which may be freed while
 *                    this runs; or NULL
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out; `done` stays the caller's.
 * Threads: any thread; one at a time for `done`. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_reserve_many_start(ilk_op **out, ilk_queue *queue,
                                                int32_t max, int64_t timeout_ms,
                                                int64_t lease_ms,
                                                ilk_batch *done,
                                                ilk_error *err);

/**
 * Cancel all waits of this handle: those of every thread and the started ones.
 * It takes a mutex, so a signal handler must not call it.
 *
 * @param queue     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_cancel(ilk_queue *queue, ilk_error *err);

/**
 * Leave the place in the wait queue that this thread kept after ILK_EINTR.
 *
 * @param queue     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK, also for none; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_leave(ilk_queue *queue, ilk_error *err);

/**
 * One of the names that the handle was opened with.
 *
 * @param queue         the handle; NULL yields NULL
 * @param index         0 for the first, most urgent queue
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them; NULL beyond the last
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_queue_name(const ilk_queue *queue, size_t index,
                                   size_t *out_len);

/**
 * Free the handle. Reserved messages stay valid; those that are not finished
 * are delivered again when their lease ends. Running operations end.
 *
 * @param queue  may be NULL; no thread may be in a call on it
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_queue_free(ilk_queue *queue);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
