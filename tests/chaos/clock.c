/* SPDX-License-Identifier: MIT */
/* clock.c -- preloaded into a process, steps its time of day.
 *
 * $CHAOS_CLOCK names a file with eight bytes: the nanoseconds that are added to
 * CLOCK_REALTIME. The harness writes them while the process runs. Other clocks are
 * left alone. (libfaketime does the same by reading its file at each call, and
 * recurses without end in a server that uses jemalloc.) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static const volatile int64_t *offset;

__attribute__((constructor)) static void open_clock(void)
{
    const char *path = getenv("CHAOS_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        offset = map;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, id, now);

    if (status == 0 && offset
        && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_sec * SECOND + now->tv_nsec + *offset;
        now->tv_sec = ns / SECOND;
        now->tv_nsec = ns % SECOND;
    }
    return (int)status;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    tv->tv_sec = now.tv_sec;
    tv->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
