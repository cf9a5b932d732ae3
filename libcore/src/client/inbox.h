/* SPDX-License-Identifier: MIT */
/*
 * inbox.h -- the client's own channel, on which messages for its waiters
 * arrive:
 *
 *     ilk:inbox:<client id>      grants, wake-ups, signals: message.h
 *
 * The channel may be subscribed on several connections (subscriber.h), so a
 * message may arrive more than once; second copies are dropped. The inbox is
 * ready while at least one of the connections is subscribed.
 *
 * The keeper drives the connections. These functions decide what is sent on
 * them and handle their replies, with the shared state's mutex held.
 */
#ifndef ILK__INBOX_H
#define ILK__INBOX_H

#include "op/shared.h"
#include "pubsub/subscriber.h"

/* The connection is up: subscribe. */
void ilk__inbox_came_up(ilk__shared *shared, ilk__subscriber *subscriber);
/* The connection was lost, perhaps with messages on it. */
void ilk__inbox_lost(ilk__shared *shared, ilk__subscriber *subscriber);
void ilk__inbox_reply(ilk__shared *shared, ilk__subscriber *subscriber,
                      const ilk__reply *reply);
/* Channels of refreshers or listeners were added or removed: subscribe. */
void ilk__inbox_channels(ilk__shared *shared, ilk__subscriber *subscriber);

#endif
