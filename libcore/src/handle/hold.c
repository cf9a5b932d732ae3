/* SPDX-License-Identifier: MIT */
/* hold.c -- a hold's handle: options, keys, open and close, enter and leave. */
#include "hold.h"

#include "base/alloc.h"

#include <stddef.h>
#include <string.h>

/* ---- options ------------------------------------------------------------ */

ilk_status ilk__hold_check_ttl(int64_t ttl_ms, ilk_error *err)
{
    return ilk__lease_check_ms("ttl_ms", ttl_ms, err);
}

int64_t ilk__hold_bounded_ttl(const ilk__hold_opts *opts, int64_t ttl_ms)
{
    const int64_t most = opts->max_hold_ms;

    if (!most || ttl_ms <= most)
        return ttl_ms;
    return most > ILK_LEASE_MIN_MS ? most : ILK_LEASE_MIN_MS;
}

ilk_status ilk__hold_check_opts(ilk__hold_opts *opts, ilk_error *err)
{
    ilk_status st;

    if (opts->ttl_ms == 0)
        opts->ttl_ms = ILK__LEASE_DEFAULT_MS;
    if (opts->max_hold_ms < 0 || opts->max_hold_ms > ILK__LEASE_MAX_MS)
        return ilk__fail(
            err, ILK_EINVAL, "max_hold_ms must be 0 to %lld, got %lld",
            (long long)ILK__LEASE_MAX_MS, (long long)opts->max_hold_ms);
    st = ilk__hold_check_ttl(opts->ttl_ms, err);
    opts->ttl_ms = ilk__hold_bounded_ttl(opts, opts->ttl_ms);
    return st;
}

/* ---- the parts that belong to the shared state -------------------------- */

static void give_back(ilk__lease *lease)
{
    ilk__hold_give_back_token(
        (ilk__hold *)((char *)lease - offsetof(ilk__hold, lease)));
}

static ilk_status set_up(ilk__hold *hold, ilk_error *err)
{
    ilk__shared *shared = hold->handle.client->shared;
    size_t count = hold->kind->extend_key_count;
    ilk_status st = ILK_OK;

    if (hold->kind->acquire)
        st = ilk__waiter_init(&hold->waiter, shared, &hold->wait_queue, err);
    if (st)
        return st;
    st = ilk__lease_init(&hold->lease, shared, &hold->kind->lease,
                         count ? hold->extend_keys : hold->keys,
                         count ? count : hold->key_count, hold->id, err);
    hold->lease.user = hold->opts.user;
    hold->lease.give_back = give_back;
    if (hold->kind->key_count)
        hold->lease.name = ilk__key_name(hold->keys, hold->kind->key_kinds[0],
                                         &hold->lease.name_len);
    if (st && hold->kind->acquire)
        ilk__parker_destroy(&hold->waiter.parker);
    return st;
}

static void tear_down(ilk__hold *hold)
{
    ilk__hold_forget_unconfirmed(hold);
    if (hold->kind->acquire)
        ilk__waiter_destroy(&hold->waiter);
    ilk__lease_destroy(&hold->lease);
}

static ilk_status bind(ilk__handle *handle, int *out_in_use, ilk_error *err)
{
    ilk__hold *hold = (ilk__hold *)handle;
    ilk_status st;

    /* No mutex: in a new child no other thread uses the handle. */
    *out_in_use = hold->lease.state != ILK__LEASE_FREE || hold->suspended
                  || hold->waiter.refresher || hold->confirmation;
    memset(&hold->waiter, 0, sizeof hold->waiter);
    memset(&hold->lease, 0, sizeof hold->lease);
    hold->id = ilk__shared_new_id(hold->handle.client->shared);
    hold->depth = 0;
    hold->suspended = 0;
    hold->unconfirmed = NULL; /* belongs to the parent */
    hold->confirmation = NULL;
    hold->was_lost = 0;
    st = set_up(hold, err);
    if (st)
        return st;
    if (hold->kind->bind)
        st = hold->kind->bind(hold, err);
    if (st)
        tear_down(hold);
    return st;
}

