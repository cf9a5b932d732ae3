/* SPDX-License-Identifier: MIT */
/* node_stats.c -- the counters of a node of a store that has several. */
#include "node_stats.h"

#include <stdio.h>
#include <string.h>

enum { MEAN_OF = 8 };

void ilk__node_stats_begin(ilk_node_stats *stats, const ilk__url *url)
{
    const int is_ipv6 = strchr(url->host, ':') != NULL;

    stats->round_trip_us = stats->mean_round_trip_us = -1;
    snprintf(stats->address, sizeof stats->address,
             is_ipv6 ? "[%s]:%d" : "%s:%d", url->host, url->port);
}

void ilk__node_stats_call(ilk_node_stats *stats)
{
    stats->commands++;
    stats->in_flight++;
}

int64_t ilk__node_stats_reply(ilk_node_stats *stats, const ilk__node_call *call)
{
    const int64_t trip_us = ilk__node_call_trip_us(call);

    stats->in_flight--;
    if (stats->round_trip_us < 0)
        stats->mean_round_trip_us = trip_us;
    stats->mean_round_trip_us +=
        (trip_us - stats->mean_round_trip_us) / MEAN_OF;
    stats->round_trip_us = trip_us;
    return trip_us;
}
