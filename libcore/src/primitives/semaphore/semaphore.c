/* SPDX-License-Identifier: MIT */
/* semaphore.c -- the semaphore's handle, its requests, its limit. */
#include "semaphore.h"

#include "base/alloc.h"
#include "base/opts.h"
#include "client/run.h"

#include <stddef.h>
#include <string.h>

/* ---- handles ------------------------------------------------------------ */

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
        .user = out->user,
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
    st = ilk__client_enter_for(client, ILK_OFFER_SEMAPHORE, err);
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
        semaphore->hold.wait_queue.barge = 1;
        semaphore->hold.wait_queue.kind =
            'w'; /* the server wakes it, grants nothing */
        semaphore->hold.wait_queue.orphaned = NULL;
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

/* ---- requests ----------------------------------------------------------- */

static ilk_status no_semaphore(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "semaphore must not be NULL");
}

ilk_status ilk_semaphore_acquire_ttl(ilk_semaphore *semaphore,
                                     int64_t timeout_ms, int64_t ttl_ms,
                                     ilk_error *err)
{
    return semaphore
               ? ilk__hold_acquire(&semaphore->hold, timeout_ms, ttl_ms, err)
               : no_semaphore(err);
}

ilk_status ilk_semaphore_acquire(ilk_semaphore *semaphore, int64_t timeout_ms,
                                 ilk_error *err)
{
    return ilk_semaphore_acquire_ttl(semaphore, timeout_ms, 0, err);
}

ilk_status ilk_semaphore_cancel(ilk_semaphore *semaphore, ilk_error *err)
{
    return semaphore ? ilk__hold_cancel(&semaphore->hold, err)
                     : no_semaphore(err);
}

ilk_status ilk_semaphore_release(ilk_semaphore *semaphore, ilk_error *err)
{
    return semaphore ? ilk__hold_release(&semaphore->hold, err)
                     : no_semaphore(err);
}

ilk_status ilk_semaphore_release_unconfirmed(ilk_semaphore *semaphore,
                                             ilk_error *err)
{
    return semaphore ? ilk__hold_release_unconfirmed(&semaphore->hold, err)
                     : no_semaphore(err);
}

ilk_status ilk_semaphore_extend(ilk_semaphore *semaphore, int64_t ttl_ms,
                                ilk_error *err)
{
    return semaphore ? ilk__hold_extend(&semaphore->hold, ttl_ms, err)
                     : no_semaphore(err);
}

ilk_status ilk_semaphore_check(ilk_semaphore *semaphore, ilk_error *err)
{
    return semaphore ? ilk__hold_check(&semaphore->hold, err)
                     : no_semaphore(err);
}

ilk_status ilk_semaphore_detach(ilk_semaphore *semaphore, ilk_error *err)
{
    return semaphore ? ilk__hold_detach(&semaphore->hold, err)
                     : no_semaphore(err);
}

ilk_status ilk_semaphore_adopt(ilk_semaphore *semaphore, const void *token,
                               size_t token_len, ilk_error *err)
{
    return semaphore ? ilk__hold_adopt(&semaphore->hold, token, token_len, err)
                     : no_semaphore(err);
}

/* ---- started ------------------------------------------------------------ */

ilk_status ilk_semaphore_acquire_start(ilk_op **out, ilk_semaphore *semaphore,
                                       int64_t timeout_ms, int64_t ttl_ms,
                                       ilk_error *err)
{
    return semaphore ? ilk__hold_acquire_start(out, &semaphore->hold,
                                               timeout_ms, ttl_ms, err)
                     : ilk__started_none(out, no_semaphore(err));
}

ilk_status ilk_semaphore_release_start(ilk_op **out, ilk_semaphore *semaphore,
                                       ilk_error *err)
{
    return semaphore ? ilk__hold_release_start(out, &semaphore->hold, err)
                     : ilk__started_none(out, no_semaphore(err));
}

ilk_status ilk_semaphore_extend_start(ilk_op **out, ilk_semaphore *semaphore,
                                      int64_t ttl_ms, ilk_error *err)
{
    return semaphore
               ? ilk__hold_extend_start(out, &semaphore->hold, ttl_ms, err)
               : ilk__started_none(out, no_semaphore(err));
}

ilk_status ilk_semaphore_check_start(ilk_op **out, ilk_semaphore *semaphore,
                                     ilk_error *err)
{
    return semaphore ? ilk__hold_check_start(out, &semaphore->hold, err)
                     : ilk__started_none(out, no_semaphore(err));
}

ilk_status ilk_semaphore_adopt_start(ilk_op **out, ilk_semaphore *semaphore,
                                     const void *token, size_t token_len,
                                     ilk_error *err)
{
    return semaphore ? ilk__hold_adopt_start(out, &semaphore->hold, token,
                                             token_len, err)
                     : ilk__started_none(out, no_semaphore(err));
}

