/* SPDX-License-Identifier: MIT */
/*
 * quorum_register.pml -- one register over three nodes that do not know each other, by
 * CASPaxos: two proposers that change it, and a reader. Each node executes a request in
 * one atomic step, and keeps what it has promised and accepted.
 *
 * A change is prepared at a majority under a ballot of its own, which is greater than
 * all that the proposer has seen; the value of the greatest accepted ballot in the
 * replies is changed, and the result accepted at a majority under the same ballot. A
 * change without enough replies is tried again under another ballot, and then finds
 * itself in the value if an earlier attempt was chosen. A reader believes what a
 * majority has accepted under one ballot; otherwise it makes a change that changes
 * nothing.
 *
 * Any request may be lost on its way. A few are executed without a reply, or later, when
 * their client has gone on.
 *
 * The value is the set of the changes that are in it, the last one of them, and the
 * version, which counts them. Sources: Rystsov, CASPaxos (2018); Lamport, Paxos Made
 * Simple (2001).
 */
#ifndef CHANGES
#define CHANGES 1               /* of the first proposer, 2 at most */
#endif
#ifndef OTHER_CHANGES
#define OTHER_CHANGES 1         /* of the second one, as many at most */
#endif
#ifndef READS
#define READS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1                /* ballots of a change of the first proposer */
#endif
#ifndef OTHER_ROUNDS
#define OTHER_ROUNDS 1          /* the same of the second one */
#endif
#ifndef REPAIRS
#define REPAIRS 1               /* ballots of a read */
#endif
#ifndef LOST
#define LOST 1                  /* replies of nodes that have executed the request */
#endif
#ifndef LATE
#define LATE 1                  /* requests that are executed later */
#endif
#define NODES 3
#define READER 2
#define CLIENTS 3

#define BRANCHES 6              /* of the proposers */
#include "reached.pml"

mtype = { IDLE, READS_ONCE, PREPARES, ACCEPTS };

/* A value: its changes as bits, 1 + the last one, the version. */
typedef value {
    byte set, last, version
}

/* The nodes. */
byte promise[NODES], accepted[NODES];
value has[NODES];

byte used = 0;                  /* nodes; they are alike until then, so in their order */

/* The clients. */
mtype state[CLIENTS] = IDLE;
byte left[CLIENTS];             /* changes or reads that are to begin */
byte rounds[CLIENTS];           /* ballots that are left */
byte ballot[CLIENTS];
byte seen[CLIENTS];             /* the greatest counter of a ballot */
byte asked[CLIENTS], agreed[CLIENTS]; /* nodes, as bits */
byte best[CLIENTS];             /* the greatest accepted ballot in the replies */
value taken[CLIENTS];           /* its value */
value next[CLIENTS];            /* what is to be accepted */

/* The reader's replies of one round: 1 + the accepted ballot. */
byte reported[NODES];
value reports[NODES];

/* The request that is executed later. */
byte late_left = LATE, lost_left = LOST;
mtype late = 0;
byte late_node, late_ballot;
value late_value;

/* For the properties. */
byte known = 0;                 /* changes that somebody was told of */
byte must[CLIENTS];             /* what the result has to contain */
bit forgot = 0;

#define BIT(n) (1 << (n))
#define MAJORITY(bits) ((bits) == 3 || (bits) == 5 || (bits) == 6 || (bits) == 7)
#define COUNT(bits) (((bits) & 1) + (((bits) >> 1) & 1) + (((bits) >> 2) & 1) + \
    (((bits) >> 3) & 1))
#define CHANGE(c) ((c) * CHANGES + left[c])
#define COUNTER(ballot) ((ballot) / 4)
#define BALLOT(c, counter) ((counter) * 4 + 1 + (c))

inline copy(to, from) {
    to.set = from.set; to.last = from.last; to.version = from.version
}

inline clear(it) {
    it.set = 0; it.last = 0; it.version = 0
}

/* ---- a node --------------------------------------------------------------- */

#ifdef BROKEN_NO_PROMISE
#define MAY_ACCEPT(n, its_ballot) ((its_ballot) >= accepted[n])
#else
#define MAY_ACCEPT(n, its_ballot) ((its_ballot) >= promise[n])
#endif

