/* SPDX-License-Identifier: MIT */
/*
 * growth.c -- what one operation costs our client while the server has much
 * to remember: growth names|waiters|messages URL, then lines as a side reads
 * them:
 *
 *     fill COUNT         put so many messages more into the queue
 *     work NAME SECONDS  names: take and give back a lock, each time another
 *                        one; waiters: stand in the line for that lock, and
 *                        leave it after a millisecond; messages: one in, one
 *                        out, which acknowledges the one before
 */
#include "lines.h"

#include <interlock.h>

enum { BATCH = 250, BODY = 200, LEASE_MS = 60000 };

static ilk_client *client;
static char body[BODY];

static void check(ilk_status status, const ilk_error *err)
{
    if (status)
        die("growth", err->msg);
}

static ilk_lock *open_lock(const char *name)
{
    ilk_lock *lock;
    ilk_error err;

    check(ilk_lock_open(&lock, client, name, strlen(name), NULL, &err), &err);
    return lock;
}

/* ---- one operation of each kind ------------------------------------------ */

static void pass_lock(const char *name, size_t number)
{
    char own[LINE + 32];
    ilk_lock *lock;
    ilk_error err;

    snprintf(own, sizeof own, "%s-%zu", name, number);
    lock = open_lock(own);
    check(ilk_lock_acquire(lock, -1, &err), &err);
    check(ilk_lock_release(lock, &err), &err);
    ilk_lock_free(lock);
}

static void stand_and_leave(const char *name, size_t number)
{
    ilk_lock *lock = open_lock(name);
    ilk_error err;
    ilk_status st = ilk_lock_acquire(lock, 1, &err);

    (void)number;
    if (st == ILK_OK)
        die("growth", "nobody stood in the line");
    check(st == ILK_ETIMEOUT ? ILK_OK : st, &err);
    ilk_lock_free(lock);
}

static ilk_queue *open_queue(void)
{
    static ilk_queue *queue;
    ilk_error err;

    if (!queue)
        check(ilk_queue_open(&queue, client, "growth", 6, NULL, &err), &err);
    return queue;
}

static void pass_message(const char *name, size_t number)
{
    static ilk_batch *before;
    ilk_batch *now = NULL;
    ilk_error err;

    (void)name;
    (void)number;
    check(ilk_queue_push(NULL, open_queue(), body, BODY, NULL, &err), &err);
    check(ilk_queue_reserve_many(&now, open_queue(), 1, 0, LEASE_MS, before,
                                 &err),
          &err);
    ilk_batch_free(before);
    before = now;
}

/* ---- the lines ----------------------------------------------------------- */

static void fill(const line *asked)
{
    const void *bodies[BATCH];
    size_t lens[BATCH], left = (size_t)atol(asked->word[1]);
    ilk_error err;

    for (size_t i = 0; i < BATCH; i++) {
        bodies[i] = body;
        lens[i] = BODY;
    }
    while (left) {
        size_t now = left < BATCH ? left : BATCH;

        check(ilk_queue_push_many(NULL, open_queue(), bodies, lens, now, NULL,
                                  &err),
              &err);
        left -= now;
    }
    answer("\"filled\"");
}

static void work(const line *asked, void (*one)(const char *, size_t))
{
    static size_t number; /* goes on, so that each name is a new one */
    diary times = {NULL, 0, 0};
    double cpu = cpu_seconds();
    int64_t start = now_ns(), began = start, ended;

    do {
        one(asked->word[1], number++);
        ended = now_ns();
        note(&times, ended - began);
        began = ended;
    } while (began - start < ns_of(asked->word[2]));
    print_pairs(&times, times.count, (double)(began - start) / 1e9,
                cpu_seconds() - cpu);
}

int main(int argc, char **argv)
{
    void (*one)(const char *, size_t) = pass_lock;
    ilk_error err;
    line asked;

    if (argc != 3)
        die("usage", "growth names|waiters|messages URL");
    if (strcmp(argv[1], "names") != 0)
        one = strcmp(argv[1], "waiters") ? pass_message : stand_and_leave;
    memset(body, 'x', BODY);
    check(ilk_client_open(&client, argv[2], NULL, &err), &err);
    answer("\"ready\"");
    while (hear(&asked)) {
        if (says(&asked, "fill"))
            fill(&asked);
        else if (says(&asked, "work"))
            work(&asked, one);
        else
            die("growth: unknown verb", asked.word[0]);
    }
    return 0; /* its handles go with it */
}
