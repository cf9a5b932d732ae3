/* SPDX-License-Identifier: MIT */
/*
 * mysql_dial.h -- connects and logs in over TLS, in a thread of its own.
 *
 * The library has calls that do not block, but over TLS two of its steps block in them
 * as well: the look-up of the host, whose name it needs for the check of the certificate,
 * and the TLS handshake. So a detached thread connects, as one looks up names
 * (net/resolve.h). The thread and the caller share an ilk__mysql_dial, and the last of
 * them frees it.
 */
#ifndef ILK__MYSQL_DIAL_H
#define ILK__MYSQL_DIAL_H

#include "mysql_frames.h"

#include <mysql.h>

typedef struct ilk__mysql_dial ilk__mysql_dial;

/* To where, and as whom. All texts are copied. */
typedef struct ilk__mysql_target {
    const char *host, *user, *password, *database;
    const char *methods; /* to log in; not copied */
    int port;
} ilk__mysql_target;

/* Connect `mysql`, which has its options. It belongs to the dial from now on, also
 * after an error: ILK_ENOMEM, ILK_ESYSTEM (no descriptor, or no thread). */
ilk_status ilk__mysql_dial_start(ilk__mysql_dial **out, MYSQL *mysql,
                                 const ilk__mysql_target *target, int64_t until,
                                 ilk_error *err);

/* Readable when the result is ready. */
int ilk__mysql_dial_fd(const ilk__mysql_dial *dial);

/* The connection, or with *connected 0 the one that has the error; it belongs to the
 * caller. `frames` is what its server has sent. NULL: not ready yet. */
MYSQL *ilk__mysql_dial_result(ilk__mysql_dial *dial, int *connected,
                              ilk__mysql_frames *frames);

/* Ends the connection if it is not ready, and with it the thread. */
void ilk__mysql_dial_free(ilk__mysql_dial *dial); /* NULL is ignored */

#endif
