/* SPDX-License-Identifier: MIT */
/* dial.c -- opens a non-blocking socket and connects it to one address. */
#include "dial.h"

#include "base/cancel.h"
#include "base/descriptor.h"

#include <errno.h>
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

/* Best effort: a socket without one of these still works. */
static void set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static int open_socket(int family)
{
    int fd, error;

#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK)
    fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 || errno != EINVAL)
        return ilk__descriptor_raise(fd);
#endif
    fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0 && ilk__descriptor_prepare(fd) != 0) {
        error = errno;
        ilk__descriptor_close(fd);
        errno = error;
        fd = -1;
    }
    return ilk__descriptor_raise(fd);
}

static int hide_broken_pipe(int fd)
{
#ifdef SO_NOSIGPIPE
    if (fd >= 0)
        set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    return fd;
}

int ilk__dial_socket(int family)
{
    return hide_broken_pipe(open_socket(family));
}

static int open_pair(int fds[2])
{
#ifdef SOCK_CLOEXEC
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
#else
    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
#endif
}

int ilk__dial_pair(int fds[2])
{
    int failed;

    if (open_pair(fds) != 0)
        return -1;
    for (int i = 0; i < 2; i++)
        fds[i] = hide_broken_pipe(ilk__descriptor_raise(fds[i]));
    failed = fds[0] < 0 || fds[1] < 0 || ilk__descriptor_prepare(fds[0]) != 0
             || ilk__descriptor_prepare(fds[1]) != 0;
    for (int i = 0; failed && i < 2; i++)
        if (fds[i] >= 0)
            ilk__descriptor_close(fds[i]);
    return failed ? -1 : 0;
}

static void set_options(int fd, int family)
{
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
    int fd = ilk__dial_socket(address->sa_family), cancelling, error;
    ilk_status status;

    *out_fd = -1;
    if (fd < 0)
        return ilk__fail(err, ILK_ECONN, "cannot open a socket to %s: %s",
                         where, strerror(errno));
    set_options(fd, address->sa_family);
    cancelling = ilk__cancel_disable();
    error = connect(fd, address, address_len) == 0 ? 0 : errno;
    ilk__cancel_restore(cancelling);
    status = outcome(error, address->sa_family, where, err);
    if (status == ILK_OK || status == ILK_EAGAIN)
        *out_fd = fd;
    else
        ilk__descriptor_close(fd);
    return status;
}

ilk_status ilk__dial_finish(int fd, const char *where, ilk_error *err)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int cancelling = ilk__cancel_disable(), error = 0;
    int ready = poll(&writable, 1, 0);

    ilk__cancel_restore(cancelling);
    if (ready <= 0)
        return ILK_EAGAIN;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    return error == 0 ? ILK_OK : refused(where, error, err);
}

/* The kernel recorded the user when the process called listen(). */
int ilk__dial_is_own(int fd, unsigned long *out_user)
{
    uid_t user;
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t len = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return -1;
    user = peer.uid;
#else
    gid_t group;

    if (getpeereid(fd, &user, &group) != 0)
        return -1;
#endif
    *out_user = (unsigned long)user;
    return user == geteuid();
}

static ilk_status check_user(int *fd, const char *path, ilk_error *err)
{
    unsigned long user;
    int own = ilk__dial_is_own(*fd, &user);

    if (own == 1)
        return ILK_OK;
    ilk__descriptor_close(*fd);
    *fd = -1;
    if (own < 0)
        return ilk__fail(err, ILK_ECONN,
                         "cannot connect to %s: cannot get the server's user: "
                         "%s",
                         path, strerror(errno));
    return ilk__fail(err, ILK_ECONN,
                     "cannot connect to %s: the server runs as user %lu, not "
                     "%lu",
                     path, user, (unsigned long)geteuid());
}

ilk_status ilk__dial_path(int *out_fd, const char *path, int same_user,
                          ilk_error *err)
{
    ilk_status status;
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
    status = ilk__dial(out_fd, (const struct sockaddr *)&address,
                       sizeof address, path, err);
    if (*out_fd >= 0 && same_user && check_user(out_fd, path, err) != ILK_OK)
        return ILK_ECONN;
    return status;
}
