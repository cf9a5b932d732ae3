/* SPDX-License-Identifier: MIT */
/*
 * trip.c -- the round trip of several servers: trip SECONDS NEEDED PORT...
 *
 * A PING goes to all at once; the time is that until so many have answered. The
 * next one goes when all have, so a slow server is not in the way of the others.
 */
#include "lines.h"
#include "raw.h"

#include <poll.h>

enum { NODES_MAX = 16 };

typedef struct nodes {
    redisContext *node[NODES_MAX];
    struct pollfd fds[NODES_MAX];
    int count, needed;
} nodes;

static void ping_all(nodes *all)
{
    for (int i = 0; i < all->count; i++) {
        int done = 0;

        redisAppendCommand(all->node[i], "PING");
        while (!done) {
            if (redisBufferWrite(all->node[i], &done) != REDIS_OK)
                die("trip", all->node[i]->errstr);
        }
        all->fds[i].fd = all->node[i]->fd;
    }
}

/* Whether the reply is complete. */
static int has_answered(redisContext *node)
{
    void *reply = NULL;

    if (redisBufferRead(node) != REDIS_OK
        || redisGetReplyFromReader(node, &reply) != REDIS_OK)
        die("trip", node->errstr);
    if (!reply)
        return 0;
    freeReplyObject(reply);
    return 1;
}

/* The time until enough have answered; the rest is awaited as well. */
static int64_t trip(nodes *all)
{
    int64_t began = now_ns(), took = 0;
    int answered = 0;

    ping_all(all);
    while (answered < all->count) {
        if (poll(all->fds, (nfds_t)all->count, -1) < 0)
            die("trip", "poll failed");
        for (int i = 0; i < all->count; i++) {
            if (!all->fds[i].revents || !has_answered(all->node[i]))
                continue;
            all->fds[i].fd = -1; /* poll leaves it out */
            if (++answered == all->needed)
                took = now_ns() - began;
        }
    }
    return took;
}

int main(int argc, char **argv)
{
    static nodes all;
    diary times = {NULL, 0, 0};
    int64_t began, ends;

    if (argc < 4 || argc > 3 + NODES_MAX)
        die("usage", "trip SECONDS NEEDED PORT...");
    all.needed = atoi(argv[2]);
    for (int i = 3; i < argc; i++) {
        all.node[all.count] = dial("127.0.0.1", argv[i]);
        all.fds[all.count++].events = POLLIN;
    }
    if (all.needed < 1 || all.needed > all.count)
        die("trip: not so many servers", argv[2]);
    trip(&all);
    began = now_ns();
    ends = began + ns_of(argv[1]);
    do
        note(&times, trip(&all));
    while (now_ns() < ends);
    print_pairs(&times, times.count, (double)(now_ns() - began) / 1e9,
                cpu_seconds());
    return 0;
}
