/* SPDX-License-Identifier: MIT */
/*
 * inflight.h -- operations that an event loop runs, any number at once, over
 * one asynchronous connection.
 *
 *     backlog -> start -> SEND -> unsent until it is up -> wire -> reply
 *           -> TELL:  sent, nobody waits for it
 *           -> SLEEP: until its time, or until it is woken
 *           -> DONE:  finished()
 *
 * Replies come in the order of the commands. Who does not wait any more, for
 * its deadline has passed, leaves an abandoned slot. While
 * ILK__WIRE_FULL commands are unanswered no more in-flight operations start: a
 * thousand keep a server busy, and ten thousand would only take memory on both
 * sides.
 *
 * There are two such loops: the keeper's, and the application's (loop.h).
 * Each calls from one thread at a time, the keeper with the shared state's
 * mutex.
 */
#ifndef ILK__INFLIGHT_H
#define ILK__INFLIGHT_H

#include "base/timer.h"
#include "op.h"
#include "redis/async_conn.h"

typedef struct ilk__shared ilk__shared;
typedef struct ilk__inflight ilk__inflight;

enum { ILK__WIRE_FULL = 1024 };

typedef enum ilk__inflight_state {
    ILK__INFLIGHT_IDLE,
    ILK__INFLIGHT_BACKLOG,
    ILK__INFLIGHT_UNSENT,
    ILK__INFLIGHT_ON_WIRE,
    ILK__INFLIGHT_ASLEEP
} ilk__inflight_state;

struct ilk__inflight {
    ilk__op op;
    ilk__timer timer;    /* its sleeps; else its deadline. Room is reserved */
    ilk__inflight *next; /* posted, in the backlog, or not sent yet */
    ilk__shared *shared;
    uint64_t position; /* on the wire */
    ilk__inflight_state state;
    int closed; /* it is to end: no more is sent for it but what is told */
    /* About to sleep: 1 when there is cause to go on instead. May be NULL. */
    int (*is_awake)(ilk__inflight *inflight, ilk__cause *cause);
    /* The operation is done. */
    void (*finished)(ilk__inflight *inflight);
};

typedef struct ilk__inflight_list {
    ilk__inflight *first, **end;
} ilk__inflight_list;

/* One command's slot on the wire. */
typedef struct ilk__pipeline_slot {
    ilk__inflight *inflight; /* NULL: the slot is abandoned */
    ilk__ensured *ensured;   /* of an abandoned slot, or NULL */
    int64_t patience;        /* when the server's silence ends the connection */
} ilk__pipeline_slot;

typedef struct ilk__pipeline {
    ilk__async_conn connection;
    ilk__timers *timers;
    int64_t reply_timeout_ms;
    ilk__pipeline_slot *wire; /* a ring */
    size_t room, count;
    uint64_t first;             /* the position of the first on the wire */
    ilk__inflight_list backlog; /* to be started when there is room on the
                                   wire */
    ilk__inflight_list unsent;  /* to be sent when the connection is up */
} ilk__pipeline;

void ilk__inflight_init(ilk__inflight *inflight, ilk__shared *shared,
                        const ilk__op_type *type, void *subject);

void ilk__pipeline_init(ilk__pipeline *pipeline, const ilk__target *target,
                        ilk__timers *timers, int64_t reply_timeout_ms);
void ilk__pipeline_free(ilk__pipeline *pipeline); /* nothing is under way */

void ilk__inflight_start(ilk__pipeline *pipeline, ilk__inflight *inflight);
/* It sleeps, and there is news. */
void ilk__inflight_wake(ilk__pipeline *pipeline, ilk__inflight *inflight,
                        ilk__cause cause);
/* Not sent yet: it goes on as if it had failed so. */
void ilk__inflight_withhold(ilk__pipeline *pipeline, ilk__inflight *inflight,
                            ilk_status status);
/*
 * It must end, and has when this returns. What it may have got is given back
 * as ever when an operation ends; its answer is not waited for.
 */
void ilk__inflight_close(ilk__pipeline *pipeline, ilk__inflight *inflight);

/* What a timer of an operation in flight calls; context is its
 * ilk__pipeline. */
void ilk__inflight_fire(ilk__timer *timer, void *context);

/* What happened on the connection; `whose` it is, for the log. */
void ilk__pipeline_handle(ilk__pipeline *pipeline, ilk__async_conn_result event,
                          const ilk__reply *reply, const char *whose);
void ilk__pipeline_check_patience(ilk__pipeline *pipeline, int64_t now,
                                  const char *whose);

/* Its parts. */
/* send what was kept */
void ilk__pipeline_connection_up(ilk__pipeline *pipeline);
void ilk__pipeline_connection_lost(ilk__pipeline *pipeline);
/* The reply to the first on the wire; 0 when nobody asked. */
int ilk__pipeline_reply(ilk__pipeline *pipeline, const ilk__reply *reply);

/* When the server has been silent for too long: the connection is to be
 * broken. */
int64_t ilk__pipeline_patience(const ilk__pipeline *pipeline);

/* It ends with ILK_ECLOSED, without a step; all that are under way do. */
void ilk__inflight_end(ilk__pipeline *pipeline, ilk__inflight *inflight);
void ilk__pipeline_end(ilk__pipeline *pipeline);

#endif
