/* SPDX-License-Identifier: MIT */
/* contention_requests.c -- the core's requests, and those about one token. */
#include "contention_internal.h"

#include "base/clock.h"
#include "redis/script.h"
#include "wait/limits.h"

#include <string.h>

static const ilk__bytes nothing = {(char *)"", 0};

/* ---- words --------------------------------------------------------------- */

int64_t ilk__request_number(const ilk__gateway_request *request, size_t index,
                            int64_t least)
{
    const ilk__bytes word = ilk__gateway_arg(request, index);
    int64_t number = ilk__text_number((ilk__span){word.data, word.len},
                                      ILK__SCRIPT_INT_MAX - 1);

    return number < least ? -1 : number;
}

ilk__bytes ilk__request_entry_word(ilk__bytes entry, int index)
{
    ilk__span rest = {entry.data, entry.len}, word = {entry.data, 0};

    for (int i = 0; i <= index; i++)
        word = ilk__text_cut(&rest, ' ', NULL);
    return (ilk__bytes){(char *)word.at, word.len};
}

static int is_same(ilk__bytes a, ilk__bytes b)
{
    return a.len == b.len && (!a.len || memcmp(a.data, b.data, a.len) == 0);
}

static void refuse_numbers(ilk__gateway_request *request)
{
    ilk__gateway_reply_error(request, "ERR an argument is not a whole number "
                                      "in its range");
}

/* ---- what a script is about ---------------------------------------------- */

typedef enum verb {
    ACQUIRE,
    RELEASE,
    CANCEL,
    EXTEND,
    REFRESH,
    INSPECT,
    BREAK,
    LIMIT,
    PROCLAIM,
    OBSERVE,
    OBSERVER_REFRESH,
    OBSERVER_CANCEL
} verb;

typedef struct action {
    int script;
    verb verb;
    ilk__contended_kind of;
    ilk__contender_kind kind;
} action;

#define LOCK ILK__CONTENDED_LOCK, ILK__CONTENDER_EXCLUSIVE
#define RWLOCK ILK__CONTENDED_LOCK, ILK__CONTENDER_READER
#define SEMAPHORE ILK__CONTENDED_SEMAPHORE, ILK__CONTENDER_PERMITS
#define ELECTION ILK__CONTENDED_ELECTION, ILK__CONTENDER_CANDIDATE

static const action actions[] = {
    {ILK__SCRIPT_LOCK_ACQUIRE, ACQUIRE, LOCK},
    {ILK__SCRIPT_LOCK_RELEASE, RELEASE, LOCK},
    {ILK__SCRIPT_LOCK_CANCEL, CANCEL, LOCK},
    {ILK__SCRIPT_LOCK_EXTEND, EXTEND, LOCK},
    {ILK__SCRIPT_LOCK_REFRESH, REFRESH, LOCK},
    {ILK__SCRIPT_LOCK_INSPECT, INSPECT, LOCK},
    {ILK__SCRIPT_LOCK_BREAK, BREAK, LOCK},
    {ILK__SCRIPT_RWLOCK_ACQUIRE, ACQUIRE, RWLOCK},
    {ILK__SCRIPT_RWLOCK_RELEASE, RELEASE, RWLOCK},
    {ILK__SCRIPT_RWLOCK_CANCEL, CANCEL, RWLOCK},
    {ILK__SCRIPT_RWLOCK_EXTEND, EXTEND, RWLOCK},
    {ILK__SCRIPT_SEMAPHORE_ACQUIRE, ACQUIRE, SEMAPHORE},
    {ILK__SCRIPT_SEMAPHORE_RELEASE, RELEASE, SEMAPHORE},
    {ILK__SCRIPT_SEMAPHORE_CANCEL, CANCEL, SEMAPHORE},
    {ILK__SCRIPT_SEMAPHORE_EXTEND, EXTEND, SEMAPHORE},
    {ILK__SCRIPT_SEMAPHORE_REFRESH, REFRESH, SEMAPHORE},
    {ILK__SCRIPT_SEMAPHORE_INSPECT, INSPECT, SEMAPHORE},
    {ILK__SCRIPT_SEMAPHORE_LIMIT, LIMIT, SEMAPHORE},
    {ILK__SCRIPT_ELECTION_CAMPAIGN, ACQUIRE, ELECTION},
    {ILK__SCRIPT_ELECTION_RESIGN, RELEASE, ELECTION},
    {ILK__SCRIPT_ELECTION_CANCEL, CANCEL, ELECTION},
    {ILK__SCRIPT_ELECTION_RENEW, EXTEND, ELECTION},
    {ILK__SCRIPT_ELECTION_REFRESH, REFRESH, ELECTION},
    {ILK__SCRIPT_ELECTION_INSPECT, INSPECT, ELECTION},
    {ILK__SCRIPT_ELECTION_BREAK, BREAK, ELECTION},
    {ILK__SCRIPT_ELECTION_PROCLAIM, PROCLAIM, ELECTION},
    {ILK__SCRIPT_ELECTION_OBSERVE, OBSERVE, ELECTION},
    {ILK__SCRIPT_ELECTION_OBSERVER_REFRESH, OBSERVER_REFRESH, ELECTION},
    {ILK__SCRIPT_ELECTION_OBSERVER_CANCEL, OBSERVER_CANCEL, ELECTION},
};

