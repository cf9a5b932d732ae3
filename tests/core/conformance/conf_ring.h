/* SPDX-License-Identifier: MIT */
/*
 * conf_ring.h -- the statements of the conformance table about rings.
 *
 *     r = ring ketama | tooz | shares
 *     r add <node> [<weight>] | remove <node> | weight <node> <n> -> STATUS
 *     r get <key> -> <node> | STATUS
 *     r get_n <n> <key> -> <node>... | STATUS
 *     r bounded <factor> <key> <load>... -> <node> | STATUS
 *
 * Loads are in the order of the nodes' bytes. "shares" is ketama with the points of
 * libketama's formula.
 */
#ifndef ILK__CONF_RING_H
#define ILK__CONF_RING_H

#include "conformance.h"

#include <interlock.h>

enum { CONF_RING_HANDLES = 4 };

typedef struct conf_ring {
    char words[CONF_RING_HANDLES][64];
    ilk_ring *rings[CONF_RING_HANDLES];
    size_t count;
} conf_ring;

/* Run a line; 0 when it is about something else. A failure fails the test. */
int conf_ring_line(conf_ring *self, const conf_word *words, int count);
void conf_ring_free(conf_ring *self);

#endif
