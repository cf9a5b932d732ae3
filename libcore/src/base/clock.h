/* SPDX-License-Identifier: MIT */
/*
 * clock.h -- local time: milliseconds of a clock that never goes back and
 * counts suspended time where the system has one (CLOCK_BOOTTIME).
 * A deadline is a point on this clock; ILK__FOREVER is no deadline.
 */
#ifndef ILK__CLOCK_H
#define ILK__CLOCK_H

#include <stdint.h>

#define ILK__FOREVER INT64_MAX

int64_t ilk__now_ms(void);

/* now + timeout_ms; a negative timeout is for ever; saturates. */
int64_t ilk__deadline(int64_t timeout_ms);

/* Milliseconds from now to the deadline, 0 when past, capped for poll(). */
int ilk__poll_timeout(int64_t deadline); /* -1 for ILK__FOREVER */

/* The earlier of two deadlines. */
int64_t ilk__sooner(int64_t a, int64_t b);

#endif
