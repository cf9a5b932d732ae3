/* SPDX-License-Identifier: MIT */
/* ring.c -- the public face of hash rings: checked arguments, options. */
#include "base/alloc.h"
#include "base/hash_ring.h"
#include "base/opts.h"

#include <interlock/ring.h>

#include <string.h>

struct ilk_ring {
    ilk__ring ring;
};

/* ---- making ------------------------------------------------------------- */

void ilk_ring_opts_init(ilk_ring_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_ring_opts *out, const ilk_ring_opts *in,
                             ilk_error *err)
{
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_ring_opts", err);

    if (st != ILK_OK)
        return st;
    if (out->layout != ILK_RING_KETAMA && out->layout != ILK_RING_TOOZ)
        return ilk__fail(err, ILK_EINVAL,
                         "layout must be an ilk_ring_layout, got %d",
                         (int)out->layout);
    if (out->flags & ~(uint32_t)ILK_RING_SHARES)
        return ilk__fail(err, ILK_EINVAL, "flags has unknown bits: 0x%x",
                         (unsigned)out->flags);
    if (out->flags & ILK_RING_SHARES && out->layout != ILK_RING_KETAMA)
        return ilk__fail(err, ILK_EINVAL,
                         "ILK_RING_SHARES needs the layout ILK_RING_KETAMA");
    return ILK_OK;
}

static ilk_ring *make(ilk_error *err)
{
    ilk_ring *ring = ilk__calloc(1, sizeof *ring);

    if (!ring)
        (void)ilk__fail(err, ILK_ENOMEM, "no memory for the ring");
    return ring;
}

ilk_status ilk_ring_new(ilk_ring **out, const ilk_ring_opts *opts,
                        ilk_error *err)
{
    ilk_ring_opts checked;
    ilk_ring *ring;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    ilk__error_clear(err);
    if ((st = check_opts(&checked, opts, err)) != ILK_OK)
        return st;
    if ((ring = make(err)) == NULL)
        return ILK_ENOMEM;
    ring->ring.tooz = checked.layout == ILK_RING_TOOZ;
    ring->ring.shares = (checked.flags & ILK_RING_SHARES) != 0;
    *out = ring;
    return ILK_OK;
}

ilk_status ilk_ring_copy(ilk_ring **out, const ilk_ring *ring, ilk_error *err)
{
    ilk_ring *copy;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    ilk__error_clear(err);
    if (!ring)
        return ilk__fail(err, ILK_EINVAL, "ring must not be NULL");
    if ((copy = make(err)) == NULL)
        return ILK_ENOMEM;
    st = ilk__ring_copy(&copy->ring, &ring->ring, err);
    if (st == ILK_OK)
        *out = copy;
    else
        ilk__free(copy);
    return st;
}

void ilk_ring_free(ilk_ring *ring)
{
    if (!ring)
        return;
    ilk__ring_free(&ring->ring);
    ilk__free(ring);
}

/* ---- changes ------------------------------------------------------------ */

ilk_status ilk_ring_add_many(ilk_ring *ring, const void *const *names,
                             const size_t *name_lens, size_t count,
                             const int64_t *weights, ilk_error *err)
{
    ilk__error_clear(err);
    if (!ring)
        return ilk__fail(err, ILK_EINVAL, "ring must not be NULL");
    if (count > 0 && (!names || !name_lens))
        return ilk__fail(err, ILK_EINVAL, "names must not be NULL");
    return ilk__ring_add(&ring->ring, names, name_lens, count, weights, err);
}

ilk_status ilk_ring_add(ilk_ring *ring, const void *node, size_t node_len,
                        int64_t weight, ilk_error *err)
{
    return ilk_ring_add_many(ring, &node, &node_len, 1, &weight, err);
}

ilk_status ilk_ring_remove(ilk_ring *ring, const void *node, size_t node_len,
                           ilk_error *err)
{
    ilk__error_clear(err);
    if (!ring)
        return ilk__fail(err, ILK_EINVAL, "ring must not be NULL");
    return ilk__ring_remove(&ring->ring, node, node_len, err);
}

ilk_status ilk_ring_set_weight(ilk_ring *ring, const void *node,
                               size_t node_len, int64_t weight, ilk_error *err)
{
    ilk__error_clear(err);
    if (!ring)
        return ilk__fail(err, ILK_EINVAL, "ring must not be NULL");
    return ilk__ring_set_weight(&ring->ring, node, node_len, weight, err);
}

/* ---- the nodes ---------------------------------------------------------- */

size_t ilk_ring_count(const ilk_ring *ring)
{
    return ring ? ring->ring.count : 0;
}

static const ilk__ring_node *node_at(const ilk_ring *ring, int32_t index)
{
    if (!ring || index < 0 || (size_t)index >= ring->ring.count)
        return NULL;
    return &ring->ring.nodes[index];
}

const char *ilk_ring_node(const ilk_ring *ring, int32_t index, size_t *out_len)
{
    const ilk__ring_node *node = node_at(ring, index);

    if (out_len)
        *out_len = node ? node->len : 0;
    return node ? node->name : NULL;
}

int64_t ilk_ring_weight(const ilk_ring *ring, int32_t index)
{
    const ilk__ring_node *node = node_at(ring, index);

    return node ? node->weight : 0;
}

/* ---- the nodes of a key ------------------------------------------------- */

int32_t ilk_ring_get(const ilk_ring *ring, const void *key, size_t key_len)
{
    int32_t node = -1;

    if (ring && (key || key_len == 0))
        node = ilk__ring_get(&ring->ring, key, key_len);
    return node < 0 ? ILK_EINVAL : node;
}

static ilk_status check_query(const void *out, const ilk_ring *ring,
                              const void *key, size_t key_len, ilk_error *err)
{
    ilk__error_clear(err);
    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    if (!ring)
        return ilk__fail(err, ILK_EINVAL, "ring must not be NULL");
    if (!key && key_len > 0)
        return ilk__fail(err, ILK_EINVAL, "key must not be NULL");
    return ILK_OK;
}

ilk_status ilk_ring_get_n(int32_t *out_indexes, size_t n, const ilk_ring *ring,
                          const void *key, size_t key_len, ilk_error *err)
{
    ilk_status st = check_query(out_indexes, ring, key, key_len, err);

    if (st != ILK_OK)
        return st;
    return ilk__ring_get_n(out_indexes, n, &ring->ring, key, key_len, err);
}

ilk_status ilk_ring_get_bounded(int32_t *out_index, const ilk_ring *ring,
                                const void *key, size_t key_len,
                                const int64_t *loads, size_t load_count,
                                double factor, ilk_error *err)
{
    ilk_status st = check_query(out_index, ring, key, key_len, err);

    if (st != ILK_OK)
        return st;
    if (load_count != ring->ring.count || (!loads && load_count > 0))
        return ilk__fail(err, ILK_EINVAL,
                         "load_count must be %zu, the nodes of the ring, got "
                         "%zu",
                         ring->ring.count, loads ? load_count : 0);
    return ilk__ring_get_bounded(out_index, &ring->ring, key, key_len, loads,
                                 factor, err);
}
