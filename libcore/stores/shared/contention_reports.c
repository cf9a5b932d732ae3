/* SPDX-License-Identifier: MIT */
/* contention_reports.c -- the store's reports about a contender. */
#include "contention_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "redis/script.h"

#include <inttypes.h>
#include <stdio.h>

static void hold(ilk__contender *contender, int64_t fence, int64_t ends,
                 int64_t lease_ms)
{
    contender->state = ILK__CONTENDER_HOLDS;
    contender->fence = fence;
    contender->ends = ilk__sooner(ends, ilk__now_ms() + lease_ms);
    ilk__record_of(contender)->is_written = 1;
    ilk__record_of(contender)->adopts = 0;
}

/* There is no request to reply to, so the hold is short at first: the core extends it
 * when it gets the message. */
static void grant(ilk__contender *contender, int64_t fence, int64_t ends)
{
    hold(contender, fence, ends,
         ilk__sooner(contender->lease_ms, contender->grant_ms));
    ilk__contender_plan(contender);
    if (contender->is_queued)
        ilk__send_grant(contender);
}

/* A store that was restored from a copy numbers anew: a guarded resource would refuse
 * all that this holder writes. */
static void refuse_fence(ilk__contender *contender, int64_t fence)
{
    char text[200];

    snprintf(
        text, sizeof text,
        "ILKFENCE the fence %" PRId64 " of %s is not above %" PRId64
        ", which this handle had before: was the data of the store restored?",
        fence, contender->of->contention->store->name, contender->floor);
    ilk__log(ILK__LOG_WARN, "%s", text);
    if (contender->request)
        ilk__reply_failure(contender, text);
    else if (contender->is_queued)
        ilk__send_wake(contender->of->contention, contender->client,
                       contender->waiter, contender->of->key);
    ilk__record_of(contender)->has_lapsed = 1;
    ilk__contender_leave(contender);
}

static int rises(ilk__contender *contender, int64_t fence)
{
    return fence > contender->floor || contender->state == ILK__CONTENDER_HOLDS
           || ilk__record_of(contender)->adopts;
}

static void note_renewal(ilk__contender *contender, int64_t ends)
{
    ilk__gateway_request *request = contender->request;

    if (!request) {
        contender->ends = ilk__sooner(contender->ends, ends);
    } else if (request->script == ILK__SCRIPT_ELECTION_PROCLAIM) {
        ilk__record_of(contender)->is_written = 1;
        contender->request = NULL;
        ilk__gateway_reply(request, ILK__CODE_WRITTEN, "");
    } else {
        contender->ends =
            ilk__sooner(ends, ilk__now_ms() + contender->lease_ms);
        ilk__reply_held(contender);
    }
    ilk__contender_plan(contender);
}

void ilk__contender_granted(ilk__contender *contender, int64_t fence,
                            int64_t ends)
{
    if (contender->state < ILK__CONTENDER_LEAVES && !rises(contender, fence)) {
        refuse_fence(contender, fence);
        return;
    }
    switch (contender->state) {
    case ILK__CONTENDER_JOINS:
        if (contender->request) {
            hold(contender, fence, ends, contender->lease_ms);
            ilk__reply_held(contender);
            ilk__contender_plan(contender);
            break;
        }
        grant(contender, fence, ends);
        break;
    case ILK__CONTENDER_WAITS: grant(contender, fence, ends); break;
    case ILK__CONTENDER_HOLDS: note_renewal(contender, ends); break;
    case ILK__CONTENDER_LEAVES:
    case ILK__CONTENDER_ENDED: break;
    }
}

/* Without a request it stays as it is: the core's request has failed, and a repeated
 * one finds its place. */
void ilk__contender_queued(ilk__contender *contender, int64_t holder_ms,
                           int ours)
{
    if (contender->state != ILK__CONTENDER_JOINS || !contender->request)
        return;
    contender->state = ILK__CONTENDER_WAITS;
    contender->is_queued = 1;
    contender->until = ilk__now_ms() + contender->liveness_ms;
    ilk__reply_waiting(contender, ILK__CODE_QUEUED, holder_ms, ours);
    ilk__contender_plan(contender);
}

