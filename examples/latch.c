/* SPDX-License-Identifier: MIT */
/* Wait until two parts are done, whoever does them.
 *
 *   cc latch.c -o latch $(pkg-config --cflags --libs interlock)
 *   ./latch wait         in some terminals
 *   ./latch done         in another, twice: how many are left */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int done = argc > 1 && strcmp(argv[1], "done") == 0;
    ilk_client *client = NULL;
    ilk_latch *parts = NULL;
    ilk_error err;
    int64_t left = 0;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    if (st == ILK_OK)
        st = ilk_latch_open(&parts, client, "parts", 5, 2, NULL, &err);
    if (st == ILK_OK && done)
        st = ilk_latch_count_down(parts, 1, &left, &err);
    else if (st == ILK_OK)
        st = ilk_latch_wait(parts, -1, &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    else if (done)
        printf("%lld\n", (long long)left);
    else
        puts("all done");
    ilk_latch_free(parts);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
