/* SPDX-License-Identifier: MIT */
/*
 * gateway_alloc.h -- a gateway without memory: the n-th allocation of its thread fails,
 * or that and all after it, for n = 1, 2, 3 ... until a scene needs no more.
 *
 * Each scene ends, and with memory back its client works. Leaks are found by the address
 * sanitizer. A test that uses this has a comment line with its linker options:
 *     link: @support/gateway_alloc.link
 */
#ifndef ILK__GATEWAY_ALLOC_H
#define ILK__GATEWAY_ALLOC_H

#include <interlock.h>

typedef ilk_status gateway_scene(ilk_client *client, ilk_error *err);

typedef struct gateway_alloc {
    const char *url;
    /* Called before memory fails, or NULL; and after each play, until it
     * succeeds. */
    gateway_scene *warm_up, *works;
    void (*clear)(void); /* the store; or NULL */
    long step;           /* n rises by this, 1 by default */
} gateway_alloc;

/* The scene has at least this many allocations, one after another of which fails. */
void gateway_alloc_run(const gateway_alloc *at, gateway_scene *run, long least);

#endif
