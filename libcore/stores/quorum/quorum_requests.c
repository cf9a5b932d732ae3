/* SPDX-License-Identifier: MIT */
/*
 * quorum_requests.c -- the core's requests: those of an attempt go to it, all others
 * to all nodes in one round, whose replies are compared.
 */
#include "quorum_internal.h"

#include <inttypes.h>
#include <stdio.h>

static const ilk__bytes nothing = {(char *)"", 0};

/* ---- words --------------------------------------------------------------- */

static ilk__bytes word_of_entry(const ilk__bytes *entry, int index)
{
    ilk__span rest = {entry->data, entry->len}, word = {entry->data, 0};

    for (int i = 0; i <= index; i++)
        word = ilk__text_cut(&rest, ' ', NULL);
    return (ilk__bytes){(char *)word.at, word.len};
}

ilk__bytes ilk__quorum_token_of(const ilk__bytes *entry)
{
    return word_of_entry(entry, 4);
}

static ilk__hold_words words_of(const ilk__gateway_request *request,
                                const ilk__quorum_kind *kind, ilk__bytes token,
                                ilk__bytes entry)
{
    ilk__hold_words words = {.kind = kind,
                             .token = token,
                             .entry = entry,
                             .who = nothing,
                             .client = nothing,
                             .waiter = nothing};

    for (size_t i = 0; i < ILK__NAME_KEYS; i++)
        words.keys[i] = i < request->key_count
                            ? ilk__gateway_word(request->keys[i])
                            : nothing;
    if (entry.len)
        words.waiter = word_of_entry(&entry, 3);
    return words;
}

static ilk__attempt *find(const ilk__quorum *quorum, ilk__bytes token)
{
    return ilk__attempt_find(quorum, token.data, token.len);
}

static int has_known_lease(const ilk__quorum *quorum,
                           ilk__gateway_request *request, int64_t lease_ms)
{
    char text[200];

    if (lease_ms <= quorum->longest_ms)
        return 1;
    snprintf(text, sizeof text,
             "ILKINVALID a lease of %" PRId64 " ms: the longest of this quorum "
             "is %" PRId64 " ms; see longest_lease_ms",
             lease_ms, quorum->longest_ms);
    ilk__gateway_reply_error(request, text);
    return 0;
}

/* ---- acquire ------------------------------------------------------------- */

enum {
    ACQUIRE_TOKEN,
    ACQUIRE_LEASE,
    ACQUIRE_WHO,
    ACQUIRE_FLOOR,
    ACQUIRE_ENTRY,
    ACQUIRE_CLIENT,
    ACQUIRE_BARGE
};

/* Behind the liveness, the grant and the limit. */
enum { CAMPAIGN_VALUE = 10, CAMPAIGN_IDENTITY };

/* A repeated request: the attempt goes on, and its reply goes to this request. */
static void ask_once_more(ilk__attempt *attempt, ilk__gateway_request *request)
{
    if (attempt->state == ILK__ATTEMPT_HOLDS) {
        ilk__attempt_extend(attempt, request);
        return;
    }
    attempt->request = request;
    attempt->request_at = ilk__now_ms();
    ilk__attempt_reach_all(attempt);
    ilk__attempt_go_on(attempt);
}

static void try_new(ilk__quorum *quorum, ilk__gateway_request *request,
                    const ilk__quorum_kind *kind)
{
    ilk__hold_words words =
        words_of(request, kind, ilk__gateway_arg(request, ACQUIRE_TOKEN),
                 ilk__gateway_arg(request, ACQUIRE_ENTRY));
    ilk__attempt *attempt;

    words.who = ilk__gateway_arg(request, ACQUIRE_WHO);
    words.client = ilk__gateway_arg(request, ACQUIRE_CLIENT);
    attempt = ilk__attempt_new(quorum, &words, 0);
    if (!attempt
        || (kind == &ilk__quorum_election
            && !ilk__attempt_set_value(
                attempt, ilk__gateway_arg(request, CAMPAIGN_VALUE)))) {
        ilk__attempt_free(attempt);
        ilk__gateway_break(request);
        return;
    }
    attempt->lease_ms = ilk__gateway_number_arg(request, ACQUIRE_LEASE);
    attempt->floor = ilk__gateway_number_arg(request, ACQUIRE_FLOOR);
    attempt->waits = words.entry.len != 0;
    ilk__attempt_begin(attempt, request);
}

