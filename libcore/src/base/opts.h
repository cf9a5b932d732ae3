/* SPDX-License-Identifier: MIT */
/* opts.h -- copies structs that begin with their size, across versions. */
#ifndef ILK__OPTS_H
#define ILK__OPTS_H

#include "error.h"

/*
 * Copy the caller's options `in` into ours. Both structs begin with `size_t
 * size`; out->size becomes size. NULL means all defaults, which are zero. If
 * the caller's struct is shorter, the rest of ours becomes zero. ILK_EINVAL if
 * it is longer and the bytes that we do not know are not all zero, or if its
 * size is below sizeof(size_t).
 */
ilk_status ilk__opts_copy(void *out, size_t size, const void *in,
                          const char *what, ilk_error *err);

/*
 * The other direction, for structs that we fill: copy as much of ours as fits
 * into the caller's struct, and zero the rest of it. out->size is set by the
 * caller and stays.
 */
ilk_status ilk__opts_fill(void *out, const void *ours, size_t size,
                          const char *what, ilk_error *err);

#endif
