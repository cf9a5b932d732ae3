/* SPDX-License-Identifier: MIT */
/* fake_sentinel.c -- a thread that answers as a sentinel does. */
#include "fake_sentinel.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PEERS = 64, ROOM = 4096, WORDS = 16 };

typedef struct talk {
    int fd, subscribed;
    size_t len;
    char bytes[ROOM];
} talk;

static void answer(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* it has gone */
}

static void subscribe(fake_sentinel *s, talk *t, char *const *words, int count)
{
    char line[256];

    for (int i = 1; i < count; i++) {
        snprintf(line, sizeof line, ">3\r\n+subscribe\r\n$%zu\r\n%s\r\n:%d\r\n",
                 strlen(words[i]), words[i], i);
        answer(t->fd, line);
    }
    t->subscribed = 1;
    atomic_fetch_add(&s->subscribers, 1);
}

/* A failover is not over before all replicas follow the new primary. */
static int port_of_state(fake_sentinel *s)
{
    const int former = atomic_load(&s->former);

    return former ? former : atomic_load(&s->primary);
}

static void reply(fake_sentinel *s, talk *t, char *const *words, int count)
{
    char line[128], port[16];

    if (strcmp(words[0], "HELLO") == 0) {
        answer(t->fd, "%2\r\n+proto\r\n:3\r\n+id\r\n:1\r\n");
    } else if (strcmp(words[0], "CLIENT") == 0) {
        answer(t->fd,
               count > 1 && strcmp(words[1], "ID") == 0 ? ":1\r\n" : "+OK\r\n");
    } else if (strcmp(words[0], "SENTINEL") == 0 && atomic_load(&s->forgot)) {
        answer(t->fd, strcmp(words[1], "MASTER") == 0
                          ? "-ERR No such master with that name\r\n"
                          : "_\r\n");
    } else if (strcmp(words[0], "SENTINEL") == 0
               && strcmp(words[1], "MASTER") == 0) {
        snprintf(line, sizeof line,
                 "*6\r\n+ip\r\n+127.0.0.1\r\n+port\r\n+%d\r\n"
                 "+config-epoch\r\n+%d\r\n",
                 port_of_state(s), atomic_load(&s->epoch));
        atomic_fetch_add(&s->states, 1);
        answer(t->fd, line);
    } else if (strcmp(words[0], "SENTINEL") == 0) {
        snprintf(port, sizeof port, "%d", atomic_load(&s->primary));
        snprintf(line, sizeof line, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
                 strlen(port), port);
        atomic_fetch_add(&s->questions, 1);
        answer(t->fd, line);
    } else if (strcmp(words[0], "SUBSCRIBE") == 0) {
        subscribe(s, t, words, count);
    } else {
        answer(t->fd, "+PONG\r\n");
    }
}

/* Cut the first whole command off the bytes. 0: there is none yet. */
static int cut_command(talk *t, char *words[WORDS], char *room)
{
    char *at = t->bytes, *end = t->bytes + t->len;
    int count;

    t->bytes[t->len] = '\0';
    if (t->len == 0 || *at != '*' || strstr(at, "\r\n") == NULL)
        return 0;
    count = atoi(at + 1);
    at = strstr(at, "\r\n") + 2;
    for (int i = 0; i < count && i < WORDS; i++) {
        char *body = strstr(at, "\r\n");
        long len = body != NULL && *at == '$' ? atol(at + 1) : -1;

        if (len < 0 || body + 2 + len + 2 > end)
            return 0;
        memcpy(room, body + 2, (size_t)len);
        room[len] = '\0';
        words[i] = room;
        room += len + 1;
        at = body + 2 + len + 2;
    }
    t->len = (size_t)(end - at);
    memmove(t->bytes, at, t->len);
    return count;
}

