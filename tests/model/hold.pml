/* SPDX-License-Identifier: MIT */
/*
 * hold.pml -- the changes of one hold, for Spin: what its handle may believe
 * of the lease, and what a release may answer.
 *
 *     verbs ------ CALL connection ------+
 *     verbs ------ EVENTS connection ----+--> server: lock, lease, record
 *     renewals --- KEEPER connection ----+
 *
 * A connection is a queue of commands and a queue of answers. The server runs
 * the commands of one connection in their order and those of two connections
 * in any order; between two steps anything else can happen. When a connection
 * breaks, its answers are lost, and its commands move to a queue of late
 * copies. The server may still run these, in their order, at any later time,
 * until a newer connection has closed the broken one.
 *
 * Time is a tick: it shortens the server's lease and the handle's belief by
 * one, and adds one to the age of what is unanswered. It can come at any
 * moment. README.md tells what is modelled and what is left out.
 */

#ifndef FAULTS
#define FAULTS 2            /* of any kind, at any moment, in one run */
#endif
#ifndef SHORT
#define SHORT 1             /* an explicit extend that may cut the lease */
#endif
#ifndef TTL
#define TTL 2               /* the handle's own, of grants and renewals */
#endif
#ifndef LONG
#define LONG 3              /* an explicit extend beyond the ttl */
#endif
#define NO_LIMIT (LONG + 1)

#define CALL 0
#define KEEPER 1
#define EVENTS 2
#ifdef TWO_WAYS
#define CONNECTIONS 3
#else
#define CONNECTIONS 2
#endif
#define DEPTH (FAULTS + 2)  /* unanswered commands of one connection */
#define KEPT 2              /* broken connections with late copies, of each */

mtype = { NOTHING, EXTEND_SHORT, EXTEND_LONG, RENEW, ADOPT, OTHER_ADOPT,
          CHECK, RELEASE, PAST };                               /* commands */
mtype = { EXTENDED, LOST, RELEASED,
          GONE, GONE_BROKEN, GONE_UNKNOWN };                    /* answers */
mtype = { NOBODY, OURS, OTHER };                                /* the lock */
mtype = { UNMARKED, MARK_OURS, MARK_LATER };                    /* a record */
mtype = { ALIVE, GIVEN_UP, EXPIRED, BROKEN, FORGOTTEN };        /* the hold */
mtype = { FREE, HELD, RELEASING };                              /* a handle */

/*
 * The server. Of the record only that is kept which a release compares with
 * the fence of its own hold: `older`, the record was born before our grant;
 * `mark`, the last break was that of our hold, or of a later one.
 */
mtype lock = NOBODY;
byte lease = 0;                 /* the rest of ours */
bit record = 0;                 /* there is one */
bit older = 0;
mtype mark = UNMARKED;

/* The connections. */
chan asked[CONNECTIONS] = [DEPTH] of { mtype };
chan answers[CONNECTIONS] = [DEPTH] of { mtype, byte };
chan late[CONNECTIONS * KEPT] = [DEPTH] of { mtype };   /* oldest first */

/* The holder's handle. */
mtype handle = FREE;
byte belief = 0;                /* the rest of the time in which it is sure */
byte doubt[CONNECTIONS] = NO_LIMIT; /* the shortest unanswered extend */
mtype verb = NOTHING;           /* the verb at work: there is one at a time */
byte via = 0;                   /* its connection */
bit sent = 0;                   /* a copy of it is on that connection */
bit retried = 0;                /* there was another copy before */
byte age = 0;                   /* of the last copy */
bit renewing = 0;               /* a renewal of this hold is unanswered */
byte renewal_age = 0;
byte cap = NO_LIMIT;            /* the shortest extend beside the renewal */
#ifdef KEEP_DOUBT
byte kept = NO_LIMIT;           /* doubts that broken connections left */
#endif
#ifdef OLD_RELEASE
bit was_sure = 0;               /* when the first copy was sent */
#endif

/* The handle of the process that adopts the token. */
#ifdef ADOPTER
bit handed_over = 0;            /* the donor has detached */
bit adopter_holds = 0;
byte adopter_belief = 0;
mtype adopter_verb = NOTHING;
byte adopter_age = 0;
mtype adopter_late = NOTHING;   /* the copy of an adoption that it gave up */
#endif

byte faults = FAULTS;

/* For the properties alone: what has become of the hold. */
mtype fate = GIVEN_UP;

/* Scratch of one step. */
hidden mtype command, answer;
hidden byte reported, i;

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define LESS(a, b) ((a) > (b) -> (a) - (b) : 0)

/* An operator's break and a loss of memory end the promise of exclusion. */
#define EXCUSED (fate == BROKEN || fate == FORGOTTEN)
#define TRUE_FOR(time) \
    (time == 0 || EXCUSED || (lock == OURS && lease >= time))

/* Whoever is sure holds the lock, for at least as long as it is sure. */
inline check_belief() {
    assert(handle != HELD || TRUE_FOR(belief));
#ifdef ADOPTER
    assert(TRUE_FOR(adopter_belief));
#endif
#ifdef STEADY
    assert(handle == HELD && belief > 0);
#endif
}

#define BRANCHES 16
#include "reached.pml"
#include "hold_server.pml"
#include "hold_client.pml"
#include "hold_adopter.pml"
#include "hold_faults.pml"

init {
    atomic {
        run server();
        run holder();
        run keeper();
#ifdef ADOPTER
        run adopter();
#endif
        run world()
    }
}
