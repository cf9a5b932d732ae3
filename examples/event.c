/* SPDX-License-Identifier: MIT */
/* An event stays set: a late wait returns at once.
 *
 *   cc event.c -o event $(pkg-config --cflags --libs interlock)
 *   ./event                 in some terminals: waits until it is set
 *   ./event "version 7"     in another: sets it, with data */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_event *ready = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    if (st == ILK_OK)
        st = ilk_event_open(&ready, client, "ready", 5, NULL, &err);
    if (st == ILK_OK && argc > 1)
        st = ilk_event_set(ready, argv[1], strlen(argv[1]), &err);
    else if (st == ILK_OK) {
        st = ilk_event_wait(ready, -1, &err);
        if (st == ILK_OK)
            puts(ilk_event_data(ready, NULL));
    }
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_event_free(ready);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
