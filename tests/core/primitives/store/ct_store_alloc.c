/* SPDX-License-Identifier: MIT */
/* ct_store_alloc.c -- scenes with a store in which the n-th allocation and all after it
 * fail, as in ct_alloc.c. */
#include "scene_case.h"

#include <string.h>

static ilk_status read_and_write(ilk_error *err)
{
    ilk_store *store = NULL;
    ilk_txn *txn = NULL;
    ilk_status st = ilk_store_open(&store, client, "s", 1, err);

    if (st == ILK_OK)
        st = ilk_txn_begin(&txn, store, 0, err);
    if (st == ILK_OK)
        st = ilk_txn_put(txn, "a", 1, "one", 3, err);
    if (st == ILK_OK)
        st = ilk_txn_delete(txn, "b", 1, err);
    if (st == ILK_OK)
        st = ilk_txn_get(txn, "a", 1, err);
    if (st == ILK_OK)
        assert_string_equal("one", ilk_txn_value(txn, NULL));
    if (st == ILK_OK)
        st = ilk_txn_get(txn, "c", 1, err);
    if (st == ILK_OK)
        st = ilk_txn_commit(txn, err);
    ilk_txn_free(txn);
    ilk_store_free(store);
    return st;
}

static ilk_status ask_for_an_outcome(ilk_error *err)
{
    static const char id[] = "0123456789abcdef0123456789abcdef-1700000000000";
    ilk_store *store = NULL;
    int32_t outcome;
    ilk_status st = ilk_store_open(&store, client, "s", 1, err);

    if (st == ILK_OK)
        st = ilk_store_outcome(store, id, &outcome, err);
    ilk_store_free(store);
    return st;
}

static const scene scenes[] = {
    {"read and write", NULL, read_and_write, ILK_OK, ILK_EUNKNOWN},
    {"ask for an outcome", NULL, ask_for_an_outcome, ILK_OK, ILK_OK},
};

/* With memory back all of it works. */
static void check(const scene *s)
{
    ilk_error err = {0};

    (void)s;
    assert_status(ILK_OK, read_and_write(&err));
}

int main(void)
{
    static const stage common = {NULL, check, 3};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}
