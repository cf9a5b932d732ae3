/* SPDX-License-Identifier: MIT */
/* timer.h -- what is due when: a binary heap of nodes that others embed. */
#ifndef ILK__TIMER_H
#define ILK__TIMER_H

#include "error.h"

typedef struct ilk__timer ilk__timer;
struct ilk__timer {
    int64_t due;
    size_t slot; /* place in the heap, counted from 1; 0: not set */
    void (*fire)(ilk__timer *timer, void *context);
};

typedef struct ilk__timers {
    ilk__timer **heap;
    size_t count, room, reserved;
} ilk__timers;

/* Room for one timer more, so that setting it cannot fail. */
ilk_status ilk__timers_reserve(ilk__timers *timers, ilk_error *err);
void ilk__timers_unreserve(ilk__timers *timers);

void ilk__timer_set(ilk__timers *timers, ilk__timer *timer, int64_t due);
void ilk__timer_clear(ilk__timers *timers, ilk__timer *timer);

/* The first that is due, taken out, or NULL. */
ilk__timer *ilk__timers_pop(ilk__timers *timers, int64_t now);
int64_t ilk__timers_next(const ilk__timers *timers); /* or ILK__FOREVER */
void ilk__timers_free(ilk__timers *timers);

#endif
