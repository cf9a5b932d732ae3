/* SPDX-License-Identifier: MIT */
/*
 * crowd.c -- threads that take one lock in turns, or with a LIMIT one of a
 * semaphore's permits: crowd URL NAME THREADS STARTS ENDS [LIMIT], the times
 * in seconds of the monotonic clock. Prints for each thread a list of
 * [asked, entered, ...] in ns since STARTS.
 */
#include "bench.h"

#include <interlock.h>
#include <pthread.h>
#include <string.h>

enum { THREADS_MAX = 1000, ENTRIES = 200000 };

typedef struct side {
    pthread_t thread;
    int64_t *times;
    size_t count;
} side;

static ilk_client *client;
static const char *name;
static int32_t limit; /* 0: a lock */
static int64_t starts, ends;

/* ---- what they take ------------------------------------------------------ */

typedef struct hold {
    ilk_lock *lock;
    ilk_semaphore *permit;
} hold;

static void check(ilk_status status, const ilk_error *err)
{
    if (status)
        die("crowd", err->msg);
}

static void open_hold(hold *it)
{
    ilk_error err;

    if (limit)
        check(ilk_semaphore_open(&it->permit, client, name, strlen(name), limit,
                                 NULL, &err),
              &err);
    else
        check(ilk_lock_open(&it->lock, client, name, strlen(name), NULL, &err),
              &err);
}

static void acquire(const hold *it)
{
    ilk_error err;

    check(limit ? ilk_semaphore_acquire(it->permit, -1, &err)
                : ilk_lock_acquire(it->lock, -1, &err),
          &err);
}

static void release(const hold *it)
{
    ilk_error err;

    check(limit ? ilk_semaphore_release(it->permit, &err)
                : ilk_lock_release(it->lock, &err),
          &err);
}

/* ---- the crowd ----------------------------------------------------------- */

static void sleep_until(int64_t when)
{
    struct timespec t = {when / 1000000000, when % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *work(void *arg)
{
    side *me = arg;
    hold it = {NULL, NULL};

    open_hold(&it);
    sleep_until(starts);
    while (now_ns() < ends && me->count + 2 <= ENTRIES) {
        me->times[me->count] = now_ns() - starts;
        acquire(&it);
        me->times[me->count + 1] = now_ns() - starts;
        release(&it);
        me->count += 2;
    }
    ilk_lock_free(it.lock);
    ilk_semaphore_free(it.permit);
    return NULL;
}

static void print(const side *sides, int threads)
{
    putchar('[');
    for (int i = 0; i < threads; i++) {
        printf("%s[", i ? "," : "");
        for (size_t k = 0; k < sides[i].count; k++)
            printf("%s%lld", k ? "," : "", (long long)sides[i].times[k]);
        putchar(']');
    }
    puts("]");
}

int main(int argc, char **argv)
{
    static side sides[THREADS_MAX];
    int threads = argc == 6 || argc == 7 ? atoi(argv[3]) : 0;
    ilk_error err;

    if (threads < 1 || threads > THREADS_MAX)
        die("usage", "crowd URL NAME THREADS STARTS ENDS [LIMIT]");
    name = argv[2];
    starts = (int64_t)(atof(argv[4]) * 1e9);
    ends = (int64_t)(atof(argv[5]) * 1e9);
    limit = argc == 7 ? (int32_t)atoi(argv[6]) : 0;
    check(ilk_client_open(&client, argv[1], NULL, &err), &err);
    for (int i = 0; i < threads; i++) {
        sides[i].times = malloc(ENTRIES * sizeof *sides[i].times);
        if (!sides[i].times
            || pthread_create(&sides[i].thread, NULL, work, &sides[i]))
            die("crowd", "out of memory or threads");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(sides[i].thread, NULL);
    print(sides, threads);
    ilk_client_free(client);
    return 0;
}
