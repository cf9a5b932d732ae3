/* SPDX-License-Identifier: MIT */
/*
 * quorum_registers.c -- registers over the nodes of a quorum, by CASPaxos: Rystsov,
 * "CASPaxos: Replicated State Machines without logs", 2018. The rules are those of
 * tests/model/quorum_register.pml.
 *
 *     read      one round. A state that a majority has accepted under one ballot is
 *               chosen, and is the answer. If there is none, a change that changes
 *               nothing decides which state that is
 *     change    prepare  a majority promises to accept nothing under a lesser ballot,
 *                        and replies with the state that it has accepted: that of
 *                        the greatest ballot is the present one
 *               accept   a majority accepts the next state under the same ballot:
 *                        then it is chosen
 *
 *     PAUSES --> READS ----------------------> answered
 *       ^          |                               ^
 *       |          v                               |
 *       +------ PREPARES --> ACCEPTS --------------+
 *       +----------------------+      a greater ballot was promised
 *
 * Each ballot is prepared once, and never used again: its counter rises with each one
 * of the proposal, and its second number is the proposal's alone. So the promises about
 * one register do not matter for the others: where the counter of a node was raised far
 * too much, the node is lost for this register only. A proposal without
 * enough replies begins again under another ballot, and finds itself in the history
 * of the state if it was chosen before. So does one whose nodes have another edition of
 * their list since they promised: a promise that was lost does not count in the next one
 * (quorum_adoption.c).
 *
 * A waiter is in the list of each node, and sends its request again when one of them has
 * accepted another version.
 */
#include "quorum_registers_internal.h"

#include "base/token.h"
#include "gateway/change_history.h"

#include <string.h>

enum {
    GRACE_MS = 10,  /* for the replies of the others, when a majority differs */
    READS_MOST = 4, /* rounds that differ, before it is decided by a ballot */
    LEAPS_MOST = 4, /* ballots that came too late, before a pause */
    PAUSE_FIRST_MS = 2,
    PAUSE_MOST_MS = 16,
    NODES_MS = 20 /* between two looks for enough nodes */
};

#define MEMORY_US (INT64_C(60) * 1000000)
#define VERSIONS_END (ILK__SCRIPT_INT_MAX - 1)

/* ---- its end ------------------------------------------------------------- */

/* The request has its reply; the calls that have none keep the proposal. */
static void end(ilk__proposal *one)
{
    one->request = NULL;
    one->is = ILK__PROPOSAL_PAUSES;
    one->at = ILK__FOREVER;
}

static void end_with(ilk__proposal *one, const char *error)
{
    if (one->is_unsure) /* the core repeats it, under the same token */
        ilk__gateway_break(one->request);
    else
        ilk__gateway_reply_error(one->request, error);
    end(one);
}

static void end_without_memory(ilk__proposal *one)
{
    ilk__gateway_break(one->request);
    end(one);
}

/* ---- rounds -------------------------------------------------------------- */

static void choose_list(ilk__proposal *one)
{
    memcpy(one->list, one->quorum->acceptor_list, sizeof one->list);
}

static void read_nodes(ilk__proposal *one)
{
    choose_list(one);
    ilk__proposal_send_read(one);
}

static void prepare(ilk__proposal *one)
{
    if (!ilk__proposal_choose_ballot(one)) {
        end_without_memory(one);
        return;
    }
    choose_list(one);
    ilk__proposal_send_prepare(one);
}

static void begin_again(ilk__proposal *one);

static void accept_state(ilk__proposal *one)
{
    if (strcmp(one->list, one->quorum->acceptor_list) != 0) {
        begin_again(one);
        return;
    }
    one->is_unsure |= one->outcome == ILK__OUTCOME_CHANGED;
    ilk__proposal_send_accept(one);
}

/* ---- pauses -------------------------------------------------------------- */

static void pause_for(ilk__proposal *one, int64_t ms)
{
    ilk__proposal_begin_round(one, ILK__PROPOSAL_PAUSES);
    one->at = ilk__now_ms() + ms;
}

