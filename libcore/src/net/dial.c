/* SPDX-License-Identifier: MIT */
/* dial.c -- opens a non-blocking socket and connects it to one address. */
#include "dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel detects a vanished peer within about half a minute if the
 * connection is idle, and within USER_TIMEOUT_MS if sent bytes are not
 * acknowledged. */
enum {
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_EVERY_S = 5,
    KEEPALIVE_COUNT = 3,
    USER_TIMEOUT_MS = 10000
};

static int set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int open_socket(int family)
{
    int fd, error;

#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK)
    fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 || errno != EINVAL)
        return fd;
#endif
    fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0 && set_flags(fd) != 0) {
        error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

/* Best effort: a socket without one of these still works. */
static void set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void set_options(int fd, int family)
{
#ifdef SO_NOSIGPIPE
    set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    if (family == AF_UNIX)
        return;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
#elif defined(TCP_KEEPALIVE)
    set_option(fd, IPPROTO_TCP, TCP_KEEPALIVE, KEEPALIVE_IDLE_S);
#endif
#ifdef TCP_KEEPINTVL
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
#endif
#ifdef TCP_USER_TIMEOUT
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
#endif
}

static ilk_status refused(const char *where, int error, ilk_error *err)
{
    return ilk__fail(err, ILK_ECONN, "cannot connect to %s: %s", where,
                     strerror(error));
}

/* The result of connect(), which goes on in the kernel after EINTR. */
static ilk_status outcome(int error, int family, const char *where,
                          ilk_error *err)
{
    if (error == 0)
        return ILK_OK;
    if (error == EINPROGRESS || error == EINTR)
        return ILK_EAGAIN;
    if (family == AF_UNIX && error == EAGAIN)
        return ILK_EBUSY;
    return refused(where, error, err);
}

ilk_status ilk__dial(int *out_fd, const struct sockaddr *address,
                     socklen_t address_len, const char *where, ilk_error *err)
{
    int fd = open_socket(address->sa_family), error;
    ilk_status status;

    *out_fd = -1;
    if (fd < 0)
        return ilk__fail(err, ILK_ECONN, "cannot open a socket to %s: %s",
                         where, strerror(errno));
    set_options(fd, address->sa_family);
    error = connect(fd, address, address_len) == 0 ? 0 : errno;
    status = outcome(error, address->sa_family, where, err);
    if (status == ILK_OK || status == ILK_EAGAIN)
        *out_fd = fd;
    else
        close(fd);
    return status;
}

ilk_status ilk__dial_finish(int fd, const char *where, ilk_error *err)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int error = 0;

    if (poll(&writable, 1, 0) <= 0)
        return ILK_EAGAIN;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    return error == 0 ? ILK_OK : refused(where, error, err);
}

ilk_status ilk__dial_path(int *out_fd, const char *path, ilk_error *err)
{
    struct sockaddr_un address;
    size_t len = strlen(path);

    *out_fd = -1;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (len >= sizeof address.sun_path)
        return ilk__fail(err, ILK_EINVAL,
                         "a socket's path has at most %zu bytes, got %zu: %s",
                         sizeof address.sun_path - 1, len, path);
    memcpy(address.sun_path, path, len + 1);
    return ilk__dial(out_fd, (const struct sockaddr *)&address, sizeof address,
                     path, err);
}
