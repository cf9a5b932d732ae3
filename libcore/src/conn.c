/* SPDX-License-Identifier: MIT */
/*
 * conn.c -- a connection's way from start to ready, one step at a time.
 *
 *     RESOLVE -> DIAL -> [TLS] -> LOGIN -> READY
 *                ^  |next address
 *                +--+             any of them -> FAILED
 *
 * A stage answers ILK_OK (go on with the next), ILK_EAGAIN (wait for events
 * on fd, or until) or its failure. Addresses share the time that is left, so
 * that one which swallows our packets does not use it up.
 */
#include "alloc.h"
#include "clock.h"
#include "conn_inside.h"
#include "dial.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ADDRESS_MS = 3000, /* for each address when there is no deadline */
    BUSY_MS = 5,       /* between tries at a unix socket with a full queue */
    WORDS_ROOM = 1024  /* login's words are not copied about by growing */
};

/* Connections a fork took from their threads: never touched, still known. */
static _Atomic(ilk__conn *) left_alone;

static void name_peer(ilk__conn *conn, const ilk__url *url)
{
    if (url->scheme == ILK__SCHEME_UNIX)
        snprintf(conn->where, sizeof conn->where, "%s", url->path);
    else if (url->host != NULL)
        snprintf(conn->where, sizeof conn->where,
                 strchr(url->host, ':') != NULL ? "[%s]:%d" : "%s:%d",
                 url->host, url->port);
}

