/* SPDX-License-Identifier: MIT */
/*
 * quorum_fences.pml -- a lock over NODES servers: fences rise, although each node
 * counts for itself. A client that has a majority of votes takes the greatest
 * fence that came with them and writes it to the nodes that gave them. It holds
 * when a majority has written it. Where a majority gave the same fence, it holds at
 * once: each of them has recorded it when it granted.
 *
 * No clock makes fences rise, so a vote may end at any time here, also while its
 * client counts it. Commands run at any time, as often as the world likes. Only a
 * node that has forgotten everything needs time: it confirms nothing until nobody
 * counts a vote from before, and until its floor is what a majority of the nodes,
 * itself not among them, has confirmed. The others are asked after that time. It
 * confirms no grant that is not above this floor: that one was given before.
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2               /* each is one attempt with a token of its own */
#endif
#ifndef WIPES
#define WIPES 1
#endif
#ifndef RAISES
#define RAISES 0                /* waiters that have seen a greater fence */
#endif
#ifndef LIMIT
#define LIMIT 2                 /* the greatest fence */
#endif
#define MAJORITY (NODES / 2 + 1)
#define NONE CLIENTS
#define BIT(k) (1 << (k))
#define ALL (BIT(NODES) - 1)

/* The nodes. */
byte owner[NODES] = NONE;
byte given[NODES];              /* the fence of this grant; only grants write it */
byte fence[NODES];              /* on record: each grant is above it */
byte most[NODES];               /* the greatest that was granted or confirmed */
byte base[NODES];               /* the floor with which it was taken in */
bit votes[NODES] = 1;
byte wipes = WIPES, raises = RAISES;

/* How a node is taken in again: what was read of the others. */
byte floor = 0, asked = 0;

/* The clients. */
byte got[CLIENTS * NODES];      /* the fence that came with each vote */
byte mine[CLIENTS];             /* the greatest of them, when it begins to confirm */
byte counted[CLIENTS];          /* nodes that have confirmed it, as bits */
bit done[CLIENTS];
bit asks[CLIENTS];              /* it has begun to ask */

/* For the property alone. */
byte last = 0;                  /* the greatest fence of a holder */
byte before[CLIENTS];           /* the same when the client began to confirm */
byte at_first[CLIENTS];         /* the same when it began to ask */

hidden byte i, greatest, number;

#if NODES == 3
#define COUNT(set) (((set) & 1) + (((set) >> 1) & 1) + ((set) >> 2))
#define VOTES(c) ((GOT(c, 0) > 0) + (GOT(c, 1) > 0) + (GOT(c, 2) > 0))
#else
#define COUNT(set) \
    (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1) + ((set) >> 3))
#define VOTES(c) ((GOT(c, 0) > 0) + (GOT(c, 1) > 0) + (GOT(c, 2) > 0) \
        + (GOT(c, 3) > 0))
#endif
#define GOT(c, n) got[(c) * NODES + (n)]
#ifdef BROKEN_DISAGREES
#define GAVE(c, n, f) (GOT(c, n) > 0 && GOT(c, n) <= (f))
#else
#define GAVE(c, n, f) (GOT(c, n) == (f) && IS_ABOVE_BASE(n, c))
#endif
#if NODES == 3
#define GAVE_COUNT(c, f) (GAVE(c, 0, f) + GAVE(c, 1, f) + GAVE(c, 2, f))
#else
#define GAVE_COUNT(c, f) \
    (GAVE(c, 0, f) + GAVE(c, 1, f) + GAVE(c, 2, f) + GAVE(c, 3, f))
#endif
#define NOT_COUNTED_BY(n, c) (GOT(c, n) == 0 && !(counted[c] & BIT(n)))
#if CLIENTS == 2
#define NOT_COUNTED(n) (NOT_COUNTED_BY(n, 0) && NOT_COUNTED_BY(n, 1))
#else
#define NOT_COUNTED(n) \
    (NOT_COUNTED_BY(n, 0) && NOT_COUNTED_BY(n, 1) && NOT_COUNTED_BY(n, 2))
#endif

#ifdef BROKEN_NO_GIVEN
#define IS_GRANT(n, c) 1
#else
#define IS_GRANT(n, c) (given[n] == GOT(c, n))
#endif

#ifdef BROKEN_NO_BASE
#define IS_ABOVE_BASE(n, c) 1
#else
#define IS_ABOVE_BASE(n, c) (GOT(c, n) > base[n])
#endif

inline hold(c) {
    last = (mine[c] > last -> mine[c] : last);
    done[c] = 1;
    mine[c] = 0; before[c] = 0; at_first[c] = 0; counted[c] = 0;
    i = 0;
    do
    :: i < NODES -> GOT(c, i) = 0; i++
    :: else -> break
    od;
    skip
}

inline survey(c) {
    i = 0; greatest = 0; number = 0;
    do
    :: i < NODES ->
        number = number + (GOT(c, i) > 0);
        greatest = (GOT(c, i) > greatest -> GOT(c, i) : greatest);
        i++
    :: else -> break
    od;
    skip
}

