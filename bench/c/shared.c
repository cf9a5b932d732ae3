/* SPDX-License-Identifier: MIT */
/*
 * shared.c -- values and transactions over the servers of a ring: shared URL SECONDS
 *
 * In turns of a few calls each: a put that reads the versions first, one that does not, a
 * get, and the commit of a transaction that has read and that writes so many keys that
 * each server has some. Its reads are not timed.
 */
#include "lines.h"

#include <interlock.h>

#include <string.h>

enum { TURN = 5, KEYS = 16, SIDES = 4 };

static ilk_kv *kv;
static ilk_store *store;
static ilk_error err;

static void check(ilk_status st)
{
    if (st)
        die("shared", err.msg);
}

static int64_t put(uint32_t flags)
{
    const int64_t began = now_ns();

    check(ilk_kv_put(kv, "key", 3, "value", 5, flags, NULL, &err));
    return now_ns() - began;
}

static int64_t puts_safely(void)
{
    return put(0);
}

static int64_t puts_fast(void)
{
    return put(ILK_KV_FAST);
}

static int64_t gets(void)
{
    const int64_t began = now_ns();
    ilk_kv_entry *entry = NULL;

    check(ilk_kv_get(&entry, kv, "key", 3, &err));
    ilk_kv_entry_free(entry);
    return now_ns() - began;
}

static int64_t commits(void)
{
    ilk_txn *txn = NULL;
    int64_t began;

    check(ilk_txn_begin(&txn, store, 0, &err));
    check(ilk_txn_get(txn, "0", 1, &err));
    for (int i = 0; i < KEYS; i++) {
        char key[8];

        check(ilk_txn_put(txn, key, (size_t)snprintf(key, sizeof key, "%d", i),
                          "value", 5, &err));
    }
    began = now_ns();
    check(ilk_txn_commit(txn, &err));
    began = now_ns() - began;
    ilk_txn_free(txn);
    return began;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int64_t (*call)(void);
    } sides[SIDES] = {{"put", puts_safely},
                      {"fast", puts_fast},
                      {"get", gets},
                      {"commit", commits}};
    static diary times[SIDES];
    ilk_client *client = NULL;
    int64_t ends;

    if (argc != 3)
        die("usage", "shared URL SECONDS");
    check(ilk_client_open(&client, argv[1], NULL, &err));
    check(ilk_kv_open(&kv, client, "bench", 5, &err));
    /* A store belongs to the list of servers that it began with. */
    check(ilk_store_open(&store, client, argv[1], strlen(argv[1]), &err));
    for (int side = 0; side < SIDES; side++)
        sides[side].call(); /* connections, and the sources of scripts */
    ends = now_ns() + ns_of(argv[2]);
    while (now_ns() < ends)
        for (int side = 0; side < SIDES; side++)
            for (int i = 0; i < TURN; i++)
                note(&times[side], sides[side].call());
    for (int side = 0; side < SIDES; side++)
        printf("%s\"%s\": %.2f", side ? ", " : "{", sides[side].name,
               percentile_us(times[side].times, times[side].count, 0.5));
    puts("}");
    return 0;
}
