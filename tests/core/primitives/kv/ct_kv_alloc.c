/* SPDX-License-Identifier: MIT */
/* ct_kv_alloc.c -- scenes with replicated values in which the n-th allocation and all
 * after it fail, as in ct_alloc.c. */
#include "scene_case.h"

#include <string.h>

static ilk_status put_get_and_delete(ilk_error *err)
{
    ilk_kv *kv = NULL;
    ilk_kv_entry *entry = NULL;
    int64_t version = 0;
    ilk_status st = ilk_kv_open(&kv, client, "s", 1, err);

    if (st == ILK_OK)
        st = ilk_kv_put(kv, "a", 1, "one", 3, 0, &version, err);
    if (st == ILK_OK)
        st = ilk_kv_get(&entry, kv, "a", 1, err);
    if (st == ILK_OK)
        assert_string_equal("one", ilk_kv_entry_value(entry, NULL));
    if (st == ILK_OK)
        st = ilk_kv_delete(kv, "a", 1, ILK_KV_FAST, &version, err);
    ilk_kv_entry_free(entry);
    ilk_kv_free(kv);
    return st;
}

static ilk_status move(ilk_error *err)
{
    ilk_kv_progress at = {.size = sizeof at};
    ilk_status st = ilk_kv_move(client, &at, err);

    assert_int_equal(st == ILK_OK, at.is_done);
    return st;
}

static const scene scenes[] = {
    {"put, get and delete", NULL, put_get_and_delete, ILK_OK, ILK_OK},
    {"move", NULL, move, ILK_OK, ILK_OK},
};

/* With memory back all of it works. */
static void check(const scene *s)
{
    ilk_error err = {0};

    (void)s;
    assert_status(ILK_OK, put_get_and_delete(&err));
    assert_status(ILK_OK, move(&err));
}

int main(void)
{
    static const stage common = {NULL, check, 2};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}