proctype scripts(byte n; byte c) {
end:
    do
    /* quorum_acquire, with or without a reply that is read */
    :: d_step { asks[c] && owner[n] == NONE && fence[n] < LIMIT ->
        owner[n] = c; fence[n]++; given[n] = fence[n];
#ifndef BROKEN_NOT_THE_MOST
        most[n] = (given[n] > most[n] -> given[n] : most[n])
#endif
        }
    :: d_step { owner[n] == c && votes[n] && !done[c] && mine[c] == 0 &&
            GOT(c, n) != given[n] ->
        GOT(c, n) = given[n] }
    /* quorum_confirm */
    :: d_step { mine[c] > 0 && GOT(c, n) > 0 && owner[n] == c &&
            IS_GRANT(n, c) && IS_ABOVE_BASE(n, c) && votes[n] &&
            !(counted[c] & BIT(n) && fence[n] >= mine[c]) ->
#ifndef BROKEN_NO_CONFIRM
        fence[n] = (mine[c] > fence[n] -> mine[c] : fence[n]);
        most[n] = (mine[c] > most[n] -> mine[c] : most[n]);
#endif
        counted[c] = counted[c] | BIT(n);
        if
        :: COUNT(counted[c]) >= MAJORITY ->
            assert(mine[c] > before[c]);
            hold(c)
        :: else
        fi }
    /* The vote of a node that was wiped is too old for its client. */
    :: d_step { !votes[n] && (GOT(c, n) > 0 || counted[c] & BIT(n)) ->
        GOT(c, n) = 0; counted[c] = counted[c] & ~BIT(n) }
    od
}

proctype client(byte c) {
end:
    do
    :: d_step { !asks[c] -> asks[c] = 1; at_first[c] = last }
    /* A majority of votes has come, with one fence. */
    :: d_step { !done[c] && mine[c] == 0 &&
            (GAVE_COUNT(c, 1) >= MAJORITY || GAVE_COUNT(c, 2) >= MAJORITY ||
             GAVE_COUNT(c, 3) >= MAJORITY) ->
        if
        :: GAVE_COUNT(c, 1) >= MAJORITY -> mine[c] = 1
        :: GAVE_COUNT(c, 2) >= MAJORITY -> mine[c] = 2
        :: GAVE_COUNT(c, 3) >= MAJORITY -> mine[c] = 3
        fi;
        assert(mine[c] > at_first[c]);
        hold(c) }
    /* A majority of votes has come. */
    :: d_step { !done[c] && mine[c] == 0 && VOTES(c) >= MAJORITY ->
        survey(c);
        mine[c] = greatest; before[c] = last }
    od
}

#ifdef BROKEN_ONE_FLOOR
#define ENOUGH 1
#else
#define ENOUGH MAJORITY
#endif
#if defined(BROKEN_NO_DELAY) || defined(BROKEN_EARLY_FLOOR)
#define MAY_ASK(n) 1
#else
#define MAY_ASK(n) NOT_COUNTED(n)
#endif
#ifdef BROKEN_NO_DELAY
#define MAY_JOIN(n) 1
#else
#define MAY_JOIN(n) NOT_COUNTED(n)
#endif

proctype world(byte n) {
    byte other = 0;

end:
    do
    /* The vote ends, or is given back, or handed on. */
    :: d_step { owner[n] != NONE -> owner[n] = NONE }
    /* A waiter has seen a greater fence. */
    :: d_step { raises > 0 && fence[n] < last && owner[n] != NONE ->
        raises--; fence[n] = last }
    :: d_step { wipes > 0 -> wipes--;
        owner[n] = NONE; given[n] = 0; fence[n] = 0; most[n] = 0;
        base[n] = 0; votes[n] = 0;
        floor = 0; asked = 0 }
    /* Ask one of the others, and take the node in. */
    :: d_step { !votes[n] && MAY_ASK(n) && other < NODES ->
        if
        :: other != n && votes[other] && COUNT(asked) < ENOUGH ->
            asked = asked | BIT(other);
            floor = (most[other] > floor -> most[other] : floor)
        :: else
        fi;
        other++ }
    :: d_step { !votes[n] && COUNT(asked) >= ENOUGH && MAY_JOIN(n) ->
        fence[n] = (floor > fence[n] -> floor : fence[n]);
        most[n] = floor; base[n] = floor;
        votes[n] = 1; floor = 0; asked = 0; other = 0 }
    od
}

init {
    byte n = 0, c = 0;

    atomic {
        do
        :: n < NODES ->
            run world(n);
            c = 0;
            do
            :: c < CLIENTS -> run scripts(n, c); c++
            :: else -> break
            od;
            n++
        :: else -> break
        od;
        c = 0;
        do
        :: c < CLIENTS -> run client(c); c++
        :: else -> break
        od;
        n = 0; c = 0
    }
}
