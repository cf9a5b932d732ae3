/* SPDX-License-Identifier: MIT */
/*
 * quorum_attempts.c -- attempts and holds: sends what quorum_votes.c returns, gives
 * it the replies, and replies to the core what it decides.
 */
#include "quorum_internal.h"

#include "base/backoff.h"
#include "wait/lease.h"
#include "wait/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Half of the range of fences; the clock gets there in the year 2112. A greater stamp
 * comes from a faulty node, and is ignored. */
static const int64_t STAMP_END = INT64_C(1) << 52;

int64_t ilk__quorum_now_us(void)
{
    return ilk__now_ms() * 1000;
}

/* ---- what is known of the holder ----------------------------------------- */

void ilk__attempt_note_holder(ilk__attempt *attempt, size_t node,
                              int64_t sent_at, int64_t pttl, int ours)
{
    attempt->holder_ends[node] = pttl == -2 ? sent_at
                                 : pttl < 0 ? ILK__FOREVER
                                            : sent_at + pttl;
    attempt->ours[node] = ours;
}

/* The earliest end of a lease at any node: one free vote may make a majority. */
int64_t ilk__attempt_holder_ms(const ilk__attempt *attempt, int64_t now)
{
    int64_t end = ILK__FOREVER;

    for (size_t i = 0; i < attempt->quorum->count; i++)
        end = ilk__sooner(end, attempt->holder_ends[i]);
    if (end == ILK__FOREVER)
        return -1;
    return end > now ? end - now : 0;
}

int ilk__attempt_is_ours(const ilk__attempt *attempt)
{
    int ours = 1;

    for (size_t i = 0; i < attempt->quorum->count; i++)
        ours = ours && attempt->ours[i];
    return ours;
}

/* The longest lease whose end, as the core counts it, is not after ours. */
int64_t ilk__attempt_lease(const ilk__attempt *attempt, int64_t since)
{
    const int64_t until = ilk__votes_until(&attempt->votes);
    int64_t lease = (until - since + ILK__DRIFT_MS) * 100 / 99;

    if (lease > attempt->lease_ms)
        lease = attempt->lease_ms;
    while (lease > 0 && ilk__lease_deadline(since, lease) > until)
        lease--;
    return lease > 0 ? lease : 0;
}

/* ---- sending ------------------------------------------------------------- */

static ilk__node_call_ended voted;

static void send_vote(ilk__attempt *attempt, const ilk__vote_command *what)
{
    if (ilk__attempt_send(attempt, what, voted)) {
        attempt->calls++;
        attempt->asked[what->node] = 1;
    } else {
        ilk__votes_silent(&attempt->votes, what->node);
    }
}

/* ---- replies of nodes ---------------------------------------------------- */

/* 0 where the reply of this code has no such element. */
static int64_t number_at(const ilk__reply *reply, size_t index)
{
    return index + 1 < reply->count ? ilk__script_int(reply, index) : 0;
}

/* The next stamp is above this stamp or fence. */
static void exceed(ilk__quorum *quorum, int64_t seen)
{
    if (seen > quorum->last_stamp && seen < STAMP_END)
        quorum->last_stamp = seen;
}

static void take_vote(ilk__attempt *attempt, ilk__quorum_node *node,
                      const ilk__node_call *call, const ilk__reply *reply)
{
    const ilk__vote_reply vote = {.code = ilk__script_code(reply),
                                  .lease_ms = number_at(reply, 0),
                                  .fence = number_at(reply, 1),
                                  .stamp = number_at(reply, 3)};
    int acquires = call->script == ILK__SCRIPT_QUORUM_ACQUIRE;

    if (vote.code == ILK__CODE_QUEUED || vote.code == ILK__CODE_BUSY)
        ilk__attempt_note_holder(attempt, node->number, call->sent_at,
                                 vote.lease_ms, (int)number_at(reply, 2));
    if (acquires && vote.code == ILK__CODE_QUEUED)
        exceed(attempt->quorum, vote.stamp);
    if (vote.code == ILK__CODE_HELD)
        exceed(attempt->quorum, vote.fence);
    if (vote.code == ILK__CODE_REFUSED)
        ilk__members_refused(&attempt->quorum->members, node->number);
    ilk__votes_reply(&attempt->votes, node->number, &vote);
}

static int voted(void *at, void *owner, const ilk__node_call *call,
                 ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    ilk__attempt *attempt = owner;

    attempt->calls--;
    if (attempt->state == ILK__ATTEMPT_ENDED)
        return 0;
    if (reply && reply->type == ILK__REPLY_ERROR)
        snprintf(attempt->why, sizeof attempt->why, "%s", reply->str);
    if (!reply || reply->type == ILK__REPLY_ERROR)
        ilk__votes_silent(&attempt->votes, node->number);
    else
        take_vote(attempt, node, call, reply);
    ilk__attempt_go_on(attempt);
    return 0;
}

