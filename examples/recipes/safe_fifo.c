/* SPDX-License-Identifier: MIT */
/* A queue whose messages lie in a second list until they are handled.
 *
 *   cc safe_fifo.c -o safe_fifo $(pkg-config --cflags --libs interlock)
 *   ./safe_fifo push letters a b
 *   ./safe_fifo pop letters anna      handles one; kill it meanwhile
 *   ./safe_fifo restore letters anna  puts its messages back: 1
 *   ./safe_fifo pop letters ben       in another terminal: the same again
 *
 * Each consumer has a list of its own, here anna and ben. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static void handle(const char *msg)
{
    puts(msg);
    fflush(stdout);
    getchar(); /* until Enter is pressed */
}

static ilk_status pop(ilk_client *client, const char *q, const char *cache,
                      ilk_error *err)
{
    ilk_items *found = NULL;
    const char *token;
    size_t token_len;
    ilk_status st = ilk_recipes_park(&found, client, q, strlen(q), cache,
                                     strlen(cache), err);

    if (st == ILK_OK && ilk_items_count(found) == 0) {
        puts("empty");
    } else if (st == ILK_OK) {
        handle(ilk_items_data(found, 0, NULL));
        token = ilk_items_data(found, 1, &token_len);
        st = ilk_recipes_unpark(client, cache, strlen(cache), token, token_len,
                                err);
        if (st == ILK_OK)
            puts("handled");
    }
    ilk_items_free(found);
    return st;
}

static ilk_status restore(ilk_client *client, const char *q, const char *cache,
                          ilk_error *err)
{
    int64_t moved = 0;
    ilk_status st = ilk_recipes_restore(&moved, client, q, strlen(q), cache,
                                        strlen(cache), err);

    if (st == ILK_OK)
        printf("%lld\n", (long long)moved);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;
    int i;

    if (argc < 4)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && strcmp(argv[1], "pop") == 0)
        st = pop(client, argv[2], argv[3], &err);
    else if (st == ILK_OK && strcmp(argv[1], "restore") == 0)
        st = restore(client, argv[2], argv[3], &err);
    else
        for (i = 3; st == ILK_OK && i < argc; i++)
            st = ilk_recipes_push(NULL, client, argv[2], strlen(argv[2]),
                                  ILK_RECIPES_HEAD, argv[i], strlen(argv[i]),
                                  &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