ilk_status ilk__conn_start(ilk__conn **out, const ilk__url *url,
                           const char *name, int64_t deadline, ilk_error *err)
{
    ilk__conn *conn = ilk__malloc(sizeof *conn);

    *out = NULL;
    if (conn == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    /* The inbox needs no zeros; leave its pages alone. */
    memset(conn, 0, offsetof(ilk__conn, inbox));
    conn->fd = -1;
    conn->pid = getpid();
    conn->url = url;
    conn->deadline = deadline;
    conn->until = deadline;
    name_peer(conn, url);
    conn->reader = ilk__reader_new();
    if (conn->reader == NULL
        || ilk__buf_reserve(&conn->words, WORDS_ROOM) == NULL
        || ilk__login_start(&conn->login, url, name, &conn->words, NULL)
               != ILK_OK) {
        ilk__conn_close(conn);
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    }
    *out = conn;
    return ILK_OK;
}

static ilk_status wait_for(ilk__conn *conn, short events)
{
    conn->events = events;
    return ILK_EAGAIN;
}

static ilk_status resolve_step(ilk__conn *conn, ilk_error *err)
{
    const ilk__url *url = conn->url;
    ilk_status status = ILK_OK;

    if (url->scheme == ILK__SCHEME_EMBEDDED)
        return ilk__fail(err, ILK_EINVAL,
                         "an embedded server is reached by its socket");
    if (url->scheme == ILK__SCHEME_TLS && conn->tls == NULL)
        status = ilk__tls_new(&conn->tls, url, err);
    if (status != ILK_OK || url->scheme == ILK__SCHEME_UNIX)
        return status;
    if (conn->resolve == NULL)
        status = ilk__resolve_start(&conn->resolve, url->host, url->port, err);
    if (status == ILK_OK)
        status = ilk__resolve_result(conn->resolve, &conn->address, err);
    return status == ILK_EAGAIN ? wait_for(conn, POLLIN) : status;
}

static void hang_up(ilk__conn *conn)
{
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
}

/* Begin with the current address and give it its share of the time. */
static ilk_status dial(ilk__conn *conn, ilk_error *err)
{
    const struct addrinfo *address = conn->address, *rest;
    int64_t now = ilk__now_ms(), share = ADDRESS_MS;
    int count = 0;

    conn->until = conn->deadline;
    if (address == NULL)
        return ilk__dial_path(&conn->fd, conn->url->path, err);
    for (rest = address; rest != NULL; rest = rest->ai_next)
        count++;
    if (conn->deadline != ILK__FOREVER)
        share = (conn->deadline - now) / count;
    if (count > 1)
        conn->until = now + share;
    return ilk__dial(&conn->fd, address->ai_addr, address->ai_addrlen,
                     conn->where, err);
}

/* One look at the current address. */
static ilk_status try_address(ilk__conn *conn, ilk_error *err)
{
    ilk_status status;

    if (conn->fd < 0)
        status = dial(conn, err);
    else
        status = ilk__dial_finish(conn->fd, conn->where, err);
    if (status == ILK_EBUSY) {
        conn->until = ilk__sooner(ilk__now_ms() + BUSY_MS, conn->deadline);
        return wait_for(conn, 0);
    }
    if (status == ILK_EAGAIN && conn->until < conn->deadline
        && ilk__now_ms() >= conn->until)
        return ilk__fail(err, ILK_ECONN, "cannot connect to %s: no answer",
                         conn->where);
    return status == ILK_EAGAIN ? wait_for(conn, POLLOUT) : status;
}

static ilk_status dial_step(ilk__conn *conn, ilk_error *err)
{
    ilk_status status;

    for (;;) {
        status = try_address(conn, err);
        if (status == ILK_OK)
            conn->until = conn->deadline;
        if (status == ILK_OK || status == ILK_EAGAIN)
            return status;
        hang_up(conn);
        if (conn->address == NULL || conn->address->ai_next == NULL)
            return status;
        conn->address = conn->address->ai_next;
    }
}

static ilk_status tls_step(ilk__conn *conn, ilk_error *err)
{
    ilk_status status, flushed;
    size_t len;

    if (conn->tls == NULL)
        return ILK_OK;
    for (;;) {
        status = ilk__tls_handshake(conn->tls, err);
        if (status != ILK_OK && status != ILK_EAGAIN) {
            ilk__conn_flush(conn, NULL); /* tell the server why, if we can */
            return status;
        }
        flushed = ilk__conn_flush(conn, err);
        if (status == ILK_OK || flushed != ILK_OK)
            return flushed;
        status = ilk__conn_fetch(conn, &len, err);
        if (status == ILK_EAGAIN)
            return wait_for(conn,
                            ilk__conn_unsent(conn) ? POLLIN | POLLOUT : POLLIN);
        if (status == ILK_OK)
            status = ilk__tls_put(conn->tls, conn->inbox, len, err);
        if (status != ILK_OK)
            return status;
    }
}

/* Send what login has to say, as far as the socket takes it. */
static ilk_status send_words(ilk__conn *conn, ilk_error *err)
{
    size_t len = ilk__buf_len(&conn->words), sent;
    ilk_status status;

    if (len == 0 && !ilk__conn_unsent(conn))
        return ILK_OK;
    status = ilk__conn_send(conn, ilk__buf_data(&conn->words), len, &sent, err);
    ilk__buf_take(&conn->words, sent);
    return status;
}

/* ILK_OK: logged in; ILK_EAGAIN: no whole reply is there. */
static ilk_status hear_replies(ilk__conn *conn, ilk_error *err)
{
    ilk__reply *reply;
    ilk_error why;
    ilk_status status;

    do {
        status = ilk__conn_reply(conn, &reply, &why);
        if (status != ILK_OK)
            break;
        status = ilk__login_reply(&conn->login, reply, &conn->words, &why);
        ilk__reply_free(reply);
    } while (status == ILK_EAGAIN);
    if (status == ILK_OK || status == ILK_EAGAIN)
        return status;
    return ilk__fail(err, status, "cannot log in to %s: %s", conn->where,
                     why.msg);
}

/* A server that turns us away may say so and close before we have spoken: a
 * send that failed is no reason not to listen. */
static ilk_status login_step(ilk__conn *conn, ilk_error *err)
{
    ilk_status sent, status;
    size_t len;

    for (;;) {
        sent = send_words(conn, err);
        status = ilk__conn_recv(conn, &len, sent == ILK_OK ? err : NULL);
        if (status != ILK_OK && status != ILK_EAGAIN)
            return sent == ILK_OK ? status : sent;
        if (status == ILK_OK)
            status = hear_replies(conn, err);
        else if (sent != ILK_OK)
            return sent;
        else
            break;
        if (status != ILK_EAGAIN)
            return status;
    }
    return wait_for(conn,
                    ilk__buf_len(&conn->words) > 0 || ilk__conn_unsent(conn)
                        ? POLLIN | POLLOUT
                        : POLLIN);
}

static ilk_status stage_step(ilk__conn *conn, ilk_error *err)
{
    switch (conn->stage) {
    case ILK__CONN_RESOLVE: return resolve_step(conn, err);
    case ILK__CONN_DIAL: return dial_step(conn, err);
    case ILK__CONN_TLS: return tls_step(conn, err);
    default: return login_step(conn, err);
    }
}

/* What only connecting needs goes; what was borrowed is given back. */
static void settle(ilk__conn *conn)
{
    ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
    conn->address = NULL;
    conn->url = conn->login.url = NULL;
    conn->events = POLLIN;
    if (conn->words.data != NULL) /* there was a password in it */
        ilk__wipe(conn->words.data, conn->words.room);
    ilk__buf_free(&conn->words);
}

static ilk_status fail_for_good(ilk__conn *conn, ilk_status status,
                                const ilk_error *why, ilk_error *err)
{
    conn->stage = ILK__CONN_FAILED;
    conn->failure = *why;
    hang_up(conn);
    settle(conn);
    return ilk__fail(err, status, "%s", why->msg);
}

static const char *doing(const ilk__conn *conn)
{
    switch (conn->stage) {
    case ILK__CONN_RESOLVE: return "looking up its address";
    case ILK__CONN_DIAL: return "connecting";
    case ILK__CONN_TLS: return "agreeing on TLS";
    default: return "logging in";
    }
}

ilk_status ilk__conn_step(ilk__conn *conn, ilk_error *err)
{
    ilk_error why;
    ilk_status status;

    if (conn->stage == ILK__CONN_FAILED)
        return ilk__fail(err, (ilk_status)conn->failure.code, "%s",
                         conn->failure.msg);
    while (conn->stage != ILK__CONN_READY) {
        ilk__error_clear(&why);
        status = stage_step(conn, &why);
        if (status == ILK_EAGAIN && ilk__now_ms() < conn->deadline)
            return ILK_EAGAIN;
        if (status == ILK_EAGAIN)
            status = ilk__fail(&why, ILK_ETIMEOUT,
                               "no answer from %s in time while %s",
                               conn->where, doing(conn));
        if (status != ILK_OK)
            return fail_for_good(conn, status, &why, err);
        conn->stage++;
    }
    if (conn->url != NULL)
        settle(conn);
    return ILK_OK;
}

static ilk_status wait_until(const ilk__conn *conn, ilk_error *err)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn), .events = conn->events};

    if (poll(&pfd, 1, ilk__poll_timeout(conn->until)) >= 0 || errno == EINTR)
        return ILK_OK;
    return ilk__fail(err, ILK_ECONN, "cannot wait for %s: %s", conn->where,
                     strerror(errno));
}

