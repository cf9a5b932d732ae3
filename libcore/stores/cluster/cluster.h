/* SPDX-License-Identifier: MIT */
/*
 * cluster.h -- a backend of the gateway: the nodes of a Redis Cluster.
 *
 *     redis+cluster://[user:password@]host[:port],host[:port]...[?query]
 *     rediss+cluster://...                                        with TLS
 *
 * A request goes to the node that serves the slot of its keys, over one connection
 * for each node, and its reply goes back as it is.
 *
 *     session --request--> route --> [waiting, paused] --> wire of a node --> reply
 *                            ^                               |
 *                            +--- MOVED, ASK, TRYAGAIN ------+
 *
 * These rules keep a lock to one holder; tests/model/cluster.pml has a control for
 * each of the first four:
 *
 *     after ASK, ASKING and the request go over the same connection, one behind the
 *     other, and later requests go where they went before
 *     a request without a reply is repeated only when the connection that carried
 *     it is closed at its node, or the node is no primary any more
 *     a grant is never undone because its message had no receiver: the script's node
 *     counts its own, and the others deliver it (scripts/include/reached.lua)
 *     a node gets a request only when the client's channels are subscribed there
 *     a message comes from each node, and is delivered once
 *
 * Failures: a request that no node executes in time gets the error ILKDOWN, which
 * is a failed connection for the core. For one that may have been executed, the
 * gateway closes its session; the core repeats it under its token.
 */
#ifndef ILK__CLUSTER_H
#define ILK__CLUSTER_H

#include "gateway/backend.h"

extern const ilk__backend ilk__cluster_backend;

#endif
