/* SPDX-License-Identifier: MIT */
/*
 * hash_ring.c -- consistent hashing: nodes, their points, and the nodes of a key.
 *
 *   points   0x03..  0x1a..  0x1a..  0x77..  0xd0..       sorted
 *   node       2       0       1       0       2
 *                  ^                       ^       ^
 *   key          0x05..: 0               0x9b..: 2 0xf1..: 2, the first again
 *
 * Programs that follow libketama put a key on the first point that is not below
 * its hash, tooz on the first one above it. The search is the same for both: a
 * point above a hash is one that is not below the hash plus 1.
 */
#include "hash_ring.h"

#include "alloc.h"
#include "md5.h"

#include <interlock/ring.h>

#include <math.h> /* isfinite, a macro */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KETAMA_HASHES = 40, /* of a node of weight 1 */
    KETAMA_POINTS = 4,  /* of a hash */
    TOOZ_POINTS = 32    /* of a node of weight 1 */
};

/* ---- places ------------------------------------------------------------- */

/* Four bytes, the last one first, are the highest bits of the place. */
static uint64_t place_32(const unsigned char *bytes)
{
    uint64_t value = 0;

    for (int i = 3; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value << 32;
}

static uint64_t big_endian(const unsigned char *bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void place_128(ilk__ring_point *out, const unsigned char *hash)
{
    out->high = big_endian(hash);
    out->low = big_endian(hash + 8);
}

static ilk__ring_point place_of_key(const ilk__ring *ring, const void *key,
                                    size_t len)
{
    unsigned char hash[ILK__MD5_SIZE];
    ilk__ring_point place = {0, 0, 0};
    ilk__md5 md5;

    ilk__md5_begin(&md5);
    ilk__md5_add(&md5, key, len);
    ilk__md5_hash(hash, &md5);
    if (!ring->tooz) {
        place.high = place_32(hash);
        return place;
    }
    place_128(&place, hash);
    if (++place.low == 0)
        place.high++; /* beyond the last number comes the first */
    return place;
}

static int is_below(const ilk__ring_point *a, const ilk__ring_point *b)
{
    return a->high != b->high ? a->high < b->high : a->low < b->low;
}

static int comes_first(const ilk__ring_point *a, const ilk__ring_point *b)
{
    return is_below(a, b) || (!is_below(b, a) && a->node < b->node);
}

static int compare_points(const void *a, const void *b)
{
    return comes_first(a, b) ? -1 : comes_first(b, a);
}

/* ---- the points of a node ----------------------------------------------- */

static void put_ketama(ilk__ring_point *out, const ilk__ring_node *node)
{
    char text[ILK_NAME_MAX + 16];
    unsigned char hash[ILK__MD5_SIZE];
    ilk__md5 md5;

    memcpy(text, node->name, node->len);
    for (uint32_t i = 0; i < node->points; i++) {
        if (i % KETAMA_POINTS == 0) {
            int more = snprintf(text + node->len, sizeof text - node->len,
                                "-%u", (unsigned)(i / KETAMA_POINTS));

            ilk__md5_begin(&md5);
            ilk__md5_add(&md5, text, node->len + (size_t)more);
            ilk__md5_hash(hash, &md5);
        }
        out[i].high = place_32(hash + (size_t)(i % KETAMA_POINTS) * 4);
        out[i].low = 0;
    }
}

/* The i-th point is the hash of the name written i + 2 times. */
static void put_tooz(ilk__ring_point *out, const ilk__ring_node *node)
{
    unsigned char hash[ILK__MD5_SIZE];
    ilk__md5 md5;

    ilk__md5_begin(&md5);
    ilk__md5_add(&md5, node->name, node->len);
    for (uint32_t i = 0; i < node->points; i++) {
        ilk__md5_add(&md5, node->name, node->len);
        ilk__md5_hash(hash, &md5);
        place_128(&out[i], hash);
    }
}

/*
 * How many hashes libketama gives to a node. It computes in single precision:
 * with 61 nodes of one weight each has 39, where exact arithmetic says 40. This
 * rounds where it rounds.
 */
static uint32_t share_of(int64_t weight, int64_t total, size_t count)
{
    float share = (float)weight / (float)total;
    float hashes = (float)((double)share * 40.0 * (double)(float)count);

    return (uint32_t)hashes;
}

/* Set how many points each node has; ILK_EINVAL when they are too many. */
static ilk_status count_points(const ilk__ring *ring, ilk__ring_node *nodes,
                               size_t count, ilk_error *err)
{
    int64_t weights = 0, points = 0;

    for (size_t i = 0; i < count; i++)
        weights += nodes[i].weight;
    for (size_t i = 0; i < count; i++) {
        int64_t own =
            nodes[i].weight
            * (ring->tooz ? TOOZ_POINTS : KETAMA_HASHES * KETAMA_POINTS);

        if (ring->shares)
            own = (int64_t)share_of(nodes[i].weight, weights, count)
                  * KETAMA_POINTS;
        points += own;
        nodes[i].points = (uint32_t)own;
    }
    if (points > ILK_RING_POINTS_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "the ring would have %lld points, at most %d",
                         (long long)points, ILK_RING_POINTS_MAX);
    return ILK_OK;
}

/* ---- changes ------------------------------------------------------------ */

#define GONE UINT32_MAX

/* Sort names as strings of bytes; the shorter one first. */
static int compare_names(const void *a, size_t a_len, const void *b,
                         size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

    if (order != 0)
        return order;
    return a_len < b_len ? -1 : a_len > b_len;
}

static int compare_nodes(const void *a, const void *b)
{
    const ilk__ring_node *one = a, *other = b;

    return compare_names(one->name, one->len, other->name, other->len);
}

/* Where a node is, or GONE. */
static uint32_t find_node(const ilk__ring_node *nodes, size_t count,
                          const void *name, size_t len)
{
    size_t from = 0, to = count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order =
            compare_names(nodes[middle].name, nodes[middle].len, name, len);

        if (order == 0)
            return (uint32_t)middle;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return GONE;
}

static void free_arrays(ilk__ring *ring)
{
    ilk__free(ring->nodes);
    ilk__free(ring->points);
    ilk__free(ring->index.starts);
}

/* One change at work. */
typedef struct change {
    ilk__ring_node *nodes; /* those of the future, sorted */
    size_t count;
    uint32_t *moved;           /* old number of a node -> new one, or GONE */
    unsigned char *has_points; /* new number -> its points are kept */
    ilk__ring_point *points, *made;
    size_t point_count;
    ilk__ring_index index;
} change;

/* Number the nodes whose points are kept, and count all and those to make. */
static void compare_with(const ilk__ring *ring, change *c, size_t *out_all,
                         size_t *out_made)
{
    *out_all = *out_made = 0;
    for (size_t i = 0; i < ring->count; i++) {
        const ilk__ring_node *old = &ring->nodes[i];
        uint32_t now = find_node(c->nodes, c->count, old->name, old->len);

        if (now != GONE && c->nodes[now].points != old->points)
            now = GONE;
        c->moved[i] = now;
        if (now != GONE)
            c->has_points[now] = 1;
    }
    for (size_t i = 0; i < c->count; i++) {
        *out_all += c->nodes[i].points;
        if (!c->has_points[i])
            *out_made += c->nodes[i].points;
    }
}

static void make_points(const ilk__ring *ring, change *c)
{
    size_t at = 0;

    for (size_t i = 0; i < c->count; i++) {
        const ilk__ring_node *node = &c->nodes[i];

        if (c->has_points[i])
            continue;
        if (ring->tooz)
            put_tooz(c->made + at, node);
        else
            put_ketama(c->made + at, node);
        for (size_t end = at + node->points; at < end; at++)
            c->made[at].node = (uint32_t)i;
    }
    qsort(c->made, at, sizeof *c->made, compare_points);
}

/* Merge the points that stay, under the new numbers of their nodes, with those that
 * were made. The new numbers keep the order of both. */
static void merge(ilk__ring_point *out, const ilk__ring *ring, const change *c,
                  size_t made_count)
{
    const ilk__ring_point *made = c->made, *end = made + made_count;

    for (size_t i = 0; i < ring->point_count; i++) {
        ilk__ring_point old = ring->points[i];

        old.node = c->moved[old.node];
        if (old.node == GONE)
            continue;
        while (made < end && comes_first(made, &old))
            *out++ = *made++;
        *out++ = old;
    }
    while (made < end)
        *out++ = *made++;
}

static size_t buckets_of(const ilk__ring_index *index)
{
    return (size_t)1 << (64 - index->shift);
}

/* Fill in where the points of each bucket begin. */
static void index_points(ilk__ring_index *index, const ilk__ring_point *points,
                         size_t count)
{
    size_t buckets = buckets_of(index), at = 0;

    for (size_t bucket = 0; bucket < buckets; bucket++) {
        while (at < count && points[at].high >> index->shift < bucket)
            at++;
        index->starts[bucket] = (uint32_t)at;
    }
}

/* Room for a bucket for each point, at least two; 0 without memory. */
static int open_index(ilk__ring_index *index, size_t count)
{
    index->shift = 63;
    while (buckets_of(index) < count)
        index->shift--;
    index->starts = ilk__calloc(buckets_of(index), sizeof *index->starts);
    return index->starts != NULL;
}

/* Make the points of the nodes; 0 without memory. */
static int build(change *c, const ilk__ring *ring)
{
    size_t made;

    c->moved = ilk__calloc(ring->count, sizeof *c->moved);
    c->has_points = ilk__calloc(c->count, 1);
    if (!c->moved || !c->has_points)
        return 0;
    compare_with(ring, c, &c->point_count, &made);
    c->points = ilk__malloc(c->point_count * sizeof *c->points);
    c->made = ilk__malloc(made * sizeof *c->made);
    if (!c->points || !c->made || !open_index(&c->index, c->point_count))
        return 0;
    make_points(ring, c);
    merge(c->points, ring, c, made);
    index_points(&c->index, c->points, c->point_count);
    return 1;
}

/* Give the ring these nodes, which are sorted. The array and the names become the
 * ring's; after an error they are the caller's. Names that the ring had and has no
 * more are the caller's, too. */
static ilk_status settle(ilk__ring *ring, ilk__ring_node *nodes, size_t count,
                         ilk_error *err)
{
    change c = {.nodes = nodes, .count = count};
    ilk_status st = count_points(ring, nodes, count, err);

    if (st == ILK_OK && !build(&c, ring))
        st = ilk__fail(err, ILK_ENOMEM, "no memory for the ring");
    if (st == ILK_OK) {
        free_arrays(ring);
        ring->nodes = nodes;
        ring->count = count;
        ring->points = c.points;
        ring->point_count = c.point_count;
        ring->index = c.index;
        ring->placed = 0;
        for (size_t i = 0; i < count; i++)
            ring->placed += nodes[i].points != 0;
    } else {
        ilk__free(c.points);
        ilk__free(c.index.starts);
    }
    ilk__free(c.moved);
    ilk__free(c.has_points);
    ilk__free(c.made);
    return st;
}

/* A copy of the nodes, with room for more. */
static ilk__ring_node *copy_nodes(const ilk__ring *ring, size_t more,
                                  ilk_error *err)
{
    ilk__ring_node *nodes = NULL;

    if (more <= ILK_RING_POINTS_MAX)
        nodes = ilk__calloc(ring->count + more, sizeof *nodes);
    if (!nodes)
        (void)ilk__fail(err, ILK_ENOMEM, "no memory for the ring");
    else if (ring->count > 0)
        memcpy(nodes, ring->nodes, ring->count * sizeof *nodes);
    return nodes;
}

static ilk_status check_weight(int64_t weight, ilk_error *err)
{
    if (weight >= 1 && weight <= ILK_RING_WEIGHT_MAX)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL, "weight must be 1 to %d, got %lld",
                     ILK_RING_WEIGHT_MAX, (long long)weight);
}

static ilk_status take_node(ilk__ring_node *out, const void *name, size_t len,
                            int64_t weight, ilk_error *err)
{
    if (len == 0 || len > ILK_NAME_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "a node must have 1 to %d bytes, got %zu",
                         ILK_NAME_MAX, len);
    if (!name)
        return ilk__fail(err, ILK_EINVAL, "a node must not be NULL");
    if (check_weight(weight, err) != ILK_OK)
        return ILK_EINVAL;
    out->name = ilk__memdup(name, len);
    out->len = len;
    out->weight = weight;
    if (!out->name)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the ring");
    return ILK_OK;
}

static ilk_status check_distinct(const ilk__ring_node *nodes, size_t count,
                                 ilk_error *err)
{
    for (size_t i = 1; i < count; i++)
        if (compare_nodes(&nodes[i - 1], &nodes[i]) == 0)
            return ilk__fail(err, ILK_EINVAL,
                             "the ring has the node '%.100s' already",
                             nodes[i].name);
    return ILK_OK;
}

/* Add nodes whose names are copies; these are the ring's if it succeeds. */
static ilk_status add_taken(ilk__ring *ring, const ilk__ring_node *taken,
                            size_t count, ilk_error *err)
{
    ilk__ring_node *nodes = copy_nodes(ring, count, err);
    size_t all = ring->count + count;
    ilk_status st;

    if (!nodes)
        return ILK_ENOMEM;
    memcpy(nodes + ring->count, taken, count * sizeof *nodes);
    qsort(nodes, all, sizeof *nodes, compare_nodes);
    st = check_distinct(nodes, all, err);
    if (st == ILK_OK)
        st = settle(ring, nodes, all, err);
    if (st != ILK_OK)
        ilk__free(nodes);
    return st;
}

ilk_status ilk__ring_add(ilk__ring *ring, const void *const *names,
                         const size_t *lens, size_t count,
                         const int64_t *weights, ilk_error *err)
{
    ilk__ring_node *taken = ilk__calloc(count, sizeof *taken);
    ilk_status st = ILK_OK;

    if (!taken)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the ring");
    for (size_t i = 0; st == ILK_OK && i < count; i++)
        st = take_node(&taken[i], names[i], lens[i], weights ? weights[i] : 1,
                       err);
    if (st == ILK_OK && count > 0)
        st = add_taken(ring, taken, count, err);
    for (size_t i = 0; st != ILK_OK && i < count; i++)
        ilk__free(taken[i].name);
    ilk__free(taken);
    return st;
}

/* The number of a node that has to be there; GONE with an error. */
static uint32_t known(const ilk__ring *ring, const void *name, size_t len,
                      ilk_error *err)
{
    uint32_t node =
        len > 0 && name ? find_node(ring->nodes, ring->count, name, len) : GONE;

    if (node == GONE)
        (void)ilk__fail(err, ILK_EINVAL, "the ring has no node '%.*s'",
                        len < 100 ? (int)len : 100,
                        name ? (const char *)name : "");
    return node;
}

ilk_status ilk__ring_remove(ilk__ring *ring, const void *name, size_t len,
                            ilk_error *err)
{
    uint32_t node = known(ring, name, len, err);
    ilk__ring_node *nodes;
    char *removed;
    ilk_status st;

    if (node == GONE)
        return ILK_EINVAL;
    nodes = copy_nodes(ring, 0, err);
    if (!nodes)
        return ILK_ENOMEM;
    removed = nodes[node].name;
    memmove(nodes + node, nodes + node + 1,
            (ring->count - node - 1) * sizeof *nodes);
    st = settle(ring, nodes, ring->count - 1, err);
    ilk__free(st == ILK_OK ? (void *)removed : nodes);
    return st;
}

ilk_status ilk__ring_set_weight(ilk__ring *ring, const void *name, size_t len,
                                int64_t weight, ilk_error *err)
{
    uint32_t node = known(ring, name, len, err);
    ilk__ring_node *nodes;
    ilk_status st;

    if (node == GONE || check_weight(weight, err) != ILK_OK)
        return ILK_EINVAL;
    nodes = copy_nodes(ring, 0, err);
    if (!nodes)
        return ILK_ENOMEM;
    nodes[node].weight = weight;
    st = settle(ring, nodes, ring->count, err);
    if (st != ILK_OK)
        ilk__free(nodes);
    return st;
}

/* ---- a key's nodes ------------------------------------------------------ */

/* The first point that is not below the key's place, or the first of all. */
static size_t first_point(const ilk__ring *ring, const void *key, size_t len)
{
    ilk__ring_point place = place_of_key(ring, key, len);
    size_t at = ring->index.starts[place.high >> ring->index.shift];

    while (at < ring->point_count && is_below(&ring->points[at], &place))
        at++;
    return at < ring->point_count ? at : 0;
}

int32_t ilk__ring_get(const ilk__ring *ring, const void *key, size_t len)
{
    if (ring->point_count == 0)
        return -1;
    return (int32_t)ring->points[first_point(ring, key, len)].node;
}

static ilk_status check_not_empty(const ilk__ring *ring, ilk_error *err)
{
    if (ring->point_count > 0)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL, "the ring has no nodes");
}

