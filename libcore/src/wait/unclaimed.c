/* SPDX-License-Identifier: MIT */
/* unclaimed.c -- which column passes on what its gone waiters got. */
#include "unclaimed.h"

#include "primitives/election/election.h"
#include "primitives/lock/lock.h"
#include "primitives/queue/queue.h"
#include "primitives/semaphore/semaphore.h"
#include "primitives/signal/signal_wait.h"

/* By the kind of the waiter's entry. */
static const struct {
    char kind;
    void (*pass_on)(ilk__desk *desk, const ilk__letter *letter);
} columns[] = {
    {'e', ilk__election_unclaimed}, {'p', ilk__semaphore_unclaimed},
    {'q', ilk__queue_unclaimed},    {'r', ilk__lock_unclaimed},
    {'s', ilk__signal_unclaimed},   {'w', ilk__lock_unclaimed},
    {'x', ilk__lock_unclaimed},
};

void ilk__unclaimed(ilk__desk *desk, const ilk__letter *letter)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i].kind == letter->kind)
            columns[i].pass_on(desk, letter);
}
