/* SPDX-License-Identifier: MIT */
/* grpc_conn.c -- one HTTP/2 connection with gRPC calls. */
#include "grpc_conn.h"
#include "http_frames.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptor.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OUT_MOST = 256 * 1024,   /* bytes that nghttp2 has made and are not sent */
    READS_MOST = 32,         /* in one turn */
    TURN_MS = 20,            /* likewise */
    IDLE_FRAMES_MOST = 2000, /* in a second */
    CALL_FRAMES = 16,        /* of an answer: few of them carry data */
    EXPECTED_MOST = 1 << 16,
    STREAM_WINDOW = 1 << 20, /* what a server may send before it is read */
    CONN_WINDOW = 16 << 20,
    HEADERS_MOST = 64 * 1024,
    UNREAD_MOST =
        2 * ILK__GRPC_MOST, /* in a stream: its owner reads each turn */
    STREAMS_MOST = 4096,
    FIRST_FRAME = 9, /* the head of an HTTP/2 frame */
    SETTINGS_FRAME = 4
};

struct ilk__grpc_conn {
    ilk__grpc_stream *streams;
    ilk__grpc_stream *ready, **ready_end;
    size_t stream_count;
    nghttp2_session *session;
    const ilk__url *url;
    ilk__buf out;
    int has_settings;                 /* the server's */
    int more;                         /* receive again without a poll */
    unsigned char first[FIRST_FRAME]; /* bytes that the server sent */
    size_t first_len;
    ilk__http_frames frames;
    size_t expected_frames; /* of the calls that were begun */
    size_t idle_frames;     /* beyond them in this second */
    int64_t idle_until;
    int64_t received_at, bytes_in, bytes_out;
    char fault[160]; /* nghttp2's explanation */
    ilk__store_socket socket;
};

/* ---- nghttp2's memory ------------------------------------------------------ */

static void *mem_malloc(size_t size, void *user)
{
    (void)user;
    return ilk__malloc(size);
}

static void mem_free(void *at, void *user)
{
    (void)user;
    ilk__free(at);
}

static void *mem_calloc(size_t count, size_t size, void *user)
{
    (void)user;
    return ilk__calloc(count, size);
}

static void *mem_realloc(void *at, size_t size, void *user)
{
    (void)user;
    return ilk__realloc(at, size);
}

/* ---- nghttp2's callbacks: they fill streams, and call nothing else ---------- */

static void set_ready(ilk__grpc_stream *stream)
{
    ilk__grpc_conn *conn = stream->conn;

    if (stream->is_ready)
        return;
    stream->is_ready = 1;
    stream->next_ready = NULL;
    *conn->ready_end = stream;
    conn->ready_end = &stream->next_ready;
}

