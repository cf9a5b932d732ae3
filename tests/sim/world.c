/* SPDX-License-Identifier: MIT */
/* world.c -- time, chance and the order of events. */
#include "sim.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct event {
    int64_t when;
    uint64_t order;
    event_fn *fn;
    node *node;
    void *data;
} event;

enum { EVENTS = 16384 };

int64_t world_now;
node *current;
int tracing;
char fault[256];
static uint64_t state;
static event heap[EVENTS];
static size_t count;
static uint64_t orders;

void world_begin(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 1;
    world_now = 0;
    orders = 0;
    fault[0] = '\0';
    current = NULL;
}

/* SplitMix64 */
uint32_t dice(uint32_t sides)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) >> 33) % sides;
}

int chance(uint32_t percent)
{
    return dice(100) < percent;
}

void trace(const char *format, ...)
{
    va_list args;

    if (!tracing)
        return;
    printf("%8lld  ", (long long)world_now);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void violated(const char *format, ...)
{
    va_list args;

    if (fault[0])
        return;
    va_start(args, format);
    vsnprintf(fault, sizeof fault, format, args);
    va_end(args);
    trace("VIOLATED: %s", fault);
}

/* ---- events ------------------------------------------------------------- */

static int sooner(const event *a, const event *b)
{
    return a->when < b->when || (a->when == b->when && a->order < b->order);
}

static void rise(size_t i)
{
    event own = heap[i];

    for (; i > 0 && sooner(&own, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = own;
}

static void put(event own)
{
    if (count == EVENTS) {
        fprintf(stderr, "the simulation has too many events\n");
        abort();
    }
    heap[count] = own;
    rise(count++);
}

static event take(void)
{
    event first = heap[0], own = heap[--count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < count && sooner(&heap[child + 1], &heap[child]))
            child++;
        if (child >= count || !sooner(&heap[child], &own))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = own;
    return first;
}

void at(int64_t when, event_fn *fn, node *n, void *data)
{
    put((event){.when = when < world_now ? world_now : when,
                .order = ++orders,
                .fn = fn,
                .node = n,
                .data = data});
}

/* Events of a frozen process happen when it thaws, in order. */
int world_step(void)
{
    event next;

    if (count == 0)
        return 0;
    next = take();
    world_now = next.when;
    if (next.node && next.node->frozen_until > world_now) {
        next.when = next.node->frozen_until;
        put(next);
        return 1;
    }
    current = next.node;
    next.fn(next.node, next.data);
    current = NULL;
    return 1;
}

void world_end(void)
{
    while (count > 0)
        free(take().data);
}

/* ---- what the library takes for its clock and its chance ----------------- */

int64_t __wrap_ilk__now_ms(void);
int64_t __wrap_ilk__deadline(int64_t timeout_ms);
uint32_t __wrap_ilk__jitter(uint32_t bound);
ilk_status __wrap_ilk__token(char *out, size_t digits, ilk_error *err);

int64_t __wrap_ilk__now_ms(void)
{
    return local_of(current, world_now);
}

int64_t __wrap_ilk__deadline(int64_t timeout_ms)
{
    return timeout_ms < 0 ? ILK__FOREVER : __wrap_ilk__now_ms() + timeout_ms;
}

uint32_t __wrap_ilk__jitter(uint32_t bound)
{
    return bound ? dice(bound) : 0;
}

ilk_status __wrap_ilk__token(char *out, size_t digits, ilk_error *err)
{
    (void)err;
    for (size_t i = 0; i < digits; i++)
        out[i] = "0123456789abcdef"[dice(16)];
    out[digits] = '\0';
    return ILK_OK;
}

/* Switched off by a control: see sim.h. */
int64_t __real_ilk__lease_deadline(int64_t began, int64_t lease_ms);
int64_t __wrap_ilk__lease_deadline(int64_t began, int64_t lease_ms);
int64_t __real_ilk__waiter_began(const ilk__waiter *waiter);
int64_t __wrap_ilk__waiter_began(const ilk__waiter *waiter);

int64_t __wrap_ilk__lease_deadline(int64_t began, int64_t lease_ms)
{
    if (control_on == CONTROL_LATE_GRANTS && current)
        return ILK__FOREVER;
    return __real_ilk__lease_deadline(began, lease_ms);
}

int64_t __wrap_ilk__waiter_began(const ilk__waiter *waiter)
{
    if (control_on == CONTROL_RECEIPT)
        return waiter->report_at;
    return __real_ilk__waiter_began(waiter);
}
