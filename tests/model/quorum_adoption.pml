/* SPDX-License-Identifier: MIT */
/*
 * quorum_adoption.pml -- taking in a node that has lost its memory: a register over three
 * nodes by CASPaxos (quorum_register.pml), of which one at a time is wiped.
 *
 * Each node has an edition, 0 when it has no memory, and serves only requests with the
 * same one. An adopter notes which loss it is about, then looks at the editions of the
 * others, and chooses one that is later. The node returns with that, the others get it,
 * what they know is copied to the node, and the node gets the edition itself. From the
 * second step on no majority serves an earlier edition.
 *
 * Proposers make changes meanwhile. Their requests are executed in any order, at any
 * time or never; a proposal goes on with the edition with which it began. So are the
 * adopters' requests, and each adopter may stop for ever. A node that was away gets a
 * later edition from whoever sees it.
 *
 * A value is the set of the changes that it has.
 */
#ifndef CHANGES
#define CHANGES 1               /* of the first proposer, as ballots */
#endif
#ifndef OTHER_CHANGES
#define OTHER_CHANGES 1         /* of the second one */
#endif
#ifndef WIPES
#define WIPES 1
#endif
#ifndef ADOPTERS
#define ADOPTERS 1
#endif
#ifndef TRIES
#define TRIES 1                 /* of each adopter */
#endif
#ifndef FIRST_LOST
#define FIRST_LOST 0            /* the least node that may be wiped */
#endif
#define NODES 3
#define PROPOSERS 2

#define BRANCHES 6
#include "reached.pml"

/* The nodes. */
byte edition[NODES];            /* 0: it has no memory */
byte returning[NODES];          /* the edition with which it returns; 0 */
byte loss[NODES];               /* how often it has lost its memory: the nonce */
byte promise[NODES], accepted[NODES], value[NODES];
byte wipes = 0;

mtype = { IDLE, PREPARES, ACCEPTS };

mtype state[PROPOSERS] = IDLE;
byte uses[PROPOSERS];           /* the edition */
byte ballot[PROPOSERS];         /* 0: none yet */
byte left[PROPOSERS];
byte open[PROPOSERS];           /* nodes to which the request is on its way, as bits */
byte count[PROPOSERS];          /* replies */
byte best[PROPOSERS];           /* the greatest accepted ballot in them */
byte taken[PROPOSERS];          /* its value */
byte next[PROPOSERS];           /* to be accepted */
byte last = 0;                  /* the greatest ballot */
byte chosen = 0;                /* the longest value that a proposer has seen chosen */

/* The adopters. */
mtype = { NOTHING, LOOKS, SEALS, COPIES };

mtype step[ADOPTERS] = NOTHING;
byte tries[ADOPTERS];
byte target[ADOPTERS];
byte about[ADOPTERS];           /* the loss */
byte looked[ADOPTERS];          /* nodes, as bits */
byte latest[ADOPTERS];          /* edition that was seen */
byte list[ADOPTERS];            /* the edition that was chosen */
byte sealed[ADOPTERS];          /* nodes, as bits */
byte copied[ADOPTERS];
bool adopted = false;

#define BIT(n) (1 << (n))
#define OTHERS(a) (7 & ~BIT(target[a]))

#ifdef BROKEN_ONE
#define ENOUGH(bits, a) ((bits) != 0)   /* one of the others */
#else
#define ENOUGH(bits, a) ((bits) == OTHERS(a))
#endif

/* ---- proposers ----------------------------------------------------------- */

inline begin(p) {
    d_step {
        left[p]--;
        last++;
        ballot[p] = last;
        open[p] = 7;
        count[p] = 0;
        best[p] = 0;
        taken[p] = 0;
        state[p] = PREPARES
    }
}

/* Each attempt is a change of its own: its ballot is its bit. */
inline go_accept(p) {
    next[p] = taken[p] | BIT(ballot[p] - 1);
    open[p] = 7;
    count[p] = 0;
    best[p] = 0;
    taken[p] = 0;
    state[p] = ACCEPTS
}

inline finish(p) {
    state[p] = IDLE;
    ballot[p] = 0;
    open[p] = 0;
    count[p] = 0;
    best[p] = 0;
    taken[p] = 0;
    next[p] = 0
}

#define FITS(p, n) (edition[n] != 0 && edition[n] == uses[p])

