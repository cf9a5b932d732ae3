/* SPDX-License-Identifier: MIT */
/*
 * clock.h -- local time, in milliseconds. The clock never goes back; where the
 * system allows it (CLOCK_BOOTTIME), it also counts the time during which the
 * machine is suspended. A deadline is a time on this clock; ILK__FOREVER means
 * that there is none.
 */
#ifndef ILK__CLOCK_H
#define ILK__CLOCK_H

#include "error.h"

#include <stdint.h>

#define ILK__FOREVER INT64_MAX

int64_t ilk__now_ms(void);

/* now + timeout_ms, or ILK__FOREVER for a negative timeout. Saturates. */
int64_t ilk__deadline(int64_t timeout_ms);

/* ILK_EINVAL for a timeout below -1; -1 itself means for ever. */
ilk_status ilk__check_timeout(int64_t timeout_ms, ilk_error *err);

/* Milliseconds until the deadline as poll() expects them; 0 when it passed. */
int ilk__poll_timeout(int64_t deadline); /* -1 for ILK__FOREVER */

/* The earlier of two deadlines. */
int64_t ilk__sooner(int64_t a, int64_t b);

#endif
