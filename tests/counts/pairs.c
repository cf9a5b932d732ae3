/* SPDX-License-Identifier: MIT */
/* pairs.c -- COUNT uncontended pairs of one lock: pairs URL COUNT */
#include <interlock.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    ilk_error err = {0};
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_status st;

    if (argc != 3)
        return 64;
    st = ilk_client_open(&client, argv[1], NULL, &err);
    if (st == ILK_OK)
        st = ilk_lock_open(&lock, client, "counted", 7, NULL, &err);
    for (long i = atol(argv[2]); i > 0 && st == ILK_OK; i--) {
        st = ilk_lock_acquire(lock, 0, &err);
        if (st == ILK_OK)
            st = ilk_lock_release(lock, &err);
    }
    if (st)
        fprintf(stderr, "pairs: %s\n", err.msg);
    ilk_lock_free(lock);
    ilk_client_free(client);
    return st ? 1 : 0;
}
