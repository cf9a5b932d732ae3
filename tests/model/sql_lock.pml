/* SPDX-License-Identifier: MIT */
/*
 * sql_lock.pml -- a lock in a database: one row, which each statement compares and
 * changes in one step, and a user-level lock of the server (GET_LOCK), in which
 * clients have a wait queue. The row decides, and the queue wakes.
 *
 *     acquire   UPDATE row, if it is free, and get the queue's lock unless others
 *               have it: then only when the row has been free for a while
 *     wait      GET_LOCK over a connection of its own, then acquire over it
 *     release   UPDATE row, if it has the token, and free the queue's lock
 *
 * A session executes its statements in their order, and the server frees the lock
 * of a session that ends. When a connection breaks, its session may execute what it
 * has until the next connection has ended it. A contender stays with its connection:
 * TRY, or QUEUE when it got the row from the queue; it is called LEAVE from the moment
 * when the contender leaves.
 *
 * A look is an acquire by the clock. One that finds the row busy changes nothing and is
 * left out. With NO_SESSIONS a proxy shares connections: there is no queue, waiters
 * look, and an acquire is void after a time that the next connection waits for. With
 * CLOCKS the server and the clients count ticks; the lease counts from the beginning
 * of its statement, at the earliest its sending.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2              /* of each client, under tokens of their own */
#endif
#ifndef FAULTS
#define FAULTS 1                /* of any kind, at any moment, in one run */
#endif
#ifndef QUITS
#define QUITS 1                 /* attempts that are given up */
#endif
#ifndef TTL
#define TTL 2                   /* of the row, in ticks */
#endif
#define TOKEN(c) ((c) * ATTEMPTS + attempt[c] + 1)
#define OWNER(t) (((t) - 1) / ATTEMPTS)
#define TRY(c)   (3 * (c))
#define QUEUE(c)  (3 * (c) + 1)
#define LEAVE(c) (3 * (c) + 2)
#define CLIENT(s) ((s) / 3)
#define SESSIONS (3 * CLIENTS)
#define NOBODY   SESSIONS
#define ON(c) (by_queue[c] -> QUEUE(c) : TRY(c))

mtype = { START, JOINS, WAITS, HOLDS, DONE, DEAD };
mtype = { ACQUIRE, WRITE, RENEW, RELEASE };             /* statements */
mtype = { SENT, MATCHED, BUSY };
mtype = { OUT, QUEUED, HAS };                           /* in the queue */

/* The server: the row, */
byte token = 0, fence = 0, released = 0;
#ifdef CLOCKS
byte left = 0;
#define IS_OVER (left == 0)
#else
bit over = 0;
#define IS_OVER over
#endif
#define IS_FREE (token == 0 || IS_OVER)
/* the wait queue, */
byte has_lock = NOBODY;         /* a session */
byte queue[CLIENTS], queue_len = 0;  /* clients, in their order */
mtype place[CLIENTS] = OUT;
/* and the sessions: the statement that each has to execute. */
mtype statement[SESSIONS];
byte its_token[SESSIONS];
bit link[SESSIONS] = 1;
#ifdef BROKEN_OVERTAKES
bit is_older[SESSIONS];         /* than the last release: its time is before that */
#endif
#ifdef BROKEN_NO_KILL
mtype stray = 0;                /* what a session that nobody ended has */
byte stray_token = 0;
#endif

/* The clients. */
mtype state[CLIENTS] = START;
byte attempt[CLIENTS];
bit by_queue[CLIENTS], tried[CLIENTS];
bit looks[CLIENTS];
mtype asks[CLIENTS], result[CLIENTS];
byte leaves[CLIENTS];           /* a token */
mtype leave_is[CLIENTS];
bit repeats[CLIENTS];
byte mine[CLIENTS];             /* the fence */
#ifdef CLOCKS
byte belief[CLIENTS], age[CLIENTS];
#define BELIEVES(c) (belief[c] > 0)
#else
bit belief[CLIENTS];
bit too_late[CLIENTS];          /* its lease has ended before the result came */
#define BELIEVES(c) belief[c]
#endif
byte faults = FAULTS, quits = QUITS;

