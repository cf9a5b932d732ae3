/* SPDX-License-Identifier: MIT */
/*
 * raw.c -- the floor: hiredis sends the lock's own two scripts and does
 * nothing else. raw HOST PORT SECONDS ACQUIRE_SHA1 RELEASE_SHA1
 */
#include "raw.h"

enum { KEYS = 5, SAMPLES = 400000 };

static const char *const names[KEYS] = {
    "raw-0", "ilk:lock:fence:{raw-0}", "ilk:lock:wait:{raw-0}",
    "ilk:lock:live:{raw-0}", "ilk:lock:readers:{raw-0}"};

static void begin(words *w, const char *sha1)
{
    w->count = 0;
    add(w, "EVALSHA");
    add(w, sha1);
    add(w, "5");
    for (int i = 0; i < KEYS; i++)
        add(w, names[i]);
}

static void ask(redisContext *redis, words *w, long long code)
{
    append(redis, w);
    freeReplyObject(read_code(redis, code));
}

/* A token of its own for each pair, as the library has. */
static void pair(redisContext *redis, const char *acquire, const char *release,
                 size_t number)
{
    char token[33];
    words w;

    snprintf(token, sizeof token, "%032zx", number);
    begin(&w, acquire);
    add(&w, token);
    add_acquire(&w);
    ask(redis, &w, 1);
    begin(&w, release);
    add(&w, token);
    ask(redis, &w, 5);
}

int main(int argc, char **argv)
{
    static int64_t times[SAMPLES];
    size_t count = 0, pairs = 0;
    redisContext *redis;
    int64_t start, ends;
    double cpu, seconds;

    if (argc != 6)
        die("usage", "raw HOST PORT SECONDS ACQUIRE_SHA1 RELEASE_SHA1");
    redis = dial(argv[1], argv[2]);
    cpu = cpu_seconds();
    start = now_ns();
    ends = start + (int64_t)(atof(argv[3]) * 1e9);
    for (int64_t began = start, ended; began < ends; began = ended) {
        pair(redis, argv[4], argv[5], pairs++);
        ended = now_ns();
        if (count < SAMPLES)
            times[count++] = ended - began;
    }
    seconds = (double)(now_ns() - start) / 1e9;
    print_figures(times, count, pairs, seconds, cpu_seconds() - cpu);
    redisFree(redis);
    return 0;
}
