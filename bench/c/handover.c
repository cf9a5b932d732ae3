/* SPDX-License-Identifier: MIT */
/*
 * handover.c -- from one process' release to the next one's hold:
 * handover URL NAME ROUNDS. The other process waits for 2 to 5 ms before
 * each release. Also the round trip of a PING by the same client.
 */
#include "bench.h"

#include <interlock.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_MAX = 10000 };

static int to_child[2], to_parent[2];
static ilk_client *client;
static ilk_lock *lock;
static ilk_error err;

static void check(ilk_status status)
{
    if (status)
        die("handover", err.msg);
}

static void open_lock(const char *url, const char *name)
{
    check(ilk_client_open(&client, url, NULL, &err));
    check(ilk_lock_open(&lock, client, name, strlen(name), NULL, &err));
}

/* For each byte: wait for the lock, note when it was ours, give it back. */
static void be_next(const char *url, const char *name)
{
    char byte;

    open_lock(url, name);
    while (read(to_child[0], &byte, 1) == 1) {
        int64_t entered;

        check(ilk_lock_acquire(lock, -1, &err));
        entered = now_ns();
        check(ilk_lock_release(lock, &err));
        if (write(to_parent[1], &entered, sizeof entered) < 0)
            break;
    }
    _exit(0);
}

static void one_round(int64_t *before, int64_t *after)
{
    int64_t called, returned, entered;

    check(ilk_lock_acquire(lock, -1, &err));
    if (write(to_child[1], "", 1) != 1)
        die("handover", "the other process is gone");
    usleep(2000 + (useconds_t)(rand() % 3000));
    called = now_ns();
    check(ilk_lock_release(lock, &err));
    returned = now_ns();
    if (read(to_parent[0], &entered, sizeof entered) != sizeof entered)
        die("handover", "the other process is gone");
    *before = entered - called;
    *after = entered - returned;
}

int main(int argc, char **argv)
{
    static int64_t before[ROUNDS_MAX], after[ROUNDS_MAX], ping[ROUNDS_MAX];
    size_t rounds = argc == 4 ? (size_t)atoi(argv[3]) : 0;

    if (rounds < 1 || rounds > ROUNDS_MAX)
        die("usage", "handover URL NAME ROUNDS");
    if (pipe(to_child) || pipe(to_parent))
        die("handover", "no pipes");
    if (fork() == 0) {
        close(to_child[1]);
        be_next(argv[1], argv[2]);
    }
    open_lock(argv[1], argv[2]);
    for (size_t i = 0; i < rounds; i++) {
        int64_t began;

        one_round(&before[i], &after[i]);
        usleep(1000);
        began = now_ns();
        check(ilk_client_ping(client, -1, &err));
        ping[i] = now_ns() - began;
    }
    close(to_child[1]);
    wait(NULL);
    printf("{\"before_us\": %.2f, \"after_us\": %.2f, \"ping_us\": %.2f}\n",
           percentile_us(before, rounds, 0.5),
           percentile_us(after, rounds, 0.5), percentile_us(ping, rounds, 0.5));
    ilk_lock_free(lock);
    ilk_client_free(client);
    return 0;
}
