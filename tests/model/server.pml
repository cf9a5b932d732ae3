/* SPDX-License-Identifier: MIT */
/*
 * server.pml -- the scripts, each a deterministic step on the lock, the
 * waiting list and the inboxes. The names are those of libcore/scripts.
 */

/* Where token t stands in the list, into `at`; `waiting` when nowhere. */
inline find(t) {
    at = 0;
    do
    :: at < waiting && queue[at] != t -> at++
    :: else -> break
    od;
    skip
}

inline remove_at(k) {
    j = k;
    do
    :: j + 1 < waiting -> queue[j] = queue[j + 1]; j++
    :: else -> break
    od;
    waiting--;
    queue[waiting] = NONE
}

inline remove(t) {
    find(t);
    if
    :: at < waiting -> remove_at(at)
    :: else
    fi
}

/* SET lock token PX lease, HSET fence: the fence rises with each grant. */
inline take(t) {
    lock = t;
    FENCE(fence++)
}

/* PUBLISH to an inbox that has a receiver; a dead one reads nothing. */
inline publish(t) {
    if
    :: crashed[OWNER(t)]
    :: else -> msg[t] = FRESH; FENCE(msg_fence[t] = fence)
    fi
}

/*
 * Give the free lock to the first live waiter that can be reached. `own` is
 * the caller's token in acquire, granted without a message.
 */
inline grant(own) {
    walked = 0;
    at = 0;
    do
    :: lock == NONE && at < waiting && walked < LIMIT ->
        walked++;
        entry = queue[at];
        if
#ifndef BROKEN_NO_LIVENESS
        :: !live[OWNER(entry)] -> remove_at(at)
        :: live[OWNER(entry)] && entry == own ->
#else
        :: entry == own ->
#endif
            remove_at(at); take(entry)
#ifndef BROKEN_NO_LIVENESS
        :: live[OWNER(entry)] && entry != own && inbox[OWNER(entry)] ->
#else
        :: entry != own && inbox[OWNER(entry)] ->
#endif
            remove_at(at); take(entry); publish(entry)
        :: else -> at++         /* no receiver is not death: passed over */
        fi
    :: else -> break
    od;
    answer = (lock == NONE && at < waiting -> MORE : RELEASED)
}

/* Delete the lock if it is t's, and hand over. */
inline give_up(t) {
#ifdef BROKEN_NO_OWNER
    if
    :: lock != NONE -> lock = NONE; grant(NONE)
#else
    if
    :: lock == t -> lock = NONE; grant(NONE)
#endif
    :: else -> answer = LOST
    fi
}

inline lock_acquire(t) {
    if
    :: lock == t -> skip                    /* a retry */
    :: lock == NONE && waiting == 0 -> take(t)
    :: else ->
        live[OWNER(t)] = 1;
        find(t);
        if
        :: at == waiting -> queue[waiting] = t; waiting++
        :: else                             /* a retry keeps its place */
        fi;
        if
        :: lock == NONE -> grant(t)
        :: else
        fi
    fi;
    answer = (lock == t -> HELD : QUEUED)
}

inline lock_refresh(t) {
    live[OWNER(t)] = 1;
    if
    :: lock == NONE -> grant(NONE)
    :: else
    fi;
    find(t);
    if
    :: lock == t -> answer = HELD
    :: lock != t && at < waiting -> answer = QUEUED
    :: else -> answer = GONE
    fi
}

inline lock_cancel(t) {
    remove(t);
#ifdef BROKEN_NO_PASS_ON
    answer = GONE
#else
    give_up(t)
#endif
}

inline lock_claim() {
    answer = RELEASED;
    if
    :: lock == NONE -> grant(NONE)
    :: else
    fi
}

inline serve(op, t) {
    if
    :: op == ACQUIRE -> lock_acquire(t)
    :: op == REFRESH -> lock_refresh(t)
    :: op == CANCEL -> lock_cancel(t)
    :: op == RELEASE -> give_up(t)
    :: op == EXTEND -> answer = (lock == t -> HELD : LOST)
    :: op == CLAIM -> lock_claim()
    fi
}
