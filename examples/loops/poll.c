/* SPDX-License-Identifier: MIT */
/* A hundred waits for one lock, and an event loop that is one poll().
 *
 *   cc poll.c -o poll $(pkg-config --cflags --libs interlock) && ./poll
 *
 * The first has the lock until the second has waited in vain and the third
 * was cancelled; then all others have it, one after the other. */
#include <interlock.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 100, IMPATIENT = 1, UNWANTED = 2 };

typedef struct task {
    ilk_lock *lock;
    ilk_op *op; /* what is under way, or NULL */
    int had_turn;
} task;

static task tasks[TASKS];
static int left = TASKS, turns;

static void check(ilk_status st, const ilk_error *err)
{
    if (st == ILK_OK)
        return;
    fprintf(stderr, "%s: %s\n", ilk_status_name(st), err->msg);
    exit(1);
}

static void give_up(task *one)
{
    ilk_error err;

    check(ilk_lock_release_start(&one->op, one->lock, &err), &err);
}

static void on_done(task *one)
{
    ilk_error err;
    ilk_status st = ilk_op_status(one->op, &err);

    ilk_op_free(one->op);
    one->op = NULL;
    if (st == ILK_OK && !one->had_turn) {
        one->had_turn = ++turns;
        if (one != &tasks[0])
            give_up(one);
        return;
    }
    left--;
    if (st == ILK_ETIMEOUT) {
        puts("one has waited in vain");
        check(ilk_op_cancel(tasks[UNWANTED].op, &err), &err);
    } else if (st == ILK_ECANCELLED) {
        puts("one was cancelled");
        give_up(&tasks[0]);
    } else {
        check(st, &err);
    }
}

static void on_readable(ilk_client *client)
{
    ilk_notification notification = {.size = sizeof notification};

    while (ilk_client_next_notification(client, &notification, NULL) == ILK_OK)
        for (int i = 0; notification.kind == ILK_NOTIFICATION_DONE && i < TASKS;
             i++)
            if (ilk_op_id(tasks[i].op) == notification.id)
                on_done(&tasks[i]);
}

int main(void)
{
    ilk_client *client = NULL;
    struct pollfd news = {.events = POLLIN};
    ilk_error err;

    check(ilk_client_open(&client, NULL, NULL, &err), &err);
    check(ilk_client_notification_fd(client, &news.fd, &err), &err);
    for (int i = 0; i < TASKS; i++) {
        task *one = &tasks[i];
        int64_t ms = i == IMPATIENT ? 100 : -1;

        check(ilk_lock_open(&one->lock, client, "orders", 6, NULL, &err), &err);
        check(ilk_lock_acquire_start(&one->op, one->lock, ms, 0, &err), &err);
    }
    while (left > 0)
        if (poll(&news, 1, -1) > 0)
            on_readable(client);
    printf("%d had the lock\n", turns);
    for (int i = 0; i < TASKS; i++)
        ilk_lock_free(tasks[i].lock);
    ilk_client_free(client);
    return 0;
}
