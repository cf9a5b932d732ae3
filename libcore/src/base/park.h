/* SPDX-License-Identifier: MIT */
/*
 * park.h -- one thread sleeps, another wakes it, and a signal ends the sleep.
 *
 * A wait on a condition variable goes on after a signal; park() returns
 * ILK_EINTR. unpark() leaves a permit, which the next park() consumes at once,
 * so no wake-up is lost.
 */
#ifndef ILK__PARK_H
#define ILK__PARK_H

#include "error.h"

#include <stdatomic.h>

/* Called by unpark() instead of waking a thread, for waiters without one. */
typedef struct ilk__wake ilk__wake;
struct ilk__wake {
    void (*call)(ilk__wake *wake); /* quick; any mutex may be held */
};

typedef struct ilk__parker {
    _Atomic uint32_t permit;
    int fds[2];      /* a pipe where there is no futex, else -1 */
    ilk__wake *wake; /* called for a new permit; NULL: wake a thread */
} ilk__parker;

/* ILK_ESYSTEM only where a pipe is needed. */
ilk_status ilk__parker_init(ilk__parker *parker, ilk_error *err);
void ilk__parker_destroy(ilk__parker *parker);

/* ILK_OK: woken; ILK_ETIMEOUT: deadline passed; ILK_EINTR: a signal came. */
ilk_status ilk__park(ilk__parker *parker, int64_t deadline);
void ilk__unpark(ilk__parker *parker); /* any thread, signal handlers too */

/* Consume the permit without sleeping; 0 when there was none. */
int ilk__parker_consume(ilk__parker *parker);

#endif
