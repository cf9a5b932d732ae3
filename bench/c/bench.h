/* SPDX-License-Identifier: MIT */
/* bench.h -- what the benchmark programs share: clocks, percentiles, exits. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static inline int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* CPU seconds of this process so far. */
static inline double cpu_seconds(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec)
           + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static inline int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sort the times and answer the one at this share of them, in us. */
static inline double percentile_us(int64_t *times, size_t count, double share)
{
    if (!count)
        return 0;
    qsort(times, count, sizeof *times, by_size);
    return (double)times[(size_t)((double)(count - 1) * share)] / 1000;
}

/* What came of pairs of calls, as one line; their times are sorted. */
static inline void print_figures(int64_t *times, size_t count, size_t pairs,
                                 double seconds, double cpu)
{
    printf("{\"pairs\": %zu, \"per_s\": %.1f, \"p50_us\": %.2f,"
           " \"p99_us\": %.2f, \"cpu_us\": %.3f}\n",
           pairs, (double)pairs / seconds, percentile_us(times, count, 0.5),
           percentile_us(times, count, 0.99), cpu * 1e6 / (double)pairs);
    fflush(stdout);
}

static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

#endif
