/* SPDX-License-Identifier: MIT */
/*
 * delivered_signal.h -- the signals that a waiter has been sent, kept until the
 * wait's caller takes them. All who are told the same share one copy.
 *
 * A wait takes one signal, or one of every name (waiter->wants_all). What it
 * does not want, and was sent to it alone, is for somebody else: the caller
 * hands it to ilk__wait_unclaimed().
 *
 * What was told to a whole list counts for those who stood in it then, that
 * is, whose ticket is not above the message's. A waiter whose own ticket is
 * still on its way keeps the message aside until that comes. One that lost
 * its place and takes it anew has been waiting since its first ticket.
 *
 * What was sent to one waiter, but heard second hand, is put aside as well:
 * if the server found nobody listening, it has sent it to another one. The
 * refresher asks at once; the entry's place was given up for this signal if
 * it is gone.
 */
#ifndef ILK__DELIVERED_SIGNAL_H
#define ILK__DELIVERED_SIGNAL_H

#include "pubsub/message.h"
#include "wait.h"

typedef struct ilk__delivered_signal ilk__delivered_signal;
struct ilk__delivered_signal {
    ilk__delivered_signal *next;
    size_t index; /* of the name, in the waiter's wait queue */
    int aside;    /* is it ours? our ticket will tell, or a refresh */
    struct ilk__payload *payload; /* what the message points into */
    const ilk__message *message;
};

/* With the mutex held. 1: taken, or aside. Without memory it is not. */
int ilk__delivered_signal_accept(ilk__waiter *waiter,
                                 const ilk__message *message);
/* To all of this client who stand in the list of that name. */
void ilk__delivered_signal_notify(ilk__shared *shared,
                                  const ilk__message *message);
/* The waiter's ticket in one of its lists has come. */
void ilk__delivered_signal_ticket(ilk__waiter *waiter, size_t index,
                                  int64_t ticket);
/* The waiter's entry is in this list no more (of no name: in none). */
void ilk__delivered_signal_confirm(ilk__waiter *waiter, const char *name,
                                   size_t len);
/*
 * A word that was sent behind all signals: the waiter's entry is in this list
 * no more; of no name: in none, and nothing more comes.
 */
void ilk__delivered_signal_entry_gone(ilk__waiter *waiter,
                                      const ilk__message *message);
/* Forget all; what was for this waiter alone goes to ilk__wait_unclaimed(). */
void ilk__delivered_signal_pass_on(ilk__waiter *waiter);
/* forget all: the caller has it */
void ilk__delivered_signal_drop(ilk__waiter *waiter);
/* by any thread; NULL is fine */
void ilk__delivered_signal_free(ilk__delivered_signal *delivered);

#endif