/* Another proposal has come between. Two that both begin again at once could go on so for
 * ever. */
static void begin_again(ilk__proposal *one)
{
    ilk__proposal_note_promises(one);
    one->leaps = one->reads = 0;
    one->pause_ms = one->pause_ms ? 2 * one->pause_ms : PAUSE_FIRST_MS;
    if (one->pause_ms > PAUSE_MOST_MS)
        one->pause_ms = PAUSE_MOST_MS;
    pause_for(one, 1 + (int64_t)ilk__jitter((uint32_t)one->pause_ms));
}

static void give_up(ilk__proposal *one)
{
    char text[ILK_ERROR_MAX];

    ilk__acceptors_write_why(one->quorum, text);
    end_with(one, one->why[0] ? one->why : text);
}

/* The ballot was too small from the beginning: the next one may follow without a pause. */
static void leap(ilk__proposal *one)
{
    ilk__proposal_note_promises(one);
    if (one->leaps++ < LEAPS_MOST)
        prepare(one);
    else
        begin_again(one);
}

/* Whether enough nodes may come before it has to end. */
static int has_hope(const ilk__proposal *one, int64_t now)
{
    if (now >= one->until)
        return 0;
    return one->is_unsure || now < one->began + ILK__QUORUM_COMING_MS
           || ilk__acceptors_count(one->quorum)
                  >= ilk__quorum_majority(one->quorum);
}

void ilk__proposal_start(ilk__proposal *one)
{
    const int64_t now = ilk__now_ms();
    const ilk__quorum *quorum = one->quorum;
    const int are_enough =
        ilk__acceptors_count(quorum) >= ilk__quorum_majority(quorum);

    if (!has_hope(one, now)
        || (!are_enough && !one->is_unsure && !ilk__acceptors_may_come(quorum)))
        give_up(one);
    else if (!are_enough)
        pause_for(one, NODES_MS);
    else if (one->change.token.len)
        prepare(one);
    else
        read_nodes(one);
}

/* A round has too few replies, and no more come. */
static void lack(ilk__proposal *one)
{
    if (one->why[0] && !one->is_unsure)
        give_up(one);
    else
        pause_for(one, NODES_MS);
}

/* ---- reading ------------------------------------------------------------- */

static ilk__register_state state_of(const ilk__reply *reply)
{
    const ilk__reply *value = ilk__script_item(reply, ILK__ACCEPTED_VALUE);

    return (ilk__register_state){
        .version = ilk__script_int(reply, ILK__ACCEPTED_VERSION),
        .has_value = ilk__script_int(reply, ILK__ACCEPTED_HAS) == 1,
        .value = {value->str, value->len}};
}

static void reply_read(ilk__proposal *one, const ilk__register_state *state)
{
    ilk__gateway_request *request = one->request;

    if (ilk__proposal_waits(one)
        && state->version
               == ilk__gateway_number_arg(request, ILK__REGISTER_WAIT_KNOWN))
        ilk__register_reply_waits(
            request,
            ilk__gateway_arg(request, ILK__REGISTER_WAIT_ENTRY).len != 0);
    else
        ilk__register_reply_state(request, state);
    end(one);
}

static void decide_read(ilk__proposal *one)
{
    const ilk__reply *chosen = ilk__proposal_find_chosen(one);
    ilk__register_state state;

    if (chosen) {
        state = state_of(chosen);
        reply_read(one, &state);
    } else if (ilk__proposal_count(one, ILK__CODE_STATE)
               < ilk__quorum_majority(one->quorum)) {
        if (!ilk__proposal_count_open(one))
            lack(one);
    } else if (!ilk__proposal_count_open(one)) {
        if (++one->reads < READS_MOST)
            read_nodes(one);
        else
            prepare(one);
    } else if (one->at == ILK__FOREVER) {
        one->at = ilk__now_ms() + GRACE_MS;
    }
}

