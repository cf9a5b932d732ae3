/* SPDX-License-Identifier: MIT */
/* latch_open.c -- a latch's handle and its options. */
#include "base/opts.h"
#include "latch.h"
#include "wait/lease.h"

#include <string.h>

enum { KEEP_DEFAULT_MS = 24 * 3600 * 1000 };

void ilk_latch_opts_init(ilk_latch_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_latch_opts *out, int64_t count,
                             const ilk_latch_opts *in, ilk_error *err)
{
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_latch_opts", err);

    if (st)
        return st;
    if (count < 1 || count > ILK_LATCH_COUNT_MAX)
        return ilk__fail(err, ILK_EINVAL, "count must be 1 to %d, got %lld",
                         ILK_LATCH_COUNT_MAX, (long long)count);
    if (out->keep_ms < 0 || out->keep_ms > ILK__LEASE_MAX_MS)
        return ilk__fail(err, ILK_EINVAL,
                         "keep_ms must be 1 to %lld (0: a day), got %lld",
                         (long long)ILK__LEASE_MAX_MS, (long long)out->keep_ms);
    if (out->keep_ms == 0)
        out->keep_ms = KEEP_DEFAULT_MS;
    return ILK_OK;
}

ilk_status ilk_latch_open(ilk_latch **out, ilk_client *client, const void *name,
                          size_t name_len, int64_t count,
                          const ilk_latch_opts *opts, ilk_error *err)
{
    ilk_latch_opts checked;
    ilk__state *state;
    ilk_latch *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st == ILK_OK)
        st = check_opts(&checked, count, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &ilk__latch_kind, name,
                        name_len, err);
    if (st)
        return st;
    self = (ilk_latch *)state;
    self->opts = checked;
    self->count = count;
    *out = self;
    return ILK_OK;
}

void ilk_latch_free(ilk_latch *latch)
{
    if (!latch)
        return;
    ilk__state_free(&latch->state);
}
