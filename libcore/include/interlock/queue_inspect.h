/* SPDX-License-Identifier: MIT */
/**
 * @file queue_inspect.h
 * A queue from outside: counting its messages, looking at them, throwing
 * them away, putting the dead back.
 */
#ifndef INTERLOCK_QUEUE_INSPECT_H
#define INTERLOCK_QUEUE_INSPECT_H

#include "queue.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** What lay in a queue at one moment. */
typedef struct ilk_queue_info ilk_queue_info;

/** Where in a queue: may be added up where a call says so. */
enum {
    ILK_QUEUE_READY = 1,   /**< to be taken now */
    ILK_QUEUE_DELAYED = 2, /**< to be taken later */
    ILK_QUEUE_DEAD = 4     /**< not to be delivered any more */
};

/**
 * How many messages could be taken now.
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
 * Start ilk_queue_size(); ilk_op_number() tells it.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_size_start(ilk_op **out, ilk_queue *queue,
                                        ilk_error *err);

/**
 * Look at messages without taking them.
 *
 * @param[out] out  the messages, all finished, to be freed; NULL when the
 *                  call fails
 * @param queue     a handle for one queue
 * @param where     ILK_QUEUE_READY, ILK_QUEUE_DELAYED or ILK_QUEUE_DEAD
 * @param from      how many to pass over: of the next to be taken, of those
 *                  that are due first, of the oldest dead
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
 * Start ilk_queue_peek(); ilk_op_batch() tells the messages.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param where     ILK_QUEUE_READY, ILK_QUEUE_DELAYED or ILK_QUEUE_DEAD
 * @param from      how many to pass over
 * @param max       1 to ILK_QUEUE_BATCH_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_peek_start(ilk_op **out, ilk_queue *queue,
                                        int32_t where, int64_t from,
                                        int32_t max, ilk_error *err);

/**
 * Throw messages away. Those that are taken stay with who took them.
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
 * Start ilk_queue_purge(); ilk_op_number() tells how many.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param where     sum of ILK_QUEUE_READY, _DELAYED and _DEAD
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_purge_start(ilk_op **out, ilk_queue *queue,
                                         int32_t where, ilk_error *err);

/**
 * Put dead messages back, behind all others, with their attempts forgotten.
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
 * Start ilk_queue_requeue(); ilk_op_number() tells how many.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param id        this one; 0 for the oldest max
 * @param max       0 or more; 0 for all; not looked at with an id
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_requeue_start(ilk_op **out, ilk_queue *queue,
                                           int64_t id, int64_t max,
                                           ilk_error *err);

/**
 * Look at the queue: what lies where, and what became of all messages.
 *
 * @param[out] out  the finding, to be freed; NULL when the call fails
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
 * Start ilk_queue_inspect(); ilk_op_queue_info() tells the finding.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param queue     a handle for one queue
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_queue_inspect_start(ilk_op **out, ilk_queue *queue,
                                           ilk_error *err);

/**
 * What a started ilk_queue_inspect() found.
 *
 * @param op  the operation
 * @return the finding; NULL while it is under way, when it failed, and for
 *         an operation that answers something else
 * Ownership: the operation's. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const ilk_queue_info *ilk_op_queue_info(ilk_op *op);

/** What ilk_queue_info_get() answers. */
typedef enum ilk_queue_count {
    ILK_QUEUE_N_READY = 0,     /**< messages to be taken now */
    ILK_QUEUE_N_DELAYED = 1,   /**< to be taken later, or due and not moved */
    ILK_QUEUE_N_TAKEN = 2,     /**< under a lease */
    ILK_QUEUE_N_DEAD = 3,      /**< not to be delivered any more */
    ILK_QUEUE_N_WAITING = 4,   /**< consumers that wait */
    ILK_QUEUE_N_PUSHED = 5,    /**< messages ever pushed */
    ILK_QUEUE_N_FINISHED = 6,  /**< acknowledged or popped */
    ILK_QUEUE_N_EXPIRED = 7,   /**< deliveries whose lease ran out */
    ILK_QUEUE_N_RETURNED = 8,  /**< deliveries given back */
    ILK_QUEUE_N_BURIED = 9,    /**< messages that became dead */
    ILK_QUEUE_N_PURGED = 10,   /**< messages thrown away */
    ILK_QUEUE_N_ORDER = 11,    /**< an ilk_queue_order; -1 when never used */
    ILK_QUEUE_N_OLDEST_MS = 12 /**< how long the next has lain there */
} ilk_queue_count;

/**
 * One number of a finding.
 *
 * @param info   the finding
 * @param count  an ilk_queue_count
 * @return the number; 0 for NULL and for a count that is none
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_queue_info_get(const ilk_queue_info *info, int32_t count);

/**
 * Free a finding.
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
