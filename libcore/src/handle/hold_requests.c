/* SPDX-License-Identifier: MIT */
/* hold_requests.c -- a holder's requests: release, extend, check, hand over. */
#include "base/clock.h"
#include "client/run.h"
#include "hold.h"

#include <string.h>

/* ---- release ------------------------------------------------------------ */

typedef struct release_request {
    ilk__request request;
    ilk__hold *hold;
    ilk__release release;
    int lost;
} release_request;

/* ILK_ECLOSED: a started release was dropped, perhaps before it was sent. That, or its
 * early end in an outage: the lease has ended here, so the keeper releases by the
 * token. */
static void released(ilk__request *request, ilk_status status)
{
    const release_request *self = (release_request *)request;
    ilk__shared *shared = request->client->shared;

    if ((status == ILK_ECLOSED || request->op->ended_early)
        && !self->hold->waiter.fixed_token) {
        ilk__shared_lock(shared);
        if (!shared->closed)
            ilk__hold_give_back_token(self->hold);
        ilk__shared_unlock(shared);
    }
    if (self->lost && (status == ILK_OK || status == ILK_EUNKNOWN)) {
        status =
            ilk__lease_fail_lost(&self->hold->lease, " before", request->err);
    } else if (status == ILK_ELOST) {
        if (!self->lost)
            ilk__lease_was_lost(&self->hold->lease, &self->release.evidence,
                                self->release.sure_until);
        status =
            ilk__lease_fail_lost(&self->hold->lease, " before", request->err);
    }
    ilk__hold_end(self->hold, request, status);
}

static void release(release_request *self)
{
    ilk__hold *hold = self->hold;

    self->release =
        (ilk__release){.at = {.wait_queue = &hold->wait_queue,
                              .shared = hold->handle.client->shared},
                       .kind = hold->kind,
                       .hold = hold,
                       .token = hold->lease.token,
                       .token_len = hold->lease.token_len,
                       .sure_until = atomic_load(&hold->lease.deadline),
                       .fence = atomic_load(&hold->lease.fence)};
    hold->depth = 0;
    ilk__lease_end(&hold->lease);
    ilk__hold_send_release(&self->request, hold->kind->release, &self->release,
                           released);
}

/* A LOST lease is released too: when only the renewal failed, the server still
   has it, and others would wait for its end. */
