/* SPDX-License-Identifier: MIT */
/* zookeeper_conn.c -- one connection to a server: bytes to send, and frames. */
#include "zookeeper_conn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptor.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>

enum { KEPT_ROOM = 1024 * 1024 }; /* of an empty buffer */

ilk_status ilk__zk_conn_new(ilk__zk_conn **out, const ilk__url *url,
                            size_t turn, int64_t deadline, ilk_error *err)
{
    ilk__zk_conn *conn = ilk__malloc(sizeof *conn);

    *out = conn;
    if (!conn)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    memset(conn, 0, offsetof(ilk__zk_conn, socket));
    conn->identity = -1;
    ilk__store_socket_init(&conn->socket, "ZooKeeper", url, NULL, deadline);
    conn->socket.turn = turn;
    return ILK_OK;
}

void ilk__zk_conn_free(ilk__zk_conn *conn)
{
    if (!conn)
        return;
    ilk__store_socket_close(&conn->socket);
    ilk__buf_free(&conn->in);
    if (conn->out.data)
        ilk__wipe(conn->out.data, conn->out.room); /* it may have the login */
    ilk__buf_free(&conn->out);
    ilk__free(conn);
}

/* ---- the descriptor ------------------------------------------------------ */

int ilk__zk_conn_is_own(const ilk__zk_conn *conn)
{
    return conn->socket.fd < 0
           || ilk__descriptor_identity(conn->socket.fd) == conn->identity;
}

void ilk__zk_conn_forget_descriptor(ilk__zk_conn *conn)
{
    conn->socket.fd = -1;
}

void ilk__zk_conn_abandon(ilk__zk_conn *conn)
{
    const int fd = ilk__store_socket_fd(&conn->socket);

    if (fd >= 0 && ilk__zk_conn_is_own(conn))
        ilk__descriptor_close(fd);
    ilk__zk_conn_forget_descriptor(conn);
}

int ilk__zk_conn_fd(const ilk__zk_conn *conn)
{
    return ilk__store_socket_fd(&conn->socket);
}

short ilk__zk_conn_events(const ilk__zk_conn *conn)
{
    if (!conn->opened_at)
        return conn->socket.events;
    return ilk__buf_len(&conn->out) || ilk__store_socket_unsent(&conn->socket)
               ? POLLIN | POLLOUT
               : POLLIN;
}

/* ---- bytes and frames ---------------------------------------------------- */

static ilk_status connect_step(ilk__zk_conn *conn, ilk_error *err)
{
    ilk_status st = ilk__store_socket_step(&conn->socket, err);

    if (conn->socket.fd >= 0)
        conn->identity = ilk__descriptor_identity(conn->socket.fd);
    if (st == ILK_OK)
        conn->opened_at = ilk__now_ms();
    return st;
}

ilk_status ilk__zk_conn_step(ilk__zk_conn *conn, ilk_error *err)
{
    ilk_status st = ILK_OK;
    size_t sent = 0;

    if (!conn->opened_at)
        st = connect_step(conn, err);
    if (st == ILK_OK
        && (ilk__buf_len(&conn->out)
            || ilk__store_socket_unsent(&conn->socket)))
        st = ilk__store_socket_send(&conn->socket, ilk__buf_data(&conn->out),
                                    ilk__buf_len(&conn->out), &sent, err);
    ilk__buf_drop(&conn->out, sent);
    return st;
}

ilk_status ilk__zk_conn_receive(ilk__zk_conn *conn, ilk_error *err)
{
    ilk__span bytes;
    ilk_status st = ilk__store_socket_receive(&conn->socket, &bytes, err);

    if (st == ILK_OK && ilk__buf_add(&conn->in, bytes.at, bytes.len))
        return ilk__fail(err, ILK_ENOMEM, "no memory for a reply");
    return st;
}

ilk_status ilk__zk_conn_next(ilk__zk_conn *conn, ilk__span *out, ilk_error *err)
{
    ilk_status st;

    ilk__buf_drop(&conn->in, conn->frame);
    conn->frame = 0;
    if (!ilk__buf_len(&conn->in) && conn->in.room > KEPT_ROOM)
        ilk__buf_free(&conn->in);
    st = ilk__zk_first_frame(&conn->in, out, err);
    if (st == ILK_OK)
        conn->frame = 4 + out->len;
    return st;
}
