/* SPDX-License-Identifier: MIT */
/*
 * forked.h -- a number that differs between a process and its forked children,
 * however they were forked.
 */
#ifndef ILK__FORKED_H
#define ILK__FORKED_H

#include <stdint.h>

/* Must be called before ilk__fork_generation(); further calls do nothing. */
void ilk__fork_watch(void);

/* 1 in the process that watched first; in a child it is higher than what the
 * parent got before the fork. Costs one load from memory where the kernel
 * helps. Async-signal-safe. */
uint32_t ilk__fork_generation(void);

#endif
