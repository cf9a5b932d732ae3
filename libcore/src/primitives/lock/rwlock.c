/* SPDX-License-Identifier: MIT */
/* rwlock.c -- opens reader and writer handles; lock.c does the rest. */
#include "lock.h"

#include <interlock/rwlock.h>

/* Readers and writers share one wait queue in order: another layout and barging
   are refused. */
static ilk_status open_side(ilk_lock **out, ilk_client *client,
                            const ilk__hold_kind *kind, const void *name,
                            size_t name_len, const ilk_lock_opts *opts,
                            ilk_error *err)
{
    ilk_status st = ilk__client_enter_for(client, ILK_OFFER_RWLOCK, err);

    if (st == ILK_OK)
        st = ilk__lock_new(out, client, kind, name, name_len, opts, err);
    else if (out)
        *out = NULL;
    if (st)
        return st;
    if ((*out)->opts.layout != ILK_LAYOUT_PLAIN)
        st = ilk__fail(err, ILK_EINVAL,
                       "a read-write lock has the plain layout only");
    else if ((*out)->opts.flags & ILK_LOCK_BARGE)
        st = ilk__fail(
            err, ILK_EINVAL,
            "a read-write lock keeps its wait queue: no ILK_LOCK_BARGE");
    if (st) {
        ilk_lock_free(*out);
        *out = NULL;
    }
    return st;
}

ilk_status ilk_rwlock_read_open(ilk_lock **out, ilk_client *client,
                                const void *name, size_t name_len,
                                const ilk_lock_opts *opts, ilk_error *err)
{
    return open_side(out, client, &ilk__lock_reader, name, name_len, opts, err);
}

ilk_status ilk_rwlock_write_open(ilk_lock **out, ilk_client *client,
                                 const void *name, size_t name_len,
                                 const ilk_lock_opts *opts, ilk_error *err)
{
    return open_side(out, client, &ilk__lock_plain, name, name_len, opts, err);
}
