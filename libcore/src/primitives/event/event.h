/* SPDX-License-Identifier: MIT */
/* event.h -- the event's handle. */
#ifndef ILK__EVENT_H
#define ILK__EVENT_H

#include "handle/state.h"

#include <interlock/event.h>

struct ilk_event {
    ilk__state state;
    ilk_event_opts opts;
    int64_t known; /* of the current wait: a generation, or WAITS_FOR_SET */
    int64_t
        since; /* and by which generation it was in the queue; -1: not yet */

    /* from the last reply */
    int64_t generation;
    int is_set;
    char *data; /* NULL: none */
    size_t data_len;
};

extern const ilk__state_kind ilk__event_kind;

#endif
