/* SPDX-License-Identifier: MIT */
/* inspect.h -- looking at a name: who holds the thing, who waits for it. */
#ifndef ILK__INSPECT_H
#define ILK__INSPECT_H

#include "client/loop.h"
#include "info.h"

enum { ILK__INSPECT_KEYS = 5 }; /* no primitive asks with more */

/* Subject of inspecting operations. */
typedef struct ilk__inspection {
    ilk__bytes keys[ILK__INSPECT_KEYS]; /* the caller's */
    ilk_info *info; /* found; to be freed, whatever came out */
} ilk__inspection;

/* What a primitive inspects, and its question. */
typedef struct ilk__inspect_kind {
    const char *const *key_kinds;
    size_t key_count;
    const ilk__op_type *inspect;
} ilk__inspect_kind;

/* The request, run or started. */
ilk_status ilk__inspect(ilk_info **out, ilk_client *client,
                        const ilk__inspect_kind *kind, const void *name,
                        size_t name_len, ilk_error *err);
ilk_status ilk__inspect_start(ilk_op **out, ilk_client *client,
                              const ilk__inspect_kind *kind, const void *name,
                              size_t name_len, ilk_error *err);

#endif
