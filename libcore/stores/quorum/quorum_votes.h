/* SPDX-License-Identifier: MIT */
/*
 * quorum_votes.h -- decides about a hold over several nodes: replies in, the next
 * commands and a decision out. It does no I/O and reads no clock.
 *
 *        +---- a majority reserved, with one fence ------------------------+
 *        |                                                                 v
 *     COLLECTS --a majority granted--> CONFIRMS --a majority confirmed--> HOLDS
 *        |                                |                                |
 *        +--> BUSY, NOQUORUM              +--> AGAIN                       +--> LOST
 *
 * A node grants its vote (quorum_acquire, or a message while the attempt waits in
 * the node's queue), and the vote counts when the node has confirmed it
 * (quorum_confirm), or when the first command reserved it and the attempt has never
 * yielded. While the votes are too few, the attempt yields them from time to time to
 * earlier attempts (quorum_yield). A holder confirms again to extend its lease, and
 * acquires lost votes again.
 *
 * The rules are those of tests/model/README.md, "A quorum". The caller sends what
 * ilk__votes_next() returns, reports each reply or its absence, and ends an attempt
 * whose decision is final by a cancel to all nodes, also to those that are silent.
 */
#ifndef ILK__QUORUM_VOTES_H
#define ILK__QUORUM_VOTES_H

#include <stddef.h>
#include <stdint.h>

enum {
    ILK__QUORUM_LEAST = 3,
    ILK__QUORUM_MOST = 9,
    /* Votes that are too few are yielded after this time, and again after pauses
     * that double. */
    ILK__YIELD_FIRST_MS = 20,
    ILK__YIELD_MOST_MS = 1000
};

typedef enum ilk__vote_state {
    ILK__VOTE_UNASKED,
    ILK__VOTE_WAITS, /* the attempt is in the node's queue */
    ILK__VOTE_BUSY,  /* the vote is another's, and the attempt does not wait */
    ILK__VOTE_REFUSED, /* the node may not vote yet */
    ILK__VOTE_GRANTED,
    ILK__VOTE_CONFIRMED
} ilk__vote_state;

typedef enum ilk__votes_phase {
    ILK__VOTES_COLLECTS,
    ILK__VOTES_CONFIRMS,
    ILK__VOTES_HOLDS
} ilk__votes_phase;

typedef enum ilk__decision {
    ILK__DECISION_NONE, /* it depends on what comes */
    ILK__DECISION_HELD,
    ILK__DECISION_BUSY,  /* a majority of free votes is impossible */
    ILK__DECISION_AGAIN, /* give all back; try under a fresh token, same stamp */
    ILK__DECISION_LOST,  /* too many nodes have denied the vote */
    ILK__DECISION_OVER,  /* the end of the hold has passed without a majority */
    ILK__DECISION_NOQUORUM /* fewer nodes than a majority reply and may vote */
} ilk__decision;

/* The mark that quorum_acquire sets on its vote; see include/given.lua. */
typedef enum ilk__vote_mark {
    ILK__MARK_OPEN,
    ILK__MARK_CONFIRMED, /* a holder takes a lost node again, and does not queue */
    ILK__MARK_RESERVED
} ilk__vote_mark;

typedef struct ilk__vote {
    ilk__vote_state state;
    int sent;       /* the script without a reply, or ILK__SCRIPT_NONE */
    int away;       /* silent since the last command */
    int takes_part; /* its grant was there when the attempt began to confirm */
    int due;        /* to be extended in this round, or yielded */
    int answered;   /* this round: it has answered */
    int stale;      /* `sent` was sent before this round */
    ilk__vote_mark mark; /* that `sent`, an acquire, sets */
    int is_asked;        /* a command has been sent to the node */
    int is_reserved;     /* the grant, for this attempt */
    int lost;            /* in this round: the vote was not ours any more */
    int retaken;         /* it was lost, and taken again */
    int64_t sent_at;     /* just before the command */
    int64_t until;       /* the local end of the vote's lease */
    int64_t given;       /* the fence that came with the grant */
} ilk__vote;

typedef struct ilk__votes {
    size_t count;
    ilk__vote nodes[ILK__QUORUM_MOST];
    ilk__votes_phase phase;
    int waits;    /* in the queues; else it tries once */
    int reserves; /* a majority of reserved votes may be a hold */
    int has_yielded;
    int64_t fence;    /* of the hold, from CONFIRMS on */
    int64_t greatest; /* stamp in a reply: later ones must exceed it */
    int64_t yield_at; /* 0: nothing to yield */
    int64_t yield_pause_ms;
    int extends;         /* a round of extension has begun */
    int is_extended;     /* and a majority has confirmed */
    int64_t round_until; /* the end of the hold that it extends */
    int keeps_leases;    /* the round confirms, and leaves leases as they are */
    int64_t shortest_ms; /* it may shorten a lease to this, also where it has no
                            reply; 0: it shortens none */
} ilk__votes;

/* A command to one node. `mark`, `given` and `fence` are its arguments. */
typedef struct ilk__vote_command {
    size_t node;
    int script;
    ilk__vote_mark mark;
    int64_t given, fence;
} ilk__vote_command;

typedef struct ilk__vote_reply {
    int code;         /* ILK__CODE_... */
    int64_t lease_ms; /* HELD */
    int64_t fence;    /* HELD by acquire and yield: what was given */
    int64_t stamp;    /* QUEUED by acquire: the greatest in the queue */
} ilk__vote_reply;

/* `reserves`: nothing has to be written with a confirmation. */
void ilk__votes_begin(ilk__votes *votes, size_t count, int waits, int reserves);

/* The next command, which the caller sends at once; 0 when there is none now. */
int ilk__votes_next(ilk__votes *votes, int64_t now, ilk__vote_command *out);

/* The reply to the command that was sent to this node last. */
void ilk__votes_reply(ilk__votes *votes, size_t node,
                      const ilk__vote_reply *reply);
/* There will be no reply: the connection broke, or the wait for it is over. The
 * node may execute the command all the same. */
void ilk__votes_silent(ilk__votes *votes, size_t node);
/* The node is connected again, or may vote now. */
void ilk__votes_reachable(ilk__votes *votes, size_t node);
/* A message from the node's queue: the vote was granted not before `began`. */
void ilk__votes_granted(ilk__votes *votes, size_t node, int64_t given,
                        int64_t lease_ms, int64_t began);
/* The node's queue no longer has the attempt, which asks the node again. */
void ilk__votes_gone(ilk__votes *votes, size_t node);

/* Begin to extend; the decision is HELD when a majority has confirmed anew. A node
 * that is taken again counts until the end of the hold alone: after that another
 * client may have held, and have released. */
void ilk__votes_extend(ilk__votes *votes);

ilk__decision ilk__votes_decide(ilk__votes *votes, int64_t now);

/* The nth greatest, 1 for the greatest; 0 when there are fewer. Sorts them. */
int64_t ilk__nth_greatest(int64_t *numbers, size_t count, size_t nth);

/* Until when a majority is confirmed: the shortest lease of the best majority. */
int64_t ilk__votes_until(const ilk__votes *votes);
/* When the decision or the next command may change by time alone. */
int64_t ilk__votes_wake_at(const ilk__votes *votes, int64_t now);

#endif
