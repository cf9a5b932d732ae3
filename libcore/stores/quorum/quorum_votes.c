/* SPDX-License-Identifier: MIT */
/* quorum_votes.c -- the votes of an attempt and of a hold over several nodes. */
#include "quorum_votes.h"

#include "base/clock.h"
#include "redis/script.h"
#include "wait/lease.h"

#include <string.h>

static size_t majority(const ilk__votes *votes)
{
    return votes->count / 2 + 1;
}

/* The end of a lease as the holder counts it, from before its command. */
static int64_t end_of(int64_t began, int64_t lease_ms)
{
    if (lease_ms < 0)
        lease_ms = 0;
    if (lease_ms > ILK__LEASE_MAX_MS)
        lease_ms = ILK__LEASE_MAX_MS;
    return began + lease_ms - lease_ms / 100 - ILK__DRIFT_MS;
}

void ilk__votes_begin(ilk__votes *votes, size_t count, int waits, int reserves)
{
    memset(votes, 0, sizeof *votes);
    votes->count = count;
    votes->waits = waits;
    votes->reserves = reserves;
    for (size_t i = 0; i < count; i++)
        votes->nodes[i].sent = ILK__SCRIPT_NONE;
}

/* ---- counting ----------------------------------------------------------- */

static int is_granted(const ilk__vote *vote, int64_t now)
{
    return vote->state == ILK__VOTE_GRANTED && vote->until > now
           && vote->sent != ILK__SCRIPT_QUORUM_YIELD;
}

static int is_confirmed(const ilk__vote *vote, int64_t now)
{
    return vote->state == ILK__VOTE_CONFIRMED && vote->until > now;
}

/* Its confirmation may still come. */
static int may_confirm(const ilk__vote *vote, int64_t now)
{
    return vote->takes_part && !vote->away && is_granted(vote, now);
}

/* The node replies, and its vote may become ours. */
static int may_grant(const ilk__vote *vote, int64_t now)
{
    (void)now;
    return !vote->away && vote->state != ILK__VOTE_REFUSED
           && vote->state != ILK__VOTE_BUSY;
}

static int can_be_asked(const ilk__vote *vote, int64_t now)
{
    (void)now;
    return !vote->away && vote->state != ILK__VOTE_REFUSED;
}

/* This round of an extension: the node has replied that the vote is not ours. One
 * that may not vote has replied nothing about it. */
static int has_denied(const ilk__vote *vote, int64_t now)
{
    (void)now;
    return vote->lost
           || (vote->answered && !vote->away && vote->state != ILK__VOTE_REFUSED
               && vote->state != ILK__VOTE_CONFIRMED
               && vote->state != ILK__VOTE_GRANTED);
}

static int has_extended(const ilk__vote *vote, int64_t now)
{
    return vote->answered && is_confirmed(vote, now);
}

static int has_extended_its_own(const ilk__vote *vote, int64_t now)
{
    return !vote->retaken && has_extended(vote, now);
}

/* Its reply in this round may still come. */
static int may_extend(const ilk__vote *vote, int64_t now)
{
    (void)now;
    return !vote->away && (vote->due || vote->sent != ILK__SCRIPT_NONE);
}

static size_t count_of(const ilk__votes *votes, int64_t now,
                       int (*is)(const ilk__vote *, int64_t))
{
    size_t number = 0;

    for (size_t i = 0; i < votes->count; i++)
        number += (size_t)is(&votes->nodes[i], now);
    return number;
}

int64_t ilk__nth_greatest(int64_t *numbers, size_t count, size_t nth)
{
    if (count < nth)
        return 0;
    for (size_t i = 1; i < count; i++) {
        const int64_t number = numbers[i];
        size_t place = i;

        for (; place > 0 && numbers[place - 1] < number; place--)
            numbers[place] = numbers[place - 1];
        numbers[place] = number;
    }
    return numbers[nth - 1];
}

int64_t ilk__votes_until(const ilk__votes *votes)
{
    int64_t ends[ILK__QUORUM_MOST];
    size_t number = 0;

    for (size_t i = 0; i < votes->count; i++)
        if (votes->nodes[i].state == ILK__VOTE_CONFIRMED)
            ends[number++] = votes->nodes[i].until;
    return ilk__nth_greatest(ends, number, majority(votes));
}

