/* SPDX-License-Identifier: MIT */
/* change_history.c -- entries of a history, and their search. */
#include "change_history.h"

#include "base/siphash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ilk__change_id(char out[ILK__CHANGE_ID + 1], ilk__span token)
{
    static const unsigned char first[ILK__SIPHASH_KEY] = "changes, 1 of 2",
                               second[ILK__SIPHASH_KEY] = "changes, 2 of 2";

    snprintf(out, ILK__CHANGE_ID + 1, "%016" PRIx64 "%016" PRIx64,
             ilk__siphash(first, token.at, token.len),
             ilk__siphash(second, token.at, token.len));
}

ilk_status ilk__changes_add(ilk__buf *out, const char *id, int64_t version,
                            ilk__span history, size_t most)
{
    const size_t kept = (most - 1) * ILK__CHANGE_ENTRY;
    char digits[ILK__CHANGE_VERSION + 1];
    ilk_status st;

    snprintf(digits, sizeof digits, "%0*" PRId64, ILK__CHANGE_VERSION, version);
    st = ilk__buf_add(out, id, ILK__CHANGE_ID);
    if (st == ILK_OK)
        st = ilk__buf_add(out, digits, ILK__CHANGE_VERSION);
    if (st == ILK_OK)
        st = ilk__buf_add(out, history.at,
                          history.len < kept ? history.len : kept);
    return st;
}

/* -1: it is no number. */
static int64_t version_at(ilk__span history, size_t entry)
{
    return ilk__text_number(
        (ilk__span){history.at + entry + ILK__CHANGE_ID, ILK__CHANGE_VERSION},
        INT64_MAX);
}

int ilk__changes_are_valid(ilk__span history, size_t most)
{
    if (history.len % ILK__CHANGE_ENTRY
        || history.len > most * ILK__CHANGE_ENTRY)
        return 0;
    for (size_t at = 0; at < history.len; at += ILK__CHANGE_ENTRY)
        if (version_at(history, at) < 1)
            return 0;
    return 1;
}

int64_t ilk__changes_find(ilk__span history, const char *id)
{
    for (size_t at = 0; at < history.len; at += ILK__CHANGE_ENTRY)
        if (memcmp(history.at + at, id, ILK__CHANGE_ID) == 0)
            return version_at(history, at);
    return 0;
}

int64_t ilk__changes_oldest(ilk__span history, size_t most)
{
    const size_t full = most * ILK__CHANGE_ENTRY;

    return history.len < full ? 0
                              : version_at(history, full - ILK__CHANGE_ENTRY);
}