ilk_status ilk__ring_get_n(int32_t *out, size_t n, const ilk__ring *ring,
                           const void *key, size_t len, ilk_error *err)
{
    unsigned char *seen;
    size_t at, found = 0;

    if (check_not_empty(ring, err) != ILK_OK)
        return ILK_EINVAL;
    if (n < 1 || n > ring->placed)
        return ilk__fail(err, ILK_EINVAL,
                         "n must be 1 to %zu, the nodes of the ring, got %zu",
                         ring->placed, n);
    seen = ilk__calloc(ring->count, 1);
    if (!seen)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the nodes of a key");
    at = first_point(ring, key, len);
    while (found < n) {
        uint32_t node = ring->points[at].node;

        if (!seen[node])
            out[found++] = (int32_t)node;
        seen[node] = 1;
        at = at + 1 < ring->point_count ? at + 1 : 0;
    }
    ilk__free(seen);
    return ILK_OK;
}

/* Sum up the loads of the nodes that have points, and their weights. */
static ilk_status sum_up(const ilk__ring *ring, const int64_t *loads,
                         double *out_load, double *out_weight, ilk_error *err)
{
    *out_load = *out_weight = 0;
    for (size_t i = 0; i < ring->count; i++) {
        if (loads[i] < 0)
            return ilk__fail(err, ILK_EINVAL,
                             "a load must be 0 or more, got %lld",
                             (long long)loads[i]);
        if (ring->nodes[i].points == 0)
            continue;
        *out_load += (double)loads[i];
        *out_weight += (double)ring->nodes[i].weight;
    }
    return ILK_OK;
}

