/* SPDX-License-Identifier: MIT */
/* All who wait for a channel get the signals sent to it.
 *
 *   cc broadcast.c -o broadcast $(pkg-config --cflags --libs interlock)
 *   ./broadcast wait news             in some terminals
 *   ./broadcast signal news hello     in another: how many got it
 *
 * A signal is momentary: only those who wait get it. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static ilk_status wait_for(ilk_client *client, const char *channel,
                           ilk_error *err)
{
    ilk_listener *listener = NULL;
    ilk_items *found = NULL;
    ilk_status st = ilk_listener_open(&listener, client, channel,
                                      strlen(channel), NULL, 0, err);

    if (st == ILK_OK)
        st = ilk_listener_wait(&found, listener, -1, err);
    if (st == ILK_OK)
        puts(ilk_items_data(found, 1, NULL));
    ilk_items_free(found);
    ilk_listener_free(listener);
    return st;
}

static ilk_status broadcast(ilk_client *client, const char *channel,
                            const char *data, ilk_error *err)
{
    int64_t heard = 0;
    ilk_status st = ilk_recipes_signal(&heard, client, channel, strlen(channel),
                                       0, data, strlen(data), err);

    if (st == ILK_OK)
        printf("%lld\n", (long long)heard);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;

    if (argc < 3)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && argc == 3)
        st = wait_for(client, argv[2], &err);
    else if (st == ILK_OK)
        st = broadcast(client, argv[2], argv[3], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
