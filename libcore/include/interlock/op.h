/* SPDX-License-Identifier: MIT */
/**
 * @file op.h
 * Operations that are started instead of waited for.
 *
 * Every function that may wait has a twin whose name ends in `_start`. It
 * returns at once with an operation. When that has ended, a notification tells:
 * ILK_NOTIFICATION_DONE with the operation's id and status (notification.h).
 * The loop is
 *
 *     wait until ilk_client_notification_fd() is readable, by whatever means;
 *     call ilk_client_next_notification() until it answers ILK_EAGAIN.
 *
 * No callback is called and no thread of the caller's is needed: operations
 * advance, and their commands are sent and replies read, inside of these two
 * and of ilk_client_next_notification(). So a program that starts operations
 * must keep fetching notifications. Any number of them share one connection.
 *
 * A handle does one thing at a time, started or waited for; it may be freed
 * while something is under way on it, which then ends with ILK_ECANCELLED.
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
 * @param op  the operation; NULL answers 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_id(const ilk_op *op);

/**
 * How it ended: what the function without `_start` would have answered.
 *
 * @param op        the operation
 * @param[out] err  may be NULL; filled when it failed
 * @return ILK_EAGAIN while it is under way; ILK_ECANCELLED after
 *         ilk_op_cancel(); ILK_ECLOSED when the client was closed first;
 *         ILK_EFORKED in a child
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_op_status(ilk_op *op, ilk_error *err);

/**
 * The number that it answered: what the function without `_start` tells in
 * an out parameter that is an integer.
 *
 * @param op  the operation; NULL, or one that has none, answers 0
 * @return the number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_number(ilk_op *op);

/**
 * End a wait. Its place in the wait queue is given up, and what was on its way
 * to it goes to the next. It ends with ILK_ECANCELLED when that is on its way
 * to the server, or as soon as the answer to a question under way is here,
 * and a notification tells as ever;
 * should it have got what it waited for just before, then with ILK_OK. What
 * only waits for an answer is not cancelled: it runs to its end.
 *
 * @param op        the operation
 * @param[out] err  may be NULL
 * @return ILK_OK, also when it has ended; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_op_cancel(ilk_op *op, ilk_error *err);

/**
 * Free an operation. One that is under way is ended first: a wait is given
 * up as by ilk_op_cancel(), the answer to a question is dropped. No
 * notification will tell of it.
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
