/* SPDX-License-Identifier: MIT */
/*
 * signal.pml -- one counted signal, WAITERS clients with one waiter each, their
 * server and the world. Each step of a script is atomic. What a client sends
 * over a connection that may break is sent again until it was executed, so it is
 * a flag here, and the server may execute it at any time, also twice.
 *
 * The server keeps the signal with the wait that it was given to until the waiter
 * acknowledges it. It hands the signal on when the waiter withdraws and when the
 * waiter's client is dead.
 */
#define WAITERS 2
#ifndef FAULTS
#define FAULTS 2
#endif
#define MESSAGES 2              /* copies in one inbox */

mtype = { WAITS, LINGERS, HAS, DONE, GONE, DEAD };

/* The server. */
bit listed[WAITERS];            /* the entry is in the list */
bit given[WAITERS];              /* the signal was given to this waiter */
bit spare = 0;                  /* to be handed on when a waiter can be reached */
bit alive[WAITERS];             /* the client's liveness has not run out */
bit counted = 0;                /* the sender was answered 1 */

/* Subscriptions as the server sees them, and as they are. */
bit subscribed[WAITERS], connected[WAITERS];
byte inbox[WAITERS];

/* The clients. */
mtype state[WAITERS] = WAITS;
bit frozen[WAITERS];
bit resend[WAITERS];            /* the inbox was opened since the last refresh */
bit acknowledges[WAITERS];      /* sent until executed */
bit withdraws[WAITERS];
bit forwards[WAITERS];          /* a message has come for a waiter that is gone */

byte faults = FAULTS;

/* For the properties alone. */
byte received = 0;              /* how many callers have got it */
bit excused = 0;                /* a client was silent beyond its liveness while
                                   it had not acknowledged the signal */
bit dropped = 0;                /* nobody waited when it was to be handed on */

hidden byte next, other;
hidden byte any;

#define RUNS(w) (!frozen[w] && state[w] != DEAD)
#define WAITING(w) (state[w] == WAITS || state[w] == LINGERS || state[w] == HAS)

#define HAS_TO_REFRESH(w) (RUNS(w) && WAITING(w) && connected[w] && (spare \
    || resend[w] || !alive[w] || (!listed[w] && !given[w]) \
    || (given[1 - w] && !alive[1 - w])))

inline deliver(w) {
    if
    :: connected[w] && inbox[w] < MESSAGES -> inbox[w]++
    :: else
    fi
}

/* Give the signal to the first entry of a client that is alive and subscribed.
 * next is WAITERS when there is none; any says whether somebody alive waits. */
inline give() {
    next = 0; any = 0;
    do
    :: next < WAITERS ->
        any = any || (listed[next] && alive[next]);
        if
        :: listed[next] && alive[next] && subscribed[next] -> break
        :: else -> next++
        fi
    :: else -> break
    od;
    if
    :: next < WAITERS ->
        listed[next] = 0;
#ifndef BROKEN_NOT_GIVEN
        given[next] = 1;
#endif
        deliver(next)
    :: else
    fi
}

inline hand_on() {
    give();
    if
    :: next < WAITERS -> spare = 0
#ifndef BROKEN_DROPPED_EARLY
    :: next == WAITERS && any -> spare = 1
#endif
    :: else -> spare = 0; dropped = !any
    fi
}

inline hand_on_of(w) {
    if
    :: given[w] -> given[w] = 0; hand_on()
    :: else
    fi
}

/* Signals of clients that are dead, and those that could not be handed on. */
inline reap() {
    other = 0;
    do
    :: other < WAITERS ->
        if
#ifdef BROKEN_REAPS_ALIVE
        :: given[other] ->
#else
        :: given[other] && !alive[other] ->
#endif
            excused = excused || !alive[other];
            hand_on_of(other)
        :: else
        fi;
        other++
    :: else -> break
    od;
    if
    :: spare -> hand_on()
    :: else
    fi
}

