/* SPDX-License-Identifier: MIT */
/* dedicated_conn.c -- a dedicated connection, for commands that block in the
 * server. */
#include "dedicated_conn.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "client/run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { CONNECTIONS_MOST = 64, TICK_MS = 250 };

ilk_status ilk__dedicated_conn_open(ilk__dedicated_conn *dedicated,
                                    ilk_client *client, int64_t until,
                                    ilk_error *err)
{
    ilk_status st = ILK_OK;

    until = ilk__sooner(until, ilk__deadline(client->opts.connect_timeout_ms));
    if (!dedicated->conn)
        st = ilk__conn_open(&dedicated->conn, &client->target,
                            &dedicated->replaced, until, err);
    if (st == ILK_OK)
        dedicated->replaced.since = 0;
    return st;
}

void ilk__dedicated_conn_close(ilk__dedicated_conn *dedicated)
{
    ilk__conn_close(dedicated->conn);
    dedicated->conn = NULL;
}

void ilk__dedicated_conn_abandon(ilk__dedicated_conn *dedicated)
{
    dedicated->replaced = ilk__conn_identity_of(dedicated->conn);
    ilk__dedicated_conn_close(dedicated);
}

/* After a switch of the primary, end connections to another server: their next
 * read fails. */
static void leave_old(const ilk__dedicated_conn *connections, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (connections[i].conn && ilk__conn_is_outdated(connections[i].conn))
            ilk__conn_shutdown(connections[i].conn);
}

/* The socket buffer of an idle connection has room for a small command. If it
 * has not, the server is not reading: fail instead of waiting. */
static ilk_status send_all(ilk__dedicated_conn *dedicated, ilk__buf *bytes,
                           ilk_error *err)
{
    size_t len = ilk__buf_len(bytes);
    size_t sent = 0;
    ilk_status st =
        ilk__conn_send(dedicated->conn, ilk__buf_data(bytes), len, &sent, err);

    if (st == ILK_OK && (sent < len || ilk__conn_unsent(dedicated->conn)))
        st = ilk__fail(err, ILK_ECONN,
                       "the server does not read: the socket's buffer is full");
    return st;
}

ilk_status ilk__dedicated_conn_send(ilk__dedicated_conn *dedicated,
                                    const ilk__command *command, ilk_error *err)
{
    ilk__buf bytes = {0};
    ilk_status st = ilk__command_format(command, 0, &bytes, err);

    if (st == ILK_OK)
        st = send_all(dedicated, &bytes, err);
    ilk__buf_free(&bytes);
    if (st)
        ilk__dedicated_conn_close(dedicated);
    return st;
}

ilk_status ilk__dedicated_conn_next(ilk__dedicated_conn *dedicated,
                                    ilk__reply **out, ilk_error *err)
{
    size_t bytes;
    ilk_status st = ilk__conn_reply(dedicated->conn, out, err);

    while (st == ILK_EAGAIN) {
        st = ilk__conn_recv(dedicated->conn, &bytes, err);
        if (st)
            break;
        st = ilk__conn_reply(dedicated->conn, out, err);
    }
    if (st && st != ILK_EAGAIN)
        ilk__dedicated_conn_close(dedicated);
    return st;
}

static int poll_all(const ilk__dedicated_conn *connections, size_t count,
                    int64_t until)
{
    struct pollfd fds[CONNECTIONS_MOST];
    int cancelling, n;

    for (size_t i = 0; i < count; i++) {
        fds[i].fd =
            connections[i].conn ? ilk__conn_fd(connections[i].conn) : -1;
        fds[i].events = POLLIN;
    }
    cancelling = ilk__cancel_disable();
    n = poll(fds, (nfds_t)count, ilk__poll_timeout(until));
    ilk__cancel_restore(cancelling);
    return n;
}

ilk_status ilk__dedicated_conn_sleep(ilk_client *client,
                                     const ilk__dedicated_conn *connections,
                                     size_t count, int64_t until,
                                     uint32_t interrupts, int leaving,
                                     ilk_error *err)
{
    for (;;) {
        int64_t tick = ilk__deadline(TICK_MS);
        int ready;

        if (client->closed)
            return ilk__fail(err, ILK_ECLOSED, "the client is closed");
        if (atomic_load(&client->shared->interrupts) != interrupts)
            return ilk__fail(err, ILK_EINTR, "interrupted");
        if (ilk__now_ms() >= until)
            return ilk__fail(err, ILK_ETIMEOUT, "%s",
                             ilk_strerror(ILK_ETIMEOUT));
        if (!leaving && ilk__shared_is_stopped(client->shared))
            return ilk__fail(err, ILK_ECANCELLED, "the client is stopped");
        leave_old(connections, count);
        ready = poll_all(connections, count, ilk__sooner(until, tick));
        if (ready > 0)
            return ILK_OK;
        if (ready < 0 && errno != EINTR)
            return ilk__fail(err, ILK_ESYSTEM, "poll: %s", strerror(errno));
        if (!leaving && ilk__shared_is_stopped(client->shared))
            continue; /* a signal handler stopped it: not ILK_EINTR */
        if (ready < 0
            || (ilk__run_ticks(client) && ilk__now_ms() >= tick
                && ilk__now_ms() < until))
            return ilk__fail(err, ILK_EINTR, "interrupted by a signal");
    }
}
