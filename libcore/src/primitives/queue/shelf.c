/* SPDX-License-Identifier: MIT */
/* shelf.c -- the keys of a queue. */
#include "shelf.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[ILK__SHELF_KEYS] = {
    [ILK__SHELF_META] = "queue",
    [ILK__SHELF_READY] = "queue:ready",
    [ILK__SHELF_WAIT] = "queue:wait",
    [ILK__SHELF_LIVE] = "queue:live",
    [ILK__SHELF_DELAYED] = "queue:delayed",
    [ILK__SHELF_LEASES] = "queue:leases",
    [ILK__SHELF_FLIGHT] = "queue:flight",
    [ILK__SHELF_DEAD] = "queue:dead",
    [ILK__SHELF_DIED] = "queue:died",
};

static void dispose(ilk__shelf *shelf)
{
    for (size_t i = 0; i < ILK__SHELF_KEYS; i++)
        ilk__free(shelf->keys[i].data);
    ilk__free(shelf->name.data);
    ilk__free(shelf);
}

ilk_status ilk__shelf_new(ilk__shelf **out, const void *name, size_t len,
                          ilk_error *err)
{
    ilk_status st = ilk__name_check(name, len, "name", err);
    ilk__shelf *shelf;

    if (st)
        return st;
    shelf = ilk__calloc(1, sizeof *shelf);
    if (!shelf)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    atomic_store(&shelf->refs, 1);
    shelf->name.data = ilk__memdup(name, len);
    shelf->name.len = len;
    if (!shelf->name.data)
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < ILK__SHELF_KEYS && st == ILK_OK; i++)
        st = ilk__side_key(&shelf->keys[i], kinds[i], name, len, err);
    if (st)
        dispose(shelf);
    else
        *out = shelf;
    return st;
}

ilk__shelf *ilk__shelf_ref(ilk__shelf *shelf)
{
    atomic_fetch_add(&shelf->refs, 1);
    return shelf;
}

void ilk__shelf_unref(ilk__shelf *shelf)
{
    if (shelf && atomic_fetch_sub(&shelf->refs, 1) == 1)
        dispose(shelf);
}

/*
 * "ilk:queue:once:{name} id 2": the id's length stands at the end, so that
 * no two pairs of name and id make the same key.
 */
ilk_status ilk__shelf_once_key(ilk__bytes *out, const ilk__shelf *shelf,
                               const void *id, size_t len, ilk_error *err)
{
    char tail[24];
    int tail_len = snprintf(tail, sizeof tail, " %zu", len);
    ilk__bytes base;
    ilk_status st = ilk__side_key(&base, "queue:once", shelf->name.data,
                                  shelf->name.len, err);
    char *at;

    if (st)
        return st;
    out->len = base.len + 1 + len + (size_t)tail_len;
    out->data = at = ilk__malloc(out->len + 1);
    if (at) {
        memcpy(at, base.data, base.len);
        at[base.len] = ' ';
        memcpy(at + base.len + 1, id, len);
        memcpy(at + base.len + 1 + len, tail, (size_t)tail_len + 1);
    }
    ilk__free(base.data);
    return at ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}
