/* SPDX-License-Identifier: MIT */
/*
 * gateway_client.pml -- the client: it takes the lock under a fresh token in each
 * attempt, and repeats what a broken connection left without a reply.
 */

#define CAN_SEND(kind) \
    (phase[kind] == OPEN && len(expected[kind]) < UNANSWERED)

/* A message has announced the grant, or the contender is gone. */
#define HAS_TO_ACQUIRE \
    (state == WAIT && (contenders[0] == token || ABSENT(token)))

inline send(kind, what, t) {
    sent[CURRENT(kind)]!what,t;
    expected[kind]!what,t
}

/* The token has ended or is given up. */
inline next_attempt() {
    sure = 0;
    if
    :: token < ATTEMPTS -> token++; state = START
    :: else -> state = DONE
    fi
}

inline believe() {
    sure = 1;
    assert(!(sure && inside))           /* never two believers */
}

/* The reply `answer` to its_op for its_token. */
inline understand() {
    if
    :: its_op == KILL -> phase[KIND(its_connection)] = OPEN; forget()
    :: its_op == ACQUIRE && state == ACQUIRING && its_token == token ->
        assert(answer != REFUSED);
        if
        :: answer == HELD -> REACH(7); believe(); state = HOLD
        :: answer == QUEUED -> REACH(8); state = WAIT
        :: answer == ERROR -> REACH(9); state = RETRY
        fi
    :: its_op == EXTEND && state == HOLD && its_token == token ->
        if
        :: answer == HELD -> REACH(10); believe()
        :: answer == LOST -> REACH(11); next_attempt()
        :: answer == ERROR -> REACH(12)
        fi
#ifndef NO_CONTACT
    :: its_op == RELEASE && answer == ERROR -> REACH(13); state = LEAVE
    :: its_op == CANCEL && answer == ERROR -> REACH(14);
        withdraws[its_token] = 1
    :: its_op == RELEASE && answer != ERROR -> REACH(15); next_attempt()
#else
    :: its_op == RELEASE -> next_attempt()
#endif
    :: else                             /* nobody wants it any more */
    fi
}

/* The reply to request k leaves, and the client reads it. */
inline deliver(k) {
    its_connection = requests[k].connection;
    answer = requests[k].reply;
    requests[k].connection = NOBODY;
    expected[KIND(its_connection)]?its_op,its_token;
    /* It belongs to the oldest request. */
    assert(its_op == requests[k].op && its_token == requests[k].token);
    /* Lost is final. */
    assert(answer != LOST || ABSENT(its_token));
    understand();
    answer = 0;
    remove_ended()
}

/* A connection breaks. What has no reply is sent again: acquire and release on
 * the connection that replaces it, cancel by the keeper. */
inline break_connection(kind) {
    phase[kind] = BROKEN;
    odd[kind] = !odd[kind];
    do
    :: len(expected[kind]) > 0 ->
        expected[kind]?its_op,its_token;
        if
        :: its_op == ACQUIRE && state == ACQUIRING && its_token == token ->
            state = RETRY
        :: its_op == RELEASE -> state = LEAVE
        :: its_op == CANCEL -> withdraws[its_token] = 1
        :: else
        fi
    :: else -> break
    od;
    remove_ended()
}

#define CAN_GIVE_UP \
    ((state == ACQUIRING || state == WAIT || state == RETRY) \
        && (CAN_SEND(LANE) || phase[LANE] != OPEN))

/* The cancel follows the acquire, or the keeper sends it. */
inline give_up() {
    if
    :: phase[LANE] == OPEN -> send(LANE, CANCEL, token)
    :: else -> REACH(16); withdraws[token] = 1
    fi;
    next_attempt()
}

/* The keeper withdraws token t, and a broken connection is replaced. */
#define WITHDRAW(t) \
    :: d_step { withdraws[t] && CAN_SEND(KEEPER) -> \
        withdraws[t] = 0; send(KEEPER, CANCEL, t) }
#define REPLACE(kind) \
    :: d_step { phase[kind] == BROKEN -> \
        phase[kind] = KILLING; send(kind, KILL, 0) }

proctype client() {
end:
    do
    :: d_step { ((state == START || state == RETRY || HAS_TO_ACQUIRE)
            && CAN_SEND(LANE)) ->
        send(LANE, ACQUIRE, token); state = ACQUIRING }
    :: d_step { CAN_GIVE_UP -> give_up() }
    :: d_step { state == HOLD && extends > 0 && CAN_SEND(KEEPER) ->
        extends--; send(KEEPER, EXTEND, token) }
    :: d_step { state == HOLD -> sure = 0; state = LEAVE }
    :: d_step { state == LEAVE && CAN_SEND(LANE) ->
        send(LANE, RELEASE, token); state = LEAVING }
    WITHDRAW(1)
    WITHDRAW(2)
    REPLACE(LANE)
    REPLACE(KEEPER)
    od
}
