/* SPDX-License-Identifier: MIT */
/*
 * A lock at any store, and what else the store can keep:
 *
 *     cc offers.c -o offers $(pkg-config --cflags --libs interlock)
 *     ./offers etcd://10.0.0.1
 */
#include <interlock.h>
#include <stdio.h>

static void print_offers(const ilk_client *client)
{
    static const struct {
        uint32_t what;
        const char *name;
    } rows[] = {{ILK_OFFER_RWLOCK, "read/write locks"},
                {ILK_OFFER_SEMAPHORE, "semaphores"},
                {ILK_OFFER_ELECTION, "elections"},
                {ILK_OFFER_DETACH, "detached holds"},
                {ILK_OFFER_QUEUE, "queues"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("%s: %s\n", rows[i].name,
               ilk_client_offers(client, rows[i].what) ? "yes" : "no");
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_error err;
    ilk_status st =
        ilk_client_open(&client, argc > 1 ? argv[1] : NULL, NULL, &err);

    if (st == ILK_OK)
        st = ilk_lock_open(&lock, client, "orders", 6, NULL, &err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, 5000, &err);
    if (st == ILK_OK) {
        printf("fence %lld\n", (long long)ilk_lock_fence(lock));
        print_offers(client);
        st = ilk_lock_release(lock, &err);
    }
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_lock_free(lock);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
