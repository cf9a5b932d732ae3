/* SPDX-License-Identifier: MIT */
/* traffic.h -- what has gone over connections, for ilk_client_stats. */
#ifndef ILK__TRAFFIC_H
#define ILK__TRAFFIC_H

#include <stdint.h>

typedef struct ilk__traffic {
    int64_t commands, writes, bytes_out, bytes_in;
    int64_t connects;  /* connections made, reconnects included */
    int64_t connected; /* those that are up */
} ilk__traffic;

static inline void ilk__traffic_add(ilk__traffic *sum, const ilk__traffic *more)
{
    sum->commands += more->commands;
    sum->writes += more->writes;
    sum->bytes_out += more->bytes_out;
    sum->bytes_in += more->bytes_in;
    sum->connects += more->connects;
    sum->connected += more->connected;
}

#endif
