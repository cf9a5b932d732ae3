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

enum {
    ILK__CONN_RECEIVED = 64 * 1024,
    ILK__CONN_WHERE = 280,
    ILK__CONN_HOST = 256
};

typedef enum ilk__conn_stage {
    ILK__CONN_FIND,
    ILK__CONN_RESOLVE,
    ILK__CONN_DIAL,
    ILK__CONN_TLS,
    ILK__CONN_LOGIN,
    ILK__CONN_ROLE,
    ILK__CONN_READY,
    ILK__CONN_FAILED
} ilk__conn_stage;

struct ilk__conn {
    ilk__conn_stage stage;
    int fd; /* the socket; -1 before there is one */
    short events;
    pid_t pid;       /* the owner; a forked child must not use the rest */
    ilk__conn *next; /* in a forked child's list `inherited` */
    const ilk__target *target; /* borrowed until ready */
    int64_t limit;             /* of the caller */
    /* The first deadline, which all attempts share when there are sentinels. */
    int64_t connect_until;
    int64_t deadline; /* becomes later when the server accepts and answers */
    int has_answered; /* bytes have come */
    int64_t until;    /* call step again then, with or without events */

    const ilk__url *url; /* the target's, or `found` */
    ilk__conn_identity replaces;

    /* With sentinels only: */
    ilk__sentinel_search *search; /* until ready */
    ilk__primary *primary;
    uint32_t switches; /* primary->switches when the search began */
    uint64_t server;   /* identifies the address found */
    ilk__url found;    /* the target's URL with this address */
    char host[ILK__CONN_HOST];
    int searching;
    int64_t pause_until; /* the next search begins then */
    ilk_error reason;    /* why the last attempt failed */
    int asked_role;

    ilk__resolve *resolve;
    const struct addrinfo *address; /* the one being tried */

    ilk__login login;
    ilk__buf login_out; /* commands of the login that are not sent yet */
    ilk_error failure;  /* why the stage is ILK__CONN_FAILED */

    struct redisReader *reader;
    ilk__tls *tls;
    ilk__buf sealed;    /* encrypted bytes that the socket did not accept */
    atomic_size_t kept; /* their number, for any thread to read */
    char where[ILK__CONN_WHERE];       /* host:port or path, for messages */
    char received[ILK__CONN_RECEIVED]; /* bytes just received */
};

/* Run the current stage: ILK_OK (the stage is complete), ILK_EAGAIN, or the
 * failure. err must not be NULL. Not to be called when ready or failed. */
ilk_status ilk__conn_stage_step(ilk__conn *conn, ilk_error *err);

/* Allow so much time from now on, unless more is left; 0: as it is. */
void ilk__conn_extend(ilk__conn *conn, int64_t ms);

void ilk__conn_hang_up(ilk__conn *conn); /* close the socket, if any */

void ilk__conn_name_peer(ilk__conn *conn); /* set `where` by the URL */
/* Compose the login's first commands. ILK_ENOMEM. */
ilk_status ilk__conn_begin_login(ilk__conn *conn);

/* Send the encrypted bytes. ILK_OK also when the socket did not accept all;
 * the rest stays in `sealed`. */
ilk_status ilk__conn_flush(ilk__conn *conn, ilk_error *err);

/* One recv(2) into `received`. ILK_OK, ILK_EAGAIN, ILK_ECONN. */
ilk_status ilk__conn_fetch(ilk__conn *conn, size_t *out_len, ilk_error *err);

#endif
