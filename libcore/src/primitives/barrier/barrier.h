/* SPDX-License-Identifier: MIT */
/* barrier.h -- the barrier's handle. */
#ifndef ILK__BARRIER_H
#define ILK__BARRIER_H

#include "handle/state.h"

#include <interlock/barrier.h>

struct ilk_barrier {
    ilk__state state;
    ilk_barrier_opts opts;
    int64_t parties;
    /* The number that the server gave the last arrival, and the arrival's
     * token. The wait sends it again, so that the script can distinguish a new
     * arrival from one that the server has forgotten. */
    int64_t number;
    char arrived_as[ILK__STATE_TOKEN];
    int64_t index;
};

extern const ilk__state_kind ilk__barrier_kind;

#endif
