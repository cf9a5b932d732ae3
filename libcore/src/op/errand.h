/* SPDX-License-Identifier: MIT */
/*
 * errand.h -- operations that an event loop runs, any number at once, over
 * one link.
 *
 *     in line -> start -> SEND -> held until the link is up -> wire -> reply
 *           -> TELL:  sent, nobody waits for it
 *           -> SLEEP: until its time, or until it is woken
 *           -> DONE:  finished()
 *
 * Replies come in the order of the commands. Who does not wait any more, for
 * its deadline has passed, leaves a ghost in its place. While
 * ILK__WIRE_FULL commands are unanswered no more errands start: a thousand
 * keep a server busy, and ten thousand would only take memory on both sides.
 *
 * There are two such loops: the keeper's, and the application's (loop.h).
 * Each calls from one thread at a time, the keeper with the shared state's
 * mutex.
 */
#ifndef ILK__ERRAND_H
#define ILK__ERRAND_H

#include "base/timer.h"
#include "op.h"
#include "redis/link.h"

typedef struct ilk__shared ilk__shared;
typedef struct ilk__errand ilk__errand;

enum { ILK__WIRE_FULL = 1024 };

typedef enum ilk__whereabouts {
    ILK__ERRAND_IDLE,
    ILK__ERRAND_IN_LINE,
    ILK__ERRAND_HELD,
    ILK__ERRAND_ON_WIRE,
    ILK__ERRAND_ASLEEP
} ilk__whereabouts;

struct ilk__errand {
    ilk__op op;
    ilk__timer timer;  /* its sleeps; else its deadline. Room is reserved */
    ilk__errand *next; /* posted, in line, or held */
    ilk__shared *shared;
    uint64_t place; /* on the wire */
    ilk__whereabouts whereabouts;
    int closed; /* it is to end: no more is sent for it but what is told */
    /* About to sleep: 1 when there is cause to go on instead. May be NULL. */
    int (*is_awake)(ilk__errand *errand, ilk__cause *cause);
    /* The operation is done. */
    void (*finished)(ilk__errand *errand);
};

typedef struct ilk__errand_list {
    ilk__errand *first, **end;
} ilk__errand_list;

/* One command's place on the wire. */
typedef struct ilk__awaited {
    ilk__errand *errand;   /* NULL: a ghost's */
    ilk__promise *promise; /* of a ghost that told something, or NULL */
    int64_t patience;      /* when the server's silence ends the connection */
} ilk__awaited;

typedef struct ilk__errands {
    ilk__link link;
    ilk__timers *timers;
    int64_t reply_timeout_ms;
    ilk__awaited *wire; /* a ring */
    size_t room, count;
    uint64_t first;        /* the place of the first on the wire */
    ilk__errand_list line; /* to be started when there is room on the wire */
    ilk__errand_list held; /* to be sent when the link is up */
} ilk__errands;

void ilk__errand_init(ilk__errand *errand, ilk__shared *shared,
                      const ilk__op_type *type, void *subject);

void ilk__errands_init(ilk__errands *errands, const ilk__target *target,
                       ilk__timers *timers, int64_t reply_timeout_ms);
void ilk__errands_free(ilk__errands *errands); /* nothing is under way */

void ilk__errand_start(ilk__errands *errands, ilk__errand *errand);
/* It sleeps, and there is news. */
void ilk__errand_wake(ilk__errands *errands, ilk__errand *errand,
                      ilk__cause cause);
/* Not sent yet: it goes on as if it had failed so. */
void ilk__errand_withhold(ilk__errands *errands, ilk__errand *errand,
                          ilk_status status);
/*
 * It must end, and has when this returns. What it may have got is given back
 * as ever when an operation ends; its answer is not waited for.
 */
void ilk__errand_close(ilk__errands *errands, ilk__errand *errand);

/* What a timer of an errand calls; context is its ilk__errands. */
void ilk__errand_fire(ilk__timer *timer, void *context);

/* What happened on the link; `whose` it is, for the log. */
void ilk__errands_take(ilk__errands *errands, ilk__link_event event,
                       const ilk__reply *reply, const char *whose);
void ilk__errands_check_patience(ilk__errands *errands, int64_t now,
                                 const char *whose);

/* Its parts. */
void ilk__errands_link_up(ilk__errands *errands); /* send what was held */
void ilk__errands_link_lost(ilk__errands *errands);
/* The reply to the first on the wire; 0 when nobody asked. */
int ilk__errands_reply(ilk__errands *errands, const ilk__reply *reply);

/* When the server has been silent for too long: the link is to be broken. */
int64_t ilk__errands_patience(const ilk__errands *errands);

/* It ends with ILK_ECLOSED, without a step; all that are under way do. */
void ilk__errand_end(ilk__errands *errands, ilk__errand *errand);
void ilk__errands_end(ilk__errands *errands);

#endif
