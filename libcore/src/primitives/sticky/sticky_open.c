/* SPDX-License-Identifier: MIT */
/* sticky_open.c -- an event's handle and its options. */
#include "base/alloc.h"
#include "base/opts.h"
#include "sticky.h"
#include "wait/lease.h"

#include <string.h>

void ilk_sticky_opts_init(ilk_sticky_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_sticky_opts *out, const ilk_sticky_opts *in,
                             ilk_error *err)
{
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_sticky_opts", err);

    if (st == ILK_OK && (out->ttl_ms < 0 || out->ttl_ms > ILK__LEASE_MAX_MS))
        st = ilk__fail(err, ILK_EINVAL,
                       "ttl_ms must be 1 to %lld (0: no end), got %lld",
                       (long long)ILK__LEASE_MAX_MS, (long long)out->ttl_ms);
    return st;
}

ilk_status ilk_sticky_open(ilk_sticky **out, ilk_client *client,
                           const void *name, size_t name_len,
                           const ilk_sticky_opts *opts, ilk_error *err)
{
    ilk_sticky_opts checked;
    ilk__state *state;
    ilk_sticky *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st == ILK_OK)
        st = check_opts(&checked, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &ilk__sticky_kind, name,
                        name_len, err);
    if (st)
        return st;
    self = (ilk_sticky *)state;
    self->opts = checked;
    *out = self;
    return ILK_OK;
}

int32_t ilk_sticky_is_set(const ilk_sticky *sticky)
{
    return sticky ? sticky->is_set : 0;
}

int64_t ilk_sticky_generation(const ilk_sticky *sticky)
{
    return sticky ? sticky->generation : 0;
}

const char *ilk_sticky_data(const ilk_sticky *sticky, size_t *out_len)
{
    int has = sticky && sticky->data;

    if (out_len)
        *out_len = has ? sticky->data_len : 0;
    return has ? sticky->data : "";
}

void ilk_sticky_free(ilk_sticky *sticky)
{
    if (!sticky)
        return;
    ilk__state_forget(&sticky->state);
    ilk__free(sticky->data);
    ilk__state_free(&sticky->state);
}
