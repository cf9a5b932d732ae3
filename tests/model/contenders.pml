/* SPDX-License-Identifier: MIT */
/*
 * contenders.pml -- a lock in a store that numbers entries, such as etcd or
 * ZooKeeper. Each client that contends for the lock has one entry, and the first
 * entry holds. The entries of a client end with its session.
 *
 *     CREATES --> LISTS --behind another--> WATCHES --> WAITS
 *                  | ^                         |          |
 *                  | +-------- newer ----------+          |
 *                  | +---------- an event ----------------+
 *                  +--first--> HOLDS
 *
 * The store executes each request at any later time, and its answer travels as
 * long. A link that breaks loses the requests and answers under way, and with them
 * the watch and its events. A create that it carried may be executed until the next
 * link has made it void, as the links of a session of ZooKeeper do. With COPIES it
 * may be executed at any time, as at etcd, and the delete of its entry makes it
 * void: it leaves a mark that each create of that entry compares. With SAME_KEY the next
 * entry of a client has the key of the one before, as at etcd, unless a request of that
 * one may still be executed: then a late copy of its delete would remove the new one.
 *
 * Without CLOCKS a session ends at any time after its client has stopped to believe
 * in it, and the search looks for runs that come to rest too early. With CLOCKS the
 * store and the clients count ticks, and the search looks for two who are sure.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ENTRIES
#define ENTRIES 2               /* of each client, one after the other */
#endif
#ifndef FAULTS
#define FAULTS 1                /* of any kind, at any moment, in one run */
#endif
#ifndef QUITS
#define QUITS 1                 /* attempts that are given up */
#endif
#ifndef TTL
#define TTL 2                   /* of a session, in ticks */
#endif
#ifdef SAME_KEY
#define KEYS (ENTRIES + 1)      /* its session may end before the first one */
#else
#define KEYS ENTRIES
#endif
#define IDS (CLIENTS * KEYS)
#ifdef BROKEN_SECOND_ENTRY
#define SLOTS (IDS + FAULTS)
#else
#define SLOTS IDS
#endif
#define ID(c, n) ((c) * KEYS + (n) + 1)
#define OWNER(id) (((id) - 1) / KEYS)
#define OWN(c) ID(c, current[c])

mtype = { START, CREATES, LISTS, WATCHES, WAITS, HOLDS, DONE };
mtype = { SENT, EXECUTED, REFUSED };                    /* requests */
mtype = { MISSING, FIRST, BEHIND, WATCHED, NEWER };     /* answers */

/* The store: entries in the order of their numbers, sessions, watches. */
byte entries[SLOTS];            /* ids */
byte numbers[SLOTS];
byte count = 0, next = 1;
bit session[CLIENTS] = 1;
bit watching[CLIENTS];          /* its predecessor and its own entry */

/* The requests of a client that are under way: each is 0 when there is none. */
byte creates[CLIENTS];          /* the id */
mtype create_is[CLIENTS];
mtype read_is[CLIENTS];         /* a list or a watch: its state says which */
mtype answer[CLIENTS];
byte leaves[CLIENTS];           /* the id of an entry to be deleted */
mtype leave_is[CLIENTS];        /* 0: to be sent */
bit repeats[CLIENTS];           /* an earlier copy of the delete has no answer */
bit found[CLIENTS];             /* the delete has removed the entry */
byte late[CLIENTS];             /* a create that its link has left behind */
bit event[CLIENTS];
bit link[CLIENTS] = 1;

/* The clients. */
mtype state[CLIENTS] = START;
byte current[CLIENTS];          /* the entry of the present attempt */
#ifdef SAME_KEY
byte attempts[CLIENTS];
bit doubt[CLIENTS];             /* a request of the entry may still be executed */
byte late_leave[CLIENTS];       /* a delete that its link has left behind */
#define MAY_START(c) (leaves[c] == 0)
#else
#define MAY_START(c) 1
#endif
byte predecessor[CLIENTS];      /* its number */
byte fence[CLIENTS];            /* as the last list has it */

/* Sessions, as their clients see them. */
#ifdef CLOCKS
byte left[CLIENTS] = TTL;       /* at the store */
byte belief[CLIENTS];           /* until the local deadline */
mtype renewal_is[CLIENTS];
byte age[CLIENTS];              /* since the renewal was sent */
#define BELIEVES(c) (belief[c] > 0)
#else
bit belief[CLIENTS] = 1;
#define BELIEVES(c) belief[c]
#endif

byte faults = FAULTS, quits = QUITS;

