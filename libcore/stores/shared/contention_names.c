/* SPDX-License-Identifier: MIT */
/*
 * contention_names.c -- the requests about a name: each becomes a call of the store,
 * and its report the reply. Refreshes share a check: those that come while one is
 * under way are for the next.
 */
#include "contention_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "redis/script.h"

static ilk__name_record *record_of(ilk__contended *name)
{
    return (ilk__name_record *)name;
}

/* ---- requests under way -------------------------------------------------- */

ilk__name_request *ilk__name_keep_request(ilk__name_record *name,
                                          ilk__gateway_request *request)
{
    ilk__name_request *one = ilk__calloc(1, sizeof *one);

    if (!one) {
        ilk__gateway_break(request);
        return NULL;
    }
    one->request = request;
    one->next = name->requests;
    name->requests = one;
    return one;
}

/* 0: the store has reported it before. */
static int end_request(ilk__name_record *name,
                       const ilk__gateway_request *request)
{
    for (ilk__name_request **link = &name->requests; *link;
         link = &(*link)->next)
        if ((*link)->request == request) {
            ilk__name_request *one = *link;

            *link = one->next;
            ilk__free(one);
            return 1;
        }
    return 0;
}

void ilk__name_break_requests(ilk__name_record *name)
{
    while (name->requests) {
        ilk__name_request *one = name->requests;

        name->requests = one->next;
        ilk__gateway_break(one->request);
        ilk__free(one);
    }
}

/* ---- refresh ------------------------------------------------------------- */

static void begin_check(ilk__name_record *name)
{
    const ilk__contention *contention = name->seen.contention;

    for (ilk__name_request *one = name->requests; one; one = one->next) {
        one->is_in_check = one->is_refresh;
        if (one->is_refresh)
            name->check = one->request;
    }
    if (name->check)
        contention->store->check(contention->self, &name->seen, name->check);
}

/* The client of these entries is alive, so their waits go on. */
static void prolong_waits(const ilk__contention *contention,
                          const ilk__gateway_request *request,
                          int64_t liveness_ms)
{
    int64_t until = ilk__now_ms() + liveness_ms;

    for (size_t i = ILK__REFRESH_ENTRIES; i < request->arg_count; i++) {
        const ilk__bytes entry = ilk__gateway_arg(request, i);
        ilk__contender *contender = ilk__contender_find(
            contention, ilk__request_entry_word(entry, ILK__ENTRY_TOKEN));

        if (!contender || contender->state != ILK__CONTENDER_WAITS)
            continue;
        contender->until = until;
        ilk__contender_plan(contender);
    }
}

/* -1 after a reply. */
static int64_t read_liveness(ilk__gateway_request *request)
{
    int64_t liveness_ms = ilk__request_number(request, 1, 1),
            count = ilk__request_number(request, ILK__REFRESH_ENTRIES - 1, 0);

    if (liveness_ms > 0
        && count == (int64_t)request->arg_count - ILK__REFRESH_ENTRIES)
        return liveness_ms;
    ilk__gateway_reply_error(request,
                             "ERR a number of the refresh is not valid");
    return -1;
}

void ilk__name_refresh(ilk__name_record *name, ilk__gateway_request *request)
{
    int64_t liveness_ms = read_liveness(request);
    ilk__name_request *one;

    if (liveness_ms < 0)
        return;
    prolong_waits(name->seen.contention, request, liveness_ms);
    one = ilk__name_keep_request(name, request);
    if (!one)
        return;
    one->is_refresh = 1;
    if (!name->check)
        begin_check(name);
}

static ilk__name_request *take_checked(ilk__name_record *name)
{
    ilk__name_request **link = &name->requests, *taken = NULL;

    while (*link) {
        ilk__name_request *one = *link;

        if (!one->is_in_check) {
            link = &one->next;
            continue;
        }
        *link = one->next;
        one->next = taken;
        taken = one;
    }
    return taken;
}

void ilk__contention_checked(ilk__contended *seen,
                             ilk__gateway_request *request, const char *error)
{
    ilk__name_record *name = record_of(seen);

    if (!request || name->check != request)
        return;
    name->check = NULL;
    for (ilk__name_request *next, *one = take_checked(name); one; one = next) {
        next = one->next;
        if (error)
            ilk__gateway_reply_error(one->request, error);
        else
            ilk__reply_refreshed(seen->contention, one->request);
        ilk__free(one);
    }
    begin_check(name);
    ilk__name_settle(name);
}

/* ---- inspect ------------------------------------------------------------- */

static size_t most_of(const ilk__name_record *name,
                      const ilk__gateway_request *request)
{
    return name->seen.kind == ILK__CONTENDED_SEMAPHORE
               ? ILK__INSPECT_MOST
               : 1 + (size_t)ilk__request_number(request, 0, 0);
}