ilk_status ilk__conn_open(ilk__conn **out, const ilk__url *url,
                          const char *name, int64_t deadline, ilk_error *err)
{
    ilk_status status = ilk__conn_start(out, url, name, deadline, err);

    if (status != ILK_OK)
        return status;
    while ((status = ilk__conn_step(*out, err)) == ILK_EAGAIN) {
        status = wait_until(*out, err);
        if (status != ILK_OK)
            break;
    }
    if (status != ILK_OK) {
        ilk__conn_close(*out);
        *out = NULL;
    }
    return status;
}

int ilk__conn_fd(const ilk__conn *conn)
{
    if (conn->stage == ILK__CONN_RESOLVE && conn->resolve != NULL)
        return ilk__resolve_fd(conn->resolve);
    return conn->fd;
}

short ilk__conn_events(const ilk__conn *conn)
{
    if (conn->stage == ILK__CONN_READY && ilk__conn_unsent(conn))
        return POLLIN | POLLOUT;
    return conn->events;
}

int64_t ilk__conn_until(const ilk__conn *conn)
{
    return conn->until;
}

int ilk__conn_protocol(const ilk__conn *conn)
{
    return conn->login.protocol;
}

int ilk__conn_cluster(const ilk__conn *conn)
{
    return conn->login.cluster;
}

/* Another thread may have been inside when the process forked, so the child
 * closes the descriptor and leaves the rest as it is. */
static void leave_alone(ilk__conn *conn)
{
    hang_up(conn);
    conn->next = atomic_load(&left_alone);
    while (!atomic_compare_exchange_weak(&left_alone, &conn->next, conn))
        continue;
}

void ilk__conn_close(ilk__conn *conn)
{
    if (conn == NULL)
        return;
    if (conn->pid != getpid()) {
        leave_alone(conn);
        return;
    }
    hang_up(conn);
    settle(conn);
    ilk__tls_free(conn->tls);
    ilk__reader_free(conn->reader);
    ilk__buf_free(&conn->sealed);
    ilk__free(conn);
}
