/* SPDX-License-Identifier: MIT */
/*
 * pollers.pml -- a lock that CLIENTS of ours wait for in order, and that a program of
 * another library polls for: scripts/include/pollers.lua. Each script is one atomic step.
 *
 *     ours hold, hand over ... | the name is kept free | theirs, or ours go on
 *
 * Time is a handful of events: the name is kept free for at least as long as the poller
 * takes from one look to the next, and our turn lasts TURN releases at most. A waiter
 * plans its next look by the last reply that its client had: at the end of the time for
 * which the name is kept free, of the holder's lease, or soon, when a holder is foreign.
 * It refreshes in any case after a while, but here only once something was lost, so that
 * nothing holds by that alone. The poller pauses between two turns for as long as ours
 * take to look; one that does not may keep ours out by its luck.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef QUITS
#define QUITS 1                 /* waiters that give up */
#endif
#ifndef ENTRIES
#define ENTRIES 2               /* how often each client and the poller come in */
#endif
#define TURN 2
#ifndef BROKEN_NEVER
#define THEIR_TURN (seen && turn >= TURN)
#else
#define THEIR_TURN 0
#endif

#define NONE    CLIENTS
#define FOREIGN (CLIENTS + 1)

mtype = { START, WAIT, HOLD, DONE };
mtype = { AT_ONCE, AT_FREE, AT_LEASE };

/* The server. */
byte lock = NONE;
byte queue[CLIENTS] = NONE;
byte waiting = 0;
bit alive[CLIENTS] = 1;         /* the client's liveness has not run out */
bit seen = 0;                   /* a foreign holder was seen within the last minute */
bit kept = 0;                   /* the name is kept free */
byte turn = 0;                  /* releases since a foreign holder or such a time */

/* The clients. */
mtype state[CLIENTS] = START;
mtype look[CLIENTS];            /* when it looks next */
bit woken[CLIENTS], granted[CLIENTS];   /* messages in the inbox */
bit crashed[CLIENTS];
bit polled = 0;                 /* the poller has looked while the name was kept free */
bit poller_inside = 0, poller_done = 0;
bit pauses = 0;                 /* the poller has left, and ours have not looked since */
byte faults = FAULTS, quits = QUITS;

hidden byte i, at;

#define LOST (faults < FAULTS)
#define SETTLED(c) (state[c] == DONE || crashed[c])
#if CLIENTS == 2
#define ALL_SETTLED (SETTLED(0) && SETTLED(1))
#else
#define ALL_SETTLED (SETTLED(0) && SETTLED(1) && SETTLED(2))
#endif

/* A message to a living client arrives, or is lost. */
inline send(message, c) {   /* message: of the array of that client */
    if
    :: !crashed[c] -> message = 1
    :: !crashed[c] && faults > 0 -> faults--
    :: crashed[c]
    fi
}

inline leave(c) {
    i = 0; at = 0;
    do
    :: i < waiting ->
        if
        :: queue[i] == c
        :: else -> queue[at] = queue[i]; at++
        fi;
        i++
    :: else -> break
    od;
    waiting = at;
    i = at;
    do
    :: i < CLIENTS -> queue[i] = NONE; i++
    :: else -> break
    od
}

inline drop_dead() {
    do
    :: waiting > 0 && !alive[queue[0]] -> leave(queue[0])
    :: else -> break
    od
}

/* include/grant.lua with a free lock. share: it is a release, a cancel, or neither. */
inline grant(is_release, is_cancel) {
    drop_dead();
    if
    :: waiting == 0
#ifndef BROKEN_CLAIM
    :: waiting > 0 && kept && !is_cancel
#else
    :: waiting > 0 && kept && !is_cancel ->
        kept = 0; lock = queue[0]; send(granted[lock], lock); leave(lock)
#endif
    :: waiting > 0 && kept && is_cancel ->
#ifndef BROKEN_CANCEL
        send(woken[queue[0]], queue[0])
#else
        skip
#endif
    :: waiting > 0 && !kept && is_release && THEIR_TURN ->
        kept = 1; polled = 0; turn = 0;
#ifndef BROKEN_NOBODY_WOKEN
        send(woken[queue[0]], queue[0])
#endif
    :: waiting > 0 && !kept && !(is_release && THEIR_TURN) ->
        lock = queue[0]; send(granted[lock], lock); leave(lock)
    fi
}

/* What a reply says of the holder, and the client plans by it. */
inline plan(c) {
    if
    :: lock == FOREIGN -> look[c] = AT_ONCE; seen = 1; kept = 0; turn = 0
    :: lock < CLIENTS -> look[c] = AT_LEASE
    :: lock == NONE && kept -> look[c] = AT_FREE
    :: lock == NONE && !kept -> look[c] = AT_ONCE
    fi
}

inline is_listed(c) {
    i = 0;
    do
    :: i < waiting && queue[i] != c -> i++
    :: else -> break
    od
}