/*
 * A node has room while its load is below its bound: with the key it is then at
 * most the bound rounded up. The sum of the bounds is at least all loads plus
 * the key, so one node has room. Only with loads that a double cannot represent
 * may rounding leave no node with room; then the key stays with its own node.
 */
ilk_status ilk__ring_get_bounded(int32_t *out, const ilk__ring *ring,
                                 const void *key, size_t len,
                                 const int64_t *loads, double factor,
                                 ilk_error *err)
{
    double load, weight;
    size_t first;
    ilk_status st = check_not_empty(ring, err);

    if (st != ILK_OK)
        return st;
    if (!(factor >= 1) || !isfinite(factor))
        return ilk__fail(err, ILK_EINVAL,
                         "factor must be 1 or more, and finite, got %g",
                         factor);
    if ((st = sum_up(ring, loads, &load, &weight, err)) != ILK_OK)
        return st;
    first = first_point(ring, key, len);
    *out = (int32_t)ring->points[first].node;
    for (size_t i = 0; i < ring->point_count; i++) {
        size_t at = first + i;
        uint32_t node =
            ring->points[at < ring->point_count ? at : at - ring->point_count]
                .node;
        double bound = factor * (load + 1) * (double)ring->nodes[node].weight;

        if ((double)loads[node] < bound / weight) {
            *out = (int32_t)node;
            break;
        }
    }
    return ILK_OK;
}

