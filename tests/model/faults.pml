/* SPDX-License-Identifier: MIT */
/*
 * faults.pml -- the world: time that passes, and what goes wrong. Each fault
 * costs one of FAULTS; what merely follows from one (an expiry, a reconnect)
 * is free and, under fairness, happens.
 */

/* A lease of token t that its reader would find inside the local deadline. */
#define PROMISED(t) \
    (msg[t] == FRESH || \
     (mine[OWNER(t)] == t && (sure[OWNER(t)] || fresh[OWNER(t)])))

#if TRIES == 1
#define MAIL(k, is) (msg[k] is)
#elif TRIES == 2
#define MAIL(k, is) (msg[k] is || msg[k + 1] is)
#elif TRIES == 3
#define MAIL(k, is) (msg[k] is || msg[k + 1] is || msg[k + 2] is)
#else
#define MAIL(k, is) \
    (msg[k] is || msg[k + 1] is || msg[k + 2] is || msg[k + 3] is)
#endif

/* The grants in c's inbox become `what`: stale, or lost with the inbox. */
inline spoil_inbox(c, what) {
    i = c * TRIES;
    do
    :: i < (c + 1) * TRIES ->
        if
        :: msg[i] != EMPTY ->
            msg[i] = what;
            excused[i] = 1;
            FENCE(msg_fence[i] = (what == EMPTY -> 0 : msg_fence[i]))
        :: else
        fi;
        i++
    :: else -> break
    od;
    skip
}

/* c froze: what it holds, or was about to be told, is past its deadline. */
inline lapse(c, answer_too) {
    if
    :: sure[c] -> sure[c] = 0; excused[mine[c]] = 1
    :: else
    fi;
    if
    :: answer_too && fresh[c] -> fresh[c] = 0; excused[mine[c]] = 1
    :: else
    fi;
    spoil_inbox(c, STALE)
}

inline crash(c) {
    crashed[c] = 1;
    done[c] = 1;
    sure[c] = 0;
    inside[c] = 0;
    fresh[c] = 0;
    spoil_inbox(c, EMPTY);
    i = c * TRIES;
    do
    :: i < (c + 1) * TRIES -> excused[i] = 1; i++
    :: else -> break
    od;
    skip
}

/* No lease may run out unless a fault touched its grant. */
inline expire() {
    assert(lock == FOREIGN || excused[lock]);
    lock = NONE
}

/* What goes wrong with one client. */
#define LAPSABLE(c) \
    (!crashed[c] && (sure[c] || fresh[c] || MAIL(c * TRIES, == FRESH)))

#define MISHAPS(c) \
    :: d_step { faults > 0 && !done[c] -> faults--; crash(c) } \
    :: d_step { faults > 0 && LAPSABLE(c) -> faults--; lapse(c, 0) } \
    :: d_step { faults > 0 && LAPSABLE(c) -> faults--; lapse(c, 1) } \
    :: d_step { faults > 0 && live[c] && !crashed[c] -> \
            faults--; live[c] = 0 } \
    :: d_step { faults > 0 && inbox[c] && !crashed[c] -> \
            faults--; inbox[c] = 0; spoil_inbox(c, EMPTY) }

/* What follows by itself: it reconnects, or is found to be dead. */
#define CONSEQUENCES(c) \
    :: d_step { !crashed[c] && !inbox[c] -> inbox[c] = 1 } \
    :: d_step { crashed[c] && inbox[c] -> inbox[c] = 0 } \
    :: d_step { crashed[c] && live[c] -> live[c] = 0 }

proctype world() {
end:
    do
    MISHAPS(0)
    MISHAPS(1)
    CONSEQUENCES(0)
    CONSEQUENCES(1)
#if CLIENTS > 2
    MISHAPS(2)
    CONSEQUENCES(2)
#endif
    :: d_step { faults > 0 && lock == NONE -> faults--; lock = FOREIGN }
    :: d_step { faults > 0 -> faults = 0 }          /* all goes well */
    :: d_step { lock < NONE && !PROMISED(lock) -> expire() }
    :: d_step { lock == FOREIGN -> expire() }
    :: d_step { late_op != 0 ->
            serve(late_op, late_token); late_op = 0; late_token = NONE }
    :: d_step { late_op != 0 -> late_op = 0; late_token = NONE }
    od
}
