/* SPDX-License-Identifier: MIT */
/* semaphore_case.c -- what the tests of semaphores share. */
#include "semaphore_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

ilk_semaphore *open_semaphore_with(ilk_client *client, const char *name,
                                   int32_t limit, int32_t permits,
                                   int64_t ttl_ms, uint32_t flags)
{
    ilk_semaphore_opts opts;
    ilk_semaphore *semaphore = NULL;
    ilk_error err = {0};

    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.permits = permits;
    opts.ttl_ms = ttl_ms;
    opts.flags = flags;
    assert_status(ILK_OK, ilk_semaphore_open(&semaphore, client, name,
                                             strlen(name), limit, &opts, &err));
    return semaphore;
}

ilk_semaphore *open_semaphore(ilk_client *client, const char *name,
                              int32_t limit)
{
    return open_semaphore_with(client, name, limit, 0, 0, 0);
}

int64_t permits_taken(const char *name)
{
    return fixture_int(&fx, "ZCARD ilk:semaphore:{%s}", name);
}

void await_queued(const char *name, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    assert_int_equal(0, fixture_await(&fx, expected, 10000,
                                      "ZCARD ilk:semaphore:wait:{%s}", name));
}

static void *take(void *arg)
{
    sem_taker *t = arg;

    t->status = ilk_semaphore_acquire(t->semaphore, t->timeout_ms, &t->err);
    t->ended_at = fixture_now_ms();
    atomic_store(&t->done, 1);
    return NULL;
}

void start_sem_taker(sem_taker *t, ilk_semaphore *semaphore, int64_t timeout_ms)
{
    memset(t, 0, sizeof *t);
    t->semaphore = semaphore;
    t->timeout_ms = timeout_ms;
    assert_int_equal(0, pthread_create(&t->thread, NULL, take, t));
}

void assert_sem_took_at(ilk_status expected, sem_taker *t, const char *file,
                        int line)
{
    join_soon_at(t->thread, "acquire", file, line);
    assert_status_at(expected, t->status, &t->err, "acquire", file, line);
}

void assert_still_waits(const sem_taker *t)
{
    fixture_sleep_ms(40);
    assert_false(atomic_load(&t->done));
}
