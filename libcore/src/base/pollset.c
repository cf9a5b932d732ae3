/* SPDX-License-Identifier: MIT */
/* pollset.c -- one descriptor for several: epoll, or kqueue. */
#include "pollset.h"

#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__

#include <sys/epoll.h>

static int open_set(void)
{
    return ilk__descriptor_raise(epoll_create1(EPOLL_CLOEXEC));
}

static int watch(int set, int fd, short events)
{
    struct epoll_event wanted = {
        .events = (events & POLLIN ? (uint32_t)EPOLLIN : 0)
                  | (events & POLLOUT ? (uint32_t)EPOLLOUT : 0)};

    if (epoll_ctl(set, EPOLL_CTL_MOD, fd, &wanted) == 0)
        return 0;
    return errno == ENOENT ? epoll_ctl(set, EPOLL_CTL_ADD, fd, &wanted) : -1;
}

static void forget(int set, int fd)
{
    struct epoll_event none = {0};

    (void)epoll_ctl(set, EPOLL_CTL_DEL, fd, &none);
}

#else

#include <sys/event.h>
#include <sys/time.h>
#include <sys/types.h>

static int open_set(void)
{
    int fd = ilk__descriptor_raise(kqueue());

    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        ilk__descriptor_close(fd);
        return -1;
    }
    return fd;
}

/* Add or remove a filter; removing one that does not exist succeeds. */
static int set_filter(int set, int fd, short filter, int wanted)
{
    struct kevent change;

    EV_SET(&change, fd, filter, wanted ? EV_ADD : EV_DELETE, 0, 0, 0);
    if (kevent(set, &change, 1, NULL, 0, NULL) == 0)
        return 0;
    return !wanted && errno == ENOENT ? 0 : -1;
}

static int watch(int set, int fd, short events)
{
    if (set_filter(set, fd, EVFILT_READ, events & POLLIN) != 0)
        return -1;
    return set_filter(set, fd, EVFILT_WRITE, events & POLLOUT);
}

static void forget(int set, int fd)
{
    (void)watch(set, fd, 0);
}

#endif

ilk_status ilk__pollset_open(ilk__pollset *set, ilk_error *err)
{
    set->fd = open_set();
    if (set->fd >= 0)
        return ILK_OK;
    return ilk__fail(err, ILK_ESYSTEM, "cannot open a descriptor: %s",
                     strerror(errno));
}

void ilk__pollset_close(ilk__pollset *set)
{
    if (set->fd >= 0)
        ilk__descriptor_close(set->fd);
    set->fd = -1;
}

ilk_status ilk__pollset_watch(ilk__pollset *set, int fd, short events,
                              ilk_error *err)
{
    if (watch(set->fd, fd, events) == 0)
        return ILK_OK;
    return ilk__fail(err, ILK_ESYSTEM, "cannot watch a descriptor: %s",
                     strerror(errno));
}

void ilk__pollset_forget(ilk__pollset *set, int fd)
{
    if (set->fd >= 0)
        forget(set->fd, fd);
}
