/* SPDX-License-Identifier: MIT */
/* info.h -- ilk_info: who holds a name and who waits for it. Each primitive's
   inspect operation fills it in. */
#ifndef ILK__INFO_H
#define ILK__INFO_H

#include "op/op.h"

#include <interlock/inspect.h>

enum { ILK__LISTED_MAX = 100 };

/* One holder or waiter. */
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

/* Read the reply's elements after `at` as entries of the wait queue. 0: out of
   memory, or an element is not a string. */
int ilk__info_list(ilk_info *info, const ilk__reply *reply, size_t at);

void ilk__info_dispose(void *info); /* ilk_info_free() */

#endif
