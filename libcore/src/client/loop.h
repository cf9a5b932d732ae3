/* SPDX-License-Identifier: MIT */
/*
 * loop.h -- the third driver: the application's event loop.
 *
 *     start --> running --> done --> fetched as a notification
 *
 * What was started advances in ilk_client_next_notification(), which the
 * application calls when the client's descriptor is readable: that is while the
 * loop's connection is ready, its wake-up descriptor is raised (news from the
 * keeper, a timer, what is done and not fetched), or notifications wait. So all
 * I/O of it is done by the caller's threads; a mutex lets one in at a time.
 * Commands are written at once when nothing is unanswered, else in the next
 * turn, all together, or when it has become much.
 *
 * The order of mutexes is the loop's, then the shared state's.
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

/* The next that is done, as a notification. ILK_EAGAIN: none. */
ilk_status ilk__loop_next(ilk__loop *loop, ilk_notification *out);

/*
 * Start a copy of the request. When it fails at once, that is the answer and
 * there is no operation.
 */
ilk_status ilk__request_start(ilk_op **out, const ilk__request *request,
                              size_t size, ilk_client *client,
                              ilk__request_begin *begin, ilk_error *err);

/* There is no operation, for there is no handle; the status. */
ilk_status ilk__started_none(ilk_op **out, ilk_status status);

/* What a done operation answered, if it is of this kind; borrowed. */
void *ilk__started_object(ilk_op *op, void (*dispose)(void *object));

/*
 * Whoever is in a turn gets out of it first, and touches no handle any more
 * that was left there. Inside of a request nothing happens: what is made and
 * freed there has nothing under way.
 */
void ilk__loop_let_pass(ilk__loop *loop);

/* The handle is freed: what is under way on it ends. */
void ilk__loop_forget(ilk__loop *loop, const void *handle);

/* As ilk__lane_in_order(). Inside of a request. */
int ilk__loop_in_order(const ilk__loop *loop);

void ilk__loop_counts_add(ilk__loop *loop, ilk__keeper_counts *sum);

/* Everything ends with ILK_ECLOSED; what is done can still be fetched. */
void ilk__loop_shut(ilk__loop *loop);
void ilk__loop_free(ilk__loop *loop);
void ilk__loop_abandon(ilk__loop *loop); /* in a forked child */

#endif
