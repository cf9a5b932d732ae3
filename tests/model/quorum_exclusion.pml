/* SPDX-License-Identifier: MIT */
/*
 * quorum_exclusion.pml -- a lock over NODES servers that know nothing of each
 * other: no two clients hold it. A client holds it while it counts a majority of
 * the nodes, and it counts a node whose confirmation says that the node's vote is
 * its own. Before its first yield it counts the grants of free nodes as well, which
 * are reserved for it.
 *
 * Nothing here says when a client sends a command. Every command may run at any
 * time, as often as the world likes, so each copy that comes late is among these
 * runs, however many there are. Only these are ordered: a client releases when it
 * has stopped counting, and it takes a lost node again when it has held.
 *
 * Time is a handful of events. A client stops counting a node at any moment, and
 * a vote may end at the node when its client has stopped counting it: the client
 * counts the lease from before it asked, less the drift.
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef WIPES
#define WIPES 1
#endif
#define MAJORITY (NODES / 2 + 1)
#define NONE CLIENTS
#define BIT(k) (1 << (k))

/* The nodes. Client c has the stamp c, so client 0 is the first of a queue. */
byte owner[NODES] = NONE;
byte queue[NODES];              /* the clients that wait, as bits */
byte held[NODES];               /* the mark of the owner's vote */
#define OPEN 0                  /* none */
#define CONFIRMED 1
#define RESERVED 2              /* only its owner's yield takes it */
bit votes[NODES] = 1;           /* it has not forgotten anything of late */
byte wipes = WIPES;

/* The clients. */
byte counted[CLIENTS];          /* nodes, as bits */
bit has_held[CLIENTS];
#ifndef CONFIRMS_ALL            /* no votes are reserved */
#define CONFIRMS_ALL 0
#endif
bit yields[CLIENTS] = CONFIRMS_ALL; /* yields may be under way: it counts no grants */
bit gone[CLIENTS];              /* its token is not used any more */
#ifdef BROKEN_FRESH_TOKEN
bit yielded[CLIENTS];
#endif

hidden byte head;

#if NODES == 3
#define COUNT(set) (((set) & 1) + (((set) >> 1) & 1) + ((set) >> 2))
#else
#define COUNT(set) \
    (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1) + ((set) >> 3))
#endif
#define HOLDS(c) (COUNT(counted[c]) >= MAJORITY)
#if CLIENTS == 2
#define ONE_HOLDER !(HOLDS(0) && HOLDS(1))
#define NOT_COUNTED(n) (((counted[0] | counted[1]) & BIT(n)) == 0)
#else
#define ONE_HOLDER (HOLDS(0) + HOLDS(1) + HOLDS(2) <= 1)
#define NOT_COUNTED(n) \
    (((counted[0] | counted[1] | counted[2]) & BIT(n)) == 0)
#endif

#define FIRST(n) (queue[n] & 1 -> 0 : (queue[n] & 2 -> 1 : 2))
#define EARLIER(n, c) ((queue[n] & (BIT(c) - 1)) != 0)

/* The first of the queue gets the vote. Every grant clears the mark. */
inline give(n) {
    head = FIRST(n);
    owner[n] = head;
    queue[n] = queue[n] & ~BIT(head);
    held[n] = OPEN
}

inline count(n, c) {
    if
    :: !gone[c] ->
        counted[c] = counted[c] | BIT(n);
        has_held[c] = has_held[c] || HOLDS(c);
        assert(ONE_HOLDER)
    :: else
    fi
}

#ifdef BROKEN_NO_MARK
#define MAY_YIELD(n, c) 1
#elif defined(BROKEN_FRESH_TOKEN)
#define MAY_YIELD(n, c) (!yielded[c])
#else
#define MAY_YIELD(n, c) (held[n] != CONFIRMED)
#endif

#ifdef BROKEN_TAKES_ALL
#define MAY_TAKE(n) 1
#else
#define MAY_TAKE(n) (owner[n] == NONE || held[n] == OPEN)
#endif

#ifdef BROKEN_NO_RESERVATION
#define FIRST_MARK OPEN
#else
#define FIRST_MARK RESERVED
#endif

#ifdef BROKEN_COUNTS_AFTER_YIELD
#define COUNTS_GRANTS(c) 1
#else
#define COUNTS_GRANTS(c) (!yields[c])
#endif

#ifdef BROKEN_DOWNGRADE
#define MAY_RESERVE(n) 1
#else
#define MAY_RESERVE(n) (held[n] != CONFIRMED)
#endif

