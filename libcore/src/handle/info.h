/* SPDX-License-Identifier: MIT */
/* info.h -- a finding: who holds a thing, who waits; made by each primitive. */
#ifndef ILK__INFO_H
#define ILK__INFO_H

#include "op/op.h"

#include <interlock/inspect.h>

enum { ILK__LISTED_MAX = 100 };

/* One who holds or waits. */
typedef struct ilk__info_entry {
    char *label, *token;
    int64_t permits, fence, since_ms, ttl_ms;
} ilk__info_entry;

struct ilk_info {
    ilk_info_state state;
    char *holder, *label;
    size_t holder_len;
    int64_t since_ms, ttl_ms, fence, readers, waiters;
    int64_t limit, used, holders;
    ilk__info_entry waiting[ILK__LISTED_MAX], holding[ILK__LISTED_MAX];
    size_t waiting_count, holding_count;
};

/* The entries of those who wait, behind the answer's elements up to `at`;
   0 without memory or when one is no text. */
int ilk__info_list(ilk_info *info, const ilk__reply *reply, size_t at);

void ilk__info_dispose(void *info); /* ilk_info_free() */

#endif
