/* SPDX-License-Identifier: MIT */
/*
 * lines.h -- a side's conversation: a line is asked, a line is answered.
 * ../README.md has the verbs.
 */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include "bench.h"

#include <string.h>

enum { WORDS = 8, LINE = 512 };

typedef struct line {
    char text[LINE];
    const char *word[WORDS]; /* those that were not given are "" */
} line;

/* Read a line and part it at its blanks; 0 at the end of the input. */
static inline int hear(line *it)
{
    char *at = it->text;

    for (int i = 0; i < WORDS; i++)
        it->word[i] = "";
    if (!fgets(it->text, sizeof it->text, stdin))
        return 0;
    for (int i = 0; i < WORDS && *at; i++) {
        it->word[i] = at;
        at += strcspn(at, " \n");
        if (*at)
            *at++ = '\0';
    }
    return 1;
}

static inline int says(const line *it, const char *verb)
{
    return strcmp(it->word[0], verb) == 0;
}

static inline void answer(const char *text)
{
    puts(text);
    fflush(stdout);
}

static inline int64_t ns_of(const char *seconds)
{
    return (int64_t)(atof(seconds) * 1e9);
}

static inline void sleep_until(int64_t when)
{
    struct timespec t = {when / 1000000000, when % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* What a waiter wrote down: when it asked, when it entered, and so on. */
typedef struct diary {
    int64_t *times;
    size_t count, room;
} diary;

static inline void note(diary *it, int64_t when)
{
    if (it->count == it->room) {
        it->room = it->room ? 2 * it->room : 64;
        it->times = realloc(it->times, it->room * sizeof *it->times);
        if (!it->times)
            die("diary", "out of memory");
    }
    it->times[it->count++] = when;
}

/* All diaries in one line, and forget them. */
static inline void print_diaries(diary *all, size_t count)
{
    putchar('[');
    for (size_t i = 0; i < count; i++) {
        printf("%s[", i ? "," : "");
        for (size_t k = 0; k < all[i].count; k++)
            printf("%s%lld", k ? "," : "", (long long)all[i].times[k]);
        putchar(']');
        free(all[i].times);
        all[i] = (diary){NULL, 0, 0};
    }
    answer("]");
}

/* What came of pairs of calls; their times are sorted on the way. */
static inline void print_pairs(diary *times, size_t pairs, double seconds,
                               double cpu)
{
    print_figures(times->times, times->count, pairs, seconds, cpu);
    free(times->times);
    *times = (diary){NULL, 0, 0};
}

#endif