/* The reply waits until nothing of the try is at the store: nobody else's try may
 * find it there. */
void ilk__contender_busy(ilk__contender *contender, int64_t holder_ms, int ours)
{
    ilk__contender_record *record = ilk__record_of(contender);

    if (contender->state != ILK__CONTENDER_JOINS || !contender->request)
        return;
    record->is_busy = record->has_lapsed = 1;
    record->holder_ms = holder_ms;
    record->is_holder_ours = ours;
    ilk__contender_leave(contender);
}

void ilk__contender_differs(ilk__contender *contender, int64_t limit,
                            int64_t base)
{
    ilk__gateway_request *request = contender->request;

    if (contender->state != ILK__CONTENDER_JOINS || !request)
        return;
    contender->request = NULL;
    ilk__record_of(contender)->has_lapsed = 1;
    ilk__gateway_reply(request, ILK__CODE_DIFFERS, "ii", limit, base);
    /* At once: its entry must not be granted anything by the next list. */
    ilk__contender_leave(contender);
}

/* The core asks again for a place, with the same token. */
static void lose_place(ilk__contender *contender)
{
    ilk__gateway_request *request = contender->request;

    if (ilk__record_of(contender)->adopts) {
        contender->request = NULL;
        ilk__gateway_reply_lost(request);
        return;
    }
    if (request && contender->waiter.len) {
        contender->is_queued = 1;
        ilk__reply_waiting(contender, ILK__CODE_QUEUED, -1, 1);
    } else if (request) {
        ilk__reply_waiting(contender, ILK__CODE_BUSY, -1, 1);
    }
    if (contender->is_queued)
        ilk__send_wake(contender->of->contention, contender->client,
                       contender->waiter, contender->of->key);
}

void ilk__contender_lost(ilk__contender *contender)
{
    ilk__gateway_request *request = contender->request;

    switch (contender->state) {
    case ILK__CONTENDER_JOINS:
    case ILK__CONTENDER_WAITS: lose_place(contender); break;
    case ILK__CONTENDER_HOLDS:
        contender->request = NULL;
        if (request)
            ilk__gateway_reply_lost(request);
        break;
    case ILK__CONTENDER_LEAVES:
        ilk__contender_left(contender, ILK__LEFT_NO_HOLD);
        return;
    case ILK__CONTENDER_ENDED: return;
    }
    ilk__contender_free(contender);
}

void ilk__contender_left(ilk__contender *contender, ilk__left left)
{
    ilk__gateway_request *request = contender->request;
    ilk__contention *contention;

    if (contender->state != ILK__CONTENDER_LEAVES)
        return;
    if (ilk__record_of(contender)->is_busy) {
        ilk__reply_busy(contender);
        request = NULL;
    }
    contention = contender->of->contention;
    if (ilk__record_of(contender)->has_lapsed)
        left = ILK__LEFT_NO_HOLD;
    contender->request = NULL;
    ilk__contender_end(contender, left);
    if (request && ilk__request_is_acquire(request))
        ilk__contention_call(contention, request);
    else if (request)
        ilk__reply_left(request, left);
}

/* A hold that was not adopted stays its owner's. */
void ilk__contender_failed(ilk__contender *contender, const char *text)
{
    if (contender->state == ILK__CONTENDER_ENDED)
        return;
    if (ilk__record_of(contender)->is_busy)
        ilk__reply_busy(contender);
    else if (contender->request)
        ilk__reply_failure(contender, text);
    if (ilk__record_of(contender)->adopts) {
        ilk__contender_free(contender);
        return;
    }
    if (contender->state == ILK__CONTENDER_JOINS)
        contender->until = ilk__now_ms() + contender->liveness_ms;
    ilk__contender_plan(contender);
}