/* For the properties alone. */
bit broken[CLIENTS];            /* an operator deleted its entry */
byte last = 0;                  /* the fence of the last hold */
bit gave_up[CLIENTS];           /* a delete of the client removed its entry */
bit struck[CLIENTS];            /* an operator did, or it was no holder's */

/* Scratch of one step. */
hidden byte at, who, its, its_number, holders;

#ifdef COPIES
#define BRANCHES 20
#else
#define BRANCHES 19
#endif
#include "reached.pml"

#define SURE(c) (state[c] == HOLDS && BELIEVES(c) && !broken[c])

inline one_holder() {
#if CLIENTS == 2
    holders = SURE(0) + SURE(1);
#else
    holders = SURE(0) + SURE(1) + SURE(2);
#endif
    assert(holders <= 1)
}

/* ---- the store ----------------------------------------------------------- */

/* Where the entry is, into `at`; `count` when nowhere. */
inline find(id) {
    at = 0;
    do
    :: at < count && entries[at] != id -> at++
    :: else -> break
    od;
    skip
}

inline find_number(number) {
    at = 0;
    do
    :: at < count && numbers[at] != number -> at++
    :: else -> break
    od;
    skip
}

#ifdef BROKEN_BY_NAME
#define PRECEDES(w, id, number) (predecessor[w] == id)
#else
#define PRECEDES(w, id, number) (predecessor[w] == number)
#endif

inline notify(id, number) {
    who = 0;
    do
    :: who < CLIENTS ->
        if
        :: (watching[who]
                && (PRECEDES(who, id, number) || OWN(who) == id)) ->
            watching[who] = 0; event[who] = 1
        :: else
        fi;
        who++
    :: else -> break
    od;
    skip
}

/* Remove entries[at]. */
inline remove() {
    its = entries[at]; its_number = numbers[at];
    do
    :: at + 1 < count ->
        entries[at] = entries[at + 1];
        numbers[at] = numbers[at + 1];
        at++
    :: else -> break
    od;
    count--;
    entries[count] = 0;
    numbers[count] = 0;
    notify(its, its_number)
}

/* A repeated create finds the entry by its own id. */
inline execute_create(c, id) {
    find(id);
    if
    :: !session[c] -> REACH(0)
    :: session[c] && at < count -> REACH(1)
#ifdef BROKEN_SECOND_ENTRY
        ;
        if
        :: count < SLOTS ->
            entries[count] = id; numbers[count] = next; next++; count++
        :: else
        fi
#endif
    :: session[c] && at == count ->
        entries[count] = id; numbers[count] = next; next++; count++;
        if
        :: id == OWN(c) && state[c] == CREATES -> broken[c] = 0
        :: else
        fi
    fi
}

inline execute_list(c) {
    find(OWN(c));
    predecessor[c] = 0;
    if
    :: at == count -> answer[c] = MISSING
    :: at == 0 -> answer[c] = FIRST; remember_fence(c)
    :: at > 0 && at < count -> answer[c] = BEHIND; remember_fence(c);
#ifdef BROKEN_BY_NAME
        predecessor[c] = entries[at - 1]
#else
        predecessor[c] = numbers[at - 1]
#endif
    fi;
    read_is[c] = EXECUTED
}

inline remember_fence(c) {
#ifdef BROKEN_OLD_FENCE
    if
    :: fence[c] == 0 -> fence[c] = numbers[at]
    :: else
    fi
#else
    fence[c] = numbers[at]
#endif
}

/* A watch sees what happens from now on. Its answer says whether that is later than
 * the list: at least, whether one of the two entries is gone. */
inline execute_watch(c) {
    find(OWN(c));
    its = (at < count -> 1 : 0);
#ifdef BROKEN_BY_NAME
    find(predecessor[c]);
#else
    find_number(predecessor[c]);
#endif
    if
    :: its == 1 && at < count -> watching[c] = 1; answer[c] = WATCHED
    :: else -> answer[c] = NEWER
    fi;
    read_is[c] = EXECUTED
}

/* The guard: the entry's own name and number. */
inline execute_delete(c, id) {
#ifdef BROKEN_DELETE_BY_SESSION
    at = 0;
    do
    :: at < count && OWNER(entries[at]) != c -> at++
    :: else -> break
    od;
#else
    find(id);
#endif
    found[c] = at < count;
    if
    :: at < count -> gave_up[c] = 1; remove()
    :: else
    fi
#if defined(COPIES) && !defined(BROKEN_NO_MARK)
    ;
    if
    :: late[c] == id -> REACH(19); late[c] = 0
    :: else
    fi
#endif
}

