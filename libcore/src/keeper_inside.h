/* SPDX-License-Identifier: MIT */
/* keeper_inside.h -- what the two files of the keeper share. */
#ifndef ILK__KEEPER_INSIDE_H
#define ILK__KEEPER_INSIDE_H

#include "ear.h"
#include "keeper.h"

struct ilk__keeper {
    ilk__desk *desk;
    int64_t reply_timeout_ms;
    pthread_t thread;
    int started, stopping; /* under the desk's mutex */
    int64_t stop_by;
    ilk__link calls;
    ilk__ear ears[ILK__EARS_MAX]; /* the inbox listens on these */
    size_t ear_count;
    ilk__errand *first, **end;     /* on the wire of the calls link */
    ilk__errand *held, **held_end; /* to be sent when it is up */
    uint32_t interrupts;           /* seen so far */
    ilk__keeper_counts counts;     /* a copy for others, under the mutex */
};

/* errand.c; all with the desk's mutex held. */
void ilk__errands_start(ilk__keeper *keeper);     /* those that were posted */
void ilk__errands_link_up(ilk__keeper *keeper);   /* send what was held back */
void ilk__errands_link_lost(ilk__keeper *keeper); /* none will be answered */
/* The reply to the first on the wire; 0 when there is none. */
int ilk__errands_reply(ilk__keeper *keeper, const ilk__reply *reply);
void ilk__errands_end(ilk__keeper *keeper); /* all, with ILK_ECLOSED */

#endif
