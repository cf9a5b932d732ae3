/* SPDX-License-Identifier: MIT */
/*
 * quorum_progress.pml -- a lock over NODES servers: everybody gets it. Each client
 * stands in the queue of every node, and a majority of grants is a hold. When the
 * grants are divided so that nobody has a majority, a client gives each of its
 * nodes to an earlier client in that node's queue, if there is one. All queues have
 * the same order, because the clients' stamps are their scores.
 *
 * A run ends with every client served, and no run is endless. There is no
 * fairness to that: each step brings the end nearer.
 *
 * No vote ends by time unless its client is dead, its node has forgotten it, or
 * the two cannot reach each other. quorum_exclusion.pml has the rest.
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef DOWN
#define DOWN 0                  /* nodes that end for good */
#endif
#ifndef WIPES
#define WIPES 0                 /* nodes that end and come back empty */
#endif
#ifndef CRASHES
#define CRASHES 0               /* clients that die */
#endif
#define MAJORITY (NODES / 2 + 1)
#define NONE CLIENTS
#define BIT(k) (1 << (k))

mtype = { WAITS, HOLDS, CANCELS, RELEASES, DONE, DEAD };

byte owner[NODES] = NONE;
bit up[NODES] = 1;
byte asked[NODES];              /* the clients that have asked, as bits */
byte cut[CLIENTS] = NODES;      /* the node that it cannot reach */
byte known[CLIENTS];            /* the nodes whose grants it knows of */
byte left[CLIENTS];             /* the nodes that it has yet to tell */
mtype state[CLIENTS] = WAITS;
byte down = DOWN, wipes = WIPES, crashes = CRASHES;

byte queue[NODES];              /* the clients that wait, as bits */

hidden byte head;

#if NODES == 3
#define ALL 7
#define COUNT(set) (((set) & 1) + (((set) >> 1) & 1) + ((set) >> 2))
#define OWNS(n, c) (owner[n] == c || !(known[c] & BIT(n)))
#define OWNS_ALL(c) (OWNS(0, c) && OWNS(1, c) && OWNS(2, c))
#else
#define ALL 15
#define COUNT(set) \
    (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1) + ((set) >> 3))
#define OWNS(n, c) (owner[n] == c || !(known[c] & BIT(n)))
#define OWNS_ALL(c) (OWNS(0, c) && OWNS(1, c) && OWNS(2, c) && OWNS(3, c))
#endif
#define REACHES(n, c) (up[n] && cut[c] != n)

#define IN_QUEUE(n, c) (queue[n] & BIT(c))
#ifdef BROKEN_BY_COUNTS
/* In the order of arrival, in which client 0 is the last at every node. A vote is
 * yielded if somebody else has more, or as many and the lower number. */
#define FIRST(n) (queue[n] & 4 -> 2 : (queue[n] & 2 -> 1 : 0))
#define MORE(c, d) (d != c && (COUNT(known[d]) > COUNT(known[c]) || \
        (COUNT(known[d]) == COUNT(known[c]) && d < c)))
#define MAY_YIELD(n, c) \
    (queue[n] != 0 && (MORE(c, 0) || MORE(c, 1) || MORE(c, 2)))
#else
#define FIRST(n) (queue[n] & 1 -> 0 : (queue[n] & 2 -> 1 : 2))
#define MAY_YIELD(n, c) ((queue[n] & (BIT(c) - 1)) != 0)
#endif

inline give(n) {
    owner[n] = NONE;
    if
    :: queue[n] != 0 ->
        head = FIRST(n);
        queue[n] = queue[n] & ~BIT(head);
        owner[n] = head
    :: else
    fi
}

/* The vote and the place of a client that is heard of no more. */
inline forget(n, c) {
    queue[n] = queue[n] & ~BIT(c);
    asked[n] = asked[n] & ~BIT(c);
    if
    :: owner[n] == c -> give(n)
    :: else
    fi
}

