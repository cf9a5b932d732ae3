/* SPDX-License-Identifier: MIT */
/*
 * copies.h -- which messages are new. A message that is published in a cluster
 * comes from every node at which its channel is subscribed, once from each. It is
 * new if its node has sent it more often than it was delivered.
 *
 *     mark    delivered   node 0   node 1   node 2
 *     a81f        2          2        1        2      node 1 is late
 *
 * The table is bounded in number and time: a late copy of a message that it has
 * forgotten counts as new.
 */
#ifndef ILK__COPIES_H
#define ILK__COPIES_H

#include "base/table.h"

enum { ILK__COPIES_MOST = 4096, ILK__COPIES_MS = 10000 };

typedef struct ilk__copied ilk__copied;

typedef struct ilk__copies {
    ilk__table table;
    ilk__copied *first, *last; /* by time */
    size_t count;
} ilk__copies;

/* A message with this mark, a hash of its channel and content, came from the node
 * with this number. 1: deliver it; also without memory. */
int ilk__copies_is_new(ilk__copies *copies, uint64_t mark, size_t node,
                       int64_t now);
/* The node is subscribed anew: it has sent all that was delivered. */
void ilk__copies_join(ilk__copies *copies, size_t node);
void ilk__copies_free(ilk__copies *copies);

#endif
