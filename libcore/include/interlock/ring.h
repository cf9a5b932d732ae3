/* SPDX-License-Identifier: MIT */
/**
 * @file ring.h
 * A ring of nodes by consistent hashing: every process that has the same nodes
 * finds the same node for a key, and a node that comes or leaves moves only its
 * own keys.
 *
 * A node has many points on a circle of hashes. A key belongs to the node of the
 * first point at or after the key's hash; the last point is followed by the
 * first one. The layout says where the points are:
 *
 * - ILK_RING_KETAMA, that of libketama and of the many clients of memcached and
 *   Redis that follow it: 40 hashes MD5("<node>-0") to MD5("<node>-39"), each of
 *   which is four points of 32 bits.
 * - ILK_RING_TOOZ, that of OpenStack's tooz: 32 points of 128 bits.
 *
 * A node of weight w has w times as many points, whatever the others weigh, so a
 * change of its weight moves keys only to it or away from it. libketama computes
 * the points from a node's share of all weights, so each change moves keys
 * between the others as well; ILK_RING_SHARES does the same, for programs that
 * have to agree with it.
 *
 * Where two nodes have the same point, it belongs to the node whose name comes
 * first by its bytes. So the order in which nodes were added changes nothing.
 *
 * A ring needs no client, no server and no memory of earlier calls. Its nodes
 * have numbers, 0 and up in the order of their names' bytes; a change of the
 * nodes changes the numbers.
 */
#ifndef INTERLOCK_RING_H
#define INTERLOCK_RING_H

#include "base.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A ring. */
typedef struct ilk_ring ilk_ring;

/** Limits of a ring. */
enum {
    ILK_RING_WEIGHT_MAX = 1000000, /**< the greatest weight of a node */
    ILK_RING_POINTS_MAX = 4194304  /**< points of all nodes together */
};

/** Where the points of a node are. */
typedef enum ilk_ring_layout {
    ILK_RING_KETAMA = 0, /**< as libketama, uhashring and others */
    ILK_RING_TOOZ = 1    /**< as tooz.hashring */
} ilk_ring_layout;

/** Flags of ilk_ring_opts; 0 is the default behaviour. */
enum {
    ILK_RING_SHARES = 1 /**< points by libketama's formula: a node has
                             floor(40 x nodes x its share of all weights) hashes;
                             only with ILK_RING_KETAMA */
};

/** Options of a ring. Zero means the default everywhere. */
typedef struct ilk_ring_opts {
    size_t size;    /**< set by ilk_ring_opts_init() */
    int32_t layout; /**< an ilk_ring_layout */
    uint32_t flags; /**< ILK_RING_… */
} ilk_ring_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_ring_opts_init(ilk_ring_opts *opts, size_t size);

