/* SPDX-License-Identifier: MIT */
/*
 * queue_keys.h -- the queue keys: one queue's name, keys and order. Handles and
 * batches share them by reference count, because a batch may outlive the handle
 * that reserved it.
 */
#ifndef ILK__QUEUE_KEYS_H
#define ILK__QUEUE_KEYS_H

#include "redis/keys.h"

#include <stdatomic.h>

/* As in scripts/include/queue_keys.lua. */
enum {
    ILK__QUEUE_KEY_META,
    ILK__QUEUE_KEY_READY,
    ILK__QUEUE_KEY_WAIT,
    ILK__QUEUE_KEY_LIVE,
    ILK__QUEUE_KEY_DELAYED,
    ILK__QUEUE_KEY_LEASES,
    ILK__QUEUE_KEY_FLIGHT,
    ILK__QUEUE_KEY_DEAD,
    ILK__QUEUE_KEY_DIED,
    ILK__QUEUE_KEYS
};

typedef struct ilk__queue_keys {
    _Atomic int32_t refs;
    ilk__bytes name;
    ilk__bytes keys[ILK__QUEUE_KEYS];
    const char *order; /* "fifo" or "filo", as in the scripts */
    int64_t most;      /* attempts before a message is dead; 0: no limit */
} ilk__queue_keys;

ilk_status ilk__queue_keys_new(ilk__queue_keys **out, const void *name,
                               size_t len, ilk_error *err);
ilk__queue_keys *ilk__queue_keys_ref(ilk__queue_keys *queue_keys);
void ilk__queue_keys_unref(ilk__queue_keys *queue_keys); /* NULL is fine */

/* The key under which the server remembers a request id; data is to be
 * freed. */
ilk_status ilk__queue_once_key(ilk__bytes *out,
                               const ilk__queue_keys *queue_keys,
                               const void *id, size_t len, ilk_error *err);

#endif
