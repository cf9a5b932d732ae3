/* SPDX-License-Identifier: MIT */
/*
 * async_conn.h -- an asynchronous connection, driven by an event loop. It is
 * opened when it is wanted, and reopened after growing pauses when it breaks.
 *
 *     DOWN --want--> CONNECTING --> UP --> (broken) DOWN ...
 *
 * One turn of a loop polls for what prepare() filled in, calls next() until it
 * returns ILK__ASYNC_CONN_NOTHING, and then calls flush(). Each call of next()
 * returns one result. A turn may stop before that; then the next one is due at
 * once.
 *
 * Two loops drive such connections: the keeper, whose connections are used by
 * its own thread only, and the application's loop, under the loop's mutex.
 */
#ifndef ILK__ASYNC_CONN_H
#define ILK__ASYNC_CONN_H

#include "base/pollset.h"
#include "command.h"
#include "conn.h"
#include "expected_reply.h"
#include "traffic.h"

#include <poll.h>

typedef enum ilk__async_conn_result {
    ILK__ASYNC_CONN_NOTHING,
    ILK__ASYNC_CONN_CAME_UP,
    ILK__ASYNC_CONN_REPLY,
    ILK__ASYNC_CONN_LOST, /* broken, or could not be opened */
} ilk__async_conn_result;

typedef struct ilk__async_conn {
    const ilk__target *target;
    int wanted;
    ilk__pollset *pollset; /* the one that contains its descriptor, or NULL */
    ilk__conn *conn;
    int up;
    int readable;         /* recv(2) may return bytes */
    int carries_commands; /* a new connection first kills the one that broke */
    ilk__conn_identity replaced; /* the connection that broke */
    int left_open; /* a broken one may be open on the server: its commands may
                    * still be executed */
    int64_t retry_at; /* no connection is opened before */
    int retry_ms;
    int64_t next_number; /* of the next request */
    ilk__buf out;
    int was_opening;      /* it could not be opened; 0: it broke */
    ilk_error error;      /* why it was lost */
    ilk__traffic traffic; /* without `connected`, which is `up` */
} ilk__async_conn;

void ilk__async_conn_init(ilk__async_conn *connection,
                          const ilk__target *target);
void ilk__async_conn_close(ilk__async_conn *connection);
/* In a forked child: close the descriptor and leave the rest alone. */
void ilk__async_conn_abandon(ilk__async_conn *connection);

/* Fill in what to poll for. Returns the time by which ilk__async_conn_next()
 * must be called even if poll() reports nothing. */
int64_t ilk__async_conn_prepare(ilk__async_conn *connection,
                                struct pollfd *pfd);
/* The same, in the next place of an array: `count` of its `room` places are
 * used. *out_at is the place plus 1, or 0 when there is no descriptor; *until
 * becomes the earlier of the two times. Returns the new count; if it is above
 * `room`, the array is too short and has no entry for this connection. */
size_t ilk__async_conn_add(ilk__async_conn *connection, size_t *out_at,
                           struct pollfd *fds, size_t room, size_t count,
                           int64_t *until);
void ilk__async_conn_polled(ilk__async_conn *connection,
                            const struct pollfd *pfd);

/* The next result; on ILK__ASYNC_CONN_REPLY the caller frees *out. */
ilk__async_conn_result ilk__async_conn_next(ilk__async_conn *connection,
                                            ilk__reply **out);

/* Append a command, which the next flush writes; *out (may be NULL) is the
 * reply to expect. Only while it is up. ILK_ENOMEM. */
ilk_status ilk__async_conn_send(ilk__async_conn *connection,
                                const ilk__command *command,
                                ilk__expected_reply *out);
void ilk__async_conn_flush(ilk__async_conn *connection);
/* 1 while there is more to flush. */
int ilk__async_conn_unwritten(const ilk__async_conn *connection);

/* After a switch of the primary (sentinel.h): end a connection to another
 * server, and connect without a pause. */
void ilk__async_conn_leave_old(ilk__async_conn *connection);

/* Treat it as broken: close it, and reopen it after a pause. */
void ilk__async_conn_break(ilk__async_conn *connection, const char *why);

void ilk__async_conn_add_traffic(const ilk__async_conn *connection,
                                 ilk__traffic *sum);

#endif