/* ---- deciding ----------------------------------------------------------- */

/* The fence of the hold is the greatest that came with the votes of this moment; a vote
 * that is granted later takes no part in the confirmation. */
static void begin_to_confirm(ilk__votes *votes, int64_t now)
{
    votes->phase = ILK__VOTES_CONFIRMS;
    votes->yield_at = 0;
    for (size_t i = 0; i < votes->count; i++) {
        ilk__vote *vote = &votes->nodes[i];

        vote->due = 0;
        vote->takes_part = is_granted(vote, now);
        if (vote->takes_part && vote->given > votes->fence)
            votes->fence = vote->given;
    }
}

static int is_reserved(const ilk__vote *vote, int64_t now)
{
    return is_granted(vote, now) && vote->is_reserved;
}

/* Hold at once with this fence, if a majority has reserved its vote with it. */
static int hold_reserved(ilk__votes *votes, int64_t fence, int64_t now)
{
    size_t number = 0;

    for (size_t i = 0; i < votes->count; i++)
        number += (size_t)(is_reserved(&votes->nodes[i], now)
                           && votes->nodes[i].given == fence);
    if (number < majority(votes))
        return 0;
    for (size_t i = 0; i < votes->count; i++)
        if (is_reserved(&votes->nodes[i], now)
            && votes->nodes[i].given == fence)
            votes->nodes[i].state = ILK__VOTE_CONFIRMED;
    votes->fence = fence;
    votes->phase = ILK__VOTES_HOLDS;
    votes->yield_at = 0;
    return 1;
}

static int hold_without_confirming(ilk__votes *votes, int64_t now)
{
    if (!votes->reserves || votes->has_yielded)
        return 0;
    for (size_t i = 0; i < votes->count; i++)
        if (is_reserved(&votes->nodes[i], now)
            && hold_reserved(votes, votes->nodes[i].given, now))
            return 1;
    return 0;
}

static void plan_to_yield(ilk__votes *votes, int64_t now)
{
    if (!votes->waits || count_of(votes, now, is_granted) == 0)
        votes->yield_at = 0;
    else if (votes->yield_at == 0)
        votes->yield_at = now + ILK__YIELD_FIRST_MS;
}

static ilk__decision decide_to_confirm(ilk__votes *votes, int64_t now)
{
    if (hold_without_confirming(votes, now))
        return ILK__DECISION_HELD;
    if (count_of(votes, now, is_granted) >= majority(votes)) {
        begin_to_confirm(votes, now);
        return ILK__DECISION_NONE;
    }
    plan_to_yield(votes, now);
    if (count_of(votes, now, can_be_asked) < majority(votes))
        return ILK__DECISION_NOQUORUM;
    if (!votes->waits && count_of(votes, now, may_grant) < majority(votes))
        return ILK__DECISION_BUSY;
    return ILK__DECISION_NONE;
}

static ilk__decision decide_to_hold(ilk__votes *votes, int64_t now)
{
    size_t confirmed = count_of(votes, now, is_confirmed);

    if (confirmed >= majority(votes)) {
        votes->phase = ILK__VOTES_HOLDS;
        return ILK__DECISION_HELD;
    }
    if (confirmed + count_of(votes, now, may_confirm) < majority(votes))
        return ILK__DECISION_AGAIN;
    return ILK__DECISION_NONE;
}

static void note_extended(ilk__votes *votes)
{
    votes->is_extended = 1;
    for (size_t i = 0; i < votes->count; i++)
        votes->nodes[i].retaken = 0;
}

static ilk__decision decide_to_keep(ilk__votes *votes, int64_t now)
{
    int in_time = now < votes->round_until;
    size_t extended =
        count_of(votes, now, in_time ? has_extended : has_extended_its_own);

    if (!votes->extends)
        return ilk__votes_until(votes) > now ? ILK__DECISION_HELD
                                             : ILK__DECISION_OVER;
    if (extended >= majority(votes)) {
        note_extended(votes);
        return ILK__DECISION_HELD;
    }
    if (count_of(votes, now, has_denied) > votes->count - majority(votes))
        return ILK__DECISION_LOST;
    if (!in_time)
        return ILK__DECISION_OVER;
    if (extended + count_of(votes, now, may_extend) < majority(votes))
        return ILK__DECISION_NOQUORUM;
    return ILK__DECISION_NONE;
}

