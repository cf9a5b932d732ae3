/* SPDX-License-Identifier: MIT */
/*
 * quorum_leader.c -- who leads, and what it publishes.
 *
 * A leader's value is at the nodes with its votes: a confirmation writes it
 * (quorum_confirm_leader), and to proclaim another one is to confirm anew. So a
 * majority has the value of each leadership, and has a later version once its
 * proclamation has succeeded. A reader takes the greatest version of the token that a
 * majority confirmed.
 *
 * Observers wait at all nodes. Each node wakes them at each of its changes, and they
 * ask again; most of the time they have the value already.
 */
#include "quorum_internal.h"

#include "gateway/resp.h"

#include <inttypes.h>
#include <string.h>

/* ---- the leader publishes ------------------------------------------------ */

/* token, value, limit. No other client can take a leadership over, so its attempt is
 * known here while its lease lasts. */
void ilk__quorum_proclaim(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const ilk__bytes token = ilk__gateway_arg(request, 0);
    ilk__attempt *attempt = ilk__attempt_find(quorum, token.data, token.len);

    if (!attempt || !ilk__attempt_is_held(attempt))
        ilk__gateway_reply_lost(request);
    else if (!ilk__attempt_set_value(attempt, ilk__gateway_arg(request, 1)))
        ilk__gateway_break(request);
    else
        ilk__attempt_publish(attempt, request);
}

/* ---- comparing what the nodes say ---------------------------------------- */

/* The elements of a reply of quorum_leader. */
enum {
    AT_TERM,
    AT_VERSION,
    AT_STATE,
    AT_PTTL,
    AT_SINCE,
    AT_TOKEN,
    AT_WHO,
    AT_VALUE,
    AT_CANDIDATES,
    AT_ENTRIES
};

/* AT_STATE */
enum { IS_FREE, IS_VOTED, IS_LED };

static const ilk__reply *item(const ilk__reply *reply, size_t index)
{
    return ilk__script_item(reply, index);
}

static int counts(const ilk__round *round, const ilk__reply *reply)
{
    (void)round;
    return ilk__script_code(reply) == ILK__CODE_STATE;
}

static int is_led_by(const ilk__reply *reply, const ilk__reply *token)
{
    return ilk__script_code(reply) == ILK__CODE_STATE
           && ilk__script_int(reply, AT_STATE) == IS_LED
           && item(reply, AT_TOKEN)->len == token->len
           && memcmp(item(reply, AT_TOKEN)->str, token->str, token->len) == 0;
}

/* A majority has confirmed the leader of this reply. */
static int is_of_leader(const ilk__round *round, const ilk__reply *reply)
{
    size_t count = 0;

    if (!counts(round, reply) || ilk__script_int(reply, AT_STATE) != IS_LED)
        return 0;
    for (size_t i = 0; i < round->quorum->count; i++)
        count +=
            (size_t)(round->replies[i]
                     && is_led_by(round->replies[i], item(reply, AT_TOKEN)));
    return count >= ilk__quorum_majority(round->quorum);
}

/* The reply about the leader that has the latest value; NULL: nobody is known to
 * lead. */
static const ilk__reply *find_leader(const ilk__round *round)
{
    const ilk__reply *best = NULL;

    for (size_t i = 0; i < round->quorum->count; i++) {
        const ilk__reply *one = round->replies[i];

        if (one && is_of_leader(round, one)
            && (!best
                || ilk__script_int(one, AT_VERSION)
                       > ilk__script_int(best, AT_VERSION)))
            best = one;
    }
    return best;
}

/* A majority of the nodes has no vote in use: nobody leads, nor is being elected. */
static int is_vacant(const ilk__round *round)
{
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        count += (size_t)(round->replies[i] && counts(round, round->replies[i])
                          && ilk__script_int(round->replies[i], AT_STATE)
                                 == IS_FREE);
    return count >= ilk__quorum_majority(round->quorum);
}

/* The earliest end of a lease at any node: one free vote may make a majority. */
static int64_t next_end(const ilk__round *round)
{
    int64_t least = -2;

    for (size_t i = 0; i < round->quorum->count; i++) {
        const ilk__reply *one = round->replies[i];
        int64_t ms =
            one && counts(round, one) ? ilk__script_int(one, AT_PTTL) : -2;

        if (ms >= 0 && (least < 0 || ms < least))
            least = ms;
    }
    return least;
}