#ifdef BROKEN_NO_OWNER
#define IS_OWNER(n, c) 1
#else
#define IS_OWNER(n, c) (owner[n] == c)
#endif

proctype scripts(byte n; byte c) {
end:
    do
    /* The first quorum_acquire of an attempt, at a free node: its reply is counted. A
       copy of it finds the vote. */
    :: d_step { !CONFIRMS_ALL && owner[n] == NONE && queue[n] == 0 ->
        owner[n] = c;
        held[n] = FIRST_MARK;
        if
        :: COUNTS_GRANTS(c) && votes[n] -> count(n, c)
        :: else
        fi }
    :: d_step { !CONFIRMS_ALL && owner[n] == c && MAY_RESERVE(n) &&
            held[n] != RESERVED ->
        held[n] = RESERVED }
    /* quorum_acquire */
    :: d_step { owner[n] != c && !(queue[n] & BIT(c)) ->
        queue[n] = queue[n] | BIT(c);
        if
        :: owner[n] == NONE -> give(n)
        :: else
        fi }
    /* quorum_yield: only to an earlier one, and not when it is marked */
    :: d_step { yields[c] && owner[n] == c && EARLIER(n, c) &&
            MAY_YIELD(n, c) ->
        queue[n] = queue[n] | BIT(c);
#ifdef BROKEN_FRESH_TOKEN
        yielded[c] = 1;
#endif
        give(n) }
    :: d_step { yields[c] && owner[n] == c && !EARLIER(n, c) &&
            held[n] == RESERVED ->
        held[n] = OPEN }
    /* quorum_confirm, which extends as well */
    :: d_step { IS_OWNER(n, c) && votes[n] &&
            !(held[n] == CONFIRMED && (gone[c] || counted[c] & BIT(n))) ->
        held[n] = CONFIRMED;
        count(n, c) }
    /* the same for a holder that has lost the node, which takes it again, also from
       a client whose vote is not confirmed */
    :: d_step { owner[n] != c && MAY_TAKE(n) && votes[n] && has_held[c] ->
        owner[n] = c;
#ifdef BROKEN_RETAKE
        held[n] = OPEN;
#else
        held[n] = CONFIRMED;
#endif
        queue[n] = queue[n] & ~BIT(c);
        count(n, c) }
    /* quorum_release and lock_cancel */
    :: d_step { gone[c] && (owner[n] == c || queue[n] & BIT(c)) ->
        queue[n] = queue[n] & ~BIT(c);
        if
        :: owner[n] == c && queue[n] != 0 -> give(n)
        :: owner[n] == c && queue[n] == 0 ->
            owner[n] = NONE; held[n] = OPEN
        :: else
        fi }
    /* The client stops counting the node, and then the vote may end. */
    :: d_step { counted[c] & BIT(n) -> counted[c] = counted[c] & ~BIT(n) }
    :: d_step { owner[n] == c && !(counted[c] & BIT(n)) ->
        owner[n] = NONE; held[n] = OPEN }
    od
}

proctype world(byte n) {
end:
    do
    /* lock_refresh finds the lock free */
    :: d_step { owner[n] == NONE && queue[n] != 0 -> give(n) }
    :: d_step { wipes > 0 -> wipes--;
        owner[n] = NONE; queue[n] = 0; held[n] = OPEN;
#ifndef BROKEN_VOTES_AT_ONCE
        votes[n] = 0
#endif
        }
    /* The longest lease has passed since. */
    :: d_step { !votes[n] && NOT_COUNTED(n) -> votes[n] = 1 }
    od
}

proctype client(byte c) {
end:
    do
    /* It has too few votes: from now on it yields, and counts no grant, none of
       those before either. */
    :: d_step { !yields[c] && !gone[c] && !has_held[c] ->
        yields[c] = 1;
#ifndef BROKEN_COUNTS_AFTER_YIELD
        counted[c] = 0
#endif
        }
    :: d_step { !gone[c] -> gone[c] = 1; counted[c] = 0 }
    od
}

init {
    byte n = 0, c = 0;

    atomic {
        do
        :: n < NODES ->
            run world(n);
            c = 0;
            do
            :: c < CLIENTS -> run scripts(n, c); c++
            :: else -> break
            od;
            n++
        :: else -> break
        od;
        c = 0;
        do
        :: c < CLIENTS -> run client(c); c++
        :: else -> break
        od;
        n = 0; c = 0
    }
}