ilk__decision ilk__votes_decide(ilk__votes *votes, int64_t now)
{
    if (votes->phase == ILK__VOTES_COLLECTS) {
        ilk__decision decision = decide_to_confirm(votes, now);

        if (votes->phase != ILK__VOTES_CONFIRMS)
            return decision;
    }
    if (votes->phase == ILK__VOTES_CONFIRMS)
        return decide_to_hold(votes, now);
    return decide_to_keep(votes, now);
}

/* ---- commands ------------------------------------------------------------ */

/* A vote whose lease has ended for us is acquired again: the retry finds out whether the
 * node still has it. An attempt in a queue waits for a message. */
static int script_to_collect(const ilk__votes *votes, ilk__vote *vote,
                             int64_t now)
{
    if (vote->state == ILK__VOTE_GRANTED && vote->until <= now) {
        vote->state = ILK__VOTE_UNASKED;
        vote->due = 0;
    }
    if (vote->state == ILK__VOTE_UNASKED)
        return ILK__SCRIPT_QUORUM_ACQUIRE;
    if (votes->yield_at && vote->due && is_granted(vote, now))
        return ILK__SCRIPT_QUORUM_YIELD;
    return ILK__SCRIPT_NONE;
}

static int script_to_extend(const ilk__vote *vote)
{
    if (!vote->due)
        return ILK__SCRIPT_NONE;
    if (vote->state == ILK__VOTE_CONFIRMED || vote->state == ILK__VOTE_GRANTED)
        return ILK__SCRIPT_QUORUM_CONFIRM;
    return ILK__SCRIPT_QUORUM_ACQUIRE;
}

static int script_for(const ilk__votes *votes, ilk__vote *vote, int64_t now)
{
    if (vote->sent != ILK__SCRIPT_NONE || vote->away)
        return ILK__SCRIPT_NONE;
    switch (votes->phase) {
    case ILK__VOTES_COLLECTS: return script_to_collect(votes, vote, now);
    case ILK__VOTES_CONFIRMS:
        return may_confirm(vote, now) ? ILK__SCRIPT_QUORUM_CONFIRM
                                      : ILK__SCRIPT_NONE;
    case ILK__VOTES_HOLDS: return script_to_extend(vote);
    }
    return ILK__SCRIPT_NONE;
}

/* The time to yield has come: all votes are due, and the next time is later. */
static void begin_to_yield(ilk__votes *votes, int64_t now)
{
    votes->yield_pause_ms = votes->yield_pause_ms * 2 < ILK__YIELD_MOST_MS
                                ? votes->yield_pause_ms * 2
                                : ILK__YIELD_MOST_MS;
    if (votes->yield_pause_ms == 0)
        votes->yield_pause_ms = ILK__YIELD_FIRST_MS;
    votes->yield_at = now + votes->yield_pause_ms;
    for (size_t i = 0; i < votes->count; i++)
        votes->nodes[i].due = is_granted(&votes->nodes[i], now);
}

/* Only the first command to a node reserves: after a silence the node may have an older
 * grant of the attempt, which may have been yielded. */
static ilk__vote_mark mark_of(const ilk__votes *votes, const ilk__vote *vote)
{
    if (votes->phase == ILK__VOTES_HOLDS)
        return ILK__MARK_CONFIRMED;
    return votes->reserves && !votes->has_yielded && !vote->is_asked
               ? ILK__MARK_RESERVED
               : ILK__MARK_OPEN;
}

/* A command that shortens the lease may be executed without a reply. */
static void shorten(ilk__votes *votes, ilk__vote *vote, int64_t until)
{
    vote->until = ilk__sooner(vote->until, until);
    votes->round_until =
        ilk__sooner(votes->round_until, ilk__votes_until(votes));
}

