/* SPDX-License-Identifier: MIT */
/* hold_verbs.c -- what can be done with a thing that is held. */
#include "clock.h"
#include "hold.h"
#include "run.h"

#include <string.h>

/* ---- giving up ---------------------------------------------------------- */

static ilk_status release(ilk__hold *hold, ilk_error *err)
{
    ilk__giving giving = {
        .kind = hold->kind,
        .hold = hold,
        .line = &hold->line,
        .token = hold->lease.token,
        .token_len = hold->lease.token_len,
        .sure_until = atomic_load(&hold->lease.deadline),
    };
    int lost = atomic_load(&hold->lease.state) == ILK__LEASE_LOST;
    ilk_status st = ilk__lease_check(&hold->lease, err);

    if (st == ILK_OK && hold->depth > 1) {
        hold->depth--;
        return ILK_OK;
    }
    if (st && !lost)
        return st;
    hold->depth = 0;
    ilk__lease_end(&hold->lease);
    /* A lost lease may be there still, when only its renewal failed. */
    st = ilk__hold_give(hold->client, hold->kind->release, &giving, err);
    if (lost && (st == ILK_OK || st == ILK_EUNKNOWN))
        st = ilk__fail(err, ILK_ELOST, "the %s was lost before",
                       hold->kind->lease.noun);
    return st;
}

ilk_status ilk__hold_release(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__hold_enter_verb(hold, err);

    if (st)
        return st;
    st = release(hold, err);
    ilk__hold_leave(hold);
    return st;
}

/* ---- extending ---------------------------------------------------------- */

/* Ask for a lease under the token in the handle, and hold it if granted. */
static ilk_status extend_to(ilk__hold *hold, int64_t ttl_ms, int64_t *fence,
                            ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk_status st;

    ilk__lease_extension(&hold->lease, &extension, ttl_ms);
    st = ilk__ask(hold->client, hold->kind->lease.extend, &extension,
                  hold->client->opts.reply_timeout_ms, err);
    if (st)
        return st;
    *fence = extension.fence;
    ilk__lease_prolong(&hold->lease, asked_at, extension.ttl_ms);
    return ILK_OK;
}

ilk_status ilk__hold_extend(ilk__hold *hold, int64_t ttl_ms, ilk_error *err)
{
    int64_t fence;
    ilk_status st = ilk__hold_enter_verb(hold, err);

    if (st)
        return st;
    if (ttl_ms == 0)
        ttl_ms = hold->opts.ttl_ms;
    st = ilk__hold_check_ttl(ttl_ms, err);
    if (st == ILK_OK)
        st = ilk__lease_check(&hold->lease, err);
    if (st == ILK_OK) {
        st = extend_to(hold, ttl_ms, &fence, err);
        if (st == ILK_ELOST)
            ilk__lease_lose(&hold->lease);
    }
    ilk__hold_leave(hold);
    return st;
}

/* ---- checking ----------------------------------------------------------- */

static ilk_status check(ilk__hold *hold, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms(), lease_ms = 0;
    ilk_status st = ilk__lease_check(&hold->lease, err);

    if (st || ilk__hold_held(hold))
        return st;
    st = hold->kind->look
             ? hold->kind->look(hold, hold->lease.token, &lease_ms, err)
             : ilk__hold_look(hold, hold->lease.token, &lease_ms, err);
    if (st == ILK_OK)
        ilk__lease_prolong(&hold->lease, asked_at, lease_ms);
    else if (st == ILK_ELOST)
        ilk__lease_lose(&hold->lease);
    return st;
}

ilk_status ilk__hold_check(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__hold_enter_verb(hold, err);

    if (st)
        return st;
    st = check(hold, err);
    ilk__hold_leave(hold);
    return st;
}

/* ---- handing over ------------------------------------------------------- */

ilk_status ilk__hold_detach(ilk__hold *hold, ilk_error *err)
{
    ilk_status st = ilk__hold_enter_verb(hold, err);

    if (st)
        return st;
    st = ilk__lease_check(&hold->lease, err);
    if (st == ILK_OK) {
        hold->depth = 0;
        ilk__lease_end(&hold->lease);
    }
    ilk__hold_leave(hold);
    return st;
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

static ilk_status adopt(ilk__hold *hold, const void *token, size_t token_len,
                        ilk_error *err)
{
    ilk__lease *lease = &hold->lease;
    int64_t ttl_ms = hold->opts.ttl_ms;
    int64_t fence = 0;
    ilk_status st = ILK_OK;

    if (!hold->opts.no_renew)
        st = ilk__keeper_start(hold->client->keeper, err);
    if (st)
        return st;
    ilk__lease_end(lease);
    memcpy(lease->token, token, token_len);
    lease->token[token_len] = '\0';
    lease->token_len = token_len;
    st = extend_to(hold, ttl_ms, &fence, err);
    if (st)
        return st;
    atomic_store(&lease->fence, fence);
    ilk__hold_keep(hold, ttl_ms);
    return ILK_OK;
}

ilk_status ilk__hold_adopt(ilk__hold *hold, const void *token, size_t token_len,
                           ilk_error *err)
{
    ilk_status st = ilk__hold_enter_verb(hold, err);

    if (st)
        return st;
    st = check_token(token, token_len, err);
    if (st == ILK_OK && ilk__hold_held(hold))
        st = ilk__fail(err, ILK_EHELD, "the handle holds already");
    if (st == ILK_OK)
        st = adopt(hold, token, token_len, err);
    ilk__hold_leave(hold);
    return st;
}
