/* SPDX-License-Identifier: MIT */
/*
 * cluster_split.pml -- one lock over two names, in two slots of a cluster of two
 * nodes. Each of two clients takes both names once, by a try or waiting. Its gateway
 * splits the requests into parts (libcore/stores/cluster/cluster_split_lock.c), and its
 * core repeats them, falls back to one name after another, and gives everything back
 * (libcore/src/primitives/lock/lock_many_acquire.c). Each execution of a script is
 * one atomic step.
 *
 * Name n is in slot n, which node n serves. Slot 0 may move to node 1, its keys
 * before its owner changes. When a client's link to a node breaks, the node may
 * execute what was under way on it at any later time: until the next link to that
 * node has closed it. How one request follows its slot is the subject of
 * cluster.pml.
 *
 * Time is an event: a lease ends at any moment, and its client knows by then that
 * it has.
 */
#ifndef FAULTS
#define FAULTS 2                /* links that break, leases that end, cancels, slots
                                   that nobody serves in time */
#endif
#ifndef MOVES
#define MOVES 1                 /* of slot 0 */
#endif
#ifndef FIRST_NAME
#define FIRST_NAME 0            /* in the order of the names' bytes */
#endif

#define BRANCHES 11
#include "reached.pml"

/* Scripts, for one name each. */
mtype = { TAKE, EXTEND, GIVE, QUEUE };
/* Requests of the core; QUEUE is one, too. */
mtype = { TAKE_ALL, UNITE, GIVE_ALL };
/* States of the core. */
mtype = { START, RUNS, WAITS, HOLDS, DONE };

/* The cluster. */
byte owner = 0, keys = 0;       /* nodes: of slot 0 and of its keys */
bit moving = 0;
byte holder[2], entry[2];       /* of each name: a client from 1, or 0 */

/* The cores. */
mtype state[2] = START, request[2];
bit once[2], tried_again[2], cancelled[2], anew[2], expired[2];
bit sure[2], refused[2];
bit releases[2], copied[2];     /* the caller does; a copy may have been executed */
byte next[2];                   /* waiting: how many names it has got */

/* The gateways. */
byte map[2];                    /* the node of slot 0 */
byte step[2];                   /* of TAKE_ALL */
bit busy[2], gave[2];           /* a name is not ours; one was given back */
bit broken[2], down[2];         /* a reply got lost; one is an error */

/* The parts: client c and name n have number 2 * c + n. */
mtype part[4], late[4];         /* under way; left on a link that broke */
bit sent[4], asks[4], late_asks[4], doubt[4];
byte to[4], late_at[4];

byte faults = FAULTS, moves = MOVES;
bit quiet = 1;                  /* there was no fault so far */

#define ME(c) ((c) + 1)
#define PART(c, n) (2 * (c) + (n))
#define OTHER(n) (1 - (n))
#define NODE(c, n) ((n) == 0 -> map[c] : 1)
#define SERVES(n, node, asking) ((n) == 1 -> (node) == 1 : \
    keys == (node) && (owner == (node) || (moving && (asking))))
#define OPEN(c) (part[PART(c, 0)] != 0 || part[PART(c, 1)] != 0)
#define MINE(c, n) (holder[n] == ME(c))
#ifdef BROKEN_ORDER_OF_WAITS
#define NEXT_NAME(c) (next[c] == c -> FIRST_NAME : OTHER(FIRST_NAME))
#else
#define NEXT_NAME(c) (next[c] == 0 -> FIRST_NAME : OTHER(FIRST_NAME))
#endif
#ifdef BROKEN_ORDER_OF_TRIES
#define TRIED(c, index) (((index) + (c)) % 2)
#else
#define TRIED(c, index) (index)
#endif

/* ---- the nodes ------------------------------------------------------------ */

inline fault() {
    faults--; quiet = 0
}

inline grant(n) {
    if
    :: entry[n] != 0 -> REACH(1)
    :: else
    fi;
    holder[n] = entry[n]; entry[n] = 0
}

/* Executes the script, and says in busy[] what is not HELD. A copy that is late
   says nothing. */
