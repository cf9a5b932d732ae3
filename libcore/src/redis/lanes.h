/* SPDX-License-Identifier: MIT */
/*
 * lanes.h -- the few lanes over which the threads of a client call.
 *
 * While few threads call at once, each has a lane to itself. The kernel then wakes the
 * thread whose reply has come; on a shared lane it wakes the leader, which must wake the
 * thread. A call that finds all lanes taken shares the first one. Once many calls share
 * it, all further ones do: they form a pipeline, which costs the server less than a lane
 * for each.
 *
 *     all lanes are taken, again and again --> one more is opened, ILK__LANES at most
 *
 * No call waits for that: while a lane is being opened, each call takes one
 * step of the opening. If it fails, the next attempt is made after a pause.
 *
 * One lane executes commands in the order of their calls. Several lanes do so for the
 * commands of one slot (slot.h), that of their first key unless the command has
 * an order_key (command.h), by two rules. So the commands of one name keep
 * their order; one with several names keeps it with those of its first name
 * only.
 *
 *   - While a command of a slot has no reply, further ones of that slot take its lane. This
 *     includes a command whose caller gave up, and one that was only sent.
 *   - The server may execute the commands of a broken connection late, until the lane's
 *     next connection has closed it there (login.h). So a lane that broke with commands
 *     that had no reply comes up before any lane carries a further command.
 *
 * tests/model/lanes.pml checks both.
 */
#ifndef ILK__LANES_H
#define ILK__LANES_H

#include "lane.h"

enum { ILK__LANES = 4 };

typedef struct ilk__lanes ilk__lanes;

/* Borrows the target as long as the lanes live. A target in this process has one
 * lane. NULL: no memory. */
ilk__lanes *ilk__lanes_new(const ilk__target *target);

/* As ilk__lane_call_run(), over the lane that call->lane then names. */
ilk_status ilk__lanes_call(ilk__lanes *lanes, ilk__lane_call *call,
                           ilk_error *err);

/* As ilk__lane_send_only(), after all commands of the same slot. */
ilk_status ilk__lanes_send_only(ilk__lanes *lanes, const ilk__command *command,
                                ilk__ensured *ensured);

/* Connect the first lane if it is down; until deadline at most. */
ilk_status ilk__lanes_connect(ilk__lanes *lanes, int64_t deadline,
                              ilk_error *err);

void ilk__lanes_leave_old(ilk__lanes *lanes); /* see ilk__lane_leave_old() */

/* 1 while the server executes the commands of each slot in the order of their
 * calls; see ilk__lane_in_order(). */
int ilk__lanes_in_order(const ilk__lanes *lanes);

void ilk__lanes_add_traffic(ilk__lanes *lanes, ilk__traffic *sum);

void ilk__lanes_shut(ilk__lanes *lanes);    /* see ilk__lane_shut() */
void ilk__lanes_free(ilk__lanes *lanes);    /* NULL is ignored */
void ilk__lanes_abandon(ilk__lanes *lanes); /* in a forked child */

#endif
