/* SPDX-License-Identifier: MIT */
/* A few at a time, in the order in which they came.
 *
 *   cc fair_semaphore.c -o fair_semaphore \
 *       $(pkg-config --cflags --libs interlock)
 *   ./fair_semaphore seats 2          in some terminals
 *
 * With two inside, others print "full". Enter refreshes the permit, which
 * would run out after 10 seconds, and gives it back. */
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_status stay(ilk_client *client, const char *semname,
                       const char *identifier, ilk_error *err)
{
    size_t len = strlen(semname), id_len = strlen(identifier);
    ilk_status st;

    puts("inside");
    fflush(stdout);
    getchar();
    st = ilk_recipes_permit_refresh(client, semname, len, identifier, id_len,
                                    err);
    puts(st == ILK_OK ? "mine" : "lost");
    st = ilk_recipes_permit_release(client, semname, len, identifier, id_len,
                                    err);
    printf("released %d\n", st == ILK_OK);
    return st == ILK_ELOST ? ILK_OK : st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_items *permit = NULL;
    ilk_error err;
    ilk_status st;

    if (argc != 3)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK)
        st = ilk_recipes_permit(&permit, client, argv[1], strlen(argv[1]),
                                strtol(argv[2], NULL, 10), 10000, &err);
    if (st == ILK_OK)
        st = stay(client, argv[1], ilk_items_data(permit, 0, NULL), &err);
    if (st == ILK_EBUSY)
        fprintf(stderr, "full\n");
    else if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_items_free(permit);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