static const action *action_of(const ilk__contention *contention, int script)
{
    const ilk__contention_store *store = contention->store;

    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        const action *one = &actions[i];

        if (one->script != script)
            continue;
        if ((one->kind == ILK__CONTENDER_READER && !store->has_readers)
            || (one->of == ILK__CONTENDED_SEMAPHORE && !store->set_limit)
            || (one->of == ILK__CONTENDED_ELECTION
                && (!store->observe || !store->proclaim)))
            return NULL;
        return one;
    }
    return NULL;
}

int ilk__request_is_acquire(const ilk__gateway_request *request)
{
    return request->script == ILK__SCRIPT_LOCK_ACQUIRE
           || request->script == ILK__SCRIPT_RWLOCK_ACQUIRE
           || request->script == ILK__SCRIPT_SEMAPHORE_ACQUIRE
           || request->script == ILK__SCRIPT_ELECTION_CAMPAIGN;
}

int ilk__request_is_cancel(const ilk__gateway_request *request)
{
    return request->script == ILK__SCRIPT_LOCK_CANCEL
           || request->script == ILK__SCRIPT_RWLOCK_CANCEL
           || request->script == ILK__SCRIPT_SEMAPHORE_CANCEL
           || request->script == ILK__SCRIPT_ELECTION_CANCEL;
}

/* The name of the request, or NULL after a reply. */
static ilk__name_record *name_for(ilk__contention *contention,
                                  ilk__gateway_request *request,
                                  const action *about)
{
    const ilk__bytes key = {request->keys[0]->str, request->keys[0]->len};
    ilk__name_record *name = ilk__name_of(contention, key, about->of);

    if (!name)
        ilk__gateway_break(request);
    else if (name->seen.kind != about->of)
        ilk__gateway_reply_error(request, "ERR this key is of another kind");
    else
        return name;
    return NULL;
}

/* ---- acquire ------------------------------------------------------------- */

enum {
    ACQUIRE_TOKEN,
    ACQUIRE_LEASE,
    ACQUIRE_WHO,
    ACQUIRE_FLOOR,
    ACQUIRE_ENTRY,
    ACQUIRE_CLIENT,
    ACQUIRE_BARGE,
    ACQUIRE_LIVENESS,
    ACQUIRE_GRANT,
    ACQUIRE_LIMIT,
    ACQUIRE_PERMITS,
    ACQUIRE_SEMAPHORE_LIMIT
};

/* Of a campaign, behind ACQUIRE_LIMIT. */
enum { CAMPAIGN_VALUE = ACQUIRE_LIMIT + 1, CAMPAIGN_IDENTITY };

typedef struct numbers {
    int64_t lease_ms, floor, liveness_ms, grant_ms, permits, limit;
} numbers;

