/* SPDX-License-Identifier: MIT */
/* ct_shards_alloc.c -- the thread of a ring without memory. */
/* link: @support/gateway_alloc.link */
#include "fixture.h"
#include "gateway_alloc.h"

#include "test.h"

#include <stdio.h>

enum { SERVERS = 3, STEP = 5, KEYS = 8 };

static fixture servers[SERVERS];
static char url[256];

static int setup(void)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (fixture_start(&servers[i], NULL))
            return -1;
    return snprintf(url, sizeof url,
                    "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?ring",
                    servers[0].port, servers[1].port, servers[2].port)
           < 0;
}

static int teardown(void)
{
    for (size_t i = 0; i < SERVERS; i++)
        fixture_stop(&servers[i]);
    return 0;
}

AROUND_ALL(setup, teardown);

/* ---- scenes ----------------------------------------------------------------- */

static ilk_status change_value(ilk_client *client, ilk_error *err)
{
    ilk_kv *kv = NULL;
    ilk_kv_entry *entry = NULL;
    ilk_status st = ilk_kv_open(&kv, client, "n", 1, err);

    if (st == ILK_OK)
        st = ilk_kv_put(kv, "a", 1, "some", 4, 0, NULL, err);
    if (st == ILK_OK)
        st = ilk_kv_put(kv, "b", 1, "more", 4, ILK_KV_FAST, NULL, err);
    if (st == ILK_OK)
        st = ilk_kv_get(&entry, kv, "a", 1, err);
    if (st == ILK_OK)
        st = ilk_kv_delete(kv, "b", 1, 0, NULL, err);
    ilk_kv_entry_free(entry);
    ilk_kv_free(kv);
    return st;
}

static ilk_status move_values(ilk_client *client, ilk_error *err)
{
    ilk_kv_progress at = {.size = sizeof at};
    ilk_status st = change_value(client, err);

    while (st == ILK_OK && !at.is_done)
        st = ilk_kv_move(client, &at, err);
    return st;
}

/* All three servers have some of the keys. */
static ilk_status change_keys(ilk_client *client, ilk_error *err)
{
    ilk_store *store = NULL;
    ilk_txn *txn = NULL;
    int32_t outcome;
    ilk_status st = ilk_store_open(&store, client, "s", 1, err);

    if (st == ILK_OK)
        st = ilk_txn_begin(&txn, store, 0, err);
    if (st == ILK_OK)
        st = ilk_txn_get(txn, "0", 1, err);
    for (char key = '0'; st == ILK_OK && key < '0' + KEYS; key++)
        st = ilk_txn_put(txn, &key, 1, "value", 5, err);
    if (st == ILK_OK)
        st = ilk_txn_commit(txn, err);
    if (st == ILK_OK)
        st = ilk_store_outcome(store, ilk_txn_id(txn), &outcome, err);
    ilk_txn_free(txn);
    ilk_store_free(store);
    return st;
}

/* ---- tests ------------------------------------------------------------------ */

static const gateway_alloc values = {
    .url = url, .warm_up = change_value, .works = change_value, .step = STEP};
static const gateway_alloc transactions = {
    .url = url, .warm_up = change_keys, .works = change_keys, .step = STEP};

TEST(a_value)
{
    gateway_alloc_run(&values, change_value, 30);
}

TEST(a_move)
{
    gateway_alloc_run(&values, move_values, 30);
}

TEST(a_transaction)
{
    gateway_alloc_run(&transactions, change_keys, 30);
}
