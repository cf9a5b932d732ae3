/* SPDX-License-Identifier: MIT */
/* embedded_parents.h -- may somebody else replace the directory of a server? */
#ifndef ILK__EMBEDDED_PARENTS_H
#define ILK__EMBEDDED_PARENTS_H

#include "base/error.h"

#include <stddef.h>

/*
 * Write to `out` the directory dir (absolute) with all symbolic links above it
 * resolved, and check each directory above it: whoever may rename an entry
 * there could replace dir, and with it the server. ILK_OK, with out = "", when
 * the parent does not exist. ILK_ESYSTEM.
 */
ilk_status ilk__parents_check(char *out, size_t size, const char *dir,
                              ilk_error *err);

#endif
