/* SPDX-License-Identifier: MIT */
/*
 * keeper.h -- the client's background thread. It runs renewals, refreshes and
 * cancels as in-flight operations, receives the inbox, and fires timers. It is
 * started by the first request that needs it (a wait, an acquire of a lease that is
 * to be renewed or confirmed, a command that must be repeated until it is confirmed,
 * a listener, a started operation), and never in a child after fork. It blocks all
 * OS signals.
 */
#ifndef ILK__KEEPER_H
#define ILK__KEEPER_H

#include "op/shared.h"
#include "redis/async_conn.h"

typedef struct ilk__keeper ilk__keeper;

/* The target is borrowed for the keeper's life. NULL: no memory. */
ilk__keeper *ilk__keeper_new(ilk__shared *shared, const ilk__target *target,
                             int64_t reply_timeout_ms);
/* Add a subscriber connection to this target, which is borrowed as well. To be
 * called before the thread starts, at most ILK__SUBSCRIBERS_MAX - 1 times. */
void ilk__keeper_listen(ilk__keeper *keeper, const ilk__target *target);

/*
 * Have the keeper ask the target's sentinels for news of a switch. It ends its
 * own connections to another server, then calls on_switch, without a mutex.
 * To be called before the thread starts. ILK_ENOMEM.
 */
ilk_status ilk__keeper_ask_sentinels(ilk__keeper *keeper,
                                     void (*on_switch)(void *context),
                                     void *context, ilk_error *err);

/*
 * Have the keeper confirm holds at this many replicas, and set the shared state's
 * confirmer. To be called before the thread starts. ILK_ENOMEM.
 */
ilk_status ilk__keeper_confirm(ilk__keeper *keeper, int replicas,
                               ilk_error *err);

/* Start the thread unless it is running. ILK_ESYSTEM. Any thread. */
ilk_status ilk__keeper_start(ilk__keeper *keeper, ilk_error *err);

/* One turn of the thread; 0 when it must end. Only for the thread itself, and for
 * tests that run the turns without a thread. */
int ilk__keeper_turn(ilk__keeper *keeper);

/*
 * End the thread and join it. Operations that were posted before have this time
 * to be sent and to get their replies. ilk__keeper_free() ends those that are left
 * with ILK_ECLOSED.
 */
void ilk__keeper_stop(ilk__keeper *keeper, int64_t within_ms);
void ilk__keeper_free(ilk__keeper *keeper);
void ilk__keeper_abandon(ilk__keeper *keeper); /* in a forked child */

/* Under the mutex of `shared`. */
void ilk__keeper_add_traffic(const ilk__keeper *keeper, ilk__traffic *sum);

#endif
