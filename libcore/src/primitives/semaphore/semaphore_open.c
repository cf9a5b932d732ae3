/* SPDX-License-Identifier: MIT */
/* semaphore_open.c -- a semaphore's handle: its limit and its options. */
#include "base/alloc.h"
#include "base/opts.h"
#include "semaphore.h"

#include <string.h>

void ilk_semaphore_opts_init(ilk_semaphore_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_semaphore_opts *out, ilk__hold_opts *hold,
                             const ilk_semaphore_opts *in, int32_t limit,
                             ilk_error *err)
{
    const uint32_t known = ILK_SEMAPHORE_NO_RENEW | ILK_SEMAPHORE_BARGE;
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_semaphore_opts", err);

    if (st)
        return st;
    if (out->permits == 0)
        out->permits = 1;
    if (limit < 1 || limit > ILK_SEMAPHORE_MAX)
        return ilk__fail(err, ILK_EINVAL, "limit must be 1 to %d, got %d",
                         ILK_SEMAPHORE_MAX, (int)limit);
    if (out->permits < 0 || out->permits > limit)
        return ilk__fail(err, ILK_EINVAL,
                         "permits must be 1 to the limit of %d, got %d",
                         (int)limit, (int)out->permits);
    if (out->flags & ~known)
        return ilk__fail(err, ILK_EINVAL, "unknown semaphore flags 0x%x",
                         (unsigned)out->flags);
    *hold = (ilk__hold_opts){
        .ttl_ms = out->ttl_ms,
        .max_hold_ms = out->max_hold_ms,
        .no_renew = (out->flags & ILK_SEMAPHORE_NO_RENEW) != 0,
    };
    return ilk__hold_check_opts(hold, err);
}

ilk_status ilk_semaphore_open(ilk_semaphore **out, ilk_client *client,
                              const void *name, size_t name_len, int32_t limit,
                              const ilk_semaphore_opts *opts, ilk_error *err)
{
    ilk_semaphore *semaphore;
    ilk__hold_opts hold;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    semaphore = ilk__calloc(1, sizeof *semaphore);
    if (!semaphore)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    semaphore->limit = limit;
    st = check_opts(&semaphore->opts, &hold, opts, limit, err);
    if (st == ILK_OK)
        st = ilk__hold_open(&semaphore->hold, client, &ilk__semaphore_kind,
                            &hold, name, name_len, err);
    if (st) {
        ilk__free(semaphore);
        return st;
    }
    if (semaphore->opts.flags & ILK_SEMAPHORE_BARGE) {
        semaphore->hold.line.barge = 1;
        semaphore->hold.line.kind = 'w'; /* is woken, never granted */
        semaphore->hold.line.unclaimed = NULL;
    }
    *out = semaphore;
    return ILK_OK;
}

void ilk_semaphore_free(ilk_semaphore *semaphore)
{
    if (!semaphore)
        return;
    ilk__hold_close(&semaphore->hold);
    ilk__free(semaphore);
}
