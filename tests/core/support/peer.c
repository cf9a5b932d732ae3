/* SPDX-License-Identifier: MIT */
/* peer.c -- the other end of a connection, as badly behaved as wanted. */
#include "peer.h"
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void blank(peer *p)
{
    memset(p, 0, sizeof *p);
    p->listener = p->fd = -1;
}

int peer_open(peer *p)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;

    blank(p);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (p->listener < 0
        || bind(p->listener, (struct sockaddr *)&address, len) != 0
        || listen(p->listener, 4) != 0
        || getsockname(p->listener, (struct sockaddr *)&address, &len) != 0)
        return -1;
    p->port = ntohs(address.sin_port);
    return 0;
}

int peer_open_path(peer *p, const char *path, int backlog)
{
    struct sockaddr_un address;

    blank(p);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    p->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (p->listener < 0)
        return -1;
    if (bind(p->listener, (struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    return listen(p->listener, backlog);
}

/* Keep what comes; 0 at the end of the stream. */
static int hear(peer *p)
{
    char bytes[4096];
    ssize_t got = recv(p->fd, bytes, sizeof bytes, 0);
    size_t room = sizeof p->heard - 1 - p->heard_len;

    if (got <= 0)
        return 0;
    if ((size_t)got < room)
        room = (size_t)got;
    memcpy(p->heard + p->heard_len, bytes, room);
    p->heard_len += room;
    p->heard[p->heard_len] = '\0';
    return 1;
}

static int say(peer *p, const char *line)
{
    size_t len = strlen(line);

    if (p->delay_ms == 0)
        return send(p->fd, line, len, MSG_NOSIGNAL) == (ssize_t)len;
    for (; *line != '\0'; line++) {
        fixture_sleep_ms(p->delay_ms);
        if (send(p->fd, line, 1, MSG_NOSIGNAL) != 1)
            return 0;
    }
    return 1;
}

static void *serve(void *arg)
{
    peer *p = arg;

    p->fd = accept(p->listener, NULL, NULL);
    if (p->fd < 0)
        return NULL;
    for (; *p->says != NULL; p->says++) {
        const char *line = *p->says;

        if (*line == '\0') {
            close(p->fd);
            p->fd = -1;
            return NULL;
        }
        if (*line == '!' ? !say(p, line + 1) : !hear(p) || !say(p, line))
            break;
    }
    while (!p->deaf && hear(p))
        continue;
    return NULL;
}

int peer_serve(peer *p, const char *const *says)
{
    p->says = says;
    p->serving = pthread_create(&p->thread, NULL, serve, p) == 0;
    return p->serving ? 0 : -1;
}

void peer_wait(peer *p)
{
    if (p->serving)
        pthread_join(p->thread, NULL);
    p->serving = 0;
}

void peer_close(peer *p)
{
    if (p->listener >= 0) /* a thread that still waits for us wakes up */
        shutdown(p->listener, SHUT_RDWR);
    peer_wait(p);
    if (p->fd >= 0)
        close(p->fd);
    if (p->listener >= 0)
        close(p->listener);
    p->fd = p->listener = -1;
}
