/* SPDX-License-Identifier: MIT */
/*
 * conn_wire.c -- sends and receives bytes, with one system call per function.
 *
 *     plain   send: caller -> socket
 *             recv: socket -> received -> reader
 *     TLS     send: caller -> tls -> sealed -> socket
 *             recv: socket -> received -> tls -> received -> reader
 *
 * `sealed` contains the encrypted bytes that the socket has not accepted yet;
 * only the sending thread uses it. `kept` is their number, which any thread
 * may read.
 */
#include "conn_internal.h"

#include "net/socket_io.h"

#include <errno.h>
#include <string.h>

static ilk_status broken(const ilk__conn *conn, int error, ilk_error *err)
{
    return ilk__fail(err, ILK_ECONN, "the connection to %s broke: %s",
                     conn->where, strerror(error));
}

/* The TLS layer's error, with the server's address in front of the text. */
static ilk_status tls_broke(const ilk__conn *conn, const ilk_error *why,
                            ilk_error *err)
{
    return ilk__fail(err, (ilk_status)why->code, "the connection to %s: %s",
                     conn->where, why->msg);
}

/* One send(2); *out_sent is 0 when the socket accepts nothing now. */
static ilk_status send_some(ilk__conn *conn, const void *data, size_t len,
                            size_t *out_sent, ilk_error *err)
{
    return ilk__socket_send(conn->fd, data, len, out_sent)
               ? ILK_OK
               : broken(conn, errno, err);
}

/* Append the TLS layer's encrypted bytes to `sealed`. */
static ilk_status seal(ilk__conn *conn, ilk_error *err)
{
    size_t pending = ilk__tls_pending(conn->tls);
    char *room;

    if (pending == 0)
        return ILK_OK;
    room = ilk__buf_reserve(&conn->sealed, pending);
    if (room == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory to send to %s",
                         conn->where);
    ilk__buf_grew(&conn->sealed, ilk__tls_get(conn->tls, room, pending));
    return ILK_OK;
}

ilk_status ilk__conn_flush(ilk__conn *conn, ilk_error *err)
{
    ilk_status status = seal(conn, err);
    size_t len = ilk__buf_len(&conn->sealed), sent = 0;

    if (status == ILK_OK && len > 0) {
        status = send_some(conn, ilk__buf_data(&conn->sealed), len, &sent, err);
        ilk__buf_drop(&conn->sealed, sent);
    }
    atomic_store(&conn->kept, len - sent);
    return status;
}

ilk_status ilk__conn_send(ilk__conn *conn, const void *data, size_t len,
                          size_t *out_sent, ilk_error *err)
{
    ilk_status status;
    ilk_error why;

    *out_sent = 0;
    if (conn->tls == NULL)
        return len == 0 ? ILK_OK : send_some(conn, data, len, out_sent, err);
    if (len > 0) {
        status = ilk__tls_write(conn->tls, data, len, &why);
        if (status != ILK_OK)
            return tls_broke(conn, &why, err);
        *out_sent = len;
    }
    return ilk__conn_flush(conn, err);
}

int ilk__conn_unsent(const ilk__conn *conn)
{
    if (conn->tls == NULL)
        return 0;
    return atomic_load(&conn->kept) > 0 || ilk__tls_pending(conn->tls) > 0;
}

ilk_status ilk__conn_fetch(ilk__conn *conn, size_t *out_len, ilk_error *err)
{
    switch (ilk__socket_receive(conn->fd, conn->received, sizeof conn->received,
                                out_len)) {
    case ILK__SOCKET_BYTES: return ILK_OK;
    case ILK__SOCKET_NOTHING: return ILK_EAGAIN;
    case ILK__SOCKET_CLOSED:
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s closed the connection", conn->where);
    default: return broken(conn, errno, err);
    }
}

/* Decrypt all bytes and feed them to the reader. A failure behind some good
 * bytes is returned by the next call only, so that the server's last reply
 * before it closed is still read. */
static ilk_status unseal(ilk__conn *conn, size_t *out_bytes, ilk_error *err)
{
    ilk_status status;
    ilk_error why;
    size_t len;

    for (;;) {
        status = ilk__tls_read(conn->tls, conn->received, sizeof conn->received,
                               &len, &why);
        if (status != ILK_OK && *out_bytes > 0)
            return ILK_OK;
        if (status != ILK_OK)
            return status == ILK_EAGAIN ? status : tls_broke(conn, &why, err);
        status = ilk__reader_feed(conn->reader, conn->received, len, err);
        if (status != ILK_OK)
            return status;
        *out_bytes += len;
    }
}

/* Decrypts even when the socket has nothing: bytes that arrived together with
 * the end of the handshake are in the TLS layer already. */
static ilk_status recv_sealed(ilk__conn *conn, size_t *out_bytes,
                              ilk_error *err)
{
    ilk_status fetched, status;
    size_t len;

    fetched = ilk__conn_fetch(conn, &len, err);
    if (fetched == ILK_OK) {
        status = ilk__tls_put(conn->tls, conn->received, len, err);
        if (status != ILK_OK)
            return status;
    }
    status = unseal(conn, out_bytes, fetched == ILK_ECONN ? NULL : err);
    return status == ILK_OK || fetched != ILK_ECONN ? status : fetched;
}

ilk_status ilk__conn_recv(ilk__conn *conn, size_t *out_bytes, ilk_error *err)
{
    ilk_status status;
    size_t len;

    *out_bytes = 0;
    if (conn->tls != NULL)
        return recv_sealed(conn, out_bytes, err);
    status = ilk__conn_fetch(conn, &len, err);
    if (status != ILK_OK)
        return status;
    *out_bytes = len;
    return ilk__reader_feed(conn->reader, conn->received, len, err);
}

ilk_status ilk__conn_reply(ilk__conn *conn, ilk__reply **out, ilk_error *err)
{
    return ilk__reader_next(conn->reader, out, err);
}
