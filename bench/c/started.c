/* SPDX-License-Identifier: MIT */
/*
 * started.c -- locks taken and given up by operations that one thread starts,
 * so many in flight at once: started URL. It reads lines, as side.c does.
 *
 *     pairs NAME DEPTH SECONDS    pairs of acquire and release per second
 *     waits NAME DEPTH            memory of so many that wait, in bytes each
 */
#include "lines.h"

#include <interlock.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

enum { SLOTS = 1 << 20 };

typedef struct seat {
    ilk_lock *lock;
    ilk_op *op;
    int holds;
} seat;

static ilk_client *client;
static ilk_error err;
static int news;
static seat *seats, **by_id;

static void must(ilk_status st, const char *what)
{
    if (st)
        die(what, err.msg);
}

static void open_seat(seat *it, const char *name)
{
    ilk_lock_opts opts;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.flags = ILK_LOCK_NO_RENEW;
    must(ilk_lock_open(&it->lock, client, name, strlen(name), &opts, &err),
         "open");
}

/* Acquire and release in turns. */
static void start(seat *it)
{
    ilk_op_free(it->op);
    must(it->holds ? ilk_lock_release_start(&it->op, it->lock, &err)
                   : ilk_lock_acquire_start(&it->op, it->lock, -1, 0, &err),
         "start");
    by_id[ilk_op_id(it->op) % SLOTS] = it;
}

/* The next that has ended; waits for it. */
static seat *next_done(void)
{
    ilk_notification notification = {.size = sizeof notification};
    struct pollfd pfd = {.fd = news, .events = POLLIN};

    for (;;) {
        while (ilk_client_next_notification(client, &notification, NULL)
               == ILK_OK) {
            if (notification.kind != ILK_NOTIFICATION_DONE)
                continue;
            if (notification.status)
                die("started", ilk_strerror(notification.status));
            return by_id[notification.id % SLOTS];
        }
        poll(&pfd, 1, 1000);
    }
}

/* End the operations under way; holds then end with their leases. */
static void leave(int depth)
{
    for (int i = 0; i < depth; i++)
        ilk_op_free(next_done()->op);
    for (int i = 0; i < depth; i++) {
        ilk_lock_free(seats[i].lock);
        seats[i] = (seat){NULL, NULL, 0};
    }
}

static void pairs(const line *asked)
{
    int depth = atoi(asked->word[2]);
    int64_t begin, stop, now;
    double cpu;
    long done = 0;
    char name[LINE + 16];

    for (int i = 0; i < depth; i++) {
        snprintf(name, sizeof name, "%s-%d", asked->word[1], i);
        open_seat(&seats[i], name);
    }
    cpu = cpu_seconds();
    begin = now = now_ns();
    stop = begin + ns_of(asked->word[3]);
    for (int i = 0; i < depth; i++)
        start(&seats[i]);
    while (now < stop) {
        seat *it = next_done();

        it->holds = !it->holds;
        done += !it->holds;
        start(it);
        if (!it->holds && done % 64 == 0)
            now = now_ns();
    }
    cpu = cpu_seconds() - cpu;
    leave(depth); /* before others are measured */
    printf("{\"pairs\": %ld, \"per_s\": %.1f, \"cpu_us\": %.3f}\n", done,
           (double)done / ((double)(now - begin) / 1e9),
           cpu / (double)done * 1e6);
    fflush(stdout);
}

static long resident(void)
{
    long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%ld %ld", &total, &pages) != 2)
        die("started", "no /proc/self/statm");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void waits(const line *asked)
{
    int depth = atoi(asked->word[2]);
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_notification notification = {.size = sizeof notification};
    struct pollfd pfd = {.fd = news, .events = POLLIN};
    long before, idle;
    seat holder = {0};

    open_seat(&holder, asked->word[1]);
    must(ilk_lock_acquire(holder.lock, -1, &err), "hold");
    before = resident();
    for (int i = 0; i < depth; i++)
        open_seat(&seats[i], asked->word[1]);
    idle = resident();
    for (int i = 0; i < depth; i++)
        start(&seats[i]);
    while (stats.waits < depth) {
        poll(&pfd, 1, 10);
        while (ilk_client_next_notification(client, &notification, NULL)
               == ILK_OK)
            continue;
        must(ilk_client_get_stats(client, &stats, &err), "stats");
    }
    printf("{\"bytes\": %.0f, \"idle_bytes\": %.0f, \"heap\": %.0f}\n",
           (double)(resident() - before) / depth,
           (double)(idle - before) / depth,
           (double)mallinfo2().uordblks / depth);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    line asked;

    if (argc != 2)
        die("started", "URL");
    must(ilk_client_open(&client, argv[1], NULL, &err), "open");
    must(ilk_client_notification_fd(client, &news, &err), "descriptor");
    seats = calloc(100000, sizeof *seats);
    by_id = calloc(SLOTS, sizeof(seat *));
    answer("\"ready\"");
    while (hear(&asked)) {
        if (says(&asked, "pairs"))
            pairs(&asked);
        else if (says(&asked, "waits"))
            waits(&asked);
        else
            die("started: what is", asked.word[0]);
    }
    return 0;
}