/* For the properties alone. */
byte last = 0;                  /* the fence of the last hold */
bit gave_up[CLIENTS];           /* a release of the client found its token */

hidden byte at, holders;
hidden byte gets, its_copy;
hidden mtype what;

#define BRANCHES 16
#include "reached.pml"

#define SURE(c) (state[c] == HOLDS && BELIEVES(c))

inline one_holder() {
#if CLIENTS == 2
    holders = SURE(0) + SURE(1);
#else
    holders = SURE(0) + SURE(1) + SURE(2);
#endif
    assert(holders <= 1)
}

/* ---- the wait queue ------------------------------------------------------ */

inline take_out(c) {
    at = 0;
    do
    :: at < queue_len && queue[at] != c -> at++
    :: else -> break
    od;
    do
    :: at + 1 < queue_len -> queue[at] = queue[at + 1]; at++
    :: else -> break
    od;
    queue_len--;
    queue[queue_len] = 0;
    place[c] = OUT
}

inline free_lock() {
    has_lock = NOBODY;
    if
    :: queue_len > 0 ->
        has_lock = QUEUE(queue[0]);
        tried[queue[0]] = 0;
        gets = 0;
        holders = queue[0];
        take_out(holders);
        place[holders] = HAS
    :: else
    fi
}

inline enter(c) {
    if
    :: has_lock == NOBODY -> has_lock = QUEUE(c); place[c] = HAS; tried[c] = 0
    :: else -> queue[queue_len] = c; queue_len++; place[c] = QUEUED
    fi
}

/* The wait is over: KILL QUERY, or RELEASE_LOCK. */
inline leave_queue(c) {
    if
    :: place[c] == QUEUED -> REACH(0); take_out(c)
    :: place[c] == HAS -> REACH(1); place[c] = OUT; free_lock()
    fi
}

/* ---- statements ---------------------------------------------------------- */

#ifdef CLOCKS
#define NEW_LEASE(s, t) \
    left = (!IS_OF_HOLD(s, t) -> TTL : \
        (age[CLIENT(s)] < TTL -> TTL - age[CLIENT(s)] : 0))
#else
#define NEW_LEASE(s, t) \
    over = 0; \
    too_late[CLIENT(s)] = (IS_OF_HOLD(s, t) -> 0 : too_late[CLIENT(s)])
#endif
/* Not of one that has left. */
#define IS_OF_HOLD(s, t) ((t) == TOKEN(CLIENT(s)) && (s) == ON(CLIENT(s)))

inline answer(s, what) {
    if
    :: link[s] && asks[CLIENT(s)] != 0 && s == ON(CLIENT(s)) ->
        result[CLIENT(s)] = what;
        if
        :: what == MATCHED -> mine[CLIENT(s)] = fence
        :: else
        fi
    :: else -> REACH(2)
    fi
}

inline take(s, t) {
    if
    :: token != t -> fence++
    :: else
    fi;
    token = t;
    NEW_LEASE(s, t)
}

/* Whether a free row is for this session. */
inline ask_lock(s) {
    gets = 1;
    if
#ifdef NO_SESSIONS
    :: 1
#else
    :: has_lock == s
    :: has_lock == NOBODY -> has_lock = s
    :: has_lock != NOBODY && has_lock != s ->
#ifdef BROKEN_OVERTAKES
        gets = (is_older[s] -> 1 : looks[CLIENT(s)])
#else
        gets = looks[CLIENT(s)]         /* free for a while */
#endif
#endif
    fi
}

inline acquire(s, t) {
    if
#ifdef BROKEN_QUEUE_DECIDES
    :: has_lock == NOBODY || has_lock == s ->
        has_lock = s; take(s, t); answer(s, MATCHED)
    :: has_lock != NOBODY && has_lock != s -> answer(s, BUSY)
#else
    :: token == t && !IS_OVER -> REACH(3);
        NEW_LEASE(s, t); answer(s, MATCHED)
    :: !(token == t && !IS_OVER) && IS_FREE ->
        ask_lock(s);
        if
        :: gets ->
#ifdef BROKEN_TWO_STATEMENTS
            statement[s] = WRITE; its_token[s] = t
#else
            take(s, t); answer(s, MATCHED)
#endif
        :: else -> REACH(4); answer(s, BUSY)
        fi
    :: else -> answer(s, BUSY)
#endif
    fi
}