/* ---- giving up ----------------------------------------------------------- */

static void reply_to_release(ilk__attempt *attempt)
{
    const ilk__quorum *quorum = attempt->quorum;
    const size_t majority = ilk__quorum_majority(quorum);
    char text[ILK_ERROR_MAX];

    if (!attempt->request)
        return;
    if (attempt->released >= majority) {
        ilk__gateway_reply(attempt->request, ILK__CODE_RELEASED, "ii",
                           (int64_t)0, (int64_t)0);
    } else if (attempt->gone > quorum->count - majority) {
        ilk__gateway_reply(attempt->request, ILK__CODE_LOST, "iis", (int64_t)0,
                           (int64_t)0, ILK__NO_RECORD);
    } else if (attempt->calls == 0) {
        ilk__quorum_write_why(quorum, "NOQUORUM", text);
        ilk__gateway_reply_error(attempt->request, text);
    } else {
        return;
    }
    attempt->request = NULL;
}

static int is_settled(const ilk__attempt *attempt)
{
    for (size_t i = 0; i < attempt->quorum->count; i++)
        if (attempt->unsettled[i])
            return 0;
    return 1;
}

/* No reply is to come for it any more. It is freed at the end of the turn. */
static void bury_if_settled(ilk__attempt *attempt)
{
    if (attempt->calls || !is_settled(attempt))
        return;
    ilk__attempt_take_out(&attempt->quorum->owed, attempt);
    ilk__attempt_put(&attempt->quorum->dead, attempt);
}

static int settled(void *at, void *owner, const ilk__node_call *call,
                   ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    ilk__attempt *attempt = owner;

    (void)call;
    attempt->calls--;
    if (!reply)
        attempt->was_cut = 1;
    if (!reply && attempt->is_superseded)
        attempt->unsettled[node->number] = 0;
    if (reply && reply->type != ILK__REPLY_ERROR
        && attempt->unsettled[node->number]) {
        int code = ilk__script_code(reply);

        attempt->unsettled[node->number] = 0;
        attempt->released += code == ILK__CODE_RELEASED;
        attempt->gone += code == ILK__CODE_GONE;
    }
    reply_to_release(attempt);
    bury_if_settled(attempt);
    return 0;
}

/* Let the attempt leave the node's queue, and give up its vote. */
static void send_cancel(ilk__attempt *attempt, ilk__quorum_node *node)
{
    if (!node->calls.connection.up)
        attempt->was_cut = 1;
    else
        attempt->calls +=
            (size_t)ilk__attempt_send_cancel(attempt, node, settled);
}

/* Its remains at the nodes end with its lease, or with that of a grant. */
static void end(ilk__attempt *attempt)
{
    ilk__quorum *quorum = attempt->quorum;
    const int64_t most =
        attempt->lease_ms > ILK__GRANT_MS ? attempt->lease_ms : ILK__GRANT_MS;

    attempt->state = ILK__ATTEMPT_ENDED;
    attempt->forget_at = ilk__now_ms() + most + most / 100 + ILK__DRIFT_MS;
    ilk__attempt_take_out(&quorum->live, attempt);
    ilk__attempt_put(&quorum->owed, attempt);
    attempt->calls++; /* so that it is not buried before all are sent */
    for (size_t i = 0; i < quorum->count; i++) {
        attempt->unsettled[i] = attempt->asked[i];
        attempt->gone += !attempt->asked[i];
        if (attempt->asked[i])
            send_cancel(attempt, &quorum->nodes[i]);
    }
    attempt->calls--;
}

/* End it at all nodes. The core's token stands for it no longer. */
static void give_up(ilk__attempt *attempt)
{
    ilk__attempt_forget_token(attempt);
    end(attempt);
    bury_if_settled(attempt);
}

void ilk__attempt_release(ilk__attempt *attempt, ilk__gateway_request *request)
{
    ilk__attempt_note_over(attempt);
    if (attempt->request) /* a fork of the program may have sent it */
        ilk__gateway_break(attempt->request);
    attempt->request = request;
    ilk__attempt_forget_token(attempt);
    end(attempt);
    reply_to_release(attempt);
    bury_if_settled(attempt);
}

/* Its lease has ended, or somebody else goes on with it under its token: no node gets a
 * cancel. */
static void drop(ilk__attempt *attempt)
{
    ilk__attempt_forget_token(attempt);
    memset(attempt->asked, 0, sizeof attempt->asked);
    end(attempt);
    bury_if_settled(attempt);
}

