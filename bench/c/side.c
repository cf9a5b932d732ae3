/* SPDX-License-Identifier: MIT */
/*
 * side.c -- our side in C: side lock URL, or side semaphore URL LIMIT. All
 * its threads share one client, those of `pairs ... each` have one each.
 * BENCH_LEASE_MS is the lease of a lock where it is not the default.
 */
#include "lines.h"

#include <interlock.h>
#include <pthread.h>

enum { THREADS_MAX = 1000 };

typedef struct hold {
    ilk_lock *lock;
    ilk_semaphore *permit;
} hold;

typedef struct side {
    pthread_t thread;
    ilk_client *client;
    hold it;
    diary times;
    int number;
} side;

static side sides[THREADS_MAX];
static ilk_client *client;
static const char *url, *name;
static int32_t limit; /* 0: a lock */
static int64_t starts, ends, hold_ns, lease_ms;

/* ---- what they take ------------------------------------------------------ */

static void check(ilk_status status, const ilk_error *err)
{
    if (status)
        die("side", err->msg);
}

static void open_hold(hold *it, ilk_client *of, const char *what,
                      int64_t ttl_ms)
{
    ilk_lock_opts opts;
    ilk_error err;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    if (limit)
        check(ilk_semaphore_open(&it->permit, of, what, strlen(what), limit,
                                 NULL, &err),
              &err);
    else
        check(ilk_lock_open(&it->lock, of, what, strlen(what), &opts, &err),
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

static void close_hold(hold *it)
{
    ilk_lock_free(it->lock);
    ilk_semaphore_free(it->permit);
    *it = (hold){NULL, NULL};
}

/* ---- threads ------------------------------------------------------------- */

static int threads_of(const char *word)
{
    int threads = atoi(word);

    if (threads < 1 || threads > THREADS_MAX)
        die("side: not 1 to 1000 threads", word);
    return threads;
}

static void start(int threads, void *(*body)(void *))
{
    for (int i = 0; i < threads; i++) {
        sides[i].number = i;
        if (pthread_create(&sides[i].thread, NULL, body, &sides[i]))
            die("side", "no more threads");
    }
}

static void join(int threads)
{
    for (int i = 0; i < threads; i++)
        pthread_join(sides[i].thread, NULL);
}

/* ---- pairs: nobody else wants it ----------------------------------------- */

static void *pair_off(void *arg)
{
    side *me = arg;
    int64_t began = now_ns(), ended;

    do {
        acquire(&me->it);
        release(&me->it);
        ended = now_ns();
        note(&me->times, ended - began);
        began = ended;
    } while (began < ends);
    return NULL;
}

/* Connect, and load the scripts, before the clock starts. */
static void set_up(int threads, int each)
{
    char own[LINE + 16];
    ilk_error err;

    for (int i = 0; i < threads; i++) {
        sides[i].client = client;
        if (each)
            check(ilk_client_open(&sides[i].client, url, NULL, &err), &err);
        snprintf(own, sizeof own, "%s-%d", name, i);
        open_hold(&sides[i].it, sides[i].client, own, lease_ms);
        acquire(&sides[i].it);
        release(&sides[i].it);
    }
}

static void pairs(const line *asked)
{
    int threads = threads_of(asked->word[2]);
    int each = strcmp(asked->word[4], "each") == 0;
    diary all = {NULL, 0, 0};
    double cpu, seconds;
    int64_t began;

    set_up(threads, each);
    cpu = cpu_seconds();
    began = now_ns();
    ends = began + ns_of(asked->word[3]);
    start(threads, pair_off);
    join(threads);
    seconds = (double)(now_ns() - began) / 1e9;
    cpu = cpu_seconds() - cpu;
    for (int i = 0; i < threads; i++) {
        for (size_t k = 0; k < sides[i].times.count; k++)
            note(&all, sides[i].times.times[k]);
        free(sides[i].times.times);
        sides[i].times = (diary){NULL, 0, 0};
        close_hold(&sides[i].it);
        if (each)
            ilk_client_free(sides[i].client);
    }
    print_pairs(&all, all.count, seconds, cpu);
}

/* ---- acquires: pairs by one thread, of which acquires are timed ----------- */

static void acquires(const line *asked)
{
    diary times = {NULL, 0, 0};
    int64_t began, asks;
    double cpu;

    set_up(1, 0);
    cpu = cpu_seconds();
    began = now_ns();
    ends = began + ns_of(asked->word[2]);
    do {
        asks = now_ns();
        acquire(&sides[0].it);
        note(&times, now_ns() - asks);
        release(&sides[0].it);
    } while (now_ns() < ends);
    close_hold(&sides[0].it);
    print_pairs(&times, times.count, (double)(now_ns() - began) / 1e9,
                cpu_seconds() - cpu);
}

/* ---- crowd: all want the same ------------------------------------------- */

static void *push_in(void *arg)
{
    side *me = arg;
    struct timespec inside = {hold_ns / 1000000000, hold_ns % 1000000000};

    sleep_until(starts);
    do {
        note(&me->times, now_ns() - starts);
        acquire(&me->it);
        note(&me->times, now_ns() - starts);
        if (hold_ns)
            nanosleep(&inside, NULL);
        release(&me->it);
    } while (now_ns() < ends);
    return NULL;
}

static void crowd(const line *asked)
{
    static diary diaries[THREADS_MAX];
    int threads = threads_of(asked->word[2]);
    line go;

    hold_ns = atoll(asked->word[3]) * 1000;
    for (int i = 0; i < threads; i++)
        open_hold(&sides[i].it, client, name, lease_ms);
    answer("\"standing\"");
    if (!hear(&go) || !says(&go, "go"))
        die("side", "stands, and was not told to go");
    starts = ns_of(go.word[1]);
    ends = ns_of(go.word[2]);
    start(threads, push_in);
    join(threads);
    for (int i = 0; i < threads; i++) {
        close_hold(&sides[i].it);
        diaries[i] = sides[i].times;
        sides[i].times = (diary){NULL, 0, 0};
    }
    print_diaries(diaries, (size_t)threads);
}

/* ---- hold and next: one holds until it is killed, one waits -------------- */

static void keep(const line *asked)
{
    hold it = {NULL, NULL};

    open_hold(&it, client, name, atoll(asked->word[2]));
    acquire(&it);
    answer("\"held\"");
}

static void next(const line *asked)
{
    hold it = {NULL, NULL};

    open_hold(&it, client, name, atoll(asked->word[2]));
    answer("\"waiting\"");
    acquire(&it);
    printf("%lld\n", (long long)now_ns());
    fflush(stdout);
    release(&it);
    close_hold(&it);
}

int main(int argc, char **argv)
{
    ilk_error err;
    line asked;

    if (argc != 3 && argc != 4)
        die("usage", "side lock URL | side semaphore URL LIMIT");
    url = argv[2];
    limit = argc == 4 ? (int32_t)atoi(argv[3]) : 0;
    if (getenv("BENCH_LEASE_MS"))
        lease_ms = atoll(getenv("BENCH_LEASE_MS"));
    check(ilk_client_open(&client, url, NULL, &err), &err);
    answer("\"ready\"");
    while (hear(&asked)) {
        name = asked.word[1];
        if (says(&asked, "pairs"))
            pairs(&asked);
        else if (says(&asked, "acquires"))
            acquires(&asked);
        else if (says(&asked, "crowd"))
            crowd(&asked);
        else if (says(&asked, "hold"))
            keep(&asked);
        else if (says(&asked, "next"))
            next(&asked);
        else
            die("side: unknown verb", asked.word[0]);
    }
    ilk_client_free(client);
    return 0;
}
