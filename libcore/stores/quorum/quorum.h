/* SPDX-License-Identifier: MIT */
/*
 * quorum.h -- a backend of the gateway: locks, elections and registers over several
 * independent servers.
 *
 *     redis://[user:password@]host[:port],host[:port],host[:port][/db]?quorum[&query]
 *
 * Each node keeps a lock's keys as one server does. A lock is held by the client
 * that has the votes of a majority; quorum_votes.h decides on holds, quorum_members.h
 * on the nodes that may vote. Registers go another way: quorum_registers.c.
 *
 *     session --LOCK_ACQUIRE--> attempt --quorum_acquire--> node 1, 2, 3
 *                               |    ^                        |
 *                               |    +------ votes -----------+
 *                               +--quorum_confirm--> nodes that granted --> held
 *
 * An attempt lives from the acquire until its release or cancel has reached every
 * node, or until the last lease that it may have has ended. A wait is an attempt in
 * the wait queues of all nodes; their messages come here, and the core gets one when
 * a majority has confirmed.
 *
 * Requests of other kinds (inspect, break, adopt) go to all nodes in one round; the
 * reply is what a majority replies.
 *
 * Options of the query, besides those of one server:
 *     longest_lease_ms=60000  longer leases are refused. A node that was restarted
 *                             votes again after this time
 *     fsync=check|trust       check (the default): a node keeps registers if its
 *                             settings show that it loses none; trust: whatever they are
 */
#ifndef ILK__QUORUM_H
#define ILK__QUORUM_H

#include "gateway/backend.h"

extern const ilk__backend ilk__quorum_backend;

#endif
