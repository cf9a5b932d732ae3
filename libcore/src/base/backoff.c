/* SPDX-License-Identifier: MIT */
/* backoff.c -- computes the pause before a retry. */
#include "backoff.h"

#include "token.h"

/* Half of the pause is fixed, the other half is random. */
static int64_t with_jitter(int64_t pause_ms)
{
    int64_t half = pause_ms / 2;
    int64_t bound = half < INT32_MAX ? half + 1 : INT32_MAX;

    return pause_ms - half + (int64_t)ilk__jitter((uint32_t)bound);
}

static int next_step(int *step_ms, int first_ms, int most_ms)
{
    *step_ms = *step_ms ? *step_ms * 2 : first_ms;
    if (*step_ms > most_ms)
        *step_ms = most_ms;
    return *step_ms;
}

int64_t ilk__connect_pause_ms(int *step_ms, ilk_status why)
{
    if (why != ILK_ETIMEOUT)
        return with_jitter(next_step(step_ms, ILK__CONNECT_PAUSE_FIRST_MS,
                                     ILK__CONNECT_PAUSE_MOST_MS));
    if (*step_ms < ILK__CROWD_PAUSE_FIRST_MS / 2)
        *step_ms = ILK__CROWD_PAUSE_FIRST_MS / 2;
    return ilk__jitter((uint32_t)next_step(step_ms, ILK__CROWD_PAUSE_FIRST_MS,
                                           ILK__CROWD_PAUSE_MOST_MS)
                       + 1);
}

int64_t ilk__request_pause_ms(int *step_ms)
{
    return with_jitter(next_step(step_ms, ILK__REQUEST_PAUSE_FIRST_MS,
                                 ILK__REQUEST_PAUSE_MOST_MS));
}

int64_t ilk__failure_pause_ms(int64_t first_ms, int64_t most_ms, int64_t n)
{
    int64_t pause = first_ms;

    for (int64_t i = 1; i < n && pause < most_ms; i++)
        pause *= 2;
    return with_jitter(pause < most_ms ? pause : most_ms);
}
