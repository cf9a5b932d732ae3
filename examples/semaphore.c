/* SPDX-License-Identifier: MIT */
/* Two at a time; the third waits until one leaves.
 *
 *   cc semaphore.c -o semaphore $(pkg-config --cflags --libs interlock)
 *   ./semaphore          in three terminals; Enter leaves */
#include <interlock.h>
#include <stdio.h>

int main(void)
{
    ilk_client *client = NULL;
    ilk_semaphore *permit = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    if (st == ILK_OK)
        st = ilk_semaphore_open(&permit, client, "printers", 8, 2, NULL, &err);
    if (st == ILK_OK)
        st = ilk_semaphore_acquire(permit, -1, &err);
    if (st == ILK_OK) {
        printf("fence %lld\n", (long long)ilk_semaphore_fence(permit));
        fflush(stdout);
        getchar();
        st = ilk_semaphore_release(permit, &err);
    }
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_semaphore_free(permit);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