static void hear(fake_sentinel *s, talk *t)
{
    ssize_t got = recv(t->fd, t->bytes + t->len, ROOM - 1 - t->len, 0);
    char *words[WORDS], room[ROOM];
    int count;

    if (got <= 0) {
        close(t->fd);
        atomic_fetch_sub(&s->subscribers, t->subscribed);
        *t = (talk){.fd = -1};
        return;
    }
    t->len += (size_t)got;
    while ((count = cut_command(t, words, room)) > 0)
        reply(s, t, words, count);
}

static void publish(fake_sentinel *s, talk *talks, char what)
{
    int promoted = what == '+';
    char payload[128], line[256];

    if (promoted)
        snprintf(payload, sizeof payload,
                 "slave 127.0.0.1:1 127.0.0.1 %d @ mymaster 127.0.0.1 1",
                 atomic_load(&s->primary));
    else
        snprintf(payload, sizeof payload, "mymaster 127.0.0.1 1 127.0.0.1 %d",
                 atomic_load(&s->primary));
    snprintf(line, sizeof line, ">3\r\n+message\r\n+%s\r\n$%zu\r\n%s\r\n",
             promoted ? "+promoted-slave" : "+switch-master", strlen(payload),
             payload);
    for (int i = 0; i < PEERS; i++)
        if (talks[i].fd >= 0 && talks[i].subscribed)
            answer(talks[i].fd, line);
}

static void welcome(fake_sentinel *s, talk *talks)
{
    int fd = accept(s->listener, NULL, NULL);

    for (int i = 0; i < PEERS && fd >= 0; i++)
        if (talks[i].fd < 0) {
            talks[i] = (talk){.fd = fd};
            return;
        }
    if (fd >= 0)
        close(fd);
}

static void *serve(void *context)
{
    static const talk none = {.fd = -1};
    talk *talks = malloc(PEERS * sizeof *talks);
    fake_sentinel *s = context;
    struct pollfd fds[2 + PEERS];
    char what = 0;

    for (int i = 0; i < PEERS; i++)
        talks[i] = none;
    while (what != 'q') {
        fds[0] = (struct pollfd){.fd = s->pipe[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        for (int i = 0; i < PEERS; i++)
            fds[2 + i] = (struct pollfd){.fd = talks[i].fd, .events = POLLIN};
        poll(fds, 2 + PEERS, -1);
        for (int i = 0; i < PEERS; i++)
            if (fds[2 + i].revents)
                hear(s, &talks[i]);
        if (fds[1].revents)
            welcome(s, talks);
        if (fds[0].revents && read(s->pipe[0], &what, 1) == 1 && what != 'q')
            publish(s, talks, what);
    }
    for (int i = 0; i < PEERS; i++)
        if (talks[i].fd >= 0)
            close(talks[i].fd);
    free(talks);
    return NULL;
}

int fake_sentinel_open(fake_sentinel *s, int primary)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;

    memset(s, 0, sizeof *s);
    atomic_store(&s->primary, primary);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (s->listener < 0 || pipe(s->pipe) != 0
        || bind(s->listener, (struct sockaddr *)&address, sizeof address) != 0
        || listen(s->listener, 32) != 0
        || getsockname(s->listener, (struct sockaddr *)&address, &len) != 0)
        return -1;
    s->port = ntohs(address.sin_port);
    return pthread_create(&s->thread, NULL, serve, s) == 0 ? 0 : -1;
}

static void order(fake_sentinel *s, char what)
{
    if (write(s->pipe[1], &what, 1) != 1)
        abort();
}

void fake_sentinel_switch(fake_sentinel *s, int primary, const char *channel)
{
    atomic_store(&s->primary, primary);
    if (channel != NULL)
        order(s, strcmp(channel, "+promoted-slave") == 0 ? '+' : '=');
}

void fake_sentinel_close(fake_sentinel *s)
{
    order(s, 'q');
    pthread_join(s->thread, NULL);
    close(s->listener);
    close(s->pipe[0]);
    close(s->pipe[1]);
}