/* ---- replies to the core ------------------------------------------------- */

static void say_held(ilk__attempt *attempt)
{
    ilk__gateway_request *request = attempt->request;

    attempt->request = NULL;
    if (request->script == ILK__SCRIPT_ELECTION_PROCLAIM) {
        ilk__gateway_reply(request, ILK__CODE_WRITTEN, "");
        return;
    }
    ilk__gateway_reply(request, ILK__CODE_HELD, "iii",
                       ilk__attempt_lease(attempt, attempt->request_at),
                       attempt->votes.fence, ilk__quorum_now_us());
}

static void say_wait(ilk__attempt *attempt, int code)
{
    ilk__gateway_request *request = attempt->request;

    attempt->request = NULL;
    ilk__gateway_reply(
        request, code, "iii", ilk__attempt_holder_ms(attempt, ilk__now_ms()),
        ilk__quorum_now_us(), (int64_t)ilk__attempt_is_ours(attempt));
}

static void say_error(ilk__attempt *attempt, const char *word)
{
    ilk__gateway_request *request = attempt->request;
    char text[ILK_ERROR_MAX];

    attempt->request = NULL;
    ilk__quorum_write_why(attempt->quorum, word, text);
    ilk__gateway_reply_error(request, attempt->why[0] ? attempt->why : text);
}

/* In the form of a node's message to the waiter; see scripts/include/send_grant.lua.
 * A wait that does not get it finds the hold by its next refresh. */
static void publish_grant(const ilk__attempt *attempt)
{
    const ilk__hold_words *words = &attempt->words;
    char channel[256], text[1024];
    int channel_len, len;

    channel_len =
        snprintf(channel, sizeof channel, "ilk:inbox:%s", words->client.data);
    len = snprintf(
        text, sizeof text, "1 grant %s %s %" PRId64 " %" PRId64 " %" PRId64 " ",
        words->waiter.data, words->token.data, attempt->votes.fence,
        ilk__attempt_lease(attempt, ilk__now_ms()), ilk__quorum_now_us());
    if (channel_len >= (int)sizeof channel
        || (size_t)len + words->keys[0].len >= sizeof text)
        return;
    memcpy(text + len, words->keys[0].data, words->keys[0].len);
    (void)ilk__gateway_publish(
        attempt->quorum->gateway, (ilk__span){NULL, 0},
        (ilk__span){channel, (size_t)channel_len},
        (ilk__span){text, (size_t)len + words->keys[0].len});
}

/* ---- deciding ------------------------------------------------------------ */

static void become_held(ilk__attempt *attempt)
{
    attempt->state = ILK__ATTEMPT_HOLDS;
    if (attempt->request)
        say_held(attempt);
    else
        publish_grant(attempt);
}

/* The nodes that have granted get their votes back, and the attempt asks again under a
 * fresh token: a late confirmation or yield under the old one finds no vote. */
static void try_again(ilk__attempt *attempt)
{
    int pause_ms = attempt->pause_ms;
    ilk__gateway_request *request = attempt->request;
    ilk__attempt *next;

    attempt->request = NULL;
    give_up(attempt);
    attempt->begin_at = ilk__now_ms() + ilk__request_pause_ms(&pause_ms);
    next = ilk__attempt_new(attempt->quorum, &attempt->words, pause_ms);
    if (!next) {
        if (request)
            ilk__gateway_break(request);
        return;
    }
    next->lease_ms = attempt->lease_ms;
    next->floor = attempt->floor;
    next->stamp = attempt->stamp;
    next->value = attempt->value;
    next->version = attempt->version;
    attempt->value = (ilk__bytes){NULL, 0};
    next->waits = attempt->waits;
    next->is_queued = attempt->is_queued;
    next->request = request;
    next->request_at = attempt->request_at;
    next->begin_at = attempt->begin_at;
    next->state = ILK__ATTEMPT_PAUSES;
}

/* It is in so many queues that each majority has one of them, or no reply is to come. */
static int is_placed(const ilk__attempt *attempt)
{
    size_t placed = 0, open = 0;

    for (size_t i = 0; i < attempt->votes.count; i++) {
        placed += (size_t)(attempt->votes.nodes[i].state == ILK__VOTE_WAITS);
        open += (size_t)(attempt->votes.nodes[i].sent != ILK__SCRIPT_NONE);
    }
    return open == 0
           || placed > attempt->votes.count
                           - ilk__quorum_majority(attempt->quorum);
}

