/* SPDX-License-Identifier: MIT */
/*
 * hold_client.pml -- the holder: its verbs, one at a time, and its keeper,
 * which renews the lease beside them.
 *
 * The handle believes the least that may be true. From its sending until its
 * answer an explicit extend can run at any moment and cut the lease; a verb
 * that was given up leaves this doubt behind. An answer on the same connection
 * ends it: the server has run everything that was sent there before.
 */

#define SPAN(what) (what == EXTEND_SHORT -> SHORT : LONG)
#define EXTENDS(what) (what == EXTEND_SHORT || what == EXTEND_LONG)
#define UNANSWERED(c) (len(asked[c]) + len(answers[c]))
#define IDLE (verb == NOTHING)

/* The shortest lease that an unanswered extend can set. */
#ifdef TWO_WAYS
#define VERBS_DOUBT MIN(doubt[CALL], doubt[EVENTS])
#else
#define VERBS_DOUBT doubt[CALL]
#endif
#ifdef KEEP_DOUBT
#define DOUBT MIN(kept, VERBS_DOUBT)
#else
#define DOUBT VERBS_DOUBT
#endif

/* ---- the hold begins and ends ------------------------------------------- */

inline end_renewal() {
    renewing = 0;
    renewal_age = 0;
    cap = NO_LIMIT
}

/* A renewal that is still unanswered does not belong to the next hold. */
inline end_watch() {
    end_renewal();
    doubt[CALL] = NO_LIMIT;
#ifdef TWO_WAYS
    doubt[EVENTS] = NO_LIMIT;
#endif
#ifdef KEEP_DOUBT
    kept = NO_LIMIT;
#endif
    skip
}

inline end_hold() {
    handle = FREE;
    belief = 0;
    end_watch()
}

/* Commands under an old token find another one, whenever they run. */
inline outdate(c) {
    i = len(asked[c]);
    do
    :: i > 0 -> asked[c]?_; asked[c]!PAST; i--
    :: else -> break
    od;
    drain(late[c * KEPT]);
    drain(late[c * KEPT + 1])
}

#ifdef ADOPTER
inline adopter_lets_go() {
    adopter_holds = 0;
    adopter_belief = 0
}

inline forget_adopter() {
    adopter_lets_go();
    adopter_verb = NOTHING;
    adopter_age = 0;
    adopter_late = NOTHING;
    handed_over = 0
}
#endif

/* A grant under a fresh token. */
inline acquire() {
    outdate(CALL);
    outdate(KEEPER);
#ifdef TWO_WAYS
    outdate(EVENTS);
#endif
#ifdef ADOPTER
    forget_adopter();
#endif
    lock = OURS;
    lease = TTL;
    record = 1;
    older = 1;
    mark = UNMARKED;
    fate = ALIVE;
    handle = HELD;
    belief = TTL
}

/* ---- answers about the lease -------------------------------------------- */

/* The server reported this rest of the lease to a copy of that age. */
inline believe(copy_age) {
    reported = LESS(reported, copy_age);
#ifdef BELIEVE_LAST
    belief = reported
#else
    belief = MAX(belief, reported)
#endif
}

inline extended() {
#ifndef OLD_RENEWAL
    doubt[via] = NO_LIMIT;
#ifdef ONE_DOUBT
    doubt[CALL] = NO_LIMIT;
    doubt[CONNECTIONS - 1] = NO_LIMIT;
#endif
    reported = MIN(reported, DOUBT);
#endif
    believe(age)
}

inline renewed() {
#ifdef DOUBT_AT_ANSWER
    cap = DOUBT;
#endif
    reported = MIN(reported, cap);
    believe(renewal_age)
}

/* ---- verbs -------------------------------------------------------------- */

inline send() {
    asked[via]!verb;
    sent = 1;
    age = 0
}

inline begin_doubt() {
#ifndef OLD_RENEWAL
    belief = MIN(belief, SPAN(verb));
    cap = (renewing -> MIN(cap, SPAN(verb)) : cap);
    doubt[via] = MIN(doubt[via], SPAN(verb));
#endif
    skip
}

inline ask(what, c) {
    verb = what;
    via = c;
    if
    :: EXTENDS(verb) -> begin_doubt()
    :: else
    fi;
    send()
}

/* From here on `belief` is the time in which the hold cannot have expired. */
inline ask_release(c) {
    handle = RELEASING;
    end_watch();
#ifdef OLD_RELEASE
    was_sure = (belief > 0);
#endif
    ask(RELEASE, c)
}

