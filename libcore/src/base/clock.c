/* SPDX-License-Identifier: MIT */
/* clock.c -- local milliseconds and deadlines on them. */
#include "clock.h"

#include <limits.h>
#include <time.h>

/* Linux: CLOCK_BOOTTIME also counts the time during which the machine is
   suspended. macOS: so does CLOCK_MONOTONIC. Elsewhere it may not. */
#ifdef CLOCK_BOOTTIME
#define CLOCK CLOCK_BOOTTIME
#else
#define CLOCK CLOCK_MONOTONIC
#endif

int64_t ilk__now_ms(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK, &now) != 0) /* a kernel before 2.6.39 */
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

ilk_status ilk__check_timeout(int64_t timeout_ms, ilk_error *err)
{
    if (timeout_ms >= -1)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "timeout_ms must be -1 (for ever) or more, got %lld",
                     (long long)timeout_ms);
}

int64_t ilk__deadline(int64_t timeout_ms)
{
    int64_t now;

    if (timeout_ms < 0)
        return ILK__FOREVER;
    now = ilk__now_ms();
    if (timeout_ms > 0)
        now++; /* now is rounded down; a deadline must not be too early */
    return timeout_ms < ILK__FOREVER - now ? now + timeout_ms : ILK__FOREVER;
}

int ilk__poll_timeout(int64_t deadline)
{
    int64_t now;

    if (deadline == ILK__FOREVER)
        return -1;
    now = ilk__now_ms();
    if (deadline <= now)
        return 0;
    return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

int64_t ilk__sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
