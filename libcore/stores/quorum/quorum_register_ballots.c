/* SPDX-License-Identifier: MIT */
/*
 * quorum_register_ballots.c -- ballots: the next one of a proposal, and those
 * that the nodes have promised and accepted, as the replies of a round show.
 */
#include "quorum_registers_internal.h"

#include "base/token.h"

enum { LEAP = 16 };

/* The most that scripts/quorum/quorum_register_prepare.lua lets a counter rise by. Half of
 * it is enough for all steps of one proposal. */
#define COUNTER_STEP (INT64_C(1) << 32)

/* ---- the next one -------------------------------------------------------- */

/* A number that no other proposal has. 0: there is none. */
static int choose_proposer(ilk__proposal *one)
{
    uint64_t random;

    if (!one->proposer && ilk__random(&random, sizeof random, NULL) == ILK_OK)
        one->proposer = 1 + (int64_t)(random >> 16);
    return one->proposer != 0;
}

/* Proposals begin at the client's last counter, so that they are seldom too small. It
 * stays below COUNTER_STEP / 2, because a register that nobody has written yet must be
 * able to rise to it. */
static int64_t next_counter(const ilk__proposal *one)
{
    ilk__quorum *quorum = one->quorum;
    int64_t counter = one->counter > one->seen ? one->counter : one->seen;

    if (counter < quorum->last_counter)
        counter = quorum->last_counter;
    /* Others go on meanwhile: a ballot that was late would be late again. */
    counter += 1 + (int64_t)ilk__jitter(1 + LEAP * (uint32_t)one->leaps);
    if (counter < COUNTER_STEP / 2)
        quorum->last_counter = counter;
    return counter;
}

int ilk__proposal_choose_ballot(ilk__proposal *one)
{
    if (!choose_proposer(one))
        return 0;
    one->counter = next_counter(one);
    return 1;
}

/* ---- promises ------------------------------------------------------------ */

static int is_stale(const ilk__reply *reply)
{
    return reply && ilk__script_code(reply) == ILK__CODE_STALE;
}

/* A majority of the nodes has promised no greater counter than this, as far as their
 * replies say; one whose reply has yet to come may have promised nothing. */
static int64_t promise_of_majority(const ilk__proposal *one)
{
    const size_t majority = ilk__quorum_majority(one->quorum);
    int64_t promises[ILK__QUORUM_MOST];
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++) {
        const ilk__reply *reply = one->replies[i];

        if (is_stale(reply))
            promises[number++] = ilk__script_int(reply, 0);
        else if (one->asked[i])
            promises[number++] = reply ? one->counter : 0;
    }
    if (number == 0)
        return 0;
    return ilk__nth_greatest(
        promises, number, number < majority ? number : number - majority + 1);
}

void ilk__proposal_note_promises(ilk__proposal *one)
{
    const int64_t most = promise_of_majority(one) + COUNTER_STEP / 2;

    for (size_t i = 0; i < one->quorum->count; i++) {
        const ilk__reply *reply = one->replies[i];

        if (is_stale(reply) && ilk__script_int(reply, 0) > one->seen
            && ilk__script_int(reply, 0) <= most)
            one->seen = ilk__script_int(reply, 0);
    }
}

/* ---- accepted states ----------------------------------------------------- */

static int is_state(const ilk__reply *reply)
{
    return reply && ilk__script_code(reply) == ILK__CODE_STATE;
}

static int is_greater(const ilk__reply *a, const ilk__reply *b)
{
    const int64_t left = ilk__script_int(a, ILK__ACCEPTED_COUNTER),
                  right = ilk__script_int(b, ILK__ACCEPTED_COUNTER);

    return left != right ? left > right
                         : ilk__script_int(a, ILK__ACCEPTED_PROPOSER)
                               > ilk__script_int(b, ILK__ACCEPTED_PROPOSER);
}

static int is_same(const ilk__reply *a, const ilk__reply *b)
{
    return ilk__script_int(a, ILK__ACCEPTED_COUNTER)
               == ilk__script_int(b, ILK__ACCEPTED_COUNTER)
           && ilk__script_int(a, ILK__ACCEPTED_PROPOSER)
                  == ilk__script_int(b, ILK__ACCEPTED_PROPOSER);
}

const ilk__reply *ilk__proposal_find_greatest(const ilk__proposal *one)
{
    const ilk__reply *best = NULL;

    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i])
            && (!best || is_greater(one->replies[i], best)))
            best = one->replies[i];
    return best;
}

int ilk__proposal_is_chosen(const ilk__proposal *one, const ilk__reply *best)
{
    size_t same = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        same += is_state(one->replies[i]) && is_same(one->replies[i], best);
    return same >= ilk__quorum_majority(one->quorum);
}

const ilk__reply *ilk__proposal_find_chosen(const ilk__proposal *one)
{
    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i])
            && ilk__proposal_is_chosen(one, one->replies[i]))
            return one->replies[i];
    return NULL;
}

int ilk__proposal_is_contradicted(const ilk__proposal *one,
                                  const ilk__reply *best)
{
    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i]) && is_same(one->replies[i], best)
            && ilk__script_int(one->replies[i], ILK__ACCEPTED_VERSION)
                   != ilk__script_int(best, ILK__ACCEPTED_VERSION))
            return 1;
    return 0;
}

int64_t ilk__proposal_now_us(const ilk__proposal *one)
{
    int64_t numbers[ILK__QUORUM_MOST];
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i]))
            numbers[number++] =
                ilk__script_int(one->replies[i], ILK__ACCEPTED_NOW);
    return ilk__nth_greatest(numbers, number,
                             ilk__quorum_majority(one->quorum));
}
