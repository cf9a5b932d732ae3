/* SPDX-License-Identifier: MIT */
/* A list as a queue (first in, first out) or a stack (first in, last out).
 *
 *   cc fifo_filo.c -o fifo_filo $(pkg-config --cflags --libs interlock)
 *   ./fifo_filo fifo_push letters a b c
 *   ./fifo_filo fifo_pop letters      in another terminal: a b c
 *   ./fifo_filo filo_push plates a b c
 *   ./fifo_filo filo_pop plates       c b a
 *
 * Popping goes on until the list is empty. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static ilk_status push(ilk_client *client, const char *q, const char *value,
                       ilk_error *err)
{
    return ilk_recipes_push(NULL, client, q, strlen(q), ILK_RECIPES_HEAD, value,
                            strlen(value), err);
}

static ilk_status pop_all(ilk_client *client, const char *q, int end,
                          ilk_error *err)
{
    ilk_status st = ILK_OK;
    int more = 1;

    while (st == ILK_OK && more) {
        ilk_items *found = NULL;

        st = ilk_recipes_pop(&found, client, q, strlen(q), end, err);
        more = ilk_items_count(found) == 1;
        if (more)
            puts(ilk_items_data(found, 0, NULL));
        ilk_items_free(found);
    }
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
    if (st == ILK_OK && strcmp(argv[1], "fifo_pop") == 0)
        st = pop_all(client, argv[2], ILK_RECIPES_TAIL, &err);
    else if (st == ILK_OK && strcmp(argv[1], "filo_pop") == 0)
        st = pop_all(client, argv[2], ILK_RECIPES_HEAD, &err);
    for (i = 3; st == ILK_OK && i < argc; i++)
        st = push(client, argv[2], argv[i], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
