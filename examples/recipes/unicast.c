/* SPDX-License-Identifier: MIT */
/* One of those who wait is chosen, and gets the signal.
 *
 *   cc unicast.c -o unicast $(pkg-config --cflags --libs interlock)
 *   ./unicast wait work anna          in a terminal
 *   ./unicast wait work ben           in another
 *   ./unicast signal work hello       in a third: 1, or 0 if nobody waits
 *
 * Each waiter has an id of its own, here anna and ben. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static ilk_status wait_single(ilk_client *client, const char *channel,
                              const char *id, ilk_error *err)
{
    ilk_listener *listener = NULL;
    ilk_items *found = NULL;
    ilk_status st = ilk_listener_open(&listener, client, channel,
                                      strlen(channel), id, strlen(id), err);

    if (st == ILK_OK)
        st = ilk_listener_wait(&found, listener, -1, err);
    if (st == ILK_OK)
        printf("%s hears %s\n", id, ilk_items_data(found, 1, NULL));
    /* Signals behind the one that is returned are for somebody else. */
    if (listener)
        ilk_listener_leave(NULL, NULL, listener, 0, NULL);
    ilk_items_free(found);
    ilk_listener_free(listener);
    return st;
}

static ilk_status signal_single(ilk_client *client, const char *channel,
                                const char *data, ilk_error *err)
{
    int64_t heard = 0;
    ilk_status st = ilk_recipes_signal(&heard, client, channel, strlen(channel),
                                       1, data, strlen(data), err);

    if (st == ILK_OK)
        printf("%lld\n", (long long)heard);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;

    if (argc != 4)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && strcmp(argv[1], "wait") == 0)
        st = wait_single(client, argv[2], argv[3], &err);
    else if (st == ILK_OK)
        st = signal_single(client, argv[2], argv[3], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
