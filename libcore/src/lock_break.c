/* SPDX-License-Identifier: MIT */
/* lock_break.c -- a lock taken away by an operator, in either layout. */
#include "lock.h"

#include <interlock/inspect.h>

#include <string.h>

static ilk_status nobody(const void *token, ilk_error *err)
{
    return ilk__fail(err, ILK_ENOTOWNER,
                     token ? "not held under this token" : "nobody holds it");
}

static ilk_status break_plain(ilk_client *client, const void *name,
                              size_t name_len, const void *token,
                              size_t token_len, ilk_error *err)
{
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk__line line = {.keys = keys,
                      .key_count = ILK__LOCK_KEYS,
                      .refresh = ilk__lock_plain.refresh};
    ilk__giving giving = {.kind = &ilk__lock_plain,
                          .line = &line,
                          .token = token ? token : "",
                          .token_len = token ? token_len : 0};
    ilk_status st = ilk__lock_keys(keys, name, name_len, err);

    if (st)
        return st;
    st = ilk__hold_give(client, &ilk__lock_break_op, &giving, err);
    ilk__lock_keys_free(keys);
    return st == ILK_ELOST ? nobody(token, err) : st;
}

/* In Redisson's layout it is released for the owner who is found there. */
static ilk_status break_redisson(ilk_client *client, const void *name,
                                 size_t name_len, const void *token,
                                 size_t token_len, ilk_error *err)
{
    ilk_lock_opts opts = {.size = sizeof opts, .layout = ILK_LAYOUT_REDISSON};
    ilk_lock *lock = NULL;
    ilk_info *info = NULL;
    ilk__giving giving = {.kind = &ilk__lock_redisson};
    ilk_status st = ilk_inspect(&info, client, name, name_len, err);

    if (st == ILK_OK)
        st = ilk_lock_open(&lock, client, name, name_len, &opts, err);
    if (st)
        goto out;
    giving.line = &lock->hold.line;
    giving.token = ilk_info_holder(info, &giving.token_len);
    if (ilk_info_get_state(info) != ILK_INFO_REDISSON
        || (token
            && (token_len != giving.token_len
                || memcmp(token, giving.token, token_len) != 0)))
        st = nobody(token, err);
    else
        st = ilk__hold_give(client, lock->hold.kind->release, &giving, err);
    if (st == ILK_ELOST)
        st = nobody(token, err);
out:
    ilk_lock_free(lock);
    ilk_info_free(info);
    return st;
}

ilk_status ilk_lock_break(ilk_client *client, const void *name, size_t name_len,
                          const void *token, size_t token_len, ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    st = break_plain(client, name, name_len, token, token_len, err);
    if (st == ILK_ETYPE)
        st = break_redisson(client, name, name_len, token, token_len, err);
    return st;
}