proctype scripts(byte n; byte c) {
end:
    do
    /* quorum_acquire */
    :: d_step { state[c] == WAITS && REACHES(n, c) && !(asked[n] & BIT(c)) ->
        asked[n] = asked[n] | BIT(c);
        queue[n] = queue[n] | BIT(c);
        if
        :: owner[n] == NONE -> give(n)
        :: else
        fi }
    /* Its reply or the message of a grant is read. */
    :: d_step { state[c] == WAITS && REACHES(n, c) && owner[n] == c &&
            !(known[c] & BIT(n)) ->
        known[c] = known[c] | BIT(n) }
#ifndef BROKEN_NO_YIELD
    /* quorum_yield. A call that changes nothing is left out. */
    :: d_step { state[c] == WAITS && REACHES(n, c) && owner[n] == c &&
            known[c] & BIT(n) && COUNT(known[c]) < MAJORITY &&
            MAY_YIELD(n, c) ->
        known[c] = known[c] & ~BIT(n);
        head = FIRST(n);
        queue[n] = queue[n] & ~BIT(head);
        owner[n] = head;
        queue[n] = queue[n] | BIT(c) }
#endif
    /* lock_refresh says GONE: the node was wiped. */
    :: d_step { state[c] == WAITS && REACHES(n, c) && asked[n] & BIT(c) &&
            owner[n] != c && !IN_QUEUE(n, c) && !(known[c] & BIT(n)) ->
        asked[n] = asked[n] & ~BIT(c) }
    /* A vote that nobody keeps ends for the client. */
    :: d_step { state[c] == WAITS && known[c] & BIT(n) &&
            (!REACHES(n, c) || owner[n] != c) ->
        known[c] = known[c] & ~BIT(n) }
    /* lock_cancel, quorum_release */
    :: d_step { (state[c] == CANCELS || state[c] == RELEASES) &&
            left[c] & BIT(n) ->
        left[c] = left[c] & ~BIT(n);
        if
        :: REACHES(n, c) -> forget(n, c)
        :: else
        fi }
    /* The node forgets one who is dead or out of its reach. */
    :: d_step { up[n] && (state[c] == DEAD || cut[c] == n) &&
            (owner[n] == c || IN_QUEUE(n, c)) ->
        forget(n, c) }
    od
}

proctype client(byte c) {
end:
    do
    /* quorum_confirm: yes from a majority, or from fewer */
    :: d_step { state[c] == WAITS && COUNT(known[c]) >= MAJORITY ->
        if
        :: OWNS_ALL(c) -> state[c] = HOLDS
        :: else -> state[c] = CANCELS; left[c] = ALL
        fi;
        known[c] = 0 }
    :: d_step { state[c] == CANCELS && left[c] == 0 -> state[c] = WAITS }
    :: d_step { state[c] == HOLDS -> state[c] = RELEASES; left[c] = ALL }
    :: d_step { state[c] == RELEASES && left[c] == 0 -> state[c] = DONE }
    :: d_step { state[c] == DONE || state[c] == DEAD -> skip }; break
    :: d_step { crashes > 0 && state[c] != DONE && state[c] != DEAD ->
        crashes--; state[c] = DEAD; known[c] = 0; left[c] = 0 }
#ifdef CUTS
    /* Each client loses a node, once. */
    :: d_step { state[c] == WAITS && cut[c] == NODES -> cut[c] = c }
#endif
    od
}

proctype world(byte n) {
end:
    do
    :: d_step { down > 0 && up[n] -> down--;
        up[n] = 0; owner[n] = NONE; queue[n] = 0; asked[n] = 0 }
    :: d_step { wipes > 0 && up[n] -> wipes--;
        owner[n] = NONE; queue[n] = 0; asked[n] = 0 }
    od
}

/* When nothing moves any more, everybody has been served. */
proctype judge() {
    timeout ->
#if CLIENTS == 3
    assert(state[2] == DONE || state[2] == DEAD);
#endif
    assert(state[0] == DONE || state[0] == DEAD);
    assert(state[1] == DONE || state[1] == DEAD)
}

init {
    byte n = 0, c = 0;

    atomic {
        run judge();
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
