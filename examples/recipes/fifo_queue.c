/* SPDX-License-Identifier: MIT */
/* Tasks in the order in which they were pushed.
 *
 *   cc fifo_queue.c -o fifo_queue $(pkg-config --cflags --libs interlock)
 *   ./fifo_queue push chores sweep dust
 *   ./fifo_queue pop chores           in another terminal: sweep
 *
 * A process that dies with its task takes it along: see watch_queue.c. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static ilk_status push(ilk_client *client, const char *queue, const char *task,
                       ilk_error *err)
{
    return ilk_recipes_push(NULL, client, queue, strlen(queue),
                            ILK_RECIPES_TAIL, task, strlen(task), err);
}

static ilk_status pop(ilk_client *client, const char *queue, ilk_error *err)
{
    ilk_items *found = NULL;
    ilk_status st = ilk_recipes_pop(&found, client, queue, strlen(queue),
                                    ILK_RECIPES_HEAD, err);

    if (st == ILK_OK)
        puts(ilk_items_count(found) ? ilk_items_data(found, 0, NULL) : "empty");
    ilk_items_free(found);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;
    int i;

    if (argc < 3)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && strcmp(argv[1], "pop") == 0)
        st = pop(client, argv[2], &err);
    for (i = 3; st == ILK_OK && i < argc; i++)
        st = push(client, argv[2], argv[i], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
