/* SPDX-License-Identifier: MIT */
/*
 * node_calls.h -- the scripts that were sent to a node of a store that has several, and
 * have no reply yet.
 *
 *     send --> flush ... polled --> next: a reply, of the oldest call --> end
 *                                         the connection is lost: no reply comes
 */
#ifndef ILK__NODE_CALLS_H
#define ILK__NODE_CALLS_H

#include "backend.h"
#include "redis/async_conn.h"
#include "redis/script.h"

typedef struct ilk__node_call ilk__node_call;

/* A call has ended: with its reply, of which an error is one, or with NULL when there
 * can be none. Returns 1 when it keeps the reply. `node` is that of init(). */
typedef int ilk__node_call_ended(void *node, void *owner,
                                 const ilk__node_call *call, ilk__reply *reply);

struct ilk__node_call {
    ilk__node_call *next;
    ilk__expected_reply expected;
    int script;
    int64_t sent_at;
    int64_t sent_us; /* for the round trip */
    ilk__node_call_ended *ended;
    void *owner;
};

typedef struct ilk__node_calls {
    ilk__gateway *gateway;
    ilk__async_conn connection;
    size_t polled_at; /* its place among the descriptors of this turn */
    ilk__node_call *first, *last;
    uint8_t knows[ILK__SCRIPT_COUNT]; /* its source was sent */
    void *node;
} ilk__node_calls;

typedef enum ilk__node_calls_event {
    ILK__NODE_CALLS_NOTHING,
    ILK__NODE_CALLS_CAME_UP,
    ILK__NODE_CALLS_REPLY,
    ILK__NODE_CALLS_LOST,  /* it was up, and may be so again at once */
    ILK__NODE_CALLS_FAILED /* it could not be opened, or was broken off */
} ilk__node_calls_event;

/* The connection is wanted from now on; gateway and target are borrowed. If the node's
 * user may not close connections, this calls ilk__gateway_left_open(). */
void ilk__node_calls_init(ilk__node_calls *calls, ilk__gateway *gateway,
                          const ilk__target *target, void *node);

/* Send the command, which is freed; NULL: there will be no reply. ILK__SCRIPT_NONE: it is
 * no script. */
ilk__node_call *ilk__node_calls_send(ilk__node_calls *calls,
                                     ilk__command *command, int script,
                                     ilk__node_call_ended *ended, void *owner);

/* The next thing that has happened. On REPLY the caller hands both to
 * ilk__node_call_end(). After LOST and FAILED, ilk__node_calls_end_all(). */
ilk__node_calls_event ilk__node_calls_next(ilk__node_calls *calls,
                                           ilk__node_call **out_call,
                                           ilk__reply **out_reply);
/* Frees the call, and the reply unless the owner keeps it. */
void ilk__node_call_end(ilk__node_calls *calls, ilk__node_call *call,
                        ilk__reply *reply);
/* The calls of a connection that is lost, or closed: none will have a reply. */
void ilk__node_calls_end_all(ilk__node_calls *calls);

/* Microseconds since it was sent. */
int64_t ilk__node_call_trip_us(const ilk__node_call *call);

/* When the oldest call will have waited for patience_ms; ILK__FOREVER without one. */
int64_t ilk__node_calls_silent_at(const ilk__node_calls *calls,
                                  int64_t patience_ms);

#endif
