/* SPDX-License-Identifier: MIT */
/* pollable.c -- a descriptor that one side raises and the other polls. */
#include "pollable.h"

#include "cancel.h"
#include "descriptor.h"
#include "log.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { LOST_WAKEUP_MS = 100 }; /* between two looks, without a descriptor */

#if defined(__linux__) && !defined(ILK_POLLABLE_PIPE)
#define ILK__EVENTFD 1
#include <sys/eventfd.h>
#endif

#ifdef ILK__EVENTFD

static int open_pair(int fds[2])
{
    fds[0] = fds[1] =
        ilk__descriptor_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return fds[0] < 0 ? -1 : 0;
}

#else

static int open_pair(int fds[2])
{
    return ilk__descriptor_pipe(fds);
}

#endif

ilk_status ilk__pollable_open(ilk__pollable *pollable, ilk_error *err)
{
    if (open_pair(pollable->fds) == 0)
        return ILK_OK;
    return ilk__fail(err, ILK_ESYSTEM, "cannot open a descriptor: %s",
                     strerror(errno));
}

void ilk__pollable_close(ilk__pollable *pollable)
{
    if (pollable->fds[1] >= 0 && pollable->fds[1] != pollable->fds[0])
        ilk__descriptor_close(pollable->fds[1]);
    if (pollable->fds[0] >= 0)
        ilk__descriptor_close(pollable->fds[0]);
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
    int saved = errno, cancelling = ilk__cancel_disable();
    ssize_t sent;

    do
        sent = write(pollable->fds[1], &one, sizeof one);
    while (sent < 0 && errno == EINTR);
    ilk__cancel_restore(cancelling);
    errno = saved; /* when it is full, it is raised already */
}

int ilk__pollable_clear(ilk__pollable *pollable)
{
    uint64_t drain[16];
    int saved = errno, raised = 0, cancelling = ilk__cancel_disable();
    ssize_t got;

    do {
        got = read(pollable->fds[0], drain, sizeof drain);
        raised |= got > 0;
    } while (got == sizeof drain || (got < 0 && errno == EINTR));
    ilk__cancel_restore(cancelling);
    errno = saved;
    return raised;
}

/*
 * The program closed the descriptor, for instance with all others when it became a
 * daemon, or its number is another file by now. Without another one poll() would
 * return at once for ever. The old number is not closed: it may be the program's.
 */
static void replace(ilk__pollable *pollable, pthread_mutex_t *mutex)
{
    ilk__pollable fresh;
    ilk_error err;

    if (ilk__pollable_open(&fresh, &err) != ILK_OK) {
        ilk__log(ILK__LOG_ERROR, "%s", err.msg);
        poll(NULL, 0, LOST_WAKEUP_MS);
        return;
    }
    ilk__log(ILK__LOG_ERROR, "the program closed descriptors of the library");
    pthread_mutex_lock(mutex);
    *pollable = fresh;
    pthread_mutex_unlock(mutex);
}

int ilk__pollable_polled(ilk__pollable *pollable, short revents,
                         pthread_mutex_t *mutex)
{
    if (!revents || (!(revents & POLLNVAL) && ilk__pollable_clear(pollable)))
        return 1;
    replace(pollable, mutex);
    return 0;
}
