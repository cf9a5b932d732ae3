/* SPDX-License-Identifier: MIT */
/* error.h -- statuses and the caller's error text. */
#ifndef ILK__ERROR_H
#define ILK__ERROR_H

#include <interlock/base.h>

/*
 * Fill err (which may be NULL) and return status, so that a caller writes
 * `return ilk__fail(err, ILK_EINVAL, "ttl_ms must be positive, got %d", n)`.
 * The text is cut at ILK_ERROR_MAX; control bytes become '?'. Allocates
 * nothing.
 */
ilk_status ilk__fail(ilk_error *err, ilk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reset err (which may be NULL) before it is passed to other functions. */
void ilk__error_clear(ilk_error *err);

#endif