#ifdef BROKEN_RELEASE_BY_NAME
#define HAS_TOKEN(t) (token != 0)
#else
#define HAS_TOKEN(t) (token == t)
#endif

inline release(s, t) {
    if
    :: HAS_TOKEN(t) ->
        if
        :: token == t -> gave_up[OWNER(t)] = 1
        :: else
        fi;
        token = 0; released = t;
#ifdef BROKEN_OVERTAKES
        at = 0;
        do
        :: at < SESSIONS -> is_older[at] = statement[at] == ACQUIRE; at++
        :: else -> break
        od;
#endif
#ifdef CLOCKS
        left = 0;
#else
        over = 0;
#endif
        leave_is[OWNER(t)] = (link[s] -> MATCHED : leave_is[OWNER(t)]);
        if
#ifndef BROKEN_RELEASE_KEEPS_LOCK
        :: has_lock == s -> free_lock()
#endif
        :: else
        fi
    :: else -> leave_is[OWNER(t)] = (link[s] -> BUSY : leave_is[OWNER(t)])
    fi
}

inline execute(s) {
    what = statement[s]; its_copy = its_token[s];
    statement[s] = 0; its_token[s] = 0;
    if
    :: what == ACQUIRE -> acquire(s, its_copy)
    :: what == WRITE -> take(s, its_copy); answer(s, MATCHED)
    :: what == RENEW ->
        if
        :: token == its_copy && !IS_OVER -> NEW_LEASE(s, its_copy);
            if
#ifndef NO_SESSIONS
            :: has_lock == NOBODY -> REACH(5); has_lock = s
#endif
            :: else
            fi;
            answer(s, MATCHED)
        :: else -> answer(s, BUSY)
        fi
    :: what == RELEASE -> release(s, its_copy)
    fi
}

/* The server ends a session: what it had is void, and its lock is free. */
inline end_session(s) {
#ifdef BROKEN_NO_KILL
    if
    :: statement[s] != 0 && statement[s] != RELEASE && stray == 0 ->
        stray = statement[s]; stray_token = its_token[s]
    :: else
    fi;
#endif
    statement[s] = 0; its_token[s] = 0;
    if
    :: s == QUEUE(CLIENT(s)) && place[CLIENT(s)] == QUEUED -> REACH(6);
        take_out(CLIENT(s))
    :: else
    fi;
    if
    :: has_lock == s ->
        if
        :: s == QUEUE(CLIENT(s)) && place[CLIENT(s)] == HAS ->
            place[CLIENT(s)] = OUT
        :: else
        fi;
        free_lock()
    :: else
    fi
}

proctype server(byte s) {
end:
    do
    :: d_step { statement[s] != 0 ->
        execute(s) }
    od
}

/* ---- a client ------------------------------------------------------------ */

inline next_attempt(c) {
    asks[c] = 0; result[c] = 0; by_queue[c] = 0; looks[c] = 0;
    belief[c] = 0; mine[c] = 0;
#ifdef CLOCKS
    age[c] = 0;
#else
    too_late[c] = 0;
#endif
    if
    :: attempt[c] + 1 < ATTEMPTS -> attempt[c]++; state[c] = START
    :: else -> state[c] = DONE
    fi
}

/* The session goes with the contender, and the release follows what is still to be
 * executed there. */
inline move_session(from, to) {
    statement[to] = statement[from];
    its_token[to] = its_token[from];
    link[to] = link[from];
    statement[from] = 0; its_token[from] = 0; link[from] = 1;
    if
    :: has_lock == from -> has_lock = to
    :: else
    fi
}