ilk_status ilk__hold_bind(ilk__hold *hold, ilk_error *err)
{
    return ilk__handle_bind(&hold->handle, NULL, err);
}

/* ---- handles ------------------------------------------------------------ */

static void set_wait_queue(ilk__hold *hold)
{
    const ilk__hold_kind *kind = hold->kind;

    hold->wait_queue = (ilk__wait_queue){
        .keys = hold->keys,
        .key_count = hold->key_count,
        .acquire = kind->acquire,
        .refresh = kind->refresh,
        .cancel = kind->cancel,
        .kind = kind->waits_as,
        .orphaned = kind->orphaned,
        .barge = kind->barges,
        .foreign_poll_ms = ILK__FOREIGN_POLL_MS,
    };
    for (size_t i = 0; i < kind->extend_key_count; i++)
        hold->extend_keys[i] = hold->keys[kind->extend_keys[i]];
}

static ilk_status make_keys(ilk__hold *hold, const void *name, size_t name_len,
                            ilk_error *err)
{
    const ilk__hold_kind *kind = hold->kind;

    if (!kind->key_count)
        return ILK_OK; /* the primitive has set its own */
    hold->keys = ilk__calloc(kind->key_count, sizeof *hold->keys);
    if (!hold->keys)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    hold->key_count = kind->key_count;
    return ilk__keys_make(hold->keys, kind->key_kinds, kind->key_count, name,
                          name_len, err);
}

static void dispose(ilk__hold *hold)
{
    if (hold->kind->key_count && hold->keys) {
        ilk__keys_free(hold->keys, hold->key_count);
        ilk__free(hold->keys);
    }
    hold->keys = NULL;
    ilk__handle_close(&hold->handle);
}

ilk_status ilk__hold_open(ilk__hold *hold, ilk_client *client,
                          const ilk__hold_kind *kind,
                          const ilk__hold_opts *opts, const void *name,
                          size_t name_len, ilk_error *err)
{
    ilk_status st;

    ilk__handle_init(&hold->handle, client, kind->lease.noun, bind);
    hold->kind = kind;
    hold->opts = *opts;
    st = make_keys(hold, name, name_len, err);
    if (st == ILK_OK)
        st = ilk__client_accept_name(client, name, name_len, err);
    if (st == ILK_OK) {
        set_wait_queue(hold);
        st = ilk__hold_bind(hold, err);
    }
    if (st)
        dispose(hold);
    return st;
}

void ilk__hold_close(ilk__hold *hold)
{
    /* Waits and holds of the parent process are left alone. */
    if (ilk__handle_is_mine(&hold->handle)) {
        ilk__handle_forget(&hold->handle);
        tear_down(hold);
    }
    dispose(hold);
}

/* ---- requests: in and out ----------------------------------------------- */

ilk_status ilk__hold_enter(ilk__hold *hold, ilk_error *err)
{
    return ilk__handle_enter(&hold->handle, err);
}

ilk_status ilk__hold_enter_request(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__hold_enter(hold, err);

    if (st)
        return st;
    if (hold->suspended)
        hold->kind->drop_kept(hold);
    else
        ilk__waiter_end_suspended(&hold->waiter);
    return ILK_OK;
}

void ilk__hold_leave(ilk__hold *hold)
{
    ilk__handle_leave(&hold->handle);
}

void ilk__hold_end(ilk__hold *hold, ilk__request *request, ilk_status status)
{
    ilk__hold_leave(hold);
    ilk__request_end(request, status);
}

ilk__hold *ilk__hold_of(const ilk__waiter *waiter)
{
    return (ilk__hold *)((char *)waiter - offsetof(ilk__hold, waiter));
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk__hold_remaining_ms(const ilk__hold *hold)
{
    return ilk__handle_is_mine(&hold->handle)
               ? ilk__lease_remaining(&hold->lease)
               : 0;
}

int32_t ilk__hold_held(const ilk__hold *hold)
{
    return ilk__hold_remaining_ms(hold) > 0;
}