static ilk__grpc_stream *find(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int is_name(const uint8_t *name, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(name, text, len) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_len, const uint8_t *value,
                     size_t value_len, uint8_t flags, void *user)
{
    ilk__grpc_stream *stream = find(session, frame->hd.stream_id);
    ilk__span text = {(const char *)value, value_len};

    (void)flags;
    (void)user;
    if (!stream)
        return 0;
    if (is_name(name, name_len, ":status"))
        stream->http_status = (int)ilk__text_number(text, 999);
    else if (is_name(name, name_len, "content-type"))
        stream->is_grpc =
            value_len >= 16 && memcmp(value, "application/grpc", 16) == 0;
    else if (is_name(name, name_len, "grpc-status"))
        stream->code = (int)ilk__text_number(text, 999);
    else if (is_name(name, name_len, "grpc-message"))
        ilk__grpc_decode_message(stream->message, sizeof stream->message, text);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t len, void *user)
{
    ilk__grpc_stream *stream = find(session, id);

    (void)flags;
    (void)user;
    if (!stream || stream->no_memory)
        return 0;
    if (ilk__buf_len(&stream->in) > UNREAD_MOST
        || ilk__buf_add(&stream->in, data, len))
        stream->no_memory = 1;
    set_ready(stream);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                    void *user)
{
    ilk__grpc_conn *conn = user;
    ilk__grpc_stream *stream;

    if (frame->hd.type == NGHTTP2_SETTINGS
        && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
        conn->has_settings = 1;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    stream = find(session, frame->hd.stream_id);
    if (stream) {
        stream->is_closed = 1;
        set_ready(stream);
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error,
                    void *user)
{
    ilk__grpc_stream *stream = find(session, id);

    (void)user;
    if (!stream)
        return 0;
    stream->is_closed = stream->is_over = 1;
    stream->http_error = error;
    stream->was_refused = error == NGHTTP2_REFUSED_STREAM;
    set_ready(stream);
    return 0;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame,
                   void *user)
{
    ilk__grpc_stream *stream;

    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    stream = find(session, frame->hd.stream_id);
    if (stream)
        stream->was_sent = 1;
    return 0;
}

static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame,
                       int error, void *user)
{
    ilk__grpc_conn *conn = user;
    ilk__grpc_stream *stream;

    (void)session;
    (void)error;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    for (stream = conn->streams; stream; stream = stream->next)
        if (stream->id == frame->hd.stream_id) {
            stream->is_closed = stream->is_over = stream->was_refused = 1;
            set_ready(stream);
        }
    return 0;
}

static int on_error(nghttp2_session *session, int code, const char *text,
                    size_t len, void *user)
{
    ilk__grpc_conn *conn = user;

    (void)session;
    (void)code;
    snprintf(conn->fault, sizeof conn->fault, "%.*s", (int)len, text);
    return 0;
}

static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *to,
                        size_t room, uint32_t *flags,
                        nghttp2_data_source *source, void *user)
{
    ilk__grpc_stream *stream = find(session, id);
    size_t len;

    (void)source;
    (void)user;
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    len = ilk__buf_len(&stream->out);
    if (len == 0 && !stream->ends)
        return NGHTTP2_ERR_DEFERRED;
    if (len > room)
        len = room;
    if (len)
        memcpy(to, ilk__buf_data(&stream->out), len);
    ilk__buf_drop(&stream->out, len);
    if (stream->ends && ilk__buf_len(&stream->out) == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

/* ---- opening and closing --------------------------------------------------- */

static int make_session(ilk__grpc_conn *conn)
{
    nghttp2_mem mem = {NULL, mem_malloc, mem_free, mem_calloc, mem_realloc};
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_MOST}};
    nghttp2_session_callbacks *calls = NULL;
    int failed = nghttp2_session_callbacks_new(&calls);

    if (failed)
        return failed;
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(calls, on_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(calls,
                                                             on_not_sent);
    nghttp2_session_callbacks_set_error_callback2(calls, on_error);
    failed =
        nghttp2_session_client_new3(&conn->session, calls, conn, NULL, &mem);
    nghttp2_session_callbacks_del(calls);
    if (failed)
        conn->session = NULL;
    else
        failed =
            nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, settings,
                                    sizeof settings / sizeof settings[0]);
    if (!failed)
        failed = nghttp2_session_set_local_window_size(
            conn->session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW);
    return failed;
}

ilk_status ilk__grpc_conn_new(ilk__grpc_conn **out, const ilk__url *url,
                              int64_t deadline, ilk_error *err)
{
    ilk__grpc_conn *conn = ilk__malloc(sizeof *conn);

    *out = NULL;
    if (!conn)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    memset(conn, 0, offsetof(ilk__grpc_conn, socket));
    conn->ready_end = &conn->ready;
    conn->url = url;
    conn->received_at = ilk__now_ms();
    ilk__store_socket_init(&conn->socket, "etcd", url, "h2", deadline);
    if (make_session(conn)) {
        ilk__grpc_conn_free(conn);
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    }
    *out = conn;
    return ILK_OK;
}

static void free_stream(ilk__grpc_stream *stream)
{
    ilk__buf_free(&stream->in);
    ilk__buf_free(&stream->out);
    ilk__free(stream);
}

void ilk__grpc_conn_free(ilk__grpc_conn *conn)
{
    ilk__grpc_stream *stream, *next;

    if (!conn)
        return;
    nghttp2_session_del(conn->session);
    for (stream = conn->streams; stream; stream = next) {
        next = stream->next;
        free_stream(stream);
    }
    ilk__store_socket_close(&conn->socket);
    ilk__buf_free(&conn->out);
    ilk__free(conn);
}

void ilk__grpc_conn_abandon(ilk__grpc_conn *conn)
{
    int fd = ilk__store_socket_fd(&conn->socket);

    if (fd >= 0)
        ilk__descriptor_close(fd);
}

/* ---- sending and receiving ------------------------------------------------- */

static ilk_status broken(ilk__grpc_conn *conn, int failed, ilk_error *err)
{
    if (failed == NGHTTP2_ERR_NOMEM)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    return ilk__fail(err, ILK_ECONN,
                     "the server at %s breaks the rules of HTTP/2: %s",
                     conn->socket.where, nghttp2_strerror(failed));
}

/* Move frames from nghttp2 to the socket, until the one has no more or the other
 * accepts no more. */
static ilk_status flush(ilk__grpc_conn *conn, ilk_error *err)
{
    const uint8_t *data;
    size_t sent;
    ssize_t len = 0;
    ilk_status st;

    do {
        while (ilk__buf_len(&conn->out) < OUT_MOST) {
            len = nghttp2_session_mem_send(conn->session, &data);
            if (len < 0)
                return broken(conn, (int)len, err);
            if (len == 0)
                break;
            if (ilk__buf_add(&conn->out, data, (size_t)len))
                return broken(conn, NGHTTP2_ERR_NOMEM, err);
        }
        st = ilk__store_socket_send(&conn->socket, ilk__buf_data(&conn->out),
                                    ilk__buf_len(&conn->out), &sent, err);
        ilk__buf_drop(&conn->out, sent);
        conn->bytes_out += (int64_t)sent;
    } while (st == ILK_OK && len > 0 && ilk__buf_len(&conn->out) == 0
             && !ilk__store_socket_unsent(&conn->socket));
    return st;
}

/* A server's first frame must be SETTINGS. Other bytes show that the port or the scheme
 * of the URL is wrong. */
static ilk_status check_first(ilk__grpc_conn *conn, ilk__span data,
                              ilk_error *err)
{
    static const char is_http[] = "HTTP/";
    size_t take = FIRST_FRAME - conn->first_len;
    const char *where = conn->socket.where;

    if (take > data.len)
        take = data.len;
    memcpy(conn->first + conn->first_len, data.at, take);
    conn->first_len += take;
    if (conn->first_len >= 5 && memcmp(conn->first, is_http, 5) == 0)
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s speaks HTTP/1: it is no etcd, or "
                         "this is not its client port",
                         where);
    if (conn->first_len >= 2 && conn->first[0] == 0x15 && conn->first[1] == 3)
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s expects TLS: write etcd+tls://",
                         where);
    if (conn->first_len == FIRST_FRAME
        && (conn->first[3] != SETTINGS_FRAME || conn->first[0] != 0))
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s does not speak HTTP/2: it is no "
                         "etcd, or this is not its client port",
                         where);
    return ILK_OK;
}

