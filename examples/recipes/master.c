/* SPDX-License-Identifier: MIT */
/* One of several processes is the master, and stays it while it is well.
 *
 *   cc master.c -o master $(pkg-config --cflags --libs interlock)
 *   ./master             in some terminals; kill the one that leads
 *   ./master 0.5         tries every half second instead of every 5
 *
 * A tenure is 20 seconds. A master that worked for longer gives the office up
 * before it asks again, for it may have a successor already. */
#define _POSIX_C_SOURCE 200112L
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TENURE = 20 };

static const char COUNTER[] = "master_selector";

static ilk_status lead(ilk_client *client, double every, ilk_error *err)
{
    struct timespec pause = {(time_t)every,
                             (long)((every - (time_t)every) * 1e9)};
    struct timespec began, now;
    int64_t selector = 0;
    int leads = -1;
    ilk_status st;

    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &began);
        st = ilk_recipes_master(&selector, client, COUNTER, sizeof COUNTER - 1,
                                NULL, 0, selector, TENURE * 1000, err);
        if (st != ILK_OK)
            return st;
        if ((selector > 0) != leads) {
            leads = selector > 0;
            puts(leads ? "master" : "waiting");
            fflush(stdout);
        }
        nanosleep(&pause, NULL); /* here a master does its work */
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - began.tv_sec >= TENURE)
            selector = 0;
    }
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    if (st == ILK_OK)
        st = lead(client, argc > 1 ? strtod(argv[1], NULL) : 5, &err);
    fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return 1;
}