inline serve(p, n) {
    open[p] = open[p] & ~BIT(n);
    if
    :: !FITS(p, n) -> REACH(0)
    :: FITS(p, n) && state[p] == PREPARES && ballot[p] > promise[n] ->
        promise[n] = ballot[p];
        count[p]++;
        if
        :: accepted[n] > best[p] -> best[p] = accepted[n]; taken[p] = value[n]
        :: else
        fi
    :: FITS(p, n) && state[p] == ACCEPTS && ballot[p] >= promise[n] ->
        promise[n] = ballot[p];
        accepted[n] = ballot[p];
        value[n] = next[p];
        count[p]++
    :: else
    fi
}

#define HAS_MAJORITY(e) (((edition[0] == (e)) + (edition[1] == (e)) \
                          + (edition[2] == (e))) >= 2)

#ifdef BROKEN_MIXES
/* The promises of one edition count for an acceptance with another one. */
#define MAY_MOVE(p) (state[p] == IDLE || state[p] == ACCEPTS)
#else
#define MAY_MOVE(p) (state[p] == IDLE)
#endif

inline move(p, n) {
    MAY_MOVE(p) && edition[n] > uses[p] && HAS_MAJORITY(edition[n]) ->
    REACH(1);
    uses[p] = edition[n]
}

proctype proposer(byte p) {
end:
    do
    :: state[p] == IDLE && left[p] > 0 -> begin(p)
    :: atomic { state[p] != IDLE && (open[p] & 1) -> serve(p, 0) }
    :: atomic { state[p] != IDLE && (open[p] & 2) -> serve(p, 1) }
    :: atomic { state[p] != IDLE && (open[p] & 4) -> serve(p, 2) }
    :: atomic { state[p] == PREPARES && count[p] >= 2 -> go_accept(p) }
    :: atomic {
        state[p] == ACCEPTS && count[p] >= 2 ->
        /* It is chosen. Of two that are, one was made on top of the other. */
        assert((next[p] & chosen) == chosen || (next[p] & chosen) == next[p]);
        if
        :: (next[p] & chosen) == chosen -> chosen = next[p]
        :: else
        fi;
        finish(p)
    }
    :: atomic { state[p] != IDLE && left[p] > 0 -> /* it begins again */
        finish(p)
    }
    :: atomic { move(p, 0) }
    :: atomic { move(p, 1) }
    :: atomic { move(p, 2) }
    od
}

/* ---- nodes that forget --------------------------------------------------- */

/* The others must be there: a majority that has lost its memory has lost the register. */
inline wipe(n, b, c) {
    wipes < WIPES && n >= FIRST_LOST && edition[b] != 0 && edition[c] != 0 ->
    wipes++;
    edition[n] = 0;
    returning[n] = 0;
    loss[n]++;
    promise[n] = 0;
    accepted[n] = 0;
    value[n] = 0
}

proctype faults() {
end:
    do
    :: atomic { wipe(0, 1, 2) }
    :: atomic { wipe(1, 0, 2) }
    :: atomic { wipe(2, 0, 1) }
    od
}

/* Whoever finds two editions gives the later one to the node that has the earlier one. */
inline follow(n, m) {
    edition[n] != 0 && edition[m] > edition[n] -> edition[n] = edition[m]
}

proctype followers() {
end:
    do
    :: atomic { follow(0, 1) }
    :: atomic { follow(0, 2) }
    :: atomic { follow(1, 0) }
    :: atomic { follow(1, 2) }
    :: atomic { follow(2, 0) }
    :: atomic { follow(2, 1) }
    od
}

/* ---- adopters ------------------------------------------------------------ */

inline give_up(a) {
    step[a] = NOTHING;
    looked[a] = 0;
    latest[a] = 0;
    list[a] = 0;
    sealed[a] = 0;
    copied[a] = 0;
    about[a] = 0;
    target[a] = 0
}

inline notice(a, n) {
    step[a] == NOTHING && tries[a] > 0 && edition[n] == 0 ->
    tries[a]--;
    step[a] = LOOKS;
    target[a] = n;
    about[a] = loss[n];
    list[a] = returning[n]
}

