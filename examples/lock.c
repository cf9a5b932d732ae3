/* SPDX-License-Identifier: MIT */
/* One lock from C: cc lock.c $(pkg-config --cflags --libs interlock) */
#include <interlock.h>
#include <stdio.h>

int main(void)
{
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    if (st == ILK_OK)
        st = ilk_lock_open(&lock, client, "orders", 6, NULL, &err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, 5000, &err);
    if (st == ILK_OK) {
        printf("fence %lld\n", (long long)ilk_lock_fence(lock));
        st = ilk_lock_release(lock, &err);
    }
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_lock_free(lock);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
