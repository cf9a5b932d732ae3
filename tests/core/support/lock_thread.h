/* SPDX-License-Identifier: MIT */
/*
 * lock_thread.h -- acquires in threads of their own.
 *
 *     taker t;
 *     start_taker(&t, lock, 5000);
 *     ...
 *     assert_took(ILK_OK, &t);
 */
#ifndef ILK__LOCK_THREAD_H
#define ILK__LOCK_THREAD_H

#include "lock_case.h"

typedef struct taker {
    ilk_lock *lock;
    int64_t timeout_ms;
    pthread_t thread;
    int64_t began_at, ended_at; /* as fixture_now_ms() */
    ilk_status status;
    ilk_error err;
    _Atomic int done;
} taker;

void start_taker(taker *t, ilk_lock *lock, int64_t timeout_ms);

/* Wait for its end, at most 30 s, and see how it ended. */
#define assert_took(expected, t) assert_took_at(expected, t, __FILE__, __LINE__)
void assert_took_at(ilk_status expected, taker *t, const char *file, int line);

/* SIGUSR1 until it has ended: one that meets no wait ends none. */
void interrupt_taker(const taker *t);

int64_t took_ms(const taker *t);

/* The same for many names. */
typedef struct many_taker {
    ilk_lock_many *many;
    int64_t timeout_ms;
    pthread_t thread;
    int64_t ended_at;
    ilk_status status;
    ilk_error err;
    _Atomic int done;
} many_taker;

void start_many_taker(many_taker *t, ilk_lock_many *many, int64_t timeout_ms);
void interrupt_many_taker(const many_taker *t);
void assert_took_many(ilk_status expected, many_taker *t);

#endif
