/* SPDX-License-Identifier: MIT */
/* A few at a time, beside programs that insert under a lock.
 *
 *   cc semaphore_with_lock.c -o semaphore_with_lock \
 *       $(pkg-config --cflags --libs interlock)
 *   ./semaphore_with_lock seats 2     in some terminals
 *
 * As fair_semaphore.c, which needs no lock. This takes the lock `lock:seats`
 * first: programs that read and write a semaphore in several steps under that
 * lock stay out meanwhile. With 10 ms for the lock, "full" may also mean busy.
 */
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_status acquire_with_lock(ilk_items **out, ilk_client *client,
                                    const char *semname, int64_t limit,
                                    ilk_error *err)
{
    ilk_lock *lock = NULL;
    char name[256];
    ilk_status st;

    snprintf(name, sizeof name, "lock:%s", semname);
    st = ilk_lock_open(&lock, client, name, strlen(name), NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, 10, err);
    if (st == ILK_OK) {
        st = ilk_recipes_permit(out, client, semname, strlen(semname), limit,
                                10000, err);
        ilk_lock_release(lock, NULL);
    }
    ilk_lock_free(lock);
    return st;
}

static ilk_status stay(ilk_client *client, const char *semname,
                       const char *identifier, ilk_error *err)
{
    ilk_status st;

    puts("inside");
    fflush(stdout);
    getchar();
    st = ilk_recipes_permit_release(client, semname, strlen(semname),
                                    identifier, strlen(identifier), err);
    printf("released %d\n", st == ILK_OK);
    return st == ILK_ELOST ? ILK_OK : st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_items *permit = NULL;
    ilk_error err;
    ilk_status st;

    if (argc != 3 || strlen(argv[1]) > 250)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK)
        st = acquire_with_lock(&permit, client, argv[1],
                               strtol(argv[2], NULL, 10), &err);
    if (st == ILK_OK)
        st = stay(client, argv[1], ilk_items_data(permit, 0, NULL), &err);
    if (st == ILK_EBUSY || st == ILK_ETIMEOUT)
        fprintf(stderr, "full\n");
    else if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_items_free(permit);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
