/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_conn.h -- one connection to a server: bytes to send, and frames.
 *
 * A program may close the library's descriptors and open files under their numbers. So
 * the number counts only while it is this socket's.
 */
#ifndef ILK__ZOOKEEPER_CONN_H
#define ILK__ZOOKEEPER_CONN_H

#include "stores/shared/store_socket.h"
#include "zookeeper_wire.h"

typedef struct ilk__zk_conn {
    int64_t identity;  /* of the socket */
    ilk__buf in, out;  /* not read yet, not sent yet */
    size_t frame;      /* bytes of the first frame, which has been returned */
    int64_t opened_at; /* 0: not yet */
    ilk__store_socket socket; /* the last member: it is large */
} ilk__zk_conn;

/* `turn`: which of the host's addresses comes first. ILK_ENOMEM. */
ilk_status ilk__zk_conn_new(ilk__zk_conn **out, const ilk__url *url,
                            size_t turn, int64_t deadline, ilk_error *err);
void ilk__zk_conn_free(ilk__zk_conn *conn); /* NULL is ignored */
/* In a forked child: closes the copy of the descriptor. */
void ilk__zk_conn_abandon(ilk__zk_conn *conn);

/* Whether the descriptor is still this connection's. */
int ilk__zk_conn_is_own(const ilk__zk_conn *conn);
/* It is not: leave it alone. */
void ilk__zk_conn_forget_descriptor(ilk__zk_conn *conn);

/* Connect, and send as much as possible. ILK_OK: it is open; ILK_EAGAIN: not yet; else
 * it is of no more use. */
ilk_status ilk__zk_conn_step(ilk__zk_conn *conn, ilk_error *err);
/* Read what is there, a part of it at a time: ILK_OK, ILK_EAGAIN: there was nothing;
 * else the connection has ended. */
ilk_status ilk__zk_conn_receive(ilk__zk_conn *conn, ilk_error *err);
/* The next whole frame, until the next call: ILK_OK, ILK_EAGAIN, ILK_EREPLY. */
ilk_status ilk__zk_conn_next(ilk__zk_conn *conn, ilk__span *out,
                             ilk_error *err);

int ilk__zk_conn_fd(const ilk__zk_conn *conn);
short ilk__zk_conn_events(const ilk__zk_conn *conn);

#endif
