/* SPDX-License-Identifier: MIT */
/* lock_open.c -- a lock's handle: its keys, its options, its parts. */
#include "lock.h"

#include "alloc.h"
#include "opts.h"

#include <stdio.h>
#include <string.h>

static const char *const side_kinds[ILK__LOCK_KEYS] = {
    NULL, "lock:fence", "lock:wait", "lock:live", "lock:readers"};

/* ---- keys and options --------------------------------------------------- */

ilk_status ilk__lock_keys(ilk__bytes keys[ILK__LOCK_KEYS], const void *name,
                          size_t len, ilk_error *err)
{
    ilk_status st = ilk__name_check(name, len, "name", err);

    memset(keys, 0, ILK__LOCK_KEYS * sizeof *keys);
    if (st)
        return st;
    keys[0].data = ilk__memdup(name, len);
    keys[0].len = len;
    if (!keys[0].data)
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (int i = 1; i < ILK__LOCK_KEYS && st == ILK_OK; i++)
        st = ilk__side_key(&keys[i], side_kinds[i], name, len, err);
    if (st)
        ilk__lock_keys_free(keys);
    return st;
}

void ilk__lock_keys_free(ilk__bytes keys[ILK__LOCK_KEYS])
{
    for (int i = 0; i < ILK__LOCK_KEYS; i++) {
        ilk__free(keys[i].data);
        keys[i].data = NULL;
    }
}

void ilk_lock_opts_init(ilk_lock_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

ilk_status ilk__lock_check_ttl(int64_t ttl_ms, ilk_error *err)
{
    if (ttl_ms > 0 && ttl_ms <= ILK__LEASE_MAX_MS)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "ttl_ms must be 1 to %lld (0: the default), got %lld",
                     (long long)ILK__LEASE_MAX_MS, (long long)ttl_ms);
}

ilk_status ilk__lock_check_opts(ilk_lock_opts *out, const ilk_lock_opts *in,
                                ilk_error *err)
{
    const uint32_t known =
        ILK_LOCK_NO_RENEW | ILK_LOCK_BARGE | ILK_LOCK_REENTRANT;
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_lock_opts", err);

    if (st)
        return st;
    if (out->ttl_ms == 0)
        out->ttl_ms = ILK__LEASE_DEFAULT_MS;
    if (out->foreign_poll_ms == 0)
        out->foreign_poll_ms = ILK__FOREIGN_POLL_MS;
    if (out->max_hold_ms < 0 || out->max_hold_ms > ILK__LEASE_MAX_MS)
        return ilk__fail(
            err, ILK_EINVAL, "max_hold_ms must be 0 to %lld, got %lld",
            (long long)ILK__LEASE_MAX_MS, (long long)out->max_hold_ms);
    if (out->foreign_poll_ms < 0)
        return ilk__fail(err, ILK_EINVAL,
                         "foreign_poll_ms must not be negative, got %lld",
                         (long long)out->foreign_poll_ms);
    if (out->flags & ~known)
        return ilk__fail(err, ILK_EINVAL, "unknown lock flags 0x%x",
                         (unsigned)out->flags);
    if (out->layout != ILK_LAYOUT_PLAIN && out->layout != ILK_LAYOUT_REDISSON)
        return ilk__fail(err, ILK_EINVAL, "unknown layout %d",
                         (int)out->layout);
    return ilk__lock_check_ttl(out->ttl_ms, err);
}

/* ---- handles ------------------------------------------------------------ */

/* Redisson's owner is `uuid:thread`: the client, and a number for each hold. */
static void set_owner(ilk_lock *lock)
{
    const char *id = lock->client->desk->client_id;

    snprintf(lock->owner, sizeof lock->owner, "%.8s-%.4s-4%.3s-8%.3s-%.12s", id,
             id + 8, id + 9, id + 12, id + 4);
    lock->waiter.prefix = lock->owner;
}

