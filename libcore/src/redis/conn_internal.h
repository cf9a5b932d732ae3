/* SPDX-License-Identifier: MIT */
/* conn_internal.h -- what a connection is made of; for conn*.c only. */
#ifndef ILK__CONN_INTERNAL_H
#define ILK__CONN_INTERNAL_H

#include "base/buf.h"
#include "conn.h"
#include "login.h"
#include "net/resolve.h"
#include "net/tls.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { ILK__CONN_INBOX = 64 * 1024, ILK__CONN_WHERE = 280 };

typedef enum ilk__conn_stage {
    ILK__CONN_RESOLVE,
    ILK__CONN_DIAL,
    ILK__CONN_TLS,
    ILK__CONN_LOGIN,
    ILK__CONN_READY,
    ILK__CONN_FAILED
} ilk__conn_stage;

struct ilk__conn {
    ilk__conn_stage stage;
    int fd; /* the socket; -1 before there is one */
    short events;
    pid_t pid;           /* in a fork's child nothing here may be trusted */
    ilk__conn *next;     /* in the child's list of those left alone */
    const ilk__url *url; /* borrowed until ready */
    int64_t deadline;
    int64_t until; /* step again then, come events or not */

    ilk__resolve *resolve;
    const struct addrinfo *address; /* the one being tried */

    ilk__login login;
    ilk__buf words;    /* login's, not yet sent */
    ilk_error failure; /* of the last address tried; then the final one */

    struct redisReader *reader;
    ilk__tls *tls;
    ilk__buf sealed;    /* encrypted bytes that the socket did not take */
    atomic_size_t kept; /* their number, for any thread to read */
    char where[ILK__CONN_WHERE]; /* host:port or path, for messages */
    char inbox[ILK__CONN_INBOX]; /* from the socket */
};

/* Go on with the stage that the connection is in: ILK_OK (it is done),
 * ILK_EAGAIN, or the failure. err is not NULL. Not when ready or failed. */
ilk_status ilk__conn_stage_step(ilk__conn *conn, ilk_error *err);

void ilk__conn_hang_up(ilk__conn *conn); /* close the socket, if any */

/* Send what the TLS layer has to say. ILK_OK also when some is kept. */
ilk_status ilk__conn_flush(ilk__conn *conn, ilk_error *err);

/* One recv(2) into the inbox. ILK_OK, ILK_EAGAIN, ILK_ECONN. */
ilk_status ilk__conn_fetch(ilk__conn *conn, size_t *out_len, ilk_error *err);

#endif
