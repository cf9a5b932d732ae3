/* SPDX-License-Identifier: MIT */
/*
 * hash_ring.h -- consistent hashing: nodes, their points, and the nodes of a key.
 * <interlock/ring.h> says what the layouts are.
 *
 * The nodes are sorted by the bytes of their names and the points by their place,
 * points at one place by their node. A node's points depend on its own name and
 * weight only (except with `shares`), so a change keeps the points of the
 * others: they are merged with those of the new nodes. A change that fails
 * leaves the ring as it was. Functions that take a const ring may be called by
 * several threads.
 */
#ifndef ILK__HASH_RING_H
#define ILK__HASH_RING_H

#include "error.h"

/* A place is a number of 128 bits, of which ketama uses the highest 32. */
typedef struct ilk__ring_point {
    uint64_t high, low;
    uint32_t node;
} ilk__ring_point;

typedef struct ilk__ring_node {
    char *name; /* NUL-terminated */
    size_t len;
    int64_t weight;
    uint32_t points; /* their number */
} ilk__ring_node;

/* The points by the highest bits of their places, which MD5 spreads evenly: a
 * search begins at the first point of the key's bucket and looks at one or two. */
typedef struct ilk__ring_index {
    uint32_t *starts; /* of each bucket the first point, or that of the next */
    int shift;        /* a bucket is high >> shift */
} ilk__ring_index;

typedef struct ilk__ring {
    int tooz;   /* the layout of tooz, else ketama */
    int shares; /* libketama's formula for the number of points */
    ilk__ring_node *nodes;
    size_t count;
    size_t placed; /* nodes that have points */
    ilk__ring_point *points;
    size_t point_count;
    ilk__ring_index index;
} ilk__ring;

/* Names are copied. The weights are those of the nodes; NULL: all are 1. */
ilk_status ilk__ring_add(ilk__ring *ring, const void *const *names,
                         const size_t *lens, size_t count,
                         const int64_t *weights, ilk_error *err);
ilk_status ilk__ring_remove(ilk__ring *ring, const void *name, size_t len,
                            ilk_error *err);
ilk_status ilk__ring_set_weight(ilk__ring *ring, const void *name, size_t len,
                                int64_t weight, ilk_error *err);

/* The node of a key; -1 when there are no nodes. */
int32_t ilk__ring_get(const ilk__ring *ring, const void *key, size_t len);
ilk_status ilk__ring_get_n(int32_t *out, size_t n, const ilk__ring *ring,
                           const void *key, size_t len, ilk_error *err);
/* The loads are those of the nodes. */
ilk_status ilk__ring_get_bounded(int32_t *out, const ilk__ring *ring,
                                 const void *key, size_t len,
                                 const int64_t *loads, double factor,
                                 ilk_error *err);

/* Make an empty ring into one with the nodes and points of another. */
ilk_status ilk__ring_copy(ilk__ring *out, const ilk__ring *ring,
                          ilk_error *err);
void ilk__ring_free(ilk__ring *ring);

#endif
