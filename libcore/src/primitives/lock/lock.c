/* SPDX-License-Identifier: MIT */
/* lock.c -- the lock's verbs. */
#include "lock.h"

static ilk_status no_lock(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "lock must not be NULL");
}

/* ---- verbs -------------------------------------------------------------- */

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
                : ilk__op_none(out, no_lock(err));
}

ilk_status ilk_lock_release_start(ilk_op **out, ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_release_start(out, &lock->hold, err)
                : ilk__op_none(out, no_lock(err));
}

ilk_status ilk_lock_extend_start(ilk_op **out, ilk_lock *lock, int64_t ttl_ms,
                                 ilk_error *err)
{
    return lock ? ilk__hold_extend_start(out, &lock->hold, ttl_ms, err)
                : ilk__op_none(out, no_lock(err));
}

ilk_status ilk_lock_check_start(ilk_op **out, ilk_lock *lock, ilk_error *err)
{
    return lock ? ilk__hold_check_start(out, &lock->hold, err)
                : ilk__op_none(out, no_lock(err));
}

ilk_status ilk_lock_adopt_start(ilk_op **out, ilk_lock *lock, const void *token,
                                size_t token_len, ilk_error *err)
{
    return lock ? ilk__hold_adopt_start(out, &lock->hold, token, token_len, err)
                : ilk__op_none(out, no_lock(err));
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

int64_t ilk_lock_id(const ilk_lock *lock)
{
    return lock ? lock->hold.id : 0;
}
