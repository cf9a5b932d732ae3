/* SPDX-License-Identifier: MIT */
/* lock.c -- the lock's policy: acquiring, and what a grant means. */
#include "lock.h"

#include "clock.h"
#include "run.h"

#include <stdio.h>
#include <string.h>

/* ---- verbs: in and out -------------------------------------------------- */

/* The client was reopened after a fork: what was held is the parent's. */
static ilk_status bind_again(ilk_lock *lock, ilk_error *err)
{
    int was_free = lock->lease.state == ILK__LEASE_FREE && !lock->waiter.watch;
    ilk_status st = ilk__lock_bind(lock, err);

    if (st == ILK_OK && !was_free)
        st = ilk__fail(err, ILK_EFORKED, "the lock is the parent process'");
    return st;
}

ilk_status ilk__lock_enter(ilk_lock *lock, ilk_error *err)
{
    ilk_status st;

    if (!lock)
        return ilk__fail(err, ILK_EINVAL, "lock must not be NULL");
    st = ilk__client_enter_handle(lock->client, &lock->busy, lock->era, err);
    if (st || lock->era == lock->client->era)
        return st;
    st = bind_again(lock, err);
    if (st)
        atomic_store(&lock->busy, 0);
    return st;
}

void ilk__lock_leave(ilk_lock *lock)
{
    atomic_store(&lock->busy, 0);
}

/* ---- acquiring ---------------------------------------------------------- */

/* A grant runs short until it is renewed or, without renewal, extended. */
static ilk_status lengthen(ilk_lock *lock, int64_t ttl_ms, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    if (lock->lease.span_ms >= ttl_ms
        || !(lock->opts.flags & ILK_LOCK_NO_RENEW))
        return ILK_OK;
    ilk__lease_extension(&lock->lease, &extension, ttl_ms);
    st = ilk__ask(lock->client, lock->kind->extend, &extension,
                  lock->client->opts.reply_timeout_ms, err);
    if (st == ILK_ELOST)
        return st;
    if (st == ILK_OK)
        ilk__lease_begin(&lock->lease, lock->lease.fence,
                         ilk__lease_deadline(asked_at, extension.ttl_ms),
                         extension.ttl_ms);
    return ILK_OK; /* without an answer: held, for as long as granted */
}

ilk_status ilk__lock_take(ilk_lock *lock, int64_t deadline, int once,
                          int64_t ttl_ms, ilk_error *err)
{
    ilk__waiter *waiter = &lock->waiter;
    ilk__lease *lease = &lock->lease;
    ilk__op op;
    ilk_status st;

    waiter->lease_ms = ttl_ms;
    waiter->floor = lease->fence;
    waiter->once = once;
    ilk__op_init(&op, lock->kind->acquire, waiter, deadline, err);
    st = ilk__run(lock->client, &op, &waiter->parker);
    ilk__op_free(&op);
    if (st)
        return st;
    snprintf(lease->token, sizeof lease->token, "%s",
             ilk__waiter_token(waiter));
    lease->token_len = strlen(lease->token);
    ilk__lease_begin(lease, waiter->fence,
                     ilk__lease_deadline(waiter->began, waiter->granted_ms),
                     waiter->granted_ms);
    return ILK_OK;
}

void ilk__lock_keep(ilk_lock *lock, int64_t ttl_ms)
{
    int renews = !(lock->opts.flags & ILK_LOCK_NO_RENEW);
    int64_t hold_end = lock->opts.max_hold_ms
                           ? ilk__deadline(lock->opts.max_hold_ms)
                           : ILK__FOREVER;

    lock->depth = 1;
    if (renews || lock->client->desk->events_wanted)
        ilk__lease_watch(&lock->lease, ttl_ms, renews, hold_end);
}

static ilk_status acquire(ilk_lock *lock, int64_t timeout_ms, int64_t ttl_ms,
                          ilk_error *err)
{
    const ilk_client_opts *opts = &lock->client->opts;
    int once = timeout_ms == 0;
    int64_t deadline = ilk__deadline(
        once ? opts->connect_timeout_ms + opts->reply_timeout_ms : timeout_ms);
    ilk_status st = ILK_OK;

    if (!(lock->opts.flags & ILK_LOCK_NO_RENEW))
        st = ilk__keeper_start(lock->client->keeper, err);
    while (st == ILK_OK) {
        st = ilk__lock_take(lock, deadline, once, ttl_ms, err);
        if (st)
            return st;
        st = lengthen(lock, ttl_ms, err);
        if (st == ILK_OK) {
            ilk__lock_keep(lock, ttl_ms);
            return ILK_OK;
        }
        ilk__lease_end(&lock->lease); /* gone before it was ours: again */
        st = once ? ILK_EBUSY : ILK_OK;
    }
    return st;
}

ilk_status ilk_lock_acquire_ttl(ilk_lock *lock, int64_t timeout_ms,
                                int64_t ttl_ms, ilk_error *err)
{
    ilk_status st = ilk__lock_enter(lock, err);

    if (st)
        return st;
    if (ttl_ms == 0)
        ttl_ms = lock->opts.ttl_ms;
    st = ilk__lock_check_ttl(ttl_ms, err);
    if (st == ILK_OK && ilk_lock_held(lock)) {
        if (lock->opts.flags & ILK_LOCK_REENTRANT)
            lock->depth++;
        else
            st = ilk__fail(err, ILK_EHELD, "the handle holds already");
    } else if (st == ILK_OK) {
        ilk__lease_end(&lock->lease);
        st = acquire(lock, timeout_ms, ttl_ms, err);
    }
    ilk__lock_leave(lock);
    return st;
}

ilk_status ilk_lock_acquire(ilk_lock *lock, int64_t timeout_ms, ilk_error *err)
{
    return ilk_lock_acquire_ttl(lock, timeout_ms, 0, err);
}

ilk_status ilk_lock_cancel(ilk_lock *lock, ilk_error *err)
{
    ilk_status st;

    if (!lock)
        return ilk__fail(err, ILK_EINVAL, "lock must not be NULL");
    st = ilk__client_enter(lock->client, err);
    if (st == ILK_OK && lock->era == lock->client->era)
        ilk__waiter_cancel(&lock->waiter);
    return st;
}

void ilk__lock_unclaimed(ilk__desk *desk, char kind, const char *token,
                         const char *name, size_t name_len)
{
    const ilk__lock_kind *of =
        kind == 'r' ? &ilk__lock_reader : &ilk__lock_plain;
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk__line line = {
        .keys = keys, .key_count = ILK__LOCK_KEYS, .cancel = of->cancel};

    if (ilk__lock_keys(keys, name, name_len, NULL))
        return;
    ilk__give_back(desk, &line, "", 0, token);
    ilk__lock_keys_free(keys);
}

/* ---- getters ------------------------------------------------------------ */

static int is_mine(const ilk_lock *lock)
{
    return lock && !ilk__client_is_forked(lock->client)
           && lock->era == lock->client->era;
}

int64_t ilk_lock_remaining_ms(const ilk_lock *lock)
{
    return is_mine(lock) ? ilk__lease_remaining(&lock->lease) : 0;
}

int32_t ilk_lock_held(const ilk_lock *lock)
{
    return ilk_lock_remaining_ms(lock) > 0;
}

int64_t ilk_lock_fence(const ilk_lock *lock)
{
    return lock ? atomic_load(&lock->lease.fence) : 0;
}

const char *ilk_lock_token(const ilk_lock *lock)
{
    return lock ? lock->lease.token : "";
}

int64_t ilk_lock_id(const ilk_lock *lock)
{
    return lock ? lock->id : 0;
}
