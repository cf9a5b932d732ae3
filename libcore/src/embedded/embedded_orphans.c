/* SPDX-License-Identifier: MIT */
/*
 * embedded_orphans.c -- servers and watchers that became children of this
 * process.
 *
 * A process descriptor refers to one process, while a process id could belong to
 * another child by then, which the program wants to reap itself. A process that
 * the program has reaped is no child any more, and its descriptor is closed.
 *
 * The slots are atomic instead of guarded by a mutex, which a forked child could
 * find locked for ever. A forked child has none of these children: it closes its
 * copies of the descriptors when it attaches.
 */
#include "embedded_orphans.h"

#include "base/descriptor.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SYS_pidfd_open

enum {
    SLOTS = 16,       /* further ones stay zombies until the program ends */
    BY_DESCRIPTOR = 3 /* P_PIDFD, which older headers lack */
};

/* A process id in the upper half, its descriptor in the lower one; 0: free. */
static _Atomic int64_t slots[SLOTS];

/* 1 while the process is a child that has not ended; otherwise it is reaped. */
static int is_running(int fd)
{
    siginfo_t info = {.si_pid = 0};

    return waitid((idtype_t)BY_DESCRIPTOR, (id_t)fd, &info, WEXITED | WNOHANG)
               == 0
           && info.si_pid == 0;
}

/* Keep a child that is running, if a slot is free. */
static void keep(int64_t child)
{
    int fd = (int)(child & INT32_MAX), kept = 0;

    for (int i = 0; i < SLOTS && !kept && is_running(fd); i++) {
        int64_t none = 0;

        kept = atomic_compare_exchange_strong(&slots[i], &none, child);
    }
    if (!kept)
        ilk__descriptor_close(fd);
}

static int is_kept(pid_t pid)
{
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&slots[i]) >> 32 == pid)
            return 1;
    return 0;
}

void ilk__orphans_add(pid_t pid)
{
    siginfo_t info;
    int fd;

    if (pid <= 0 || is_kept(pid)
        || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return;
    fd = ilk__descriptor_raise((int)syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0)
        keep((int64_t)pid << 32 | fd);
}

void ilk__orphans_reap(void)
{
    for (int i = 0; i < SLOTS; i++) {
        int64_t child = atomic_exchange(&slots[i], 0);

        if (child != 0)
            keep(child);
    }
}

#else

void ilk__orphans_add(pid_t pid)
{
    (void)pid;
}

void ilk__orphans_reap(void)
{
}

#endif