inline acquire(c) {
    pauses = 0;
    is_listed(c);
    if
    :: lock == c -> state[c] = HOLD
#ifndef BROKEN_TRY
    :: lock == NONE && waiting == 0 && !kept -> lock = c; state[c] = HOLD
    :: lock != c && !(lock == NONE && waiting == 0 && !kept) ->
#else
    :: lock == NONE && (waiting == 0 || kept) -> lock = c; state[c] = HOLD; leave(c)
    :: lock != c && !(lock == NONE && (waiting == 0 || kept)) ->
#endif
        if
        :: i == waiting -> queue[waiting] = c; waiting++
        :: else
        fi;
        if
        :: lock == NONE -> grant(0, 0)
        :: else
        fi;
        if
        :: lock == c -> state[c] = HOLD; granted[c] = 0
        :: else -> state[c] = WAIT; plan(c)
        fi
    fi
}

inline refresh(c) {
    pauses = 0;
    if
    :: lock == NONE -> grant(0, 0)
    :: else
    fi;
    is_listed(c);
    if
    :: lock == c -> state[c] = HOLD; granted[c] = 0
    :: lock != c && i == waiting -> state[c] = START        /* gone: it asks again */
    :: else -> plan(c)
    fi
}

proctype client(byte c) {
    byte entries = ENTRIES + c;     /* so that one comes last */

    do
    :: atomic { state[c] == START && !crashed[c] && entries > 0 -> acquire(c) }
    :: atomic { state[c] == WAIT && !crashed[c] && granted[c] ->
           granted[c] = 0;
           if
           :: lock == c -> state[c] = HOLD
           :: else
           fi }
    :: atomic { state[c] == WAIT && !crashed[c] && woken[c] ->
           woken[c] = 0; acquire(c) }
    :: atomic { state[c] == WAIT && !crashed[c] && !granted[c] &&
           (LOST || look[c] == AT_ONCE || (look[c] == AT_FREE && !kept)) ->
           refresh(c) }
    :: atomic { state[c] == WAIT && !crashed[c] && quits > 0 ->
           quits--; leave(c); granted[c] = 0; woken[c] = 0; state[c] = DONE;
           if
           :: lock == c -> lock = NONE
           :: else
           fi;
           if
           :: lock == NONE -> grant(0, 1)
           :: else
           fi }
    :: atomic { state[c] == HOLD && !crashed[c] ->
           woken[c] = 0; lock = NONE;
           turn = (seen && turn < TURN -> turn + 1 : turn);
           grant(1, 0);
#ifdef ENDLESS
           state[c] = START }
#else
           entries--;
           state[c] = (entries > 0 -> START : DONE) }
#endif
    :: state[c] == DONE || crashed[c] -> break
    od
}

proctype poller() {
    byte entries = ENTRIES;

    do
    :: atomic { !poller_inside && entries > 0 ->
           polled = 1;
           if
           :: lock == NONE && !(pauses && waiting > 0) -> lock = FOREIGN; poller_inside = 1
           :: else
           fi }
    :: atomic { poller_inside ->
           lock = NONE; poller_inside = 0; pauses = 1;
#ifndef ENDLESS
           entries--
#endif
           }
#ifndef ENDLESS
    :: entries == 0 -> break
    :: atomic { !poller_inside && entries > 0 -> entries = 0 }   /* it goes */
#endif
    od;
    poller_done = 1
}

/* Time that passes, and a client that dies. The lease of a dead holder runs out, and
 * then those look who waited for that. */
proctype world() {
    do
    :: atomic { kept && (polled || poller_done) -> kept = 0 }
    :: atomic { quits > 0 -> quits-- }              /* they do not give up */
    :: atomic { faults > 0 ->
           faults--;
           if
           :: !crashed[0] && state[0] != DONE -> crashed[0] = 1; alive[0] = 0
           :: else
           fi }
    :: atomic { lock < CLIENTS && crashed[lock] -> lock = NONE }
#ifndef ENDLESS
    :: atomic { poller_done && !kept && ALL_SETTLED &&
           !(lock < CLIENTS && crashed[lock]) -> break }
#endif
    od
}

/* So that a rest in which nothing can happen is a cycle, too. */
proctype idle() {
    bit tick = 0;

    do
    :: tick = 1 - tick
    od
}

init {
    atomic {
        run idle();
        lock = FOREIGN; poller_inside = 1; seen = 1;
        run client(0); run client(1); run poller(); run world();
#if CLIENTS == 3
        run client(2)
#endif
    }
}

#ifdef ENDLESS
/* The poller comes in again and again, or could if its polls were lucky, since the name
 * is free and nobody waits; and so do ours. */
#define IDLE (lock == NONE && waiting == 0)
ltl shares { []<> (poller_inside || IDLE) && []<> (lock < CLIENTS) }
#else
ltl settles { <> [] (ALL_SETTLED && lock == NONE) }
#endif
