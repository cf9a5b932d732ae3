/* SPDX-License-Identifier: MIT */
/* latch.h -- the latch's handle. */
#ifndef ILK__LATCH_H
#define ILK__LATCH_H

#include "handle/state.h"

#include <interlock/latch.h>

struct ilk_latch {
    ilk__state state;
    ilk_latch_opts opts;
    int64_t count;
};

extern const ilk__state_kind ilk__latch_kind;

#endif
