/* SPDX-License-Identifier: MIT */
/*
 * fuzz_etcd_http.c -- any bytes as what a server of HTTP/2 sends on a connection with
 * two calls, of which one stays open.
 *
 * The linker replaces the socket: it gives out the input in pieces, and takes all.
 */
/* link: -Wl,--wrap=ilk__store_socket_step -Wl,--wrap=ilk__store_socket_send -Wl,--wrap=ilk__store_socket_receive -Wl,--wrap=ilk__store_socket_unsent */
#include "fuzz.h"

#include "base/clock.h"
#include "grpc_conn.h"
#include "http_frames.h"

enum { STEPS = 4000, PIECE_MOST = 255, HONEST = 27 };

/* SETTINGS, and its own acknowledged; DATA would need a header first. */
static const uint8_t honest[HONEST] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1,
                                       0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0};

static fuzz_input from;
static size_t piece;

ilk_status __wrap_ilk__store_socket_step(ilk__store_socket *self,
                                         ilk_error *err);
ilk_status __wrap_ilk__store_socket_send(ilk__store_socket *self,
                                         const void *data, size_t len,
                                         size_t *out_sent, ilk_error *err);
ilk_status __wrap_ilk__store_socket_receive(ilk__store_socket *self,
                                            ilk__span *out, ilk_error *err);
int __wrap_ilk__store_socket_unsent(const ilk__store_socket *self);

ilk_status __wrap_ilk__store_socket_step(ilk__store_socket *self,
                                         ilk_error *err)
{
    (void)err;
    self->stage = ILK__SOCKET_OPEN;
    return ILK_OK;
}

ilk_status __wrap_ilk__store_socket_send(ilk__store_socket *self,
                                         const void *data, size_t len,
                                         size_t *out_sent, ilk_error *err)
{
    (void)self;
    (void)data;
    (void)err;
    *out_sent = len;
    return ILK_OK;
}

ilk_status __wrap_ilk__store_socket_receive(ilk__store_socket *self,
                                            ilk__span *out, ilk_error *err)
{
    size_t len = from.left < piece ? from.left : piece;

    (void)err;
    if (!len)
        return ILK_ECONN;
    memcpy(self->received, from.at, len);
    from.at += len;
    from.left -= len;
    *out = (ilk__span){self->received, len};
    return ILK_OK;
}

int __wrap_ilk__store_socket_unsent(const ilk__store_socket *self)
{
    (void)self;
    return 0;
}

static ilk__grpc_stream *call(ilk__grpc_conn *conn, int ends)
{
    static const char message[] = "\0\0\0\0\1m";
    ilk__grpc_stream *stream = NULL;
    ilk__buf text = {.data = NULL};
    ilk__grpc_call request = {.path = "/a/b", .message = &text, .ends = ends};
    ilk_error err;

    CHECK(ilk__buf_add(&text, message, sizeof message - 1) == ILK_OK);
    (void)ilk__grpc_open(&stream, conn, &request, &err);
    ilk__buf_free(&text);
    return stream;
}

/* As the client does: messages are taken, and streams that have ended freed. */
static void take_ready(ilk__grpc_conn *conn)
{
    ilk__grpc_stream *stream;
    ilk__span message;

    while ((stream = ilk__grpc_take_ready(conn)) != NULL) {
        CHECK(ilk__buf_len(&stream->in) <= 3 * (size_t)ILK__GRPC_MOST);
        CHECK(memchr(stream->message, '\0', sizeof stream->message) != NULL);
        while (ilk__grpc_frame_first(&stream->in, &message, NULL) == ILK_OK)
            ilk__buf_drop(&stream->in, ILK__GRPC_HEAD + message.len);
        if (stream->is_closed || stream->no_memory)
            ilk__grpc_stream_free(stream);
    }
}

static void receive_all(ilk__grpc_conn *conn)
{
    ilk_status st = ILK_OK;
    ilk_error err;

    for (int i = 0; i < STEPS && (st == ILK_OK || st == ILK_EAGAIN); i++) {
        ilk__error_clear(&err);
        st = ilk__grpc_conn_step(conn, 1, &err);
        take_ready(conn);
        if (st == ILK_OK && i == 0) {
            (void)call(conn, 1);
            (void)call(conn, 0);
        }
    }
    CHECK(st != ILK_OK && st != ILK_EAGAIN); /* the input has an end */
    CHECK(st != ILK_ECONN || err.msg[0] || st == ILK_ECONN);
}

/* The count does not depend on how the bytes are cut. */
static void count_frames(ilk__span bytes)
{
    ilk__http_frames whole = {.left = 0}, parts = {.left = 0};
    size_t sum = 0;

    for (size_t i = 0; i < bytes.len; i++)
        sum += ilk__http_frames_idle(&parts, (ilk__span){bytes.at + i, 1});
    CHECK(sum == ilk__http_frames_idle(&whole, bytes));
    CHECK(sum <= bytes.len / ILK__HTTP_FRAME_HEAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ilk__url url = {.host = (char *)"127.0.0.1", .port = 1, .shown = NULL};
    ilk__grpc_conn *conn = NULL;
    ilk_error err;
    fuzz_input in = {data, size};
    char *text;
    size_t len;

    piece = fuzz_byte(&in);
    piece = piece ? piece : 1;
    count_frames((ilk__span){(const char *)in.at, in.left});
    len = HONEST + in.left;
    text = malloc(len);
    CHECK(text != NULL);
    memcpy(text, honest, HONEST);
    if (in.left)
        memcpy(text + HONEST, in.at, in.left);
    from = (fuzz_input){(const uint8_t *)text, len};
    CHECK(ilk__grpc_conn_new(&conn, &url, ilk__deadline(1000), &err) == ILK_OK);
    receive_all(conn);
    ilk__grpc_conn_free(conn);
    free(text);
    return 0;
}