/* When to reply that too few nodes vote. */
static int64_t patience_of(const ilk__attempt *attempt)
{
    const ilk__quorum *quorum = attempt->quorum;

    return ilk__quorum_may_any_come(quorum)
               ? attempt->request_at + ILK__QUORUM_COMING_MS
               : 0;
}

/* A wait that has its place goes on when the nodes are back; else the core tries
 * again as in any outage. */
static void lack_quorum(ilk__attempt *attempt)
{
    int holds = attempt->state == ILK__ATTEMPT_HOLDS;

    if (!attempt->request
        || (!attempt->why[0] && patience_of(attempt) > ilk__now_ms()))
        return;
    say_error(attempt, "NOQUORUM");
    if (!holds)
        give_up(attempt);
}

static void lose(ilk__attempt *attempt, ilk__decision decision)
{
    ilk__gateway_request *request = attempt->request;

    if (!request) {
        drop(attempt);
        return;
    }
    if (decision == ILK__DECISION_OVER) {
        say_error(attempt, "NOQUORUM");
    } else {
        attempt->request = NULL;
        ilk__gateway_reply_lost(request);
    }
    give_up(attempt);
}

static void act(ilk__attempt *attempt, ilk__decision decision)
{
    int tries = attempt->state == ILK__ATTEMPT_TRIES;

    switch (decision) {
    case ILK__DECISION_NONE:
        if (tries && attempt->waits && attempt->request && is_placed(attempt)) {
            attempt->is_queued = 1;
            say_wait(attempt, ILK__CODE_QUEUED);
        }
        break;
    case ILK__DECISION_HELD:
        if (tries)
            become_held(attempt);
        else if (attempt->request)
            say_held(attempt);
        break;
    case ILK__DECISION_BUSY:
        if (attempt->request)
            say_wait(attempt, ILK__CODE_BUSY);
        give_up(attempt);
        break;
    case ILK__DECISION_AGAIN: try_again(attempt); break;
    case ILK__DECISION_LOST:
    case ILK__DECISION_OVER: lose(attempt, decision); break;
    case ILK__DECISION_NOQUORUM: lack_quorum(attempt); break;
    }
}

void ilk__attempt_go_on(ilk__attempt *attempt)
{
    ilk__vote_command command;
    ilk__decision decision;
    ilk__votes_phase phase;

    if (attempt->state != ILK__ATTEMPT_TRIES
        && attempt->state != ILK__ATTEMPT_HOLDS)
        return;
    do {
        phase = attempt->votes.phase;
        while (ilk__votes_next(&attempt->votes, ilk__now_ms(), &command))
            send_vote(attempt, &command);
        decision = ilk__votes_decide(&attempt->votes, ilk__now_ms());
    } while (decision == ILK__DECISION_NONE && attempt->votes.phase != phase);
    act(attempt, decision);
}

/* ---- from the core ------------------------------------------------------- */

static void ask_all(ilk__attempt *attempt)
{
    const ilk__quorum *quorum = attempt->quorum;

    attempt->state = ILK__ATTEMPT_TRIES;
    ilk__votes_begin(&attempt->votes, quorum->count, attempt->waits,
                     attempt->words.kind == &ilk__quorum_lock);
    for (size_t i = 0; i < quorum->count; i++)
        if (!ilk__quorum_takes_part(&quorum->nodes[i]))
            ilk__votes_silent(&attempt->votes, i);
    ilk__attempt_go_on(attempt);
}

/* Each stamp is above the ones before it, and above those that nodes have shown: the
 * queues are ordered by them. */
static int64_t next_stamp(ilk__quorum *quorum)
{
    struct timespec now;
    int64_t us;

    clock_gettime(CLOCK_REALTIME, &now);
    us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    quorum->last_stamp = us > quorum->last_stamp ? us : quorum->last_stamp + 1;
    return quorum->last_stamp;
}

void ilk__attempt_begin(ilk__attempt *attempt, ilk__gateway_request *request)
{
    attempt->request = request;
    attempt->request_at = ilk__now_ms();
    attempt->stamp = next_stamp(attempt->quorum);
    ask_all(attempt);
}

static void confirm_anew(ilk__attempt *attempt, ilk__gateway_request *request,
                         int keeps_leases)
{
    attempt->request = request;
    attempt->request_at = ilk__now_ms();
    attempt->votes.keeps_leases = keeps_leases;
    attempt->votes.shortest_ms =
        keeps_leases || attempt->renews ? 0 : attempt->lease_ms;
    ilk__votes_extend(&attempt->votes);
    ilk__attempt_reach_all(attempt);
    ilk__attempt_go_on(attempt);
}

void ilk__attempt_extend(ilk__attempt *attempt, ilk__gateway_request *request)
{
    confirm_anew(attempt, request, 0);
}

