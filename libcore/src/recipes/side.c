/* SPDX-License-Identifier: MIT */
/* side.c -- a connection beside the lane, for what blocks on the server. */
#include "side.h"

#include "base/clock.h"
#include "client/run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { SIDES_MOST = 64, TICK_MS = 250 };

ilk_status ilk__side_open(ilk__side *side, ilk_client *client, ilk_error *err)
{
    if (side->conn)
        return ILK_OK;
    return ilk__conn_open(&side->conn, &client->url, client->name, NULL,
                          ilk__deadline(client->opts.connect_timeout_ms), err);
}

void ilk__side_close(ilk__side *side)
{
    ilk__conn_close(side->conn);
    side->conn = NULL;
}

/* The socket of an idle connection takes a small command at once; if it does
   not, the peer is not one to wait on. */
static ilk_status send_all(ilk__side *side, ilk__buf *bytes, ilk_error *err)
{
    size_t len = ilk__buf_len(bytes);
    size_t sent = 0;
    ilk_status st =
        ilk__conn_send(side->conn, ilk__buf_data(bytes), len, &sent, err);

    if (st == ILK_OK && (sent < len || ilk__conn_unsent(side->conn)))
        st = ilk__fail(err, ILK_ECONN, "the server takes no command");
    return st;
}

ilk_status ilk__side_send(ilk__side *side, const ilk__command *command,
                          ilk_error *err)
{
    ilk__buf bytes = {0};
    ilk_status st = ilk__command_format(command, &bytes, err);

    if (st == ILK_OK)
        st = send_all(side, &bytes, err);
    ilk__buf_free(&bytes);
    if (st)
        ilk__side_close(side);
    return st;
}

ilk_status ilk__side_next(ilk__side *side, ilk__reply **out, ilk_error *err)
{
    size_t bytes;
    ilk_status st = ilk__conn_reply(side->conn, out, err);

    while (st == ILK_EAGAIN) {
        st = ilk__conn_recv(side->conn, &bytes, err);
        if (st)
            break;
        st = ilk__conn_reply(side->conn, out, err);
    }
    if (st && st != ILK_EAGAIN)
        ilk__side_close(side);
    return st;
}

static int poll_sides(const ilk__side *sides, size_t count, int64_t until)
{
    struct pollfd fds[SIDES_MOST];

    for (size_t i = 0; i < count; i++) {
        fds[i].fd = sides[i].conn ? ilk__conn_fd(sides[i].conn) : -1;
        fds[i].events = POLLIN;
    }
    return poll(fds, (nfds_t)count, ilk__poll_timeout(until));
}

ilk_status ilk__side_sleep(ilk_client *client, const ilk__side *sides,
                           size_t count, int64_t until, uint32_t interrupts,
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
        ready = poll_sides(sides, count, ilk__sooner(until, tick));
        if (ready > 0)
            return ILK_OK;
        if (ready < 0 && errno != EINTR)
            return ilk__fail(err, ILK_ESYSTEM, "poll: %s", strerror(errno));
        if (ready < 0
            || (ilk__run_ticks(client) && ilk__now_ms() >= tick
                && ilk__now_ms() < until))
            return ilk__fail(err, ILK_EINTR, "interrupted by a signal");
    }
}
