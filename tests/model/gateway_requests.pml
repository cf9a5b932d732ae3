/* SPDX-License-Identifier: MIT */
/*
 * gateway_requests.pml -- the gateway: what it does with a request from its
 * arrival to its reply.
 *
 *     ARRIVED --begin--> BEGUN --at the store--> EXECUTED --its answer--> ENDED
 *        ^                 |                        |
 *        +---contact again-+------------------------+
 *
 * A request is removed when its work has ended and its reply has left or has
 * nobody who reads it.
 */

inline remove_request(k) {
    from = k;
    do
    :: from + 1 < unfinished ->
        requests[from].op = requests[from + 1].op;
        requests[from].work = requests[from + 1].work;
        requests[from].reply = requests[from + 1].reply;
        requests[from].token = requests[from + 1].token;
        requests[from].connection = requests[from + 1].connection;
        from++
    :: else -> break
    od;
    unfinished--;
    requests[unfinished].op = 0;
    requests[unfinished].work = 0;
    requests[unfinished].reply = 0;
    requests[unfinished].token = 0;
    requests[unfinished].connection = 0
}

inline remove_ended() {
    at = 0;
    do
    :: at < unfinished ->
        if
        :: requests[at].work == ENDED && !IN_USE(requests[at].connection) ->
            remove_request(at)
        :: else -> at++
        fi
    :: else -> break
    od;
    skip
}

/*
 * Rule 4: before the kill is answered, what the killed connection carried and is
 * not begun is dropped. What is begun stays in the order of its token.
 */
inline kill(c) {
#ifndef BROKEN_KILL_KEEPS_UNREAD
    do
    :: len(sent[c]) > 0 -> sent[c]?its_op,its_token; REACH(0)
    :: else -> break
    od;
#endif
    at = 0;
    do
    :: at < unfinished ->
        if
        :: requests[at].connection == c ->
            requests[at].connection = NOBODY;
            if
            :: requests[at].work == ARRIVED -> REACH(1);
                requests[at].work = ENDED
#ifdef BROKEN_KILL_FORGETS_BEGUN
            :: requests[at].work == BEGUN && late_op == 0 ->
                late_op = requests[at].op;
                late_token = requests[at].token;
                requests[at].work = ENDED
#endif
            :: else
            fi
        :: else
        fi;
        at++
    :: else -> break
    od;
    remove_ended()
}

/*
 * The gateway forgets a token a minute after it was given up. What was sent
 * before is read by then, and nothing of a killed connection counts. Here the
 * minute ends as soon as it can.
 */
#define UNREAD(t) (sent[CURRENT(LANE)]??[ACQUIRE,t] \
    || (phase[LANE] != OPEN && sent[OTHER(CURRENT(LANE))]??[ACQUIRE,t]))

inline forget() {
    given_up[1] = given_up[1] && UNREAD(1);
    given_up[2] = given_up[2] && UNREAD(2)
}

inline read(c) {
    sent[c]?its_op,its_token;
    assert(unfinished < REQUESTS);
    requests[unfinished].op = its_op;
    requests[unfinished].token = its_token;
    requests[unfinished].connection = c;
    requests[unfinished].work = ARRIVED;
    unfinished++;
    if
    :: its_op == KILL ->
        requests[unfinished - 1].work = ENDED;
        requests[unfinished - 1].reply = KILLED;
        kill(OTHER(c))
    /* Rule 3: an acquire that arrives after its cancel is refused. */
    :: its_op == ACQUIRE && given_up[its_token] -> REACH(2);
        requests[unfinished - 1].work = ENDED;
        requests[unfinished - 1].reply = REFUSED;
        remove_ended()
#ifndef BROKEN_FORGETS_AT_ONCE
    :: its_op == RELEASE || its_op == CANCEL -> given_up[its_token] = 1
#endif
    :: else
    fi;
    forget()
}

/* Rule 2: the work of one token is done in the order of arrival, also when an error
 * was the reply to some of it. */
#ifdef BROKEN_PARALLEL_TOKEN
#define DELAYS(j, k) 0
#elif defined(BROKEN_ORDER_OF_CONNECTION)
#define DELAYS(j, k) ((j) < (k) && requests[j].work != ENDED \
    && requests[j].token == requests[k].token \
    && requests[j].connection == requests[k].connection)
#elif defined(BROKEN_ORDER_UNTIL_ERROR)
#define DELAYS(j, k) ((j) < (k) && requests[j].work != ENDED \
    && requests[j].token == requests[k].token && requests[j].reply != ERROR)
#else
#define DELAYS(j, k) ((j) < (k) && requests[j].work != ENDED \
    && requests[j].token == requests[k].token)
