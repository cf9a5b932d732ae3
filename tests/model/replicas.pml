/* SPDX-License-Identifier: MIT */
/*
 * replicas.pml -- one lock behind Sentinel, with min_replicas: a primary and two
 * replicas, of which any may be promoted, while the former primary goes on. Each of
 * two clients takes the lock; a hold is believed after an extend and WAIT on
 * the confirmer's connection (libcore/src/client/confirmer.c). Each execution of a
 * script is one atomic step.
 *
 * The stream to a replica has the state after each write, in order; the replica
 * executes it at any later time. A client has two connections, one for acquires and
 * releases and one for confirmations, to the current primary or still to the former one.
 * When a connection breaks, the server may execute what was under way on it at any
 * later time: until the next connection to that server has closed it, or until the
 * server becomes a replica.
 *
 * Time is an event. Each extend of a hold has a greater level. The leases of a hold
 * end in the order of their levels, on all servers at the same time, and the client
 * knows by then that they have. Fences are counted; no clock helps.
 */
#ifndef NUMBER
#define NUMBER 2                /* min_replicas */
#endif
#ifndef FAULTS
#define FAULTS 1                /* connections that break, leases that end,
                                   acquires given up */
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 1              /* of each client, 2 at most */
#endif
#ifndef RENEWALS
#define RENEWALS 0
#endif
#define LAG 2                   /* writes by which a replica may be behind */
#define TOP 3                   /* the greatest level */

#define BRANCHES 12
#include "reached.pml"

mtype = { START, ASKS, WAITS, EXTENDS, COUNTS, ENOUGH, HOLDS, GIVES, DONE };

#define NONE 3                  /* no server */

/* The servers: token of the holder, level of its lease, last fence. */
byte holder[3], level[3], fence[3];
bit primary[4];
byte follows[3];
chan stream[3] = [LAG] of { byte };
byte current = 0;               /* the primary that was promoted last */

/* The clients. */
mtype state[2] = START;
byte attempts[2] = ATTEMPTS;    /* that are left; they make the token */
byte calls[2], confirms[2];     /* the servers of its connections */
byte sent[2];                   /* the level of its last extend */
bit wrote[2];                   /* the connection for confirmations has */
byte mine[2];                   /* fence */
bit sure[2], renewed[2];

/* What was under way on a connection that broke. */
mtype late[2];                  /* the state in which it was sent */
byte late_token[2], late_level[2], late_at[2];

byte ended[5];                  /* of each token: how many of its leases */

/* For the properties. */
bit lacked[2];                  /* the promoted replica had not its hold */
bit misled[2];                  /* a former primary executed its extend */
byte greatest = 0;              /* fence that was believed */
byte before[2];                 /* the same when the hold was granted */
bit granted[2];
bit excused = 0;                /* a hold was lost as the documentation says */

byte faults = FAULTS, failovers = FAILOVERS, renewals = RENEWALS;

#define OTHER(c) (1 - (c))
#define TOKEN(c) (1 + 2 * (c) + attempts[c])
#define CLIENT(token) (((token) - 1) / 2)
#define IS_FREE(s) (holder[s] == 0 || ended[holder[s]] > level[s])
#define HAS(s, token) (holder[s] == (token) && ended[token] <= level[s])
#define WRITE(token, its_level) ((token) * (TOP + 1) + (its_level))
#define ROOM(s) ( \
    (follows[0] != (s) || len(stream[0]) < LAG) && \
    (follows[1] != (s) || len(stream[1]) < LAG) && \
    (follows[2] != (s) || len(stream[2]) < LAG))
#define READY(s) (primary[s] && ROOM(s))

/* Which holds the documentation gives up. */
#ifdef STRICT
#define IS_EXCUSED(c) 0
#else
#define IS_EXCUSED(c) (lacked[c] || misled[c])
#endif

/* ---- the servers ---------------------------------------------------------- */

inline replicate(s) {
    if
    :: follows[0] == s -> stream[0]!WRITE(holder[s], level[s])
    :: else
    fi;
    if
    :: follows[1] == s -> stream[1]!WRITE(holder[s], level[s])
    :: else
    fi;
    if
    :: follows[2] == s -> stream[2]!WRITE(holder[s], level[s])
    :: else
    fi
}

