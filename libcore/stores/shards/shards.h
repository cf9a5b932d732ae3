/* SPDX-License-Identifier: MIT */
/*
 * shards.h -- the backend of several independent servers that share keys: each key is
 * on those servers that follow it on a ring of consistent hashing (base/hash_ring.h).
 *
 * It keeps replicated values (docs/kv.md), and stores, of which each key is on the first
 * of its servers only (docs/store.md). The URL is that of one server with several
 * hosts and the flag `ring`. Options of the query, besides those of one server:
 *     copies=3            servers that have a key; at most as many as there are
 *     write=2, read=2     how many of them a put and a get wait for; the default is more
 *                         than half of the copies
 *     former=host,host    servers that have left the ring: ilk_kv_move() moves their
 *                         values to the ring
 */
#ifndef ILK__SHARDS_H
#define ILK__SHARDS_H

#include "gateway/backend.h"

extern const ilk__backend ilk__shards_backend;

#endif
