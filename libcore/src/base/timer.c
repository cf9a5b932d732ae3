/* SPDX-License-Identifier: MIT */
/* timer.c -- a binary heap of timers; heap[0] is the next that is due. */
#include "timer.h"

#include "alloc.h"
#include "clock.h"

ilk_status ilk__timers_reserve(ilk__timers *timers, ilk_error *err)
{
    if (timers->reserved == timers->room) {
        size_t room = timers->room ? timers->room * 2 : 16;
        void *heap = ilk__realloc(timers->heap, room * sizeof *timers->heap);

        if (!heap)
            return ilk__fail(err, ILK_ENOMEM, "out of memory");
        timers->heap = heap;
        timers->room = room;
    }
    timers->reserved++;
    return ILK_OK;
}

void ilk__timers_unreserve(ilk__timers *timers)
{
    timers->reserved--;
}

static void put(ilk__timers *timers, size_t index, ilk__timer *timer)
{
    timers->heap[index] = timer;
    timer->slot = index + 1;
}

/* Move a timer up, then down the heap, to where it belongs. */
static void sift(ilk__timers *timers, size_t index)
{
    ilk__timer *timer = timers->heap[index];

    while (index > 0 && timers->heap[(index - 1) / 2]->due > timer->due) {
        put(timers, index, timers->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * index + 1;

        if (child + 1 < timers->count
            && timers->heap[child + 1]->due < timers->heap[child]->due)
            child++;
        if (child >= timers->count || timers->heap[child]->due >= timer->due)
            break;
        put(timers, index, timers->heap[child]);
        index = child;
    }
    put(timers, index, timer);
}

void ilk__timer_set(ilk__timers *timers, ilk__timer *timer, int64_t due)
{
    timer->due = due;
    if (!timer->slot)
        put(timers, timers->count++, timer);
    sift(timers, timer->slot - 1);
}

void ilk__timer_clear(ilk__timers *timers, ilk__timer *timer)
{
    size_t index = timer->slot - 1;

    if (!timer->slot)
        return;
    timer->slot = 0;
    timers->count--;
    if (index < timers->count) {
        put(timers, index, timers->heap[timers->count]);
        sift(timers, index);
    }
}

ilk__timer *ilk__timers_pop(ilk__timers *timers, int64_t now)
{
    ilk__timer *first = timers->count ? timers->heap[0] : NULL;

    if (!first || first->due > now)
        return NULL;
    ilk__timer_clear(timers, first);
    return first;
}

int64_t ilk__timers_next(const ilk__timers *timers)
{
    return timers->count ? timers->heap[0]->due : ILK__FOREVER;
}

void ilk__timers_free(ilk__timers *timers)
{
    ilk__free(timers->heap);
    timers->heap = NULL;
    timers->count = timers->room = timers->reserved = 0;
}
