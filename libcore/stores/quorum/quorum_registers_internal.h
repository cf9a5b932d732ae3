/* SPDX-License-Identifier: MIT */
/*
 * quorum_registers_internal.h -- a proposal, which serves one request about a
 * register; for quorum_register*.c only.
 *
 *     quorum_register_proposals.c   makes it from the request, and frees it
 *     quorum_registers.c            decides what it does next: the protocol
 *     quorum_register_rounds.c      sends its scripts, and keeps the replies
 *     quorum_register_ballots.c     chooses its ballots, and compares those in
 *                                   the replies
 */
#ifndef ILK__QUORUM_REGISTERS_INTERNAL_H
#define ILK__QUORUM_REGISTERS_INTERNAL_H

#include "quorum_internal.h"

#include "base/buf.h"
#include "gateway/register_replies.h"

/* The acceptors' hash, and the lists of those who wait. */
enum { ILK__PROPOSAL_KEYS = 3 };

typedef enum ilk__proposal_phase {
    ILK__PROPOSAL_PAUSES,
    ILK__PROPOSAL_READS,
    ILK__PROPOSAL_PREPARES,
    ILK__PROPOSAL_ACCEPTS
} ilk__proposal_phase;

/* How the request ends when the state is accepted. */
typedef enum ilk__proposal_outcome {
    ILK__OUTCOME_READ,    /* the state is the answer */
    ILK__OUTCOME_CHANGED, /* it has the change */
    ILK__OUTCOME_HAD_CHANGED,
    ILK__OUTCOME_REFUSED
} ilk__proposal_outcome;

struct ilk__proposal {
    ilk__proposal *next, *previous;
    ilk__quorum *quorum;
    ilk__gateway_request *request; /* NULL: it has its reply */
    ilk__register_change change;   /* without a token: it reads */
    ilk__buf keys[ILK__PROPOSAL_KEYS];
    ilk__proposal_phase is;
    int64_t began, until;
    int64_t at; /* of the end of a pause, or of the grace; ILK__FOREVER */
    int pause_ms;
    int reads, leaps;                  /* since it began, or paused */
    int64_t seen;                      /* the greatest counter of a promise */
    int64_t counter, proposer;         /* of the ballot; 0: none yet */
    char list[ILK__ACCEPTOR_LIST + 1]; /* of the nodes that promise */
    int is_unsure; /* the change was sent, and may be chosen */
    int64_t base;  /* the version on which it was made first */

    size_t calls[ILK__QUORUM_MOST]; /* without a reply */
    int asked[ILK__QUORUM_MOST];    /* in this round */
    ilk__reply *replies[ILK__QUORUM_MOST];
    char why[ILK_ERROR_MAX]; /* a node's error */

    /* ACCEPTS */
    ilk__proposal_outcome outcome;
    int64_t version, done; /* of the state; of the change that was found */
    int has_value;
    ilk__buf value, history;
    ilk__register_doubt doubt;
};

/* The ballot of what a node has accepted, from READS and PREPARES. */
enum {
    ILK__ACCEPTED_COUNTER,
    ILK__ACCEPTED_PROPOSER,
    ILK__ACCEPTED_VERSION,
    ILK__ACCEPTED_HAS,
    ILK__ACCEPTED_VALUE,
    ILK__ACCEPTED_HISTORY,
    ILK__ACCEPTED_NOW
};

/* ---- quorum_register_proposals.c ----------------------------------------- */

/* 1 when its request is a register_wait. */
int ilk__proposal_waits(const ilk__proposal *one);
/* Free it, if the request has its reply and no call is left. */
void ilk__proposal_dispose_idle(ilk__proposal *one);

/* ---- quorum_registers.c -------------------------------------------------- */

/* Begin its first round, or the next one after a pause. */
void ilk__proposal_start(ilk__proposal *one);
/* Decide by the replies that the round has, if they suffice. */
void ilk__proposal_go_on(ilk__proposal *one);
/* End it, if its time is over; go on, if a pause or the grace is. */
void ilk__proposal_fire(ilk__proposal *one, int64_t now);

/* ---- quorum_register_rounds.c -------------------------------------------- */

/* Free the replies. Those that have yet to come do not count. */
void ilk__proposal_clear_round(ilk__proposal *one);
/* Clear the round, and enter this phase. */
void ilk__proposal_begin_round(ilk__proposal *one, ilk__proposal_phase next);
/* Begin the round, send its script to all acceptors, and go on. */
void ilk__proposal_send_read(ilk__proposal *one);
void ilk__proposal_send_prepare(ilk__proposal *one);
void ilk__proposal_send_accept(ilk__proposal *one);
/* How many nodes have replied with this code; how many have yet to reply. */
size_t ilk__proposal_count(const ilk__proposal *one, int code);
size_t ilk__proposal_count_open(const ilk__proposal *one);

/* ---- quorum_register_ballots.c ------------------------------------------- */

/* The ballot of the next prepare. 0: there is none. */
int ilk__proposal_choose_ballot(ilk__proposal *one);
/* Another proposer has a greater ballot: the next one is above that, unless a majority
 * would refuse so great a step. Then the node's counter is wrong, and the other nodes go
 * on without it. */
void ilk__proposal_note_promises(ilk__proposal *one);
/* The state of the greatest ballot, or NULL. */
const ilk__reply *ilk__proposal_find_greatest(const ilk__proposal *one);
/* The state that a majority has accepted under one ballot, or NULL. */
const ilk__reply *ilk__proposal_find_chosen(const ilk__proposal *one);
/* Whether a majority has accepted it under its ballot: it is chosen. */
int ilk__proposal_is_chosen(const ilk__proposal *one, const ilk__reply *best);
/* A ballot has one state. Two of them come from a faulty node. */
int ilk__proposal_is_contradicted(const ilk__proposal *one,
                                  const ilk__reply *best);
/* The time of the nodes: only a minority of their clocks is ahead of it. */
int64_t ilk__proposal_now_us(const ilk__proposal *one);

#endif
