/* SPDX-License-Identifier: MIT */
/* lock_many.h -- the handle of one lock over many names. */
#ifndef ILK__LOCK_MANY_H
#define ILK__LOCK_MANY_H

#include "lock.h"

#include <interlock/lock_many.h>

struct ilk_lock_many {
    ilk__hold hold; /* keys: all of theirs, borrowed; no waiter */
    _Atomic int32_t cancelled;
    size_t count;
    ilk_lock **locks; /* in byte order of their names */
    char token[ILK__TOKEN_LEN + 1];
    size_t acquired;         /* of an acquire that goes name by name */
    int64_t lease_ms, fence; /* of one that got all at once */
    /* of one that failed, while it is told that all is given back */
    ilk__release release;
    ilk_status end_status;
};

/* lock_many_acquire.c: all the names, or none. A signal leaves it parked. */
void ilk__lock_many_acquire(ilk__acquire_request *request);

/* Give back what is taken or held under the token, whatever it is. */
void ilk__lock_many_give_back(ilk__hold *hold);

#endif