#ifdef SAME_KEY
inline execute_late_delete(c) {
    find(late_leave[c]);
    if
    :: at < count ->
        if
        :: late_leave[c] == leaves[c] -> gave_up[c] = 1
        :: else
        fi;
        remove()
    :: else
    fi;
    late_leave[c] = 0
}

/* The key of the next entry. */
inline choose_key(c) {
    if
#ifndef BROKEN_SAME_KEY_IN_DOUBT
    :: doubt[c] -> current[c]++; doubt[c] = 0
#endif
    :: else
    fi
}
#else
#define choose_key(c) skip
#endif

inline end_session(c) {
    session[c] = 0;
    at = 0;
    do
    :: at < count && OWNER(entries[at]) == c -> remove(); at = 0
    :: at < count && OWNER(entries[at]) != c -> at++
    :: else -> break
    od;
    skip
}

#ifdef CLOCKS
#define IS_OVER(c) (session[c] && left[c] == 0)
#else
#define IS_OVER(c) (session[c] && !belief[c])
#endif

proctype store(byte c) {
end:
    do
    :: d_step { create_is[c] == SENT ->
        execute_create(c, creates[c]); create_is[c] = EXECUTED }
    :: d_step { late[c] != 0 -> execute_create(c, late[c]); late[c] = 0 }
    :: d_step { read_is[c] == SENT && state[c] == LISTS -> execute_list(c) }
    :: d_step { read_is[c] == SENT && state[c] == WATCHES ->
        execute_watch(c) }
    :: d_step { leave_is[c] == SENT ->
        execute_delete(c, leaves[c]); leave_is[c] = EXECUTED }
#ifdef SAME_KEY
    :: d_step { late_leave[c] != 0 -> execute_late_delete(c) }
#endif
    :: d_step { IS_OVER(c) -> end_session(c) }
#ifdef CLOCKS
    :: d_step { renewal_is[c] == SENT ->
        if
        :: session[c] -> left[c] = TTL; renewal_is[c] = EXECUTED
        :: else -> renewal_is[c] = REFUSED
        fi }
#endif
    od
}

/* ---- a client ------------------------------------------------------------ */

inline forget_reads(c) {
    read_is[c] = 0; answer[c] = 0; predecessor[c] = 0;
    watching[c] = 0; event[c] = 0
}

/* The entry is lost or is to be deleted. */
inline next_attempt(c) {
    forget_reads(c);
    broken[c] = 0;
#ifndef BROKEN_OLD_FENCE
    fence[c] = 0;
#endif
    if
#ifdef SAME_KEY
    :: attempts[c] + 1 < ENTRIES -> attempts[c]++; state[c] = START
#else
    :: current[c] + 1 < ENTRIES -> current[c]++; state[c] = START
#endif
    :: else -> state[c] = DONE
    fi
}

inline leave(c) {
    leaves[c] = OWN(c);
    struck[c] = broken[c] || state[c] != HOLDS;
    next_attempt(c)
}

inline forget_leave(c) {
    leaves[c] = 0; leave_is[c] = 0; repeats[c] = 0; found[c] = 0;
    gave_up[c] = 0; struck[c] = 0
}

/* The answer to the delete says whether the entry was there. If it was not, an
 * earlier copy has deleted it, unless the session may have ended. */
inline understand_left(c) {
    if
    :: found[c]
    :: !found[c] && !repeats[c] -> assert(!gave_up[c])          /* lost */
#ifdef BROKEN_LOST_AFTER_A_COPY
    :: !found[c] && repeats[c] -> assert(!gave_up[c])
#elif defined(BROKEN_RELEASED_WHEN_UNSURE)
    :: !found[c] && repeats[c] -> assert(gave_up[c] || struck[c])
#else
    :: !found[c] && repeats[c] && BELIEVES(c) -> REACH(17);     /* released */
        assert(gave_up[c] || struck[c])
    :: !found[c] && repeats[c] && !BELIEVES(c) -> REACH(18)     /* not known */
#endif
    fi;
    forget_leave(c)
}

inline hold(c) {
    state[c] = HOLDS;
    forget_reads(c);
    assert(fence[c] > last || broken[c]);
    last = (fence[c] > last -> fence[c] : last);
    one_holder()
}

inline ask(c, what) {
    state[c] = what; read_is[c] = SENT; answer[c] = 0
}

