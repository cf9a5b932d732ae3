/* SPDX-License-Identifier: MIT */
/* syscalls.c -- counts the library's system calls, and makes some of them fail.
 */
#include "syscalls.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Child processes count here, too. */
typedef struct tally {
    atomic_uint round; /* counts on while it is the process' own */
    call_fault fault;
    long nth; /* 0: none */
    atomic_long made[CALLS_COUNT], struck;
} tally;

static tally *shared;
static _Atomic unsigned own_round;

const char *call_name(call kind)
{
#define CALLS_NAME(name) #name,
    static const char *const names[] = {CALLS(CALLS_NAME)};
#undef CALLS_NAME

    return names[kind];
}

static void begin(const call_fault *fault, long nth)
{
    if (shared == NULL) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(shared, MAP_FAILED);
    }
    if (fault != NULL)
        shared->fault = *fault;
    shared->nth = nth;
    for (int i = 0; i < CALLS_COUNT; i++)
        atomic_store(&shared->made[i], 0);
    atomic_store(&shared->struck, 0);
    atomic_store(&own_round, atomic_fetch_add(&shared->round, 1) + 1);
}

void calls_watch(void)
{
    begin(NULL, 0);
}

void calls_fail(const call_fault *fault, long nth)
{
    begin(fault, nth);
}

void calls_leave(void)
{
    atomic_fetch_add(&shared->round, 1);
}

void calls_leave_to_children(void)
{
    atomic_store(&own_round, 0);
}

long calls_made(call kind)
{
    return atomic_load(&shared->made[kind]);
}

long calls_struck(void)
{
    return atomic_load(&shared->struck);
}

/* How this call must fail; 0: it need not. */
static int strike(call kind)
{
    long number;

    if (shared == NULL
        || atomic_load(&shared->round) != atomic_load(&own_round))
        return 0;
    number = atomic_fetch_add(&shared->made[kind], 1) + 1;
    if (shared->nth == 0 || kind != shared->fault.kind || number < shared->nth
        || number - shared->nth >= shared->fault.times)
        return 0;
    atomic_fetch_add(&shared->struck, 1);
    return shared->fault.how;
}

/* ---- calls that set errno ----------------------------------------------- */

#define DECLARE(type, name, declared)                                          \
    type __real_##name declared;                                               \
    type __wrap_##name declared;
#define WRAP_AS(kind, type, name, failed, declared, passed)                    \
    DECLARE(type, name, declared)                                              \
    type __wrap_##name declared                                                \
    {                                                                          \
        int how = strike(kind);                                                \
                                                                               \
        if (how == 0)                                                          \
            return __real_##name passed;                                       \
        errno = how;                                                           \
        return failed;                                                         \
    }