inline execute_accept(n, its_ballot, its_value) {
    if
    :: MAY_ACCEPT(n, its_ballot) ->
        if
        :: promise[n] < its_ballot -> promise[n] = its_ballot
        :: else
        fi;
        accepted[n] = its_ballot;
        copy(has[n], its_value)
    :: else
    fi
}

inline execute_prepare(n, its_ballot) {
    if
    :: its_ballot > promise[n] -> promise[n] = its_ballot
    :: else
    fi
}

/* ---- a client ------------------------------------------------------------- */

inline note_counter(c, its_ballot) {
    if
    :: COUNTER(its_ballot) > seen[c] -> seen[c] = COUNTER(its_ballot)
    :: else
    fi
}

inline take_reply(c, n) {
    agreed[c] = agreed[c] | BIT(n);
    if
    :: accepted[n] > best[c] -> best[c] = accepted[n]; copy(taken[c], has[n])
    :: else
    fi
}

inline use(c, n) {
    asked[c] = asked[c] | BIT(n);
    if
    :: n == used -> used++
    :: else
    fi
}

inline ask(c, n, replies) {
    use(c, n);
    if
    :: state[c] == PREPARES ->
        if
        :: replies && ballot[c] > promise[n] ->
            promise[n] = ballot[c]; take_reply(c, n)
        :: replies && ballot[c] <= promise[n] ->
            REACH(0); note_counter(c, promise[n])
        :: else -> execute_prepare(n, ballot[c])
        fi
    :: state[c] == ACCEPTS ->
        if
        :: replies && MAY_ACCEPT(n, ballot[c]) ->
            agreed[c] = agreed[c] | BIT(n)
        :: replies && !MAY_ACCEPT(n, ballot[c]) ->
            REACH(1); note_counter(c, promise[n])
        :: else
        fi;
        execute_accept(n, ballot[c], next[c])
    :: else -> /* READS_ONCE */
        note_counter(c, promise[n]);
        reported[n] = 1 + accepted[n];
        copy(reports[n], has[n])
    fi
}

inline leave_late(c, n) {
    late_left--;
    use(c, n);
    late = state[c]; late_node = n; late_ballot = ballot[c];
    copy(late_value, next[c])
}

inline forget_round(c) {
    asked[c] = 0; agreed[c] = 0; best[c] = 0;
    clear(taken[c])
}

/* Another ballot, greater than all that it has seen. */
inline prepare(c) {
    rounds[c]--;
    forget_round(c);
    seen[c]++;
    ballot[c] = BALLOT(c, seen[c]);
    clear(next[c]);
    state[c] = PREPARES
}

inline forget_reports() {
    reported[0] = 0; reported[1] = 0; reported[2] = 0;
    clear(reports[0]); clear(reports[1]); clear(reports[2])
}

inline begin(c) {
    left[c]--;
    must[c] = known;
    if
    :: c == READER -> rounds[c] = REPAIRS; state[c] = READS_ONCE; asked[c] = 0
    :: c == 0 -> rounds[c] = ROUNDS; prepare(c)
    :: c == 1 -> rounds[c] = OTHER_ROUNDS; prepare(c)
    fi
}

/* It ends, with an outcome or without one. */
inline end_operation(c) {
    state[c] = IDLE; must[c] = 0; rounds[c] = 0;
    forget_round(c);
    if
    :: c == READER -> forget_reports()
    :: else
    fi;
    if
    :: left[c] == 0 -> ballot[c] = 0; clear(next[c])
    :: else
    fi
}

/* All results are one chain, in which later operations come later. */
inline report(c, result) {
    assert((must[c] & ~result.set) == 0);
    assert((known & ~result.set) == 0 || (result.set & ~known) == 0);
    assert(result.version == COUNT(result.set));
    known = known | result.set;
    end_operation(c)
}

