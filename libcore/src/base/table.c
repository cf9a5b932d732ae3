/* SPDX-License-Identifier: MIT */
/* table.c -- a hash table with chains; it doubles when it is full. */
#include "table.h"

#include "alloc.h"
#include "hash.h"

#include <string.h>

/* Needs no secret seed: all keys come from our own process. */
static uint64_t hash_of(const void *key, size_t len)
{
    return ilk__hash(ILK__HASH_START, key, len);
}

static ilk__node **bucket_of(const ilk__table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->bucket_count - 1)];
}

/* Double the buckets. Without memory the table stays as it is, with longer
 * chains. */
static void grow(ilk__table *table)
{
    size_t old_count = table->bucket_count;
    ilk__node **old = table->buckets;
    size_t count = old_count ? old_count * 2 : 16;
    ilk__node **buckets = ilk__calloc(count, sizeof *buckets);

    if (!buckets)
        return;
    table->buckets = buckets;
    table->bucket_count = count;
    for (size_t i = 0; i < old_count; i++)
        for (ilk__node *node = old[i], *next; node; node = next) {
            next = node->next;
            node->next = *bucket_of(table, node->hash);
            *bucket_of(table, node->hash) = node;
        }
    ilk__free(old);
}

ilk_status ilk__table_add(ilk__table *table, ilk__node *node, const void *key,
                          size_t key_len)
{
    if (table->count >= table->bucket_count)
        grow(table);
    if (!table->buckets)
        return ILK_ENOMEM;
    node->key = key;
    node->key_len = key_len;
    node->hash = hash_of(key, key_len);
    node->next = *bucket_of(table, node->hash);
    *bucket_of(table, node->hash) = node;
    table->count++;
    return ILK_OK;
}

ilk__node *ilk__table_find(const ilk__table *table, const void *key,
                           size_t key_len)
{
    uint64_t hash = hash_of(key, key_len);
    ilk__node *node = table->buckets ? *bucket_of(table, hash) : NULL;

    while (node
           && (node->hash != hash || node->key_len != key_len
               || memcmp(node->key, key, key_len) != 0))
        node = node->next;
    return node;
}

void ilk__table_remove(ilk__table *table, ilk__node *node)
{
    ilk__node **link = bucket_of(table, node->hash);

    while (*link != node)
        link = &(*link)->next;
    *link = node->next;
    table->count--;
}

ilk__node *ilk__table_bucket(const ilk__table *table, size_t *cursor)
{
    while (*cursor < table->bucket_count)
        if (table->buckets[(*cursor)++])
            return table->buckets[*cursor - 1];
    return NULL;
}

void ilk__table_free(ilk__table *table)
{
    ilk__free(table->buckets);
    memset(table, 0, sizeof *table);
}
