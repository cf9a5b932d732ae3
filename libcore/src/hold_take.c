/* SPDX-License-Identifier: MIT */
/* hold_take.c -- from standing in line to a lease that is looked after. */
#include "clock.h"
#include "hold.h"
#include "run.h"

#include <stdio.h>
#include <string.h>

ilk_status ilk__hold_take(ilk__hold *hold, int64_t deadline, int once,
                          int64_t ttl_ms, ilk_error *err)
{
    ilk__waiter *waiter = &hold->waiter;
    ilk__lease *lease = &hold->lease;
    ilk__op op;
    ilk_status st;

    waiter->lease_ms = ttl_ms;
    waiter->floor = lease->fence;
    waiter->once = once;
    ilk__op_init(&op, hold->kind->acquire, waiter, deadline, err);
    st = ilk__run(hold->client, &op, &waiter->parker);
    ilk__op_free(&op);
    if (st)
        return st;
    snprintf(lease->token, sizeof lease->token, "%s",
             ilk__waiter_token(waiter));
    lease->token_len = strlen(lease->token);
    ilk__lease_begin(lease, waiter->fence,
                     ilk__lease_deadline(waiter->began, waiter->granted_ms),
                     waiter->granted_ms);
    return ILK_OK;
}

/* A grant runs short until it is renewed or, without renewal, extended. */
static ilk_status lengthen(ilk__hold *hold, int64_t ttl_ms, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    if (hold->lease.span_ms >= ttl_ms || !hold->opts.no_renew)
        return ILK_OK;
    ilk__lease_extension(&hold->lease, &extension, ttl_ms);
    st = ilk__ask(hold->client, hold->kind->lease.extend, &extension,
                  hold->client->opts.reply_timeout_ms, err);
    if (st == ILK_ELOST)
        return st;
    if (st == ILK_OK)
        ilk__lease_begin(&hold->lease, hold->lease.fence,
                         ilk__lease_deadline(asked_at, extension.ttl_ms),
                         extension.ttl_ms);
    return ILK_OK; /* without an answer: held, for as long as granted */
}

void ilk__hold_keep(ilk__hold *hold, int64_t ttl_ms)
{
    int renews = !hold->opts.no_renew;
    int64_t hold_end = hold->opts.max_hold_ms
                           ? ilk__deadline(hold->opts.max_hold_ms)
                           : ILK__FOREVER;

    hold->depth = 1;
    if (renews || hold->client->desk->events_wanted)
        ilk__lease_watch(&hold->lease, ttl_ms, renews, hold_end);
}

static ilk_status acquire(ilk__hold *hold, int64_t timeout_ms, int64_t ttl_ms,
                          ilk_error *err)
{
    const ilk_client_opts *opts = &hold->client->opts;
    int once = timeout_ms == 0;
    int64_t deadline = ilk__deadline(
        once ? opts->connect_timeout_ms + opts->reply_timeout_ms : timeout_ms);
    ilk_status st = ILK_OK;

    if (!hold->opts.no_renew)
        st = ilk__keeper_start(hold->client->keeper, err);
    while (st == ILK_OK) {
        st = hold->kind->take
                 ? hold->kind->take(hold, deadline, once, ttl_ms, err)
                 : ilk__hold_take(hold, deadline, once, ttl_ms, err);
        if (st)
            return st;
        st = lengthen(hold, ttl_ms, err);
        if (st == ILK_OK) {
            ilk__hold_keep(hold, ttl_ms);
            return ILK_OK;
        }
        ilk__lease_end(&hold->lease); /* gone before it was ours: again */
        st = once ? ILK_EBUSY : ILK_OK;
    }
    return st;
}

ilk_status ilk__hold_acquire(ilk__hold *hold, int64_t timeout_ms,
                             int64_t ttl_ms, ilk_error *err)
{
    ilk_status st = ilk__hold_enter(hold, err);

    if (st)
        return st;
    if (ttl_ms == 0)
        ttl_ms = hold->opts.ttl_ms;
    st = ilk__hold_check_ttl(ttl_ms, err);
    if (st == ILK_OK && ilk__hold_held(hold)) {
        if (hold->opts.reentrant)
            hold->depth++;
        else
            st = ilk__fail(err, ILK_EHELD, "the handle holds already");
    } else if (st == ILK_OK) {
        ilk__lease_end(&hold->lease);
        st = acquire(hold, timeout_ms, ttl_ms, err);
    }
    ilk__hold_leave(hold);
    return st;
}

ilk_status ilk__hold_cancel(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__client_enter(hold->client, err);

    if (st == ILK_OK && hold->era == hold->client->era)
        ilk__waiter_cancel(&hold->waiter);
    return st;
}
