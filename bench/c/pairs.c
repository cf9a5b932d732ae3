/* SPDX-License-Identifier: MIT */
/*
 * pairs.c -- uncontended acquire and release by threads, each on a name of
 * its own: pairs URL THREADS one|each SECONDS. The threads share one client
 * or have one each.
 */
#include "bench.h"

#include <interlock.h>
#include <pthread.h>
#include <string.h>

enum { SAMPLES = 400000, THREADS_MAX = 256 };

typedef struct side {
    pthread_t thread;
    ilk_client *client;
    int64_t ends;
    int64_t *times;
    size_t count, pairs;
    int number;
} side;

static void check(ilk_status status, const ilk_error *err)
{
    if (status)
        die("pairs", err->msg);
}

static void *work(void *arg)
{
    side *me = arg;
    char name[32];
    ilk_lock *lock;
    ilk_error err;

    snprintf(name, sizeof name, "pairs-%d", me->number);
    check(ilk_lock_open(&lock, me->client, name, strlen(name), NULL, &err),
          &err);
    for (int64_t began = now_ns(), ended; began < me->ends; began = ended) {
        check(ilk_lock_acquire(lock, -1, &err), &err);
        check(ilk_lock_release(lock, &err), &err);
        ended = now_ns();
        if (me->count < SAMPLES)
            me->times[me->count++] = ended - began;
        me->pairs++;
    }
    ilk_lock_free(lock);
    return NULL;
}

/* Open the clients and the pages before the clock starts. */
static void set_up(side *sides, int threads, const char *url, int each)
{
    ilk_error err;

    for (int i = 0; i < threads; i++) {
        sides[i].number = i;
        sides[i].times = malloc(SAMPLES * sizeof *sides[i].times);
        if (!sides[i].times)
            die("pairs", "out of memory");
        if (each || i == 0)
            check(ilk_client_open(&sides[i].client, url, NULL, &err), &err);
        else
            sides[i].client = sides[0].client;
    }
}

static void print(side *sides, int threads, double seconds, double cpu)
{
    int64_t *all = malloc((size_t)threads * SAMPLES * sizeof *all);
    size_t count = 0, pairs = 0;

    if (!all)
        die("pairs", "out of memory");
    for (int i = 0; i < threads; i++) {
        memcpy(all + count, sides[i].times, sides[i].count * sizeof *all);
        count += sides[i].count;
        pairs += sides[i].pairs;
    }
    printf("{\"pairs\": %zu, \"seconds\": %.6f, \"per_s\": %.1f,"
           " \"p50_us\": %.2f, \"p99_us\": %.2f, \"cpu_us\": %.3f}\n",
           pairs, seconds, (double)pairs / seconds,
           percentile_us(all, count, 0.5), percentile_us(all, count, 0.99),
           cpu * 1e6 / (double)pairs);
    free(all);
}

int main(int argc, char **argv)
{
    static side sides[THREADS_MAX];
    int threads = argc == 5 ? atoi(argv[2]) : 0;
    int each = argc == 5 && strcmp(argv[3], "each") == 0;
    int64_t began;
    double cpu;

    if (threads < 1 || threads > THREADS_MAX)
        die("usage", "pairs URL THREADS one|each SECONDS");
    set_up(sides, threads, argv[1], each);
    cpu = cpu_seconds();
    began = now_ns();
    for (int i = 0; i < threads; i++) {
        sides[i].ends = began + (int64_t)(atof(argv[4]) * 1e9);
        if (pthread_create(&sides[i].thread, NULL, work, &sides[i]))
            die("pairs", "no more threads");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(sides[i].thread, NULL);
    print(sides, threads, (double)(now_ns() - began) / 1e9,
          cpu_seconds() - cpu);
    for (int i = 0; i < threads; i++) {
        if (each || i == 0)
            ilk_client_free(sides[i].client);
        free(sides[i].times);
    }
    return 0;
}
