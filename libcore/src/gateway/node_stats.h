/* SPDX-License-Identifier: MIT */
/* node_stats.h -- the counters of a node of a store that has several, for
 * ilk_client_get_node_stats(). */
#ifndef ILK__NODE_STATS_H
#define ILK__NODE_STATS_H

#include "net/url.h"
#include "node_calls.h"

#include <interlock/client.h>

/* Its address is that of the URL, and it has not replied yet. */
void ilk__node_stats_begin(ilk_node_stats *stats, const ilk__url *url);
void ilk__node_stats_call(ilk_node_stats *stats);
/* The reply to a call has come; returns its round trip in microseconds. */
int64_t ilk__node_stats_reply(ilk_node_stats *stats,
                              const ilk__node_call *call);

#endif