#define WRAP(type, name, failed, declared, passed)                             \
    WRAP_AS(CALL_##name, type, name, failed, declared, passed)

WRAP(int, socket, -1, (int family, int type, int protocol),
     (family, type, protocol))
WRAP(int, getsockopt, -1,
     (int fd, int level, int name, void *value, socklen_t *len),
     (fd, level, name, value, len))
WRAP(int, poll, -1, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
WRAP(int, eventfd, -1, (unsigned value, int flags), (value, flags))
WRAP(int, epoll_create1, -1, (int flags), (flags))
WRAP(int, epoll_ctl, -1, (int set, int what, int fd, struct epoll_event *event),
     (set, what, fd, event))
WRAP(ssize_t, read, -1, (int fd, void *buf, size_t len), (fd, buf, len))
WRAP(ssize_t, write, -1, (int fd, const void *buf, size_t len), (fd, buf, len))
WRAP(int, open, -1, (const char *path, int flags, mode_t mode),
     (path, flags, mode))
WRAP(int, openat, -1, (int at, const char *path, int flags, mode_t mode),
     (at, path, flags, mode))
WRAP(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, stat, -1, (const char *path, struct stat *out), (path, out))
WRAP(int, fstat, -1, (int fd, struct stat *out), (fd, out))
WRAP(char *, realpath, NULL, (const char *path, char *out), (path, out))
WRAP(int, access, -1, (const char *path, int mode), (path, mode))
WRAP(int, fcntl, -1, (int fd, int command, long arg), (fd, command, arg))
WRAP(int, ftruncate, -1, (int fd, off_t len), (fd, len))
WRAP(ssize_t, pwrite, -1, (int fd, const void *buf, size_t len, off_t at),
     (fd, buf, len, at))
WRAP(int, nanosleep, -1, (const struct timespec *pause, struct timespec *left),
     (pause, left))

/* Fortified code calls these instead. */
WRAP_AS(CALL_poll, int, __poll_chk, -1,
        (struct pollfd * fds, nfds_t n, int ms, size_t size),
        (fds, n, ms, size))
WRAP_AS(CALL_realpath, char *, __realpath_chk, NULL,
        (const char *path, char *out, size_t size), (path, out, size))

/* ---- the others --------------------------------------------------------- */

DECLARE(int, connect, (int fd, const struct sockaddr *to, socklen_t len))
DECLARE(ssize_t, send, (int fd, const void *buf, size_t len, int flags))
DECLARE(ssize_t, recv, (int fd, void *buf, size_t len, int flags))
DECLARE(ssize_t, getrandom, (void *buf, size_t len, unsigned flags))
DECLARE(int, flock, (int fd, int how))
DECLARE(pid_t, _Fork, (void))
DECLARE(int, posix_spawn,
        (pid_t * pid, const char *path,
         const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attr, char *const argv[], char *const env[]))
DECLARE(int, pthread_create,
        (pthread_t * out, const pthread_attr_t *attr, void *(*run)(void *),
         void *arg))
DECLARE(pid_t, waitpid, (pid_t pid, int *status, int flags))
DECLARE(long, syscall, (long number, long, long, long, long, long, long))

/* The kernel goes on connecting after a signal. */
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
    int how = strike(CALL_connect);

    if ((how == 0 || how == EINTR) && __real_connect(fd, to, len) != 0)
        return -1;
    errno = how;
    return how == 0 ? 0 : -1;
}

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
    int how = strike(CALL_send);

    if (how == 0 || how == CALL_SHORT)
        return __real_send(fd, buf, how == 0 ? len : (len + 1) / 2, flags);
    errno = how;
    return -1;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
    int how = strike(CALL_recv);

    if (how == 0 || how == CALL_SHORT)
        return __real_recv(fd, buf, how == 0 ? len : len != 0, flags);
    if (how == CALL_END)
        return 0;
    errno = how;
    return -1;
}

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags)
{
    int how = strike(CALL_getrandom);

    if (how == 0 || how == CALL_SHORT)
        return __real_getrandom(buf, how == 0 ? len : len != 0, flags);
    errno = how;
    return -1;
}

/* No kernel refuses to unlock. */
int __wrap_flock(int fd, int operation)
{
    int how = operation == LOCK_UN ? 0 : strike(CALL_flock);

    if (how == 0)
        return __real_flock(fd, operation);
    errno = how;
    return -1;
}

pid_t __wrap__Fork(void)
{
    int how = strike(CALL_fork);

    if (how == 0)
        return __real__Fork();
    errno = how;
    return -1;
}

int __wrap_posix_spawn(pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[],
                       char *const env[])
{
    int how = strike(CALL_posix_spawn);

    return how != 0 ? how
                    : __real_posix_spawn(pid, path, actions, attr, argv, env);
}

/* With ECHILD another function of the program has reaped the child. */
pid_t __wrap_waitpid(pid_t pid, int *status, int flags)
{
    int how = strike(CALL_waitpid), unused;
    pid_t got = 0;

    if (how == 0)
        return __real_waitpid(pid, status, flags);
    if (how == ECHILD && (got = __real_waitpid(pid, &unused, flags)) == 0)
        return 0; /* it has not ended yet */
    errno = how;
    return -1;
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*run)(void *), void *arg)
{
    int how = strike(CALL_pthread_create);

    return how != 0 ? how : __real_pthread_create(out, attr, run, arg);
}

/* A variadic function finds its arguments where any other does. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    int how = number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT
                  ? strike(CALL_futex)
                  : 0;

    if (how == 0)
        return __real_syscall(number, a, b, c, d, e, f);
    errno = how;
    return -1;
}
