/* SPDX-License-Identifier: MIT */
/* caller.c -- runs the calls: each in a thread of its own, or all started, by the
 * thread that also reads the commands. */
#include "caller.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS = 3,
    CELLS_MAX = 2000,
    LINE_BYTES = 1024,
    STACK_BYTES = 256 * 1024,
    OPEN_MS = 30000,
    STILL_MS = 300,   /* clients that send nothing for so long have sent all */
    SETTLED_MS = 3000 /* ... or send some of it again and again */
};

static const char *const client_names[] = {"plain", "given", "at_once"};
static ilk_client *clients[CLIENTS], *other;
static caller_cell cells[CELLS_MAX];
int64_t caller_lease_ms = 60000;
static int cell_count, is_started;
static int is_serving; /* atomic */

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

static void die(const char *what, const ilk_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->msg);
    exit(1);
}

/* ---- reports ------------------------------------------------------------ */

static void say(const char *word)
{
    dprintf(STDOUT_FILENO, "[\"%s\"]\n", word);
}

static void report(caller_cell *c, ilk_status st, const ilk_error *err)
{
    char text[ILK_ERROR_MAX];
    size_t i;
    const char *status =
        st == ILK_ETIMEOUT || st == ILK_EBUSY ? "NO" : ilk_status_name(st);

    for (i = 0; st != ILK_OK && i + 1 < sizeof text && err->msg[i]; i++) {
        unsigned char byte = (unsigned char)err->msg[i];

        text[i] = byte < ' ' || byte > '~' || byte == '"' || byte == '\\'
                      ? '.'
                      : err->msg[i];
    }
    text[i] = 0;
    atomic_store((_Atomic int *)&c->ended, 1);
    dprintf(STDOUT_FILENO, "[%d, %.6f, %.6f, \"%s\", \"%s\"]\n", c->number,
            c->began, now(), status, text);
}

/* ---- the calls ---------------------------------------------------------- */

static void *call_in_thread(void *of)
{
    caller_cell *c = of;
    ilk_error err = {0};
    ilk_status st;

    c->began = now();
    do
        st = c->row->call(c, &err);
    while (st == ILK_EINTR);
    report(c, st, &err);
    return NULL;
}

static void begin_thread(void *(*run)(void *), void *of)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &attributes, run, of);
    pthread_attr_destroy(&attributes);
    if (error)
        die(strerror(error), &(ilk_error){0});
}

static void begin(caller_cell *c)
{
    ilk_error err = {0};
    ilk_status st;

    if (!is_started) {
        begin_thread(call_in_thread, c);
        return;
    }
    c->began = now();
    st = c->row->start(&c->op, c, &err);
    if (st == ILK_OK)
        ilk_op_set_user(c->op, c);
    else
        report(c, st, &err);
}

static void fetch(ilk_client *client)
{
    ilk_notification got = {.size = sizeof got};

    while (ilk_client_next_notification(client, &got, NULL) == ILK_OK) {
        caller_cell *c = got.user;
        ilk_error err = {0};
        ilk_status st;

        if (got.kind != ILK_NOTIFICATION_DONE || !c)
            continue;
        st = ilk_op_status(c->op, &err);
        report(c, st, &err);
    }
}

static void *serve_all(void *unused)
{
    int left;

    do {
        left = 0;
        for (int i = 0; i < cell_count; i++) {
            caller_cell *c = &cells[i];
            ilk_error err = {0};

            if (!c->row->serve || atomic_load((_Atomic int *)&c->ended))
                continue;
            left++;
            c->row->serve(c, &err);
        }
        pause_ms(500);
    } while (left);
    return unused;
}

/* ---- commands ----------------------------------------------------------- */

static void add_cell(const char *line)
{
    caller_cell *c = &cells[cell_count++];
    char number[16], verb[64], client[16], limit[16];

    if (cell_count > CELLS_MAX
        || sscanf(line, "cell %15s %63s %15s %15s %15s %63s", number, verb,
                  c->when, client, limit, c->name)
               != 6)
        die(line, &(ilk_error){0});
    c->number = (int)strtol(number, NULL, 10);
    c->limit_ms = strtol(limit, NULL, 10);
    c->other = other;
    for (int i = 0; i < CLIENTS; i++)
        if (strcmp(client, client_names[i]) == 0)
            c->client = clients[i];
    for (c->row = caller_rows; c->row->verb; c->row++)
        if (strcmp(c->row->verb, verb) == 0)
            return;
    die(verb, &(ilk_error){0});
}