inline leave(c) {
    leaves[c] = TOKEN(c);
    leave_is[c] = 0;
    if
    :: by_queue[c] -> REACH(7);
        if
        :: place[c] == QUEUED -> take_out(c)
        :: else -> place[c] = OUT
        fi;
        move_session(QUEUE(c), LEAVE(c))
    :: else -> move_session(TRY(c), LEAVE(c))
    fi;
#ifdef BROKEN_RELEASE_AT_ONCE
    if
    :: link[LEAVE(c)] && statement[LEAVE(c)] != 0 ->
        statement[TRY(c)] = statement[LEAVE(c)];
        its_token[TRY(c)] = its_token[LEAVE(c)];
        statement[LEAVE(c)] = 0; its_token[LEAVE(c)] = 0
    :: else
    fi;
#endif
    next_attempt(c)
}

inline ask(c, what) {
    asks[c] = what; result[c] = 0
}

inline hold(c) {
    state[c] = HOLDS;
    if
    :: by_queue[c] -> place[c] = OUT     /* the queue's lock is the hold's */
    :: else
    fi;
    assert(mine[c] > last);
    last = mine[c]
}

inline lose(c) {
    REACH(8);
    if
    :: has_lock == ON(c) -> free_lock()
    :: else
    fi;
    next_attempt(c)
}

#ifdef CLOCKS
#ifdef BROKEN_NO_MARGIN
#define MARGIN 0
#else
#define MARGIN 1
#endif
#ifdef BROKEN_FROM_RECEIPT
#define PERIOD (TTL - MARGIN)
#else
#define PERIOD (TTL - MARGIN - age[c])
#endif
#define BELIEVE(c, drift) \
    belief[c] = (PERIOD + drift > belief[c] -> PERIOD + drift : belief[c]); \
    age[c] = 0
#else
#define BELIEVE(c, drift) belief[c] = !too_late[c]; too_late[c] = 0
#endif

inline understand(c, drift) {
    if
    :: result[c] == MATCHED ->
        BELIEVE(c, drift);
        if
        :: asks[c] == ACQUIRE && BELIEVES(c) -> hold(c)
        :: asks[c] == ACQUIRE && !BELIEVES(c) -> REACH(9); state[c] = HOLDS
        :: else
        fi;
        asks[c] = 0; result[c] = 0;
        one_holder()
    :: result[c] == BUSY && asks[c] == ACQUIRE ->
        state[c] = WAITS; by_queue[c] = 0; looks[c] = 0;
        asks[c] = 0; result[c] = 0
    :: result[c] == BUSY && asks[c] == RENEW -> lose(c)
    fi
}

/* What a release says: that it was one, that the hold was lost, or that it cannot
 * be known. */
inline understand_left(c) {
    if
    :: leave_is[c] == MATCHED
    :: leave_is[c] == BUSY && released == leaves[c] -> REACH(10);
        assert(gave_up[c])
    :: leave_is[c] == BUSY && released != leaves[c] ->
#ifdef BROKEN_LAST_RELEASED_ONLY
        assert(!gave_up[c])
#else
        assert(!gave_up[c] || repeats[c])
#endif
    fi;
    if
#if !defined(BROKEN_LOCK_KEPT) && !defined(BROKEN_RELEASE_KEEPS_LOCK)
    :: has_lock == LEAVE(c) -> free_lock()      /* it did not get the row */
#endif
    :: else
    fi;
    leaves[c] = 0; leave_is[c] = 0; repeats[c] = 0; gave_up[c] = 0
}

inline connect(s) {
    end_session(s);
    link[s] = 1;
    if
    :: state[CLIENT(s)] == DEAD -> REACH(11)
    :: (state[CLIENT(s)] != DEAD && s == LEAVE(CLIENT(s))
            && leaves[CLIENT(s)] != 0) -> REACH(12);
        repeats[CLIENT(s)] =
            (leave_is[CLIENT(s)] == SENT -> 1 : repeats[CLIENT(s)]);
        leave_is[CLIENT(s)] = 0
    :: (state[CLIENT(s)] != DEAD && s == ON(CLIENT(s))
            && result[CLIENT(s)] == SENT) -> REACH(13);
        result[CLIENT(s)] = 0           /* to be sent again */
    :: else
    fi
}

