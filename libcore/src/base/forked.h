/* SPDX-License-Identifier: MIT */
/*
 * forked.h -- a number that differs between a process and its forked children,
 * however they were forked.
 */
#ifndef ILK__FORKED_H
#define ILK__FORKED_H

#include <stdint.h>

/* To be called once or more before the other. */
void ilk__fork_watch(void);

/* The number of forks that led to this process, since the first watch. Costs a
 * load from memory, where the kernel helps. Async-signal-safe. */
uint32_t ilk__fork_generation(void);

#endif
