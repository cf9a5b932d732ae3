/* SPDX-License-Identifier: MIT */
/*
 * gateway.h -- a server inside this process, which executes the library's
 * scripts at a store that is no single Redis server.
 *
 *     lane, keeper, loop      unchanged: they speak RESP
 *     ---- socketpair ----
 *     session                 commands in, replies out in their order
 *     gateway                 the requests of one token one after another
 *     backend                 does the work elsewhere (backend.h)
 *
 * One thread per client, with a poll loop of its own, runs all of it. It starts
 * with the first connection and sleeps while nothing happens.
 */
#ifndef ILK__GATEWAY_H
#define ILK__GATEWAY_H

#include "backend.h"

/* The URL is borrowed until ilk__gateway_stop(). ILK_ENOMEM, ILK_ESYSTEM, and
 * what the backend's open() returns. */
ilk_status ilk__gateway_open(ilk__gateway **out, const ilk__backend *backend,
                             const ilk__url *url, ilk_error *err);

/* A new connection to the gateway. Any thread. ILK_ESYSTEM, ILK_ENOMEM;
 * ILK_ECONN when it is closed. */
ilk_status ilk__gateway_connect(ilk__gateway *gateway, int *out_fd,
                                ilk_error *err);

/* See ilk_client_get_node_stats(). ILK_EAGAIN, also when it is closed. Any
 * thread. */
ilk_status ilk__gateway_node_stats(ilk__gateway *gateway, size_t index,
                                   ilk_node_stats *out);
/* See ilk_client_adopt_node(). ILK_EUNSUPPORTED; ILK_EAGAIN, also when it is
 * closed. Any thread. */
ilk_status ilk__gateway_adopt_node(ilk__gateway *gateway, size_t index);

/* End the thread, and close the connections and the backend. NULL is ignored.
 * Other threads may still call ilk__gateway_connect(), which fails then. */
void ilk__gateway_stop(ilk__gateway *gateway);
/* Stop and free it. NULL is ignored. */
void ilk__gateway_free(ilk__gateway *gateway);
/* In a forked child: close the copies of the descriptors, forget the rest. NULL
 * is ignored. */
void ilk__gateway_abandon(ilk__gateway *gateway);

#endif