/* Why the quorum cannot do it, or NULL. */
static const char *unsupported(const ilk__gateway_request *request,
                               const ilk__quorum_kind *kind)
{
    if (kind == &ilk__quorum_lock
        && ilk__gateway_number_arg(request, ACQUIRE_BARGE) == 1)
        return "ILKNONE a quorum has no locks that barge: its waits are "
               "served in one order at all nodes";
    if (kind == &ilk__quorum_election
        && ilk__gateway_arg(request, CAMPAIGN_IDENTITY).len)
        return "ILKNONE a quorum has no candidates with an identity: nobody "
               "leads on in an earlier leader's term";
    return NULL;
}

static void acquire(ilk__quorum *quorum, ilk__gateway_request *request,
                    const ilk__quorum_kind *kind)
{
    const ilk__bytes token = ilk__gateway_arg(request, ACQUIRE_TOKEN),
                     entry = ilk__gateway_arg(request, ACQUIRE_ENTRY);
    const char *why = unsupported(request, kind);
    ilk__attempt *attempt = find(quorum, token);

    if (why)
        ilk__gateway_reply_error(request, why);
    else if (ilk__attempt_is_over(quorum, token.data, token.len))
        ilk__gateway_reply_error(request,
                                 "ERR this attempt was cancelled before");
    else if (!has_known_lease(quorum, request,
                              ilk__gateway_number_arg(request, ACQUIRE_LEASE)))
        return;
    else if (entry.len && !ilk__quorum_token_of(&entry).len)
        ilk__gateway_reply_error(
            request, "ERR the entry does not have the token of the request");
    else if (attempt
             && (attempt->state == ILK__ATTEMPT_HOLDS
                 || attempt->waits == (entry.len != 0)))
        ask_once_more(attempt, request);
    else if (attempt)
        ilk__gateway_reply_error(request, "ERR another attempt has this token");
    else
        try_new(quorum, request, kind);
}

/* ---- release and cancel -------------------------------------------------- */

/* A token that is not known here, such as an adopted one's, is given up at all
 * nodes. */
static ilk__attempt *stranger(ilk__quorum *quorum,
                              ilk__gateway_request *request,
                              const ilk__quorum_kind *kind, ilk__bytes token,
                              ilk__bytes entry)
{
    const ilk__hold_words words = words_of(request, kind, token, entry);
    ilk__attempt *attempt = ilk__attempt_new(quorum, &words, 0);

    if (!attempt)
        return NULL;
    attempt->lease_ms = quorum->longest_ms;
    for (size_t i = 0; i < quorum->count; i++)
        attempt->asked[i] = 1;
    return attempt;
}

/* token, and perhaps what a quorum does not need */
static void release(ilk__quorum *quorum, ilk__gateway_request *request,
                    const ilk__quorum_kind *kind)
{
    const ilk__bytes token = ilk__gateway_arg(request, 0);
    ilk__attempt *attempt = find(quorum, token);

    if (!attempt)
        attempt = stranger(quorum, request, kind, token, nothing);
    if (attempt)
        ilk__attempt_release(attempt, request);
    else
        ilk__gateway_break(request);
}

/* entry, token, and what a quorum does not need. The reply does not depend on the nodes. */
static void cancel(ilk__quorum *quorum, ilk__gateway_request *request,
                   const ilk__quorum_kind *kind)
{
    const ilk__bytes entry = ilk__gateway_arg(request, 0),
                     token = ilk__gateway_arg(request, 1);
    ilk__attempt *attempt = find(quorum, token);

    if (!attempt)
        attempt = stranger(quorum, request, kind, token, entry);
    if (!attempt) {
        ilk__gateway_break(request);
        return;
    }
    ilk__attempt_release(attempt, NULL);
    ilk__gateway_reply(request, ILK__CODE_GONE, "");
}

