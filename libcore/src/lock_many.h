/* SPDX-License-Identifier: MIT */
/* lock_many.h -- the handle of one lock over many names. */
#ifndef ILK__LOCK_MANY_H
#define ILK__LOCK_MANY_H

#include "lock.h"

#include <interlock/lock_many.h>

struct ilk_lock_many {
    ilk_client *client;
    uint32_t era;
    _Atomic int32_t busy;
    _Atomic int32_t cancelled;
    int64_t id;
    int depth;
    ilk_lock_opts opts;
    size_t count;
    ilk_lock **locks; /* in byte order of their names */
    ilk__bytes *keys; /* all of theirs, borrowed */
    ilk__line line;   /* what a release needs */
    ilk__lease lease;
    char token[ILK__TOKEN_LEN + 1];
    size_t taken; /* of an acquire that goes name by name */
    int parked;   /* a signal ended it: taken names and place are kept */
};

/* lock_many_take.c: all the names, or none. The handle is entered. */
ilk_status ilk__lock_many_take(ilk_lock_many *many, int64_t timeout_ms,
                               ilk_error *err);

/* Give back what is taken or held under the token, whatever it is. */
void ilk__lock_many_give_back(ilk_lock_many *many);

#endif
