/* SPDX-License-Identifier: MIT */
/*
 * link.h -- a connection of the keeper's, driven by its event loop: opened
 * when wanted, opened anew with growing pauses when it breaks.
 *
 *     DOWN --want--> CONNECTING --> UP --> (broken) DOWN ...
 *
 * Two loops drive such connections: the keeper, whose thread alone touches its
 * own, and the application's loop, under its mutex. ilk__link_next() returns
 * what happened, one thing for each call, until nothing is left.
 */
#ifndef ILK__LINK_H
#define ILK__LINK_H

#include "base/pollset.h"
#include "command.h"
#include "conn.h"

#include <poll.h>

typedef enum ilk__link_event {
    ILK__LINK_NOTHING,
    ILK__LINK_CAME_UP,
    ILK__LINK_REPLY,
    ILK__LINK_LOST, /* broken, or could not be opened */
} ilk__link_event;

typedef struct ilk__link {
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
} ilk__link;

void ilk__link_init(ilk__link *link, const ilk__target *target);
void ilk__link_close(ilk__link *link);
void ilk__link_abandon(ilk__link *link); /* in a forked child */

/* Fill in what to poll for; the time by which to call next anyway. */
int64_t ilk__link_prepare(ilk__link *link, struct pollfd *pfd);
void ilk__link_polled(ilk__link *link, const struct pollfd *pfd);

/* The next thing that happened; a reply is the caller's to free. */
ilk__link_event ilk__link_next(ilk__link *link, ilk__reply **out);

/* When up: append a command; it is written by the next flush. */
ilk_status ilk__link_send(ilk__link *link, const ilk__command *command);
void ilk__link_flush(ilk__link *link);
int ilk__link_unwritten(const ilk__link *link); /* there is more to flush */

/* Close it, as broken, and open it anew after a pause. */
void ilk__link_break(ilk__link *link, const char *why);

#endif