/* ---- copies ------------------------------------------------------------- */

static int copy_names(ilk__ring_node *out, const ilk__ring_node *nodes,
                      size_t count)
{
    int copied = 1;

    for (size_t i = 0; i < count; i++) {
        out[i] = nodes[i];
        out[i].name = ilk__memdup(nodes[i].name, nodes[i].len);
        copied &= out[i].name != NULL;
    }
    return copied;
}

ilk_status ilk__ring_copy(ilk__ring *out, const ilk__ring *ring, ilk_error *err)
{
    *out = *ring;
    out->nodes = NULL;
    out->points = NULL;
    out->index.starts = NULL;
    if (ring->count == 0)
        return ILK_OK;
    out->points =
        ilk__memdup(ring->points, ring->point_count * sizeof *out->points);
    out->index.starts =
        ilk__memdup(ring->index.starts,
                    buckets_of(&ring->index) * sizeof *out->index.starts);
    out->nodes = ilk__calloc(ring->count, sizeof *out->nodes);
    if (!out->nodes)
        out->count = 0; /* no names to free */
    if (out->nodes && copy_names(out->nodes, ring->nodes, ring->count)
        && out->points && out->index.starts)
        return ILK_OK;
    ilk__ring_free(out);
    return ilk__fail(err, ILK_ENOMEM, "no memory for the ring");
}

void ilk__ring_free(ilk__ring *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        ilk__free(ring->nodes[i].name);
    free_arrays(ring);
    memset(ring, 0, sizeof *ring);
}
