/* SPDX-License-Identifier: MIT */
/* link.c -- a connection that the keeper's event loop drives. */
#include "link.h"

#include "base/backoff.h"
#include "base/clock.h"

#include <string.h>
#include <unistd.h>

void ilk__link_init(ilk__link *link, const ilk__target *target)
{
    memset(link, 0, sizeof *link);
    link->target = target;
}

static void drop(ilk__link *link)
{
    if (link->up && link->carries_commands)
        link->replaced = ilk__conn_number_of(link->conn);
    if (link->conn && link->pollset)
        ilk__pollset_forget(link->pollset, ilk__conn_fd(link->conn));
    ilk__conn_close(link->conn);
    link->conn = NULL;
    link->up = 0;
    link->readable = 0;
    ilk__buf_take(&link->out, ilk__buf_len(&link->out));
}

void ilk__link_close(ilk__link *link)
{
    drop(link);
    ilk__buf_free(&link->out);
    link->wanted = 0;
}

void ilk__link_abandon(ilk__link *link)
{
    if (link->conn)
        close(ilk__conn_fd(link->conn));
}

static ilk__link_event lost(ilk__link *link)
{
    drop(link);
    link->retry_at = ilk__now_ms() + ilk__connect_pause_ms(&link->retry_ms);
    return ILK__LINK_LOST;
}

void ilk__link_break(ilk__link *link, const char *why)
{
    ilk__fail(&link->error, ILK_ECONN, "%s", why);
    (void)lost(link);
}

int64_t ilk__link_prepare(ilk__link *link, struct pollfd *pfd)
{
    pfd->fd = -1;
    pfd->events = pfd->revents = 0;
    if (!link->conn)
        return link->wanted ? link->retry_at : ILK__FOREVER;
    pfd->fd = ilk__conn_fd(link->conn);
    pfd->events = link->up ? POLLIN : ilk__conn_events(link->conn);
    if (link->up && (ilk__buf_len(&link->out) || ilk__conn_unsent(link->conn)))
        pfd->events |= POLLOUT;
    return link->up ? ILK__FOREVER : ilk__conn_until(link->conn);
}

void ilk__link_polled(ilk__link *link, const struct pollfd *pfd)
{
    if (pfd->revents & (POLLIN | POLLERR | POLLHUP))
        link->readable = 1;
}

static ilk__link_event connect_on(ilk__link *link)
{
    const ilk__target *to = link->target;
    ilk_status st = ILK_OK;

    ilk__error_clear(&link->error);
    if (!link->conn) {
        if (!link->wanted || ilk__now_ms() < link->retry_at)
            return ILK__LINK_NOTHING;
        link->deadline = ilk__deadline(to->connect_timeout_ms);
        st = ilk__conn_start(&link->conn, to->url, to->name, &link->replaced,
                             link->deadline, &link->error);
    }
    if (st == ILK_OK)
        st = ilk__conn_step(link->conn, &link->error);
    if (st == ILK_EAGAIN)
        return ILK__LINK_NOTHING;
    if (st == ILK_ECONN && to->revive)
        (void)to->revive(to->context); /* the next try finds it */
    if (st)
        return lost(link);
    link->up = 1;
    link->readable = 1; /* the login may have read ahead */
    link->replaced.since = 0;
    link->left_open |= ilk__conn_left_open(link->conn);
    link->retry_ms = 0;
    link->retry_at = 0;
    link->connects++;
    return ILK__LINK_CAME_UP;
}

ilk__link_event ilk__link_next(ilk__link *link, ilk__reply **out)
{
    size_t bytes = 0;
    ilk_status st;

    if (!link->up)
        return connect_on(link);
    for (;;) {
        st = ilk__conn_reply(link->conn, out, &link->error);
        if (st == ILK_OK)
            return ILK__LINK_REPLY;
        if (st == ILK_EAGAIN && !link->readable)
            return ILK__LINK_NOTHING;
        if (st == ILK_EAGAIN)
            st = ilk__conn_recv(link->conn, &bytes, &link->error);
        link->bytes_in += (int64_t)bytes;
        if (st == ILK_EAGAIN) {
            link->readable = 0;
            return ILK__LINK_NOTHING;
        }
        if (st)
            return lost(link);
    }
}

ilk_status ilk__link_send(ilk__link *link, const ilk__command *command)
{
    link->commands++;
    return ilk__command_format(command, &link->out, NULL);
}

int ilk__link_unwritten(const ilk__link *link)
{
    return link->up
           && (ilk__buf_len(&link->out) || ilk__conn_unsent(link->conn));
}

/* A failure shows when reading: the socket reports it there, too. */
void ilk__link_flush(ilk__link *link)
{
    size_t len = ilk__buf_len(&link->out);
    size_t sent = 0;

    if (!ilk__link_unwritten(link))
        return;
    if (ilk__conn_send(link->conn, ilk__buf_data(&link->out), len, &sent,
                       &link->error))
        link->readable = 1;
    link->writes += sent > 0;
    link->bytes_out += (int64_t)sent;
    ilk__buf_take(&link->out, sent);
}
