/* SPDX-License-Identifier: MIT */
/* url_text.h -- cutting and decoding the text of a URL. */
#ifndef ILK__URL_TEXT_H
#define ILK__URL_TEXT_H

#include "base/error.h"

typedef struct ilk__span {
    const char *at;
    size_t len;
} ilk__span;

/*
 * The part of s before the first stop; s becomes what follows it, or its
 * empty end. out_found may be NULL.
 */
ilk__span ilk__text_cut(ilk__span *s, char stop, int *out_found);

int ilk__text_equals(ilk__span s, const char *text);

/* Digits only, at most max; -1 for anything else. */
int64_t ilk__text_number(ilk__span s, int64_t max);

/*
 * A copy with %xx decoded, to be freed also when decoding fails. ILK_EINVAL,
 * ILK_ENOMEM. `what` is named in the message, the text itself never shown.
 */
ilk_status ilk__text_decode(char **out, ilk__span s, const char *what,
                            ilk_error *err);

#endif
