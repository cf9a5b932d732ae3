/* SPDX-License-Identifier: MIT */
/* descriptor.c -- descriptors above the standard ones. */
#include "descriptor.h"

#include "cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void ilk__descriptor_close(int fd)
{
    int saved = errno, cancelling = ilk__cancel_disable();

    close(fd);
    ilk__cancel_restore(cancelling);
    errno = saved;
}

int64_t ilk__descriptor_identity(int fd)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode))
        return -1;
    return (int64_t)info.st_ino;
}

int ilk__descriptor_raise(int fd)
{
    int raised;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    raised = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ilk__descriptor_close(fd);
    return raised;
}

int ilk__descriptor_prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int open_pipe(int fds[2])
{
#ifdef __APPLE__ /* has no pipe2() */
    if (pipe(fds) != 0)
        return -1;
    if (ilk__descriptor_prepare(fds[0]) == 0
        && ilk__descriptor_prepare(fds[1]) == 0)
        return 0;
    ilk__descriptor_close(fds[0]);
    ilk__descriptor_close(fds[1]);
    return -1;
#else
    return pipe2(fds, O_CLOEXEC | O_NONBLOCK);
#endif
}

int ilk__descriptor_pipe(int fds[2])
{
    int got[2];

    fds[0] = fds[1] = -1;
    if (open_pipe(got) != 0)
        return -1;
    fds[0] = ilk__descriptor_raise(got[0]);
    fds[1] = ilk__descriptor_raise(got[1]);
    if (fds[0] >= 0 && fds[1] >= 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            ilk__descriptor_close(fds[i]);
        fds[i] = -1;
    }
    return -1;
}
