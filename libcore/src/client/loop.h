/* SPDX-License-Identifier: MIT */
/*
 * loop.h -- the third driver of operations: the application's event loop.
 *
 *     start --> running --> done --> fetched as a notification
 *                  \_ cancelling _/     (cancelled; done once it is written)
 *
 * The application polls the client's descriptor. It is readable while one of
 * these is:
 *
 *     the loop's connection      can be read or written
 *     the wake-up descriptor     news from the keeper, a timer is due, or
 *                                operations are done and not fetched
 *     the notifications          other notifications wait
 *
 * Then the application calls ilk_client_next_notification(), which runs a turn:
 * it wakes operations with news, fires timers, reads replies and steps their
 * operations, and writes commands. So the application's threads do all I/O of
 * the loop; a mutex lets in one at a time. A new command is written at once if
 * all written ones have their replies; otherwise commands are collected and
 * written in the next turn, or when the buffer has ENOUGH bytes.
 *
 * The mutexes are locked in this order: the loop's, then the shared state's.
 */
#ifndef ILK__LOOP_H
#define ILK__LOOP_H

#include "keeper.h"
#include "op/request.h"

#include <interlock/op.h>

typedef struct ilk__loop ilk__loop;

/* Target and client are borrowed for its life. NULL: no memory. */
ilk__loop *ilk__loop_new(ilk_client *client, const ilk__target *target,
                         int64_t reply_timeout_ms);
/* The descriptor to wait on; opened by the first call. */
ilk_status ilk__loop_fd(ilk__loop *loop, int *out_fd, ilk_error *err);

/* Run a turn if needed, and fetch the next operation that is done, as a
 * notification. ILK_EAGAIN: none. */
ilk_status ilk__loop_next(ilk__loop *loop, ilk_notification *out);

/*
 * Start a copy of the request. If it fails at once, its status is returned and
 * *out is NULL.
 */
ilk_status ilk__request_start(ilk_op **out, const ilk__request *request,
                              size_t size, ilk_client *client,
                              ilk__request_begin *begin, ilk_error *err);

/* For a start that fails before there is a request: set *out to NULL and return
 * the status. */
ilk_status ilk__started_none(ilk_op **out, ilk_status status);

/* The object of an operation that is done, if `dispose` frees objects of its
 * type; NULL otherwise. Borrowed. */
void *ilk__started_object(ilk_op *op, void (*dispose)(void *object));

/*
 * Wait until the thread now inside the loop has left it. After that it uses no
 * handle whose request has ended. Called from inside a request it returns at
 * once: handles that are made and freed there have no operation running.
 */
void ilk__loop_let_pass(ilk__loop *loop);

/* The handle is being freed: end the operations that are running on it. */
void ilk__loop_forget(ilk__loop *loop, const void *handle);

/* As ilk__lane_leave_old(), for the loop's connection. */
void ilk__loop_leave_old(ilk__loop *loop);

/* As ilk__lane_in_order(), for the loop's connection. Inside a request only. */
int ilk__loop_in_order(const ilk__loop *loop);

void ilk__loop_add_traffic(ilk__loop *loop, ilk__traffic *sum);

/* End all operations with ILK_ECLOSED; they can still be fetched. */
void ilk__loop_shut(ilk__loop *loop);
void ilk__loop_free(ilk__loop *loop);
void ilk__loop_abandon(ilk__loop *loop); /* in a forked child */

#endif
