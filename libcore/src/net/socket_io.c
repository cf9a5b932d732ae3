/* SPDX-License-Identifier: MIT */
/* socket_io.c -- one system call to send or receive on a non-blocking socket. */
#include "socket_io.h"

#include "base/cancel.h"
#include "dial.h"

#include <errno.h>
#include <sys/socket.h>

static int is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK;
}

int ilk__socket_send(int fd, const void *data, size_t len, size_t *out_sent)
{
    int cancelling = ilk__cancel_disable();
    ssize_t sent;

    do
        sent = send(fd, data, len, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    ilk__cancel_restore(cancelling);
    *out_sent = sent < 0 ? 0 : (size_t)sent;
    return sent >= 0 || is_later(errno);
}

ilk__socket_end ilk__socket_receive(int fd, void *out, size_t room,
                                    size_t *out_len)
{
    int cancelling = ilk__cancel_disable();
    ssize_t got;

    do
        got = recv(fd, out, room, 0);
    while (got < 0 && errno == EINTR);
    ilk__cancel_restore(cancelling);
    *out_len = got < 0 ? 0 : (size_t)got;
    if (got < 0)
        return is_later(errno) ? ILK__SOCKET_NOTHING : ILK__SOCKET_BROKE;
    return got ? ILK__SOCKET_BYTES : ILK__SOCKET_CLOSED;
}
