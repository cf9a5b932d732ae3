/* SPDX-License-Identifier: MIT */
/*
 * quorum_emptied.pml -- the nodes of a quorum lose their data one after another, and run
 * on: no two clients hold one lock. What quorum_exclusion.pml has about votes is left
 * out: here a client counts a member that gives it its vote.
 *
 * A node without data is no member. The first client that asks it makes a record with a
 * number of its own (quorum_join). It becomes a member again
 *
 *     when the longest lease has passed, and a majority of the others are members
 *     with all others, when none is a member: a first start. A server that has run for
 *     the longest lease need not wait then, because it cannot have forgotten a vote
 *
 * but emptied servers run on, too. So a client that has seen the node as a member says so,
 * and the node is LATE then: it waits for the longest lease whatever the others are. One
 * that was asked by a client without that knowledge before becomes LATE as well.
 *
 * None of the first is taken in by what was read of the others before it was asked: they
 * may be late since then.
 *
 * IN TURN means that such a client has asked the emptied nodes before the next one is
 * emptied. Otherwise nothing is left by which it differs from a first start.
 */
#define NODES 3
#define CLIENTS 2
#define MAJORITY 2
#define NONE CLIENTS
#define BIT(k) (1 << (k))
#define ALL (BIT(NODES) - 1)

#define BRANCHES 5
#include "reached.pml"

mtype = { BLANK, EARLY, LATE, MEMBER };

/* The nodes. */
mtype state[NODES] = MEMBER;
byte owner[NODES] = NONE;
byte asked = ALL;               /* by a client that had seen it as a member */
byte whole = ALL;                /* not emptied yet */

/* The clients. The first one has seen all nodes as members, and takes none in; the second
 * one is new. */
byte counted[CLIENTS];          /* nodes, as bits */
byte knew = 0;                  /* those that the second one has seen as members */
mtype seen[NODES] = BLANK;      /* as it saw them, which may be long ago */
byte since[NODES];              /* the nodes, as bits, that it has read since */

#define COUNT(set) (((set) & 1) + (((set) >> 1) & 1) + ((set) >> 2))
#define HOLDS(c) (COUNT(counted[c]) >= MAJORITY)
#define ONE_HOLDER !(HOLDS(0) && HOLDS(1))
#define NOT_COUNTED(n) (((counted[0] | counted[1]) & BIT(n)) == 0)
#define OTHER(n, k) (((n) + (k)) % NODES)
#define IS_MEMBER(n) (state[n] == MEMBER)

#ifdef BROKEN_NO_TURNS
#define IS_NOTICED(n) true
#else
#define IS_NOTICED(n) (IS_MEMBER(n) || (asked & BIT(n)))
#endif

#define KNOWS(c, n) (c == 0 || (knew & BIT(n)))

#ifdef BROKEN_NEVER_LATE
#define FIRST_STATE(n, c) EARLY
#else
#define FIRST_STATE(n, c) (KNOWS(c, n) -> LATE : EARLY)
#endif

/* quorum_join, which only asks. */
inline ask(n, c) {
    if
    :: state[n] == BLANK -> state[n] = FIRST_STATE(n, c)
#if !defined(BROKEN_NEVER_LATE) && !defined(BROKEN_STAYS_EARLY)
    :: state[n] == EARLY && KNOWS(c, n) -> REACH(0); state[n] = LATE
#endif
    :: else
    fi;
    if
    :: KNOWS(c, n) -> asked = asked | BIT(n)
    :: else
    fi
}

inline read_reply(n) {
    if
    :: state[n] == MEMBER -> knew = knew | BIT(n)
    :: else
    fi;
    if
    :: seen[n] != EARLY && seen[n] != LATE -> since[n] = 0
    :: else
    fi;
    seen[n] = state[n];
    since[0] = since[0] | BIT(n);
    since[1] = since[1] | BIT(n);
    since[2] = since[2] | BIT(n)
}

#define IS_RECORD(s) ((s) == EARLY || (s) == LATE)
#define IS_START (IS_RECORD(seen[0]) && IS_RECORD(seen[1]) && IS_RECORD(seen[2]))
#define ARE_EARLY (seen[0] == EARLY && seen[1] == EARLY && seen[2] == EARLY)
/* Beside one that is late, all wait for the longest lease since their records. */
#ifdef BROKEN_BESIDE
#define IS_SAFE(n) (seen[n] == EARLY || NOT_COUNTED(n))
#else
#define IS_SAFE(n) (ARE_EARLY || NOT_COUNTED(n))
#endif
#define MAY_BE_FIRST (IS_START && IS_SAFE(0) && IS_SAFE(1) && IS_SAFE(2))
#ifdef BROKEN_ONE_READ
#define IS_READ_AGAIN(n) true
#else
#define IS_READ_AGAIN(n) (since[n] == ALL)
#endif

inline take_in(n) {
    state[n] = MEMBER;
    asked = asked | BIT(n)
}

proctype scripts(byte n; byte c) {
end:
    do
    :: d_step { IS_MEMBER(n) && owner[n] == NONE ->
        owner[n] = c; counted[c] = counted[c] | BIT(n); assert(ONE_HOLDER) }
    :: d_step { counted[c] & BIT(n) -> counted[c] = counted[c] & ~BIT(n) }
    :: d_step { owner[n] == c && !(counted[c] & BIT(n)) -> owner[n] = NONE }
    :: d_step { c == 0 && (state[n] == BLANK || state[n] == EARLY) -> ask(n, c) }
    :: d_step { c == 1 && (seen[n] != state[n] ||
            !(since[0] & since[1] & since[2] & BIT(n))) ->
        ask(n, c);
        read_reply(n) }
    /* quorum_join as one of the first: the node itself knows whether it is late */
    :: d_step { c == 1 && MAY_BE_FIRST && IS_READ_AGAIN(n) &&
            (state[n] == EARLY || (state[n] == LATE && NOT_COUNTED(n))) ->
        REACH(1);
        take_in(n) }
    od
}

proctype world(byte n) {
end:
    do
    :: d_step { (whole & BIT(n)) && IS_NOTICED(OTHER(n, 1)) &&
            IS_NOTICED(OTHER(n, 2)) ->
        whole = whole & ~BIT(n);
        state[n] = BLANK; owner[n] = NONE;
        asked = asked & ~BIT(n);
        if
        :: !IS_MEMBER(OTHER(n, 1)) && !IS_MEMBER(OTHER(n, 2)) -> REACH(2)
        :: else
        fi }
    /* quorum_join with a floor */
    :: d_step { IS_RECORD(state[n]) && IS_MEMBER(OTHER(n, 1)) &&
            IS_MEMBER(OTHER(n, 2)) && NOT_COUNTED(n) -> REACH(3); take_in(n) }
    od
}

/* Another client in its place, which knows nothing and holds nothing. */
proctype newcomer() {
end:
    do
    :: d_step { counted[1] == 0 && knew != 0 ->
        REACH(4);
        knew = 0;
        seen[0] = BLANK; seen[1] = BLANK; seen[2] = BLANK;
        since[0] = 0; since[1] = 0; since[2] = 0 }
    od
}

init {
    byte n = 0;

    atomic {
        do
        :: n < NODES ->
            run world(n);
            run scripts(n, 0);
            run scripts(n, 1);
            n++
        :: else -> break
        od;
        run newcomer();
        n = 0
    }
}
