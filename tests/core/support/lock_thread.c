/* SPDX-License-Identifier: MIT */
/* lock_thread.c -- acquires in threads of their own. */
#include "lock_thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static void *take(void *arg)
{
    taker *t = arg;

    t->began_at = fixture_now_ms();
    t->status = ilk_lock_acquire(t->lock, t->timeout_ms, &t->err);
    t->ended_at = fixture_now_ms();
    atomic_store(&t->done, 1);
    return NULL;
}

void start_taker(taker *t, ilk_lock *lock, int64_t timeout_ms)
{
    memset(t, 0, sizeof *t);
    t->lock = lock;
    t->timeout_ms = timeout_ms;
    assert_int_equal(0, pthread_create(&t->thread, NULL, take, t));
}

void assert_took_at(ilk_status expected, taker *t, const char *file, int line)
{
    join_soon_at(t->thread, "acquire", file, line);
    assert_status_at(expected, t->status, &t->err, "acquire", file, line);
}

static void interrupt_until(pthread_t thread, const _Atomic int *done)
{
    for (int i = 0; i < 500 && !atomic_load(done); i++) {
        pthread_kill(thread, SIGUSR1);
        fixture_sleep_ms(10);
    }
}

void interrupt_taker(const taker *t)
{
    interrupt_until(t->thread, &t->done);
}

int64_t took_ms(const taker *t)
{
    return t->ended_at - t->began_at;
}

static void *take_many(void *arg)
{
    many_taker *t = arg;

    t->status = ilk_lock_many_acquire(t->many, t->timeout_ms, &t->err);
    t->ended_at = fixture_now_ms();
    atomic_store(&t->done, 1);
    return NULL;
}

void start_many_taker(many_taker *t, ilk_lock_many *many, int64_t timeout_ms)
{
    memset(t, 0, sizeof *t);
    t->many = many;
    t->timeout_ms = timeout_ms;
    assert_int_equal(0, pthread_create(&t->thread, NULL, take_many, t));
}

void interrupt_many_taker(const many_taker *t)
{
    interrupt_until(t->thread, &t->done);
}

void assert_took_many(ilk_status expected, many_taker *t)
{
    join_soon(t->thread, "acquire of many");
    assert_status_at(expected, t->status, &t->err, "acquire of many", __FILE__,
                     __LINE__);
}
