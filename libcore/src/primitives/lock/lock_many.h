/* SPDX-License-Identifier: MIT */
/* lock_many.h -- the handle of one lock over many names. */
#ifndef ILK__LOCK_MANY_H
#define ILK__LOCK_MANY_H

#include "lock.h"

#include <interlock/lock_many.h>

struct ilk_lock_many {
    ilk__hold hold; /* keys: those of all locks, borrowed; no waiter */
    _Atomic int32_t cancelled;
    size_t count;
    ilk_lock **locks; /* in byte order of their names */
    char token[ILK__TOKEN_LEN + 1];
    size_t acquired; /* locks held so far, when acquired one by one */
    /* from many_acquire, when acquired at once: when the request that was granted
     * was sent, and what it got */
    int64_t began, lease_ms, fence;
    int was_repeated; /* many_acquire was sent more than once */
    /* of a failed acquire, while it gives everything back */
    ilk__release release;
    ilk_status end_status;
};

/* lock_many_acquire.c: acquire all names or none. A signal suspends the wait. */
void ilk__lock_many_acquire(ilk__acquire_request *request);

/* The last step if the hold is not confirmed (min_replicas). */
void ilk__lock_many_unconfirmed(ilk__acquire_request *request,
                                ilk_status status);

/* Give back every name that is held or waited for under the token. */
void ilk__lock_many_give_back(ilk__hold *hold);

#endif