/* ---- extend and break ---------------------------------------------------- */

/* token, lease ms, renewal 0|1 */
static void extend(ilk__quorum *quorum, ilk__gateway_request *request)
{
    ilk__attempt *attempt = find(quorum, ilk__gateway_arg(request, 0));

    if (!has_known_lease(quorum, request, ilk__gateway_number_arg(request, 1)))
        return;
    if (!attempt || !ilk__attempt_is_held(attempt)) {
        ilk__round_begin(quorum, request, ilk__round_pass_on,
                         ilk__round_decide_extension);
        return;
    }
    attempt->lease_ms = ilk__gateway_number_arg(request, 1);
    attempt->renews = ilk__gateway_number_arg(request, 2) == 1;
    ilk__attempt_extend(attempt, request);
}

/* ---- all requests -------------------------------------------------------- */

void ilk__quorum_call(void *self, ilk__gateway_request *request)
{
    const ilk__quorum_kind *lock = &ilk__quorum_lock,
                           *election = &ilk__quorum_election;
    ilk__quorum *quorum = self;

    switch (request->script) {
    case ILK__SCRIPT_LOCK_ACQUIRE: acquire(quorum, request, lock); break;
    case ILK__SCRIPT_LOCK_RELEASE: release(quorum, request, lock); break;
    case ILK__SCRIPT_LOCK_CANCEL: cancel(quorum, request, lock); break;
    case ILK__SCRIPT_LOCK_INSPECT: ilk__quorum_inspect(quorum, request); break;

    case ILK__SCRIPT_ELECTION_CAMPAIGN:
        acquire(quorum, request, election);
        break;
    case ILK__SCRIPT_ELECTION_RESIGN: release(quorum, request, election); break;
    case ILK__SCRIPT_ELECTION_CANCEL: cancel(quorum, request, election); break;
    case ILK__SCRIPT_ELECTION_PROCLAIM:
        ilk__quorum_proclaim(quorum, request);
        break;
    case ILK__SCRIPT_ELECTION_INSPECT:
        ilk__quorum_inspect_leader(quorum, request);
        break;
    case ILK__SCRIPT_ELECTION_OBSERVE:
        ilk__quorum_observe(quorum, request);
        break;
    case ILK__SCRIPT_ELECTION_OBSERVER_REFRESH:
        ilk__quorum_refresh_observers(quorum, request);
        break;
    case ILK__SCRIPT_ELECTION_OBSERVER_CANCEL:
        ilk__quorum_cancel_observer(quorum, request);
        break;

    case ILK__SCRIPT_LOCK_EXTEND:
    case ILK__SCRIPT_ELECTION_RENEW: extend(quorum, request); break;
    case ILK__SCRIPT_LOCK_REFRESH:
    case ILK__SCRIPT_ELECTION_REFRESH:
        ilk__quorum_refresh(quorum, request);
        break;
    case ILK__SCRIPT_LOCK_BREAK:
    case ILK__SCRIPT_ELECTION_BREAK:
        ilk__round_begin(quorum, request, ilk__round_pass_on,
                         ilk__round_decide_break);
        break;

    case ILK__SCRIPT_REGISTER_GET:
    case ILK__SCRIPT_REGISTER_SET:
    case ILK__SCRIPT_REGISTER_DELETE:
    case ILK__SCRIPT_REGISTER_WAIT: ilk__quorum_propose(quorum, request); break;
    case ILK__SCRIPT_STATE_REFRESH:
        ilk__quorum_refresh_observers(quorum, request);
        break;
    case ILK__SCRIPT_STATE_CANCEL:
        ilk__quorum_cancel_observer(quorum, request);
        break;
    default:
        ilk__gateway_reply_error(request,
                                 "ILKNONE a quorum keeps locks, elections and "
                                 "registers, and nothing else");
    }
}
