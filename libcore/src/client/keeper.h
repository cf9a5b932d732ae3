/* SPDX-License-Identifier: MIT */
/*
 * keeper.h -- one background thread per client: in-flight operations (renewals,
 * refreshes, what is given back), the inbox, timers. Started by the first wait
 * or the first lease that is to be renewed; never in a child after fork. It
 * blocks all signals.
 */
#ifndef ILK__KEEPER_H
#define ILK__KEEPER_H

#include "op/shared.h"
#include "redis/async_conn.h"

typedef struct ilk__keeper ilk__keeper;

typedef struct ilk__keeper_counts {
    int64_t commands, writes, bytes_out, bytes_in, connects, connected;
} ilk__keeper_counts;

/* The target is borrowed for the keeper's life. NULL: no memory. */
ilk__keeper *ilk__keeper_new(ilk__shared *shared, const ilk__target *target,
                             int64_t reply_timeout_ms);
/* Before it is started: listen there, too. Borrowed as well. At most
 * ILK__SUBSCRIBERS_MAX - 1. */
void ilk__keeper_listen(ilk__keeper *keeper, const ilk__target *target);

/* Start the thread unless it runs. ILK_ESYSTEM. Any thread. */
ilk_status ilk__keeper_start(ilk__keeper *keeper, ilk_error *err);

/*
 * End the thread and wait for it; in-flight operations that are left end with
 * ILK_ECLOSED. In-flight operations that were posted before get a moment to be
 * sent.
 */
void ilk__keeper_stop(ilk__keeper *keeper);
void ilk__keeper_free(ilk__keeper *keeper);
void ilk__keeper_abandon(ilk__keeper *keeper); /* in a forked child */

void ilk__keeper_counts_get(ilk__keeper *keeper, ilk__keeper_counts *out);

#endif
