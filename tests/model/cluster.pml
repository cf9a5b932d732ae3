/* SPDX-License-Identifier: MIT */
/*
 * cluster.pml -- one lock in a cluster of two nodes, whose slot moves from one to
 * the other and back, or whose primary fails over. A client behind the gateway waits
 * for the lock; another client releases it; a peer takes it when it is free. Each
 * execution of a script is one atomic step.
 *
 * The gateway sends a request to the node of its map and follows MOVED and ASK. A
 * link that breaks leaves its request in the node's buffer, where it may be executed
 * at any later time: until the next link to that node has closed it.
 */
#ifndef FAULTS
#define FAULTS 2                /* links that break */
#endif
#ifndef MOVES
#define MOVES 2                 /* of the slot */
#endif
#define REDIRECTIONS 6          /* of one request while nothing else happens */

#define FIRST 1                 /* tokens: of the client that holds at first, */
#define OURS  2                 /* of the client behind the gateway, */
#define PEER  3                 /* of the peer */

mtype = { ACQUIRE, RELEASE, CANCEL };
mtype = { START, ASKED, WAIT, HOLD, ENDING, DONE };

/* The cluster. */
byte owner = 0;                 /* the node that the nodes agree on */
bit moving = 0;                 /* the slot moves from owner to the other */
byte keys = 0;                  /* the node that has the lock's keys */
bit dead[2];
byte holder = FIRST, entry = 0; /* tokens */
bit subscribed[2];              /* our channel, at each node */
mtype late[2];           /* left in the buffer of a link that broke */

/* The gateway: one request at a time, its link, and what it knows. */
mtype request;               /* of the client, without a reply */
bit sent = 0, asking = 0;
byte to = 0, map = 0, redirections = 0;
bit doubt[2];                   /* late[n] may hold a copy of ours */

/* The client. */
mtype state = START;
bit sure = 0, message = 0, refresh = 0;

/* The peer. */
bit inside = 0;
byte rounds = 1;

byte faults = FAULTS, moves = MOVES;
bit fails_over = 1;

#define OTHER(n) (1 - (n))
#define IMPORTS(n) (moving && (n) == OTHER(owner))

/* A release or cancel grants to the entry. The message reaches all subscribers of
 * both nodes, but the script's node counts its own. */
inline grant(n) {
    if
    :: entry != 0 ->
        holder = entry; entry = 0;
        if
        :: (subscribed[0] && !dead[0]) || (subscribed[1] && !dead[1]) ->
            message = 1
        :: else
        fi
#ifdef BROKEN_COUNTS
        ;
        if
        :: !subscribed[n] -> entry = holder; holder = 0
        :: else
        fi
#endif
    :: else -> holder = 0
    fi
}

/* A script for OURS at node n, which has the keys. */
inline execute(n, what) {
    if
    :: what == ACQUIRE && holder == 0 && entry == 0 -> holder = OURS
    :: what == ACQUIRE && holder == 0 && entry == OURS ->
        holder = OURS; entry = 0
    :: what == ACQUIRE && holder != 0 && holder != OURS -> entry = OURS
    :: what == ACQUIRE && holder == OURS
    :: what != ACQUIRE ->
        if
        :: entry == OURS -> entry = 0
        :: else
        fi;
        if
        :: holder == OURS -> grant(n)
        :: else
        fi
    fi
}

/* Whether node n executes what comes over a connection, asking or not. */
#define SERVES(n, asks) (!dead[n] && keys == (n) \
    && (owner == (n) || (IMPORTS(n) && (asks))))

inline reply() {
    if
    :: request == ACQUIRE && holder == OURS -> sure = 1; state = HOLD;
        assert(!inside)
    :: request == ACQUIRE && holder != OURS -> state = WAIT
    :: request != ACQUIRE -> state = DONE
    fi;
    request = 0; sent = 0; asking = 0; redirections = 0
}

inline break_link() {
    faults--;
    late[to] = request;
    doubt[to] = 1;
    sent = 0; asking = 0; redirections = 0
}

/* The next link to the node has closed the one before. */
inline reconnect(n) {
#ifndef BROKEN_NO_KILL
    late[n] = 0;
#endif
    doubt[n] = 0
}

/* A node that has lost its role to the other never executes what it has. */
#define VOID(n) (!doubt[n] || dead[n])