static void begin_release(ilk__request *request)
{
    release_request *self = (release_request *)request;
    ilk__hold *hold = self->hold;
    ilk_status st = ilk__hold_enter_request(hold, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    self->lost = atomic_load(&hold->lease.state) == ILK__LEASE_LOST;
    st = ilk__lease_check(&hold->lease, request->err);
    if (st == ILK_OK && hold->depth > 1) {
        hold->depth--;
        ilk__hold_end(hold, request, ILK_OK);
    } else if (st && !self->lost) {
        ilk__hold_end(hold, request, st);
    } else {
        release(self);
    }
}

ilk_status ilk__hold_release(ilk__hold *hold, ilk_error *err)
{
    release_request self = {.request = {.handle = hold}, .hold = hold};

    return ilk__request_run(&self.request, hold->handle.client, begin_release,
                            err);
}

ilk_status ilk__hold_release_start(ilk_op **out, ilk__hold *hold,
                                   ilk_error *err)
{
    release_request self = {.request = {.handle = hold}, .hold = hold};

    return ilk__request_start(out, &self.request, sizeof self,
                              hold->handle.client, begin_release, err);
}

static ilk_status release_unconfirmed(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__lease_check(&hold->lease, err);

    if (st)
        return st;
    if (hold->depth > 1) {
        hold->depth--;
        return ILK_OK;
    }
    return ilk__hold_post_release(hold, err);
}

ilk_status ilk__hold_release_unconfirmed(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__hold_enter_request(hold, err);

    if (st)
        return st;
    st = release_unconfirmed(hold, err);
    ilk__hold_leave(hold);
    return st;
}

/* ---- extend ------------------------------------------------------------- */

typedef struct extend_request {
    ilk__request request;
    ilk__hold *hold;
    int64_t ttl_ms;    /* 0: the options' ttl_ms */
    const void *token; /* adopt: borrowed from the caller until it begins */
    size_t token_len;
    int64_t sent_at;    /* adopt */
    ilk__lease_way way; /* extend */
    ilk__lease_change change;
    ilk__extension extension;
} extend_request;

/* Extend the lease of the token in the handle; `renews`: never shorten it. */
static void extend(extend_request *self, int renews, ilk__request_then *then)
{
    ilk__hold *hold = self->hold;

    ilk__lease_extension(&hold->lease, &self->extension, self->ttl_ms, renews);
    ilk__request_ask(&self->request, hold->kind->lease.extend, &self->extension,
                     ilk__request_patience(&self->request), then);
}

static int in_order(const ilk_client *client, ilk__lease_way way)
{
    return way == ILK__LEASE_BY_LOOP ? ilk__loop_in_order(client->loop)
                                     : ilk__lanes_in_order(client->lanes);
}

/* ILK_ENOQUORUM: too few nodes of a quorum have replied, but all of them may
 * have executed the extend. */
ilk__lease_outcome ilk__extend_outcome(const ilk__request *request,
                                       ilk__lease_way way, ilk_status status,
                                       const ilk__extension *extension)
{
    return (ilk__lease_outcome){
        .status = status,
        .lease_ms = extension->ttl_ms,
        .may_have_run =
            ilk__op_may_have_run(request->op) || status == ILK_ENOQUORUM,
        .in_order = in_order(request->client, way),
        .evidence = &extension->evidence,
    };
}

static void extended(ilk__request *request, ilk_status status)
{
    extend_request *self = (extend_request *)request;
    const ilk__lease_outcome outcome =
        ilk__extend_outcome(request, self->way, status, &self->extension);

    status = ilk__lease_change_end(&self->hold->lease, &self->change, &outcome,
                                   request->err);
    ilk__hold_end(self->hold, request, status);
}

static void begin_extend(ilk__request *request)
{
    extend_request *self = (extend_request *)request;
    ilk__hold *hold = self->hold;
    ilk_status st = ilk__hold_enter_request(hold, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    if (self->ttl_ms == 0)
        self->ttl_ms = hold->opts.ttl_ms;
    st = ilk__hold_check_ttl(self->ttl_ms, request->err);
    if (st == ILK_OK)
        st = ilk__lease_check(&hold->lease, request->err);
    if (st) {
        ilk__hold_end(hold, request, st);
        return;
    }
    ilk__lease_change_begin(&hold->lease, &self->change, self->way,
                            self->ttl_ms);
    extend(self, 0, extended);
}

ilk_status ilk__hold_extend(ilk__hold *hold, int64_t ttl_ms, ilk_error *err)
{
    extend_request self = {
        .request = {.handle = hold}, .hold = hold, .ttl_ms = ttl_ms};

    return ilk__request_run(&self.request, hold->handle.client, begin_extend,
                            err);
}

ilk_status ilk__hold_extend_start(ilk_op **out, ilk__hold *hold, int64_t ttl_ms,
                                  ilk_error *err)
{
    extend_request self = {.request = {.handle = hold},
                           .hold = hold,
                           .ttl_ms = ttl_ms,
                           .way = ILK__LEASE_BY_LOOP};

    return ilk__request_start(out, &self.request, sizeof self,
                              hold->handle.client, begin_extend, err);
}

/* ---- check -------------------------------------------------------------- */

typedef struct check_request {
    ilk__request request;
    ilk__hold *hold;
    int64_t sent_at;
    ilk__probe probe;
} check_request;

/* The server's reply was LOST. */
static ilk_status lost(ilk__hold *hold, const ilk__evidence *evidence,
                       ilk_error *err)
{
    ilk__lease_lose(&hold->lease, evidence);
    return ilk__lease_fail_lost(&hold->lease, "", err);
}

static void probed(ilk__request *request, ilk_status status)
{
    check_request *self = (check_request *)request;

    if (status == ILK_OK
        && !ilk__lease_prolong(&self->hold->lease, self->sent_at,
                               self->probe.lease_ms))
        status = ilk__lease_check(&self->hold->lease, request->err);
    else if (status == ILK_ELOST)
        status = lost(self->hold, NULL, request->err);
    ilk__hold_end(self->hold, request, status);
}

static void begin_check(ilk__request *request)
{
    check_request *self = (check_request *)request;
    ilk__hold *hold = self->hold;
    ilk_status st = ilk__hold_enter_request(hold, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    st = ilk__lease_check(&hold->lease, request->err);
    if (st || ilk__hold_held(hold)) {
        ilk__hold_end(hold, request, st);
        return;
    }
    self->sent_at = ilk__now_ms();
    self->probe.hold = hold;
    if (hold->kind->probe)
        hold->kind->probe(request, &self->probe, probed);
    else
        ilk__hold_probe(request, &self->probe, hold, probed);
}

ilk_status ilk__hold_check(ilk__hold *hold, ilk_error *err)
{
    check_request self = {.request = {.handle = hold}, .hold = hold};

    return ilk__request_run(&self.request, hold->handle.client, begin_check,
                            err);
}

ilk_status ilk__hold_check_start(ilk_op **out, ilk__hold *hold, ilk_error *err)
{
    check_request self = {.request = {.handle = hold}, .hold = hold};

    return ilk__request_start(out, &self.request, sizeof self,
                              hold->handle.client, begin_check, err);
}

/* ---- detach and adopt --------------------------------------------------- */

/* Enter the handle for a hold that outlives its client, if the store keeps those. */
static ilk_status enter_to_transfer(extend_request *self)
{
    const ilk_client *client = self->hold->handle.client;
    ilk_error *err = self->request.err;
    ilk_status st = ilk__hold_enter_request(self->hold, err);

    if (st || ilk_client_offers(client, ILK_OFFER_DETACH))
        return st;
    ilk__hold_leave(self->hold);
    return ilk__fail(err, ILK_EUNSUPPORTED,
                     "%s keeps no detached holds: they end with their client",
                     client->backend->store);
}

/* 1: an extend may still be executed late, and no command on the lane can rule
   that out. */
static int is_in_doubt_for_good(const ilk__hold *hold)
{
    return ilk__lease_in_doubt(&hold->lease, ILK__LEASE_BY_LOOP)
           || (ilk__lease_in_doubt(&hold->lease, ILK__LEASE_BY_CALLER)
               && !ilk__lanes_in_order(hold->handle.client->lanes));
}

static ilk_status fail_in_doubt(ilk_error *err)
{
    return ilk__fail(err, ILK_EUNKNOWN,
                     "an extend has no reply and may be executed late");
}

static void detached(ilk__request *request, ilk_status status)
{
    extend_request *self = (extend_request *)request;
    ilk__hold *hold = self->hold;

    if (status == ILK_OK && is_in_doubt_for_good(hold))
        status = fail_in_doubt(request->err);
    else if (status == ILK_OK)
        status = ilk__lease_detach(&hold->lease, request->err);
    else if (status == ILK_ELOST)
        status = lost(hold, &self->extension.evidence, request->err);
    if (status == ILK_OK) {
        hold->depth = 0;
        ilk__detached_token_add(request->client->shared, hold->lease.token);
    }
    ilk__hold_end(hold, request, status);
}

/*
 * After another process has adopted the token, no late extend of ours may be
 * executed. If an extend was given up without a reply, a renewal by 1 ms is
 * sent, which never shortens the lease. The server executes it after the
 * extend, on the same connection or on one that replaced it, so its reply
 * proves that the extend is done.
 */
static void begin_detach(ilk__request *request)
{
    extend_request *self = (extend_request *)request;
    ilk__hold *hold = self->hold;
    ilk_status st = enter_to_transfer(self);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    st = ilk__lease_check(&hold->lease, request->err);
    if (st == ILK_OK && is_in_doubt_for_good(hold))
        st = fail_in_doubt(request->err);
    if (st) {
        ilk__hold_end(hold, request, st);
    } else if (ilk__lease_in_doubt(&hold->lease, ILK__LEASE_BY_CALLER)) {
        self->ttl_ms = 1;
        extend(self, 1, detached);
    } else {
        detached(request, ILK_OK);
    }
}

ilk_status ilk__hold_detach(ilk__hold *hold, ilk_error *err)
{
    extend_request self = {.request = {.handle = hold}, .hold = hold};

    return ilk__request_run(&self.request, hold->handle.client, begin_detach,
                            err);
}

static ilk_status check_token(const void *token, size_t len, ilk_error *err)
{
    if (!token || len == 0 || len > ILK__TOKEN_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "token must have 1 to %d bytes, got %zu",
                         ILK__TOKEN_MAX, token ? len : 0);
    if (memchr(token, '\0', len))
        return ilk__fail(err, ILK_EINVAL, "token must not contain NUL");
    return ILK_OK;
}

static void adopted(ilk__request *request, ilk_status status)
{
    extend_request *self = (extend_request *)request;
    ilk__hold *hold = self->hold;

    if (status == ILK_OK) {
        ilk__lease_begin(
            &hold->lease, self->extension.fence,
            ilk__lease_deadline(self->sent_at, self->extension.ttl_ms),
            self->extension.ttl_ms);
        ilk__hold_keep(hold, self->ttl_ms);
    }
    ilk__hold_end(hold, request, status);
}

static ilk_status prepare_adopt(extend_request *self, ilk_error *err)
{
    ilk__hold *hold = self->hold;
    ilk__lease *lease = &hold->lease;
    ilk_status st = check_token(self->token, self->token_len, err);

    if (st == ILK_OK && ilk__hold_held(hold))
        st = ilk__fail(err, ILK_EHELD, "the handle holds already");
    if (st == ILK_OK && !hold->opts.no_renew)
        st = ilk__keeper_start(hold->handle.client->keeper, err);
    if (st)
        return st;
    ilk__lease_end(lease);
    memcpy(lease->token, self->token, self->token_len);
    lease->token[self->token_len] = '\0';
    lease->token_len = self->token_len;
    self->ttl_ms = hold->opts.ttl_ms;
    return ILK_OK;
}

static void begin_adopt(ilk__request *request)
{
    extend_request *self = (extend_request *)request;
    ilk_status st = enter_to_transfer(self);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    st = prepare_adopt(self, request->err);
    if (st)
        ilk__hold_end(self->hold, request, st);
    else {
        self->sent_at = ilk__now_ms();
        extend(self, 1, adopted);
    }
}

ilk_status ilk__hold_adopt(ilk__hold *hold, const void *token, size_t token_len,
                           ilk_error *err)
{
    extend_request self = {.request = {.handle = hold},
                           .hold = hold,
                           .token = token,
                           .token_len = token_len};

    return ilk__request_run(&self.request, hold->handle.client, begin_adopt,
                            err);
}

ilk_status ilk__hold_adopt_start(ilk_op **out, ilk__hold *hold,
                                 const void *token, size_t token_len,
                                 ilk_error *err)
{
    extend_request self = {.request = {.handle = hold},
                           .hold = hold,
                           .token = token,
                           .token_len = token_len};

    return ilk__request_start(out, &self.request, sizeof self,
                              hold->handle.client, begin_adopt, err);
}
