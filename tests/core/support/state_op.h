/* SPDX-License-Identifier: MIT */
/*
 * state_op.h -- waits of events, latches and barriers as machines: on the
 * shared state of shared_case.h, with a client that has nothing else.
 */
#ifndef ILK__STATE_OP_H
#define ILK__STATE_OP_H

#include "handle/state.h"
#include "shared_case.h"

extern ilk_client state_client;
extern ilk__op state_op; /* the wait that was begun last */

int state_op_setup(void);
int state_op_teardown(void); /* the handles are freed before */

/* Of an ilk_event, ilk_barrier or ilk_latch. */
ilk__waiter *state_waiter(void *handle);
ilk__act state_begin(void *handle, int64_t timeout_ms);

/*
 * Its request: the script and its five or four keys, its entry or '', the
 * rest of its place, then what is given.
 */
void assert_state_asks(void *handle, int queued, const char *script,
                       const char *keys, const char *rest);

#endif