/* ---- preparing ----------------------------------------------------------- */

/* 0: no memory. */
static int copy_state(ilk__proposal *one, const ilk__reply *from)
{
    const ilk__register_state state = state_of(from);
    const ilk__reply *history = ilk__script_item(from, ILK__ACCEPTED_HISTORY);

    ilk__buf_free(&one->value);
    ilk__buf_free(&one->history);
    one->version = state.version;
    one->has_value = state.has_value;
    return !ilk__buf_add(&one->value, state.value.at, state.value.len)
           && !ilk__buf_add(&one->history, history->str, history->len);
}

/* The change on top of the state that was copied. 0: no memory. */
static int apply_change(ilk__proposal *one, const char *id, int64_t version)
{
    const ilk__span before = {ilk__buf_data(&one->history),
                              ilk__buf_len(&one->history)};
    ilk__buf history = {0};

    if (ilk__changes_add(&history, id, version, before, ILK__CHANGES_MOST)) {
        ilk__buf_free(&history);
        return 0;
    }
    ilk__buf_free(&one->history);
    ilk__buf_free(&one->value);
    one->history = history;
    one->version = version;
    one->has_value = !one->change.deletes;
    return !ilk__buf_add(&one->value, one->change.value.at,
                         one->change.value.len);
}

/* Whether an earlier copy of the change may have left the history, in which it is not
 * found: one of this proposal, which was made on the version `base`, or, where the core
 * has sent the request before, one of another proposal. A copy that a single node has
 * accepted may still be chosen, by another proposer, until a greater ballot is: so the
 * proposal remains unsure until it has its reply. */
static ilk__register_doubt doubt_of(const ilk__proposal *one, ilk__span history,
                                    int64_t now_us)
{
    const int64_t oldest = ilk__changes_oldest(history, ILK__CHANGES_MOST);

    if (one->is_unsure && oldest > one->base)
        return ILK__DOUBT;
    return oldest > now_us - MEMORY_US ? ILK__DOUBT_IF_RETRIED
                                       : ILK__DOUBT_NONE;
}

static void accept_as(ilk__proposal *one, const ilk__reply *state,
                      ilk__proposal_outcome how)
{
    one->outcome = how;
    if (copy_state(one, state))
        accept_state(one);
    else
        end_without_memory(one);
}

static void accept_change(ilk__proposal *one, const ilk__reply *state,
                          const char *id, int64_t now_us)
{
    const int64_t last = ilk__script_int(state, ILK__ACCEPTED_VERSION),
                  version = last < now_us ? now_us : last + 1;

    one->outcome = ILK__OUTCOME_CHANGED;
    if (!one->is_unsure)
        one->base = last;
    if (version >= VERSIONS_END)
        end_with(one, "ILKFENCE no version can rise above the one on record");
    else if (copy_state(one, state) && apply_change(one, id, version))
        accept_state(one);
    else
        end_without_memory(one);
}

static void refuse(ilk__proposal *one, const ilk__register_state *state)
{
    ilk__register_reply_refused(one->request, state, one->doubt);
    end(one);
}

/* A majority has promised; `best` is the present state. */
static void decide_change(ilk__proposal *one, const ilk__reply *best)
{
    const ilk__reply *text = ilk__script_item(best, ILK__ACCEPTED_HISTORY);
    const ilk__span history = {text->str, text->len};
    const ilk__register_state state = state_of(best);
    const int64_t now_us = ilk__proposal_now_us(one);
    char id[ILK__CHANGE_ID + 1];

    if (!ilk__changes_are_valid(history, ILK__CHANGES_MOST)) {
        end_with(one, "ERR the history of a register makes no sense");
        return;
    }
    one->doubt = doubt_of(one, history, now_us);
    ilk__change_id(id, one->change.token);
    one->done = ilk__changes_find(history, id);
    if (one->done)
        accept_as(one, best, ILK__OUTCOME_HAD_CHANGED);
    else if (ilk__register_fits(&one->change, &state))
        accept_change(one, best, id, now_us);
    else if (ilk__proposal_is_chosen(one, best))
        refuse(one, &state);
    else
        accept_as(one, best, ILK__OUTCOME_REFUSED);
}

