/* SPDX-License-Identifier: MIT */
/* opts.h -- the one rule by which structs with a size grow. */
#ifndef ILK__OPTS_H
#define ILK__OPTS_H

#include "error.h"

/*
 * Copy the caller's options into ours. in may be NULL (all defaults, that is
 * zero). A smaller caller's missing tail is zero; a larger caller whose tail
 * is not zero is refused with ILK_EINVAL, as is a size below sizeof(size_t).
 * Both structs begin with `size_t size`; out->size becomes size.
 */
ilk_status ilk__opts_copy(void *out, size_t size, const void *in,
                          const char *what, ilk_error *err);

/*
 * The other direction, for structs that we fill: copy as much of ours as the
 * caller's size has room for and zero what the caller knows beyond ours.
 * out->size is the caller's and stays.
 */
ilk_status ilk__opts_fill(void *out, const void *ours, size_t size,
                          const char *what, ilk_error *err);

#endif
