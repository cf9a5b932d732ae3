/* SPDX-License-Identifier: MIT */
/*
 * dedicated_conn.h -- a dedicated connection, beside the lane, for a command
 * that blocks on the server or subscribes. The caller's thread drives it and
 * sleeps on it.
 *
 * Nothing of this goes over the shared lane: a blocking command there would
 * hold up everybody.
 */
#ifndef ILK__DEDICATED_CONN_H
#define ILK__DEDICATED_CONN_H

#include "client/client.h"

typedef struct ilk__dedicated_conn {
    ilk__conn *conn; /* NULL: there is none */
} ilk__dedicated_conn;

/* Connect if there is no connection. */
ilk_status ilk__dedicated_conn_open(ilk__dedicated_conn *dedicated,
                                    ilk_client *client, ilk_error *err);

/* Send all of a command; for commands of a few kilobytes. */
ilk_status ilk__dedicated_conn_send(ilk__dedicated_conn *dedicated,
                                    const ilk__command *command,
                                    ilk_error *err);

/* The next reply: ILK_OK, ILK_EAGAIN; else the connection is closed. */
ilk_status ilk__dedicated_conn_next(ilk__dedicated_conn *dedicated,
                                    ilk__reply **out, ilk_error *err);

void ilk__dedicated_conn_close(ilk__dedicated_conn *dedicated);

/*
 * Sleep until one of them may have a reply: ILK_OK; ILK_ETIMEOUT; ILK_ECLOSED;
 * ILK_EINTR: a signal came, or `interrupts` is no longer the shared state's
 * number. Closing and interrupting are noticed within a quarter of a second.
 */
ilk_status ilk__dedicated_conn_sleep(ilk_client *client,
                                     const ilk__dedicated_conn *connections,
                                     size_t count, int64_t until,
                                     uint32_t interrupts, ilk_error *err);

#endif
