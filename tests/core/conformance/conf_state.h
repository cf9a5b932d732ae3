/* SPDX-License-Identifier: MIT */
/*
 * conf_state.h -- the statements of the conformance table about events,
 * barriers and latches.
 *
 *     e = event <name> [ttl_ms=n] | barrier <name> <parties> | latch <name> <n>
 *     e set <data> | clear | wait <ms> | change <ms>   -> STATUS
 *     e is_set -> 0|1   e data -> <data>   e generation > <other event>
 *     b wait <ms> | reset   -> STATUS      b waiting -> <n>
 *     l count_down <n> | wait <ms> | reset -> STATUS   l count -> <n>
 *
 * "change" waits past the generation that this handle has last seen.
 */
#ifndef ILK__CONF_STATE_H
#define ILK__CONF_STATE_H

#include "conformance.h"

#include <interlock.h>

enum { CONF_STATE_HANDLES = 8 };

typedef struct conf_state_handle {
    char word[64];
    ilk_event *event;
    ilk_barrier *barrier;
    ilk_latch *latch;
} conf_state_handle;

typedef struct conf_state {
    conf_state_handle handles[CONF_STATE_HANDLES];
    size_t count;
} conf_state;

/* Run a line; 0 when it is about something else. A failure fails the test. */
int conf_state_line(conf_state *self, ilk_client *client,
                    const conf_word *words, int count);
void conf_state_free(conf_state *self);

#endif
