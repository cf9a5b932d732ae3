/* SPDX-License-Identifier: MIT */
/* proxy.c -- between clients and the server, spoiling what comes back. */
#include "proxy.h"

#include "fixture.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TURN_MS = 5, CHUNK = 65536 };

static int address_of(struct sockaddr_un *address, const char *path)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path, sizeof address->sun_path, "%.107s", path);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void hang_up(proxy_pair *pair)
{
    if (pair->client >= 0)
        close(pair->client);
    if (pair->server >= 0)
        close(pair->server);
    pair->client = pair->server = -1;
    pair->spoil = 0;
}

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

/* A server that is started meanwhile must not inherit what is open. */
static void accept_one(proxy *p)
{
    struct sockaddr_un address;
    int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

    for (int i = 0; i < PROXY_PAIRS && client >= 0; i++) {
        proxy_pair *pair = &p->pairs[i];

        if (pair->client >= 0)
            continue;
        pair->client = client;
        pair->spoil = 0;
        pair->server = address_of(&address, p->server_path);
        if (connect(pair->server, (struct sockaddr *)&address, sizeof address))
            hang_up(pair);
        return;
    }
    if (client >= 0)
        close(client);
}

/* The number that the last argument is: "... $4 4711 ". */
static long long last_number(const char *data, size_t len)
{
    size_t at = len < 2 ? 0 : len - 2;

    while (at > 0 && data[at - 1] >= '0' && data[at - 1] <= '9')
        at--;
    return strtoll(data + at, NULL, 10);
}

/* Whether this command is the one that a fault waits for. */
static proxy_fault strike(proxy *p, const char *data, size_t len)
{
    proxy_fault fault = PROXY_NONE;

    pthread_mutex_lock(&p->mutex);
    if (p->fault && memmem(data, len, p->word, strlen(p->word))) {
        fault = p->fault;
        p->number = last_number(data, len);
        p->struck++;
        if (fault == PROXY_LOSE)
            p->fault = PROXY_NONE;
    }
    pthread_mutex_unlock(&p->mutex);
    return fault;
}

static void from_client(proxy *p, proxy_pair *pair)
{
    static char data[CHUNK];
    ssize_t n = recv(pair->client, data, sizeof data, 0);
    proxy_fault fault;

    if (n <= 0) {
        hang_up(pair);
        return;
    }
    fault = strike(p, data, (size_t)n);
    if (fault == PROXY_LOSE) {
        hang_up(pair);
        return;
    }
    pair->spoil = fault != PROXY_NONE;
    send_all(pair->server, data, (size_t)n);
}

/* A code is below 64; see scripts/include/reply.lua. */
static void send_text(const proxy *p, int fd)
{
    const char *code = memmem(p->text, p->text_len, "\r\n:", 3);
    char head[64], *end;
    long long number;

    if (p->text[0] != '*' || !code) {
        send_all(fd, p->text, p->text_len);
        return;
    }
    number = strtoll(code + 3, &end, 10) + 64 * p->number;
    snprintf(head, sizeof head, "%.*s\r\n:%lld", (int)(code - p->text), p->text,
             number);
    send_all(fd, head, strlen(head));
    send_all(fd, end, p->text_len - (size_t)(end - p->text));
}

/* The server's answer to the struck command. */
static void spoil(proxy *p, proxy_pair *pair, const char *data, size_t len)
{
    proxy_fault fault;
    size_t pass;
    int delay_ms;

    pthread_mutex_lock(&p->mutex);
    fault = p->fault;
    p->fault = PROXY_NONE;
    p->reply_len = len;
    pass = p->bytes < len ? p->bytes : len;
    delay_ms = p->delay_ms;
    pthread_mutex_unlock(&p->mutex);
    pair->spoil = 0;
    if (fault == PROXY_DELAY)
        fixture_sleep_ms(delay_ms);
    if (fault == PROXY_REPLACE)
        send_text(p, pair->client);
    else
        send_all(pair->client, data, fault == PROXY_CUT ? pass : len);
    if (fault == PROXY_CUT)
        hang_up(pair);
}

