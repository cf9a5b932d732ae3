/* SPDX-License-Identifier: MIT */
/*
 * lock_break.c -- an operator takes a lock away from its holder, in either
 * layout.
 *
 * The request tries the plain layout first. ILK_ETYPE means that the key is a
 * hash: it then inspects the lock and sends Redisson's release in the name of
 * the owner that it found.
 */
#include "base/alloc.h"
#include "base/token.h"
#include "client/run.h"
#include "lock.h"

#include <string.h>

typedef struct break_request {
    ilk__request request;
    const void *name, *token; /* borrowed from the caller until it begins */
    size_t name_len, token_len;
    char *only; /* break this token's hold only; NULL: any */
    char breaker[ILK__BREAKER_MAX + 1];
    ilk__inspection found;
    ilk__wait_queue wait_queue;
    ilk__release release;
    ilk_lock *lock; /* a handle in Redisson's layout */
} break_request;

static void end(break_request *self, ilk_status status)
{
    if (status == ILK_ELOST)
        status = ilk__fail(self->request.err, ILK_ENOTOWNER,
                           self->only ? "not held under this token"
                                      : "nobody holds it");
    ilk_lock_free(self->lock);
    ilk_info_free(self->found.info);
    ilk__lock_keys_free(self->found.keys);
    ilk__free(self->only);
    ilk__request_end(&self->request, status);
}

static void broken(ilk__request *request, ilk_status status)
{
    end((break_request *)request, status);
}

/* ---- Redisson's layout -------------------------------------------------- */

static int is_wanted(const break_request *self)
{
    return !self->only
           || (self->token_len == self->release.token_len
               && memcmp(self->only, self->release.token, self->token_len)
                      == 0);
}

/* Release the lock in the name of the owner that inspect found. */
static void found(ilk__request *request, ilk_status status)
{
    break_request *self = (break_request *)request;
    const ilk__bytes *name = &self->found.keys[0];
    ilk_lock_opts opts = {.size = sizeof opts, .layout = ILK_LAYOUT_REDISSON};
    ilk__release *release = &self->release;

    if (status == ILK_OK)
        status = ilk_lock_open(&self->lock, request->client, name->data,
                               name->len, &opts, request->err);
    if (status) {
        end(self, status);
        return;
    }
    *release = (ilk__release){.kind = &ilk__lock_redisson,
                              .breaker = self->breaker,
                              .at = {.wait_queue = &self->lock->hold.wait_queue,
                                     .shared = request->client->shared}};
    release->token = ilk_info_holder(self->found.info, &release->token_len);
    if (ilk_info_get_state(self->found.info) != ILK_INFO_REDISSON
        || !is_wanted(self))
        end(self, ILK_ELOST);
    else
        ilk__hold_send_release(request, self->lock->hold.kind->release, release,
                               broken);
}

static void inspect(break_request *self)
{
    self->found.info = ilk__calloc(1, sizeof *self->found.info);
    if (!self->found.info)
        end(self, ilk__fail(self->request.err, ILK_ENOMEM, "out of memory"));
    else
        ilk__lock_inspect_ask(&self->request, &self->found, found);
}

/* ---- the plain layout --------------------------------------------------- */

static void plain_broken(ilk__request *request, ilk_status status)
{
    if (status == ILK_ETYPE)
        inspect((break_request *)request);
    else
        end((break_request *)request, status);
}

static ilk_status prepare(break_request *self)
{
    ilk__request *request = &self->request;
    ilk_status st = ilk__client_enter(request->client, request->err);

    if (st == ILK_OK)
        st = ilk__hold_breaker(self->breaker, request->client->shared,
                               request->err);
    if (st == ILK_OK)
        st = ilk__lock_keys(self->found.keys, self->name, self->name_len,
                            request->err);
    if (st || !self->token)
        return st;
    self->only = ilk__memdup(self->token, self->token_len);
    if (self->only)
        return ILK_OK;
    ilk__lock_keys_free(self->found.keys);
    return ilk__fail(request->err, ILK_ENOMEM, "out of memory");
}

static void begin(ilk__request *request)
{
    break_request *self = (break_request *)request;
    ilk_status st = prepare(self);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    self->wait_queue = (ilk__wait_queue){.keys = self->found.keys,
                                         .key_count = ILK__LOCK_KEYS,
                                         .refresh = ilk__lock_plain.refresh};
    self->release =
        (ilk__release){.kind = &ilk__lock_plain,
                       .at = {.wait_queue = &self->wait_queue,
                              .shared = request->client->shared},
                       .breaker = self->breaker,
                       .token = self->only ? self->only : "",
                       .token_len = self->only ? self->token_len : 0};
    ilk__hold_send_release(request, &ilk__lock_break_op, &self->release,
                           plain_broken);
}

ilk_status ilk_lock_break(ilk_client *client, const void *name, size_t name_len,
                          const void *token, size_t token_len, ilk_error *err)
{
    break_request self = {.name = name,
                          .name_len = name_len,
                          .token = token,
                          .token_len = token_len};

    return ilk__request_run(&self.request, client, begin, err);
}

ilk_status ilk_lock_break_start(ilk_op **out, ilk_client *client,
                                const void *name, size_t name_len,
                                const void *token, size_t token_len,
                                ilk_error *err)
{
    break_request self = {.name = name,
                          .name_len = name_len,
                          .token = token,
                          .token_len = token_len};

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}
