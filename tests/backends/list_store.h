/* SPDX-License-Identifier: MIT */
/*
 * list_store.h -- a backend over contention.h and name_queue.h, whose store is lists
 * of numbered entries in this process.
 *
 *     list://[?late=%][&fail=%][&lose=%][&seed=n]
 *
 * All clients of the process share the lists. The shares are of operations:
 *
 *     late    reported up to LIST_LATE_MS later
 *     fail    not executed, and reported as failed
 *     lose    executed, and reported as failed
 */
#ifndef ILK__LIST_STORE_H
#define ILK__LIST_STORE_H

#include "gateway/gateway.h"

enum { LIST_LATE_MS = 20 };

extern const ilk__backend list_backend;

/* Forget all lists; no client may be open. */
void list_store_reset(void);
/* Times at which two entries held that exclude each other. */
long list_store_overlaps(void);

#endif
