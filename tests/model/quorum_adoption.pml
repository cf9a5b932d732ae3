/* SPDX-License-Identifier: MIT */
/*
 * quorum_adoption.pml -- taking in a node that has lost its memory: a register over three
 * nodes by CASPaxos (quorum_register.pml), of which the third is wiped once.
 *
 * Each node has a configuration, and serves only requests of the same one. The adopter
 * moves the other two nodes to the next configuration, one after the other, and reads
 * what they have accepted in the same step. From the first of these steps on no majority
 * serves the old configuration. Then the wiped node gets the state of the greatest
 * ballot, and the next configuration.
 *
 * Two proposers make changes meanwhile. Their requests are executed in any order, at any
 * time or never; a proposer goes on with the next configuration when a majority has it,
 * which may be before the wiped node does.
 *
 * A value is the set of the changes that it has.
 */
#ifndef CHANGES
#define CHANGES 2               /* of the first proposer, as ballots */
#endif
#ifndef OTHER_CHANGES
#define OTHER_CHANGES 1         /* of the second one */
#endif
#define NODES 3
#define PROPOSERS 2

#define BRANCHES 4
#include "reached.pml"

#define LOST 0                  /* configurations: of a node without a memory */
#define OLD 1
#define NEXT 2

byte config[NODES], promise[NODES], accepted[NODES], value[NODES];
bool wiped = false;

mtype = { IDLE, PREPARES, ACCEPTS };

mtype state[PROPOSERS] = IDLE;
byte uses[PROPOSERS];           /* the configuration */
byte ballot[PROPOSERS];         /* 0: none yet */
byte left[PROPOSERS];
byte open[PROPOSERS];           /* nodes to which the request is on its way, as bits */
byte count[PROPOSERS];          /* replies */
byte best[PROPOSERS];           /* the greatest accepted ballot in them */
byte taken[PROPOSERS];          /* its value */
byte next[PROPOSERS];           /* to be accepted */
byte must[PROPOSERS];           /* acknowledged changes when it began */
byte known = 0;                 /* acknowledged changes */
byte last = 0;                  /* the greatest ballot */

/* The adopter. */
byte moved = 0;                 /* nodes, as bits */
byte greatest = 0, found = 0, floor = 0; /* accepted, its value, promised */
bool adopted = false;

#ifdef BROKEN_FLOOR
/* The others stay as they are, and the node promises what they have promised. */
#define NEW_CONFIG OLD
#else
#define NEW_CONFIG NEXT
#endif

#ifdef BROKEN_ONE
#define ENOUGH (moved != 0)     /* one of the others */
#else
#define ENOUGH (moved == 3)
#endif

inline begin(p) {
    d_step {
        left[p]--;
        last++;
        ballot[p] = last;
        must[p] = known;
        open[p] = 7;
        count[p] = 0;
        best[p] = 0;
        taken[p] = 0;
        state[p] = PREPARES
    }
}

/* Each attempt is a change of its own: its ballot is its bit. */
inline go_accept(p) {
    next[p] = taken[p] | (1 << (ballot[p] - 1));
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
    next[p] = 0;
    must[p] = 0
}

inline serve(p, n) {
    open[p] = open[p] & ~(1 << n);
    if
    :: config[n] != uses[p] -> REACH(0)
    :: config[n] == uses[p] && state[p] == PREPARES && ballot[p] > promise[n] ->
        promise[n] = ballot[p];
        count[p]++;
        if
        :: accepted[n] > best[p] -> best[p] = accepted[n]; taken[p] = value[n]
        :: else
        fi
    :: config[n] == uses[p] && state[p] == ACCEPTS && ballot[p] >= promise[n] ->
        promise[n] = ballot[p];
        accepted[n] = ballot[p];
        value[n] = next[p];
        count[p]++
    :: else
    fi
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
        /* It is chosen, and has all that was acknowledged before it began. */
        assert((next[p] & must[p]) == must[p]);
        known = known | (1 << (ballot[p] - 1));
        finish(p)
    }
    :: atomic { state[p] != IDLE && left[p] > 0 -> /* it begins again */
        finish(p)
    }
    :: atomic { state[p] == IDLE && uses[p] == OLD && ENOUGH && NEW_CONFIG == NEXT ->
        REACH(1);
        uses[p] = NEXT
    }
    od
}

proctype faults() {
end:
    atomic {
        !wiped ->
        wiped = true;
        config[2] = LOST;
        promise[2] = 0;
        accepted[2] = 0;
        value[2] = 0
    }
}

inline move(n) {
    moved = moved | (1 << n);
    config[n] = NEW_CONFIG;
    if
    :: accepted[n] > greatest -> greatest = accepted[n]; found = value[n]
    :: else
    fi;
    if
    :: promise[n] > floor -> floor = promise[n]
    :: else
    fi
}

proctype adopter() {
end:
    do
    :: atomic { wiped && !(moved & 1) -> move(0) }
    :: atomic { wiped && !(moved & 2) -> move(1) }
    :: atomic {
        wiped && ENOUGH && !adopted ->
        REACH(2);
        adopted = true;
        config[2] = NEW_CONFIG;
        accepted[2] = greatest;
        value[2] = found;
        promise[2] = floor
    }
    od
}

init {
    atomic {
        config[0] = OLD;
        config[1] = OLD;
        config[2] = OLD;
        uses[0] = OLD;
        uses[1] = OLD;
        left[0] = CHANGES;
        left[1] = OTHER_CHANGES;
        run proposer(0);
        run proposer(1);
        run faults();
        run adopter()
    }
end:
    (known != 0 && adopted && uses[0] == NEXT) -> REACH(3)
}