/* ---- the limit ---------------------------------------------------------- */

typedef struct limit_request {
    ilk__request request;
    ilk_semaphore *semaphore;
    int32_t limit, base;
    ilk__release release; /* serves waiters, as a release does */
} limit_request;

static limit_request *limit_request_of(const ilk__op *op)
{
    return (limit_request *)((char *)op->subject
                             - offsetof(limit_request, release));
}

static void ask_limit(ilk__op *op)
{
    const limit_request *self = limit_request_of(op);
    const ilk__wait_queue *wait_queue = self->release.at.wait_queue;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, wait_queue->keys,
                      wait_queue->key_count);
    ilk__command_add_int(command, self->limit);
    ilk__command_add_int(command, self->base);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
}

static ilk__act limited(ilk__op *op, const ilk__reply *reply)
{
    limit_request *self = limit_request_of(op);

    self->release.more = (int)ilk__script_int(reply, 1);
    self->release.denied = (int)ilk__script_int(reply, 2);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type set_limit = {.name = "SEMAPHORE_LIMIT",
                                       .script = ILK__SCRIPT_SEMAPHORE_LIMIT,
                                       .ask = ask_limit,
                                       .reply = limited};

static void limit_set(ilk__request *request, ilk_status status)
{
    const limit_request *self = (limit_request *)request;

    if (status == ILK_EAUTH && self->release.denied)
        ilk__fail(request->err, ILK_EAUTH,
                  "the limit is %d now, but this user may not PUBLISH to "
                  "ilk:inbox:* and the waiters were not notified",
                  (int)self->limit);
    ilk__hold_end(&self->semaphore->hold, request, status);
}

static void begin_set_limit(ilk__request *request)
{
    limit_request *self = (limit_request *)request;
    ilk_semaphore *semaphore = self->semaphore;
    ilk_status st;

    if (self->limit < semaphore->opts.permits
        || self->limit > ILK_SEMAPHORE_MAX) {
        ilk__request_fail(request, ILK_EINVAL,
                          "limit must be %d (this handle's permits) to %d, "
                          "got %d",
                          (int)semaphore->opts.permits, ILK_SEMAPHORE_MAX,
                          (int)self->limit);
        return;
    }
    st = ilk__hold_enter_request(&semaphore->hold, request->err);
    if (st) {
        ilk__request_end(request, st);
        return;
    }
    self->release.at.wait_queue = &semaphore->hold.wait_queue;
    self->release.at.shared = request->client->shared;
    self->base = semaphore->limit;
    ilk__hold_send_release(request, &set_limit, &self->release, limit_set);
}

ilk_status ilk_semaphore_set_limit(ilk_semaphore *semaphore, int32_t limit,
                                   ilk_error *err)
{
    limit_request self = {.request = {.handle = semaphore},
                          .semaphore = semaphore,
                          .limit = limit};

    return semaphore
               ? ilk__request_run(&self.request, semaphore->hold.handle.client,
                                  begin_set_limit, err)
               : no_semaphore(err);
}

ilk_status ilk_semaphore_set_limit_start(ilk_op **out, ilk_semaphore *semaphore,
                                         int32_t limit, ilk_error *err)
{
    limit_request self = {.request = {.handle = semaphore},
                          .semaphore = semaphore,
                          .limit = limit};

    return semaphore ? ilk__request_start(out, &self.request, sizeof self,
                                          semaphore->hold.handle.client,
                                          begin_set_limit, err)
                     : ilk__started_none(out, no_semaphore(err));
}

/* ---- getters ------------------------------------------------------------ */

int64_t ilk_semaphore_remaining_ms(const ilk_semaphore *semaphore)
{
    return semaphore ? ilk__hold_remaining_ms(&semaphore->hold) : 0;
}

int32_t ilk_semaphore_held(const ilk_semaphore *semaphore)
{
    return semaphore ? ilk__hold_held(&semaphore->hold) : 0;
}

int64_t ilk_semaphore_fence(const ilk_semaphore *semaphore)
{
    return semaphore ? atomic_load(&semaphore->hold.lease.fence) : 0;
}

const char *ilk_semaphore_token(const ilk_semaphore *semaphore)
{
    return semaphore ? semaphore->hold.lease.token : "";
}

const char *ilk_semaphore_name(const ilk_semaphore *semaphore, size_t *out_len)
{
    return ilk__key_name(semaphore ? &semaphore->hold.keys[0] : NULL,
                         ilk__semaphore_key_kinds[0], out_len);
}

int64_t ilk_semaphore_id(const ilk_semaphore *semaphore)
{
    return semaphore ? semaphore->hold.id : 0;
}
