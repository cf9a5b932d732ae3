/* SPDX-License-Identifier: MIT */
/*
 * delivered_signal.h -- the signals that were sent to a waiter, kept until the
 * wait's caller fetches them. Waiters that get the same message share one copy
 * of its payload.
 *
 * A wait accepts one signal, or one of every name (waiter->wants_all). The server
 * keeps a signal for this waiter alone until the wait is over, and then hands it
 * on, unless the wait has accepted it. One that comes for a waiter that is gone
 * is passed to ilk__wait_orphaned() by the caller.
 *
 * Two kinds of signal are put aside, because it is not yet known whether they
 * are for this waiter:
 *
 *   NOTIFY          goes to all who were in the list when it was sent, that is,
 *                   to tickets up to the message's. A waiter whose own ticket
 *                   has not arrived yet puts it aside until then. A waiter
 *                   whose entry was lost and enqueued again keeps its first
 *                   ticket.
 *   SIGNAL that     may have been sent to another waiter since, because the
 *   only a replica  primary counts only its own subscribers and found none
 *   delivered       (subscriber.h). A refresh is sent at once: if the entry is
 *                   gone, the server removed it for this signal, so the signal
 *                   is ours.
 */
#ifndef ILK__DELIVERED_SIGNAL_H
#define ILK__DELIVERED_SIGNAL_H

#include "pubsub/message.h"
#include "wait.h"

typedef struct ilk__delivered_signal ilk__delivered_signal;
struct ilk__delivered_signal {
    ilk__delivered_signal *next;
    size_t index;                 /* of the name, in the waiter's wait queue */
    int aside;                    /* not known yet to be ours, see above */
    struct ilk__payload *payload; /* owns the message and its bytes */
    const ilk__message *message;
};

/* All with the mutex held, except take() and free(). */

/* 0: out of memory. 1: accepted, put aside, or not wanted. A signal that is not
 * wanted is handed on by the server when it gets the command that ends the
 * wait. */
int ilk__delivered_signal_accept(ilk__waiter *waiter,
                                 const ilk__message *message);
/* Deliver a NOTIFY to all waiters of this client in the list of that name. */
void ilk__delivered_signal_notify(ilk__shared *shared,
                                  const ilk__message *message);
/* The waiter's ticket in one of its lists is known: decide on the signals that
 * are put aside. */
void ilk__delivered_signal_ticket(ilk__waiter *waiter, size_t index,
                                  int64_t ticket);
/* The waiter's entry was removed from the list of this name, or, with length 0,
 * from all lists: so the signal put aside for it is ours. */
void ilk__delivered_signal_confirm(ilk__waiter *waiter, const char *name,
                                   size_t len);
/*
 * The same, as a message, which the server sends after all signals from that
 * list. Without a name: after all signals for this waiter.
 */
void ilk__delivered_signal_entry_gone(ilk__waiter *waiter,
                                      const ilk__message *message);
/* Free all. */
void ilk__delivered_signal_drop(ilk__waiter *waiter);
/*
 * The wait is over, and its caller gets the signals: leave the refresher, and
 * note in waiter->accepted of which names they are accepted. 1: at least one of
 * them must be acknowledged. Takes the mutex.
 */
int ilk__delivered_signal_take(ilk__waiter *waiter);
/* Free one that its waiter no longer has. Any thread; NULL is fine. */
void ilk__delivered_signal_free(ilk__delivered_signal *delivered);

#endif
