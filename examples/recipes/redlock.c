/* SPDX-License-Identifier: MIT */
/* A lock on one node: a token to unlock with, and how long it is valid.
 *
 *   cc redlock.c -o redlock $(pkg-config --cflags --libs interlock)
 *   ./redlock lock orders 30000       prints the token and the ms left
 *   ./redlock lock orders 30000       in another terminal: taken
 *   ./redlock unlock orders TOKEN     from anywhere
 *
 * The key is the resource and its value the token, as SET NX PX leaves them, so
 * other programs that lock in this way see it. */
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_status lock(ilk_client *client, const char *resource, int64_t ttl_ms,
                       ilk_error *err)
{
    ilk_lock *taken = NULL;
    ilk_lock_opts opts;
    int64_t validity;
    ilk_status st;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    opts.flags = ILK_LOCK_NO_RENEW;
    st = ilk_lock_open(&taken, client, resource, strlen(resource), &opts, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(taken, 0, err);
    validity = ilk_lock_remaining_ms(taken);
    if (st == ILK_OK)
        st = ilk_lock_detach(taken, err);
    if (st == ILK_OK)
        printf("%s %lld\n", ilk_lock_token(taken), (long long)validity);
    ilk_lock_free(taken);
    return st;
}

static ilk_status unlock(ilk_client *client, const char *resource,
                         const char *token, ilk_error *err)
{
    ilk_lock *heir = NULL;
    ilk_status st =
        ilk_lock_open(&heir, client, resource, strlen(resource), NULL, err);

    if (st == ILK_OK)
        st = ilk_lock_adopt(heir, token, strlen(token), err);
    if (st == ILK_OK)
        st = ilk_lock_release(heir, err);
    if (st == ILK_OK)
        puts("unlocked");
    ilk_lock_free(heir);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;

    if (argc != 4)
        return 2;
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK && strcmp(argv[1], "unlock") == 0)
        st = unlock(client, argv[2], argv[3], &err);
    else if (st == ILK_OK)
        st = lock(client, argv[2], strtoll(argv[3], NULL, 10), &err);
    ilk_client_free(client);
    if (st == ILK_EBUSY || st == ILK_ELOST)
        puts(st == ILK_EBUSY ? "taken" : "lost");
    else if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    return st == ILK_OK || st == ILK_EBUSY || st == ILK_ELOST ? 0 : 1;
}
