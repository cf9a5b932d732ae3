/* SPDX-License-Identifier: MIT */
/*
 * hold_faults.pml -- the world around a hold: time that passes, the second
 * client, and what goes wrong. Each fault costs one of FAULTS.
 */

inline tick() {
    lease = LESS(lease, 1);
    if
    :: lock == OURS && lease == 0 -> lock = NOBODY; fate = EXPIRED
    :: else
    fi;
    belief = LESS(belief, 1);
    age = (sent -> MIN(age + 1, LONG) : 0);
    renewal_age = (renewing -> MIN(renewal_age + 1, LONG) : 0);
#ifdef ADOPTER
    adopter_belief = LESS(adopter_belief, 1);
    adopter_age = (adopter_verb != NOTHING -> MIN(adopter_age + 1, LONG) : 0);
#endif
    check_belief()
}

inline drain_answers(c) {
    do
    :: len(answers[c]) > 0 -> answers[c]?answer,reported
    :: else -> break
    od
}

inline move(from, to) {
    do
    :: len(from) > 0 -> from?command; to!command
    :: else -> break
    od
}

/* The next connection is open at once; the verb and the keeper ask again. */
inline lose_connection(c) {
    faults--;
    drain_answers(c);
    if
    :: len(late[c * KEPT]) == 0 -> move(late[c * KEPT + 1], late[c * KEPT])
    :: else
    fi;
    i = c * KEPT + (len(late[c * KEPT]) > 0 -> 1 : 0);
    move(asked[c], late[i]);
    if
    :: sent && via == c -> sent = 0; retried = 1; age = 0
    :: else
    fi;
    if
    :: c == KEEPER -> end_renewal()
#ifdef KEEP_DOUBT
    :: c != KEEPER -> kept = MIN(kept, doubt[c])
#endif
    :: else
    fi
}

/* The caller stops waiting; the last copy stays where it is. */
inline give_up_verb() {
    faults--;
#ifdef NO_DOUBT
    doubt[via] = NO_LIMIT;
#endif
    if
    :: verb == RELEASE -> end_hold()
    :: else
    fi;
    end_verb()
}

/* An operator takes the lock away from whoever holds it. */
inline break_lock() {
    faults--;
    if
    :: lock == OURS -> fate = BROKEN; mark = MARK_OURS
    :: lock == OTHER -> mark = MARK_LATER
    fi;
    lock = NOBODY;
    lease = 0
}

/* SNAPSHOT: the server restores a record from before our grant. */
inline lose_memory() {
    faults--;
    fate = (lock == OURS -> FORGOTTEN : fate);
    lock = NOBODY;
    lease = 0;
#ifndef SNAPSHOT
    record = 0;
    older = 0;
    mark = UNMARKED;
#endif
    skip
}

#define MAY_BREAK(c) \
    (faults > 0 && UNANSWERED(c) > 0 && len(late[c * KEPT + 1]) == 0)

proctype world() {
end:
    do
#ifdef STEADY
    /* The keeper renews in time, and the server answers it in time. */
    :: d_step { handle == HELD && !renewing && belief > 1 -> tick() }
#else
    :: d_step { tick() }
    :: d_step { lock == NOBODY -> lock = OTHER; record = 1 }
    :: d_step { lock == OTHER -> lock = NOBODY }
    :: d_step { MAY_BREAK(KEEPER) -> lose_connection(KEEPER) }
#ifndef NO_LOSSES
    :: d_step { faults > 0 && lock != NOBODY -> break_lock() }
    :: d_step { faults > 0 && record -> lose_memory() }
#endif
#endif
    :: d_step { MAY_BREAK(CALL) -> lose_connection(CALL) }
#ifdef TWO_WAYS
    :: d_step { MAY_BREAK(EVENTS) -> lose_connection(EVENTS) }
#endif
    :: d_step { faults > 0 && !IDLE -> give_up_verb() }
    od
}