static void decide_prepare(ilk__proposal *one)
{
    const size_t majority = ilk__quorum_majority(one->quorum),
                 promises = ilk__proposal_count(one, ILK__CODE_STATE),
                 stale = ilk__proposal_count(one, ILK__CODE_STALE);
    const ilk__reply *best = ilk__proposal_find_greatest(one);

    if (promises < majority) {
        if (stale && promises + ilk__proposal_count_open(one) < majority)
            leap(one);
        else if (!ilk__proposal_count_open(one))
            lack(one);
    } else if (ilk__proposal_is_contradicted(one, best)) {
        end_with(one, "ERR two nodes have accepted different states of a "
                      "register under one ballot");
    } else if (one->change.token.len) {
        decide_change(one, best);
    } else {
        accept_as(one, best, ILK__OUTCOME_READ);
    }
}

/* ---- accepting ----------------------------------------------------------- */

static ilk__register_notice notice_of(const ilk__proposal *one)
{
    ilk__register_notice notice = {0, 0};

    for (size_t i = 0; i < one->quorum->count; i++) {
        const ilk__reply *reply = one->replies[i];

        if (!reply || ilk__script_code(reply) != ILK__CODE_WRITTEN)
            continue;
        if (ilk__script_int(reply, 0) > notice.rest)
            notice.rest = ilk__script_int(reply, 0);
        notice.denied |= ilk__script_int(reply, 1) == 1;
    }
    return notice;
}

static void end_accepted(ilk__proposal *one)
{
    const ilk__register_state state = {
        .version = one->version,
        .has_value = one->has_value,
        .value = {ilk__buf_len(&one->value) ? ilk__buf_data(&one->value) : "",
                  ilk__buf_len(&one->value)}};

    switch (one->outcome) {
    case ILK__OUTCOME_CHANGED:
        ilk__register_reply_changed(one->request, one->version,
                                    one->change.known < 0 ? one->doubt
                                                          : ILK__DOUBT_NONE,
                                    notice_of(one));
        end(one);
        break;
    case ILK__OUTCOME_HAD_CHANGED:
        ilk__register_reply_had_changed(one->request, one->done,
                                        notice_of(one));
        end(one);
        break;
    case ILK__OUTCOME_REFUSED: refuse(one, &state); break;
    case ILK__OUTCOME_READ:
        if (ilk__proposal_waits(one))
            read_nodes(one); /* it is in the lists of those that agree */
        else
            reply_read(one, &state);
        break;
    }
}

static void decide_accept(ilk__proposal *one)
{
    const size_t majority = ilk__quorum_majority(one->quorum),
                 written = ilk__proposal_count(one, ILK__CODE_WRITTEN);

    if (written >= majority)
        end_accepted(one);
    else if (ilk__proposal_count(one, ILK__CODE_STALE)
             && written + ilk__proposal_count_open(one) < majority)
        begin_again(one);
    else if (!ilk__proposal_count_open(one))
        lack(one);
}

/* ---- replies and time ---------------------------------------------------- */

void ilk__proposal_go_on(ilk__proposal *one)
{
    switch (one->is) {
    case ILK__PROPOSAL_PAUSES: break;
    case ILK__PROPOSAL_READS: decide_read(one); break;
    case ILK__PROPOSAL_PREPARES: decide_prepare(one); break;
    case ILK__PROPOSAL_ACCEPTS: decide_accept(one); break;
    }
}

void ilk__proposal_fire(ilk__proposal *one, int64_t now)
{
    if (!one->request)
        return;
    if (now >= one->until) {
        give_up(one);
    } else if (one->at <= now) {
        if (one->is == ILK__PROPOSAL_READS)
            prepare(one);
        else
            ilk__proposal_start(one);
    }
}
