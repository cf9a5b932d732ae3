/* SPDX-License-Identifier: MIT */
/* table.h -- a hash table of nodes that others embed, found by their bytes. */
#ifndef ILK__TABLE_H
#define ILK__TABLE_H

#include "error.h"

typedef struct ilk__node ilk__node;
struct ilk__node {
    ilk__node *next;
    const void *key; /* borrowed from whatever embeds the node */
    size_t key_len;
    uint64_t hash;
};

typedef struct ilk__table {
    ilk__node **buckets;
    size_t bucket_count, count;
} ilk__table;

/* ILK_ENOMEM only when there is no bucket at all yet. */
ilk_status ilk__table_add(ilk__table *table, ilk__node *node, const void *key,
                          size_t key_len);
ilk__node *ilk__table_find(const ilk__table *table, const void *key,
                           size_t key_len);
void ilk__table_remove(ilk__table *table, ilk__node *node);

/* The first node of the bucket at or behind *cursor; begin with 0. */
ilk__node *ilk__table_bucket(const ilk__table *table, size_t *cursor);
void ilk__table_free(ilk__table *table);

#endif
