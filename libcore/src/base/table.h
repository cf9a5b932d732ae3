/* SPDX-License-Identifier: MIT */
/* table.h -- a hash table whose nodes are embedded in the caller's structs. */
#ifndef ILK__TABLE_H
#define ILK__TABLE_H

#include "error.h"

typedef struct ilk__node ilk__node;
struct ilk__node {
    ilk__node *next;
    const void *key; /* borrowed from the struct that embeds the node */
    size_t key_len;
    uint64_t hash;
};

typedef struct ilk__table {
    ilk__node **buckets;
    size_t bucket_count, count;
} ilk__table;

/* ILK_ENOMEM only while the table has no buckets at all. */
ilk_status ilk__table_add(ilk__table *table, ilk__node *node, const void *key,
                          size_t key_len);
ilk__node *ilk__table_find(const ilk__table *table, const void *key,
                           size_t key_len);
void ilk__table_remove(ilk__table *table, ilk__node *node);

/* The first node of the next bucket that is not empty, from *cursor on; the
 * caller begins with *cursor 0. NULL: no more. */
ilk__node *ilk__table_bucket(const ilk__table *table, size_t *cursor);
void ilk__table_free(ilk__table *table);

#endif
