/* SPDX-License-Identifier: MIT */
/*
 * gate_case.h -- the smallest primitive that waits without a lock: a wait for
 * gates, each with the keys wait and live. It borrows the shapes of the
 * lock's answers: HELD is "open", the numbers behind it say nothing; QUEUED
 * brings the tickets in the first two lists.
 */
#ifndef ILK__GATE_CASE_H
#define ILK__GATE_CASE_H

#include "shared_case.h"
#include "wait/delivered_signal.h"

enum { GATES = 2 };

typedef struct gate {
    ilk__bytes keys[2 * GATES];
    ilk__bytes names[GATES];
    int64_t tickets[GATES];
    ilk__wait_queue wait_queue;
    ilk__waiter waiter;
    ilk__op op;
    ilk_error err;
    int nodes; /* from so many a last word comes; 0 counts as 1 */
} gate;

extern gate my_gate; /* waits for "red" and "blue" */

/* The orphaned messages: "<kind><waiter> <id> <name>=<data>;" for each. */
extern char gate_orphaned[1024];

int gate_setup(void);
int gate_teardown(void);

void gate_open(gate *g, size_t names);
void gate_close(gate *g);
ilk__act gate_wait(gate *g, int64_t timeout_ms); /* begin */
void gate_queue(gate *g, int64_t timeout_ms);    /* tickets 10 and 20 */
void assert_gate_asks(const gate *g, const char *entry);
/* The signals it has: "<index> <id> <name>=<data>;" for each. */
const char *gate_signals(const gate *g);

#endif