static ilk_status explain_end(ilk__grpc_conn *conn, ilk_error *err)
{
    if (!conn->has_settings)
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s closed the connection before it "
                         "sent anything: %s",
                         conn->socket.where,
                         conn->socket.tls
                             ? "is it etcd, and is a client certificate needed?"
                             : "is it etcd, and does it expect TLS "
                               "(etcd+tls://)?");
    return ILK_ECONN;
}

/* nghttp2 lets some frames pass that bring nothing, in any number. They would keep
 * this thread busy, and the connection would not seem silent. */
static ilk_status check_flood(ilk__grpc_conn *conn, ilk__span data,
                              ilk_error *err)
{
    size_t idle, expected;

    if (conn->received_at >= conn->idle_until) {
        conn->idle_until = conn->received_at + 1000;
        conn->idle_frames = 0;
    }
    idle = ilk__http_frames_idle(&conn->frames, data);
    expected = idle < conn->expected_frames ? idle : conn->expected_frames;
    conn->expected_frames -= expected;
    conn->idle_frames += idle - expected;
    if (conn->idle_frames <= IDLE_FRAMES_MOST)
        return ILK_OK;
    return ilk__fail(err, ILK_ECONN,
                     "the server at %s sends frames without end that bring "
                     "nothing",
                     conn->socket.where);
}

static void expect_frames(ilk__grpc_conn *conn)
{
    if (conn->expected_frames < EXPECTED_MOST)
        conn->expected_frames += CALL_FRAMES;
}

