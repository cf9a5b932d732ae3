/* SPDX-License-Identifier: MIT */
/*
 * signal.c -- waits of many threads that share one client:
 *
 *     signal URL all NAME WAITERS    each line read: signal all, print when half
 *                                    and all of them ran
 *     signal URL one NAME SIGNALS    one waiter, a signal each few ms: from
 *                                    the call to the one who ran
 *     signal URL rate NAME WAITERS   each line read: seconds to signal one
 *                                    after the other in
 *
 * The signals come from a client of its own. "ready" is said once.
 */
#include "bench.h"

#include <interlock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { WAITERS_MAX = 4096, PAUSE_NS = 3000000 };

static ilk_client *waiting, *giving;
static const char *name;
static int64_t ran[WAITERS_MAX];
static atomic_size_t count;

static void check(ilk_status status, const ilk_error *err)
{
    if (status)
        die("signal", err->msg);
}

static ilk_signal *open_signal(ilk_client *client)
{
    ilk_signal *signal;
    ilk_error err;

    check(ilk_signal_open(&signal, client, name, strlen(name), NULL, &err),
          &err);
    return signal;
}

/* Wait over and over; ran[] keeps when each signal of a round arrived. */
static void *wait_on(void *arg)
{
    ilk_signal *signal = open_signal(waiting);

    (void)arg;
    for (;;) {
        ilk_arrival *came;
        ilk_error err;
        int64_t now;

        check(ilk_signal_wait(&came, signal, -1, &err), &err);
        now = now_ns();
        ilk_arrival_free(came);
        ran[atomic_fetch_add(&count, 1) % WAITERS_MAX] = now;
    }
    return NULL;
}

static void start(int waiters)
{
    pthread_attr_t small;
    pthread_t thread;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    for (int i = 0; i < waiters; i++)
        if (pthread_create(&thread, &small, wait_on, NULL))
            die("signal", "no more threads");
}

static void await(size_t arrivals)
{
    while (atomic_load(&count) < arrivals)
        usleep(200);
}

/* ---- the three measurements --------------------------------------------- */

static void all(ilk_signal *signal, size_t waiters)
{
    int64_t began, reached;
    ilk_error err;

    atomic_store(&count, 0);
    began = now_ns();
    check(ilk_signal_notify_all(&reached, signal, "x", 1, &err), &err);
    if ((size_t)reached != waiters)
        die("signal", "not all of them were waiting");
    await(waiters);
    for (size_t i = 0; i < waiters; i++)
        ran[i] -= began;
    printf("{\"half_us\": %.1f, \"all_us\": %.1f}\n",
           percentile_us(ran, waiters, 0.5), percentile_us(ran, waiters, 1));
}

static void one(ilk_signal *signal, size_t signals)
{
    int64_t *times = calloc(signals, sizeof *times);

    if (!times)
        die("signal", "out of memory");
    for (size_t i = 0; i < signals; i++) {
        struct timespec pause = {0, PAUSE_NS};
        int64_t began, reached;
        ilk_error err;

        nanosleep(&pause, NULL); /* it waits again */
        atomic_store(&count, 0);
        began = now_ns();
        check(ilk_signal_notify_one(&reached, signal, "x", 1, &err), &err);
        if (!reached)
            die("signal", "nobody was waiting");
        await(1);
        times[i] = ran[0] - began;
    }
    printf("{\"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           percentile_us(times, signals, 0.5),
           percentile_us(times, signals, 0.99));
    free(times);
}

static void rate(ilk_signal *signal, double seconds)
{
    int64_t began = now_ns(), ends = began + (int64_t)(seconds * 1e9);
    long long sent = 0, heard = 0;

    while (now_ns() < ends) {
        int64_t reached;
        ilk_error err;

        check(ilk_signal_notify_one(&reached, signal, "x", 1, &err), &err);
        sent++;
        heard += reached;
    }
    printf("{\"per_s\": %.1f, \"reached\": %.4f}\n",
           (double)heard * 1e9 / (double)(now_ns() - began),
           (double)heard / (double)sent);
}

int main(int argc, char **argv)
{
    int number = argc == 5 ? atoi(argv[4]) : 0;
    ilk_signal *signal;
    ilk_error err;
    char line[32];

    if (number < 1 || number > WAITERS_MAX)
        die("usage", "signal URL all|one|rate NAME NUMBER");
    name = argv[3];
    check(ilk_client_open(&waiting, argv[1], NULL, &err), &err);
    check(ilk_client_open(&giving, argv[1], NULL, &err), &err);
    signal = open_signal(giving);
    start(strcmp(argv[2], "one") == 0 ? 1 : number);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(argv[2], "all") == 0)
            all(signal, (size_t)number);
        else if (strcmp(argv[2], "one") == 0)
            one(signal, (size_t)number);
        else
            rate(signal, atof(line));
        fflush(stdout);
    }
    _exit(0);
}
