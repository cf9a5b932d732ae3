/* SPDX-License-Identifier: MIT */
/* handle.c -- the common part of every handle on a name. */
#include "handle.h"

void ilk__handle_init(ilk__handle *handle, ilk_client *client, const char *noun,
                      ilk__handle_binder *bind)
{
    handle->client = ilk__client_ref(client);
    handle->noun = noun;
    handle->bind = bind;
    handle->era = bind ? client->era - 1 : client->era; /* not bound */
    atomic_init(&handle->busy, 0);
}

ilk_status ilk__handle_bind(ilk__handle *handle, int *out_in_use,
                            ilk_error *err)
{
    int in_use = 0;
    ilk_status st = ILK_OK;

    if (handle->era != handle->client->era) {
        st = handle->bind(handle, &in_use, err);
        if (st == ILK_OK)
            handle->era = handle->client->era;
    }
    if (out_in_use)
        *out_in_use = in_use;
    return st;
}

int ilk__handle_is_mine(const ilk__handle *handle)
{
    return !ilk__client_is_forked(handle->client)
           && handle->era == handle->client->era;
}

/*
 * A handle that is not busy may still be in use by an operation that has left
 * it but has not returned from the loop: wait until the loop is done with it.
 */
void ilk__handle_forget(ilk__handle *handle)
{
    if (!ilk__handle_is_mine(handle))
        return;
    if (atomic_load(&handle->busy))
        ilk__loop_forget(handle->client->loop, handle);
    else
        ilk__loop_let_pass(handle->client->loop);
}

void ilk__handle_close(ilk__handle *handle)
{
    ilk__client_unref(handle->client);
}

/* The client was reopened in a child process. */
static ilk_status bind_again(ilk__handle *handle, ilk_error *err)
{
    int in_use = 1;
    ilk_status st = ILK_OK;

    if (handle->bind)
        st = ilk__handle_bind(handle, &in_use, err);
    if (st == ILK_OK && in_use)
        st = ilk__fail(err, ILK_EFORKED, "the %s belongs to the parent process",
                       handle->noun);
    return st;
}

static ilk_status refuse(const ilk__handle *handle, ilk_error *err)
{
    if (handle->era != handle->client->era)
        return ilk__fail(err, ILK_EFORKED,
                         "the handle belongs to the parent process");
    return ilk__fail(err, ILK_EHELD,
                     "the handle is in use by another thread or task");
}

ilk_status ilk__handle_enter(ilk__handle *handle, ilk_error *err)
{
    int32_t idle = 0;
    ilk_status st = ilk__client_enter(handle->client, err);

    if (st)
        return st;
    if (!atomic_compare_exchange_strong(&handle->busy, &idle, 1))
        return refuse(handle, err);
    if (handle->era == handle->client->era)
        return ILK_OK;
    st = bind_again(handle, err);
    if (st)
        ilk__handle_leave(handle);
    return st;
}

void ilk__handle_leave(ilk__handle *handle)
{
    atomic_store(&handle->busy, 0);
}

ilk_status ilk__handle_check(const ilk__handle *handle, int *out_is_mine,
                             ilk_error *err)
{
    ilk_status st = ilk__client_enter(handle->client, err);

    *out_is_mine = st == ILK_OK && handle->era == handle->client->era;
    return st;
}
