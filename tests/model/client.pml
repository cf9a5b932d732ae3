/* SPDX-License-Identifier: MIT */
/*
 * client.pml -- a process that takes the lock once: its waiting machine, the
 * retry of a command whose answer was lost, and its keeper, which passes on
 * grants that nobody waits for.
 */

#define HAS_MAIL(c) MAIL(c * TRIES, != EMPTY)

#ifdef BROKEN_SAME_TOKEN
#define NEXT_TOKEN(c) skip
#else
#define NEXT_TOKEN(c) mine[c]++
#endif

/* In WAIT: the next command, and where to go on after its answer. */
#define ASK(what, whose, then) \
    op = what; token = whose; after = then; state = CALL

/* The lease is ours from here: the two properties of a holder. */
inline enter(c, its_fence) {
    FENCE(assert(its_fence > last_fence); last_fence = its_fence);
    sure[c] = 1;
    inside[c] = 1;
#ifndef HOLDERS_ONLY
    assert(lock == mine[c]);            /* the server says the same */
#endif
    i = 0;
    do
    :: i < CLIENTS -> assert(i == c || !(sure[i] && inside[i])); i++
    :: else -> break
    od;
    state = HOLD
}

/* An answer says HELD: ours when read in time, else to be passed on. */
inline held(c) {
    if
    :: fresh[c] ->
        REACH(4);
        fresh[c] = 0;
        FENCE(i = answer_fence[c]; answer_fence[c] = 0);
        enter(c, i)
    :: else -> REACH(3); ASK(CANCEL, mine[c], START)
    fi
}

inline understand(c) {
    if
    :: op == ACQUIRE && answered == QUEUED -> REACH(0); state = WAIT
    :: op == REFRESH && answered == QUEUED -> REACH(1); state = WAIT
    :: op == REFRESH && answered == GONE ->
        REACH(2);
        ASK(ACQUIRE, mine[c], WAIT)
    :: (op == ACQUIRE || op == REFRESH) && answered == HELD -> held(c)
    :: op == EXTEND ->
        REACH(5);
        sure[c] = (answered == HELD && fresh[c]);
        fresh[c] = 0;
        state = HOLD
    :: (op == CANCEL || op == RELEASE || op == CLAIM) ->
        if
        :: answered == MORE -> REACH(6); ASK(CLAIM, token, after)
        :: answered != MORE && after == START ->
            REACH(7);
            NEXT_TOKEN(c);
            assert(mine[c] < (c + 1) * TRIES);
            state = START
        :: else -> REACH(8); state = after
        fi
    fi;
    answered = 0
}

/* The first grant in c's inbox into `i`; NONE when it is empty. */
inline look(c) {
    i = c * TRIES;
    do
    :: i < (c + 1) * TRIES && msg[i] == EMPTY -> i++
    :: else -> break
    od;
    i = (i == (c + 1) * TRIES -> NONE : i)
}

inline wait(c) {
    look(c);
    if
    :: i == NONE -> REACH(9); ASK(REFRESH, mine[c], WAIT)
    :: i == mine[c] && msg[i] == FRESH ->
        REACH(10);
        msg[i] = EMPTY;
        FENCE(i = msg_fence[i]; msg_fence[mine[c]] = 0);
        enter(c, i)
    :: i == mine[c] && msg[i] == STALE ->
        REACH(11);
        msg[i] = EMPTY;
        ASK(CANCEL, mine[c], START)
    :: i != NONE && i != mine[c] ->         /* a waiter that is no more */
        REACH(12);
        msg[i] = EMPTY;
        ASK(CANCEL, i, WAIT)
    fi
}

inline call(c, lost) {
    serve(op, token);
    if
    :: op == RELEASE -> sure[c] = 0
    :: else
    fi;
    if
    :: lost -> REACH(13); excused[token] = 1     /* and sent again */
    :: else ->
        answered = answer;
        fresh[c] = (answer == HELD);
        FENCE(answer_fence[c] = (answer == HELD -> fence : 0));
        state = ANSWER
    fi
}

inline finish(c) {
    done[c] = 1;
    op = 0; token = NONE; after = DONE; answered = 0; state = DONE
}

proctype client(byte me) {
    mtype state = START, op = 0, after = DONE, answered = 0;
    byte token = NONE;

    d_step { mine[me] = me * TRIES };
end:
    do
    :: d_step { crashed[me] ->
            op = 0; token = NONE; after = DONE; answered = 0; state = DONE };
        break
    :: d_step { state == START && !crashed[me] ->
            ASK(ACQUIRE, mine[me], WAIT) }
    :: d_step { state == CALL && !crashed[me] -> call(me, 0) }
    :: d_step { state == CALL && !crashed[me] && faults > 0 ->
            faults--; call(me, 1) }
    :: d_step { state == CALL && !crashed[me] && faults > 0 && late_op == 0 ->
            faults--;                       /* sent again, executed later */
            REACH(14);
            late_op = op; late_token = token; excused[token] = 1 }
    :: d_step { state == ANSWER && !crashed[me] -> understand(me) }
    :: d_step { state == WAIT && !crashed[me] -> wait(me) }
    :: d_step { state == WAIT && !crashed[me] && quits > 0 ->
            REACH(15); quits--; ASK(CANCEL, mine[me], DONE) }
    :: d_step { state == HOLD && !crashed[me] ->
            inside[me] = 0; ASK(RELEASE, mine[me], DONE) }
    :: d_step { state == HOLD && !crashed[me] && extends > 0 ->
            extends--; ASK(EXTEND, mine[me], HOLD) }
#ifdef BROKEN_TOLD_TWICE
    :: d_step { state == HOLD && !crashed[me] && msg[mine[me]] != EMPTY ->
            msg[mine[me]] = EMPTY; ASK(CANCEL, mine[me], HOLD) }
#endif
    :: d_step { state == DONE && !crashed[me] && !done[me] -> finish(me) }
    :: d_step { state == DONE && !crashed[me] && done[me] && HAS_MAIL(me) ->
            REACH(16); look(me); msg[i] = EMPTY; ASK(CANCEL, i, DONE) }
    od
}
