/* SPDX-License-Identifier: MIT */
/*
 * inbox.h -- the client's subscription: where its waiters' news arrive.
 *
 *     ilk:inbox:<client id>      grants, wake-ups, signals: message.h
 *
 * It may listen on several connections, see subscriber.h: it is ready while one
 * of them is subscribed. A signal's second copy is dropped before anything is
 * done about the first.
 *
 * The keeper drives the connection; this tells what to send on it and what its
 * replies mean. All with the shared state's mutex held.
 */
#ifndef ILK__INBOX_H
#define ILK__INBOX_H

#include "op/shared.h"
#include "pubsub/subscriber.h"

/* The connection is up: subscribe. */
void ilk__inbox_came_up(ilk__shared *shared, ilk__subscriber *subscriber);
/* The connection was lost: what it would have told may be lost with it. */
void ilk__inbox_lost(ilk__shared *shared, ilk__subscriber *subscriber);
void ilk__inbox_reply(ilk__shared *shared, ilk__subscriber *subscriber,
                      const ilk__reply *reply);
/* Channels of refreshers and listeners came or went. */
void ilk__inbox_channels(ilk__shared *shared, ilk__subscriber *subscriber);

#endif
