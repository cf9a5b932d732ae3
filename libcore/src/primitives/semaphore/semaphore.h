/* SPDX-License-Identifier: MIT */
/*
 * semaphore.h -- the semaphore's handle: a hold of some permits. Its acquire
 * has two arguments more than the lock's; see semaphore_kind.c.
 */
#ifndef ILK__SEMAPHORE_H
#define ILK__SEMAPHORE_H

#include "handle/hold.h"
#include "handle/inspect.h"

#include <interlock/semaphore.h>

enum { ILK__SEMAPHORE_KEYS = 4 }; /* permits, fence, wait, live */

extern const char *const ilk__semaphore_key_kinds[ILK__SEMAPHORE_KEYS];
extern const ilk__hold_kind ilk__semaphore_kind;
extern const ilk__inspect_kind ilk__semaphore_inspect_kind;

struct ilk_semaphore {
    ilk__hold hold;
    ilk_semaphore_opts opts;
    int32_t limit;
};

#endif