inline end_verb() {
    verb = NOTHING;
    via = 0;
    sent = 0;
    retried = 0;
    age = 0
}

/* The answer is true, false or unknown; the first two have to be right. */
inline released() {
    if
    :: answer == RELEASED -> REACH(0); assert(fate == GIVEN_UP)
#ifdef OLD_RELEASE
    :: answer != RELEASED && retried && was_sure -> assert(fate == GIVEN_UP)
#else
    :: answer == GONE && retried && belief > 0 ->
        REACH(1);
        assert(fate == GIVEN_UP)
    :: answer == GONE_BROKEN && retried -> REACH(2); assert(fate == BROKEN)
#endif
    :: answer != RELEASED && !retried ->
        REACH(3);
        assert(fate != GIVEN_UP && fate != ALIVE)
    :: else -> REACH(4)                             /* unknown */
    fi;
#ifdef OLD_RELEASE
    was_sure = 0;
#endif
    end_hold()
}

#ifdef DETACH_AT_ONCE
#define MAY_DETACH true
#else
#define MAY_DETACH (DOUBT == NO_LIMIT)
#endif

#define MAY_ADOPT (handed_over && !adopter_holds && adopter_verb == NOTHING)

#ifdef ADOPTER
/* A renewal may be unanswered: whenever it runs, it does not shorten. */
inline detach() {
    end_hold();
    handed_over = 1
}

inline adopted() {
    handed_over = 0;
    if
    :: answer == EXTENDED -> handle = HELD; believe(age)
    :: else
    fi
}
#endif

inline conclude() {
    if
    :: verb == RELEASE -> released()
    :: verb != RELEASE && handle == HELD && answer == EXTENDED ->
        REACH(5);
        extended()
    :: verb != RELEASE && handle == HELD && answer == LOST ->
        REACH(6);
        end_hold()
#ifdef ADOPTER
    :: verb == ADOPT -> adopted()
#endif
    :: else -> REACH(7)     /* the handle lost the hold before */
    fi;
    end_verb()
}

/* The last answer is the verb's; the callers of all others have given up. */
inline read_answer(c) {
    answers[c]?answer,reported;
    if
    :: sent && via == c && UNANSWERED(c) == 0 -> conclude()
    :: else -> REACH(8)
    fi;
    check_belief()
}

#ifdef NO_EXTENDS
#define EXTENDING(c)
#else
#define EXTENDING(c) \
    :: d_step { handle == HELD && IDLE -> ask(EXTEND_SHORT, c) } \
    :: d_step { handle == HELD && IDLE -> ask(EXTEND_LONG, c) } \
    :: d_step { handle == HELD && IDLE -> ask(CHECK, c) }
#endif

#ifdef STEADY
#define GIVING_UP(c)
#else
#define GIVING_UP(c) \
    :: d_step { handle == HELD && IDLE -> ask_release(c) }
#endif

#define VERBS(c) \
    EXTENDING(c) \
    GIVING_UP(c) \
    :: d_step { len(answers[c]) > 0 -> read_answer(c) }

proctype holder() {
end:
    do
    :: d_step { handle == FREE && IDLE && lock == NOBODY -> acquire() }
    VERBS(CALL)
#ifdef TWO_WAYS
    VERBS(EVENTS)
#endif
    :: d_step { !IDLE && !sent -> REACH(12); send() }    /* again */
#ifdef ADOPTER
    :: d_step { handle == HELD && IDLE && MAY_DETACH -> detach() }
    :: d_step { handle == FREE && IDLE && MAY_ADOPT -> ask(ADOPT, CALL) }
#endif
    od
}

/* ---- renewals ----------------------------------------------------------- */

inline renew() {
    asked[KEEPER]!RENEW;
    renewing = 1;
    cap = DOUBT
}

inline read_renewal() {
    answers[KEEPER]?answer,reported;
    if
    :: renewing && UNANSWERED(KEEPER) == 0 && answer == EXTENDED ->
        REACH(9);
        renewed();
        end_renewal()
    :: renewing && UNANSWERED(KEEPER) == 0 && answer == LOST ->
        REACH(10);
        end_hold()
    :: else -> REACH(11)             /* it belongs to an earlier hold */
    fi;
    check_belief()
}

proctype keeper() {
end:
    do
    :: d_step { handle == HELD && !renewing && UNANSWERED(KEEPER) < 2 ->
            renew() }
    :: d_step { len(answers[KEEPER]) > 0 -> read_renewal() }
    od
}
