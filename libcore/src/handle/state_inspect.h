/* SPDX-License-Identifier: MIT */
/*
 * state_inspect.h -- how a latch or a barrier stands: two numbers, of which one
 * was agreed upon, asked by a handle or by name.
 */
#ifndef ILK__STATE_INSPECT_H
#define ILK__STATE_INSPECT_H

#include "state_wait.h"

/* What a primitive tells about it. */
typedef struct ilk__state_inspect_kind {
    const char *noun;
    const ilk__op_type *asks; /* its subject is an ilk__state_inspection */
    /* A handle that takes whatever number is on record. */
    ilk_status (*open)(ilk__state **out, ilk_client *client, const void *name,
                       size_t name_len, ilk_error *err);
} ilk__state_inspect_kind;

typedef struct ilk__state_inspection {
    ilk__state_request of; /* first */
    const ilk__state_inspect_kind *kind;
    const void *name; /* the caller's, until it has begun */
    size_t name_len;
    int64_t now, agreed; /* the answer */
} ilk__state_inspection;

/* By a handle: the number as it is now. */
ilk_status ilk__state_count(int64_t *out_now,
                            const ilk__state_inspect_kind *kind,
                            ilk__state *state, ilk_error *err);
ilk_status ilk__state_count_start(ilk_op **out,
                                  const ilk__state_inspect_kind *kind,
                                  ilk__state *state, ilk_error *err);

/* By name: both, which are untouched when it fails. */
ilk_status ilk__state_inspect(int64_t *out_agreed, int64_t *out_now,
                              const ilk__state_inspect_kind *kind,
                              ilk_client *client, const void *name,
                              size_t name_len, ilk_error *err);
ilk_status ilk__state_inspect_start(ilk_op **out,
                                    const ilk__state_inspect_kind *kind,
                                    ilk_client *client, const void *name,
                                    size_t name_len, ilk_error *err);
/* What an operation of that kind has found by name; NULL: nothing. */
const ilk__state_inspection *ilk__state_found(
    ilk_op *op, const ilk__state_inspect_kind *kind);

#endif
