/* SPDX-License-Identifier: MIT */
/*
 * crowd.c -- threads that take one lock in turns: crowd URL NAME THREADS
 * STARTS ENDS, the times in seconds of the monotonic clock. Prints for each
 * thread a list of [asked, entered, ...] in ns since STARTS.
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
static int64_t starts, ends;

static void sleep_until(int64_t when)
{
    struct timespec t = {when / 1000000000, when % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *work(void *arg)
{
    side *me = arg;
    ilk_lock *lock;
    ilk_error err;

    if (ilk_lock_open(&lock, client, name, strlen(name), NULL, &err))
        die("crowd", err.msg);
    sleep_until(starts);
    while (now_ns() < ends && me->count + 2 <= ENTRIES) {
        me->times[me->count] = now_ns() - starts;
        if (ilk_lock_acquire(lock, -1, &err))
            die("crowd", err.msg);
        me->times[me->count + 1] = now_ns() - starts;
        if (ilk_lock_release(lock, &err))
            die("crowd", err.msg);
        me->count += 2;
    }
    ilk_lock_free(lock);
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
    int threads = argc == 6 ? atoi(argv[3]) : 0;
    ilk_error err;

    if (threads < 1 || threads > THREADS_MAX)
        die("usage", "crowd URL NAME THREADS STARTS ENDS");
    name = argv[2];
    starts = (int64_t)(atof(argv[4]) * 1e9);
    ends = (int64_t)(atof(argv[5]) * 1e9);
    if (ilk_client_open(&client, argv[1], NULL, &err))
        die("crowd", err.msg);
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
