/* SPDX-License-Identifier: MIT */
/* url_text.h -- splits and decodes the text of a URL. */
#ifndef ILK__URL_TEXT_H
#define ILK__URL_TEXT_H

#include "base/error.h"

typedef struct ilk__span {
    const char *at;
    size_t len;
} ilk__span;

/*
 * Returns the part of *s before the first `stop`, or all of it. *s becomes the
 * part after that, or empty. out_found may be NULL.
 */
ilk__span ilk__text_cut(ilk__span *s, char stop, int *out_found);

int ilk__text_equals(ilk__span s, const char *text);

/* The value of a text of digits; -1 for any other text or above max. */
int64_t ilk__text_number(ilk__span s, int64_t max);

/* The milliseconds of "250ms", "2s", "1m" or "0"; -1 for any other text or above
 * max. */
int64_t ilk__text_duration(ilk__span s, int64_t max);

/*
 * Make a copy with %xx decoded; the caller frees it, also after a failure.
 * ILK_EINVAL, ILK_ENOMEM. The message contains `what`, but never the text.
 */
ilk_status ilk__text_decode(char **out, ilk__span s, const char *what,
                            ilk_error *err);

#endif