static ilk_status receive(ilk__grpc_conn *conn, ilk_error *err)
{
    const int64_t until = ilk__deadline(TURN_MS);
    ilk_status st = ILK_OK;
    ilk__span data;
    ssize_t taken;

    conn->more = 0;
    for (int i = 0; i < READS_MOST && (!i || conn->received_at < until); i++) {
        st = ilk__store_socket_receive(&conn->socket, &data, err);
        if (st == ILK_ECONN && conn->first_len == 0)
            return explain_end(conn, err);
        if (st)
            return st == ILK_EAGAIN ? ILK_OK : st;
        conn->received_at = ilk__now_ms();
        conn->bytes_in += (int64_t)data.len;
        if (conn->first_len < FIRST_FRAME)
            st = check_first(conn, data, err);
        if (st == ILK_OK)
            st = check_flood(conn, data, err);
        if (st)
            return st;
        taken = nghttp2_session_mem_recv(conn->session,
                                         (const uint8_t *)data.at, data.len);
        if (taken < 0)
            return broken(conn, (int)taken, err);
    }
    conn->more = 1;
    return ILK_OK;
}

ilk_status ilk__grpc_conn_step(ilk__grpc_conn *conn, int may_receive,
                               ilk_error *err)
{
    ilk_status st;

    if (conn->socket.stage != ILK__SOCKET_OPEN) {
        st = ilk__store_socket_step(&conn->socket, err);
        if (st)
            return st;
        may_receive = 1;
    }
    st = flush(conn, err);
    /* A server that closed without reading may have sent the reason. */
    if (may_receive || conn->more || st) {
        ilk_status got = receive(conn, err);

        if (st || got)
            return got ? got : st;
        st = flush(conn, err);
    }
    if (st)
        return st;
    if (!nghttp2_session_want_read(conn->session)
        && !nghttp2_session_want_write(conn->session))
        return ilk__fail(
            err, ILK_ECONN, "the connection to etcd at %s has ended%s%s",
            conn->socket.where, *conn->fault ? ": " : "", conn->fault);
    if (conn->has_settings)
        return ILK_OK;
    if (ilk__now_ms() >= conn->socket.deadline)
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s does not answer as etcd does",
                         conn->socket.where);
    return ILK_EAGAIN;
}

int ilk__grpc_conn_fd(const ilk__grpc_conn *conn)
{
    return ilk__store_socket_fd(&conn->socket);
}

short ilk__grpc_conn_events(const ilk__grpc_conn *conn)
{
    int writes;

    if (conn->socket.stage != ILK__SOCKET_OPEN)
        return conn->socket.events;
    writes =
        ilk__buf_len(&conn->out) > 0 || ilk__store_socket_unsent(&conn->socket);
    return (short)(writes ? POLLIN | POLLOUT : POLLIN);
}

int64_t ilk__grpc_conn_until(const ilk__grpc_conn *conn)
{
    if (conn->more || conn->ready)
        return ilk__now_ms();
    if (conn->socket.stage != ILK__SOCKET_OPEN)
        return conn->socket.until;
    return conn->has_settings ? ILK__FOREVER : conn->socket.deadline;
}

const char *ilk__grpc_conn_where(const ilk__grpc_conn *conn)
{
    return conn->socket.where;
}

int ilk__grpc_conn_accepts(const ilk__grpc_conn *conn)
{
    return nghttp2_session_check_request_allowed(conn->session);
}

size_t ilk__grpc_conn_stream_limit(const ilk__grpc_conn *conn)
{
    uint32_t limit = nghttp2_session_get_remote_settings(
        conn->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

    return limit < STREAMS_MOST ? limit : STREAMS_MOST;
}

size_t ilk__grpc_conn_stream_count(const ilk__grpc_conn *conn)
{
    return conn->stream_count;
}

int64_t ilk__grpc_conn_received_at(const ilk__grpc_conn *conn)
{
    return conn->received_at;
}

int64_t ilk__grpc_conn_bytes_in(const ilk__grpc_conn *conn)
{
    return conn->bytes_in;
}

int64_t ilk__grpc_conn_bytes_out(const ilk__grpc_conn *conn)
{
    return conn->bytes_out;
}

ilk_status ilk__grpc_conn_ping(ilk__grpc_conn *conn, ilk_error *err)
{
    int failed = nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);

    return failed ? broken(conn, failed, err) : ILK_OK;
}