static int read_numbers(const ilk__gateway_request *request, numbers *out)
{
    out->lease_ms = ilk__request_number(request, ACQUIRE_LEASE, 1);
    out->floor = ilk__request_number(request, ACQUIRE_FLOOR, 0);
    out->liveness_ms = ILK__LIVENESS_MS;
    out->grant_ms = ILK__GRANT_MS;
    if (request->arg_count > ACQUIRE_LIVENESS) {
        out->liveness_ms = ilk__request_number(request, ACQUIRE_LIVENESS, 1);
        out->grant_ms = ilk__request_number(request, ACQUIRE_GRANT, 1);
    }
    out->permits = out->limit = 1;
    if (request->script == ILK__SCRIPT_SEMAPHORE_ACQUIRE) {
        out->permits = ilk__request_number(request, ACQUIRE_PERMITS, 1);
        out->limit = ilk__request_number(request, ACQUIRE_SEMAPHORE_LIMIT, 1);
    }
    return out->lease_ms >= 0 && out->floor >= 0 && out->liveness_ms >= 0
           && out->grant_ms >= 0 && out->permits >= 0 && out->limit >= 0;
}

static ilk__contender_words words_of(const ilk__gateway_request *request)
{
    const ilk__bytes entry = ilk__gateway_arg(request, ACQUIRE_ENTRY);
    int campaigns = request->script == ILK__SCRIPT_ELECTION_CAMPAIGN;

    return (ilk__contender_words){
        .token = ilk__gateway_arg(request, ACQUIRE_TOKEN),
        .who = ilk__gateway_arg(request, ACQUIRE_WHO),
        .client = ilk__gateway_arg(request, ACQUIRE_CLIENT),
        .waiter = entry.len ? ilk__request_entry_word(entry, ILK__ENTRY_WAITER)
                            : nothing,
        .value =
            campaigns ? ilk__gateway_arg(request, CAMPAIGN_VALUE) : nothing};
}

static void join(ilk__contender *contender, ilk__gateway_request *request,
                 const numbers *with)
{
    const ilk__contention *contention = contender->of->contention;

    contender->lease_ms = with->lease_ms;
    contender->floor = with->floor;
    contender->liveness_ms = with->liveness_ms;
    contender->grant_ms = with->grant_ms;
    contender->permits = with->permits;
    contender->limit = with->limit;
    contender->request = request;
    ilk__contender_plan(contender);
    contention->store->join(contention->self, contender);
}

/* A copy of a request, or the same attempt once more. */
static void join_again(ilk__contender *contender, ilk__gateway_request *request,
                       const numbers *with)
{
    const ilk__contender_words words = words_of(request);

    contender->request = request;
    switch (contender->state) {
    case ILK__CONTENDER_HOLDS: ilk__reply_held(contender); break;
    case ILK__CONTENDER_WAITS:
        if (is_same(words.waiter, contender->waiter)) {
            contender->until = ilk__now_ms() + with->liveness_ms;
            ilk__reply_waiting(contender, ILK__CODE_QUEUED, -1, 1);
        } else {
            ilk__reply_failure(contender, "ERR another attempt has this token");
        }
        break;
    case ILK__CONTENDER_LEAVES: /* left() begins anew */
        contender->until = ilk__now_ms() + ILK__LEAVE_MS;
        break;
    case ILK__CONTENDER_JOINS:
        if (ilk__contender_rewrite(contender, &words)) {
            join(contender, request, with);
            return;
        }
        contender->request = NULL;
        ilk__gateway_break(request);
        break;
    case ILK__CONTENDER_ENDED: return;
    }
    ilk__contender_plan(contender);
}

/* Why the store cannot do it, or NULL. */
static const char *unsupported(const ilk__gateway_request *request)
{
    if (request->script == ILK__SCRIPT_ELECTION_CAMPAIGN)
        return ilk__gateway_arg(request, CAMPAIGN_IDENTITY).len
                   ? "ILKNONE %s has no candidates with an identity: no "
                     "leader can resume an earlier term"
                   : NULL;
    return ilk__request_number(request, ACQUIRE_BARGE, 0) == 1
               ? "ILKNONE %s has no locks that barge: its waits are served in "
                 "one order"
               : NULL;
}

/* Checks that need no contender; 0 after a reply. */
static int is_acceptable(const ilk__contention *contention,
                         ilk__gateway_request *request, numbers *out)
{
    const ilk__bytes token = ilk__gateway_arg(request, ACQUIRE_TOKEN),
                     entry = ilk__gateway_arg(request, ACQUIRE_ENTRY);
    const char *why = unsupported(request);

    if (why)
        ilk__reply_refusal(contention, request, why);
    else if (!read_numbers(request, out))
        refuse_numbers(request);
    else if (!token.len
             || (entry.len
                 && !is_same(token,
                             ilk__request_entry_word(entry, ILK__ENTRY_TOKEN))))
        ilk__gateway_reply_error(
            request, "ERR the entry does not have the token of the request");
    else if (ilk__token_is_over(contention, token))
        ilk__gateway_reply_error(
            request, "ERR this acquire was cancelled or released before");
    else
        return 1;
    return 0;
}