int ilk__votes_next(ilk__votes *votes, int64_t now, ilk__vote_command *out)
{
    if (votes->phase == ILK__VOTES_COLLECTS && votes->yield_at
        && votes->yield_at <= now)
        begin_to_yield(votes, now);
    for (size_t i = 0; i < votes->count; i++) {
        ilk__vote *vote = &votes->nodes[i];
        int script = script_for(votes, vote, now);

        if (script == ILK__SCRIPT_NONE)
            continue;
        *out = (ilk__vote_command){.node = i,
                                   .script = script,
                                   .mark = mark_of(votes, vote),
                                   .given = vote->given,
                                   .fence = votes->fence};
        vote->sent = script;
        vote->sent_at = now;
        if (script == ILK__SCRIPT_QUORUM_CONFIRM && votes->shortest_ms)
            shorten(votes, vote, end_of(now, votes->shortest_ms));
        vote->mark = out->mark;
        vote->is_asked = 1;
        vote->due = 0;
        if (script == ILK__SCRIPT_QUORUM_YIELD)
            votes->has_yielded = 1;
        return 1;
    }
    return 0;
}

/* After a round without a majority the end is still that of the hold before it. */
void ilk__votes_extend(ilk__votes *votes)
{
    if (!votes->extends || votes->is_extended)
        votes->round_until = ilk__votes_until(votes);
    votes->extends = 1;
    votes->is_extended = 0;
    for (size_t i = 0; i < votes->count; i++) {
        ilk__vote *vote = &votes->nodes[i];

        vote->due = 1;
        vote->answered = vote->lost = 0;
        vote->stale = vote->sent != ILK__SCRIPT_NONE;
    }
}

/* ---- what comes in ------------------------------------------------------ */

/* Another grant than the one that was there when the attempt began to confirm takes
 * no part in that. */
static void set_granted(ilk__votes *votes, ilk__vote *vote,
                        const ilk__vote_reply *reply)
{
    if (vote->state != ILK__VOTE_GRANTED)
        votes->yield_pause_ms = 0;
    if (vote->given != reply->fence)
        vote->takes_part = 0;
    vote->state = ILK__VOTE_GRANTED;
    vote->given = reply->fence;
    vote->until = end_of(vote->sent_at, reply->lease_ms);
}

/* A vote that a holder takes again is confirmed by this reply, because the command has
 * set the mark. A late grant, for a command from before the hold, is confirmed by the
 * next extension. */
static void take_acquired(ilk__votes *votes, ilk__vote *vote,
                          const ilk__vote_reply *reply)
{
    switch (reply->code) {
    case ILK__CODE_HELD:
        set_granted(votes, vote, reply);
        vote->is_reserved = vote->mark == ILK__MARK_RESERVED;
        if (vote->mark == ILK__MARK_CONFIRMED) {
            vote->state = ILK__VOTE_CONFIRMED;
            vote->retaken = 1;
        }
        break;
    case ILK__CODE_QUEUED:
        if (vote->state == ILK__VOTE_UNASKED)
            vote->state = ILK__VOTE_WAITS;
        if (reply->stamp > votes->greatest)
            votes->greatest = reply->stamp;
        break;
    case ILK__CODE_BUSY: vote->state = ILK__VOTE_BUSY; break;
    default: vote->state = ILK__VOTE_REFUSED;
    }
}

/* A lease that the round leaves as it is ends no earlier than it did. */
static void take_confirmed(const ilk__votes *votes, ilk__vote *vote,
                           const ilk__vote_reply *reply)
{
    const int64_t until = end_of(vote->sent_at, reply->lease_ms);

    switch (reply->code) {
    case ILK__CODE_HELD:
        if (vote->state != ILK__VOTE_CONFIRMED || !votes->keeps_leases
            || until > vote->until)
            vote->until = until;
        vote->state = ILK__VOTE_CONFIRMED;
        break;
    case ILK__CODE_REFUSED: vote->state = ILK__VOTE_REFUSED; break;
    default: vote->state = ILK__VOTE_UNASKED;
    }
}

