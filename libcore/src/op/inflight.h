/* SPDX-License-Identifier: MIT */
/*
 * inflight.h -- in-flight operations: an event loop runs any number of them at
 * once over one asynchronous connection, their pipeline.
 *
 *     start --> (backlog, while the wire is full) --> step the operation
 *
 *     SEND       --> (unsent, while the connection is down) --> wire --> reply
 *     SEND_ONLY  --> a slot on the wire without an operation; the reply ends the
 *                    ensured command, if there is one, and is dropped
 *     SLEEP      --> a timer, or ilk__inflight_wake()
 *     DONE       --> finished()
 *
 * The wire is a ring of slots, one for each command whose reply has not come;
 * replies come in the order of the commands:
 *
 *      first                                      first + count
 *        v                                              v
 *     [ op A ] [ op B ] [ abandoned ] [ SEND_ONLY + ensured ]
 *
 * An operation whose deadline passes goes on without the reply and leaves an
 * abandoned slot. While ILK__WIRE_FULL slots are in use no more operations
 * start: a thousand commands keep a server busy, and ten thousand would only
 * take memory on both sides.
 *
 * There are two such loops: the keeper's, and the application's (loop.h). Each
 * calls these functions from one thread at a time; the keeper holds the shared
 * state's mutex.
 */
#ifndef ILK__INFLIGHT_H
#define ILK__INFLIGHT_H

#include "base/timer.h"
#include "op.h"
#include "redis/async_conn.h"

typedef struct ilk__shared ilk__shared;
typedef struct ilk__inflight ilk__inflight;

enum { ILK__WIRE_FULL = 1024, ILK__HELD_MOST = 64 };

typedef enum ilk__inflight_state {
    ILK__INFLIGHT_IDLE,
    ILK__INFLIGHT_BACKLOG,
    ILK__INFLIGHT_UNSENT,
    ILK__INFLIGHT_ON_WIRE,
    ILK__INFLIGHT_ASLEEP
} ilk__inflight_state;

struct ilk__inflight {
    ilk__op op;
    ilk__timer timer;    /* for sleep or deadline; its room is reserved */
    ilk__inflight *next; /* posted, in the backlog, or not sent yet */
    ilk__shared *shared;
    uint64_t position; /* on the wire */
    ilk__inflight_state state;
    int closed; /* it must end: only SEND_ONLY is still sent */
    /* Called before it sleeps: returns 1 and a cause to go on instead. May be
     * NULL. */
    int (*is_awake)(ilk__inflight *inflight, ilk__cause *cause);
    /* The operation is done. */
    void (*finished)(ilk__inflight *inflight);
};

typedef struct ilk__inflight_list {
    ilk__inflight *first, **end;
} ilk__inflight_list;

/* One command's slot on the wire. */
typedef struct ilk__pipeline_slot {
    ilk__inflight *inflight; /* NULL: abandoned, or sent by SEND_ONLY */
    ilk__ensured *ensured;   /* sent by SEND_ONLY: gets the reply; or NULL */
    ilk__expected_reply expected;
    int64_t patience; /* without a reply by then, break the connection */
} ilk__pipeline_slot;

typedef struct ilk__pipeline {
    ilk__async_conn connection;
    ilk__timers *timers;
    int64_t reply_timeout_ms;
    ilk__pipeline_slot *wire; /* a ring */
    size_t room, count;
    uint64_t first;             /* the position of the first slot */
    ilk__inflight_list backlog; /* not started, the wire is full */
    ilk__inflight_list unsent;  /* not sent, the connection is down */
    /* Replies that matched their commands but wait for the end of the turn. */
    ilk__reply *held[ILK__HELD_MOST];
    size_t held_count;
    int distrusted;      /* a reply made no sense: break the connection */
    ilk__outage *outage; /* for failed attempts to connect; or NULL */
    int silent;          /* it is broken because a reply did not come in time */
    ilk_error failure;   /* why it was lost the last time */
} ilk__pipeline;

void ilk__inflight_init(ilk__inflight *inflight, ilk__shared *shared,
                        const ilk__op_type *type, void *subject);

void ilk__pipeline_init(ilk__pipeline *pipeline, const ilk__target *target,
                        ilk__timers *timers, int64_t reply_timeout_ms);
/* No operation may be left in it. */
void ilk__pipeline_free(ilk__pipeline *pipeline);

void ilk__inflight_start(ilk__pipeline *pipeline, ilk__inflight *inflight);
/* If it sleeps, go on with this cause. */
void ilk__inflight_wake(ilk__pipeline *pipeline, ilk__inflight *inflight,
                        ilk__cause cause);
/* Drop its command if it is still unsent: the operation goes on with NO_REPLY
 * and this status. An operation in the backlog is closed. */
void ilk__inflight_withhold(ilk__pipeline *pipeline, ilk__inflight *inflight,
                            ilk_status status);
/*
 * End it before this returns, without waiting for a reply. The operation's type
 * withdraws what it may have got, as in any failure.
 */
void ilk__inflight_close(ilk__pipeline *pipeline, ilk__inflight *inflight);

/* The function of an in-flight operation's timer; context is its pipeline. */
void ilk__inflight_fire(ilk__timer *timer, void *context);

/*
 * Handle a result of ilk__async_conn_next(), ILK__ASYNC_CONN_NOTHING as well,
 * and free the reply. A reply that belongs to no request ends the connection.
 * An error reply carries no number, so it may belong to another request. It is
 * held back, with all replies behind it, until no more replies are there
 * (NOTHING) or ILK__HELD_MOST are held. If a reply that belongs to no request
 * comes before that, none of those held is delivered.
 * `whose`: a name for the log.
 */
void ilk__pipeline_handle(ilk__pipeline *pipeline,
                          ilk__async_conn_result result, ilk__reply *reply,
                          const char *whose);
void ilk__pipeline_check_patience(ilk__pipeline *pipeline, int64_t now,
                                  const char *whose);

/* The parts of ilk__pipeline_handle(). */
/* Send the commands of `unsent`. */
void ilk__pipeline_connection_up(ilk__pipeline *pipeline);
/* All operations on the wire or in `unsent` go on with NO_REPLY. */
void ilk__pipeline_connection_lost(ilk__pipeline *pipeline);
/* The reply to the first slot; returns 0 when there is none. */
int ilk__pipeline_reply(ilk__pipeline *pipeline, const ilk__reply *reply);

/* When to break the connection unless a reply comes. */
int64_t ilk__pipeline_patience(const ilk__pipeline *pipeline);

/* End one operation, or all that are left, with ILK_ECLOSED. They are not
 * stepped, so nothing is withdrawn. */
void ilk__inflight_end(ilk__pipeline *pipeline, ilk__inflight *inflight);
void ilk__pipeline_end(ilk__pipeline *pipeline);

#endif
