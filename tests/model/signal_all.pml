/* SPDX-License-Identifier: MIT */
/*
 * signal_all.pml -- a signal to all waiters that takes several calls: the list of
 * WAITS waits of two clients, the sender, whose replies may be lost and whose calls
 * may be executed once more, and waits that come and go meanwhile. Each step of a
 * script is atomic, and signals to one entry.
 *
 * The first call notes the last ticket of the list. Each call signals to the first
 * entry up to it, removes that entry, and tells the client up to which ticket its
 * waits are meant. How many were reached is kept at the server.
 */
#define WAITS 4
#define CLIENT(w) ((w) % 2)
#ifndef FAULTS
#define FAULTS 2
#endif
#define MESSAGES 4              /* on their way to one client */

mtype = { NEW, WAITING, WOKEN, LEFT };

/* The server. */
byte ticket[WAITS];             /* 0: not in the list */
byte kept = 0;                  /* the last ticket that an emptied list remembers */
bit under_way = 0, is_over = 0;
byte last = 0, from = 0;        /* of the signal */
byte count = 0;                 /* how many it has reached */

chan inbox[2] = [MESSAGES] of { byte };

/* The clients. */
mtype state[WAITS] = NEW;
byte own[WAITS];                /* the ticket that the wait was given */

/* The sender. */
bit is_done = 0;
byte told = 0;                  /* how many, by the reply that says it is over */

byte faults = FAULTS;
byte late = 0;                  /* copies of the call that were not executed yet */

/* For the properties alone. */
bit was_there[WAITS];           /* when the first call was executed */
byte woken = 0;                 /* signals that were sent for waits of that list */

hidden byte i, first;

inline find_first() {
    first = WAITS; i = 0;
    do
    :: i < WAITS ->
        if
        :: (ticket[i] > from && ticket[i] <= last
            && (first == WAITS || ticket[i] < ticket[first])) -> first = i
        :: else
        fi;
        i++
    :: else -> break
    od
}

inline find_last() {
    last = 0; i = 0;
    do
    :: i < WAITS ->
        if
        :: ticket[i] > last -> last = ticket[i]
        :: else
        fi;
        i++
    :: else -> break
    od
}

inline begin() {
    find_last();
    under_way = 1; from = 0;
#ifndef BROKEN_NO_TICKET_KEPT
    kept = last;
#endif
    i = 0;
    do
    :: i < WAITS -> was_there[i] = ticket[i] > 0; i++
    :: else -> break
    od
}

/* signal_notify_all, once. */
inline step() {
    if
    :: !is_over && !under_way -> begin()
    :: else
    fi;
    if
    :: under_way ->
#ifdef BROKEN_NO_LAST
        find_last();
#endif
        find_first();
        if
        :: first == WAITS -> under_way = 0; is_over = 1
        :: else ->
#ifndef BROKEN_COUNTED_BY_REPLIES
            count++;
#endif
            woken++;
            from = ticket[first];
#ifdef BROKEN_TICKET_BELOW
            inbox[CLIENT(first)] ! from - 1;
#elif defined(BROKEN_WHOLE_TICKET)
            inbox[CLIENT(first)] ! last;
#else
            inbox[CLIENT(first)] ! from;
#endif
            ticket[first] = 0
        fi
    :: else
    fi;
    first = 0; i = 0
}

/* Nothing of the list of the first call is left in it. */
#define IS_LEFT(w) (was_there[w] && ticket[w] > 0)

proctype sender() {
    do
    :: d_step { !is_done && late < 2 && faults > 0 ->
        faults--; late++ }      /* a copy is on its way as well */
    :: d_step { !is_done ->
        step();
#ifdef BROKEN_COUNTED_BY_REPLIES
        told = told + (under_way -> 1 : 0);
#else
        told = count;
#endif
        is_done = is_over;
        if
        :: is_done ->
            assert(told == woken);
            assert(!IS_LEFT(0) && !IS_LEFT(1) && !IS_LEFT(2) && !IS_LEFT(3))
        :: else
        fi }
    :: d_step { !is_done && faults > 0 -> faults--; step() }    /* its reply is lost */
    :: is_done -> break
    od
}

proctype late_copies() {
    do
    :: d_step { late > 0 -> late--; step() }
    :: is_done && late == 0 -> break
    od
}

proctype wait(byte w) {
    d_step {                    /* signal_wait */
        i = 0; own[w] = kept;
        do
        :: i < WAITS ->
            if
            :: ticket[i] > own[w] -> own[w] = ticket[i]
            :: else
            fi;
            i++
        :: else -> i = 0; break
        od;
        own[w]++;
        ticket[w] = own[w];
        state[w] = WAITING
    }
    if
    :: d_step { state[w] == WAITING && ticket[w] > 0 ->   /* it leaves the list */
        ticket[w] = 0; state[w] = LEFT; was_there[w] = 0 }
    :: state[w] != WAITING
    :: is_done
    fi
}

/* A client gives a message to all of its waits that it is for. A wait that gets one
 * has left the list, and began before the signal. */
proctype client(byte c) {
    byte up_to, w;

    do
    :: d_step { inbox[c] ? up_to ->
        w = 0;
        do
        :: w < WAITS ->
            if
            :: CLIENT(w) == c && state[w] == WAITING && own[w] <= up_to ->
                assert(was_there[w]);
                assert(ticket[w] == 0);
                state[w] = WOKEN
            :: else
            fi;
            w++
        :: else -> break
        od;
        w = 0; up_to = 0 }
    :: d_step { is_done && late == 0 && empty(inbox[c]) ->
        assert(!was_there[c] || state[c] == WOKEN);
        assert(!was_there[c + 2] || state[c + 2] == WOKEN) } -> break
    od
}

init {
    atomic {
        run sender(); run late_copies(); run client(0); run client(1);
        run wait(0); run wait(1); run wait(2); run wait(3)
    }
}