#define CAN_SEND(s) (link[s] && statement[s] == 0)
#ifdef NO_LOOKS
#define MAY_LOOK 0
#else
#define MAY_LOOK IS_FREE
#endif
#ifdef BROKEN_LOCK_KEPT
#define MAY_LEAVE_QUEUE(c) 0
#else
#define MAY_LEAVE_QUEUE(c) (state[c] != WAITS && state[c] != DEAD \
    && place[c] != OUT && !by_queue[c] && link[QUEUE(c)])
#endif

proctype client(byte c) {
end:
    do
    :: d_step { state[c] == START -> state[c] = JOINS; ask(c, ACQUIRE) }
    :: d_step { asks[c] != 0 && result[c] == 0 && CAN_SEND(ON(c)) ->
        statement[ON(c)] = asks[c]; its_token[ON(c)] = TOKEN(c);
        result[c] = SENT;
#ifdef BROKEN_OVERTAKES
        is_older[ON(c)] = 0;
#endif
#ifdef CLOCKS
        age[c] = 0
#else
        too_late[c] = 0
#endif
        }
    :: d_step { (result[c] == MATCHED || result[c] == BUSY) && link[ON(c)] ->
        understand(c, 0) }
#ifdef CLOCKS
    :: d_step { result[c] == MATCHED && link[ON(c)] -> understand(c, 1) }
#endif
    /* The wait queue. */
#ifndef NO_SESSIONS
    :: d_step { (state[c] == WAITS && place[c] == OUT && !by_queue[c]
            && link[QUEUE(c)]) ->
        enter(c) }
    :: d_step { (state[c] == WAITS && asks[c] == 0 && place[c] == HAS
            && !tried[c] && link[QUEUE(c)]) ->
        by_queue[c] = 1; tried[c] = 1; ask(c, ACQUIRE) }
#endif
    :: d_step { MAY_LEAVE_QUEUE(c) -> leave_queue(c) }
    :: d_step { (state[c] == WAITS && asks[c] == 0 && MAY_LOOK
            && (place[c] != HAS || tried[c] || !link[QUEUE(c)])) -> REACH(14);
        by_queue[c] = place[c] == HAS && link[QUEUE(c)];
        looks[c] = 1; ask(c, ACQUIRE) }
    /* A hold. */
#ifdef CLOCKS
    :: d_step { state[c] == HOLDS && asks[c] == 0 && belief[c] < TTL ->
        ask(c, RENEW) }
#else
    :: d_step { state[c] == HOLDS && asks[c] == 0 && !belief[c] ->
        ask(c, RENEW) }
#endif
    :: d_step { state[c] == HOLDS && leaves[c] == 0 -> leave(c) }
    :: d_step { (quits > 0 && leaves[c] == 0
            && (state[c] == JOINS || state[c] == WAITS)) ->
        REACH(15); quits--; leave(c) }
    :: d_step { leaves[c] != 0 && leave_is[c] == 0 && CAN_SEND(LEAVE(c)) ->
        statement[LEAVE(c)] = RELEASE; its_token[LEAVE(c)] = leaves[c];
        leave_is[c] = SENT }
    :: d_step { ((leave_is[c] == MATCHED || leave_is[c] == BUSY)
            && link[LEAVE(c)]) -> understand_left(c) }
    :: d_step { !link[TRY(c)] -> connect(TRY(c)) }
    :: d_step { !link[QUEUE(c)] -> connect(QUEUE(c)) }
    :: d_step { !link[LEAVE(c)] -> connect(LEAVE(c)) }
    od
}

/* ---- the world ----------------------------------------------------------- */

inline break_link(s) {
    faults--;
    link[s] = 0;
    if
    :: s == ON(CLIENT(s)) && asks[CLIENT(s)] != 0 -> result[CLIENT(s)] = SENT
    :: s == LEAVE(CLIENT(s)) && leave_is[CLIENT(s)] != 0 ->
        leave_is[CLIENT(s)] = SENT
    :: else
    fi
}

