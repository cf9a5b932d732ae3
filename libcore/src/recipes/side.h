/* SPDX-License-Identifier: MIT */
/*
 * side.h -- a connection beside the lane, for a command that blocks on the
 * server or subscribes. The caller's thread drives it and sleeps on it.
 *
 * Nothing of this goes over the shared lane: a blocking command there would
 * hold up everybody.
 */
#ifndef ILK__SIDE_H
#define ILK__SIDE_H

#include "client/client.h"

typedef struct ilk__side {
    ilk__conn *conn; /* NULL: there is none */
} ilk__side;

/* Connect if there is no connection. */
ilk_status ilk__side_open(ilk__side *side, ilk_client *client, ilk_error *err);

/* Send all of a command; for commands of a few kilobytes. */
ilk_status ilk__side_send(ilk__side *side, const ilk__command *command,
                          ilk_error *err);

/* The next reply: ILK_OK, ILK_EAGAIN; else the connection is closed. */
ilk_status ilk__side_next(ilk__side *side, ilk__reply **out, ilk_error *err);

void ilk__side_close(ilk__side *side);

/*
 * Sleep until one of them may have a reply: ILK_OK; ILK_ETIMEOUT; ILK_ECLOSED;
 * ILK_EINTR: a signal came, or `interrupts` is no longer the shared state's
 * number. Closing and interrupting are noticed within a quarter of a second.
 */
ilk_status ilk__side_sleep(ilk_client *client, const ilk__side *sides,
                           size_t count, int64_t until, uint32_t interrupts,
                           ilk_error *err);

#endif
