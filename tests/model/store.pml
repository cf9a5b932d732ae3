/* SPDX-License-Identifier: MIT */
/*
 * store.pml -- transactions on a store with versions by timestamp: two keys, three
 * transactions, of which each reads some keys and writes some.
 *
 * The server gives each transaction a timestamp with its first read, or with the commit of
 * one that has read nothing. A read takes the newest version up to the timestamp, and
 * raises the key's read timestamp. A commit is one step: it is refused when a key that it
 * writes was read or written later. Commits may be executed twice, and a question for the
 * outcome may come at any time.
 *
 * A value is the number of the transaction that wrote it; 0: nobody has. In the end each
 * read must have seen what it sees in the order of the timestamps.
 */
#ifndef COPIES
#define COPIES 1                /* commits that are executed once more */
#endif
#ifndef ASKS
#define ASKS 1                  /* questions for an outcome */
#endif
#ifndef ACTIVE
#define ACTIVE 3                /* transactions that do something */
#endif
#define KEYS 2
#define TXNS 3
#define TIMES 8

#define BRANCHES 5
#include "reached.pml"

/* The server. */
byte last = 0;                  /* timestamp that was given */
byte read_at[KEYS];             /* the greatest timestamp of a reader */
byte newest[KEYS];              /* the timestamp of the last version */
byte writer[TIMES * KEYS];      /* of a version, by timestamp and key; 0 */

mtype = { OPEN, COMMITTED, ABORTED };

mtype done[TXNS] = OPEN;        /* as the server remembers it */

/* The transactions, and what their clients know. */
byte time[TXNS];                /* 0: none yet */
byte reads[TXNS], writes[TXNS]; /* keys, as bits: what they will do */
byte has_read[TXNS];
byte seen[TXNS * KEYS];         /* the writer whose value was read */
bool sent[TXNS];
mtype told[TXNS] = OPEN;        /* the reply to the commit, or the outcome */
byte copies = COPIES, asks = ASKS;

#define BIT(n) (1 << (n))
#define VERSION(at, key) writer[(at) * KEYS + (key)]

inline give(t) {
    last++;
    time[t] = last
}

/* The newest version of the key up to that time. */
inline find(at, key, out) {
    byte i;

    out = 0;
    for (i : 1 .. at) {
        if
        :: VERSION(i, key) != 0 -> out = VERSION(i, key)
        :: else
        fi
    }
    i = 0
}

inline read(t, key) {
    reads[t] & ~has_read[t] & BIT(key) && !sent[t] ->
    if
    :: time[t] == 0 -> give(t)
    :: else
    fi;
    has_read[t] = has_read[t] | BIT(key);
    find(time[t], key, seen[t * KEYS + key]);
#ifdef BROKEN_SNAPSHOT
    /* One that only reads leaves no trace. */
    if
    :: writes[t] != 0 && read_at[key] < time[t] -> read_at[key] = time[t]
    :: else
    fi
#else
#ifndef BROKEN_NO_TRACE
    if
    :: read_at[key] < time[t] -> read_at[key] = time[t]
    :: else
    fi
#endif
#endif
}

#ifdef BROKEN_NO_CHECK
#define IS_LATE(t, key) false
#else
#define IS_LATE(t, key) \
    ((writes[t] & BIT(key)) \
     && (read_at[key] > time[t] || newest[key] >= time[t]))
#endif

inline write(t, key) {
    if
    :: writes[t] & BIT(key) ->
        VERSION(time[t], key) = t + 1;
        newest[key] = time[t]
    :: else
    fi
}

/* What the server does with a commit, the first one or a copy. */
inline commit(t) {
    if
#ifdef BROKEN_TWICE
    :: done[t] == ABORTED -> REACH(0)
    :: done[t] != ABORTED && has_read[t] == 0 ->
#else
    :: done[t] != OPEN -> REACH(0)
    :: done[t] == OPEN && has_read[t] == 0 ->
#endif
        give(t); /* it has read nothing: never late */
        write(t, 0);
        write(t, 1);
        done[t] = COMMITTED
    :: done[t] == OPEN && has_read[t] != 0 && (IS_LATE(t, 0) || IS_LATE(t, 1)) ->
        REACH(1);
        told[t] = ABORTED
    :: done[t] == OPEN && has_read[t] != 0 && !(IS_LATE(t, 0) || IS_LATE(t, 1)) ->
        write(t, 0);
        write(t, 1);
        done[t] = COMMITTED
#ifdef BROKEN_TWICE
    :: done[t] == COMMITTED && has_read[t] != 0
#endif
    fi
}

inline ask(t) {
    asks--;
    if
    :: done[t] == COMMITTED -> REACH(2); told[t] = COMMITTED
    :: else ->
        REACH(3);
#ifndef BROKEN_ASKS
        done[t] = ABORTED;
#endif
        told[t] = ABORTED
    fi
}

proctype transaction(byte t) {
end:
    do
    :: atomic { read(t, 0) }
    :: atomic { read(t, 1) }
    :: atomic { has_read[t] == reads[t] && !sent[t] -> sent[t] = true; commit(t) }
    :: atomic { has_read[t] == reads[t] && !sent[t] -> sent[t] = true } /* it is late */
    :: atomic { sent[t] && copies > 0 -> copies--; commit(t) }
    :: atomic { sent[t] && asks > 0 && told[t] == OPEN -> ask(t) }
    od
}

/* Each committed reader saw what it sees in the order of the timestamps. */
inline check(t, key) {
    byte wanted;

    if
    :: (has_read[t] & BIT(key)) && (done[t] == COMMITTED || writes[t] == 0) ->
        find(time[t] - 1, key, wanted);
        assert(seen[t * KEYS + key] == wanted)
    :: else
    fi;
    wanted = 0
}

/* What it was told is true, and stays so. */
inline check_told(t) {
    assert(!(told[t] == COMMITTED && done[t] != COMMITTED));
    assert(!(told[t] == ABORTED && done[t] == COMMITTED))
}

/* One version each: a commit that is executed twice writes once. */
inline check_once(t) {
    byte at, times;

    times = 0;
    for (at : 1 .. TIMES - 1) {
        if
        :: VERSION(at, 0) == t + 1 || VERSION(at, 1) == t + 1 -> times++
        :: else
        fi
    }
    assert(times <= 1);
    at = 0;
    times = 0
}

inline choose(t) {
    select(choice : 0 .. 3);
    reads[t] = choice;
    select(choice : 0 .. 3);
    writes[t] = choice
}

proctype judge() {
end:
    atomic {
        true ->
        check(0, 0); check(0, 1);
        check(1, 0); check(1, 1);
        check(2, 0); check(2, 1);
        check_told(0); check_told(1); check_told(2);
        check_once(0); check_once(1); check_once(2);
        REACH(4)
    }
}

init {
    byte choice;

    atomic {
        choose(0);
        choose(1);
        if
        :: ACTIVE > 2 -> choose(2)
        :: else -> sent[2] = true
        fi;
        choice = 0;
        run transaction(0);
        run transaction(1);
        run transaction(2);
        run judge()
    }
}
