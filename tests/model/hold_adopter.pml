/* SPDX-License-Identifier: MIT */
/*
 * hold_adopter.pml -- the process that adopts the token of a hold, and may
 * hand it back.
 *
 * It is simpler than the donor: the server runs and answers its command in
 * one step. Only an adoption can be given up; its copy may then run late,
 * after the donor has adopted the token again.
 */

#ifdef ADOPTER
inline adopter_asks(what) {
    adopter_verb = what;
    if
    :: EXTENDS(what) -> adopter_belief = MIN(adopter_belief, SPAN(what))
    :: else
    fi
}

inline adopter_is_answered() {
    command = adopter_verb;
    execute();
    if
    :: answer == EXTENDED ->
        reported = LESS(reported, adopter_age);
        adopter_belief = MAX(adopter_belief, reported);
        adopter_holds = 1
    :: else -> adopter_lets_go(); handed_over = 0
    fi;
    adopter_verb = NOTHING;
    adopter_age = 0;
    check_belief()
}

/* The token is still there for whoever tries next. */
inline adopter_gives_up() {
    faults--;
    adopter_late = adopter_verb;
    adopter_verb = NOTHING;
    adopter_age = 0
}

inline serve_late_adoption() {
    command = adopter_late;
    adopter_late = NOTHING;
    execute();
    check_belief()
}

#define ADOPTER_IDLE (adopter_holds && adopter_verb == NOTHING)

proctype adopter() {
end:
    do
    :: d_step { IDLE && MAY_ADOPT -> adopter_asks(OTHER_ADOPT) }
    :: d_step { ADOPTER_IDLE -> adopter_asks(EXTEND_SHORT) }
    :: d_step { ADOPTER_IDLE -> adopter_asks(EXTEND_LONG) }
    :: d_step { ADOPTER_IDLE -> adopter_lets_go() }     /* it hands back */
    :: d_step { ADOPTER_IDLE && lock == OURS ->
            give_up_lock(); adopter_lets_go(); handed_over = 0 }
    :: d_step { adopter_verb != NOTHING -> adopter_is_answered() }
    :: d_step { adopter_verb == OTHER_ADOPT && adopter_late == NOTHING &&
            faults > 0 -> adopter_gives_up() }
    :: d_step { adopter_late != NOTHING -> serve_late_adoption() }
    od
}
#endif
