/* SPDX-License-Identifier: MIT */
/*
 * change_history.h -- the last changes of a register, kept with its value, so that a
 * repeated change finds what its first copy did.
 *
 * A history is a text of entries of equal length, the newest first:
 *
 *     5b0c..e2 0001732612345678   32 digits for the change's token, then its version
 *
 * It is for stores that cannot remember a token for some time by themselves.
 */
#ifndef ILK__CHANGE_HISTORY_H
#define ILK__CHANGE_HISTORY_H

#include "base/buf.h"
#include "net/url_text.h"

#include <stdint.h>

enum {
    ILK__CHANGE_ID = 32,
    ILK__CHANGE_VERSION = 16, /* digits; a version is below 2^53 */
    ILK__CHANGE_ENTRY = ILK__CHANGE_ID + ILK__CHANGE_VERSION,
    ILK__CHANGES_MOST = 64 /* where the store sets no limit */
};

/* The digits for a token, with a NUL. */
void ilk__change_id(char out[ILK__CHANGE_ID + 1], ilk__span token);
/* Append the history that has this change in front, of `most` at most. ILK_ENOMEM. */
ilk_status ilk__changes_add(ilk__buf *out, const char *id, int64_t version,
                            ilk__span history, size_t most);
/* Whether it is a history, of `most` changes at most. */
int ilk__changes_are_valid(ilk__span history, size_t most);
/* The version of that change, or 0: the history does not have it. */
int64_t ilk__changes_find(ilk__span history, const char *id);
/* The oldest version that it has, when it is full with `most` changes: earlier ones are
 * forgotten. 0: it has all changes. */
int64_t ilk__changes_oldest(ilk__span history, size_t most);

#endif
