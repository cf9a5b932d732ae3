/* SPDX-License-Identifier: MIT */
/*
 * lease_case.h -- what tests of leases share: one lease of a plain lock at
 * the shared state of shared_case.h, taken for 9 s.
 */
#ifndef ILK__LEASE_CASE_H
#define ILK__LEASE_CASE_H

#include "shared_case.h"
#include "wait/lease.h"

enum { ID = 7, TTL_MS = 9000, SURE_MS = TTL_MS - TTL_MS / 100 - 2 };

extern ilk__lease lease;

int lease_case_setup(void);
int lease_case_teardown(void);
void lease_case_init(void); /* once more, after a test destroyed it */

/* Taken now, and looked after; hold_ms as max_hold_ms, 0 has no end. */
void hold(int renews, int64_t hold_ms);

/* The renewal that is due, which must ask for this lease. */
ilk__inflight *renewal_of(int64_t ttl_ms);

void assert_no_notification(void);
void assert_lost(ilk_status why); /* told by one notification, which is taken */

#endif
