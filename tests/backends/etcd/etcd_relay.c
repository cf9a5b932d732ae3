/* SPDX-License-Identifier: MIT */
/*
 * etcd_relay.c -- one thread for all connections; it looks for orders each 10 ms.
 *
 * Only the first bytes of a held connection are kept. Later ones, with which
 * the client ends its requests, are lost, as with a server that has the requests in its
 * hands.
 */
#include "etcd_relay.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINKS = 64, WORD = 64, TURN_MS = 10, BLOCK = 65536, KEEPS_MS = 150 };

typedef struct link {
    int client, server; /* -1: closed */
    int is_held;
    int64_t held_at; /* its first bytes came */
    size_t len;
    char kept[BLOCK];
} link_of;

struct etcd_relay {
    pthread_t thread;
    int listener, port, server_port;
    char word[WORD]; /* of the request that is held */
    int passes;
    atomic_int awaits, has_held, lets_go, ends;
    link_of links[LINKS];
    int count;
};

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void take_link(etcd_relay *relay)
{
    const struct sockaddr_in at = loopback(relay->server_port);
    link_of *to = &relay->links[relay->count];

    if (relay->count == LINKS)
        return;
    to->client = accept(relay->listener, NULL, NULL);
    to->server = socket(AF_INET, SOCK_STREAM, 0);
    if (to->client < 0 || to->server < 0
        || connect(to->server, (const struct sockaddr *)&at, sizeof at) < 0) {
        shut(&to->client);
        shut(&to->server);
        return;
    }
    relay->count++;
}

/* Pass on the bytes that are there; 0: the connection has ended. */
static int pass(int from, int to)
{
    char block[BLOCK];
    ssize_t got = recv(from, block, sizeof block, 0);

    for (ssize_t sent = 0; sent < got;) {
        ssize_t part =
            send(to, block + sent, (size_t)(got - sent), MSG_NOSIGNAL);

        if (part <= 0)
            return sent > 0;
        sent += part;
    }
    return got > 0;
}

static void keep(link_of *one)
{
    char rest[BLOCK];
    ssize_t got;

    if (!one->held_at)
        one->held_at = ilk__now_ms();
    if (ilk__now_ms() - one->held_at > KEEPS_MS
        || one->len == sizeof one->kept) {
        if (recv(one->client, rest, sizeof rest, 0) <= 0)
            shut(&one->client);
        return;
    }
    got =
        recv(one->client, one->kept + one->len, sizeof one->kept - one->len, 0);
    if (got > 0)
        one->len += (size_t)got;
    else
        shut(&one->client);
}

static void let_go(link_of *one)
{
    one->is_held = 0;
    if (one->len && send(one->server, one->kept, one->len, MSG_NOSIGNAL) < 0)
        shut(&one->server);
    one->len = 0;
}

/* Whether the request that comes next on this connection is the one to hold. */
static int is_meant(etcd_relay *relay, const link_of *one)
{
    char block[BLOCK];
    ssize_t got;

    if (!atomic_load(&relay->awaits))
        return 0;
    got = recv(one->client, block, sizeof block, MSG_PEEK | MSG_DONTWAIT);
    if (got <= 0
        || !memmem(block, (size_t)got, relay->word, strlen(relay->word))
        || relay->passes-- > 0)
        return 0;
    atomic_store(&relay->awaits, 0);
    return 1;
}

static void serve(etcd_relay *relay, link_of *one, short client_has,
                  short server_has)
{
    if (client_has && !one->is_held && is_meant(relay, one)) {
        one->is_held = 1;
        keep(one);
        atomic_store(&relay->has_held, one->len > 0);
    } else if (client_has && one->is_held) {
        keep(one);
    } else if (client_has && !pass(one->client, one->server)) {
        shut(&one->client);
        shut(&one->server);
    }
    if (server_has && one->server >= 0 && !pass(one->server, one->client)) {
        shutdown(one->client, SHUT_WR);
        if (!one->is_held)
            shut(&one->server);
    }
}

static void follow_orders(etcd_relay *relay)
{
    if (!atomic_exchange(&relay->lets_go, 0))
        return;
    for (int i = 0; i < relay->count; i++)
        if (relay->links[i].is_held)
            let_go(&relay->links[i]);
}

static void *run(void *context)
{
    etcd_relay *relay = context;
    struct pollfd fds[1 + 2 * LINKS];

    while (!atomic_load(&relay->ends)) {
        const int count = relay->count;

        fds[0] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
        for (int i = 0; i < count; i++) {
            const link_of *one = &relay->links[i];

            fds[1 + 2 * i] =
                (struct pollfd){.fd = one->client, .events = POLLIN};
            fds[2 + 2 * i] =
                (struct pollfd){.fd = one->server, .events = POLLIN};
        }
        poll(fds, (nfds_t)(1 + 2 * count), TURN_MS);
        follow_orders(relay);
        for (int i = 0; i < count; i++)
            serve(relay, &relay->links[i], fds[1 + 2 * i].revents,
                  fds[2 + 2 * i].revents);
        if (fds[0].revents)
            take_link(relay);
    }
    return NULL;
}

etcd_relay *etcd_relay_start(int server_port)
{
    etcd_relay *relay = calloc(1, sizeof *relay);
    struct sockaddr_in at = loopback(0);
    socklen_t len = sizeof at;

    if (!relay)
        abort();
    relay->server_port = server_port;
    relay->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (relay->listener < 0
        || bind(relay->listener, (struct sockaddr *)&at, sizeof at) < 0
        || listen(relay->listener, LINKS) < 0
        || getsockname(relay->listener, (struct sockaddr *)&at, &len) < 0)
        abort();
    relay->port = ntohs(at.sin_port);
    if (pthread_create(&relay->thread, NULL, run, relay) != 0)
        abort();
    return relay;
}

int etcd_relay_port(const etcd_relay *relay)
{
    return relay->port;
}

void etcd_relay_hold(etcd_relay *relay, const char *word, int passes)
{
    strncpy(relay->word, word, sizeof relay->word - 1);
    relay->passes = passes;
    atomic_store(&relay->awaits, 1);
}

int etcd_relay_has_held(etcd_relay *relay)
{
    return atomic_load(&relay->has_held);
}

void etcd_relay_let_go(etcd_relay *relay)
{
    atomic_store(&relay->lets_go, 1);
    usleep(3 * TURN_MS * 1000);
}

void etcd_relay_stop(etcd_relay *relay)
{
    atomic_store(&relay->ends, 1);
    pthread_join(relay->thread, NULL);
    for (int i = 0; i < relay->count; i++) {
        shut(&relay->links[i].client);
        shut(&relay->links[i].server);
    }
    close(relay->listener);
    free(relay);
}
