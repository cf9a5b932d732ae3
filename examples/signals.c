/* SPDX-License-Identifier: MIT */
/* A signal for one of those who wait, or for all of them.
 *
 *   cc signals.c -o signals $(pkg-config --cflags --libs interlock)
 *   ./signals wait doors          in some terminals
 *   ./signals one doors open      in another: to the first waiter, 1 or 0
 *   ./signals all doors open      how many were reached
 *
 * Only those who wait get it: see event.c for an event that stays. */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

static ilk_status wait_for(ilk_signal *doors, ilk_error *err)
{
    ilk_arrival *came = NULL;
    ilk_status st = ilk_signal_wait(&came, doors, -1, err);

    if (st == ILK_OK)
        puts(ilk_arrival_data(came, 0, NULL));
    ilk_arrival_free(came);
    return st;
}

static ilk_status notify(ilk_signal *doors, int one, const char *data,
                         ilk_error *err)
{
    size_t len = strlen(data);
    int64_t reached = 0;
    ilk_status st =
        one ? ilk_signal_notify_one(&reached, doors, data, len, err)
            : ilk_signal_notify_all(&reached, doors, data, len, err);

    if (st == ILK_OK)
        printf("%lld\n", (long long)reached);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_signal *doors = NULL;
    ilk_error err;
    ilk_status st;

    if (argc < 3)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK)
        st = ilk_signal_open(&doors, client, argv[2], strlen(argv[2]), NULL,
                             &err);
    if (st == ILK_OK && argc == 3)
        st = wait_for(doors, &err);
    else if (st == ILK_OK)
        st = notify(doors, strcmp(argv[1], "one") == 0, argv[3], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_signal_free(doors);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