static void acquire(ilk__contention *contention, ilk__gateway_request *request,
                    const action *about)
{
    const ilk__contender_words words = words_of(request);
    ilk__contender *contender;
    ilk__name_record *name;
    numbers with;

    if (!is_acceptable(contention, request, &with))
        return;
    name = name_for(contention, request, about);
    if (!name)
        return;
    contender = ilk__contender_find(contention, words.token);
    if (contender && contender->state == ILK__CONTENDER_ENDED) {
        ilk__gateway_reply_error(
            request, "ERR this acquire was cancelled or released before");
    } else if (contender
               && (contender->of != &name->seen
                   || contender->kind != about->kind)) {
        ilk__gateway_reply_error(request, "ERR another attempt has this token");
    } else if (contender) {
        join_again(contender, request, &with);
    } else {
        contender = ilk__contender_new(name, about->kind, &words);
        if (contender)
            join(contender, request, &with);
        else
            ilk__gateway_break(request);
    }
    ilk__name_settle(name);
}

/* ---- release and cancel -------------------------------------------------- */

/* Another client may have acquired it. */
static ilk__contender *stranger(ilk__contention *contention,
                                ilk__gateway_request *request,
                                const action *about, ilk__bytes token)
{
    const ilk__contender_words words = {.token = token,
                                        .who = nothing,
                                        .client = nothing,
                                        .waiter = nothing,
                                        .value = nothing};
    ilk__name_record *name = name_for(contention, request, about);
    ilk__contender *contender;

    if (!name)
        return NULL;
    contender = ilk__contender_new(name, about->kind, &words);
    ilk__name_settle(name);
    if (!contender)
        ilk__gateway_break(request);
    return contender;
}

/* Release it, or cancel its wait: the reply comes when the store has nothing of it, so
 * the core's next request about the name does not find it. */
static void end_known(ilk__contender *contender, ilk__gateway_request *request)
{
    ilk__contender_record *record = ilk__record_of(contender);

    if (contender->state == ILK__CONTENDER_ENDED) {
        ilk__reply_left(request, contender->left);
        return;
    }
    record->is_over = 1;
    if (contender->state != ILK__CONTENDER_LEAVES) {
        contender->request = request;
        ilk__contender_leave(contender);
    } else if (record->has_lapsed) {
        ilk__reply_left(request, ILK__LEFT_NO_HOLD);
    } else {
        contender->request = request;
        contender->until = ilk__now_ms() + ILK__LEAVE_MS;
        ilk__contender_plan(contender);
    }
}

static void release(ilk__contention *contention, ilk__gateway_request *request,
                    const action *about)
{
    const ilk__bytes token = ilk__gateway_arg(request, 0);
    ilk__contender *contender = ilk__contender_find(contention, token);

    ilk__token_note_over(contention, token);
    if (!contender && !contention->store->adopt) {
        ilk__reply_left(request, ILK__LEFT_NO_HOLD);
        return;
    }
    if (!contender)
        contender = stranger(contention, request, about, token);
    if (contender)
        end_known(contender, request);
}

/* entry, token */
static void cancel(ilk__contention *contention, ilk__gateway_request *request,
                   const action *about)
{
    const ilk__bytes token = ilk__gateway_arg(request, 1);
    ilk__contender *contender = ilk__contender_find(contention, token);

    ilk__token_note_over(contention, token);
    if (!contender && contention->store->adopt) {
        contender = stranger(contention, request, about, token);
        if (!contender)
            return;
    }
    if (contender)
        end_known(contender, request);
    else
        ilk__gateway_reply(request, ILK__CODE_GONE, "");
}

/* ---- extend -------------------------------------------------------------- */

enum { EXTEND_TOKEN, EXTEND_LEASE, EXTEND_RENEWS };