inline execute(c, n, what, is_late) {
    if
    :: what == TAKE && (MINE(c, n) || (holder[n] == 0 && entry[n] == 0)) ->
        holder[n] = ME(c)
    :: what == TAKE && !MINE(c, n) && (holder[n] != 0 || entry[n] != 0) ->
        REACH(0);
        busy[c] = busy[c] || !is_late
    :: what == EXTEND -> busy[c] = busy[c] || (!MINE(c, n) && !is_late)
    :: what == QUEUE && (MINE(c, n) || holder[n] == 0) -> holder[n] = ME(c)
    :: what == QUEUE && !MINE(c, n) && holder[n] != 0 -> entry[n] = ME(c)
    :: what == GIVE ->
        busy[c] = busy[c] || (!MINE(c, n) && !is_late);
        gave[c] = gave[c] || (MINE(c, n) && !is_late);
        if
        :: entry[n] == ME(c) -> entry[n] = 0
        :: else
        fi;
        if
        :: MINE(c, n) -> grant(n)
        :: else
        fi
    fi
}

inline end_lease(n) {
    fault();
    expired[holder[n] - 1] = 1; sure[holder[n] - 1] = 0;
    grant(n)
}

/* ---- the gateway ---------------------------------------------------------- */

/* Not while an earlier link may still carry a request for the slot. */
inline route(c, n) {
    if
    :: part[PART(c, n)] != 0 && !doubt[PART(c, n)] ->
        to[PART(c, n)] = NODE(c, n); sent[PART(c, n)] = 1; asks[PART(c, n)] = 0
    :: else
    fi
}

inline send(c, n, what) {
    part[PART(c, n)] = what;
    route(c, n)
}

/* A request of the core, or a copy of it. */
inline begin(c, what) {
    request[c] = what; state[c] = RUNS; busy[c] = 0; gave[c] = 0; step[c] = 0;
    if
    :: what == TAKE_ALL -> send(c, TRIED(c, 0), TAKE)
#ifdef BROKEN_PARALLEL
        ;
        send(c, TRIED(c, 1), TAKE); step[c] = 1
#endif
    :: what == QUEUE -> send(c, NEXT_NAME(c), QUEUE)
    :: what == UNITE -> send(c, 0, EXTEND); send(c, 1, EXTEND)
    :: what == GIVE_ALL -> send(c, 0, GIVE); send(c, 1, GIVE)
    fi
}

inline give_all(c, is_anew) {
    anew[c] = is_anew;
    begin(c, GIVE_ALL)
}

/* The core has the reply to its acquire. */
inline held(c) {
    if
    :: cancelled[c] || expired[c] -> REACH(2); give_all(c, 0)
    :: else ->
        if
        :: request[c] == UNITE -> REACH(3)
        :: else -> REACH(4)
        fi;
        state[c] = HOLDS; sure[c] = 1;
        assert(!sure[OTHER(c)]);
        assert(MINE(c, 0) && MINE(c, 1))
    fi
}

inline was_busy(c) {
    if
    :: cancelled[c] -> give_all(c, 0)
#ifndef BROKEN_BUSY_AFTER_A_COPY
    :: !cancelled[c] && tried_again[c] -> REACH(5);
        refused[c] = once[c];
        give_all(c, !once[c])
    :: !cancelled[c] && !tried_again[c] && once[c] ->
#else
    :: !cancelled[c] && once[c] ->
#endif
        refused[c] = 1; state[c] = DONE; request[c] = 0
#ifndef BROKEN_BUSY_AFTER_A_COPY
    :: !cancelled[c] && !tried_again[c] && !once[c] ->
#else
    :: !cancelled[c] && !once[c] ->
#endif
        next[c] = 0; begin(c, QUEUE)
    fi
}

inline got_name(c) {
    next[c]++;
    if
    :: next[c] < 2 -> begin(c, QUEUE)
    :: else -> expired[c] = 0; begin(c, UNITE)
    fi
}

#ifdef BROKEN_NOT_UNDONE
#define UNDO(c) was_busy(c)
#elif defined(BROKEN_PARALLEL)
#define UNDO(c) step[c] = 3; send(c, 0, GIVE); send(c, 1, GIVE)
#else
#define UNDO(c) step[c] = 3; send(c, TRIED(c, 0), GIVE)
#endif

/* The error says that no node has executed the request. */
#ifdef BROKEN_REFUSED_IN_PART
#define BREAKS(c) broken[c]
#else
#define BREAKS(c) (broken[c] || (down[c] && gave[c] && request[c] == GIVE_ALL))
#endif

