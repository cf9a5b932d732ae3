/* SPDX-License-Identifier: MIT */
/* fixture_talk.c -- commands to the fixture's server, by the smallest client. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 64, STALL_MS = 1000 };

int64_t patience(int64_t ms)
{
    const char *text = getenv("ILK_TEST_PATIENCE");
    long factor = text ? strtol(text, NULL, 10) : 1;

    return ms * factor + (factor > 1 ? STALL_MS : 0);
}

int64_t fixture_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void fixture_sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static void on_signal(int signal)
{
    (void)signal;
}

void fixture_wake_on(int signal)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */

    sigaction(signal, &action, NULL);
}

void fixture_hang_up(fixture *fx)
{
    if (fx->fd >= 0)
        close(fx->fd);
    fx->fd = -1;
}

static int dial(fixture *fx)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 5};

    if (fx->fd >= 0 && fx->fd_owner == getpid())
        return 0;
    fixture_hang_up(fx);
    fx->fd_owner = getpid();
    fx->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fx->fd < 0)
        return -1;
    fcntl(fx->fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fx->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    memcpy(address.sun_path, fx->socket, strlen(fx->socket) + 1);
    if (connect(fx->fd, (struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    fixture_hang_up(fx);
    return -1;
}

static int send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int recv_all(int fd, char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, data, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int recv_line(int fd, char *line, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && recv_all(fd, line + n, 1) == 0) {
        if (line[n++] != '\n')
            continue;
        line[n] = '\0';
        line[strcspn(line, "\r")] = '\0';
        return 0;
    }
    return -1;
}

static void add_text(fixture *fx, const char *text)
{
    size_t used = strlen(fx->reply);

    snprintf(fx->reply + used, sizeof fx->reply - used, "%s", text);
}

static int recv_bulk(fixture *fx, size_t len)
{
    size_t used = strlen(fx->reply);

    if (len + 3 > sizeof fx->reply - used
        || recv_all(fx->fd, fx->reply + used, len + 2) != 0)
        return -1;
    fx->reply[used + len] = '\0';
    return 0;
}

static int recv_reply(fixture *fx)
{
    char line[1024];
    long n;

    if (recv_line(fx->fd, line, sizeof line) != 0)
        return -1;
    n = strtol(line + 1, NULL, 10);
    if ((line[0] == '$' || line[0] == '*') && n < 0) {
        add_text(fx, "(nil)");
    } else if (line[0] == '$') {
        return recv_bulk(fx, (size_t)n);
    } else if (line[0] == '*') {
        for (long i = 0; i < n; i++) {
            if (i > 0)
                add_text(fx, "\n");
            if (recv_reply(fx) != 0)
                return -1;
        }
    } else {
        add_text(fx, line[0] == '-' ? "(error) " : "");
        add_text(fx, line + 1);
    }
    return 0;
}

static int exchange(fixture *fx, int argc, const char *const *argv,
                    const size_t *lens)
{
    char head[32];

    snprintf(head, sizeof head, "*%d\r\n", argc);
    if (send_all(fx->fd, head, strlen(head)) != 0)
        return -1;
    for (int i = 0; i < argc; i++) {
        snprintf(head, sizeof head, "$%zu\r\n", lens[i]);
        if (send_all(fx->fd, head, strlen(head)) != 0
            || send_all(fx->fd, argv[i], lens[i]) != 0
            || send_all(fx->fd, "\r\n", 2) != 0)
            return -1;
    }
    fx->reply[0] = '\0';
    return recv_reply(fx);
}

/* Log in on a new connection when the arguments ask for a password. */
static int login(fixture *fx)
{
    static const char option[] = "--requirepass ";
    const char *at = strstr(fx->args, option);
    const char *argv[] = {"AUTH", at};
    size_t lens[] = {4, 0};

    if (at == NULL)
        return 0;
    argv[1] = at + sizeof option - 1;
    lens[1] = strcspn(argv[1], " ");
    return exchange(fx, 2, argv, lens);
}

const char *fixture_argv(fixture *fx, int argc, const char *const *argv,
                         const size_t *lens)
{
    int fresh = fx->fd < 0 || fx->fd_owner != getpid();

    if (dial(fx) == 0 && (!fresh || login(fx) == 0)
        && exchange(fx, argc, argv, lens) == 0)
        return fx->reply;
    fixture_hang_up(fx);
    snprintf(fx->reply, sizeof fx->reply, "(closed)");
    return fx->reply;
}

static const char *call_words(fixture *fx, char *line)
{
    const char *argv[WORDS];
    size_t lens[WORDS];
    char *rest = NULL;
    int argc = 0;

    for (char *word = strtok_r(line, " ", &rest); word != NULL && argc < WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        argv[argc] = word;
        lens[argc++] = strlen(word);
    }
    return fixture_argv(fx, argc, argv, lens);
}

const char *fixture_command(fixture *fx, const char *format, ...)
{
    char line[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return call_words(fx, line);
}

const char *fixture_call(fixture *fx, const char *first, ...)
{
    const char *argv[WORDS];
    size_t lens[WORDS];
    int argc = 0;
    va_list args;

    va_start(args, first);
    for (const char *word = first; word != NULL && argc < WORDS;
         word = va_arg(args, const char *)) {
        argv[argc] = word;
        lens[argc++] = strlen(word);
    }
    va_end(args);
    return fixture_argv(fx, argc, argv, lens);
}

int64_t fixture_int(fixture *fx, const char *format, ...)
{
    char line[4096], *end;
    const char *reply;
    long long number;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    reply = call_words(fx, line);
    number = strtoll(reply, &end, 10);
    return end != reply && *end == '\0' ? number : INT64_MIN;
}

int fixture_await(fixture *fx, const char *expected, int timeout_ms,
                  const char *format, ...)
{
    int64_t deadline = fixture_now_ms() + patience(timeout_ms);
    char line[4096], words[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (;;) {
        memcpy(words, line, sizeof words);
        if (strcmp(call_words(fx, words), expected) == 0)
            return 0;
        if (fixture_now_ms() >= deadline)
            break;
        fixture_sleep_ms(2);
    }
    fprintf(stderr, "fixture: %s: expected %s, got %s\n", line, expected,
            fx->reply);
    return -1;
}
