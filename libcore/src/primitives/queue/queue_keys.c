/* SPDX-License-Identifier: MIT */
/* queue_keys.c -- the queue keys: made from a queue's name. */
#include "queue_keys.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[ILK__QUEUE_KEYS] = {
    [ILK__QUEUE_KEY_META] = "queue",
    [ILK__QUEUE_KEY_READY] = "queue:ready",
    [ILK__QUEUE_KEY_WAIT] = "queue:wait",
    [ILK__QUEUE_KEY_LIVE] = "queue:live",
    [ILK__QUEUE_KEY_DELAYED] = "queue:delayed",
    [ILK__QUEUE_KEY_LEASES] = "queue:leases",
    [ILK__QUEUE_KEY_FLIGHT] = "queue:flight",
    [ILK__QUEUE_KEY_DEAD] = "queue:dead",
    [ILK__QUEUE_KEY_DIED] = "queue:died",
};

static void dispose(ilk__queue_keys *queue_keys)
{
    for (size_t i = 0; i < ILK__QUEUE_KEYS; i++)
        ilk__free(queue_keys->keys[i].data);
    ilk__free(queue_keys->name.data);
    ilk__free(queue_keys);
}

ilk_status ilk__queue_keys_new(ilk__queue_keys **out, const void *name,
                               size_t len, ilk_error *err)
{
    ilk_status st = ilk__name_check(name, len, "name", err);
    ilk__queue_keys *queue_keys;

    if (st)
        return st;
    queue_keys = ilk__calloc(1, sizeof *queue_keys);
    if (!queue_keys)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    atomic_store(&queue_keys->refs, 1);
    queue_keys->name.data = ilk__memdup(name, len);
    queue_keys->name.len = len;
    if (!queue_keys->name.data)
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < ILK__QUEUE_KEYS && st == ILK_OK; i++)
        st = ilk__side_key(&queue_keys->keys[i], kinds[i], name, len, err);
    if (st)
        dispose(queue_keys);
    else
        *out = queue_keys;
    return st;
}

ilk__queue_keys *ilk__queue_keys_ref(ilk__queue_keys *queue_keys)
{
    atomic_fetch_add(&queue_keys->refs, 1);
    return queue_keys;
}

void ilk__queue_keys_unref(ilk__queue_keys *queue_keys)
{
    if (queue_keys && atomic_fetch_sub(&queue_keys->refs, 1) == 1)
        dispose(queue_keys);
}

/*
 * "ilk:queue:once:{name} id 2": the id's length is at the end, so that no two
 * pairs of name and id make the same key. The id is written by ilk__key_part().
 */
ilk_status ilk__queue_once_key(ilk__bytes *out,
                               const ilk__queue_keys *queue_keys,
                               const void *id, size_t len, ilk_error *err)
{
    const size_t written = ilk__key_part(NULL, id, len);
    char tail[24];
    int tail_len = snprintf(tail, sizeof tail, " %zu", written);
    ilk__bytes base;
    ilk_status st = ilk__side_key(&base, "queue:once", queue_keys->name.data,
                                  queue_keys->name.len, err);
    char *at;

    if (st)
        return st;
    out->len = base.len + 1 + written + (size_t)tail_len;
    out->data = at = ilk__malloc(out->len + 1);
    if (at) {
        memcpy(at, base.data, base.len);
        at[base.len] = ' ';
        (void)ilk__key_part(at + base.len + 1, id, len);
        memcpy(at + base.len + 1 + written, tail, (size_t)tail_len + 1);
    }
    ilk__free(base.data);
    return at ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}
