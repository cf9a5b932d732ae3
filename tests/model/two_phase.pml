/* SPDX-License-Identifier: MIT */
/*
 * two_phase.pml -- a transaction over several servers: two-phase commit, whose decision is
 * a record on one of them (docs/ring-servers.md), and recovery by anybody.
 *
 *     prepare   each server writes an intent, or refuses
 *     decide    cas(none -> commit) when all have, else cas(none -> abort): the record is
 *               the decision then
 *     finish    each server makes its intent a version, or drops it
 *
 * The coordinator may die between any two steps. Whoever meets an intent, at any time,
 * decides cas(none -> abort), obeys what it finds, and finishes. So no intent ends by time,
 * and none stays. A request may be executed once more, or late: `copies`.
 *
 * When the reply to its decision is lost the coordinator may begin anew, and meet a refusal
 * then. It drops nothing before it knows what was decided. Where it cannot ask, it says
 * that nothing was written, and goes; but only if it has never sent a decision.
 *
 * The coordinator removes the decision when every finish was answered. Nobody else does: it
 * may have yet to decide.
 */
#ifndef SERVERS
#define SERVERS 2
#endif
#ifndef COPIES
#define COPIES 1                /* of requests, by the coordinator or by nobody */
#endif
#define RECOVERERS 2

#define BRANCHES 8
#include "reached.pml"

mtype = { NONE, COMMIT, ABORT };        /* decisions, and what the client is told */
mtype = { FREE, INTENT, DONE, DROPPED }; /* a server, about this transaction */
mtype = { PREPARES, DECIDES, FINISHES, ENDS };

mtype server[SERVERS] = FREE;
mtype decision = NONE;
mtype told = NONE;              /* the client */
bool was_committed[SERVERS], was_dropped[SERVERS];

/* The coordinator. */
mtype step = PREPARES;
bool dead = false;
byte prepared = 0, refused = 0; /* servers, as bits: their replies */
byte finished = 0;              /* servers whose finish was answered, to anybody */
byte copies = COPIES;
bool was_sent = false;          /* its cas: it is repeated with the same words */
mtype wants = NONE;             /* the decision that it has asked for */

#define BIT(n) (1 << (n))
#define ALL (BIT(SERVERS) - 1)

/* ---- what servers do ----------------------------------------------------- */

/* Also a late copy. A server that refuses has another transaction's intent there. */
inline prepare(s) {
    if
    :: server[s] == FREE -> server[s] = INTENT
    :: server[s] == FREE -> REACH(0) /* it refuses */
    :: server[s] != FREE
    fi
}

/* For a prepare that comes late. */
#ifdef BROKEN_FORGETS
#define REMEMBERS(state) FREE
#else
#define REMEMBERS(state) state
#endif

inline finish(s, how) {
    if
    :: how == COMMIT && server[s] == INTENT ->
        server[s] = REMEMBERS(DONE);
        was_committed[s] = true
    :: how == ABORT && server[s] == INTENT ->
        server[s] = REMEMBERS(DROPPED);
        was_dropped[s] = true
    :: how == ABORT && server[s] == FREE ->
        REACH(1);
        server[s] = REMEMBERS(DROPPED);
        was_dropped[s] = true
    :: else
    fi
}

inline decide(how) {
#ifdef BROKEN_OVERWRITES
    decision = how
#else
    if
    :: decision == NONE -> decision = how
    :: else -> REACH(2)
    fi
#endif
}

/* ---- the coordinator ----------------------------------------------------- */

inline ask(s) {
    !dead && step == PREPARES && !((prepared | refused) & BIT(s)) ->
    prepare(s);
    if
    :: server[s] == INTENT -> prepared = prepared | BIT(s)
    :: else -> refused = refused | BIT(s)
    fi
}

inline end_one(s) {
    !dead && step == FINISHES && !(finished & BIT(s)) ->
    finish(s, told);
    finished = finished | BIT(s)
}

