/* SPDX-License-Identifier: MIT */
/**
 * @file notification.h
 * Notifications of a client: one file descriptor to poll and a bounded queue.
 *
 * A notification about a handle is a hint and may be fetched at any time;
 * ilk_lock_remaining_ms() and its like are authoritative. Notifications of the
 * same handle and kind are coalesced while they are in the queue. Each started
 * operation (op.h) queues one notification at its end; these are never lost.
 */
#ifndef INTERLOCK_NOTIFICATION_H
#define INTERLOCK_NOTIFICATION_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** The kind of a notification: which change it reports. */
typedef enum ilk_notification_kind {
    ILK_NOTIFICATION_NONE = 0,
    ILK_NOTIFICATION_LOCK_LOST = 1,       /**< `id`: the lock; `status`: why */
    ILK_NOTIFICATION_SEMAPHORE_LOST = 2,  /**< a semaphore; `status`: why */
    ILK_NOTIFICATION_LEADERSHIP_LOST = 3, /**< a candidate; `status`: why */
    ILK_NOTIFICATION_LEADERSHIP_WON = 4,  /**< a candidate was elected */
    ILK_NOTIFICATION_DONE = 5, /**< an operation ended; `status`: its result */
    ILK_NOTIFICATION_KEPT = 6, /**< see ilk_client_notify_kept() */
    ILK_NOTIFICATION_MEMBER_LOST = 7 /**< a member; `status`: why */
} ilk_notification_kind;

/** Why a hold was lost, as far as this client knows. A value is never reused. */
typedef enum ilk_loss {
    ILK_LOSS_NONE = 0,    /**< the notification is about something else */
    ILK_LOSS_UNKNOWN = 1, /**< the client cannot know */
    ILK_LOSS_BROKEN = 2,  /**< somebody broke it: `interlock break`, ... */
    /** its lease ended before this process renewed it: the process was
        suspended, or another one has shortened the lease */
    ILK_LOSS_EXPIRED = 3,
    ILK_LOSS_UNREACHABLE = 4, /**< its lease ended during an outage */
    /** its key was deleted, evicted or overwritten; in a store that does not
        say so, also broken */
    ILK_LOSS_DELETED = 5,
    /** the server has neither the key nor the record of the hold: its data was
        wiped, or it started without them */
    ILK_LOSS_WIPED = 6,
    ILK_LOSS_ENDED = 7 /**< as agreed: max_hold_ms, or without renewal */
} ilk_loss;

/**
 * The name of a cause: "broken", "expired", ... the identifier's end in lower case.
 *
 * @param cause  an ilk_loss
 * @return a static string; "?" for a number that is no cause
 * Ownership: borrowed, for ever. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_loss_name(int32_t cause);

/** One notification. */
typedef struct ilk_notification {
    size_t size;    /**< set by the caller to sizeof */
    int32_t kind;   /**< an ilk_notification_kind */
    int32_t status; /**< an ilk_status */
    int64_t id;     /**< ilk_lock_id() of the handle, ... or ilk_op_id() */
    void *user;     /**< `user` of the handle's options, or ilk_op_set_user() */
    int32_t cause;  /**< of a loss: an ilk_loss */
} ilk_notification;

/**
 * The file descriptor that is readable while there is a notification to fetch.
 * While operations are running (op.h) it is also readable when they have work
 * to do, so ilk_client_next_notification() may return ILK_EAGAIN.
 *
 * Only wait until it is readable (poll, select, epoll, kqueue; level
 * triggered). Never read from it and never close it: the client closes it.
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
 * Fetch the next notification. This also advances operations; see op.h.
 *
 * @param client             the client
 * @param[out] notification  filled; set its size to sizeof *notification before
 * @param[out] err           may be NULL
 * @return ILK_OK; ILK_EAGAIN when there is none; ILK_ECLOSED after the client
 *         was closed and the notifications of all operations were fetched;
 *         ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_next_notification(ilk_client *client,
                                                ilk_notification *notification,
                                                ilk_error *err);

/**
 * Queue an ILK_NOTIFICATION_KEPT, for the binding of a language with a garbage
 * collector: the object of a handle was collected while the handle held, and
 * the binding keeps the handle, whose hold goes on.
 *
 * @param client    the client
 * @param id        ilk_lock_id() of the handle, or its like
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ECLOSED, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_notify_kept(ilk_client *client, int64_t id,
                                          ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
