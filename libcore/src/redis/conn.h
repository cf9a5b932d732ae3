/* SPDX-License-Identifier: MIT */
/*
 * conn.h -- one connection: our own non-blocking socket, TLS if the URL asks
 * for it, the login, and hiredis' reader for the replies.
 *
 *     start -> [find] -> [resolve] -> connect -> [TLS] -> login -> [role]
 *           -> ready -> closed
 *
 * With a URL that names sentinels, one of them gives the primary's address
 * (sentinel.h), and the server must confirm that it is a primary. If there is
 * none at that address, the question goes to another sentinel after a pause,
 * until the deadline.
 *
 * One thread may send while another receives; two may not do the same.
 * Every failure is final: the caller closes the connection and starts another.
 */
#ifndef ILK__CONN_H
#define ILK__CONN_H

#include "login.h"
#include "net/url.h"
#include "reply.h"
#include "sentinel.h"

typedef struct ilk__conn ilk__conn;

/* The server that lanes and asynchronous connections connect to. */
struct ilk__target {
    const ilk__url *url;
    const char *name; /* of the connections */
    /* Until the server has accepted the connection; then first_answer_ms (0: as
     * long) until the first bytes of its answer; then the URL's reply_timeout_ms
     * for the rest of the login. So a server with a crowd of clients gets to all
     * of them. 0: the limit of ilk__conn_start() alone. */
    int64_t connect_timeout_ms;
    int64_t first_answer_ms;
    /* With sentinels: shared by all connections, and borrowed as long as they
     * live. NULL otherwise. */
    ilk__primary *primary;
    /* Makes a descriptor to a server in this process, which the connection then
     * owns; the URL's address is not used. NULL for a server elsewhere. Any
     * thread. ILK_ESYSTEM, ILK_ENOMEM. */
    ilk_status (*connect)(void *context, int *out_fd, ilk_error *err);
    /* Called when connecting failed: starts the embedded server again. Returns
     * 1 when another attempt may succeed. NULL for any other server. */
    int (*revive)(void *context);
    void *context;
};

/*
 * Begin to connect and log in: HELLO (RESP3, falling back to RESP2), AUTH,
 * SELECT, CLIENT SETNAME. A thread of its own resolves the host name, so the
 * time-out holds for that, too. It ends by the target's time-outs, and not
 * later than `limit`. The target is borrowed until the connection is
 * ready. The login closes the connection `replaces` (NULL: none) on the
 * server (see login.h). ILK_ENOMEM; ilk__conn_step() returns all other
 * failures.
 */
ilk_status ilk__conn_start(ilk__conn **out, const ilk__target *target,
                           const ilk__conn_identity *replaces, int64_t limit,
                           ilk_error *err);

/*
 * Go on as far as possible without blocking. ILK_OK: ready. ILK_EAGAIN: call
 * again when poll() reports ilk__conn_events() on ilk__conn_fd(), or when
 * ilk__conn_until() has passed. Anything else is the failure: ILK_ETIMEOUT
 * (the deadline has passed), ILK_ECONN, ILK_EAUTH, ILK_EINVAL (a TLS file).
 * With sentinels, when the primary could not be reached until the deadline,
 * ILK_ECONN with the last reason.
 */
ilk_status ilk__conn_step(ilk__conn *conn, ilk_error *err);

/* Start, then poll and step until ready or failed. Signals do not end it. */
ilk_status ilk__conn_open(ilk__conn **out, const ilk__target *target,
                          const ilk__conn_identity *replaces, int64_t limit,
                          ilk_error *err);

/* The pause after an attempt that failed (backoff.h). With sentinels it is always a
 * short one: they may name another primary at any time. */
int64_t ilk__conn_pause_ms(const ilk__target *target, int *step_ms,
                           ilk_status why);

int ilk__conn_fd(const ilk__conn *conn); /* may change while connecting */
short ilk__conn_events(const ilk__conn *conn);
/* The deadline; earlier while it must go on to the next address or sentinel,
 * try a busy unix socket again, or look whether the primary was switched. */
int64_t ilk__conn_until(const ilk__conn *conn);

/*
 * Send as many bytes as the socket accepts; never blocks. Without TLS,
 * *out_sent may be less than len: poll for POLLOUT and send the rest. With
 * TLS, *out_sent is len, and the connection keeps the encrypted bytes that the
 * socket did not accept: while ilk__conn_unsent() is true, poll for POLLOUT
 * and call again with len 0. ILK_ECONN.
 */
ilk_status ilk__conn_send(ilk__conn *conn, const void *data, size_t len,
                          size_t *out_sent, ilk_error *err);
int ilk__conn_unsent(const ilk__conn *conn);

/*
 * Receive once and feed the reader: ILK_OK, ILK_EAGAIN (nothing to receive),
 * ILK_ECONN (closed by the server, or an error), ILK_EREPLY.
 */
ilk_status ilk__conn_recv(ilk__conn *conn, size_t *out_bytes, ilk_error *err);

/* The next whole reply received: ILK_OK, ILK_EAGAIN, ILK_EREPLY. */
ilk_status ilk__conn_reply(ilk__conn *conn, ilk__reply **out, ilk_error *err);

int ilk__conn_protocol(const ilk__conn *conn); /* 2 or 3 */

/* Identifies this connection to the one that replaces it. Only when ready. */
ilk__conn_identity ilk__conn_identity_of(const ilk__conn *conn);
/* 1: the replaced connection could not be closed on the server, which may still
 * execute commands that were sent over it. */
int ilk__conn_left_open(const ilk__conn *conn);

/* 1: sentinels have announced another primary since the address of this one
 * was found. Any thread that may use the connection. */
int ilk__conn_is_outdated(const ilk__conn *conn);

/* End sending and receiving: the next of them fails, and poll() reports it. */
void ilk__conn_shutdown(const ilk__conn *conn);

/* Makes close() discard the bytes that the kernel has not sent yet. */
void ilk__conn_drop_unsent(const ilk__conn *conn);

/* Close the descriptor and free everything; sends nothing. NULL is ignored. In
 * a forked child it only closes the descriptor. */
void ilk__conn_close(ilk__conn *conn);

#endif
