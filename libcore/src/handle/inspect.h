/* SPDX-License-Identifier: MIT */
/* inspect.h -- inspecting a name: who holds it, who waits for it. */
#ifndef ILK__INSPECT_H
#define ILK__INSPECT_H

#include "client/loop.h"
#include "info.h"

enum { ILK__INSPECT_KEYS = 9 }; /* the most that a primitive needs */

/* Subject of inspect operations. */
typedef struct ilk__inspection {
    ilk__bytes keys[ILK__INSPECT_KEYS]; /* owned by the caller */
    ilk_info *info; /* owned by the caller, also on failure */
} ilk__inspection;

/* A primitive's keys and its inspect operation. */
typedef struct ilk__inspect_kind {
    const char *const *key_kinds;
    size_t key_count;
    const ilk__op_type *inspect;
} ilk__inspect_kind;

/* Run or start the request. */
ilk_status ilk__inspect(ilk_info **out, ilk_client *client,
                        const ilk__inspect_kind *kind, const void *name,
                        size_t name_len, ilk_error *err);
ilk_status ilk__inspect_start(ilk_op **out, ilk_client *client,
                              const ilk__inspect_kind *kind, const void *name,
                              size_t name_len, ilk_error *err);

#endif
