/* SPDX-License-Identifier: MIT */
/**
 * @file op.h
 * Operations: calls that run in the caller's event loop instead of blocking.
 *
 * Most blocking functions have a non-blocking form whose name ends in `_start`.
 * It returns at once with an operation. When the operation has ended, the
 * client has a notification (notification.h): ILK_NOTIFICATION_DONE with the
 * operation's id and status. The event loop is
 *
 *     wait until ilk_client_notification_fd() is readable (poll, epoll, ...);
 *     call ilk_client_next_notification() until it returns ILK_EAGAIN.
 *
 * There are no callbacks, and no additional thread is needed: the commands of
 * operations are sent, and their replies read, inside the `_start` functions
 * and ilk_client_next_notification(). A program that starts operations must
 * therefore keep fetching notifications. All operations of a client share one
 * connection.
 *
 * These block and have no `_start` form: opening, reopening and closing a
 * client, detach, ilk_list_next(), workers (worker.h), recipes.h and server.h.
 *
 * While the server is away, the end of an operation, and of the blocking call,
 * depends on what it does:
 *
 *   - An operation with a timeout goes on until then, and ends with ILK_ECONN, or
 *     ILK_ENOQUORUM where a majority is missing: ILK_ETIMEOUT and ILK_EBUSY are
 *     the server's. Without a timeout (-1) it ends after 60 s without a reply.
 *     With a timeout of 0 it makes one attempt.
 *   - All others (releases, changes, pushes, requests that only read) are tried
 *     again for the client's outage_ms, counted from the beginning of the outage,
 *     and make at least one attempt.
 *   - Checks of a lock, semaphore or election need the server only after the
 *     local deadline.
 *   - ILK_CLIENT_NO_OUTAGE_WAIT, and outage_ms where the program has given it,
 *     are for both kinds; a wait that is in its wait queue goes on.
 *
 * A request that was sent before the connection broke may have been executed. It
 * is sent again under the same token, at most for 45 s. Without any reply it ends
 * with ILK_EUNKNOWN, or, if it only reads, with ILK_ECONN.
 *
 * A wait takes back what it may have got.
 *
 * A handle runs one call at a time, blocking or started. It may be freed while
 * an operation runs on it, which then ends with ILK_ECANCELLED.
 */
#ifndef INTERLOCK_OP_H
#define INTERLOCK_OP_H

#include "notification.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/**
 * The operation's number, unique in its client; its notification carries it.
 *
 * @param op  the operation; NULL yields 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_id(const ilk_op *op);

/**
 * Attach a pointer of the program to the operation. The operation's
 * notification carries it, if it is set before the notification is fetched; the
 * library does not follow it.
 *
 * @param op    the operation; NULL is ignored
 * @param user  any pointer
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_op_set_user(ilk_op *op, void *user);

/**
 * The pointer that the program attached to the operation.
 *
 * @param op  the operation; NULL yields NULL
 * @return the pointer of ilk_op_set_user(); NULL before
 * Ownership: the program's. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void *ilk_op_user(const ilk_op *op);

/**
 * How it ended: the status that the blocking function would have returned.
 *
 * @param op        the operation
 * @param[out] err  may be NULL; filled when it failed
 * @return ILK_EAGAIN while it is running; ILK_ECANCELLED after
 *         ilk_op_cancel(), and for a wait after ilk_client_stop();
 *         ILK_ECLOSED when the client was closed first;
 *         ILK_EFORKED in a child
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_op_status(ilk_op *op, ilk_error *err);

/**
 * The integer that the blocking function would have stored through an out
 * parameter.
 *
 * @param op  the operation; 0 for NULL and for one without a number
 * @return the number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_number(ilk_op *op);

/**
 * Cancel a wait. It leaves the wait queue, and a grant that is already on its
 * way goes to the next waiter. The operation completes with ILK_ECANCELLED once
 * the cancellation was sent; if a command of it has no reply yet, it completes
 * when the reply arrives. It completes with ILK_OK if it got what it waited for
 * before. A notification is queued in each case. An operation that does not
 * wait in a queue, but only for a reply, runs to its end; but if it pauses because
 * the server is away, it completes at once, with ILK_ECANCELLED if nothing was sent,
 * else with ILK_EUNKNOWN. A release is then left to the keeper.
 *
 * @param op        the operation
 * @param[out] err  may be NULL
 * @return ILK_OK, also when it has ended; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_op_cancel(ilk_op *op, ilk_error *err);

/**
 * Free an operation. One that is running is ended first: a wait is cancelled
 * as by ilk_op_cancel(), a reply that is missing will be dropped. There is no
 * notification for it.
 *
 * @param op  may be NULL
 * Threads: any thread, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_op_free(ilk_op *op);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
