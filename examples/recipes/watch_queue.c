/* SPDX-License-Identifier: MIT */
/* A worker for tasks of several names.
 *
 *   cc watch_queue.c -o watch_queue $(pkg-config --cflags --libs interlock)
 *   ./watch_queue chores              works until a task says quit
 *
 * and in another terminal
 *
 *   ./fifo_queue push chores '["greet", ["Anna"]]'
 *   ./fifo_queue push chores '["add", ["19", "23"]]' '["quit", []]'
 *
 * A task of an unknown name, or that is no JSON, goes to
 * `ilk:recipes:dead:{chores}`. When a worker is killed, another does its task.
 */
#define _POSIX_C_SOURCE 200809L
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int over;

/* The next string of a task, which is cut there; NULL behind the last. A JSON
 * library does this for strings with quotes and other values. */
static char *next_string(char **rest)
{
    char *start = strchr(*rest, '"');
    char *end = start ? strchr(start + 1, '"') : NULL;

    if (!end)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return start + 1;
}

static void greet(char *args)
{
    char *who = next_string(&args);

    printf("hello %s\n", who ? who : "");
}

static void add(char *args)
{
    long sum = 0;
    char *number;

    while ((number = next_string(&args)))
        sum += strtol(number, NULL, 10);
    printf("%ld\n", sum);
}

static void leave_off(char *args)
{
    (void)args;
    over = 1;
}

static const struct {
    const char *name;
    void (*call)(char *args);
} callbacks[] = {{"greet", greet}, {"add", add}, {"quit", leave_off}};

/* Run the callback of the task; a task of an unknown name is dead. */
static int call(char *packed)
{
    char *name = packed[0] == '[' ? next_string(&packed) : NULL;
    size_t i;

    for (i = 0; name && i < sizeof callbacks / sizeof *callbacks; i++)
        if (strcmp(name, callbacks[i].name) == 0) {
            callbacks[i].call(packed);
            fflush(stdout);
            return ILK_RECIPES_DONE;
        }
    return ILK_RECIPES_DEAD;
}

static ilk_status worker_watch_queue(ilk_client *client, const char *queue,
                                     ilk_error *err)
{
    const void *queues[] = {queue};
    const size_t lens[] = {strlen(queue)};
    ilk_consumer *consumer = NULL;
    ilk_status st = ilk_consumer_open(&consumer, client, queues, lens, 1, err);

    while (st == ILK_OK && !over) {
        ilk_items *found = NULL;

        st = ilk_consumer_pop(&found, consumer, -1, err);
        if (st == ILK_OK) {
            char *packed = strdup(ilk_items_data(found, 1, NULL));
            int how = packed ? call(packed) : ILK_RECIPES_BACK;

            free(packed);
            st = ilk_consumer_settle(consumer, how, err);
        }
        ilk_items_free(found);
    }
    if (consumer)
        ilk_consumer_leave(consumer, NULL);
    ilk_consumer_free(consumer);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;

    if (argc != 2)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK)
        st = worker_watch_queue(client, argv[1], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
