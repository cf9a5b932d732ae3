/* SPDX-License-Identifier: MIT */
/* async_conn.c -- an asynchronous connection, which an event loop drives. */
#include "async_conn.h"

#include "base/clock.h"
#include "base/descriptor.h"

#include <string.h>
#include <unistd.h>

void ilk__async_conn_init(ilk__async_conn *connection,
                          const ilk__target *target)
{
    memset(connection, 0, sizeof *connection);
    connection->target = target;
    connection->next_number = ilk__first_request_number();
}

static void drop(ilk__async_conn *connection)
{
    if (connection->up && connection->carries_commands)
        connection->replaced = ilk__conn_identity_of(connection->conn);
    if (connection->conn && connection->pollset)
        ilk__pollset_forget(connection->pollset,
                            ilk__conn_fd(connection->conn));
    ilk__conn_close(connection->conn);
    connection->conn = NULL;
    connection->up = 0;
    connection->readable = 0;
    ilk__buf_drop(&connection->out, ilk__buf_len(&connection->out));
}

void ilk__async_conn_close(ilk__async_conn *connection)
{
    drop(connection);
    ilk__buf_free(&connection->out);
    connection->wanted = 0;
}

void ilk__async_conn_abandon(ilk__async_conn *connection)
{
    if (connection->conn)
        ilk__descriptor_close(ilk__conn_fd(connection->conn));
}

static ilk__async_conn_result lost(ilk__async_conn *connection)
{
    connection->was_opening = !connection->up;
    drop(connection);
    connection->retry_at =
        ilk__now_ms()
        + ilk__conn_pause_ms(connection->target, &connection->retry_ms,
                             (ilk_status)connection->error.code);
    return ILK__ASYNC_CONN_LOST;
}

void ilk__async_conn_break(ilk__async_conn *connection, const char *why)
{
    ilk__fail(&connection->error, ILK_ECONN, "%s", why);
    (void)lost(connection);
}

/* After the shutdown the next read fails, and the connection is lost as in any
 * other way. A connection that is being opened looks for a switch itself. */
void ilk__async_conn_leave_old(ilk__async_conn *connection)
{
    connection->retry_at = 0;
    if (connection->up && ilk__conn_is_outdated(connection->conn))
        ilk__conn_shutdown(connection->conn);
}

int64_t ilk__async_conn_prepare(ilk__async_conn *connection, struct pollfd *pfd)
{
    pfd->fd = -1;
    pfd->events = pfd->revents = 0;
    if (!connection->conn)
        return connection->wanted ? connection->retry_at : ILK__FOREVER;
    pfd->fd = ilk__conn_fd(connection->conn);
    pfd->events = connection->up ? POLLIN : ilk__conn_events(connection->conn);
    if (connection->up
        && (ilk__buf_len(&connection->out)
            || ilk__conn_unsent(connection->conn)))
        pfd->events |= POLLOUT;
    if (!connection->up)
        return ilk__conn_until(connection->conn);
    return connection->readable ? 0 : ILK__FOREVER; /* 0: not read to its end */
}

size_t ilk__async_conn_add(ilk__async_conn *connection, size_t *out_at,
                           struct pollfd *fds, size_t room, size_t count,
                           int64_t *until)
{
    struct pollfd fd;

    *until = ilk__sooner(*until, ilk__async_conn_prepare(connection, &fd));
    *out_at = 0;
    if (fd.fd < 0)
        return count;
    if (count < room)
        fds[count] = fd;
    *out_at = count + 1;
    return count + 1;
}

void ilk__async_conn_polled(ilk__async_conn *connection,
                            const struct pollfd *pfd)
{
    if (pfd->revents & (POLLIN | POLLERR | POLLHUP | POLLNVAL))
        connection->readable = 1;
}

static ilk__async_conn_result connect_on(ilk__async_conn *connection)
{
    const ilk__target *to = connection->target;
    ilk_status st = ILK_OK;

    ilk__error_clear(&connection->error);
    if (!connection->conn) {
        if (!connection->wanted || ilk__now_ms() < connection->retry_at)
            return ILK__ASYNC_CONN_NOTHING;
        ilk__buf_drop(&connection->out, ilk__buf_len(&connection->out));
        st = ilk__conn_start(&connection->conn, to, &connection->replaced,
                             ILK__FOREVER, &connection->error);
    }
    if (st == ILK_OK)
        st = ilk__conn_step(connection->conn, &connection->error);
    if (st == ILK_EAGAIN)
        return ILK__ASYNC_CONN_NOTHING;
    if (st == ILK_ECONN && to->revive)
        (void)to->revive(to->context); /* the next attempt connects to it */
    if (st)
        return lost(connection);
    connection->up = 1;
    connection->readable = 1; /* login may have read past its own replies */
    connection->replaced.since = 0;
    connection->left_open |= ilk__conn_left_open(connection->conn);
    connection->retry_at = 0;
    connection->traffic.connects++;
    ilk__async_conn_leave_old(connection); /* a switch just now */
    return ILK__ASYNC_CONN_CAME_UP;
}

ilk__async_conn_result ilk__async_conn_next(ilk__async_conn *connection,
                                            ilk__reply **out)
{
    size_t bytes = 0;
    ilk_status st;

    if (!connection->up)
        return connect_on(connection);
    for (;;) {
        st = ilk__conn_reply(connection->conn, out, &connection->error);
        if (st == ILK_OK) {
            if (!ilk__reply_is_error(*out, "LOADING"))
                connection->retry_ms = 0; /* more than a login works */
            return ILK__ASYNC_CONN_REPLY;
        }
        if (st == ILK_EAGAIN && !connection->readable)
            return ILK__ASYNC_CONN_NOTHING;
        if (st == ILK_EAGAIN)
            st = ilk__conn_recv(connection->conn, &bytes, &connection->error);
        connection->traffic.bytes_in += (int64_t)bytes;
        if (st == ILK_EAGAIN) {
            connection->readable = 0;
            return ILK__ASYNC_CONN_NOTHING;
        }
        if (st)
            return lost(connection);
    }
}

ilk_status ilk__async_conn_send(ilk__async_conn *connection,
                                const ilk__command *command,
                                ilk__expected_reply *out)
{
    int64_t number = connection->next_number++;

    connection->traffic.commands++;
    if (out)
        *out = (ilk__expected_reply){command->replies, number};
    return ilk__command_format(command, number, &connection->out, NULL);
}

int ilk__async_conn_unwritten(const ilk__async_conn *connection)
{
    return connection->up
           && (ilk__buf_len(&connection->out)
               || ilk__conn_unsent(connection->conn));
}

/* A failed send is not reported here: the recv that follows fails as well, and
 * first delivers the replies that the server sent before. */
void ilk__async_conn_flush(ilk__async_conn *connection)
{
    size_t len = ilk__buf_len(&connection->out);
    size_t sent = 0;

    if (!ilk__async_conn_unwritten(connection))
        return;
    if (ilk__conn_send(connection->conn, ilk__buf_data(&connection->out), len,
                       &sent, &connection->error))
        connection->readable = 1;
    connection->traffic.writes += sent > 0;
    connection->traffic.bytes_out += (int64_t)sent;
    ilk__buf_drop(&connection->out, sent);
}

void ilk__async_conn_add_traffic(const ilk__async_conn *connection,
                                 ilk__traffic *sum)
{
    ilk__traffic_add(sum, &connection->traffic);
    sum->connected += connection->up != 0;
}
