/* SPDX-License-Identifier: MIT */
/**
 * @file queue_inspect.h
 * Administering a queue: counting its messages, peeking at them, purging them,
 * putting dead ones back.
 */
#ifndef INTERLOCK_QUEUE_INSPECT_H
#define INTERLOCK_QUEUE_INSPECT_H

#include "queue.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A snapshot of a queue's numbers. */
typedef struct ilk_queue_info ilk_queue_info;

/** Parts of a queue; a call says whether they may be added up. */
enum {
    ILK_QUEUE_READY = 1,   /**< can be delivered now */
    ILK_QUEUE_DELAYED = 2, /**< delivered later */
    ILK_QUEUE_DEAD = 4     /**< not delivered any more */
};

/**
 * How many messages could be delivered now.
 *
 * @param[out] out_count  their number
 * @param queue           a handle for one queue
 * @param[out] err        may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ETYPE, ILK_ECONN and the others
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_queue_size(int64_t *out_count, ilk_queue *queue,
                                  ilk_error *err);

/**
 * Start ilk_queue_size(); ilk_op_number() returns the number.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_size_start(ilk_op **out, ilk_queue *queue,
                                        ilk_error *err);

/**
 * Read messages without reserving them.
 *
 * @param[out] out  the messages, all finished, to be freed; NULL when the
 *                  call fails
 * @param queue     a handle for one queue
 * @param where     ILK_QUEUE_READY, ILK_QUEUE_DELAYED or ILK_QUEUE_DEAD
 * @param from      how many to skip, counted from the next to be delivered,
 *                  the first due, or the oldest dead one
 * @param max       1 to ILK_QUEUE_BATCH_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK, also for none; ILK_EINVAL; ILK_ETYPE and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_queue_peek(ilk_batch **out, ilk_queue *queue,
                                  int32_t where, int64_t from, int32_t max,
                                  ilk_error *err);

/**
 * Start ilk_queue_peek(); ilk_op_batch() returns the messages.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param where     ILK_QUEUE_READY, ILK_QUEUE_DELAYED or ILK_QUEUE_DEAD
 * @param from      how many to skip
 * @param max       1 to ILK_QUEUE_BATCH_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_peek_start(ilk_op **out, ilk_queue *queue,
                                        int32_t where, int64_t from,
                                        int32_t max, ilk_error *err);

/**
 * Purge: delete messages. Reserved messages are not deleted.
 *
 * @param[out] out_count  how many; may be NULL
 * @param queue           a handle for one queue
 * @param where           sum of ILK_QUEUE_READY, _DELAYED and _DEAD
 * @param[out] err        may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ETYPE, ILK_ECONN and the others
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_queue_purge(int64_t *out_count, ilk_queue *queue,
                                   int32_t where, ilk_error *err);

/**
 * Start ilk_queue_purge(); ilk_op_number() returns how many.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param where     sum of ILK_QUEUE_READY, _DELAYED and _DEAD
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_purge_start(ilk_op **out, ilk_queue *queue,
                                         int32_t where, ilk_error *err);

/**
 * Put dead messages back, behind all others, with their attempts reset.
 *
 * @param[out] out_count  how many; may be NULL
 * @param queue           a handle for one queue
 * @param id              this one; 0 for the oldest max
 * @param max             0 or more; 0 for all; not looked at with an id
 * @param[out] err        may be NULL
 * @return ILK_OK, also for none; ILK_EINVAL; ILK_ETYPE and the others
 * Threads: any thread. Blocks: one round trip for each ILK_QUEUE_BATCH_MAX.
 * Since: 0.1
 */
ILK_API ilk_status ilk_queue_requeue(int64_t *out_count, ilk_queue *queue,
                                     int64_t id, int64_t max, ilk_error *err);

/**
 * Start ilk_queue_requeue(); ilk_op_number() returns how many.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param id        this one; 0 for the oldest max
 * @param max       0 or more; 0 for all; not looked at with an id
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_requeue_start(ilk_op **out, ilk_queue *queue,
                                           int64_t id, int64_t max,
                                           ilk_error *err);

/**
 * Inspect the queue: how many messages each part has, and what became of the
 * messages so far.
 *
 * @param[out] out  the info, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param[out] err  may be NULL
 * @return ILK_OK, also for a queue that nobody has used; ILK_EINVAL;
 *         ILK_ETYPE, ILK_ECONN and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_queue_inspect(ilk_queue_info **out, ilk_queue *queue,
                                     ilk_error *err);

/**
 * Start ilk_queue_inspect(); ilk_op_queue_info() returns the info.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_inspect_start(ilk_op **out, ilk_queue *queue,
                                           ilk_error *err);

/**
 * The result of a started ilk_queue_inspect().
 *
 * @param op  the operation
 * @return the info; NULL while it is running, when it failed, and for
 *         an operation of another kind
 * Ownership: the operation's. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const ilk_queue_info *ilk_op_queue_info(ilk_op *op);

/** The numbers that ilk_queue_info_get() returns. */
typedef enum ilk_queue_count {
    ILK_QUEUE_N_READY = 0,     /**< messages that can be delivered now */
    ILK_QUEUE_N_DELAYED = 1,   /**< delivered later, or due but not moved yet */
    ILK_QUEUE_N_TAKEN = 2,     /**< reserved, under a lease */
    ILK_QUEUE_N_DEAD = 3,      /**< not delivered any more */
    ILK_QUEUE_N_WAITING = 4,   /**< consumers that wait */
    ILK_QUEUE_N_PUSHED = 5,    /**< messages ever pushed */
    ILK_QUEUE_N_FINISHED = 6,  /**< acknowledged or popped */
    ILK_QUEUE_N_EXPIRED = 7,   /**< deliveries whose lease ran out */
    ILK_QUEUE_N_RETURNED = 8,  /**< deliveries given back (nack) */
    ILK_QUEUE_N_BURIED = 9,    /**< messages that became dead */
    ILK_QUEUE_N_PURGED = 10,   /**< messages purged */
    ILK_QUEUE_N_ORDER = 11,    /**< an ilk_queue_order; -1 when never used */
    ILK_QUEUE_N_OLDEST_MS = 12 /**< age of the next message */
} ilk_queue_count;

/**
 * One number of the info.
 *
 * @param info   the info
 * @param count  an ilk_queue_count
 * @return the number; 0 for NULL and for an unknown count
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_queue_info_get(const ilk_queue_info *info, int32_t count);

/**
 * Free the info.
 *
 * @param info  may be NULL
 * Threads: any thread, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_queue_info_free(ilk_queue_info *info);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