static void adopt(ilk__contention *contention, ilk__gateway_request *request,
                  const action *about, int64_t lease_ms)
{
    ilk__contender *contender = stranger(
        contention, request, about, ilk__gateway_arg(request, EXTEND_TOKEN));

    if (!contender)
        return;
    ilk__record_of(contender)->adopts = 1;
    contender->lease_ms = contender->grant_ms = lease_ms;
    contender->renews = ilk__request_number(request, EXTEND_RENEWS, 0) == 1;
    contender->request = request;
    ilk__contender_plan(contender);
    contention->store->adopt(contention->self, contender);
}

static void renew(ilk__contender *contender, ilk__gateway_request *request,
                  int64_t lease_ms)
{
    const ilk__contention *contention = contender->of->contention;
    int64_t left = contender->ends - ilk__now_ms();

    contender->renews = ilk__request_number(request, EXTEND_RENEWS, 0) == 1;
    if (contender->renews && left > lease_ms)
        lease_ms = left;
    contender->lease_ms = lease_ms;
    contender->request = request;
    ilk__contender_plan(contender);
    contention->store->renew(contention->self, contender);
}

static void extend(ilk__contention *contention, ilk__gateway_request *request,
                   const action *about)
{
    const ilk__bytes token = ilk__gateway_arg(request, EXTEND_TOKEN);
    const int64_t lease_ms = ilk__request_number(request, EXTEND_LEASE, 1);
    ilk__contender *contender = ilk__contender_find(contention, token);

    if (lease_ms < 0)
        refuse_numbers(request);
    else if (contender && contender->state == ILK__CONTENDER_HOLDS)
        renew(contender, request, lease_ms);
    else if (contender || !contention->store->adopt
             || ilk__token_is_over(contention, token))
        ilk__gateway_reply_lost(request);
    else
        adopt(contention, request, about, lease_ms);
}

/* token, value */
static void proclaim(ilk__contention *contention, ilk__gateway_request *request)
{
    const ilk__bytes value = ilk__gateway_arg(request, 1);
    ilk__contender *contender =
        ilk__contender_find(contention, ilk__gateway_arg(request, 0));

    if (!contender || contender->state != ILK__CONTENDER_HOLDS) {
        ilk__gateway_reply_lost(request);
    } else if (ilk__record_of(contender)->is_written
               && is_same(value, contender->value)) {
        ilk__gateway_reply(request, ILK__CODE_WRITTEN, "");
    } else if (!ilk__contender_set_value(contender, value)) {
        ilk__gateway_break(request);
    } else {
        ilk__record_of(contender)->is_written = 0;
        contender->request = request;
        ilk__contender_plan(contender);
        contention->store->proclaim(contention->self, contender);
    }
}

/* ---- all requests -------------------------------------------------------- */

static void call_name(ilk__contention *contention,
                      ilk__gateway_request *request, const action *about)
{
    ilk__name_record *name = name_for(contention, request, about);

    if (!name)
        return;
    switch (about->verb) {
    case REFRESH: ilk__name_refresh(name, request); break;
    case INSPECT: ilk__name_inspect(name, request); break;
    case BREAK: ilk__name_break(name, request); break;
    case LIMIT: ilk__name_set_limit(name, request); break;
    case OBSERVE: ilk__name_observe(name, request); break;
    case OBSERVER_REFRESH: ilk__observers_refresh(name, request); break;
    default: ilk__observer_cancel(name, request);
    }
    ilk__name_settle(name);
}

void ilk__contention_call(ilk__contention *contention,
                          ilk__gateway_request *request)
{
    const action *about = action_of(contention, request->script);

    if (!about) {
        ilk__reply_refusal(contention, request,
                           "ILKNONE %s does not keep this primitive");
        return;
    }
    switch (about->verb) {
    case ACQUIRE: acquire(contention, request, about); break;
    case RELEASE: release(contention, request, about); break;
    case CANCEL: cancel(contention, request, about); break;
    case EXTEND: extend(contention, request, about); break;
    case PROCLAIM: proclaim(contention, request); break;
    default: call_name(contention, request, about);
    }
}

int ilk__contention_replies_alone(const ilk__gateway_request *request)
{
    return request->script == ILK__SCRIPT_ELECTION_OBSERVER_REFRESH
           || request->script == ILK__SCRIPT_STATE_REFRESH
           || request->script == ILK__SCRIPT_GROUP_REFRESH;
}
