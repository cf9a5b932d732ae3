/* SPDX-License-Identifier: MIT */
/* Tasks that are due later.
 *
 *   cc delayed_queue.c -o delayed_queue $(pkg-config --cflags --libs interlock)
 *   ./delayed_queue push chores 5 water       in 5 seconds
 *   ./delayed_queue pop chores        in another terminal: a due task
 *
 * However many pop at once, each task is for one of them. The clock is the
 * server's. */
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_status push(ilk_client *client, const char *queue, double seconds,
                       const char *task, ilk_error *err)
{
    return ilk_recipes_delay(client, queue, strlen(queue),
                             (int64_t)(seconds * 1000), task, strlen(task),
                             err);
}

static ilk_status pop(ilk_client *client, const char *queue, ilk_error *err)
{
    ilk_status st = ILK_OK;
    int more = 1;

    while (st == ILK_OK && more) {
        ilk_items *due = NULL;
        size_t i;

        st = ilk_recipes_due(&due, &more, client, queue, strlen(queue), err);
        for (i = 0; i < ilk_items_count(due); i++)
            puts(ilk_items_data(due, i, NULL));
        ilk_items_free(due);
    }
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;

    if (argc != 3 && argc != 5)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && argc == 3)
        st = pop(client, argv[2], &err);
    else if (st == ILK_OK)
        st = push(client, argv[2], strtod(argv[3], NULL), argv[4], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
