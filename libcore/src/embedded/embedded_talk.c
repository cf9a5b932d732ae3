/* SPDX-License-Identifier: MIT */
/* embedded_talk.c -- sends one command to a server, without a connection of
 * conn.h. */
#include "embedded_talk.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL /* macOS has the socket option SO_NOSIGPIPE instead */
#define MSG_NOSIGNAL 0
#endif

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
#ifdef SO_NOSIGPIPE
    int on = 1;

    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0
        && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

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

int ilk__talk(const char *socket_path, const char *command, char *line,
              size_t size, int64_t deadline)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%s\r\n", command);
    int fd = open_socket(), error;

    if (fd < 0)
        return errno;
    error = dial(fd, socket_path, deadline);
    if (error == 0)
        error = send_all(fd, text, (size_t)len, deadline);
    if (error == 0)
        error = recv_line(fd, line, size, deadline);
    close(fd);
    return error;
}
