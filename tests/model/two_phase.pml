/* SPDX-License-Identifier: MIT */
/*
 * two_phase.pml -- a transaction over several servers: two-phase commit, whose decision is
 * a record on one of them (docs/ring-servers.md), and recovery by anybody. With SERVERS=1
 * a transaction on one server, which is committed there in one step.
 *
 *     prepare   each server writes an intent, or refuses
 *     decide    cas(none -> commit) when all have, else cas(none -> abort): the record is
 *               the decision then
 *     finish    each server makes its intent a version, or drops it
 *
 * The coordinator may die between any two steps. Whoever meets an intent, at any time,
 * decides cas(none -> abort), obeys what it finds, and finishes at all servers. So no intent
 * ends by time, and none stays. A request may be executed once more, or late: `copies`. A
 * server may be away for a while (`outages`), and any reply may be lost.
 *
 * When the reply to its decision is lost the coordinator may begin anew, and meet a refusal
 * then. It drops nothing before it knows what was decided. Where it cannot ask, it says
 * that nothing was written, and goes; but only if it has never sent a decision. The same
 * holds for the commit on one server. While a server is away the intents stay at the others,
 * and copies of the request find them; in the end somebody meets them, or it aborts them.
 *
 * The home has a decision in two records. `noted` is forgotten after a while, but not while
 * the coordinator may still send something: it is refused when it comes too late. `decided`
 * is there for a commit only, and stays until every finish was answered: to the coordinator,
 * to somebody who has met an intent, or to somebody who has found the record itself.
 */
#ifndef SERVERS
#define SERVERS 2
#endif
#ifndef COPIES
#define COPIES 1                /* of requests, by the coordinator or by nobody */
#endif
#ifndef OUTAGES
#define OUTAGES 1               /* of one server, which comes back */
#endif
#define RECOVERERS 2

#if SERVERS == 1
#define BRANCHES 2
#else
#define BRANCHES 12
#endif
#include "reached.pml"

mtype = { NONE, COMMIT, ABORT };        /* decisions, and what the client is told */
mtype = { FREE, INTENT, DONE, DROPPED }; /* a server, about this transaction */
mtype = { PREPARES, DECIDES, FINISHES, ENDS };

#define HOME SERVERS            /* it decides */
#define PLACES (SERVERS + 1)

mtype server[PLACES] = FREE;    /* the last one is not used */
mtype noted = NONE;
bool decided = false;
mtype told = NONE;              /* the client */
bool was_committed[PLACES], was_dropped[PLACES];

/* The coordinator. */
mtype step = PREPARES;
bool dead = false;
byte prepared = 0, refused = 0; /* servers, as bits: their replies */
byte finished = 0;              /* servers whose finish was answered, to anybody */
byte copies = COPIES;
bool was_sent = false;          /* its cas: it is repeated with the same words */
mtype wants = NONE;             /* the decision that it has asked for */

/* The world. */
byte outages = OUTAGES;
byte away = PLACES;             /* which server is; PLACES: none */
mtype found;

#define BIT(n) (1 << (n))
#define ALL (BIT(SERVERS) - 1)
#define IS_UP(s) (away != (s))
#define IS_OVER (dead || step == ENDS)

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

/* `found` is the decision then. */
inline decide(how) {
    if
#ifdef BROKEN_OVERWRITES
    :: how == ABORT -> noted = ABORT; decided = false; found = ABORT
#endif
    :: decided || noted == COMMIT -> REACH(2); found = COMMIT
    :: noted == ABORT -> found = ABORT
    :: !decided && noted == NONE ->
        noted = how;
        decided = (how == COMMIT);
        found = how
    fi
}

/* ---- the coordinator of several servers ---------------------------------- */

inline ask(s) {
    !dead && step == PREPARES && !((prepared | refused) & BIT(s)) ->
    if
    :: IS_UP(s) ->
        prepare(s);
        if
        :: server[s] == INTENT || server[s] == DONE ->
            prepared = prepared | BIT(s)
        :: server[s] == FREE || server[s] == DROPPED ->
            refused = refused | BIT(s)
        :: REACH(8); refused = refused | BIT(s) /* the reply is lost */
        fi
    :: !IS_UP(s) -> refused = refused | BIT(s)
    :: !IS_UP(s) -> REACH(11) /* a copy of the request asks again */
    fi
}

inline end_one(s) {
    !dead && step == FINISHES && !(finished & BIT(s)) && IS_UP(s) ->
    finish(s, told);
    finished = finished | BIT(s)
}

