/* SPDX-License-Identifier: MIT */
/*
 * semaphore_case.h -- what the tests of semaphores share, beside lock_case.h:
 * handles that must open, acquires in threads, what the server says.
 */
#ifndef ILK__SEMAPHORE_CASE_H
#define ILK__SEMAPHORE_CASE_H

#include "lock_case.h"

ilk_semaphore *open_semaphore(ilk_client *client, const char *name,
                              int32_t limit);
/* permits 0: one; ttl_ms 0: the default */
ilk_semaphore *open_semaphore_with(ilk_client *client, const char *name,
                                   int32_t limit, int32_t permits,
                                   int64_t ttl_ms, uint32_t flags);

/* Permits that the server has as taken, expired or not. */
int64_t permits_taken(const char *name);
/* How many stand in the wait queue; waits until n do. */
void await_queued(const char *name, int n);

/* An acquire in a thread of its own. */
typedef struct sem_taker {
    ilk_semaphore *semaphore;
    int64_t timeout_ms;
    pthread_t thread;
    int64_t ended_at; /* as fixture_now_ms() */
    ilk_status status;
    ilk_error err;
    _Atomic int done;
} sem_taker;

void start_sem_taker(sem_taker *t, ilk_semaphore *semaphore,
                     int64_t timeout_ms);
/* Wait for its end, at most 30 s, and see how it ended. */
#define assert_sem_took(expected, t)                                           \
    assert_sem_took_at(expected, t, __FILE__, __LINE__)
void assert_sem_took_at(ilk_status expected, sem_taker *t, const char *file,
                        int line);
/* It goes on waiting. */
void assert_still_waits(const sem_taker *t);

#endif
