/* SPDX-License-Identifier: MIT */
/*
 * replicated_value.pml -- a value on three servers, of which a put waits for two and a
 * get asks two (docs/kv.md).
 *
 *     put   read the versions at two servers, take a greater one, send it to all; done
 *           when two have it
 *     get   read two copies, give the newer one to the server that lacks it, and only
 *           then return it
 *
 * A message may be lost, before or after it was executed, or be late. One server may be
 * wiped: then it returns, gets what is written, and what it says does not count.
 *
 * The second put is a delete. Its version ends at a server when all three have it, at any
 * time after that; by then no message of before is under way.
 *
 * What must hold: a put has a greater version than any that was done before it began; a
 * get returns no older version than one that was done, or returned, before it began.
 */
#define BRANCHES 6
#include "reached.pml"

#define SERVERS 3
#define ENOUGH 2
#define WRITERS 2
#ifndef READERS
#define READERS 1
#endif
#ifndef WIPES
#define WIPES 1
#endif

#define BIT(s) (1 << (s))
#define ALL 7
#define COUNT(bits) (((bits) & 1) + (((bits) >> 1) & 1) + (((bits) >> 2) & 1))

/* A version is 2 * its number + its writer, which stands for the token. */
byte copy[SERVERS]; /* 0: nothing there */
byte returns = 0;   /* servers, as bits: they were wiped */
byte wipes = WIPES;

/* Of each put, as bits. */
byte version[WRITERS];
byte under_way[WRITERS];
byte has[WRITERS]; /* servers whose reply has come */
bool settled = false;

/* What everybody may rely on: the greatest version that was done or returned. */
byte known = 0;
#define DELETED_BY 1
#define IS_DELETE(v) ((v) > 0 && (v) % 2 == DELETED_BY)

#define MAX(a, b) ((a) > (b) -> (a) : (b))
/* The first server that returns does not count. */
#ifdef BROKEN_COUNTS_WIPED
#define COUNTS(s) true
#else
#define COUNTS(s) (!(returns & BIT(s)))
#endif

inline write(s, v) {
    if
    :: copy[s] < v -> copy[s] = v
    :: else -> REACH(0)
    fi
}

proctype writer(byte me) {
    byte seen = 0, most = 0, before = 0, s = 0;

    atomic { before = known }
#ifndef BROKEN_NO_READ
    do
    :: atomic { COUNT(seen) < ENOUGH ->
        if
        :: s = 0
        :: s = 1
        :: s = 2
        fi;
        if
        :: !(seen & BIT(s)) && COUNTS(s) ->
            seen = seen | BIT(s);
            most = MAX(most, copy[s])
        :: else
        fi;
        s = 0 }
    :: COUNT(seen) >= ENOUGH -> break
    od;
#endif
    atomic {
        /* After a deleted version has ended the clock is beyond it. */
        most = (settled -> MAX(most, version[DELETED_BY]) : most);
        version[me] = 2 * (most / 2 + 1) + me;
        under_way[me] = ALL;
        most = 0; seen = 0
    }
end: /* it may fail: then nobody may rely on it */
    atomic { COUNT(has[me]) >= ENOUGH ->
        assert(version[me] > before);
        known = MAX(known, version[me]);
        before = 0 }
}

/* The messages of puts, and the replies to them. */
inline deliver(w, s) {
    under_way[w] & BIT(s) ->
    under_way[w] = under_way[w] & ~BIT(s);
    if
    :: true -> write(s, version[w]); has[w] = has[w] | BIT(s)
    :: true -> write(s, version[w]) /* the reply is lost */
    :: true -> REACH(1) /* the message is lost */
    fi
}

/* All three have it: nothing older is left anywhere, and what is late is over. */
#define DELETE_IS_EVERYWHERE \
    (has[DELETED_BY] == ALL && under_way[0] == 0 && under_way[1] == 0 && reading == 0)
byte reading = 0;

inline end_version(s) {
#ifdef BROKEN_ENDS_EARLY
    IS_DELETE(copy[s]) && copy[s] == version[DELETED_BY] ->
#else
    DELETE_IS_EVERYWHERE && copy[s] == version[DELETED_BY] && copy[s] > 0 ->
    REACH(2);
#endif
    settled = true;
    copy[s] = 0
}

proctype world() {
end:
    do
    :: atomic { deliver(0, 0) }
    :: atomic { deliver(0, 1) }
    :: atomic { deliver(0, 2) }
    :: atomic { deliver(1, 0) }
    :: atomic { deliver(1, 1) }
    :: atomic { deliver(1, 2) }
    :: atomic { end_version(0) }
    :: atomic { end_version(1) }
    :: atomic { end_version(2) }
    :: atomic { wipes > 0 -> wipes--; copy[2] = 0; returns = returns | BIT(2); REACH(3) }
    od
}

proctype reader() {
    byte seen, newest, before, holds, s, gets = 0;

end:
    do
    :: gets < 2 ->
        atomic { gets++; before = known; seen = 0; newest = 0; holds = 0; s = 0;
            reading++ }
        do
        :: atomic { COUNT(seen) < ENOUGH ->
            if
            :: s = 0
            :: s = 1
            :: s = 2
            fi;
            if
            :: !(seen & BIT(s)) && COUNTS(s) ->
                seen = seen | BIT(s);
                if
                :: copy[s] > newest -> newest = copy[s]; holds = BIT(s)
                :: copy[s] == newest -> holds = holds | BIT(s)
                :: else
                fi
            :: else
            fi;
            s = 0 }
        :: COUNT(seen) >= ENOUGH -> break
        od;
#ifndef BROKEN_NO_REPAIR
        do
        :: COUNT(holds) >= ENOUGH || newest == 0 -> break
        :: atomic { COUNT(holds) < ENOUGH && newest > 0 ->
            if
            :: s = 0
            :: s = 1
            :: s = 2
            fi;
            if
            :: !(holds & BIT(s)) && COUNTS(s) ->
                REACH(4);
                write(s, newest);
                holds = holds | BIT(s)
            :: else
            fi;
            s = 0 }
        od;
#endif
        atomic {
            /* Where nothing is left of a deleted version, nothing is right. */
            assert(newest >= before || (newest == 0 && settled
                                        && before <= version[DELETED_BY]));
            known = MAX(known, newest);
            reading--; seen = 0; newest = 0; holds = 0; before = 0
        }
        if
        :: REACH(5); skip
        :: gets = 2
        fi
    :: gets >= 2 -> break
    od
}

init {
    atomic {
        run world();
        run writer(0);
        run writer(1);
        run reader();
#if READERS > 1
        run reader()
#endif
    }
}
