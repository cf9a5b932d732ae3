/* SPDX-License-Identifier: MIT */
/*
 * quorum_members.h -- which nodes of a quorum may vote, and how a node that lost its
 * memory, or was restarted, is taken in: replies of quorum_join in, the next calls of
 * it out. It does no I/O and reads no clock.
 *
 *     UNKNOWN --reply--> MEMBER
 *                 \----> WAITS --the longest lease has passed--> READY --> MEMBER
 *
 * READY is taken in with the greatest fence that was confirmed at a majority among
 * the other nodes, all of them members and all read after the wait was over. If fewer
 * than a majority are members, there are no such others: this is the first start, or
 * a majority was restarted. Then all are taken in when the last of them has run for
 * the longest lease, with the greatest fence that any of them still knows.
 *
 * A server that is emptied runs on. So a client that has seen the node as a member says
 * so, and the node is late: all then wait for the longest lease since they were emptied. And
 * none of the first is taken in before each of the others was read once more, after that
 * one: it may be late since then.
 *
 * The rules are those of tests/model/quorum_fences.pml and quorum_emptied.pml.
 */
#ifndef ILK__QUORUM_MEMBERS_H
#define ILK__QUORUM_MEMBERS_H

#include "quorum_votes.h"

enum { ILK__NONCE_MAX = 64 };

typedef struct ilk__member {
    int connected, known, sent;
    int is_member;
    int is_first;   /* too few were members when this nonce was read */
    int is_late;    /* it was a member, and is emptied */
    int is_checked; /* the others were read since this nonce was */
    uint64_t sent_turn, read_turn,
        known_turn;  /* as sent_at, read_at; the nonce */
    int64_t sent_at; /* of the call without a reply */
    int64_t read_at; /* `most` is at least what was confirmed then */
    int64_t most;    /* the greatest confirmed fence */
    int64_t from;    /* it may be taken in, by local time */
    int64_t early;   /* the same at a first start */
    int64_t first_at, first_floor; /* as one of the first */
    char nonce[ILK__NONCE_MAX + 1];
} ilk__member;

typedef struct ilk__members {
    size_t count;
    uint64_t turn; /* of calls and replies */
    char was_member[ILK__QUORUM_MOST];
    ilk__member nodes[ILK__QUORUM_MOST];
} ilk__members;

/* A call of quorum_join: nonce '' only asks. */
typedef struct ilk__join {
    size_t node;
    int script;
    const char *nonce;
    int64_t floor;
    int first, is_known;
} ilk__join;

typedef struct ilk__join_reply {
    int is_member, is_late;
    int64_t wait_ms, early_ms, most;
    const char *nonce;
} ilk__join_reply;

void ilk__members_begin(ilk__members *members, size_t count);

void ilk__members_connected(ilk__members *members, size_t node);
/* Also when a call has no reply: the connection is given up. */
void ilk__members_lost(ilk__members *members, size_t node);
/* A script was refused: the node has lost its memory under the connection. */
void ilk__members_refused(ilk__members *members, size_t node);

/* The next call, which the caller sends at once; 0 when there is none now. */
int ilk__members_next(ilk__members *members, int64_t now, ilk__join *out);
/* The reply to it. Returns 0, and ignores it, when it makes no sense. */
int ilk__members_reply(ilk__members *members, size_t node,
                       const ilk__join_reply *reply, int64_t now);

int ilk__members_may_vote(const ilk__members *members, size_t node);
/* 1 when it may be a member as soon as replies have come: it does not wait. */
int ilk__members_is_joining(const ilk__members *members, size_t node,
                            int64_t now);
/* When ilk__members_next() may have something by time alone. */
int64_t ilk__members_wake_at(const ilk__members *members, int64_t now);

#endif