/* ---- streams --------------------------------------------------------------- */

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int32_t submit(ilk__grpc_stream *stream, const ilk__grpc_call *call)
{
    const ilk__grpc_conn *conn = stream->conn;
    nghttp2_data_provider provider = {.read_callback = read_out};
    nghttp2_nv headers[9];
    size_t count = 0;

    headers[count++] = header(":method", "POST");
    headers[count++] = header(":scheme", conn->socket.tls ? "https" : "http");
    headers[count++] = header(":path", call->path);
    headers[count++] = header(":authority", conn->socket.where);
    headers[count++] = header("content-type", "application/grpc");
    headers[count++] = header("te", "trailers");
    headers[count++] = header("user-agent", "interlock");
    if (call->has_leader)
        headers[count++] = header("hasleader", "true");
    if (call->token) {
        headers[count] = header("token", call->token);
        headers[count++].flags = NGHTTP2_NV_FLAG_NO_INDEX;
    }
    return nghttp2_submit_request(conn->session, NULL, headers, count,
                                  &provider, stream);
}

static void link_stream(ilk__grpc_conn *conn, ilk__grpc_stream *stream)
{
    stream->next = conn->streams;
    if (conn->streams)
        conn->streams->previous = stream;
    conn->streams = stream;
    conn->stream_count++;
}

ilk_status ilk__grpc_open(ilk__grpc_stream **out, ilk__grpc_conn *conn,
                          const ilk__grpc_call *call, ilk_error *err)
{
    ilk__grpc_stream *stream = ilk__calloc(1, sizeof *stream);

    *out = NULL;
    if (!stream)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a call of etcd");
    stream->conn = conn;
    stream->code = -1;
    stream->ends = call->ends;
    if (call->message
        && ilk__buf_add(&stream->out, ilk__buf_data(call->message),
                        ilk__buf_len(call->message))) {
        free_stream(stream);
        return ilk__fail(err, ILK_ENOMEM, "no memory for a call of etcd");
    }
    stream->id = submit(stream, call);
    if (stream->id < 0) {
        int failed = stream->id;

        free_stream(stream);
        return broken(conn, failed, err);
    }
    link_stream(conn, stream);
    expect_frames(conn);
    *out = stream;
    return ILK_OK;
}

ilk_status ilk__grpc_send(ilk__grpc_stream *stream, const ilk__buf *message,
                          ilk_error *err)
{
    int failed;

    if (ilk__buf_add(&stream->out, ilk__buf_data(message),
                     ilk__buf_len(message)))
        return ilk__fail(err, ILK_ENOMEM, "no memory for a call of etcd");
    expect_frames(stream->conn);
    /* nghttp2 also returns an error when the stream was not waiting for data. */
    failed = nghttp2_session_resume_data(stream->conn->session, stream->id);
    if (failed == NGHTTP2_ERR_NOMEM)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a call of etcd");
    return ILK_OK;
}

static void unlink_stream(ilk__grpc_stream *stream)
{
    ilk__grpc_conn *conn = stream->conn;
    ilk__grpc_stream **at;

    if (stream->previous)
        stream->previous->next = stream->next;
    else
        conn->streams = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    conn->stream_count--;
    if (!stream->is_ready)
        return;
    for (at = &conn->ready; *at && *at != stream; at = &(*at)->next_ready)
        ;
    if (!*at)
        return;
    *at = stream->next_ready;
    if (!*at)
        conn->ready_end = at;
}

void ilk__grpc_stream_free(ilk__grpc_stream *stream)
{
    nghttp2_session *session;

    if (!stream)
        return;
    session = stream->conn->session;
    nghttp2_session_set_stream_user_data(session, stream->id, NULL);
    if (!stream->is_over)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_CANCEL);
    unlink_stream(stream);
    free_stream(stream);
}

ilk__grpc_stream *ilk__grpc_take_ready(ilk__grpc_conn *conn)
{
    ilk__grpc_stream *stream = conn->ready;

    if (!stream)
        return NULL;
    conn->ready = stream->next_ready;
    if (!conn->ready)
        conn->ready_end = &conn->ready;
    stream->is_ready = 0;
    return stream;
}
