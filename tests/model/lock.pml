/* SPDX-License-Identifier: MIT */
/*
 * lock.pml -- the lock's waiting protocol, for Spin: who may hold, who waits,
 * and that neither a grant nor a waiter is ever forgotten.
 *
 *      START --acquire--> WAIT --grant, refresh--> HOLD --release--> DONE
 *        ^                  |                        |
 *        +---cancel (stale)-+------cancel------------|--------------> DONE
 *
 * A server script is one atomic step. A client sends one command at a time
 * and reads the answer in a later step, so everything can happen between the
 * two. README.md tells what is modelled and what is left out.
 *
 * Time is a handful of events. "promise" marks a lease that its reader would
 * still find inside the local deadline: in the holder's hands (sure), in an
 * answer under way (fresh), in the inbox (FRESH). The local deadline ends
 * before the server's lease, so the server may expire a lock only when no
 * promise for it is left; and a promise may lapse at any moment.
 */

#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef FAULTS
#define FAULTS 1            /* of any kind, at any moment, in one run */
#endif
#ifndef QUITS
#define QUITS 1             /* waiters that give up */
#endif
#ifndef EXTENDS
#define EXTENDS 1
#endif
#ifndef LIMIT
#define LIMIT 2             /* entries that one grant walks */
#endif

#define TRIES  (FAULTS + 1)         /* tokens of a client, one per attempt */
#define TOKENS (CLIENTS * TRIES)
#define NONE    TOKENS
#define FOREIGN (TOKENS + 1)        /* a locker that knows no waiting list */
#define OWNER(t) ((t) / TRIES)

mtype = { ACQUIRE, REFRESH, CANCEL, RELEASE, EXTEND, CLAIM };   /* scripts */
mtype = { HELD, QUEUED, GONE, RELEASED, MORE, LOST };           /* answers */
mtype = { START, CALL, ANSWER, WAIT, HOLD, DONE };              /* clients */
mtype = { EMPTY, FRESH, STALE };                                /* inboxes */

/* The server. */
byte lock = NONE;
byte queue[TOKENS] = NONE;
byte waiting = 0;
bit live[CLIENTS];              /* the liveness deadline has not passed */
bit inbox[CLIENTS] = 1;         /* somebody is subscribed, dead or alive */

/* What is under way. */
mtype msg[TOKENS] = EMPTY;      /* a grant in the inbox */
mtype late_op = 0;              /* a lost command that may yet be executed */
byte late_token = NONE;

/* The clients, as far as faults and properties look at them. */
bit crashed[CLIENTS];
bit done[CLIENTS];
bit sure[CLIENTS];              /* was granted, the local deadline is ahead */
bit inside[CLIENTS];            /* believes that it holds */
bit fresh[CLIENTS];             /* the answer under way grants in time */
byte mine[CLIENTS] = NONE;      /* the token of the present attempt */
byte faults = FAULTS;
byte quits = QUITS;
byte extends = EXTENDS;

/* For the properties alone. */
bit excused[TOKENS];            /* a fault touched this token's grant */
#ifndef LIVENESS
byte fence = 0;                 /* of the record */
byte msg_fence[TOKENS];
byte answer_fence[CLIENTS];
byte last_fence = 0;            /* of the latest holder */
#define FENCE(statement) statement
#else
#define FENCE(statement) skip
#endif

/* Scratch of one step. */
hidden byte i, j, at, entry, walked;
hidden mtype answer;

#define BRANCHES 17
#include "reached.pml"
#include "server.pml"
#include "faults.pml"
#include "client.pml"

init {
    atomic {
        i = 0;
        do
        :: i < CLIENTS -> run client(i); i++
        :: else -> break
        od;
        run world()
    }
}

#ifdef LIVENESS
/* Every client that lives gets its turn, and no lock stays taken. */
#if CLIENTS == 2
#define ALL_DONE (done[0] && done[1])
#else
#define ALL_DONE (done[0] && done[1] && done[2])
#endif
ltl settles { <> [] (ALL_DONE && lock == NONE) }
#endif
