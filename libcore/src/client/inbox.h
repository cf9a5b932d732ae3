/* SPDX-License-Identifier: MIT */
/*
 * inbox.h -- the client's subscription: where its waiters' news arrive.
 *
 *     ilk:inbox:<client id>      grants, wake-ups, signals: message.h
 *
 * It may listen on several connections, see ear.h: it is ready while one of
 * them hears. A signal's second copy is dropped before anything is done about
 * the first.
 *
 * The keeper drives the link; this tells what to send on it and what its
 * replies mean. All with the shared state's mutex held.
 */
#ifndef ILK__INBOX_H
#define ILK__INBOX_H

#include "op/shared.h"
#include "pubsub/ear.h"

/* The link is up: subscribe. */
void ilk__inbox_came_up(ilk__shared *shared, ilk__ear *ear);
/* The link was lost: what it would have told may be lost with it. */
void ilk__inbox_lost(ilk__shared *shared, ilk__ear *ear);
void ilk__inbox_reply(ilk__shared *shared, ilk__ear *ear,
                      const ilk__reply *reply);
/* Channels of watches and listeners came or went. */
void ilk__inbox_channels(ilk__shared *shared, ilk__ear *ear);

#endif