inline understand(c) {
    read_is[c] = 0;
    if
    :: answer[c] == FIRST && BELIEVES(c) -> REACH(2); hold(c)
    /* Too late: its session may have ended by now. */
    :: answer[c] == FIRST && !BELIEVES(c) -> REACH(3); leave(c)
    :: answer[c] == BEHIND -> ask(c, WATCHES)
    :: answer[c] == NEWER -> REACH(4);
#ifdef BROKEN_NO_SECOND_READ
        state[c] = WAITS; answer[c] = 0
#else
        ask(c, LISTS)
#endif
    :: answer[c] == WATCHED -> state[c] = WAITS; answer[c] = 0
    :: answer[c] == MISSING -> REACH(5);
#if defined(BROKEN_MISSING_IS_FIRST)
        hold(c)
#elif defined(BROKEN_MISSING_WAITS)
        state[c] = WAITS; answer[c] = 0
#elif defined(COPIES) && !defined(BROKEN_LOST_NOT_VOID)
        leave(c)
#else
        next_attempt(c)
#endif
    fi
}

inline understand_event(c) {
    event[c] = 0;
#ifdef BROKEN_EVENT_GRANTS
    hold(c)
#else
    ask(c, LISTS)
#endif
}

/* The store has said that the session is over. Its entries are gone, and what it
 * had under way fails. */
inline renew_session(c) {
    session[c] = 1;
    late[c] = 0; creates[c] = 0; create_is[c] = 0;
#ifdef SAME_KEY
    doubt[c] = 1;               /* the key has the session in it */
#endif
    forget_leave(c);
    if
#ifdef BROKEN_NEXT_SESSION
    :: state[c] == HOLDS
#else
    :: state[c] == HOLDS -> REACH(6); next_attempt(c)
#endif
    :: state[c] == CREATES || state[c] == LISTS -> REACH(7);
        next_attempt(c)
    :: state[c] == WATCHES || state[c] == WAITS -> REACH(8);
        next_attempt(c)
    :: state[c] == START || state[c] == DONE
    fi
}

/* A new link: nothing that the old one carried is executed any more. What has no
 * answer is sent again, and the watch is begun anew. */
inline connect(c) {
    link[c] = 1;
#if !defined(COPIES) && !defined(BROKEN_OPEN_LINK)
    late[c] = 0;
#endif
    if
    :: state[c] == CREATES -> REACH(9);
        creates[c] = OWN(c); create_is[c] = SENT
    :: state[c] == LISTS -> REACH(10); ask(c, LISTS)
    :: state[c] == WATCHES || state[c] == WAITS -> REACH(11);
        ask(c, WATCHES)
    :: else
    fi
}

#ifdef BROKEN_CANCEL_AT_ONCE
#define MAY_DELETE(c) link[c]
#else
#define MAY_DELETE(c) (link[c] && creates[c] != leaves[c])
#endif

#ifdef CLOCKS
#ifdef BROKEN_NO_MARGIN
#define MARGIN 0
#else
#define MARGIN 1
#endif
#ifdef BROKEN_FROM_RECEIPT
#define PERIOD (TTL - MARGIN)
#else
#define PERIOD (TTL - MARGIN - age[c])
#endif

/* The client's clock may be slow by one tick in this time. */
inline believe(c, drift) {
    if
    :: PERIOD + drift > belief[c] -> belief[c] = PERIOD + drift
    :: else
    fi;
    renewal_is[c] = 0; age[c] = 0;
    one_holder()
}
#endif

proctype client(byte c) {
end:
    do
    :: d_step { (state[c] == START && link[c] && creates[c] == 0
            && BELIEVES(c) && MAY_START(c)) ->
        choose_key(c);
        state[c] = CREATES; creates[c] = OWN(c); create_is[c] = SENT }
    :: d_step { create_is[c] == EXECUTED && link[c] ->
        if
        :: state[c] == CREATES && creates[c] == OWN(c) -> ask(c, LISTS)
        :: else -> REACH(12)            /* it was given up */
        fi;
        creates[c] = 0; create_is[c] = 0 }
    :: d_step { (read_is[c] == EXECUTED && link[c]
            && (leaves[c] == 0 || (answer[c] != MISSING
                && (answer[c] != FIRST || BELIEVES(c))))) ->
        understand(c) }
    :: d_step { state[c] == WAITS && event[c] -> understand_event(c) }
    :: d_step { state[c] == HOLDS && leaves[c] == 0 -> leave(c) }
    :: d_step { (quits > 0 && leaves[c] == 0 && (state[c] == CREATES
            || state[c] == LISTS || state[c] == WATCHES
            || state[c] == WAITS)) ->
        REACH(13); quits--; leave(c) }
    :: d_step { leaves[c] != 0 && leave_is[c] == 0 && MAY_DELETE(c) ->
        leave_is[c] = SENT }
    :: d_step { leave_is[c] == EXECUTED && link[c] -> understand_left(c) }
    :: d_step { !link[c] -> connect(c) }
#ifdef CLOCKS
    :: d_step { renewal_is[c] == 0 && link[c] && belief[c] < TTL ->
        renewal_is[c] = SENT }
    :: d_step { renewal_is[c] == EXECUTED && link[c] -> believe(c, 0) }
    :: d_step { renewal_is[c] == EXECUTED && link[c] -> REACH(14);
        believe(c, 1) }
    :: d_step { renewal_is[c] == REFUSED && link[c] ->
        renewal_is[c] = 0; age[c] = 0; left[c] = TTL; renew_session(c) }
#else
    :: d_step { !belief[c] && link[c] ->
        if
        :: session[c] -> REACH(14)
        :: else -> renew_session(c)
        fi;
        belief[c] = 1; one_holder() }
#endif
    od
}