#ifdef BROKEN_LATE_SUBSCRIPTION
#define MAY_SEND(n) (!dead[n])
#else
#define MAY_SEND(n) (!dead[n] && subscribed[n])
#endif
#ifdef BROKEN_NO_DOUBT
#define IS_SURE(n) (!doubt[n])
#else
#define IS_SURE(n) (!doubt[n] && VOID(OTHER(n)))
#endif

proctype gateway() {
end:
    do
    :: d_step { request != 0 && !sent && MAY_SEND(map) && IS_SURE(map) ->
        to = map; sent = 1; asking = 0 }
    :: d_step { request != 0 && !sent && dead[map] -> map = OTHER(map) }
    :: d_step { doubt[0] && !dead[0] -> reconnect(0) }
    :: d_step { doubt[1] && !dead[1] -> reconnect(1) }
    /* The node's reply: executed, ASK, MOVED; TRYAGAIN waits. */
    :: d_step { sent && SERVES(to, asking) -> execute(to, request); reply() }
    :: d_step { (sent && !dead[to] && owner == to && moving && keys != to
            && MAY_SEND(OTHER(to))) ->
        to = OTHER(to);
#ifndef BROKEN_ASKING_ALONE
        asking = 1;
#endif
        redirections++; assert(redirections < REDIRECTIONS) }
    :: d_step { sent && !dead[to] && owner != to && !(IMPORTS(to) && asking) ->
        map = owner; sent = 0; asking = 0;
        redirections++; assert(redirections < REDIRECTIONS) }
    :: d_step { sent && dead[to] -> sent = 0; asking = 0; map = OTHER(to) }
    od
}

proctype client() {
end:
    do
    :: d_step { !subscribed[0] && !dead[0] -> subscribed[0] = 1 }
    :: d_step { !subscribed[1] && !dead[1] -> subscribed[1] = 1 }
    :: d_step { state == START -> state = ASKED; request = ACQUIRE }
    :: d_step { state == WAIT && message -> message = 0;
        state = HOLD; sure = 1; assert(!inside) }
    /* A subscriber connection was lost: the wait is looked up. */
    :: d_step { state == WAIT && refresh && request == 0 && subscribed[1] ->
        refresh = 0; state = ASKED; request = ACQUIRE }
    :: d_step { state == WAIT && request == 0 && holder == FIRST ->
        state = ENDING; request = CANCEL }
    :: d_step { state == HOLD && request == 0 -> sure = 0;
        state = ENDING; request = RELEASE }
    od
}

/* A waiter without a receiver is passed over. */
#ifdef BROKEN_COUNTS
#define HAS_TURN 1
#else
#define HAS_TURN (entry == 0)
#endif

proctype others() {
end:
    do
    :: d_step { holder == FIRST && !dead[keys] -> grant(keys) }
    :: d_step { rounds > 0 && holder == 0 && HAS_TURN && !dead[keys] ->
        rounds--; holder = PEER; inside = 1; assert(!sure) }
    :: d_step { holder == PEER && inside -> inside = 0; grant(keys) }
    od
}

proctype world() {
end:
    do
    :: d_step { moves > 0 && !moving && !dead[0] -> moves--; moving = 1;
        redirections = 0 }
    :: d_step { moving && keys == owner -> keys = OTHER(owner);
        redirections = 0 }
    :: d_step { moving && keys != owner -> moving = 0; owner = keys;
        redirections = 0 }
    :: d_step { faults > 0 && sent && !dead[to] && late[to] == 0 ->
        break_link() }
    :: d_step { late[0] != 0 && SERVES(0, 0) ->
        execute(0, late[0]); late[0] = 0 }
    :: d_step { late[1] != 0 && SERVES(1, 0) ->
        execute(1, late[1]); late[1] = 0 }
    /* The other node takes over with all keys. */
    :: d_step { fails_over && !dead[0] && !moving && owner == 0 && !dead[1] ->
        fails_over = 0; dead[0] = 1; late[0] = 0; subscribed[0] = 0;
        owner = 1; keys = 1; refresh = 1; redirections = 0 }
    /* None of it may happen. */
    :: d_step { fails_over -> fails_over = 0 }
    :: d_step { moves > 0 && !moving -> moves = 0 }
    od
}

/* At rest the client has been served and nothing of it is left. */
proctype judge() {
    timeout ->
    assert(state == DONE);
    assert(holder == 0 && entry == 0)
}

init {
    atomic {
        run gateway();
        run client();
        run others();
        run world();
        run judge()
    }
}
