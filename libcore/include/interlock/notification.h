/* SPDX-License-Identifier: MIT */
/**
 * @file notification.h
 * News of a client: one pollable descriptor and a bounded queue.
 *
 * A notification of a handle is a hint, fetched when the caller likes;
 * ilk_lock_remaining_ms() is the truth. Notifications of one handle and kind
 * are coalesced while they wait. Of each operation that was started (op.h) one
 * notification tells that it has ended; none of these is ever lost.
 */
#ifndef INTERLOCK_NOTIFICATION_H
#define INTERLOCK_NOTIFICATION_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** What happened. */
typedef enum ilk_notification_kind {
    ILK_NOTIFICATION_NONE = 0,
    ILK_NOTIFICATION_LOCK_LOST = 1,       /**< the lock's `id`, `status` why */
    ILK_NOTIFICATION_SEMAPHORE_LOST = 2,  /**< of the semaphore, `status` why */
    ILK_NOTIFICATION_LEADERSHIP_LOST = 3, /**< of the candidate, `status` why */
    ILK_NOTIFICATION_LEADERSHIP_WON = 4,  /**< of the candidate */
    ILK_NOTIFICATION_DONE = 5 /**< an operation has ended, `status` how; op.h */
} ilk_notification_kind;

/** One piece of news. */
typedef struct ilk_notification {
    size_t size;    /**< set by the caller to sizeof */
    int32_t kind;   /**< an ilk_notification_kind */
    int32_t status; /**< the ilk_status that goes with it */
    int64_t id;     /**< the handle's, as ilk_lock_id(), or the operation's */
} ilk_notification;

/**
 * The descriptor that becomes readable when there is a notification to fetch;
 * while operations are under way (op.h) also when these have something to do,
 * so that there may be none.
 *
 * Only wait for it to become readable (poll, select, epoll, kqueue): level
 * triggered, never read it, never close it. It is closed with the client.
 *
 * @param client       the client
 * @param[out] out_fd  the descriptor
 * @param[out] err     may be NULL
 * @return ILK_OK; ILK_ESYSTEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the client's. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_notification_fd(ilk_client *client, int *out_fd,
                                              ilk_error *err);

/**
 * Fetch the next notification; what was started advances here, see op.h.
 *
 * @param client             the client
 * @param[out] notification  filled; set its size to sizeof *notification before
 * @param[out] err           may be NULL
 * @return ILK_OK; ILK_EAGAIN when there is none; ILK_ECLOSED after the close,
 *         when the ends of all operations were fetched; ILK_EINVAL,
 *         ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_next_notification(ilk_client *client,
                                                ilk_notification *notification,
                                                ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