/* ---- the world ----------------------------------------------------------- */

inline break_link(c) {
    faults--;
    link[c] = 0;
    if
    :: create_is[c] == SENT -> REACH(15); late[c] = creates[c]
    :: else
    fi;
#ifdef SAME_KEY
    doubt[c] = doubt[c] || create_is[c] != 0 || leave_is[c] != 0;
    if
    :: leave_is[c] == SENT -> late_leave[c] = leaves[c]
    :: else
    fi;
#endif
    creates[c] = 0; create_is[c] = 0;
    repeats[c] = repeats[c] || leave_is[c] != 0;
    leave_is[c] = 0; found[c] = 0;
    read_is[c] = 0; answer[c] = 0;
    watching[c] = 0; event[c] = 0;
    if
    :: state[c] == LISTS -> predecessor[c] = 0
    :: else
    fi
#ifdef CLOCKS
    ;
    renewal_is[c] = 0; age[c] = 0
#endif
}

inline delete_entry(k) {
    faults--;
    if
    :: entries[k] == OWN(OWNER(entries[k])) -> REACH(16);
        broken[OWNER(entries[k])] = 1
    :: else
    fi;
    if
    :: entries[k] == leaves[OWNER(entries[k])] ->
        struck[OWNER(entries[k])] = 1
    :: else
    fi;
    at = k;
    remove()
}

#ifdef CLOCKS
inline tick() {
    who = 0;
    do
    :: who < CLIENTS ->
        left[who] = (left[who] > 0 -> left[who] - 1 : 0);
        belief[who] = (belief[who] > 0 -> belief[who] - 1 : 0);
        if
        :: renewal_is[who] != 0 && age[who] < TTL -> age[who]++
        :: else
        fi;
        who++
    :: else -> break
    od;
    skip
}
#endif

#define LINK_OF(c) \
    :: d_step { faults > 0 && link[c] && (creates[c] != 0 || leaves[c] != 0 \
            || read_is[c] != 0 || state[c] == WAITS || HAS_RENEWAL(c)) -> \
        break_link(c) }
#ifdef CLOCKS
#define HAS_RENEWAL(c) (renewal_is[c] != 0)
#else
#define HAS_RENEWAL(c) 0
#endif
/* A client that is frozen, or cut off, until its deadline has passed. */
#define SILENCE_OF(c) \
    :: d_step { faults > 0 && belief[c] && state[c] != DONE -> \
        faults--; belief[c] = 0 }

proctype world() {
end:
    do
    LINK_OF(0)
    LINK_OF(1)
#if CLIENTS > 2
    LINK_OF(2)
#endif
#ifdef CLOCKS
    :: d_step { 1 -> tick() }
#else
    SILENCE_OF(0)
    SILENCE_OF(1)
#if CLIENTS > 2
    SILENCE_OF(2)
#endif
#endif
#ifndef NO_OPERATOR
    :: d_step { faults > 0 && count > 0 -> delete_entry(0) }
    :: d_step { faults > 0 && count > 1 -> delete_entry(1) }
    :: d_step { faults > 0 && count > 2 -> delete_entry(2) }
#endif
    /* Nothing more happens. */
    :: d_step { faults > 0 || quits > 0 -> faults = 0; quits = 0 }
    od
}

/* At rest everybody is done, and no entry is left. */
proctype judge() {
    timeout ->
    assert(state[0] == DONE && state[1] == DONE);
#if CLIENTS > 2
    assert(state[2] == DONE);
#endif
    assert(count == 0)
}

init {
    byte c = 0;

    atomic {
        do
        :: c < CLIENTS -> run store(c); run client(c); c++
        :: else -> break
        od;
        c = 0;
        run world();
        run judge()
    }
}
