/* SPDX-License-Identifier: MIT */
/* embedded_command.c -- sends one command to a server, without a connection of
 * conn.h. */
#include "embedded_command.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "net/dial.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* connect() on a unix socket succeeds at once, or fails with EAGAIN when the
 * server's backlog is full. */
static int dial(int fd, const char *path, int64_t deadline)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        if (errno == EISCONN)
            return 0;
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        if (ilk__poll_timeout(deadline) == 0)
            return ETIMEDOUT;
        poll(NULL, 0, 1);
    }
    return 0;
}

/* Wait until fd reports events: 0, or an errno. */
static int await(int fd, short events, int64_t deadline)
{
    struct pollfd pfd = {.fd = fd, .events = events};
    int n;

    do {
        n = poll(&pfd, 1, ilk__poll_timeout(deadline));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return errno;
    } while (n < 0 || ilk__poll_timeout(deadline) != 0);
    return ETIMEDOUT;
}

static int send_all(int fd, const char *text, size_t len, int64_t deadline)
{
    int error = 0;

    while (len > 0 && error == 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

        if (n >= 0) {
            text += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            error = await(fd, POLLOUT, deadline);
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    return error;
}

/* Receive one line. Bytes that do not fit are dropped: callers only compare a
 * prefix or show the line in a message. */
static int recv_line(int fd, char *line, size_t size, int64_t deadline)
{
    size_t used = 0;
    int error = 0;

    line[0] = '\0';
    while (error == 0) {
        ssize_t n = recv(fd, line + used, size - 1 - used, 0);

        if (n > 0) {
            used += (size_t)n;
            line[used] = '\0';
            if (strchr(line, '\n') == NULL && used < size - 1)
                continue;
        }
        if (n >= 0 || errno == ECONNRESET)
            break;
        if (errno == EAGAIN)
            error = await(fd, POLLIN, deadline);
        else if (errno != EINTR)
            error = errno;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return error;
}

/* 0, an errno, or ILK__ERROR_FOREIGN. */
static int check_user(int fd)
{
    unsigned long user;

    switch (ilk__dial_is_own(fd, &user)) {
    case 1: return 0;
    case 0: return ILK__ERROR_FOREIGN;
    default: return errno;
    }
}

int ilk__embedded_command(const char *socket_path, const char *command,
                          char *line, size_t size, int64_t deadline)
{
    int fd = ilk__dial_socket(AF_UNIX), error;

    if (fd < 0)
        return errno;
    error = dial(fd, socket_path, deadline);
    if (error == 0)
        error = check_user(fd);
    if (error == 0)
        error = send_all(fd, command, strlen(command), deadline);
    if (error == 0)
        error = send_all(fd, "\r\n", 2, deadline);
    if (error == 0)
        error = recv_line(fd, line, size, deadline);
    ilk__descriptor_close(fd);
    return error;
}