/* What a release returns. A repeated one looks at the evidence, as in hold.pml. */
inline judge_release(c) {
    assert(!releases[c] || !busy[c] || copied[c] || expired[c]);
    if
    :: releases[c] && busy[c] && copied[c] -> REACH(8)
    :: else
    fi;
    releases[c] = 0; copied[c] = 0
}

/* All parts of a step have their replies. */
inline go_on(c) {
    if
    :: BREAKS(c) ->
        broken[c] = 0; down[c] = 0;
        if
        :: cancelled[c] && request[c] != GIVE_ALL -> give_all(c, 0)
        :: else ->
            tried_again[c] = tried_again[c] || request[c] == TAKE_ALL;
            copied[c] = releases[c];
            begin(c, request[c])
        fi
    :: !BREAKS(c) && down[c] ->
        down[c] = 0;
        if
        :: request[c] == GIVE_ALL || (request[c] == QUEUE && !cancelled[c]) ->
            begin(c, request[c])
        :: else -> give_all(c, 0)
        fi
    :: !broken[c] && !down[c] && request[c] == TAKE_ALL ->
        if
        :: step[c] == 0 && !busy[c] ->
            step[c] = 1; send(c, TRIED(c, 1), TAKE)
        :: step[c] == 0 && busy[c] -> was_busy(c)
        :: step[c] == 1 && !busy[c] ->
            step[c] = 2; send(c, TRIED(c, 0), EXTEND)
        :: step[c] == 1 && busy[c] -> UNDO(c)
        :: step[c] == 2 && !busy[c] -> held(c)
        :: step[c] == 2 && busy[c] ->
            REACH(6);
            step[c] = 3; send(c, 0, GIVE); send(c, 1, GIVE)
        :: step[c] == 3 -> was_busy(c)
        fi
    :: !broken[c] && !down[c] && request[c] == QUEUE ->
        if
        :: cancelled[c] -> give_all(c, 0)
        :: !cancelled[c] && MINE(c, NEXT_NAME(c)) -> got_name(c)
        :: !cancelled[c] && !MINE(c, NEXT_NAME(c)) ->
            state[c] = WAITS; request[c] = 0
        fi
    :: !broken[c] && !down[c] && request[c] == UNITE ->
        if
        :: busy[c] -> REACH(7); give_all(c, !cancelled[c])
        :: else -> held(c)
        fi
    :: !broken[c] && !down[c] && request[c] == GIVE_ALL ->
        judge_release(c);
        request[c] = 0; busy[c] = 0; gave[c] = 0;
        if
        :: anew[c] -> anew[c] = 0; state[c] = START
        :: else -> state[c] = DONE
        fi
    fi
}

inline replied(c, n) {
    part[PART(c, n)] = 0; sent[PART(c, n)] = 0; asks[PART(c, n)] = 0;
    if
    :: !OPEN(c) -> go_on(c)
    :: else
    fi
}

inline leave_late(c, n) {
    late[PART(c, n)] = part[PART(c, n)];
    late_at[PART(c, n)] = to[PART(c, n)];
    late_asks[PART(c, n)] = asks[PART(c, n)];
    part[PART(c, n)] = 0; sent[PART(c, n)] = 0; asks[PART(c, n)] = 0
}

/* What was under way on the link gets lost together. */
inline break_link(c, node) {
    fault();
    broken[c] = 1;
    if
    :: sent[PART(c, 0)] && to[PART(c, 0)] == node ->
        leave_late(c, 0); doubt[PART(c, 0)] = 1
    :: else
    fi;
    if
    :: sent[PART(c, 1)] && to[PART(c, 1)] == node ->
        leave_late(c, 1); doubt[PART(c, 1)] = 1
    :: else
    fi;
    if
    :: !OPEN(c) -> go_on(c)
    :: else
    fi
}

inline reconnect(c, n) {
#ifndef BROKEN_NO_KILL
    late[PART(c, n)] = 0; late_at[PART(c, n)] = 0; late_asks[PART(c, n)] = 0;
#endif
    doubt[PART(c, n)] = 0;
    route(c, n)
}