/* What the other client believes, when the current primary grants again. */
inline judge_grant(c, s) {
    if
    :: s == current && sure[OTHER(c)] && renewed[OTHER(c)] &&
            level[s] < sent[OTHER(c)] ->
        REACH(0);
#ifndef STRICT
        lacked[OTHER(c)] = 1; excused = 1
#endif
    :: else
    fi;
    assert(s != current || !sure[OTHER(c)] || IS_EXCUSED(OTHER(c)))
}

inline grant(token, s) {
    judge_grant(CLIENT(token), s);
    holder[s] = token; level[s] = 0; fence[s]++;
    if
    :: TOKEN(CLIENT(token)) == token && state[CLIENT(token)] != DONE &&
            !granted[CLIENT(token)] ->
        granted[CLIENT(token)] = 1; before[CLIENT(token)] = greatest
    :: else
    fi
}

inline take(token, s) {
    if
    :: IS_FREE(s) && ended[token] == 0 -> grant(token, s); replicate(s)
    :: else
    fi
}

/* Never shortens. */
inline extend(token, its_level, s) {
    if
    :: HAS(s, token) && level[s] < its_level ->
        level[s] = its_level; replicate(s)
    :: else
    fi
}

inline release(token, s) {
    if
    :: HAS(s, token) && state[OTHER(CLIENT(token))] == WAITS &&
            calls[OTHER(CLIENT(token))] == s ->
        REACH(1);
        grant(TOKEN(OTHER(CLIENT(token))), s); replicate(s)
    :: HAS(s, token) && !(state[OTHER(CLIENT(token))] == WAITS &&
            calls[OTHER(CLIENT(token))] == s) ->
        holder[s] = 0; level[s] = 0; replicate(s)
    :: else
    fi
}

inline empty_stream(to) {
    do
    :: len(stream[to]) > 0 -> stream[to]?_
    :: else -> break
    od
}

/* WAIT counts the replicas that have what its connection has written. */
#define ACKNOWLEDGES(c, r) (follows[r] == confirms[c] && \
    !(wrote[c] && stream[r]??[eval(WRITE(TOKEN(c), sent[c]))]))
#define COUNT(c) ((ACKNOWLEDGES(c, 0) -> 1 : 0) + \
    (ACKNOWLEDGES(c, 1) -> 1 : 0) + (ACKNOWLEDGES(c, 2) -> 1 : 0))

/* ---- a client ------------------------------------------------------------- */

inline send_extend(c) {
    wrote[c] = 0; lacked[c] = 0; misled[c] = 0;
#ifdef BROKEN_NO_WRITE
    state[c] = COUNTS
#else
    sent[c]++; state[c] = EXTENDS
#endif
}

inline got(c) {
    mine[c] = fence[calls[c]];
    send_extend(c)
}

inline over(c) {
    sure[c] = 0; renewed[c] = 0; sent[c] = 0; wrote[c] = 0; mine[c] = 0;
    lacked[c] = 0; misled[c] = 0; before[c] = 0; granted[c] = 0;
    if
    :: attempts[c] > 0 -> state[c] = START
    :: else -> state[c] = DONE
    fi
}

inline believe(c) {
    if
    :: ended[TOKEN(c)] > sent[c] -> REACH(2); state[c] = GIVES
    :: else ->
        state[c] = HOLDS; sure[c] = 1;
        assert(!sure[OTHER(c)] || IS_EXCUSED(c) || IS_EXCUSED(OTHER(c)));
#ifdef FORMER_GRANTS_NOTHING
        assert(!misled[c]);
#endif
        excused = excused || IS_EXCUSED(c);
        assert(excused || mine[c] > before[c]);
        if
        :: mine[c] > greatest -> greatest = mine[c]
        :: else
        fi
    fi
}

inline leave_late(c, s) {
    late[c] = state[c]; late_token[c] = TOKEN(c); late_level[c] = sent[c];
    late_at[c] = s
}

inline forget_late(c) {
    late[c] = 0; late_token[c] = 0; late_level[c] = 0; late_at[c] = 0
}

inline connect_calls(c, s) {
    calls[c] = s;
    if
    :: late[c] != 0 && late[c] != EXTENDS && late_at[c] == s -> forget_late(c)
    :: else
    fi;
    if
    :: state[c] == WAITS -> state[c] = ASKS
    :: else
    fi
}