static void take_yielded(ilk__votes *votes, ilk__vote *vote,
                         const ilk__vote_reply *reply)
{
    if (reply->code == ILK__CODE_HELD) {
        vote->given = reply->fence;
        vote->until = end_of(vote->sent_at, reply->lease_ms);
        return;
    }
    vote->state =
        reply->code == ILK__CODE_QUEUED ? ILK__VOTE_WAITS : ILK__VOTE_UNASKED;
    votes->yield_pause_ms = 0;
}

/* In an extension, a lost vote is acquired again at once. The reply to a command from
 * before the extension does not count for it. */
static void note_answer(ilk__votes *votes, ilk__vote *vote, int script)
{
    if (!votes->extends || vote->stale) {
        vote->stale = 0;
        return;
    }
    vote->answered = 1;
    if (script == ILK__SCRIPT_QUORUM_CONFIRM
        && vote->state == ILK__VOTE_UNASKED) {
        vote->lost = 1;
        vote->answered = 0;
        vote->due = 1;
    }
}

void ilk__votes_reply(ilk__votes *votes, size_t node,
                      const ilk__vote_reply *reply)
{
    ilk__vote *vote = &votes->nodes[node];
    int script = vote->sent;

    if (script == ILK__SCRIPT_NONE)
        return;
    vote->sent = ILK__SCRIPT_NONE;
    vote->away = 0;
    if (script == ILK__SCRIPT_QUORUM_ACQUIRE)
        take_acquired(votes, vote, reply);
    else if (script == ILK__SCRIPT_QUORUM_CONFIRM)
        take_confirmed(votes, vote, reply);
    else
        take_yielded(votes, vote, reply);
    note_answer(votes, vote, script);
}

/* Another request for the vote is due: the node may execute a yield without a
 * reply, which takes the vote away. A confirmed vote stays confirmed until its lease ends. */
void ilk__votes_silent(ilk__votes *votes, size_t node)
{
    ilk__vote *vote = &votes->nodes[node];

    if (vote->state != ILK__VOTE_CONFIRMED)
        vote->state = ILK__VOTE_UNASKED;
    vote->sent = ILK__SCRIPT_NONE;
    vote->stale = 0;
    vote->away = 1;
    vote->due = 0;
}

void ilk__votes_reachable(ilk__votes *votes, size_t node)
{
    ilk__vote *vote = &votes->nodes[node];

    if (vote->state == ILK__VOTE_REFUSED)
        vote->state = ILK__VOTE_UNASKED;
    if (vote->away && votes->extends && !vote->answered)
        vote->due = 1;
    vote->away = 0;
}

void ilk__votes_granted(ilk__votes *votes, size_t node, int64_t given,
                        int64_t lease_ms, int64_t began)
{
    ilk__vote *vote = &votes->nodes[node];

    if (vote->state == ILK__VOTE_CONFIRMED
        || (vote->state == ILK__VOTE_GRANTED && vote->given >= given))
        return;
    vote->state = ILK__VOTE_GRANTED;
    vote->given = given;
    vote->until = end_of(began, lease_ms);
    vote->takes_part = 0;
    vote->is_reserved = 0;
    votes->yield_pause_ms = 0;
}

void ilk__votes_gone(ilk__votes *votes, size_t node)
{
    ilk__vote *vote = &votes->nodes[node];

    if (vote->state == ILK__VOTE_WAITS)
        vote->state = ILK__VOTE_UNASKED;
}

int64_t ilk__votes_wake_at(const ilk__votes *votes, int64_t now)
{
    int64_t at = ILK__FOREVER;

    if (votes->phase == ILK__VOTES_COLLECTS && votes->yield_at)
        at = votes->yield_at;
    if (votes->extends && !votes->is_extended)
        at = ilk__sooner(at, votes->round_until);
    for (size_t i = 0; i < votes->count; i++) {
        const ilk__vote *vote = &votes->nodes[i];

        if ((vote->state == ILK__VOTE_GRANTED
             || vote->state == ILK__VOTE_CONFIRMED)
            && vote->until > now)
            at = ilk__sooner(at, vote->until);
    }
    return at;
}