static void from_server(proxy *p, proxy_pair *pair)
{
    static char data[CHUNK];
    ssize_t n = recv(pair->server, data, sizeof data, 0);

    if (n <= 0)
        hang_up(pair);
    else if (pair->spoil)
        spoil(p, pair, data, (size_t)n);
    else
        send_all(pair->client, data, (size_t)n);
}

static void turn(proxy *p)
{
    struct pollfd fds[1 + 2 * PROXY_PAIRS];

    fds[0] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    for (int i = 0; i < PROXY_PAIRS; i++) {
        fds[1 + 2 * i] =
            (struct pollfd){.fd = p->pairs[i].client, .events = POLLIN};
        fds[2 + 2 * i] =
            (struct pollfd){.fd = p->pairs[i].server, .events = POLLIN};
    }
    if (poll(fds, 1 + 2 * PROXY_PAIRS, TURN_MS) <= 0)
        return;
    for (int i = 0; i < PROXY_PAIRS; i++) {
        if (fds[2 + 2 * i].revents)
            from_server(p, &p->pairs[i]);
        if (fds[1 + 2 * i].revents && p->pairs[i].client >= 0)
            from_client(p, &p->pairs[i]);
    }
    if (fds[0].revents)
        accept_one(p);
}

static void *run(void *arg)
{
    proxy *p = arg;

    while (!atomic_load(&p->stop))
        turn(p);
    return NULL;
}

int proxy_open(proxy *p, const char *path, const char *server_path)
{
    struct sockaddr_un address;

    memset(p, 0, sizeof *p);
    for (int i = 0; i < PROXY_PAIRS; i++)
        p->pairs[i].client = p->pairs[i].server = -1;
    snprintf(p->path, sizeof p->path, "%s", path);
    snprintf(p->url, sizeof p->url, "unix://%s", path);
    snprintf(p->server_path, sizeof p->server_path, "%s", server_path);
    pthread_mutex_init(&p->mutex, NULL);
    p->listener = address_of(&address, path);
    if (bind(p->listener, (struct sockaddr *)&address, sizeof address)
        || listen(p->listener, 16))
        return -1;
    return pthread_create(&p->thread, NULL, run, p);
}

void proxy_close(proxy *p)
{
    atomic_store(&p->stop, 1);
    pthread_join(p->thread, NULL);
    for (int i = 0; i < PROXY_PAIRS; i++)
        hang_up(&p->pairs[i]);
    close(p->listener);
    unlink(p->path);
    pthread_mutex_destroy(&p->mutex);
}

/* ---- faults ------------------------------------------------------------- */

static void arm(proxy *p, proxy_fault fault, const char *word, size_t bytes,
                int delay_ms)
{
    pthread_mutex_lock(&p->mutex);
    p->fault = fault;
    p->word = word;
    p->bytes = bytes;
    p->delay_ms = delay_ms;
    p->struck = 0;
    pthread_mutex_unlock(&p->mutex);
}

void proxy_arm(proxy *p, proxy_fault fault, const char *word)
{
    arm(p, fault, word, 0, 0);
}

void proxy_cut(proxy *p, const char *word, size_t bytes)
{
    arm(p, PROXY_CUT, word, bytes, 0);
}

void proxy_delay(proxy *p, const char *word, int delay_ms)
{
    arm(p, PROXY_DELAY, word, 0, delay_ms);
}

void proxy_replace(proxy *p, const char *word, const char *text, size_t len)
{
    p->text = text; /* read only once armed */
    p->text_len = len;
    arm(p, PROXY_REPLACE, word, 0, 0);
}

int proxy_struck(proxy *p)
{
    int struck;

    pthread_mutex_lock(&p->mutex);
    struck = p->struck;
    pthread_mutex_unlock(&p->mutex);
    return struck;
}

size_t proxy_reply_len(proxy *p)
{
    size_t len;

    pthread_mutex_lock(&p->mutex);
    len = p->reply_len;
    pthread_mutex_unlock(&p->mutex);
    return len;
}
