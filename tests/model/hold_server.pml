/* SPDX-License-Identifier: MIT */
/*
 * hold_server.pml -- the scripts that change a hold, each a deterministic
 * step, and the connections on which their commands arrive.
 */

#ifdef OLD_RENEWAL
#define RENEWS_EXACTLY 1
#else
#define RENEWS_EXACTLY 0
#endif

#ifdef EXACT_ADOPTION
#define ADOPTS_EXACTLY 1
#else
#define ADOPTS_EXACTLY 0
#endif

/* An exact lease may cut the rest; any other lease only adds to it. */
inline set_lease(span, exactly) {
    lease = (exactly -> span : MAX(lease, span));
    reported = lease;
    answer = EXTENDED
}

inline give_up_lock() {
    lock = NOBODY;
    lease = 0;
    fate = GIVEN_UP;
    answer = RELEASED
}

/* What the record says to a release that finds the token gone. */
inline judge_by_record() {
    if
    :: mark == MARK_OURS -> answer = GONE_BROKEN
#ifdef LAST_BREAK_ONLY
    :: mark != MARK_OURS -> answer = (older -> GONE : GONE_UNKNOWN)
#else
    :: mark == MARK_LATER -> REACH(15); answer = GONE_UNKNOWN
#ifdef RECORD_WITHOUT_BIRTH
    :: mark == UNMARKED -> answer = (record -> GONE : GONE_UNKNOWN)
#else
    :: mark == UNMARKED -> answer = (older -> GONE : GONE_UNKNOWN)
#endif
#endif
    fi
}

inline execute() {
    reported = 0;
    if
    :: command == PAST -> answer = LOST
    :: command == RELEASE && lock == OURS -> give_up_lock()
    :: command == RELEASE && lock != OURS -> judge_by_record()
    :: command != RELEASE && command != PAST && lock != OURS -> answer = LOST
    :: command == EXTEND_SHORT && lock == OURS -> set_lease(SHORT, 1)
    :: command == EXTEND_LONG && lock == OURS -> set_lease(LONG, 1)
    :: command == CHECK && lock == OURS -> set_lease(lease, 1)
    :: command == RENEW && lock == OURS -> set_lease(TTL, RENEWS_EXACTLY)
#ifdef ADOPTER
    :: command == ADOPT && lock == OURS -> set_lease(TTL, ADOPTS_EXACTLY)
    :: command == OTHER_ADOPT && lock == OURS ->
        set_lease(SHORT, ADOPTS_EXACTLY)
#endif
    fi
}

/* ---- connections -------------------------------------------------------- */

inline drain(channel) {
    do
    :: len(channel) > 0 -> channel?_
    :: else -> break
    od
}

/*
 * A new connection closes the broken ones before it carries a command. So
 * they are closed when the server runs a command of connection c, of which
 * `count` broken ones are older.
 */
inline close_older(c, count) {
#ifdef NO_KILL
    skip
#else
#ifdef KILL_LAST_ONLY
    i = (len(late[c * KEPT + 1]) > 0 && count > 1 -> 1 : 0);
#else
    i = 0;
#endif
    do
    :: i < count -> drain(late[c * KEPT + i]); i++
    :: else -> break
    od
#endif
}

inline serve(c) {
    asked[c]?command;
    close_older(c, KEPT);
    execute();
    answers[c]!answer,reported;
    check_belief()
}

/* Nobody reads the answer. */
inline serve_late(c, k) {
    late[c * KEPT + k]?command;
    close_older(c, k);
    if
    :: command != PAST && lock == OURS -> REACH(13)
    :: else -> REACH(14)
    fi;
    execute();
    check_belief()
}

#define CONNECTION(c) \
    :: d_step { len(asked[c]) > 0 -> serve(c) } \
    :: d_step { len(late[c * KEPT]) > 0 -> serve_late(c, 0) } \
    :: d_step { len(late[c * KEPT + 1]) > 0 -> serve_late(c, 1) }

proctype server() {
end:
    do
    CONNECTION(CALL)
    CONNECTION(KEEPER)
#ifdef TWO_WAYS
    CONNECTION(EVENTS)
#endif
    od
}
