/* SPDX-License-Identifier: MIT */
/*
 * idle.c -- many threads wait for one lock that somebody else holds:
 * idle URL NAME THREADS. Says "ready" and then, for each line it reads, the
 * CPU seconds it has used; ends with its input.
 */
#include "bench.h"

#include <interlock.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static ilk_client *client;
static const char *name;

static void *work(void *arg)
{
    ilk_lock *lock;
    ilk_error err;

    (void)arg;
    if (ilk_lock_open(&lock, client, name, strlen(name), NULL, &err))
        die("idle", err.msg);
    if (ilk_lock_acquire(lock, -1, &err) == ILK_OK)
        ilk_lock_release(lock, NULL);
    ilk_lock_free(lock);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_t thread;
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_error err;
    char line[16];

    if (argc != 4)
        die("usage", "idle URL NAME THREADS");
    name = argv[2];
    if (ilk_client_open(&client, argv[1], NULL, &err))
        die("idle", err.msg);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    for (int i = 0; i < atoi(argv[3]); i++)
        if (pthread_create(&thread, &small, work, NULL))
            die("idle", "no more threads");
    while (stats.waiting < atoi(argv[3])) {
        usleep(10000);
        if (ilk_client_get_stats(client, &stats, &err))
            die("idle", err.msg);
    }
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.6f\n", cpu_seconds());
        fflush(stdout);
    }
    _exit(0);
}
