/* SPDX-License-Identifier: MIT */
/*
 * conn.h -- one connection: our own non-blocking socket, TLS when asked,
 * login, and hiredis' reader behind it.
 *
 *     start -> [resolve] -> connect -> [TLS] -> login -> ready -> closed
 *
 * One thread may send while another receives; two may not do the same.
 * Every failure is final: close it and start another.
 */
#ifndef ILK__CONN_H
#define ILK__CONN_H

#include "login.h"
#include "net/url.h"
#include "reply.h"

typedef struct ilk__conn ilk__conn;

/* Where connections lead to, as the lane and asynchronous connections need
 * it. */
typedef struct ilk__target {
    const ilk__url *url;
    const char *name; /* of the connections */
    int64_t connect_timeout_ms;
    /* Called when nobody listens: start the server again if it is ours to
     * start. 1 when another try may succeed. May be NULL. */
    int (*revive)(void *context);
    void *context;
} ilk__target;

/*
 * Begin to connect and log in: HELLO (RESP3, falling back to RESP2), AUTH,
 * SELECT, CLIENT SETNAME. Resolving a name happens beside and never outlasts
 * the deadline. url and name are borrowed until the connection is ready. The
 * one that it replaces, if any, is closed on the server first (see login.h).
 * ILK_ENOMEM; other failures come from ilk__conn_step().
 */
ilk_status ilk__conn_start(ilk__conn **out, const ilk__url *url,
                           const char *name, const ilk__conn_number *replaces,
                           int64_t deadline, ilk_error *err);

/*
 * Go on as far as possible without blocking: ILK_OK when ready, ILK_EAGAIN to
 * be called again when poll() reports ilk__conn_events() on ilk__conn_fd() or
 * ilk__conn_until() has come, anything else is the failure: ILK_ETIMEOUT when
 * the deadline passed, ILK_ECONN, ILK_EAUTH, ILK_EINVAL (a TLS file), ...
 */
ilk_status ilk__conn_step(ilk__conn *conn, ilk_error *err);

/* start, then poll and step to the end. Signals do not end it. */
ilk_status ilk__conn_open(ilk__conn **out, const ilk__url *url,
                          const char *name, const ilk__conn_number *replaces,
                          int64_t deadline, ilk_error *err);

int ilk__conn_fd(const ilk__conn *conn); /* may change while connecting */
short ilk__conn_events(const ilk__conn *conn);
/* The deadline, or earlier while there is another address to try. */
int64_t ilk__conn_until(const ilk__conn *conn);

/*
 * Send what the socket takes. *out_sent may be less than len: poll for
 * POLLOUT and go on. With TLS all of len is taken and what the socket did not
 * take is kept inside: while ilk__conn_unsent() is true poll for POLLOUT and
 * call with len 0. ILK_ECONN.
 */
ilk_status ilk__conn_send(ilk__conn *conn, const void *data, size_t len,
                          size_t *out_sent, ilk_error *err);
int ilk__conn_unsent(const ilk__conn *conn);

/*
 * Receive once and feed the reader: ILK_OK, ILK_EAGAIN (nothing there),
 * ILK_ECONN (closed by the server, or an error), ILK_EREPLY.
 */
ilk_status ilk__conn_recv(ilk__conn *conn, size_t *out_bytes, ilk_error *err);

/* The next whole reply received: ILK_OK, ILK_EAGAIN, ILK_EREPLY. */
ilk_status ilk__conn_reply(ilk__conn *conn, ilk__reply **out, ilk_error *err);

int ilk__conn_protocol(const ilk__conn *conn); /* 2 or 3 */

/* For the connection that replaces this one; once it is ready. */
ilk__conn_number ilk__conn_number_of(const ilk__conn *conn);
/* 1: the server may still execute commands of the one that this replaced. */
int ilk__conn_left_open(const ilk__conn *conn);

/* Before a close: what the system has not sent yet is never sent. */
void ilk__conn_drop_unsent(const ilk__conn *conn);

/* Close the descriptor and free all; sends nothing. NULL is fine. In a
 * fork's child only the descriptor is closed. */
void ilk__conn_close(ilk__conn *conn);

#endif