proctype coordinator() {
end:
    do
    :: dead -> break
    :: atomic { !dead -> dead = true }
    :: atomic { !dead && step == PREPARES && (prepared | refused) == 0 && IS_UP(0) ->
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
    :: atomic { !dead && step == DECIDES && !was_sent && IS_UP(HOME) ->
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
    :: atomic { !dead && step == DECIDES && was_sent && IS_UP(HOME) ->
        decide(wants);
        told = found;
        step = FINISHES }
    :: atomic { end_one(0) }
    :: atomic { end_one(1) }
#if SERVERS > 2
    :: atomic { end_one(2) }
#endif
#ifdef BROKEN_REMOVES
    :: atomic { !dead && step == FINISHES ->
        noted = NONE; decided = false; step = ENDS } /* they were sent */
#else
    :: atomic { !dead && step == FINISHES && finished == ALL && IS_UP(HOME) ->
        REACH(3); decided = false; step = ENDS }
#endif
    od
}

/* ---- that of one server -------------------------------------------------- */

/* A server that refuses has a later version there. */
inline commit_one() {
    if
    :: server[0] == FREE -> server[0] = DONE; was_committed[0] = true
    :: server[0] == FREE && !was_sent -> told = ABORT; step = ENDS
    :: server[0] != FREE -> REACH(0)
    fi
}

/* What becomes of it may be asked for: that aborts one which is not committed. */
inline ask_outcome() {
    if
    :: server[0] == FREE -> server[0] = DROPPED; was_dropped[0] = true
    :: else
    fi
}

proctype lone_coordinator() {
end:
    do
    :: IS_OVER -> break
    :: atomic { !IS_OVER && IS_UP(0) ->
        commit_one();
        was_sent = true;
        if
        :: step != ENDS ->
            told = (server[0] == DONE -> COMMIT : ABORT); step = ENDS
        :: step != ENDS -> REACH(1) /* the reply is lost */
        :: step == ENDS
        fi }
#ifdef BROKEN_SAYS_NOTHING_WRITTEN
    :: atomic { !IS_OVER && !IS_UP(0) ->
#else
    :: atomic { !IS_OVER && !IS_UP(0) && !was_sent ->
#endif
        told = ABORT; step = ENDS }
    :: atomic { !IS_OVER && was_sent -> dead = true } /* it does not know */
    od
}

proctype asker() {
end:
    atomic { IS_UP(0) -> ask_outcome() }
}

/* ---- anybody else -------------------------------------------------------- */

inline meet(s) {
    server[s] == INTENT && mine == NONE && IS_UP(s) && IS_UP(HOME) ->
#ifdef BROKEN_BY_TIME
    /* It is old: it is dropped, and nobody is asked. */
    finish(s, ABORT)
#else
#ifdef BROKEN_UNWRITTEN
    mine = (decided || noted == COMMIT -> COMMIT : ABORT) /* it writes nothing */
#else
    decide(ABORT);
    mine = found
#endif
#endif
}

inline settle(s) {
    mine != NONE && !(done & BIT(s)) && IS_UP(s) ->
    REACH(4);
    finish(s, mine);
    done = done | BIT(s)
}

#ifdef BROKEN_FORGOTTEN_EARLY
#define MAY_FORGET (done != 0)
#else
#define MAY_FORGET (done == ALL)
#endif

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
    /* It has found a decision that nobody has removed. */
#ifndef BROKEN_NOT_LOOKED_FOR
    :: atomic { mine == NONE && decided && IS_UP(HOME) ->
        REACH(9); mine = COMMIT }
#endif
    :: atomic { mine == COMMIT && MAY_FORGET && IS_UP(HOME) ->
        REACH(10); decided = false; mine = NONE; done = 0 }
    :: atomic { mine != NONE -> mine = NONE; done = 0 } /* or it goes */
    od
}

/* A copy of a prepare, from anywhere in the past. */
proctype late() {
end:
    do
    :: atomic { copies > 0 && IS_UP(0) -> copies--; REACH(5); prepare(0) }
    :: atomic { copies > 0 && IS_UP(1) -> copies--; prepare(1) }
    od
}

proctype world() {
end:
    do
    :: atomic { outages > 0 && away == PLACES -> outages--; away = 0 }
    :: atomic { outages > 0 && away == PLACES -> outages--; away = HOME }
    :: atomic { away != PLACES -> away = PLACES }
    :: atomic { IS_OVER && noted != NONE -> noted = NONE } /* long ago */
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
#if SERVERS == 1
        run lone_coordinator();
        run asker();
#else
        run coordinator();
        run recoverer();
        run recoverer();
        run late();
#endif
        run world();
        run judge()
    }
    /* At rest no server has an intent, and no decision is left: somebody meets them. */
    timeout -> assert(server[0] != INTENT && server[1] != INTENT && !decided)
}
