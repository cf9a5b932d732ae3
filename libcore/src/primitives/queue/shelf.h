/* SPDX-License-Identifier: MIT */
/*
 * shelf.h -- one queue as its handles and its messages know it: name, keys,
 * order. Counted, because a message may outlive the handle it came by.
 */
#ifndef ILK__SHELF_H
#define ILK__SHELF_H

#include "redis/keys.h"

#include <stdatomic.h>

/* As in scripts/include/shelf.lua. */
enum {
    ILK__SHELF_META,
    ILK__SHELF_READY,
    ILK__SHELF_WAIT,
    ILK__SHELF_LIVE,
    ILK__SHELF_DELAYED,
    ILK__SHELF_LEASES,
    ILK__SHELF_FLIGHT,
    ILK__SHELF_DEAD,
    ILK__SHELF_DIED,
    ILK__SHELF_KEYS
};

typedef struct ilk__shelf {
    _Atomic int32_t refs;
    ilk__bytes name;
    ilk__bytes keys[ILK__SHELF_KEYS];
    const char *order; /* as the scripts call it */
    int64_t most;      /* attempts; 0: no end */
} ilk__shelf;

ilk_status ilk__shelf_new(ilk__shelf **out, const void *name, size_t len,
                          ilk_error *err);
ilk__shelf *ilk__shelf_ref(ilk__shelf *shelf);
void ilk__shelf_unref(ilk__shelf *shelf); /* NULL is fine */

/* The key of a request id in this queue. */
ilk_status ilk__shelf_once_key(ilk__bytes *out, const ilk__shelf *shelf,
                               const void *id, size_t len, ilk_error *err);

#endif
