/* SPDX-License-Identifier: MIT */
/* barrier_open.c -- a barrier's handle and its options. */
#include "barrier.h"
#include "base/opts.h"
#include "wait/lease.h"

#include <string.h>

enum { KEEP_DEFAULT_MS = 3600 * 1000 };

void ilk_barrier_opts_init(ilk_barrier_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_barrier_opts *out, int64_t parties,
                             const ilk_barrier_opts *in, ilk_error *err)
{
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_barrier_opts", err);

    if (st)
        return st;
    if (parties < 1 || parties > ILK_BARRIER_PARTIES_MAX)
        return ilk__fail(err, ILK_EINVAL, "parties must be 1 to %d, got %lld",
                         ILK_BARRIER_PARTIES_MAX, (long long)parties);
    if (out->keep_ms < 0 || out->keep_ms > ILK__LEASE_MAX_MS)
        return ilk__fail(err, ILK_EINVAL,
                         "keep_ms must be 1 to %lld (0: an hour), got %lld",
                         (long long)ILK__LEASE_MAX_MS, (long long)out->keep_ms);
    if (out->keep_ms == 0)
        out->keep_ms = KEEP_DEFAULT_MS;
    return ILK_OK;
}

ilk_status ilk_barrier_open(ilk_barrier **out, ilk_client *client,
                            const void *name, size_t name_len, int64_t parties,
                            const ilk_barrier_opts *opts, ilk_error *err)
{
    ilk_barrier_opts checked;
    ilk__state *state;
    ilk_barrier *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st == ILK_OK)
        st = check_opts(&checked, parties, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &ilk__barrier_kind, name,
                        name_len, err);
    if (st)
        return st;
    self = (ilk_barrier *)state;
    self->opts = checked;
    self->parties = parties;
    *out = self;
    return ILK_OK;
}

void ilk_barrier_free(ilk_barrier *barrier)
{
    if (!barrier)
        return;
    ilk__state_free(&barrier->state);
}