/* What follows from the replies to a prepare. */
inline change(c) {
    copy(next[c], taken[c]);
    state[c] = ACCEPTS;
    asked[c] = 0; agreed[c] = 0;
    if
    :: c == READER -> skip
#ifndef BROKEN_RETRY_APPLIES
    :: c != READER && (taken[c].set & BIT(CHANGE(c))) &&
            taken[c].last == 1 + CHANGE(c) -> REACH(2)
    :: c != READER && (taken[c].set & BIT(CHANGE(c))) &&
            taken[c].last != 1 + CHANGE(c) ->
        REACH(3);
        end_operation(c) /* the outcome is unknown: others have changed it since */
    :: c != READER && !(taken[c].set & BIT(CHANGE(c))) ->
#else
    :: else ->
#endif
        next[c].set = taken[c].set | BIT(CHANGE(c));
        next[c].last = 1 + CHANGE(c);
        next[c].version = taken[c].version + 1
    fi
}

#ifdef BROKEN_CACHED_BALLOT
/* The next change under the ballot of the one before. */
inline begin_cached(c) {
    left[c]--;
    must[c] = known;
    rounds[c] = ROUNDS;
    copy(taken[c], next[c]);
    change(c)
}
#endif

/* A majority agrees, or (control) any majority has replied. */
#define AGREE(a, b) (reported[a] && reported[a] == reported[b])
#define MORE(a, b) (reported[a] && reported[b] && reported[a] >= reported[b])

/* A majority is enough; requests to more of them are those that come late. */
#define SENDS(c) (state[c] != IDLE && !MAJORITY(agreed[c]))
#define ASKS(c, n) (SENDS(c) && !(asked[c] & BIT(n)) && (n) <= used)
#define TURN(n) \
    :: d_step { ASKS(c, n) -> ask(c, n, 1) } \
    :: d_step { lost_left > 0 && ASKS(c, n) && state[c] != READS_ONCE -> \
        lost_left--; ask(c, n, 0) } \
    :: d_step { late_left > 0 && ASKS(c, n) && state[c] != READS_ONCE -> \
        leave_late(c, n) }

proctype client(byte c) {
end:
    do
    TURN(0)
    TURN(1)
    TURN(2)
#ifdef BROKEN_CACHED_BALLOT
    :: d_step { state[c] == IDLE && left[c] > 0 && c != READER &&
            ballot[c] > 0 -> begin_cached(c) }
    :: d_step { state[c] == IDLE && left[c] > 0 &&
            (c == READER || ballot[c] == 0) -> begin(c) }
#else
    :: d_step { state[c] == IDLE && left[c] > 0 -> begin(c) }
#endif
    :: d_step { state[c] == PREPARES && MAJORITY(agreed[c]) -> change(c) }
    :: d_step { state[c] == ACCEPTS && MAJORITY(agreed[c]) -> report(c, next[c]) }
    /* Too few replies. */
    :: d_step { state[c] != IDLE && rounds[c] > 0 -> prepare(c) }
    :: d_step { (state[c] == PREPARES || state[c] == ACCEPTS) &&
            rounds[c] == 0 -> REACH(4); end_operation(c) }
    od
}

/* A reader's majority. */
proctype reading() {
end:
    do
    :: d_step { state[READER] == READS_ONCE &&
            (AGREE(0, 1) || AGREE(0, 2)) -> report(READER, reports[0]) }
    :: d_step { state[READER] == READS_ONCE && AGREE(1, 2) ->
        report(READER, reports[1]) }
#ifdef BROKEN_GREATEST
    :: d_step { state[READER] == READS_ONCE && (MORE(0, 1) || MORE(0, 2)) ->
        report(READER, reports[0]) }
    :: d_step { state[READER] == READS_ONCE && (MORE(1, 0) || MORE(1, 2)) ->
        report(READER, reports[1]) }
#endif
    od
}

proctype world() {
end:
    do
    :: d_step { late != 0 ->
        REACH(5);
        if
        :: late == PREPARES -> execute_prepare(late_node, late_ballot)
        :: else -> execute_accept(late_node, late_ballot, late_value)
        fi;
        late = 0; late_node = 0; late_ballot = 0;
        clear(late_value) }
#ifdef BROKEN_FORGETS
    /* A node loses its memory, and votes at once. */
    :: d_step { !forgot && accepted[0] > 0 ->
        forgot = 1;
        promise[0] = 0; accepted[0] = 0; clear(has[0]) }
#endif
    od
}

init {
    d_step {
        left[0] = CHANGES; left[1] = OTHER_CHANGES; left[READER] = READS
    }
    atomic {
        run client(0); run client(1); run client(READER);
        run reading(); run world()
    }
}
