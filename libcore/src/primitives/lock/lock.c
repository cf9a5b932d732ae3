/* SPDX-License-Identifier: MIT */
/* lock.c -- the lock's handle, its options, its requests. */
#include "lock.h"

#include "base/alloc.h"
#include "base/opts.h"

#include <string.h>

/* ---- options ------------------------------------------------------------ */

void ilk_lock_opts_init(ilk_lock_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

ilk__hold_opts ilk__lock_hold_opts(const ilk_lock_opts *opts)
{
    return (ilk__hold_opts){
        .ttl_ms = opts->ttl_ms,
        .max_hold_ms = opts->max_hold_ms,
        .no_renew = (opts->flags & ILK_LOCK_NO_RENEW) != 0,
        .reentrant = (opts->flags & ILK_LOCK_REENTRANT) != 0,
        .user = opts->user,
    };
}

ilk_status ilk__lock_check_opts(ilk_lock_opts *out, const ilk_lock_opts *in,
                                ilk_error *err)
{
    const uint32_t known =
        ILK_LOCK_NO_RENEW | ILK_LOCK_BARGE | ILK_LOCK_REENTRANT;
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_lock_opts", err);
    ilk__hold_opts hold;

    if (st)
        return st;
    if (out->foreign_poll_ms == 0)
        out->foreign_poll_ms = ILK__FOREIGN_POLL_MS;
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
    hold = ilk__lock_hold_opts(out);
    st = ilk__hold_check_opts(&hold, err);
    out->ttl_ms = hold.ttl_ms;
    return st;
}

/* ---- handles ------------------------------------------------------------ */

static ilk_status open_hold(ilk_lock *lock, ilk_client *client,
                            const ilk__hold_kind *kind, const void *name,
                            size_t name_len, ilk_error *err)
{
    ilk__hold_opts opts = ilk__lock_hold_opts(&lock->opts);
    ilk__wait_queue *wait_queue = &lock->hold.wait_queue;
    ilk_status st =
        ilk__hold_open(&lock->hold, client, kind, &opts, name, name_len, err);

    if (st)
        return st;
    wait_queue->foreign_poll_ms = lock->opts.foreign_poll_ms;
    if (lock->opts.flags & ILK_LOCK_BARGE) {
        wait_queue->barge = 1;
        wait_queue->kind = 'w'; /* the server wakes it and grants it nothing */
        wait_queue->orphaned = NULL;
    }
    if (kind == &ilk__lock_redisson)
        st = ilk__lock_set_channel(lock, err);
    if (st)
        ilk__hold_close(&lock->hold);
    return st;
}

ilk_status ilk__lock_new(ilk_lock **out, ilk_client *client,
                         const ilk__hold_kind *kind, const void *name,
                         size_t name_len, const ilk_lock_opts *opts,
                         ilk_error *err)
{
    ilk_lock *lock;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_LOCK, err);
    if (st)
        return st;
    lock = ilk__calloc(1, sizeof *lock);
    if (!lock)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__lock_check_opts(&lock->opts, opts, err);
    if (st == ILK_OK && lock->opts.layout == ILK_LAYOUT_REDISSON
        && kind == &ilk__lock_plain)
        kind = &ilk__lock_redisson;
    if (st == ILK_OK)
        st = open_hold(lock, client, kind, name, name_len, err);
    if (st)
        ilk__free(lock);
    else
        *out = lock;
    return st;
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
    ilk__hold_close(&lock->hold);
    ilk__free(lock->channel.data);
    ilk__free(lock);
}

/* ---- requests ----------------------------------------------------------- */

static ilk_status no_lock(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "lock must not be NULL");
}

ilk_status ilk_lock_acquire_ttl(ilk_lock *lock, int64_t timeout_ms,
                                int64_t ttl_ms, ilk_error *err)
{
    return lock ? ilk__hold_acquire(&lock->hold, timeout_ms, ttl_ms, err)
                : no_lock(err);
}

ilk_status ilk_lock_acquire(ilk_lock *lock, int64_t timeout_ms, ilk_error *err)
{
    return ilk_lock_acquire_ttl(lock, timeout_ms, 0, err);
}

ilk_status ilk_lock_cancel(ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_cancel(&lock->hold, err) : no_lock(err);
}

ilk_status ilk_lock_release(ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_release(&lock->hold, err) : no_lock(err);
}

ilk_status ilk_lock_release_unconfirmed(ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_release_unconfirmed(&lock->hold, err)
                : no_lock(err);
}

ilk_status ilk_lock_extend(ilk_lock *lock, int64_t ttl_ms, ilk_error *err)
{
    return lock ? ilk__hold_extend(&lock->hold, ttl_ms, err) : no_lock(err);
}

ilk_status ilk_lock_check(ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_check(&lock->hold, err) : no_lock(err);
}

ilk_status ilk_lock_detach(ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_detach(&lock->hold, err) : no_lock(err);
}

ilk_status ilk_lock_adopt(ilk_lock *lock, const void *token, size_t token_len,
                          ilk_error *err)
{
    return lock ? ilk__hold_adopt(&lock->hold, token, token_len, err)
                : no_lock(err);
}

/* ---- started ------------------------------------------------------------ */

ilk_status ilk_lock_acquire_start(ilk_op **out, ilk_lock *lock,
                                  int64_t timeout_ms, int64_t ttl_ms,
                                  ilk_error *err)
{
    return lock ? ilk__hold_acquire_start(out, &lock->hold, timeout_ms, ttl_ms,
                                          err)
                : ilk__started_none(out, no_lock(err));
}

ilk_status ilk_lock_release_start(ilk_op **out, ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_release_start(out, &lock->hold, err)
                : ilk__started_none(out, no_lock(err));
}

ilk_status ilk_lock_extend_start(ilk_op **out, ilk_lock *lock, int64_t ttl_ms,
                                 ilk_error *err)
{
    return lock ? ilk__hold_extend_start(out, &lock->hold, ttl_ms, err)
                : ilk__started_none(out, no_lock(err));
}

ilk_status ilk_lock_check_start(ilk_op **out, ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_check_start(out, &lock->hold, err)
                : ilk__started_none(out, no_lock(err));
}

ilk_status ilk_lock_adopt_start(ilk_op **out, ilk_lock *lock, const void *token,
                                size_t token_len, ilk_error *err)
{
    return lock ? ilk__hold_adopt_start(out, &lock->hold, token, token_len, err)
                : ilk__started_none(out, no_lock(err));
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk_lock_remaining_ms(const ilk_lock *lock)
{
    return lock ? ilk__hold_remaining_ms(&lock->hold) : 0;
}

int32_t ilk_lock_held(const ilk_lock *lock)
{
    return lock ? ilk__hold_held(&lock->hold) : 0;
}

int64_t ilk_lock_fence(const ilk_lock *lock)
{
    return lock ? atomic_load(&lock->hold.lease.fence) : 0;
}

const char *ilk_lock_token(const ilk_lock *lock)
{
    return lock ? lock->hold.lease.token : "";
}

const char *ilk_lock_name(const ilk_lock *lock, size_t *out_len)
{
    return ilk__key_name(lock ? &lock->hold.keys[0] : NULL,
                         ilk__lock_key_kinds[0], out_len);
}

int64_t ilk_lock_id(const ilk_lock *lock)
{
    return lock ? lock->hold.id : 0;
}
