/* SPDX-License-Identifier: MIT */
/* inspect_states.h -- what is read of each kind that is not held like a lock. */
#ifndef ILK__INSPECT_STATES_H
#define ILK__INSPECT_STATES_H

#include "handle/inspect.h"
#include "primitives/group/members.h"

/* Subject of these operations; the keys are those of the kind. */
typedef struct ilk__state_reading {
    ilk__inspection at;
    size_t waiters_at;  /* which of the keys is the wait queue */
    ilk__known members; /* of a group */
} ilk__state_reading;

extern const ilk__op_type ilk__read_election, ilk__read_event, ilk__read_latch,
    ilk__read_barrier, ilk__read_register, ilk__read_queue,
    ilk__read_group; /* repeat this one while members.more */

/* The waiters, for all but the election. */
extern const ilk__op_type ilk__read_waiters;

#endif