inline look(a, n) {
    step[a] == LOOKS && (OTHERS(a) & ~looked[a] & BIT(n)) ->
    looked[a] = looked[a] | BIT(n);
    if
    :: edition[n] > latest[a] -> latest[a] = edition[n]
    :: else
    fi
}

/* An edition with which the node has begun to return is later than those before the loss. */
inline choose(a) {
    step[a] == LOOKS && ENOUGH(looked[a], a) ->
    looked[a] = 0;
    if
    :: list[a] != 0 && list[a] >= latest[a] -> REACH(2)
    :: else -> list[a] = latest[a] + 1
    fi;
    latest[a] = 0;
    step[a] = SEALS
}

#define IS_THIS_LOSS(a) (loss[target[a]] == about[a])

#define RETURNS(a) \
    (IS_THIS_LOSS(a) && edition[target[a]] == 0 && returning[target[a]] == list[a])

inline begin_return(a) {
    step[a] == SEALS && returning[target[a]] != list[a] ->
    if
    :: IS_THIS_LOSS(a) && edition[target[a]] == 0 ->
        returning[target[a]] = list[a]
    :: else -> give_up(a)
    fi
}

inline seal(a, n) {
    step[a] == SEALS && (OTHERS(a) & ~sealed[a] & BIT(n)) ->
    if
    :: edition[n] != 0 && edition[n] <= list[a] ->
#ifndef BROKEN_FLOOR
        edition[n] = list[a];
#endif
        sealed[a] = sealed[a] | BIT(n)
    :: else -> REACH(3); give_up(a)
    fi
}

inline begin_copying(a) {
    step[a] == SEALS && ENOUGH(sealed[a], a) && returning[target[a]] == list[a] ->
    step[a] = COPIES
}

#ifdef BROKEN_FLOOR
/* The others stay as they are, and the node promises what they have promised. */
#define SERVES(n, a) (edition[n] != 0)
#define AS_BEFORE(a) (list[a] - 1)
#else
#define SERVES(n, a) (edition[n] == list[a])
#define AS_BEFORE(a) (list[a])
#endif

inline copy(a, n) {
    step[a] == COPIES && (sealed[a] & ~copied[a] & BIT(n)) ->
    if
    :: SERVES(n, a) && RETURNS(a) ->
        copied[a] = copied[a] | BIT(n);
        if
        :: promise[n] > promise[target[a]] -> promise[target[a]] = promise[n]
        :: else
        fi;
        if
        :: accepted[n] > accepted[target[a]] ->
            accepted[target[a]] = accepted[n];
            value[target[a]] = value[n]
        :: else
        fi
    :: else -> REACH(4); give_up(a)
    fi
}

#ifdef BROKEN_EARLY
#define ALL_COPIED(a) (copied[a] != 0)
#else
#define ALL_COPIED(a) (copied[a] == sealed[a])
#endif

inline make_ready(a) {
    step[a] == COPIES && ALL_COPIED(a) ->
    if
    :: RETURNS(a) ->
        REACH(5);
        edition[target[a]] = AS_BEFORE(a);
        returning[target[a]] = 0;
        adopted = true
    :: else
    fi;
    give_up(a)
}

proctype adopter(byte a) {
end:
    do
    :: atomic { notice(a, 0) }
    :: atomic { notice(a, 1) }
    :: atomic { notice(a, 2) }
    :: atomic { look(a, 0) }
    :: atomic { look(a, 1) }
    :: atomic { look(a, 2) }
    :: atomic { choose(a) }
    :: atomic { begin_return(a) }
    :: atomic { seal(a, 0) }
    :: atomic { seal(a, 1) }
    :: atomic { seal(a, 2) }
    :: atomic { begin_copying(a) }
    :: atomic { copy(a, 0) }
    :: atomic { copy(a, 1) }
    :: atomic { copy(a, 2) }
    :: atomic { make_ready(a) }
    od
}

init {
    byte i;

    atomic {
        for (i : 0 .. NODES - 1) {
            edition[i] = 1
        }
        for (i : 0 .. PROPOSERS - 1) {
            uses[i] = 1
        }
        for (i : 0 .. ADOPTERS - 1) {
            tries[i] = TRIES;
            run adopter(i)
        }
        i = 0;
        left[0] = CHANGES;
        left[1] = OTHER_CHANGES;
        run proposer(0);
        run proposer(1);
        run faults();
        run followers()
    }
}
