/* SPDX-License-Identifier: MIT */
/* pollable.c -- a descriptor that one side raises and the other polls. */
#include "pollable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__) && !defined(ILK_POLLABLE_PIPE)
#define ILK__EVENTFD 1
#include <sys/eventfd.h>
#endif

#ifdef ILK__EVENTFD

static int open_pair(int fds[2])
{
    fds[0] = fds[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fds[0] < 0 ? -1 : 0;
}

#else

static int prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int open_pair(int fds[2])
{
    if (pipe(fds) != 0)
        return -1;
    return prepare(fds[0]) == 0 ? prepare(fds[1]) : -1;
}

#endif

ilk_status ilk__pollable_open(ilk__pollable *pollable, ilk_error *err)
{
    int error;

    pollable->fds[0] = pollable->fds[1] = -1;
    if (open_pair(pollable->fds) == 0)
        return ILK_OK;
    error = errno;
    ilk__pollable_close(pollable);
    return ilk__fail(err, ILK_ESYSTEM, "cannot open a descriptor: %s",
                     strerror(error));
}

void ilk__pollable_close(ilk__pollable *pollable)
{
    if (pollable->fds[1] >= 0 && pollable->fds[1] != pollable->fds[0])
        close(pollable->fds[1]);
    if (pollable->fds[0] >= 0)
        close(pollable->fds[0]);
    pollable->fds[0] = pollable->fds[1] = -1;
}

int ilk__pollable_fd(const ilk__pollable *pollable)
{
    return pollable->fds[0];
}

/* An eventfd requires a write of eight bytes; a pipe accepts any number. */
void ilk__pollable_raise(ilk__pollable *pollable)
{
    const uint64_t one = 1;
    int saved = errno;
    ssize_t sent;

    do
        sent = write(pollable->fds[1], &one, sizeof one);
    while (sent < 0 && errno == EINTR);
    errno = saved; /* when it is full, it is raised already */
}

int ilk__pollable_clear(ilk__pollable *pollable)
{
    uint64_t drain[16];
    int saved = errno, raised = 0;
    ssize_t got;

    do {
        got = read(pollable->fds[0], drain, sizeof drain);
        raised |= got > 0;
    } while (got == sizeof drain || (got < 0 && errno == EINTR));
    errno = saved;
    return raised;
}