void ilk__attempt_publish(ilk__attempt *attempt, ilk__gateway_request *request)
{
    confirm_anew(attempt, request, 1);
}

int ilk__attempt_is_held(const ilk__attempt *attempt)
{
    return attempt->state == ILK__ATTEMPT_HOLDS
           && ilk__votes_until(&attempt->votes) > ilk__now_ms();
}

void ilk__attempt_reach_all(ilk__attempt *attempt)
{
    const ilk__quorum *quorum = attempt->quorum;

    for (size_t i = 0; i < quorum->count; i++)
        if (ilk__quorum_takes_part(&quorum->nodes[i])
            && attempt->votes.nodes[i].sent == ILK__SCRIPT_NONE)
            ilk__votes_reachable(&attempt->votes, i);
}

/* ---- from the nodes ------------------------------------------------------ */

void ilk__attempts_reach(ilk__quorum_node *node)
{
    ilk__quorum *quorum = node->quorum;
    ilk__attempt *next;

    for (ilk__attempt *one = quorum->owed.first; one; one = next) {
        next = one->next;
        if (one->unsettled[node->number])
            send_cancel(one, node);
    }
    for (ilk__attempt *one = quorum->live.first; one; one = next) {
        next = one->next;
        if (one->state == ILK__ATTEMPT_PAUSES)
            continue;
        ilk__votes_reachable(&one->votes, node->number);
        ilk__votes_gone(&one->votes, node->number);
        ilk__attempt_go_on(one);
    }
}

void ilk__attempts_miss(ilk__quorum_node *node)
{
    ilk__attempt *next;

    for (ilk__attempt *one = node->quorum->live.first; one; one = next) {
        next = one->next;
        if (one->state == ILK__ATTEMPT_PAUSES)
            continue;
        if (one->votes.nodes[node->number].sent == ILK__SCRIPT_NONE)
            ilk__votes_silent(&one->votes, node->number);
        ilk__attempt_go_on(one);
    }
}

/* ---- time ---------------------------------------------------------------- */

static void free_all(ilk__attempt_list *list)
{
    ilk__attempt *one;

    while ((one = list->first)) {
        ilk__attempt_take_out(list, one);
        ilk__attempt_dispose(one);
    }
}

static int64_t due_of(const ilk__attempt *attempt, int64_t now)
{
    int64_t due = ilk__votes_wake_at(&attempt->votes, now);

    if (attempt->state == ILK__ATTEMPT_PAUSES)
        return attempt->begin_at;
    if (attempt->request && patience_of(attempt) > now)
        due = ilk__sooner(due, patience_of(attempt));
    return due;
}

/* A hold whose lease has ended, without a request under way. */
static int is_past(const ilk__attempt *attempt, int64_t now)
{
    return attempt->state == ILK__ATTEMPT_HOLDS && !attempt->request
           && ilk__votes_until(&attempt->votes) <= now;
}

void ilk__attempts_fire(ilk__quorum *quorum, int64_t now)
{
    ilk__attempt *next;

    for (ilk__attempt *one = quorum->live.first; one; one = next) {
        next = one->next;
        if (is_past(one, now))
            drop(one);
        else if (one->state != ILK__ATTEMPT_PAUSES)
            ilk__attempt_go_on(one);
        else if (one->begin_at <= now)
            ask_all(one);
    }
    while (quorum->owed.first && quorum->owed.first->calls == 0
           && (quorum->owed.first->forget_at <= now
               || quorum->owed.count > ILK__OWED_MOST)) {
        ilk__attempt *first = quorum->owed.first;

        ilk__attempt_take_out(&quorum->owed, first);
        ilk__attempt_put(&quorum->dead, first);
    }
    free_all(&quorum->dead);
}

int64_t ilk__attempts_due(const ilk__quorum *quorum, int64_t now)
{
    int64_t until = quorum->owed.first ? now + 1000 : ILK__FOREVER;

    for (const ilk__attempt *one = quorum->live.first; one; one = one->next)
        until = ilk__sooner(until, due_of(one, now));
    return until;
}

void ilk__attempts_free(ilk__quorum *quorum)
{
    for (ilk__attempt *one = quorum->live.first; one; one = one->next)
        if (one->request)
            ilk__gateway_break(one->request);
    for (ilk__attempt *one = quorum->owed.first; one; one = one->next)
        if (one->request)
            ilk__gateway_break(one->request);
    free_all(&quorum->live);
    free_all(&quorum->owed);
    free_all(&quorum->dead);
    ilk__table_free(&quorum->by_token);
    ilk__table_free(&quorum->by_inner);
}