static ilk_status set_channel(ilk_lock *lock, ilk_error *err)
{
    const ilk__bytes *name = &lock->keys[0];
    int tagged = memchr(name->data, '{', name->len) != NULL;
    size_t room = sizeof "redisson_lock__channel:{}" + name->len;

    lock->channel.data = ilk__malloc(room);
    if (!lock->channel.data)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    lock->channel.len =
        (size_t)snprintf(lock->channel.data, room, "redisson_lock__channel:%s",
                         tagged ? "" : "{");
    memcpy(lock->channel.data + lock->channel.len, name->data, name->len);
    lock->channel.len += name->len;
    if (!tagged)
        lock->channel.data[lock->channel.len++] = '}';
    lock->channel.data[lock->channel.len] = '\0';
    return ILK_OK;
}

static void set_line(ilk_lock *lock)
{
    const ilk__lock_kind *kind = lock->kind;

    lock->line = (ilk__line){
        .keys = lock->keys,
        .key_count = ILK__LOCK_KEYS,
        .acquire = kind->acquire,
        .refresh = kind->refresh,
        .cancel = kind->cancel,
        .kind = kind->waits_as,
        .barge = kind->barges || (lock->opts.flags & ILK_LOCK_BARGE) != 0,
        .channel = lock->channel,
        .foreign_poll_ms = lock->opts.foreign_poll_ms,
    };
    if (lock->opts.flags & ILK_LOCK_BARGE)
        lock->line.kind = 'w';
    for (size_t i = 0; i < kind->extend_key_count; i++)
        lock->extend_keys[i] = lock->keys[kind->extend_keys[i]];
}

ilk_status ilk__lock_bind(ilk_lock *lock, ilk_error *err)
{
    ilk__desk *desk = lock->client->desk;
    ilk_status st;

    memset(&lock->waiter, 0, sizeof lock->waiter);
    memset(&lock->lease, 0, sizeof lock->lease);
    lock->id = ilk__desk_new_id(desk);
    lock->depth = 0;
    if (lock->kind->has_channel)
        set_owner(lock);
    st = ilk__waiter_init(&lock->waiter, desk, &lock->line, err);
    if (st)
        return st;
    st = ilk__lease_init(&lock->lease, desk, lock->kind->extend,
                         lock->extend_keys, lock->kind->extend_key_count,
                         lock->id, err);
    if (st)
        ilk__parker_destroy(&lock->waiter.parker);
    else
        lock->era = lock->client->era;
    return st;
}

static void dispose(ilk_lock *lock)
{
    ilk__lock_keys_free(lock->keys);
    ilk__free(lock->channel.data);
    ilk__client_unref(lock->client);
    ilk__free(lock);
}

ilk_status ilk__lock_new(ilk_lock **out, ilk_client *client,
                         const ilk__lock_kind *kind, const void *name,
                         size_t name_len, const ilk_lock_opts *opts,
                         ilk_error *err)
{
    ilk_lock *lock;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    lock = ilk__calloc(1, sizeof *lock);
    if (!lock)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    lock->client = ilk__client_ref(client);
    st = ilk__lock_check_opts(&lock->opts, opts, err);
    if (st == ILK_OK && lock->opts.layout == ILK_LAYOUT_REDISSON
        && kind == &ilk__lock_plain)
        kind = &ilk__lock_redisson;
    lock->kind = kind;
    if (st == ILK_OK)
        st = ilk__lock_keys(lock->keys, name, name_len, err);
    if (st == ILK_OK && kind->has_channel)
        st = set_channel(lock, err);
    if (st == ILK_OK) {
        set_line(lock);
        st = ilk__lock_bind(lock, err);
    }
    if (st) {
        dispose(lock);
        return st;
    }
    *out = lock;
    return ILK_OK;
}

ilk_status ilk_lock_open(ilk_lock **out, ilk_client *client, const void *name,
                         size_t name_len, const ilk_lock_opts *opts,
                         ilk_error *err)
{
    return ilk__lock_new(out, client, &ilk__lock_plain, name, name_len, opts,
                         err);
}

void ilk_lock_free(ilk_lock *lock)
{
    if (!lock)
        return;
    /* A child, or a handle of the parent's desk, has nothing to take back. */
    if (!ilk__client_is_forked(lock->client)
        && lock->era == lock->client->era) {
        ilk__waiter_destroy(&lock->waiter);
        ilk__lease_destroy(&lock->lease);
    }
    dispose(lock);
}