/* Its sessions end later. */
inline kill_client(c) {
    faults--;
    next_attempt(c);
    state[c] = DEAD;
    leaves[c] = 0; leave_is[c] = 0; repeats[c] = 0; gave_up[c] = 0;
    link[TRY(c)] = 0; link[QUEUE(c)] = 0; link[LEAVE(c)] = 0
}

#define LINK_OF(s) \
    :: d_step { faults > 0 && link[s] && (statement[s] != 0 \
            || has_lock == s || (s == ON(CLIENT(s)) && asks[CLIENT(s)] != 0) \
            || (s == LEAVE(CLIENT(s)) && leave_is[CLIENT(s)] != 0) \
            || (s == QUEUE(CLIENT(s)) && place[CLIENT(s)] != OUT)) -> \
        break_link(s) }
#define KILL_OF(c) \
    :: d_step { faults > 0 && state[c] != DEAD && state[c] != DONE -> \
        kill_client(c) }
/* Frozen, or cut off, until the deadline has passed. */
#define SILENCE_OF(c) \
    :: d_step { faults > 0 && belief[c] && state[c] == HOLDS -> \
        faults--; belief[c] = 0 }
#define IS_BELIEVED(t) (state[OWNER(t)] == HOLDS && belief[OWNER(t)] \
    && TOKEN(OWNER(t)) == (t))
#define IS_DEAD(t) (state[OWNER(t)] == DEAD)

#ifdef CLOCKS
inline tick() {
    left = (left > 0 -> left - 1 : 0);
    at = 0;
    do
    :: at < CLIENTS ->
        belief[at] = (belief[at] > 0 -> belief[at] - 1 : 0);
        if
        :: asks[at] != 0 && age[at] < TTL -> age[at]++
        :: else
        fi;
        at++
    :: else -> break
    od;
    skip
}
#endif

proctype world() {
end:
    do
    LINK_OF(0)
    LINK_OF(1)
    LINK_OF(2)
    LINK_OF(3)
    LINK_OF(4)
    LINK_OF(5)
    KILL_OF(0)
    KILL_OF(1)
#if CLIENTS > 2
    LINK_OF(6)
    LINK_OF(7)
    LINK_OF(8)
    KILL_OF(2)
#endif
#ifdef CLOCKS
    :: d_step { 1 -> tick() }
#else
    SILENCE_OF(0)
    SILENCE_OF(1)
#if CLIENTS > 2
    SILENCE_OF(2)
#endif
    :: d_step { (token != 0 && !over && !IS_BELIEVED(token)
            && (faults > 0 || IS_DEAD(token))) ->
        if
        :: IS_DEAD(token)
        :: else -> faults--;
            if
            :: TOKEN(OWNER(token)) == token -> too_late[OWNER(token)] = 1
            :: else
            fi
        fi;
        over = 1 }
#endif
#ifdef BROKEN_NO_KILL
    :: d_step { stray != 0 ->
        if
        :: stray == ACQUIRE && token == 0 ->
            token = stray_token; fence++
        :: else
        fi;
        stray = 0; stray_token = 0 }
#endif
    /* Nothing more happens. */
    :: d_step { faults > 0 || quits > 0 -> faults = 0; quits = 0 }
    od
}

/* At rest everybody is done, and the row is free: without the help of its lease,
 * unless a client was killed. */
proctype judge() {
    timeout ->
    assert(state[0] == DONE || state[0] == DEAD);
    assert(state[1] == DONE || state[1] == DEAD);
#if CLIENTS > 2
    assert(state[2] == DONE || state[2] == DEAD);
#endif
    assert(token == 0 || IS_OVER)
}

init {
    byte s = 0;

    atomic {
        do
        :: s < SESSIONS -> run server(s); s++
        :: else -> break
        od;
        s = 0;
        do
        :: s < CLIENTS -> run client(s); s++
        :: else -> break
        od;
        s = 0;
        run world();
        run judge()
    }
}