static const ilk__reply *with_most_candidates(const ilk__round *round)
{
    const ilk__reply *best = NULL;

    for (size_t i = 0; i < round->quorum->count; i++) {
        const ilk__reply *one = round->replies[i];

        if (one && counts(round, one)
            && (!best
                || ilk__script_int(one, AT_CANDIDATES)
                       > ilk__script_int(best, AT_CANDIDATES)))
            best = one;
    }
    return best;
}

/* ---- replies to the core ------------------------------------------------- */

/* The term is one that a majority has reached: a greater one may belong to an attempt
 * that never led. */
static void add_leadership(ilk__buf *text, const ilk__round *round,
                           const ilk__reply *leader)
{
    static const int strings[] = {AT_TOKEN, AT_WHO, AT_VALUE};

    (void)ilk__resp_add(
        text, ":%" PRId64 "\r\n:%" PRId64 "\r\n:%d\r\n:%" PRId64 "\r\n",
        leader ? ilk__script_int(leader, AT_TERM)
               : ilk__round_number(round, AT_TERM, counts),
        leader ? ilk__script_int(leader, AT_VERSION) : 0, leader != NULL,
        leader ? ilk__round_number(round, AT_PTTL, is_of_leader) : 0);
    (void)ilk__resp_add(text, ":%" PRId64 "\r\n",
                        leader ? ilk__script_int(leader, AT_SINCE) : 0);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        (void)(leader
                   ? ilk__resp_add_reply(text, item(leader, (size_t)strings[i]))
                   : ilk__resp_add_bytes(text, (ilk__span){"", 0}));
}

static void send(ilk__round *round, ilk__buf *text)
{
    ilk__gateway_reply_text(round->request, ilk__buf_data(text),
                            ilk__buf_len(text));
    ilk__buf_free(text);
    round->request = NULL;
}

static void say_state(ilk__round *round, const ilk__reply *leader,
                      const ilk__reply *candidates)
{
    const size_t entries = candidates ? candidates->count - 1 - AT_ENTRIES : 0,
                 count = 1 + AT_CANDIDATES + (candidates ? 1 + entries : 0);
    ilk__buf text = {0};

    (void)ilk__resp_add(
        &text, "*%zu\r\n:%" PRId64 "\r\n", count,
        ilk__reply_head(round->request->number, ILK__CODE_STATE));
    add_leadership(&text, round, leader);
    if (candidates)
        (void)ilk__resp_add_reply(&text, item(candidates, AT_CANDIDATES));
    for (size_t i = 0; i < entries; i++)
        (void)ilk__resp_add_reply(&text, item(candidates, AT_ENTRIES + i));
    send(round, &text);
}

/* ---- asking the nodes ---------------------------------------------------- */

/* With an entry, an observer waits at each node until its next change. */
static void ask(ilk__round *round, ilk__bytes count, ilk__bytes entry,
                ilk__bytes client, ilk__bytes liveness)
{
    const ilk__gateway_request *request = round->request;
    const ilk__bytes args[] = {count, entry, client, liveness};
    ilk__bytes keys[ILK__NAME_KEYS + 1];

    for (size_t i = 0; i < ILK__NAME_KEYS; i++)
        keys[i] = ilk__gateway_word(request->keys[i]);
    keys[ILK__NAME_KEYS] = ilk__quorum_node_key;
    ilk__round_send(round, ILK__SCRIPT_QUORUM_LEADER, keys, ILK__NAME_KEYS + 1,
                    args, sizeof args / sizeof *args);
}

static void decide_inspection(ilk__round *round, int is_last)
{
    if (is_last
        && ilk__round_count(round, ILK__CODE_STATE)
               >= ilk__quorum_majority(round->quorum))
        say_state(round, find_leader(round), with_most_candidates(round));
}

/* count */
static void ask_for_inspection(ilk__round *round)
{
    const ilk__bytes nothing = {(char *)"", 0}, zero = {(char *)"0", 1};

    ask(round, ilk__gateway_arg(round->request, 0), nothing, nothing, zero);
}

void ilk__quorum_inspect_leader(ilk__quorum *quorum,
                                ilk__gateway_request *request)
{
    ilk__round_begin(quorum, request, ask_for_inspection, decide_inspection);
}

/* ---- observers ----------------------------------------------------------- */

enum {
    OBSERVE_KNOWN,
    OBSERVE_VACANT,
    OBSERVE_ENTRY,
    OBSERVE_CLIENT,
    OBSERVE_LIVENESS
};

