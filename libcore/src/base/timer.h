/* SPDX-License-Identifier: MIT */
/* timer.h -- a binary heap of timers, embedded in the caller's structs. */
#ifndef ILK__TIMER_H
#define ILK__TIMER_H

#include "error.h"

typedef struct ilk__timer ilk__timer;
struct ilk__timer {
    int64_t due;
    size_t slot; /* index in the heap plus 1; 0: not set */
    void (*fire)(ilk__timer *timer, void *context);
};

typedef struct ilk__timers {
    ilk__timer **heap;
    size_t count, room, reserved;
} ilk__timers;

/* Reserve room for one more timer, so that setting it cannot fail. */
ilk_status ilk__timers_reserve(ilk__timers *timers, ilk_error *err);
void ilk__timers_unreserve(ilk__timers *timers);

void ilk__timer_set(ilk__timers *timers, ilk__timer *timer, int64_t due);
void ilk__timer_clear(ilk__timers *timers, ilk__timer *timer);

/* Remove and return the first timer if it is due, else NULL. */
ilk__timer *ilk__timers_pop(ilk__timers *timers, int64_t now);
int64_t ilk__timers_next(const ilk__timers *timers); /* or ILK__FOREVER */
void ilk__timers_free(ilk__timers *timers);

#endif
