/* SPDX-License-Identifier: MIT */
/*
 * grpc_conn.h -- one HTTP/2 connection with gRPC calls.
 *
 * nghttp2 does the protocol and no I/O:
 *
 *     ilk__grpc_send -> stream.out -> nghttp2 -> out      -> socket
 *     stream.in      <- nghttp2    <- received            <- socket
 *
 * Its callbacks only fill the streams and put them into a list; the owner takes them
 * from there when nghttp2 has returned.
 */
#ifndef ILK__GRPC_CONN_H
#define ILK__GRPC_CONN_H

#include "grpc_frame.h"
#include "stores/shared/store_socket.h"

typedef struct ilk__grpc_conn ilk__grpc_conn;
typedef struct ilk__grpc_stream ilk__grpc_stream;

enum { ILK__GRPC_MESSAGE_TEXT = 200 };

struct ilk__grpc_stream {
    ilk__grpc_conn *conn;
    ilk__grpc_stream *next, *previous; /* of the connection's */
    ilk__grpc_stream *next_ready;
    int is_ready;
    void *owner;
    int kind; /* the owner's */
    int32_t id;
    ilk__buf out; /* frames to send */
    int ends;     /* nothing follows them */
    ilk__buf in;  /* frames received */
    int was_sent; /* the server may have seen it */

    int http_status; /* 0: none yet */
    int is_grpc;     /* by its content type */
    int code;        /* grpc-status, -1: none yet */
    char message[ILK__GRPC_MESSAGE_TEXT];
    int is_closed;       /* nothing follows what was received */
    int is_over;         /* for HTTP/2 as well: no need to reset it */
    uint32_t http_error; /* of its end, by HTTP/2 */
    int was_refused;     /* the server says that it has not executed it */
    int no_memory;
};

/* ILK_ENOMEM. The URL is borrowed, see store_socket.h. */
ilk_status ilk__grpc_conn_new(ilk__grpc_conn **out, const ilk__url *url,
                              int64_t deadline, ilk_error *err);
/* Frees the streams that are left, too. NULL is ignored. */
void ilk__grpc_conn_free(ilk__grpc_conn *conn);
/* In a forked child: closes copies of descriptors. */
void ilk__grpc_conn_abandon(ilk__grpc_conn *conn);

/* Connect, send and receive as far as possible without blocking. ILK_OK: the server
 * speaks HTTP/2, and calls can be made; ILK_EAGAIN: not yet; else the connection is
 * of no more use. */
ilk_status ilk__grpc_conn_step(ilk__grpc_conn *conn, int may_receive,
                               ilk_error *err);
int ilk__grpc_conn_fd(const ilk__grpc_conn *conn);
short ilk__grpc_conn_events(const ilk__grpc_conn *conn);
int64_t ilk__grpc_conn_until(const ilk__grpc_conn *conn);
const char *ilk__grpc_conn_where(const ilk__grpc_conn *conn);

/* 0: no new call; the server goes away, or all numbers of streams are used. */
int ilk__grpc_conn_accepts(const ilk__grpc_conn *conn);
/* How many streams may be open at a time, by the server's settings. */
size_t ilk__grpc_conn_stream_limit(const ilk__grpc_conn *conn);
size_t ilk__grpc_conn_stream_count(const ilk__grpc_conn *conn);
int64_t ilk__grpc_conn_received_at(const ilk__grpc_conn *conn);
int64_t ilk__grpc_conn_bytes_in(const ilk__grpc_conn *conn);
int64_t ilk__grpc_conn_bytes_out(const ilk__grpc_conn *conn);
ilk_status ilk__grpc_conn_ping(ilk__grpc_conn *conn, ilk_error *err);

typedef struct ilk__grpc_call {
    const char *path;  /* "/etcdserverpb.KV/Txn" */
    const char *token; /* or NULL */
    int has_leader;    /* only where the member has one */
    const ilk__buf *message;
    int ends; /* nothing follows the message */
} ilk__grpc_call;

/* Begin a stream. ILK_ENOMEM, ILK_ECONN: the connection takes no more. */
ilk_status ilk__grpc_open(ilk__grpc_stream **out, ilk__grpc_conn *conn,
                          const ilk__grpc_call *call, ilk_error *err);
/* More on a stream that has not ended. ILK_ENOMEM. */
ilk_status ilk__grpc_send(ilk__grpc_stream *stream, const ilk__buf *message,
                          ilk_error *err);
/* Forget it; a stream that is not closed is reset. NULL is ignored. */
void ilk__grpc_stream_free(ilk__grpc_stream *stream);

/* A stream that has received messages, or was closed, since it was taken last; or
 * NULL. */
ilk__grpc_stream *ilk__grpc_take_ready(ilk__grpc_conn *conn);

#endif
