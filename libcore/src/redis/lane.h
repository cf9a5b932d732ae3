/* SPDX-License-Identifier: MIT */
/*
 * lane.h -- one connection that any number of threads share by combining.
 *
 *     caller --append--> pending --write--> wire --read--> replies
 *
 * A caller appends its command and, unless ILK__LANE_BATCHES writes are
 * unanswered, writes what is pending. The first caller without a leader
 * becomes the leader: it reads replies for everybody until its own has come,
 * then hands leadership on. One caller alone pays no thread hop; many
 * callers become a pipeline by themselves.
 *
 * Replies come in the order of the commands, so a caller that gives up
 * leaves an abandoned slot. A connection that fails fails every call on
 * it; the next call opens another.
 */
#ifndef ILK__LANE_H
#define ILK__LANE_H

#include "command.h"
#include "conn.h"
#include "ensured.h"

enum { ILK__LANE_BATCHES = 64 };

typedef struct ilk__lane ilk__lane;

typedef struct ilk__lane_counts {
    int64_t commands, writes, bytes_out, bytes_in, connects, connected;
} ilk__lane_counts;

/* What a call needs and leaves. */
typedef struct ilk__lane_call {
    const ilk__command *command;
    int64_t deadline;  /* the caller's: past it the slot is abandoned */
    int64_t patience;  /* the server's: past it the connection is closed */
    ilk__reply *reply; /* out: to be freed, when ILK_OK */
    int may_have_run;  /* out: when not ILK_OK */
} ilk__lane_call;

/* The target is borrowed for the lane's life. NULL: no memory. */
ilk__lane *ilk__lane_new(const ilk__target *target);

/*
 * Send and await the reply. ILK_OK; ILK_ECONN (not to be had, or broken);
 * ILK_ETIMEOUT (deadline or patience passed); ILK_EAUTH and others from the
 * login; ILK_EREPLY (the connection was closed for talking nonsense);
 * ILK_ECLOSED; ILK_ENOMEM. Signals do not end it.
 */
ilk_status ilk__lane_call_run(ilk__lane *lane, ilk__lane_call *call,
                              ilk_error *err);

/*
 * Send behind everything else on the connection, in order; whoever reads
 * next drops the reply. Never waits. ILK_ECONN when the lane is down. The
 * ensured command, or NULL, is the lane's from then on; it may have ended on
 * return.
 */
ilk_status ilk__lane_tell(ilk__lane *lane, const ilk__command *command,
                          ilk__ensured *ensured);

/* Connect now if down; bounded by deadline. */
ilk_status ilk__lane_connect(ilk__lane *lane, int64_t deadline, ilk_error *err);

/*
 * 1 when the server executes all commands in the order of their calls; 0 since
 * a connection broke that could not be closed on the server.
 */
int ilk__lane_in_order(const ilk__lane *lane);

void ilk__lane_counts_get(ilk__lane *lane, ilk__lane_counts *out);

/* End all calls with ILK_ECLOSED, for ever. Calls may still be inside. */
void ilk__lane_shut(ilk__lane *lane);

/* Nobody may be inside. */
void ilk__lane_free(ilk__lane *lane);

/* In a forked child: close the descriptor and forget the rest. */
void ilk__lane_abandon(ilk__lane *lane);

#endif
