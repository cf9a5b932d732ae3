/* SPDX-License-Identifier: MIT */
/*
 * dedicated_conn.h -- a dedicated connection, for a command that blocks in the
 * server or subscribes. On the shared lane such a command would delay all other
 * threads. The caller's thread does the I/O and sleeps in poll().
 */
#ifndef ILK__DEDICATED_CONN_H
#define ILK__DEDICATED_CONN_H

#include "client/client.h"

typedef struct ilk__dedicated_conn {
    ilk__conn *conn;             /* NULL: there is none */
    ilk__conn_identity replaced; /* see ilk__dedicated_conn_abandon() */
} ilk__dedicated_conn;

/* If there is no connection, connects until `until`, or the connect timeout if that is
 * shorter. On ILK_OK the server has closed the connection that was abandoned before, if
 * the user may close connections (redis/login.h). */
ilk_status ilk__dedicated_conn_open(ilk__dedicated_conn *dedicated,
                                    ilk_client *client, int64_t until,
                                    ilk_error *err);

/* Sends a whole command without waiting; for commands of a few kilobytes. */
ilk_status ilk__dedicated_conn_send(ilk__dedicated_conn *dedicated,
                                    const ilk__command *command,
                                    ilk_error *err);

/* Reads the next reply. ILK_EAGAIN: none yet. On any other failure the
 * connection is closed. */
ilk_status ilk__dedicated_conn_next(ilk__dedicated_conn *dedicated,
                                    ilk__reply **out, ilk_error *err);

void ilk__dedicated_conn_close(ilk__dedicated_conn *dedicated);
/* Closes it with a command under way, which the server may execute until it notices
 * that. */
void ilk__dedicated_conn_abandon(ilk__dedicated_conn *dedicated);

/*
 * Sleeps until one of the connections may have a reply (ILK_OK), or until one of these:
 * ILK_ETIMEOUT; ILK_ECLOSED: the client is closed; ILK_EINTR: a system signal
 * came, or the shared state's number of interrupts differs from `interrupts`;
 * ILK_ECANCELLED: the client is stopped, and the caller is not `leaving`.
 * It notices all of these within a quarter of a second.
 */
ilk_status ilk__dedicated_conn_sleep(ilk_client *client,
                                     const ilk__dedicated_conn *connections,
                                     size_t count, int64_t until,
                                     uint32_t interrupts, int leaving,
                                     ilk_error *err);

#endif