inline connect_confirms(c, s) {
    confirms[c] = s;
    if
    :: late[c] == EXTENDS && late_at[c] == s -> forget_late(c)
    :: else
    fi
}

#define USES_CALLS(c) (calls[c] != NONE && \
    (state[c] == ASKS || state[c] == WAITS || state[c] == GIVES))
#define USES_CONFIRMS(c) (confirms[c] != NONE && \
    (state[c] == EXTENDS || state[c] == COUNTS || state[c] == ENOUGH))
/* A switch was announced, the server is a replica now, or the connection breaks. */
#define MAY_LEAVE(s) ((s) != current || faults > 0)

inline leave(s) {
    if
    :: s == current -> faults--
    :: else
    fi
}

proctype client(byte c) {
end:
    do
    :: d_step { state[c] == START -> attempts[c]--; state[c] = ASKS }
    :: d_step { state[c] == ASKS && READY(calls[c]) ->
        take(TOKEN(c), calls[c]);
        if
        :: HAS(calls[c], TOKEN(c)) -> got(c)
        :: !HAS(calls[c], TOKEN(c)) && ended[TOKEN(c)] > 0 -> over(c)
        :: else -> state[c] = WAITS
        fi }
    :: d_step { state[c] == WAITS && primary[calls[c]] &&
            HAS(calls[c], TOKEN(c)) -> got(c) }
    :: d_step { state[c] == WAITS && primary[calls[c]] && IS_FREE(calls[c]) ->
        state[c] = ASKS }
    :: d_step { state[c] == EXTENDS && READY(confirms[c]) ->
        extend(TOKEN(c), sent[c], confirms[c]);
        if
        :: HAS(confirms[c], TOKEN(c)) ->
            wrote[c] = 1;
            if
            :: confirms[c] != current -> REACH(3); misled[c] = 1
            :: else
            fi;
#ifdef BROKEN_NO_WAIT
            state[c] = ENOUGH
#else
            state[c] = COUNTS
#endif
        :: else -> REACH(4); over(c)
        fi }
    :: d_step { state[c] == COUNTS && primary[confirms[c]] &&
            COUNT(c) >= NUMBER ->
        state[c] = ENOUGH }
    :: d_step { state[c] == COUNTS && primary[confirms[c]] &&
            COUNT(c) < NUMBER ->
        REACH(5);
#ifdef BROKEN_KEPT
        state[c] = ENOUGH
#else
        state[c] = GIVES
#endif
        }
    :: d_step { state[c] == ENOUGH -> believe(c) }
    :: d_step { state[c] == HOLDS -> sure[c] = 0; state[c] = GIVES }
    :: d_step { renewals > 0 && state[c] == HOLDS && sent[c] < TOP &&
            READY(calls[c]) && HAS(calls[c], TOKEN(c)) && sure[c] ->
        renewals--; sent[c]++; renewed[c] = 1;
        extend(TOKEN(c), sent[c], calls[c]) }
    :: d_step { state[c] == GIVES && READY(calls[c]) ->
        release(TOKEN(c), calls[c]); over(c) }
    /* Cancelled, or no reply in time. */
    :: d_step { (faults > 0 && (state[c] == EXTENDS || state[c] == COUNTS)) ->
        faults--;
        if
        :: state[c] == EXTENDS && confirms[c] != NONE ->
            leave_late(c, confirms[c]); confirms[c] = NONE
        :: else
        fi;
        state[c] = GIVES }

    :: d_step { USES_CALLS(c) && MAY_LEAVE(calls[c]) ->
        leave(calls[c]);
        if
        :: state[c] != WAITS && primary[calls[c]] -> leave_late(c, calls[c])
        :: else
        fi;
        calls[c] = NONE }
    :: d_step { calls[c] == NONE -> connect_calls(c, current) }

    :: d_step { USES_CONFIRMS(c) && MAY_LEAVE(confirms[c]) && sent[c] < TOP ->
        leave(confirms[c]);
        if
        :: state[c] == EXTENDS && primary[confirms[c]] ->
            leave_late(c, confirms[c])
        :: else
        fi;
        confirms[c] = NONE;
#ifdef BROKEN_OTHER_CONNECTION
        if
        :: state[c] == EXTENDS -> send_extend(c)
        :: else -> wrote[c] = 0; state[c] = COUNTS
        fi
#else
        if
        :: state[c] != EXTENDS -> REACH(6)
        :: else
        fi;
        send_extend(c)
#endif
        }
    :: d_step { confirms[c] == NONE -> connect_confirms(c, current) }

    /* The copy that was left behind. */
    :: d_step { late[c] != 0 && READY(late_at[c]) ->
        REACH(7);
        if
        :: late[c] == ASKS -> take(late_token[c], late_at[c])
        :: late[c] == EXTENDS ->
            extend(late_token[c], late_level[c], late_at[c])
        :: late[c] == GIVES -> release(late_token[c], late_at[c])
        fi;
        forget_late(c) }
    od
}

