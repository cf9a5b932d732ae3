/* SPDX-License-Identifier: MIT */
/*
 * conn.c -- takes a connection from start to ready, one stage after another.
 *
 *     RESOLVE -> DIAL -> [TLS] -> LOGIN -> READY
 *                ^  |next address
 *                +--+             any of them -> FAILED
 *
 * Nothing here blocks, but for ilk__conn_open(), which polls between steps.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "conn_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

/* Enough for a login: growing might leave a copy of the password in the old
 * memory, which nobody wipes. */
enum { WORDS_ROOM = 1024 };

/* Connections that a forked child inherited. They are never freed; the list
 * keeps them reachable, so that leak checkers do not report them. */
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
                           const char *name, const ilk__conn_number *replaces,
                           int64_t deadline, ilk_error *err)
{
    ilk__conn *conn = ilk__malloc(sizeof *conn);

    *out = NULL;
    if (conn == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    /* The inbox is not zeroed: its pages stay unused until bytes arrive. */
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
        || ilk__login_start(&conn->login, url, name, replaces, &conn->words,
                            NULL)
               != ILK_OK) {
        ilk__conn_close(conn);
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    }
    *out = conn;
    return ILK_OK;
}

/* Free the parts that only connecting needs, and drop the borrowed URL. */
static void settle(ilk__conn *conn)
{
    ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
    conn->address = NULL;
    conn->url = conn->login.url = NULL;
    conn->events = POLLIN;
    if (conn->words.data != NULL) /* may have contained a password */
        ilk__wipe(conn->words.data, conn->words.room);
    ilk__buf_free(&conn->words);
}

static ilk_status fail_for_good(ilk__conn *conn, ilk_status status,
                                const ilk_error *why, ilk_error *err)
{
    conn->stage = ILK__CONN_FAILED;
    conn->failure = *why;
    ilk__conn_hang_up(conn);
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
        status = ilk__conn_stage_step(conn, &why);
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
    if (conn->url != NULL) {
        conn->login.number.since = ilk__now_ms();
        settle(conn);
    }
    return ILK_OK;
}

static ilk_status wait_once(const ilk__conn *conn, ilk_error *err)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn), .events = conn->events};

    if (poll(&pfd, 1, ilk__poll_timeout(conn->until)) >= 0 || errno == EINTR)
        return ILK_OK;
    return ilk__fail(err, ILK_ECONN, "cannot wait for %s: %s", conn->where,
                     strerror(errno));
}

ilk_status ilk__conn_open(ilk__conn **out, const ilk__url *url,
                          const char *name, const ilk__conn_number *replaces,
                          int64_t deadline, ilk_error *err)
{
    ilk_status status =
        ilk__conn_start(out, url, name, replaces, deadline, err);

    if (*out == NULL)
        return status;
    while ((status = ilk__conn_step(*out, err)) == ILK_EAGAIN) {
        status = wait_once(*out, err);
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

ilk__conn_number ilk__conn_number_of(const ilk__conn *conn)
{
    return conn->login.number;
}

int ilk__conn_left_open(const ilk__conn *conn)
{
    return conn->login.left_open;
}

void ilk__conn_drop_unsent(const ilk__conn *conn)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* Another thread may have been using the connection when the process forked,
 * so the child cannot trust its state: it only closes the descriptor. */
static void leave_alone(ilk__conn *conn)
{
    ilk__conn_hang_up(conn);
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
    ilk__conn_hang_up(conn);
    settle(conn);
    ilk__tls_free(conn->tls);
    ilk__reader_free(conn->reader);
    ilk__buf_free(&conn->sealed);
    ilk__free(conn);
}
