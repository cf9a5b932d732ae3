/* SPDX-License-Identifier: MIT */
/*
 * started_case.h -- what the tests of started holds share, beside the loop of
 * started.h: acquires that must start, and somebody who holds what is waited
 * for.
 */
#ifndef ILK__STARTED_CASE_H
#define ILK__STARTED_CASE_H

#include "client_case.h"
#include "started.h"

ilk_op *start_acquire(ilk_lock *lock, int64_t timeout_ms);

/* The lock of this name, held by a client of its own; freed by the other. */
ilk_lock *hold_elsewhere(const char *name);
void free_elsewhere(ilk_lock *held); /* the client with it; held stays held */

/* Turn `client` until so many wait for the lock of this name. */
void await_lock_queue(const char *name, const char *count);

/*
 * Nobody waits for it, or holds it once `held` is released: what was started
 * has left nothing behind. Frees `held`.
 */
void assert_nothing_left(const char *name, ilk_lock *held);

#endif
