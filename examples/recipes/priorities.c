/* SPDX-License-Identifier: MIT */
/* Three queues, the most urgent first.
 *
 *   cc priorities.c -o priorities $(pkg-config --cflags --libs interlock)
 *   ./priorities pop 30               until none comes for 30 seconds
 *   ./priorities push low sweep       in another terminal
 *   ./priorities push high extinguish
 *
 * The next task is always from the first queue that has one. */
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_status pop_all(ilk_consumer *consumer, int64_t timeout_ms,
                          ilk_error *err)
{
    ilk_status st = ILK_OK;

    while (st == ILK_OK) {
        ilk_items *found = NULL;

        st = ilk_consumer_pop(&found, consumer, timeout_ms, err);
        if (st == ILK_OK) {
            printf("%s %s\n", ilk_items_data(found, 0, NULL),
                   ilk_items_data(found, 1, NULL));
            fflush(stdout);
            st = ilk_consumer_settle(consumer, ILK_RECIPES_DONE, err);
        }
        ilk_items_free(found);
    }
    return st == ILK_ETIMEOUT || st == ILK_EBUSY ? ILK_OK : st;
}

static ilk_status pop(ilk_client *client, double seconds, ilk_error *err)
{
    const void *queues[] = {"queue:high", "queue:medium", "queue:low"};
    const size_t lens[] = {10, 12, 9};
    ilk_consumer *consumer = NULL;
    ilk_status st = ilk_consumer_open(&consumer, client, queues, lens, 3, err);

    if (st == ILK_OK)
        st = pop_all(consumer, (int64_t)(seconds * 1000), err);
    if (consumer)
        ilk_consumer_leave(consumer, NULL);
    ilk_consumer_free(consumer);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    char queue[64];
    ilk_error err;
    ilk_status st;

    if (argc < 3)
        return 2;
    snprintf(queue, sizeof queue, "queue:%s", argv[2]);
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && argc == 3)
        st = pop(client, strtod(argv[2], NULL), &err);
    else if (st == ILK_OK)
        st = ilk_recipes_push(NULL, client, queue, strlen(queue),
                              ILK_RECIPES_TAIL, argv[3], strlen(argv[3]), &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