/* A lock and an election are read with one more, for the holder. */
void ilk__name_inspect(ilk__name_record *name, ilk__gateway_request *request)
{
    const ilk__contention *contention = name->seen.contention;
    int64_t count = ilk__request_number(request, 0, 0);

    if (count < 0 || count > ILK__INSPECT_MOST) {
        ilk__gateway_reply_error(request, "ERR the number of entries is wrong");
        return;
    }
    if (ilk__name_keep_request(name, request))
        contention->store->inspect(contention->self, &name->seen,
                                   (int64_t)most_of(name, request), request);
}

static void reply_state(ilk__name_record *name, ilk__gateway_request *request,
                        const ilk__contended_state *state)
{
    size_t most = most_of(name, request);

    switch (name->seen.kind) {
    case ILK__CONTENDED_LOCK:
        ilk__reply_lock_state(request, state, most);
        break;
    case ILK__CONTENDED_ELECTION:
        ilk__reply_election_state(request, ilk__name_note_term(name, state),
                                  state, most, 1);
        break;
    case ILK__CONTENDED_SEMAPHORE:
        ilk__reply_semaphore_state(request, state, most,
                                   (size_t)ilk__request_number(request, 0, 0));
        break;
    }
}

void ilk__contention_inspected(ilk__contended *seen,
                               ilk__gateway_request *request,
                               const ilk__contended_state *state,
                               const char *error)
{
    ilk__name_record *name = record_of(seen);

    if (!end_request(name, request))
        return;
    if (request->script == ILK__SCRIPT_ELECTION_OBSERVE)
        ilk__name_observed(name, request, state, error);
    else if (error)
        ilk__gateway_reply_error(request, error);
    else
        reply_state(name, request, state);
    ilk__name_settle(name);
}

/* ---- break --------------------------------------------------------------- */

enum { BREAK_TOKEN = 0, BREAK_ID = 4 };

static uint64_t mark_of_break(const ilk__gateway_request *request)
{
    const ilk__bytes id = ilk__gateway_arg(request, BREAK_ID);

    return ilk__hash(ILK__HASH_START, id.data, id.len);
}

/* A copy of this request would break the next hold. The core knows that it has sent
 * several, and makes an unknown outcome of LOST. */
void ilk__name_break(ilk__name_record *name, ilk__gateway_request *request)
{
    const ilk__contention *contention = name->seen.contention;
    const ilk__bytes token = ilk__gateway_arg(request, BREAK_TOKEN);

    if (ilk__recent_has(&contention->breaks, mark_of_break(request)))
        ilk__gateway_reply(request, ILK__CODE_RELEASED, "ii", (int64_t)0,
                           (int64_t)0);
    else if (ilk__recent_has(&contention->unsure_breaks,
                             mark_of_break(request)))
        ilk__gateway_reply_lost(request);
    else if (ilk__name_keep_request(name, request))
        contention->store->break_hold(contention->self, &name->seen,
                                      (ilk__span){token.data, token.len},
                                      request);
}

void ilk__contention_broken(ilk__contended *seen, ilk__gateway_request *request,
                            int was_held, const char *error)
{
    ilk__name_record *name = record_of(seen);

    if (!end_request(name, request))
        return;
    if (error) {
        ilk__gateway_reply_error(request, error);
    } else if (was_held) {
        (void)ilk__recent_seen(&seen->contention->breaks,
                               mark_of_break(request));
        ilk__gateway_reply(request, ILK__CODE_RELEASED, "ii", (int64_t)0,
                           (int64_t)0);
    } else {
        ilk__gateway_reply_lost(request);
    }
    ilk__name_settle(name);
}

void ilk__contention_break_unsure(ilk__contended *seen,
                                  ilk__gateway_request *request)
{
    ilk__name_record *name = record_of(seen);

    if (!end_request(name, request))
        return;
    (void)ilk__recent_seen(&seen->contention->unsure_breaks,
                           mark_of_break(request));
    ilk__gateway_break(request);
    ilk__name_settle(name);
}

/* ---- a semaphore's limit ------------------------------------------------- */

enum { LIMIT_LIMIT, LIMIT_BASE };

void ilk__name_set_limit(ilk__name_record *name, ilk__gateway_request *request)
{
    const ilk__contention *contention = name->seen.contention;
    int64_t limit = ilk__request_number(request, LIMIT_LIMIT, 1),
            base = ilk__request_number(request, LIMIT_BASE, 1);

    if (limit < 0 || base < 0)
        ilk__gateway_reply_error(request, "ERR a limit is not a whole number "
                                          "above 0");
    else if (ilk__name_keep_request(name, request))
        contention->store->set_limit(contention->self, &name->seen, limit, base,
                                     request);
}

void ilk__contention_limit_set(ilk__contended *seen,
                               ilk__gateway_request *request,
                               int64_t limit_before, const char *error)
{
    ilk__name_record *name = record_of(seen);

    if (!end_request(name, request))
        return;
    if (error)
        ilk__gateway_reply_error(request, error);
    else
        ilk__gateway_reply(request, ILK__CODE_WRITTEN, "iii", limit_before,
                           (int64_t)0, (int64_t)0);
    ilk__name_settle(name);
}