#endif
#define FIRST_OF_TOKEN(k) !(DELAYS(0, k) || DELAYS(1, k) || DELAYS(2, k) \
    || DELAYS(3, k) || DELAYS(4, k) || DELAYS(5, k))

/* Rule 1: replies leave in the order of the requests on their connection. */
#ifdef BROKEN_REPLY_ORDER
#define PRECEDES(j, k) 0
#else
#define PRECEDES(j, k) ((j) < (k) \
    && requests[j].connection == requests[k].connection)
#endif
#define FIRST_REPLY(k) !(PRECEDES(0, k) || PRECEDES(1, k) || PRECEDES(2, k) \
    || PRECEDES(3, k) || PRECEDES(4, k) || PRECEDES(5, k))

inline end_work(k) {
    requests[k].work = ENDED;
    remove_ended()
}

/* Nothing can come between the store's answer and the gateway any more, and
 * nothing between this request and the store: then their steps are one. */
#define UNDISTURBED_LINK (faults == 0 && link)
#define UNDISTURBED(k) (UNDISTURBED_LINK && IN_USE(requests[k].connection))

inline run_at_store(k) {
    its_op = requests[k].op;
    its_token = requests[k].token;
    execute(its_op, its_token);
    if
    :: requests[k].reply == 0 -> requests[k].reply = answer
    :: else -> REACH(3)                 /* an error was the reply */
    fi;
    answer = 0;
    requests[k].work = EXECUTED;
    if
    :: UNDISTURBED_LINK -> end_work(k)
    :: else
    fi
}

/* Rule 5: without contact the reply is an error. */
inline answer_without_contact(k) {
    if
#ifdef BROKEN_HELD_FROM_MEMORY
    :: requests[k].op == EXTEND -> requests[k].reply = HELD
#endif
#ifdef BROKEN_LOST_WITHOUT_CONTACT
    :: requests[k].op == EXTEND -> requests[k].reply = LOST
#endif
    :: else -> requests[k].reply = ERROR
    fi;
    if
    :: requests[k].work == ARRIVED -> requests[k].work = ENDED
    :: else -> REACH(4)                 /* it stays in its token's order */
    fi
}

/*
 * Contact again. Rule 6: the new link has closed the old one at the store, so
 * that nothing of the old one is executed any more. What was begun and has no
 * reply is begun again.
 */
inline contact() {
    link = 1;
    at = 0;
    do
    :: at < unfinished ->
        if
        :: requests[at].work == BEGUN || requests[at].work == EXECUTED ->
#ifdef BROKEN_OPEN_LINK
            if
            :: requests[at].work == BEGUN && late_op == 0 ->
                late_op = requests[at].op;
                late_token = requests[at].token
            :: else
            fi;
#endif
            if
            :: (requests[at].reply == ERROR
                || requests[at].connection == NOBODY) -> REACH(5);
                requests[at].work = ENDED
            :: else -> REACH(6);
                requests[at].work = ARRIVED;
                requests[at].reply = 0
            fi
        :: else
        fi;
        at++
    :: else -> break
    od;
    remove_ended()
}

#ifdef BROKEN_SILENT
#define SAYS_ERROR(k) 0
#else
#define SAYS_ERROR(k) (!link && requests[k].work != 0 \
    && requests[k].work != ENDED && requests[k].reply != ERROR \
    && IN_USE(requests[k].connection))
#endif
#define HAS_REPLY(k) (requests[k].work == ENDED || requests[k].reply == ERROR)

#define CAN_BEGIN(k) \
    (link && requests[k].work == ARRIVED && FIRST_OF_TOKEN(k))

#define WORK_ON(k) \
    :: d_step { CAN_BEGIN(k) && !UNDISTURBED(k) -> requests[k].work = BEGUN } \
    :: d_step { CAN_BEGIN(k) && UNDISTURBED(k) -> run_at_store(k) } \
    :: d_step { requests[k].work == BEGUN -> run_at_store(k) } \
    :: d_step { link && requests[k].work == EXECUTED -> end_work(k) } \
    :: d_step { SAYS_ERROR(k) -> answer_without_contact(k) } \
    :: d_step { HAS_REPLY(k) && IN_USE(requests[k].connection) \
        && FIRST_REPLY(k) -> deliver(k) }

proctype gateway() {
end:
    do
    :: d_step { len(sent[0]) > 0 -> read(0) }
    :: d_step { len(sent[1]) > 0 -> read(1) }
    :: d_step { len(sent[2]) > 0 -> read(2) }
    :: d_step { len(sent[3]) > 0 -> read(3) }
    WORK_ON(0)
    WORK_ON(1)
    WORK_ON(2)
    WORK_ON(3)
    WORK_ON(4)
    WORK_ON(5)
    WORK_ON(6)
#ifndef NO_CONTACT
    :: d_step { !link -> contact() }
#endif
    od
}