/* ---- replication and Sentinel --------------------------------------------- */

inline look_for_hold(c, promoted) {
    if
    :: (state[c] == COUNTS || state[c] == ENOUGH || state[c] == HOLDS) &&
            !(HAS(promoted, TOKEN(c)) &&
            (renewed[c] || level[promoted] >= sent[c])) ->
        REACH(8);
        lacked[c] = 1;
        excused = excused || sure[c]
    :: else
    fi
}

inline lose_primary(replica, s) {
    if
    :: follows[replica] == s ->
        follows[replica] = NONE; empty_stream(replica)
    :: else
    fi
}

inline drop_late(c, s) {
    if
    :: late[c] != 0 && late_at[c] == s -> forget_late(c)
    :: else
    fi
}

proctype server(byte r) {
    byte write;
end:
    do
    :: d_step { len(stream[r]) > 0 ->
        stream[r]?write;
        holder[r] = write / (TOP + 1); level[r] = write % (TOP + 1);
        if
        :: holder[r] != 0 && level[r] == 0 -> fence[r]++
        :: else
        fi;
        write = 0 }
    /* Any replica of the current primary may be promoted. At first both are the
       same, so the first is number 1. */
    :: d_step { (failovers > 0 && follows[r] == current &&
            (r == 1 || failovers < FAILOVERS)) ->
        failovers--;
        follows[r] = NONE; empty_stream(r);
        look_for_hold(0, r);
        look_for_hold(1, r);
        excused = excused || fence[r] < greatest;
#ifdef STRICT
        assert(!excused);
#endif
        primary[r] = 1;
#ifdef LEFT_BEHIND_NOBODY
        lose_primary(0, current);
        lose_primary(1, current);
        lose_primary(2, current);
#endif
        current = r }
    /* Sentinel makes it a replica of the current primary, which it copies. */
    :: d_step { r != current && follows[r] != current ->
        if
        :: primary[r] ->
            REACH(9);
            primary[r] = 0;
            lose_primary(0, r);
            lose_primary(1, r);
            lose_primary(2, r);
            drop_late(0, r);
            drop_late(1, r)
        :: else -> REACH(10)
        fi;
        empty_stream(r);
        follows[r] = current;
        holder[r] = holder[current]; level[r] = level[current];
        fence[r] = fence[current] }
    od
}

#define COUNTS_ON(token, s) (holder[s] == (token) && level[s] >= ended[token])

inline end_lease(token) {
    ended[token]++;
    if
    :: TOKEN(CLIENT(token)) == token && sure[CLIENT(token)] &&
            ended[token] > sent[CLIENT(token)] ->
        REACH(11);
        sure[CLIENT(token)] = 0
    :: else
    fi
}

proctype leases(byte token) {
end:
    do
    /* The first is a fault, and the others may follow. */
    :: d_step { (faults > 0 || ended[token] > 0) && (COUNTS_ON(token, 0) ||
            COUNTS_ON(token, 1) || COUNTS_ON(token, 2)) ->
        if
        :: ended[token] == 0 -> faults--
        :: else
        fi;
        end_lease(token) }
    od
}

init {
    atomic {
        primary[0] = 1;
        follows[0] = NONE;
        run client(0);
        run client(1);
        run server(0);
        run server(1);
        run server(2);
        run leases(1);
        run leases(3)
#if ATTEMPTS > 1
        ;
        run leases(2);
        run leases(4)
#endif
    }
}