proctype server() {
    byte w;

    do
    /* signal_notify_one, once */
    :: d_step { !counted -> w = 0; give(); counted = (next < WAITERS); next = 0 }
    /* signal_cancel, which acknowledges */
    :: d_step { acknowledges[0] -> given[0] = 0; acknowledges[0] = 0 }
    :: d_step { acknowledges[1] -> given[1] = 0; acknowledges[1] = 0 }
    :: d_step { withdraws[0] -> withdraws[0] = 0; listed[0] = 0;
#ifndef BROKEN_NO_HAND_ON
        hand_on_of(0);
#endif
        next = 0; other = 0; any = 0 }
    :: d_step { withdraws[1] -> withdraws[1] = 0; listed[1] = 0;
#ifndef BROKEN_NO_HAND_ON
        hand_on_of(1);
#endif
        next = 0; other = 0; any = 0 }
    /* signal_notify_one on behalf of a waiter that is gone */
    :: d_step { forwards[0] -> forwards[0] = 0;
        hand_on_of(0);
        next = 0; other = 0; any = 0 }
    :: d_step { forwards[1] -> forwards[1] = 0;
        hand_on_of(1);
        next = 0; other = 0; any = 0 }
    :: timeout -> break
    od
}

/* signal_refresh, with the answers that its waiter acts on. */
inline refresh(w) {
    alive[w] = 1;
    if
    :: given[w] && resend[w] -> deliver(w)
    :: !given[w] && !listed[w] && inbox[w] == 0 && state[w] == WAITS ->
        listed[w] = 1                   /* woken, it enqueues again */
    :: else
    fi;
    resend[w] = 0;
    reap();
    next = 0; other = 0; any = 0
}

proctype client(byte w) {
    do
    /* A message is read. */
    :: d_step { RUNS(w) && inbox[w] > 0 ->
        inbox[w]--;
        if
        :: state[w] == WAITS || state[w] == LINGERS -> state[w] = HAS
        :: state[w] == GONE -> forwards[w] = 1
#ifdef BROKEN_TWICE
        :: state[w] == DONE -> forwards[w] = 1
#endif
        :: else
        fi }
    /* The caller gets it. */
    :: d_step { RUNS(w) && state[w] == HAS ->
        state[w] = DONE; received++; acknowledges[w] = 1 }
    /* The caller gives up at once, or leaves in order when its time is over. */
    :: d_step { RUNS(w) && state[w] == WAITS && w == 0 ->
        state[w] = GONE; withdraws[w] = 1 }
    :: d_step { RUNS(w) && state[w] == WAITS && w == 0 ->
        /* signal_cancel, which reports */
        if
        :: listed[w] -> listed[w] = 0; state[w] = GONE
        :: else ->
            if
            :: given[w] -> deliver(w)
            :: else
            fi;
            state[w] = LINGERS
        fi }
    :: d_step { RUNS(w) && state[w] == LINGERS ->
        state[w] = GONE; withdraws[w] = 1 }
    :: d_step { HAS_TO_REFRESH(w) -> refresh(w) }
    /* A broken inbox is opened again; the server closes the old one first. */
    :: d_step { RUNS(w) && !connected[w] ->
        connected[w] = 1; subscribed[w] = 1; inbox[w] = 0;
#ifndef BROKEN_NO_RESEND
        resend[w] = 1
#endif
        }
    :: timeout -> break
    od
}

proctype world() {
    byte w;

    do
    :: faults > 0 ->
        if
        :: w = 0
        :: w = 1
        fi;
        if
        /* The connection breaks; the server does not know yet. */
        :: d_step { connected[w] -> faults--; connected[w] = 0; inbox[w] = 0 }
        :: d_step { state[w] != DEAD -> faults--;
            state[w] = DEAD; connected[w] = 0; inbox[w] = 0;
            acknowledges[w] = 0; withdraws[w] = 0; forwards[w] = 0 }
        :: d_step { RUNS(w) -> faults--; frozen[w] = 1 }
        :: skip
        fi
    :: d_step { frozen[0] -> frozen[0] = 0 }
    :: d_step { frozen[1] -> frozen[1] = 0 }
    /* The server notices, and time passes. */
    :: d_step { subscribed[0] && !connected[0] -> subscribed[0] = 0 }
    :: d_step { subscribed[1] && !connected[1] -> subscribed[1] = 0 }
    :: d_step { alive[0] && (frozen[0] || state[0] == DEAD) -> alive[0] = 0 }
    :: d_step { alive[1] && (frozen[1] || state[1] == DEAD) -> alive[1] = 0 }
    :: timeout -> break
    od
}

proctype judge() {
    timeout ->
    assert(received <= 1 || excused);
    assert(!counted || received > 0 || dropped || !RUNS(1) || state[1] != WAITS)
}

init {
    atomic {
        run server();
        run client(0);
        run client(1);
        run world();
        run judge()
    }
}
