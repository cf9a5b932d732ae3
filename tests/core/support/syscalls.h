/* SPDX-License-Identifier: MIT */
/*
 * syscalls.h -- the system calls of the library, counted, and some of them
 * failing.
 *
 * A program that includes this wraps them all, by the line `link:` of
 * ct_syscalls.c. Only calls between calls_watch() or calls_fail() and
 * calls_leave() are counted, those of all threads and of child processes that
 * were forked meanwhile.
 */
#ifndef ILK__SYSCALLS_H
#define ILK__SYSCALLS_H

#define CALLS(X)                                                               \
    X(socket)                                                                  \
    X(connect)                                                                 \
    X(getsockopt)                                                              \
    X(send)                                                                    \
    X(recv)                                                                    \
    X(poll)                                                                    \
    X(futex)                                                                   \
    X(eventfd)                                                                 \
    X(epoll_create1)                                                           \
    X(epoll_ctl)                                                               \
    X(read)                                                                    \
    X(write)                                                                   \
    X(open)                                                                    \
    X(openat)                                                                  \
    X(mkdir)                                                                   \
    X(stat)                                                                    \
    X(fstat)                                                                   \
    X(realpath)                                                                \
    X(access)                                                                  \
    X(flock)                                                                   \
    X(fcntl)                                                                   \
    X(ftruncate)                                                               \
    X(pwrite)                                                                  \
    X(fork)                                                                    \
    X(posix_spawn)                                                             \
    X(waitpid)                                                                 \
    X(nanosleep)                                                               \
    X(getrandom)                                                               \
    X(pthread_create)

#define CALLS_ENUM(name) CALL_##name,
typedef enum call { CALLS(CALLS_ENUM) CALLS_COUNT } call;
#undef CALLS_ENUM

/* Ways to fail that are no errno. */
enum {
    CALL_SHORT = -1, /* half is sent, or one byte is received */
    CALL_END = -2    /* recv() answers 0 */
};

typedef struct call_fault {
    call kind;
    int how;    /* an errno, CALL_SHORT or CALL_END */
    int times;  /* so many in a row */
    int hidden; /* nobody must notice */
} call_fault;

const char *call_name(call kind);

void calls_watch(void); /* count from zero; none fails */
void calls_fail(const call_fault *fault, long nth);
void calls_leave(void);
void calls_leave_to_children(void); /* this process' are not counted */

long calls_made(call kind); /* since the last watch or fail */
long calls_struck(void);    /* how many of them failed */

#endif