proctype coordinator() {
end:
    do
    :: dead -> break
    :: atomic { !dead -> dead = true }
    :: atomic { !dead && step == PREPARES && prepared == 0 && refused == 0 ->
        prepare(0) } /* its reply is lost; the request may be repeated */
    :: atomic { ask(0) }
    :: atomic { ask(1) }
#if SERVERS > 2
    :: atomic { ask(2) }
#endif
    :: atomic { !dead && step == PREPARES && prepared == ALL ->
        wants = COMMIT; step = DECIDES }
    :: atomic { !dead && step == PREPARES && refused != 0 ->
        wants = ABORT; step = DECIDES }
    :: atomic { !dead && step == DECIDES && !was_sent ->
        decide(wants); was_sent = true } /* the reply may be lost */
    :: atomic { !dead && step == DECIDES && was_sent ->
        REACH(6);
        step = PREPARES; prepared = 0; refused = 0 } /* it was */
#ifdef BROKEN_GIVES_UP
    :: atomic { !dead && (step == PREPARES || step == DECIDES) ->
#else
    :: atomic { !dead && (step == PREPARES || step == DECIDES) && !was_sent ->
#endif
        REACH(7);
        told = ABORT; dead = true }
#ifdef BROKEN_DROPS
    :: atomic { !dead && step == PREPARES && refused != 0 ->
        told = ABORT; step = FINISHES }
#endif
    :: atomic { !dead && step == DECIDES && was_sent ->
        decide(wants);
        told = decision;
        step = FINISHES }
    :: atomic { end_one(0) }
    :: atomic { end_one(1) }
#if SERVERS > 2
    :: atomic { end_one(2) }
#endif
#ifdef BROKEN_REMOVES
    :: atomic { !dead && step == FINISHES ->
        decision = NONE; step = ENDS } /* they were sent */
#else
    :: atomic { !dead && step == FINISHES && finished == ALL ->
        REACH(3); decision = NONE; step = ENDS }
#endif
    od
}

/* ---- anybody else -------------------------------------------------------- */

inline meet(s) {
    server[s] == INTENT && mine == NONE ->
#ifdef BROKEN_BY_TIME
    /* It is old: it is dropped, and nobody is asked. */
    finish(s, ABORT)
#else
#ifdef BROKEN_UNWRITTEN
    mine = (decision == NONE -> ABORT : decision) /* and it does not write that */
#else
    decide(ABORT);
    mine = decision
#endif
#endif
}

inline settle(s) {
    mine != NONE && !(done & BIT(s)) ->
    REACH(4);
    finish(s, mine);
    done = done | BIT(s)
}

proctype recoverer() {
    mtype mine = NONE;
    byte done = 0;
end:
    do
    :: atomic { meet(0) }
    :: atomic { meet(1) }
    :: atomic { settle(0) }
    :: atomic { settle(1) }
#if SERVERS > 2
    :: atomic { meet(2) }
    :: atomic { settle(2) }
#endif
    :: atomic { mine != NONE && done == ALL -> mine = NONE; done = 0 }
    od
}

/* A copy of a prepare, from anywhere in the past. */
proctype late() {
end:
    do
    :: atomic { copies > 0 -> copies--; REACH(5); prepare(0) }
    :: atomic { copies > 0 -> copies--; prepare(1) }
    od
}

/* All or nothing, and the client was told the truth. */
#define SOME_COMMITTED (was_committed[0] || was_committed[1])
#define SOME_DROPPED (was_dropped[0] || was_dropped[1])
#define IS_SPLIT (SOME_COMMITTED && SOME_DROPPED)
#define WAS_LIED_TO \
    ((told == COMMIT && SOME_DROPPED) || (told == ABORT && SOME_COMMITTED))

proctype judge() {
end:
    atomic { IS_SPLIT || WAS_LIED_TO -> assert(!IS_SPLIT && !WAS_LIED_TO) }
}

init {
    atomic {
        run coordinator();
        run recoverer();
        run recoverer();
        run late();
        run judge()
    }
    /* At rest no server has an intent: somebody meets it. */
    timeout -> assert(server[0] != INTENT && server[1] != INTENT)
}