proctype gateway(byte c; byte n) {
end:
    do
    :: d_step { doubt[PART(c, n)] -> reconnect(c, n) }
    :: d_step { sent[PART(c, n)] &&
            SERVES(n, to[PART(c, n)], asks[PART(c, n)]) ->
        execute(c, n, part[PART(c, n)], 0);
        replied(c, n) }
    /* ASK, then MOVED */
    :: d_step { n == 0 && sent[PART(c, 0)] && owner == to[PART(c, 0)] &&
            keys != owner ->
        REACH(9);
        to[PART(c, 0)] = OTHER(owner); asks[PART(c, 0)] = 1 }
    :: d_step { n == 0 && sent[PART(c, 0)] && owner != to[PART(c, 0)] &&
            !(moving && asks[PART(c, 0)]) ->
        map[c] = owner;
        route(c, 0) }
    od
}

/* ---- the core ------------------------------------------------------------- */

proctype core(byte c) {
    if
    :: once[c] = 1
    :: once[c] = 0
    fi;
end:
    do
    :: d_step { state[c] == START ->
        expired[c] = 0; tried_again[c] = 0; begin(c, TAKE_ALL) }
    :: d_step { state[c] == WAITS && MINE(c, NEXT_NAME(c)) -> got_name(c) }
    /* A refresh finds that its grant has ended. */
    :: d_step { state[c] == WAITS && !MINE(c, NEXT_NAME(c)) &&
            entry[NEXT_NAME(c)] != ME(c) ->
        begin(c, QUEUE) }
    :: d_step { state[c] == HOLDS ->
        sure[c] = 0; releases[c] = 1; give_all(c, 0) }
    /* Its time is over, or it is cancelled. While a request is under way the
       gateway keeps what comes behind it under the same token. */
    :: d_step { faults > 0 && state[c] == WAITS ->
        fault();
        cancelled[c] = 1; give_all(c, 0) }
    :: d_step { (faults > 0 && state[c] == RUNS && request[c] != GIVE_ALL &&
            !cancelled[c]) ->
        fault();
        cancelled[c] = 1
#ifdef BROKEN_UNDONE_EARLY
        ;
        if
        :: sent[PART(c, 0)] -> leave_late(c, 0)
        :: else
        fi;
        if
        :: sent[PART(c, 1)] -> leave_late(c, 1)
        :: else
        fi;
        give_all(c, 0)
#endif
        }
    od
}

proctype world() {
end:
    do
    :: d_step { moves > 0 && !moving -> moves--; moving = 1 }
    :: d_step { moving && keys == owner -> keys = OTHER(owner) }
    :: d_step { moving && keys != owner -> owner = keys; moving = 0 }
    :: d_step { faults > 0 && holder[0] != 0 -> end_lease(0) }
    :: d_step { faults > 0 && holder[1] != 0 -> end_lease(1) }
    /* No more of them may happen. */
    :: d_step { moves > 0 && !moving -> moves = 0 }
    :: d_step { faults > 0 -> faults = 0 }
    od
}

#define ON_LINK(c, n, node) (sent[PART(c, n)] && to[PART(c, n)] == (node))
#define MAY_LOSE(c, n, node) (late[PART(c, n)] == 0 || !ON_LINK(c, n, node))

/* The client's link to node n, and what is left of name n. */
proctype link(byte c; byte n) {
end:
    do
    :: d_step { (faults > 0 && (ON_LINK(c, 0, n) || ON_LINK(c, 1, n)) &&
            MAY_LOSE(c, 0, n) && MAY_LOSE(c, 1, n)) ->
        break_link(c, n) }
    :: d_step { late[PART(c, n)] != 0 &&
            SERVES(n, late_at[PART(c, n)], late_asks[PART(c, n)]) ->
        REACH(10);
        execute(c, n, late[PART(c, n)], 1);
        late[PART(c, n)] = 0; late_at[PART(c, n)] = 0;
        late_asks[PART(c, n)] = 0 }
    /* Nobody serves the slot in time. */
    :: d_step { faults > 0 && part[PART(c, n)] != 0 ->
        fault();
        down[c] = 1; replied(c, n) }
    od
}

/* At rest both have their results, and nothing is left. */
proctype judge() {
    timeout ->
    assert(state[0] == DONE && state[1] == DONE);
    assert(holder[0] == 0 && holder[1] == 0);
    assert(entry[0] == 0 && entry[1] == 0);
    assert(!(quiet && refused[0] && refused[1]))
}

init {
    atomic {
        run core(0);
        run core(1);
        run gateway(0, 0);
        run gateway(0, 1);
        run gateway(1, 0);
        run gateway(1, 1);
        run link(0, 0);
        run link(0, 1);
        run link(1, 0);
        run link(1, 1);
        run world();
        run judge()
    }
}
