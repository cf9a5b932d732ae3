/* SPDX-License-Identifier: MIT */
/* Nobody goes on before all three are here.
 *
 *   cc barrier.c -o barrier $(pkg-config --cflags --libs interlock)
 *   ./barrier            in three terminals */
#include <interlock.h>
#include <stdio.h>

int main(void)
{
    ilk_client *client = NULL;
    ilk_barrier *phase = NULL;
    ilk_error err;
    int64_t index = 0;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    if (st == ILK_OK)
        st = ilk_barrier_open(&phase, client, "phase", 5, 3, NULL, &err);
    if (st == ILK_OK)
        st = ilk_barrier_wait(phase, -1, &index, &err);
    if (st == ILK_OK)
        printf("arrived as number %lld\n", (long long)index);
    else
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_barrier_free(phase);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