static void prepare(void)
{
    for (int i = 0; i < cell_count; i++) {
        caller_cell *c = &cells[i];
        ilk_error err = {0};

        if (c->row->make(c, &err) != ILK_OK)
            die(c->row->verb, &err);
        if (strcmp(c->when, "waiting") == 0 && c->row->block
            && c->row->block(c, &err) != ILK_OK)
            die(c->row->verb, &err);
    }
}

static void begin_all(const char *when)
{
    for (int i = 0; i < cell_count; i++)
        if (strcmp(cells[i].when, when) == 0)
            begin(&cells[i]);
}

static int64_t sent(void)
{
    ilk_client_stats stats = {.size = sizeof stats};
    int64_t sum = 0;

    for (int i = 0; i < CLIENTS; i++) {
        ilk_client_get_stats(clients[i], &stats, NULL);
        sum += stats.bytes_out;
    }
    return sum;
}

/* Send what the clients have to send, and fetch what has come, for so long. */
static void turn(int ms)
{
    double end = now() + ms / 1000.0;
    struct pollfd fds[CLIENTS];

    do {
        for (int i = 0; i < CLIENTS; i++) {
            fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
            ilk_client_notification_fd(clients[i], &fds[i].fd, NULL);
        }
        poll(fds, CLIENTS, 50);
        /* A lost hold is news of a caller that blocks, too. */
        for (int i = 0; i < CLIENTS; i++)
            fetch(clients[i]);
    } while (now() < end);
}

static void settle(void)
{
    double end = now() + SETTLED_MS / 1000.0;
    int64_t before;

    do {
        before = sent();
        turn(STILL_MS);
    } while (before != sent() && now() < end);
}

static int obey(char *line)
{
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "cell ", 5) == 0) {
        add_cell(line);
        return 1;
    }
    if (strcmp(line, "prepare") == 0)
        prepare();
    else if (strcmp(line, "wait") == 0)
        begin_all("waiting");
    else if (strcmp(line, "go") == 0)
        begin_all("during");
    else if (strcmp(line, "after") == 0)
        begin_all("after");
    else if (strcmp(line, "serve") == 0 && !is_serving++)
        begin_thread(serve_all, NULL);
    if (strcmp(line, "wait") == 0)
        settle();
    say(line);
    return strcmp(line, "end") != 0;
}

static int is_readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, 0) > 0;
}

/* One line of standard input, without a buffer that poll() does not see. */
static int read_line(char *line, size_t size)
{
    size_t len = 0;

    while (len + 1 < size && read(STDIN_FILENO, line + len, 1) == 1)
        if (line[len++] == '\n')
            break;
    line[len] = 0;
    return len != 0;
}

/* Servers that have just started may refuse it for a while. */
static ilk_client *open_client(const char *url)
{
    double end = now() + OPEN_MS / 1000.0;
    ilk_client *client = NULL;
    ilk_error err = {0};

    while (ilk_client_open(&client, url, NULL, &err) != ILK_OK) {
        if (now() > end)
            die(url, &err);
        pause_ms(100);
    }
    return client;
}

int main(int argc, char **argv)
{
    const char *lease = getenv("OUTAGE_LEASE_S");
    char line[LINE_BYTES];

    if (lease)
        caller_lease_ms = (int64_t)(1000 * strtod(lease, NULL));
    is_started = argc > 1 && strstr(argv[1], "started") != NULL;
    if (argc == 2) {
        for (const caller_row *row = caller_rows; row->verb; row++)
            if (!is_started || row->start)
                puts(row->verb);
        return 0;
    }
    if (argc != 5)
        return 64;
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = open_client(argv[2 + i]);
    other = open_client(argv[2]);
    do
        while (!is_readable(STDIN_FILENO))
            turn(20);
    while (read_line(line, sizeof line) && obey(line));
    _exit(0); /* threads may be in calls for ever */
}
