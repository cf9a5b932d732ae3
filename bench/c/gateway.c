/* SPDX-License-Identifier: MIT */
/*
 * gateway.c -- the price of the hop through a client's own gateway:
 * gateway SERVER SECONDS ROUNDS, with the directory of libinterlock-memory.so in
 * INTERLOCK_BACKENDS. Prints one line with medians of the rounds, in us:
 *
 *     ping_gateway   a PING that the gateway answers
 *     ping_server    a PING to the server, by the same client code
 *     pair           a lock taken and given back in the store in memory
 *     store          that store's own time for one of the two
 *     hop            what is left of a command of the pair
 */
#include "bench.h"

#include <interlock.h>
#include <string.h>

enum { SAMPLES = 1000000, ROUNDS_MAX = 100 };

typedef void step(void *handle);

static int64_t times[SAMPLES];
static double store_us;

/* The store says at its end how long a request took. */
static void read_log(void *user, int32_t level, const char *text)
{
    double ns;

    (void)level;
    (void)user;
    if (sscanf(text, "the memory store: %lf ns", &ns) == 1)
        store_us = ns / 1000;
}

static ilk_client *open_client(const char *url)
{
    ilk_client *client;
    ilk_error err;

    if (ilk_client_open(&client, url, NULL, &err))
        die(url, err.msg);
    return client;
}

static void ping(void *client)
{
    ilk_error err;

    if (ilk_client_ping(client, 5000, &err))
        die("ping", err.msg);
}

static void pair(void *lock)
{
    ilk_error err;

    if (ilk_lock_acquire(lock, 0, &err) || ilk_lock_release(lock, &err))
        die("pair", err.msg);
}

static double median_us(step *once, void *handle, double seconds)
{
    int64_t began = now_ns(), ends = began + (int64_t)(seconds * 1e9), ended;
    size_t count = 0;

    do {
        once(handle);
        ended = now_ns();
        times[count++] = ended - began;
        began = ended;
    } while (ended < ends && count < SAMPLES);
    return percentile_us(times, count, 0.5);
}

static double median(double *of_rounds, int rounds)
{
    int64_t ns[ROUNDS_MAX];

    for (int i = 0; i < rounds; i++)
        ns[i] = (int64_t)(of_rounds[i] * 1000);
    return percentile_us(ns, (size_t)rounds, 0.5);
}

int main(int argc, char **argv)
{
    double here[ROUNDS_MAX], there[ROUNDS_MAX], pairs[ROUNDS_MAX], seconds;
    ilk_client *memory, *server;
    ilk_lock *lock;
    ilk_error err;
    int rounds;

    if (argc != 4)
        die("usage", "gateway SERVER SECONDS ROUNDS");
    seconds = atof(argv[2]);
    rounds = atoi(argv[3]);
    if (rounds < 1 || rounds > ROUNDS_MAX)
        die("gateway: not 1 to 100 rounds", argv[3]);
    (void)ilk_log_set_callback(read_log, NULL, ILK_LOG_INFO, NULL);
    memory = open_client("memory://");
    server = open_client(argv[1]);
    if (ilk_lock_open(&lock, memory, "pair", 4, NULL, &err))
        die("gateway", err.msg);
    for (int i = 0; i < rounds; i++) {
        here[i] = median_us(ping, memory, seconds);
        there[i] = median_us(ping, server, seconds);
        pairs[i] = median_us(pair, lock, seconds);
    }
    ilk_lock_free(lock);
    ilk_client_free(server);
    ilk_client_free(memory);
    printf("{\"ping_gateway\": %.2f, \"ping_server\": %.2f, \"pair\": %.2f,"
           " \"store\": %.2f, \"hop\": %.2f}\n",
           median(here, rounds), median(there, rounds), median(pairs, rounds),
           store_us, median(pairs, rounds) / 2 - store_us);
    return 0;
}
