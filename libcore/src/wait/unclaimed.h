/* SPDX-License-Identifier: MIT */
/*
 * unclaimed.h -- a message came for a waiter that waits no more, or has what
 * it wanted: each column passes on what another of its waiters can use.
 */
#ifndef ILK__UNCLAIMED_H
#define ILK__UNCLAIMED_H

#include "op/desk.h"
#include "pubsub/letter.h"

/* desk->unclaimed. The mutex is held; the letter lives for the call. */
void ilk__unclaimed(ilk__desk *desk, const ilk__letter *letter);

#endif
