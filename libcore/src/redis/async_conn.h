/* SPDX-License-Identifier: MIT */
/*
 * async_conn.h -- an asynchronous connection, driven by an event loop: opened
 * when wanted, opened anew with growing pauses when it breaks.
 *
 *     DOWN --want--> CONNECTING --> UP --> (broken) DOWN ...
 *
 * Two loops drive such connections: the keeper, whose thread alone touches its
 * own, and the application's loop, under its mutex. ilk__async_conn_next()
 * returns what happened, one thing for each call, until nothing is left.
 */
#ifndef ILK__ASYNC_CONN_H
#define ILK__ASYNC_CONN_H

#include "base/pollset.h"
#include "command.h"
#include "conn.h"

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
    ilk__pollset *pollset; /* that watches the connection; NULL: none does */
    ilk__conn *conn;
    int up;
    int readable;         /* poll() said so; or there may be replies left */
    int64_t deadline;     /* of connecting */
    int carries_commands; /* a new connection closes the one that broke */
    ilk__conn_number replaced; /* the connection that broke */
    int left_open;             /* one of those; what it carried may come late */
    int64_t retry_at;
    int retry_ms;
    ilk__buf out;
    ilk_error error; /* why it was lost */
    int64_t connects, bytes_out, bytes_in, commands, writes;
} ilk__async_conn;

void ilk__async_conn_init(ilk__async_conn *connection,
                          const ilk__target *target);
void ilk__async_conn_close(ilk__async_conn *connection);
/* in a forked child */
void ilk__async_conn_abandon(ilk__async_conn *connection);

/* Fill in what to poll for; the time by which to call next anyway. */
int64_t ilk__async_conn_prepare(ilk__async_conn *connection,
                                struct pollfd *pfd);
void ilk__async_conn_polled(ilk__async_conn *connection,
                            const struct pollfd *pfd);

/* The next thing that happened; a reply is the caller's to free. */
ilk__async_conn_result ilk__async_conn_next(ilk__async_conn *connection,
                                            ilk__reply **out);

/* When up: append a command; it is written by the next flush. */
ilk_status ilk__async_conn_send(ilk__async_conn *connection,
                                const ilk__command *command);
void ilk__async_conn_flush(ilk__async_conn *connection);
/* there is more to flush */
int ilk__async_conn_unwritten(const ilk__async_conn *connection);

/* Close it, as broken, and open it anew after a pause. */
void ilk__async_conn_break(ilk__async_conn *connection, const char *why);

#endif
