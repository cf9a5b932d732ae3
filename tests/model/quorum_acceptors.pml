/* SPDX-License-Identifier: MIT */
/*
 * quorum_acceptors.pml -- which nodes of a quorum keep registers: how they begin, and that
 * one that has lost its memory is never taken for one that has not.
 *
 * Three nodes, two clients. A client reads the nodes one after another, so what it has
 * seen of them is not of one moment. When it has seen no node that is READY, it lets
 * each BLANK one begin, under a number that is new. When all have begun, it makes them
 * READY, for the list of their numbers, or for the list of a node that is READY already.
 * A request names the nonce of the node that was seen; it may be lost, or be executed
 * when its client has gone on.
 *
 * A node may be wiped. It is BLANK then, and has another nonce. As it begins once in each
 * memory, its number is that of the memory here.
 */
#ifndef WIPES
#define WIPES 2
#endif
#ifndef LATE
#define LATE 2                  /* requests that are executed later */
#endif
#define NODES 3
#define CLIENTS 2
#define MEMORIES (WIPES + 1)    /* of a node */

#define BRANCHES 5
#include "reached.pml"

mtype = { UNSEEN, BLANK, BEGUN, READY };

typedef node {
    mtype state;
    byte nonce, own;            /* own: its number, 0: none */
    short list                  /* numbers as bits */
}

node is[NODES];
short lost[NODES];              /* the list for which the node was READY when it was wiped */
byte wiped = 0, late = 0;

typedef view {
    node nodes[NODES]
}

view seen[CLIENTS];

/* One request that is on its way, of each client. */
typedef request {
    bool there;
    byte at, nonce, number;     /* number: it lets the node begin */
    short list                  /* it makes the node READY */
}

request made[CLIENTS], held[CLIENTS];

#define SAW(c, n) seen[c].nodes[n]

/* The client has seen all nodes, and none of them in this state. */
#define SEES_NO(c, s) (SAW(c, 0).state != UNSEEN && SAW(c, 1).state != UNSEEN && \
        SAW(c, 2).state != UNSEEN && SAW(c, 0).state != s && \
        SAW(c, 1).state != s && SAW(c, 2).state != s)

#ifdef BROKEN_NO_NONCE
#define IS_SAME(r) true
#else
#define IS_SAME(r) (r.nonce == is[r.at].nonce)
#endif

#define BIT(n, own) (1 << (n * MEMORIES + own - 1))

#ifdef BROKEN_LEAST
/* A list that names the quorum, and says nothing of the node. */
#define BELONGS(r) true
#else
#define BELONGS(r) (r.list & BIT(r.at, is[r.at].own))
#endif

/* By the node. A number: it begins; a list: it becomes READY. */
inline execute(r) {
    if
    :: IS_SAME(r) && r.number && is[r.at].state == BLANK ->
        is[r.at].state = BEGUN;
        is[r.at].own = r.number
    :: IS_SAME(r) && r.list && is[r.at].state == BEGUN && BELONGS(r) ->
        is[r.at].state = READY;
        is[r.at].list = r.list
    :: else
    fi
}

/* The list of what the client has seen: of one that is READY, or of all numbers. */
inline choose_list(c) {
    if
    :: SAW(c, 0).state == READY -> made[c].list = SAW(c, 0).list
    :: SAW(c, 0).state != READY && SAW(c, 1).state == READY ->
        made[c].list = SAW(c, 1).list
    :: SAW(c, 0).state != READY && SAW(c, 1).state != READY &&
            SAW(c, 2).state == READY ->
        made[c].list = SAW(c, 2).list
    :: else ->
#ifdef BROKEN_LEAST
        made[c].list = BIT(0, SAW(c, 0).own)
#else
        made[c].list = BIT(0, SAW(c, 0).own) | BIT(1, SAW(c, 1).own) |
            BIT(2, SAW(c, 2).own)
#endif
    fi
}

/* It arrives now, later, or never; the client looks again. */
inline send(c) {
    SAW(c, made[c].at).state = UNSEEN;
    if
    :: execute(made[c])
    :: late < LATE && !held[c].there ->
        late++;
        held[c].there = true;
        held[c].at = made[c].at;
        held[c].nonce = made[c].nonce;
        held[c].number = made[c].number;
        held[c].list = made[c].list
    fi;
    made[c].number = 0;
    made[c].list = 0;
    made[c].nonce = 0;
    made[c].at = 0
}

inline look(c, n) {
    SAW(c, n).state = is[n].state;
    SAW(c, n).nonce = is[n].nonce;
    SAW(c, n).own = is[n].own;
    SAW(c, n).list = is[n].list
}

inline aim(c, n) {
    made[c].at = n;
    made[c].nonce = SAW(c, n).nonce
}

inline begin(c, n) {
    REACH(0);
    aim(c, n);
    made[c].number = 1 + made[c].nonce;
    send(c)
}

inline make_ready(c, n) {
    REACH(1);
    aim(c, n);
    choose_list(c);
    send(c)
}

proctype client(byte c) {
    byte n;

end:
    do
    :: d_step { look(c, 0) }
    :: d_step { look(c, 1) }
    :: d_step { look(c, 2) }
    :: atomic {
        SEES_NO(c, READY) ->
        if
        :: SAW(c, 0).state == BLANK -> begin(c, 0)
        :: SAW(c, 1).state == BLANK -> begin(c, 1)
        :: SAW(c, 2).state == BLANK -> begin(c, 2)
        :: else
        fi
    }
    :: atomic {
        SEES_NO(c, BLANK) ->
        if
        :: SAW(c, 0).state == BEGUN -> make_ready(c, 0)
        :: SAW(c, 1).state == BEGUN -> make_ready(c, 1)
        :: SAW(c, 2).state == BEGUN -> make_ready(c, 2)
        :: else
        fi
    }
    :: atomic {
        held[c].there ->
        REACH(2);
        execute(held[c]);
        held[c].there = false;
        held[c].at = 0;
        held[c].nonce = 0;
        held[c].number = 0;
        held[c].list = 0
    }
    od
}

/* The last memory of a node for which it was READY is the one that counts. */
inline wipe(n) {
    wiped++;
    if
    :: is[n].state == READY -> REACH(3); lost[n] = is[n].list
    :: else
    fi;
    is[n].state = BLANK;
    is[n].nonce++;
    is[n].own = 0;
    is[n].list = 0
}

proctype faults() {
end:
    do
    :: atomic { wiped < WIPES -> wipe(0) }
    :: atomic { wiped < WIPES -> wipe(1) }
    :: atomic { wiped < WIPES -> wipe(2) }
    od
}

#define FORGOT(n) (is[n].state == READY && is[n].list == lost[n])

proctype judge() {
end:
    do
    :: atomic { FORGOT(0) || FORGOT(1) || FORGOT(2) ->
        assert(!(FORGOT(0) || FORGOT(1) || FORGOT(2))) }
    :: atomic { is[0].state == READY && is[1].state == READY &&
            is[2].state == READY && is[0].list == is[1].list &&
            is[1].list == is[2].list -> REACH(4); break }
    od
}

init {
    byte n = 0;

    atomic {
        do
        :: n < NODES ->
            is[n].state = BLANK;
            SAW(0, n).state = UNSEEN;
            SAW(1, n).state = UNSEEN;
            n++
        :: else -> break
        od;
        run client(0);
        run client(1);
        run faults();
        run judge()
    }
}
