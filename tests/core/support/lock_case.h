/* SPDX-License-Identifier: MIT */
/*
 * lock_case.h -- what the tests of locks share: a server, clients, handles
 * that must open, processes that hold and wait.
 */
#ifndef ILK__LOCK_CASE_H
#define ILK__LOCK_CASE_H

#include "server_case.h"

#include <interlock.h>

#include <pthread.h>
#include <sys/types.h>

ilk_client *open_client(void);
ilk_client *open_client_at(const char *url);
ilk_lock *open_lock(ilk_client *client, const char *name);
ilk_lock *open_lock_with(ilk_client *client, const char *name, int64_t ttl_ms,
                         uint32_t flags);

/* Acquire, extend, check, release: the first failure, with its error. */
ilk_status take_and_give_lock(ilk_lock *lock, ilk_error *err);

/* The status must be this; the failure shows both names and the text. */
#define assert_status(expected, call)                                          \
    assert_status_at(expected, call, &err, #call, __FILE__, __LINE__)
void assert_status_at(ilk_status expected, ilk_status got, const ilk_error *err,
                      const char *what, const char *file, int line);

/* took must be at most `limit` ms and the larger of 20 ms and 5 % late. */
void assert_on_time(int64_t took_ms, int64_t timeout_ms);

/* Join a thread; a failure when what it does goes on for 30 s. */
#define join_soon(thread, what) join_soon_at(thread, what, __FILE__, __LINE__)
void join_soon_at(pthread_t thread, const char *what, const char *file,
                  int line);

/* How many stand in the waiting list of a plain name; waits until n do. */
void await_waiters(const char *name, int n);

/*
 * A process of its own: connects, then acquires and holds as ordered, and
 * reports by a pipe, one byte each: 'o' connected, 'h' holds (then 8 bytes of
 * fence), 't' timed out, 'l' lost, 'r' released, 'e' another error.
 */
typedef struct child {
    pid_t pid;
    int reports; /* to read from */
    int orders;  /* to write to: 'r' releases, 'c' checks, 'q' quits */
} child;

child start_child(const char *name, int64_t ttl_ms, int64_t timeout_ms,
                  uint32_t flags);
/* The next report, waited for at most timeout_ms; '?' when there is none. */
char next_report(child *c, int timeout_ms, int64_t *out_fence);
void order(child *c, char what);
void end_child(child *c); /* SIGKILL, and reaped */

#endif