/**
 * Make a ring without nodes.
 *
 * @param[out] out  the ring, to be freed; NULL when the call fails
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_ring_new(ilk_ring **out, const ilk_ring_opts *opts,
                                ilk_error *err);

/**
 * Make a second ring with the same nodes, so that one can be changed while other
 * threads read the first.
 *
 * @param[out] out  the copy, to be freed; NULL when the call fails
 * @param ring      the ring
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM
 * Ownership: the caller frees *out. Threads: any thread, while no thread changes
 * the ring. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_ring_copy(ilk_ring **out, const ilk_ring *ring,
                                 ilk_error *err);

/**
 * Add a node.
 *
 * @param ring      the ring
 * @param node      1 to 512 bytes, any bytes; copied
 * @param node_len  their number
 * @param weight    1 to ILK_RING_WEIGHT_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL (the node is on the ring, the points would be too
 *         many), ILK_ENOMEM; after an error the ring is unchanged
 * Threads: one thread at a time, and none that reads the ring. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_ring_add(ilk_ring *ring, const void *node,
                                size_t node_len, int64_t weight,
                                ilk_error *err);

/**
 * Add several nodes in one step, which is faster than one by one.
 *
 * @param ring       the ring
 * @param names      the nodes, as in ilk_ring_add(); may be NULL when count is 0
 * @param name_lens  their bytes
 * @param count      their number
 * @param weights    so many weights; NULL: all are 1
 * @param[out] err   may be NULL
 * @return as ilk_ring_add(); after an error none was added
 * Threads: one thread at a time, and none that reads the ring. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_ring_add_many(ilk_ring *ring, const void *const *names,
                                     const size_t *name_lens, size_t count,
                                     const int64_t *weights, ilk_error *err);

/**
 * Remove a node.
 *
 * @param ring      the ring
 * @param node      its name
 * @param node_len  its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL (there is no such node), ILK_ENOMEM; after an error
 *         the ring is unchanged
 * Threads: one thread at a time, and none that reads the ring. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_ring_remove(ilk_ring *ring, const void *node,
                                   size_t node_len, ilk_error *err);

/**
 * Change the weight of a node.
 *
 * @param ring      the ring
 * @param node      its name
 * @param node_len  its bytes
 * @param weight    1 to ILK_RING_WEIGHT_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL (there is no such node, the points would be too
 *         many), ILK_ENOMEM; after an error the ring is unchanged
 * Threads: one thread at a time, and none that reads the ring. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_ring_set_weight(ilk_ring *ring, const void *node,
                                       size_t node_len, int64_t weight,
                                       ilk_error *err);

/**
 * How many nodes the ring has.
 *
 * @param ring  the ring
 * @return their number
 * Threads: any thread, while no thread changes the ring. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_ring_count(const ilk_ring *ring);

/**
 * The name of a node.
 *
 * @param ring          the ring
 * @param index         0 to ilk_ring_count() - 1
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL for another number, such as a status
 * Ownership: borrowed until the node is removed or the ring is freed.
 * Threads: any thread, while no thread changes the ring. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_ring_node(const ilk_ring *ring, int32_t index,
                                  size_t *out_len);

/**
 * The weight of a node.
 *
 * @param ring   the ring
 * @param index  0 to ilk_ring_count() - 1
 * @return the weight; 0 for another number
 * Threads: any thread, while no thread changes the ring. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_ring_weight(const ilk_ring *ring, int32_t index);

/**
 * Find the node of a key.
 *
 * @param ring     the ring
 * @param key      any bytes; may be NULL when key_len is 0
 * @param key_len  their number, any number
 * @return the node's number; ILK_EINVAL when the ring has no nodes
 * Threads: any thread, while no thread changes the ring. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_ring_get(const ilk_ring *ring, const void *key,
                             size_t key_len);

/**
 * Find n different nodes for a key: the one of ilk_ring_get(), and those that
 * would have the key without the ones before.
 *
 * @param[out] out_indexes  room for n numbers of nodes
 * @param n                 1 to the number of nodes; with ILK_RING_SHARES a node
 *                          whose share is too small for a point does not count
 * @param ring              the ring
 * @param key               as in ilk_ring_get()
 * @param key_len           its bytes
 * @param[out] err          may be NULL
 * @return ILK_OK; ILK_EINVAL (n is more than there are), ILK_ENOMEM
 * Threads: any thread, while no thread changes the ring. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_ring_get_n(int32_t *out_indexes, size_t n,
                                  const ilk_ring *ring, const void *key,
                                  size_t key_len, ilk_error *err);

/**
 * Find a node for a key that is not overloaded: the first of those in the order
 * of ilk_ring_get_n() whose load, this key included, is at most `factor` times
 * its share of all loads, this key included, rounded up. Shares are by weight.
 *
 * @param[out] out_index  the node's number
 * @param ring            the ring
 * @param key             as in ilk_ring_get()
 * @param key_len         its bytes
 * @param loads           what each node has at present, 0 or more, by number
 * @param load_count      their number: ilk_ring_count()
 * @param factor          1 or more, and finite; 1.25 is usual. Near 1 the loads
 *                        become equal and more keys leave their node
 * @param[out] err        may be NULL
 * @return ILK_OK; ILK_EINVAL
 * Threads: any thread, while no thread changes the ring. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_ring_get_bounded(int32_t *out_index,
                                        const ilk_ring *ring, const void *key,
                                        size_t key_len, const int64_t *loads,
                                        size_t load_count, double factor,
                                        ilk_error *err);

/**
 * Free a ring.
 *
 * @param ring  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_ring_free(ilk_ring *ring);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
