/* SPDX-License-Identifier: MIT */
/*
 * gateway.pml -- a lock in a store that is no Redis server. A gateway is a thread
 * in the client's process: it answers the library's scripts over socketpairs and
 * does the work at the store, which executes and answers at any later time.
 *
 *     client --sent--> gateway --begun--> store: contenders, the first one holds
 *        ^                |  ^                |
 *        +----replies-----+  +----executed----+
 *
 * A request is in `sent` until the gateway reads it, then in `requests`, in the
 * order of arrival from all connections. The client has two connections, the
 * callers' lane and the keeper's. One that broke is replaced, and the new one
 * carries KILL first; until then the gateway may still read the old one.
 *
 * Another client, the peer, uses the store directly. Gateways meet in the store
 * alone, so it is enough to model one of them in full.
 */
#ifndef FAULTS
#define FAULTS 1                /* of any kind, at any moment, in one run */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2              /* of the client, under tokens 1 and 2 */
#endif
#ifndef EXTENDS
#define EXTENDS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1                /* in which the peer takes the lock */
#endif
#define PEER       3            /* the peer's contender */
#define SECOND     4            /* a token's second contender, in a control */
#define CONTENDERS 5
#define REQUESTS   7            /* that the gateway has at a time, at most */
#define UNANSWERED 3            /* on one connection, at most */

/* Each kind of connection has two numbers: that in use, and that of the one which
 * it replaced or which will replace it. */
#define LANE   0
#define KEEPER 1
#define NOBODY 4                /* nobody reads the reply */
#define CURRENT(kind) ((kind) + 2 * odd[kind])
#define OTHER(c)      (((c) + 2) % 4)
#define KIND(c)       ((c) % 2)
#define IN_USE(c)     ((c) != NOBODY && (c) == CURRENT(KIND(c)))

mtype = { ACQUIRE, EXTEND, RELEASE, CANCEL, KILL };     /* requests */
mtype = { HELD, QUEUED, RELEASED, GONE, LOST, REFUSED, ERROR, KILLED };
mtype = { ARRIVED, BEGUN, EXECUTED, ENDED };            /* their work */
mtype = { START, ACQUIRING, WAIT, RETRY, HOLD, LEAVE, LEAVING, DONE };
mtype = { OPEN, BROKEN, KILLING };                      /* connections */

/* The store, in the order in which the contenders came. */
byte contenders[CONTENDERS];
byte contending = 0;

/* The gateway. */
typedef request {
    mtype op, work, reply;
    byte token, connection
};
request requests[REQUESTS];
byte unfinished = 0;            /* how many there are */
bit given_up[3];                /* a release or cancel of the token has arrived */
bit link = 1;                   /* the gateway is in contact with the store */
#if defined(BROKEN_KILL_FORGETS_BEGUN) || defined(BROKEN_OPEN_LINK)
mtype late_op = 0;              /* a first copy that the store may yet execute */
byte late_token = 0;
#endif

/* The connections: what is not yet read, and what the client waits for. */
chan sent[4] = [UNANSWERED] of { mtype, byte };
chan expected[2] = [UNANSWERED] of { mtype, byte };
mtype phase[2] = OPEN;
bit odd[2];

/* The client. */
mtype state = START;
byte token = 1;                 /* of the present attempt */
bit sure = 0;                   /* believes that it holds */
bit withdraws[3];               /* the keeper has to send CANCEL */
byte extends = EXTENDS;

/* The peer. */
bit inside = 0;                 /* believes that it holds */
byte rounds = ROUNDS;

byte faults = FAULTS;

/* Scratch of one step. */
hidden byte at, from, its_token, its_connection;
hidden mtype answer, its_op;

#define BRANCHES 19
#include "reached.pml"
#include "gateway_store.pml"
#include "gateway_client.pml"
#include "gateway_requests.pml"
#include "gateway_faults.pml"

/* At rest each request has its reply, and the lock is free. */
proctype judge() {
    timeout ->
    assert(len(expected[LANE]) + len(expected[KEEPER]) == 0);
    assert(state == DONE);
#ifndef NO_CONTACT
    assert(unfinished == 0);
    assert(contending == 0)
#endif
}

init {
    atomic {
        run client();
        run gateway();
        run peer();
        run world();
        run judge()
    }
}
