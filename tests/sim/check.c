/* SPDX-License-Identifier: MIT */
/* check.c -- what must always be true, and what at the end. */
#include "sim.h"

#include <string.h>

enum { NAMES = 4 };

static struct {
    char name[NAME_MAX_BYTES];
    int64_t fence;
} last[NAMES];
static int64_t lost_at; /* when the server lost its data */

void check_begin(void)
{
    memset(last, 0, sizeof last);
    lost_at = -1;
}

void check_data_lost(void)
{
    lost_at = world_now;
}

/* A task that began before the loss may hold what the server has forgotten. */
static int is_excused(const task *t)
{
    return t->began <= lost_at;
}

static int64_t *fence_of(const char *name)
{
    int i = 0;

    while (last[i].name[0] && strcmp(last[i].name, name) != 0)
        i++;
    snprintf(last[i].name, sizeof last[i].name, "%s", name);
    return &last[i].fence;
}

void check_took(task *t)
{
    int64_t *fence = fence_of(t->name);

    if (!task_holds(t, world_now))
        violated("a lease was taken that is over");
    if (t->waiter.fence <= *fence && !is_excused(t))
        violated("fence %lld after %lld of %s", (long long)t->waiter.fence,
                 (long long)*fence, t->name);
    if (t->waiter.fence > *fence)
        *fence = t->waiter.fence;
}

void check_cancelled(const char *lock, const char *token)
{
    if (strcmp(server_value(lock), token) == 0)
        violated("a cancel left %s to who gave it up", lock);
}

/* ---- one holder --------------------------------------------------------- */

static task *others[NODES * TASKS];
static size_t other_count;

static void check_against_others(task *t)
{
    for (size_t i = 0; i < other_count; i++)
        if (strcmp(others[i]->name, t->name) == 0 && !is_excused(t)
            && !is_excused(others[i]))
            violated("%s has two holders, fences %lld and %lld", t->name,
                     (long long)others[i]->lease.fence,
                     (long long)t->lease.fence);
    others[other_count++] = t;
}

void check_now(void)
{
    other_count = 0;
    for (int i = 0; i < NODES; i++)
        for (size_t k = 0; k < nodes[i].task_count; k++)
            if (task_holds(&nodes[i].tasks[k], world_now))
                check_against_others(&nodes[i].tasks[k]);
}

/* ---- the end ------------------------------------------------------------ */

int check_finished(void)
{
    for (int i = 0; i < NODES; i++)
        for (size_t k = 0; k < nodes[i].task_count; k++)
            if (!nodes[i].dead && nodes[i].tasks[k].state != FINISHED)
                return 0;
    return 1;
}

void check_end(void)
{
    if (!check_finished())
        violated("somebody was forgotten");
    for (int i = 0; i < NODES; i++)
        for (size_t k = 0; k < nodes[i].task_count; k++) {
            const node *n = &nodes[i];

            if (!n->dead
                && server_waits(n->tasks[k].keys[2].data, n->shared.client_id))
                violated("node %d still stands in a wait queue", i);
        }
}