/* `known` is `term version`, `term -` for a term whose leader is gone, or ''. A node
 * that has missed a proclamation must not take the observer back to an older value. */
static int is_news(const ilk__round *round, const ilk__reply *leader)
{
    const ilk__bytes known = ilk__gateway_arg(round->request, OBSERVE_KNOWN);
    ilk__span version = {known.data, known.len},
              term = ilk__text_cut(&version, ' ', NULL);
    const int64_t known_term = ilk__text_number(term, ILK__SCRIPT_INT_MAX);
    int was_gone = ilk__text_equals(version, "-");

    if (!leader)
        return !was_gone && is_vacant(round)
               && ilk__gateway_number_arg(round->request, OBSERVE_VACANT) == 1;
    if (ilk__script_int(leader, AT_TERM) != known_term)
        return ilk__script_int(leader, AT_TERM) > known_term;
    return was_gone
           || ilk__script_int(leader, AT_VERSION)
                  > ilk__text_number(version, ILK__SCRIPT_INT_MAX);
}

static void decide_observation(ilk__round *round, int is_last)
{
    const ilk__reply *leader = find_leader(round);
    int waits = ilk__gateway_arg(round->request, OBSERVE_ENTRY).len != 0;

    if (is_last ? ilk__round_count(round, ILK__CODE_STATE)
                      < ilk__quorum_majority(round->quorum)
                : !leader && !is_vacant(round))
        return;
    if (is_news(round, leader)) {
        say_state(round, leader, NULL);
        return;
    }
    ilk__gateway_reply(round->request,
                       waits ? ILK__CODE_QUEUED : ILK__CODE_BUSY, "iii",
                       next_end(round), ilk__quorum_now_us(), (int64_t)1);
    round->request = NULL;
}

static void ask_for_observer(ilk__round *round)
{
    const ilk__gateway_request *request = round->request;
    const ilk__bytes zero = {(char *)"0", 1};

    ask(round, zero, ilk__gateway_arg(request, OBSERVE_ENTRY),
        ilk__gateway_arg(request, OBSERVE_CLIENT),
        ilk__gateway_arg(request, OBSERVE_LIVENESS));
}

void ilk__quorum_observe(ilk__quorum *quorum, ilk__gateway_request *request)
{
    ilk__round_begin(quorum, request, ask_for_observer, decide_observation);
}

/* An entry that a node no longer has was woken there. */
static int is_gone(const ilk__round *round, size_t entry)
{
    const size_t at = 3 + 3 * entry;

    for (size_t i = 0; i < round->quorum->count; i++) {
        const ilk__reply *one = round->replies[i];

        if (one && at + 1 < one->count
            && ilk__script_int(one, at) == ILK__CODE_GONE)
            return 1;
    }
    return 0;
}

/* Without a majority the round fails, so that waits take it for an outage. */
static void decide_refresh(ilk__round *round, int is_last)
{
    const size_t entries = round->request->arg_count - ILK__REFRESH_HEAD;
    ilk__buf text = {0};

    (void)is_last;
    if (ilk__round_replies(round) < ilk__quorum_majority(round->quorum))
        return;
    (void)ilk__resp_add(&text,
                        "*%zu\r\n:%" PRId64 "\r\n:-2\r\n:%" PRId64 "\r\n:1\r\n",
                        4 + 3 * entries,
                        ilk__reply_head(round->request->number, ILK__CODE_BUSY),
                        ilk__quorum_now_us());
    for (size_t i = 0; i < entries; i++)
        (void)ilk__resp_add(&text, ":%d\r\n:0\r\n:0\r\n",
                            is_gone(round, i) ? ILK__CODE_GONE
                                              : ILK__CODE_QUEUED);
    send(round, &text);
}

void ilk__quorum_refresh_observers(ilk__quorum *quorum,
                                   ilk__gateway_request *request)
{
    ilk__round_begin(quorum, request, ilk__round_pass_on, decide_refresh);
}

/* The reply does not depend on the nodes. */
static void decide_cancel(ilk__round *round, int is_last)
{
    (void)is_last;
    ilk__gateway_reply(round->request, ILK__CODE_GONE, "");
    round->request = NULL;
}

void ilk__quorum_cancel_observer(ilk__quorum *quorum,
                                 ilk__gateway_request *request)
{
    ilk__round_begin(quorum, request, ilk__round_pass_on, decide_cancel);
}
