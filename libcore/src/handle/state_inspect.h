/* SPDX-License-Identifier: MIT */
/*
 * state_inspect.h -- reading the numbers of a latch or a barrier, by handle or
 * by name: `now`, the current count, and `agreed`, the number that its users
 * agreed on.
 */
#ifndef ILK__STATE_INSPECT_H
#define ILK__STATE_INSPECT_H

#include "state.h"

/* Describes a primitive that can be inspected. */
typedef struct ilk__state_inspect_kind {
    const char *noun;
    const ilk__op_type *asks; /* its subject is an ilk__state_inspection */
    /* Opens a handle that accepts whatever number the server has. */
    ilk_status (*open)(ilk__state **out, ilk_client *client, const void *name,
                       size_t name_len, ilk_error *err);
} ilk__state_inspect_kind;

typedef struct ilk__state_inspection {
    ilk__state_request of; /* first */
    const ilk__state_inspect_kind *kind;
    const void *name; /* borrowed from the caller until it begins */
    size_t name_len;
    int64_t now, agreed; /* from the reply */
} ilk__state_inspection;

/* By handle: the current number. */
ilk_status ilk__state_count(int64_t *out_now,
                            const ilk__state_inspect_kind *kind,
                            ilk__state *state, ilk_error *err);
ilk_status ilk__state_count_start(ilk_op **out,
                                  const ilk__state_inspect_kind *kind,
                                  ilk__state *state, ilk_error *err);

/* By name: both numbers. They are untouched on failure. */
ilk_status ilk__state_inspect(int64_t *out_agreed, int64_t *out_now,
                              const ilk__state_inspect_kind *kind,
                              ilk_client *client, const void *name,
                              size_t name_len, ilk_error *err);
ilk_status ilk__state_inspect_start(ilk_op **out,
                                    const ilk__state_inspect_kind *kind,
                                    ilk_client *client, const void *name,
                                    size_t name_len, ilk_error *err);
/* The result of a started ilk__state_inspect() of this kind; NULL: there is
   none. */
const ilk__state_inspection *ilk__state_found(
    ilk_op *op, const ilk__state_inspect_kind *kind);

#endif
