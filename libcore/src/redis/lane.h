/* SPDX-License-Identifier: MIT */
/*
 * lane.h -- one connection that any number of threads share by combining.
 *
 *     caller --append--> pending --write--> wire --read--> replies
 *
 * A caller appends its command to `pending`. It then writes all pending
 * commands as one batch, unless another thread is writing (that thread goes on
 * with them) or ILK__LANE_BATCHES batches have no reply. A caller that finds
 * no leader becomes the leader: it reads replies for all callers until its own
 * has come, and then passes leadership on. A single caller thus needs no thread
 * switch, and many callers form a pipeline.
 *
 * Replies come in the order of the commands, and each must match the command
 * whose turn it is (expected_reply.h): the first one that does not match ends
 * the connection. A caller that gives up leaves an abandoned slot, which then
 * matches its late reply.
 * When the connection fails, all calls on it fail, and the next call opens a
 * new one.
 */
#ifndef ILK__LANE_H
#define ILK__LANE_H

#include "base/park.h"
#include "command.h"
#include "conn.h"
#include "ensured.h"
#include "traffic.h"

#include <stdatomic.h>

enum { ILK__LANE_BATCHES = 64 };

typedef struct ilk__lane ilk__lane;

/* How a caller sleeps while the lane is down. */
typedef struct ilk__lane_sleep ilk__lane_sleep;
struct ilk__lane_sleep {
    /* As ilk__park(), but ILK_EINTR only if the call is to end. */
    ilk_status (*park)(ilk__lane_sleep *self, ilk__parker *parker,
                       int64_t until);
};

/* The arguments and results of one call. */
typedef struct ilk__lane_call {
    const ilk__command *command;
    int64_t deadline; /* of the caller; then the slot is abandoned */
    int64_t patience; /* with the server; then the connection is closed, too. It
                         becomes later by the time that connecting takes */
    /* If the lane is down: it waits so long for the end of a pause between two
     * attempts to connect. 0: it makes one attempt, at once. */
    int64_t pauses_until;
    ilk__lane_sleep *sleep; /* NULL: nothing ends its sleep early */
    /* Decremented when the reply comes, or when none can come any more, which may be
     * after the call; NULL: nothing is counted. */
    _Atomic uint32_t *group;
    ilk__lane *lane;   /* out, of ilk__lanes_call(): the lane that it took */
    ilk__reply *reply; /* out: with ILK_OK; the caller frees it */
    int may_have_run;  /* out: if it failed; 1: it may have been executed */
} ilk__lane_call;

/* Borrows the target as long as the lane lives. NULL: no memory. */
ilk__lane *ilk__lane_new(const ilk__target *target);

/*
 * Send a command and wait for its reply. ILK_OK; ILK_ECONN (no connection, or
 * it broke); ILK_ETIMEOUT (deadline or patience has passed); ILK_EAUTH and
 * others from the login; ILK_ECLOSED; ILK_ENOMEM; ILK_EINTR (call->sleep has ended
 * it before the command was sent). Signals do not end it otherwise.
 */
ilk_status ilk__lane_call_run(ilk__lane *lane, ilk__lane_call *call,
                              ilk_error *err);

/*
 * Send a command after all others on the connection, without waiting for its
 * reply. A later leader reads that, has the ensured command judge it, and drops
 * it. If the socket is full, the next call sends the rest. ILK_ECONN when the
 * lane is down. The lane takes over the ensured command (may be NULL) in any
 * case, and may have called its `ended` before this returns. `group` as in
 * ilk__lane_call.
 */
ilk_status ilk__lane_send_only(ilk__lane *lane, const ilk__command *command,
                               ilk__ensured *ensured, _Atomic uint32_t *group);

/* Decrement the count of a call; NULL is ignored. */
void ilk__lane_answered(_Atomic uint32_t *group);

/* Connect if the lane is down; until deadline at most. pauses_until and sleep as in
 * ilk__lane_call. */
ilk_status ilk__lane_connect(ilk__lane *lane, int64_t deadline,
                             int64_t pauses_until, ilk__lane_sleep *sleep,
                             ilk_error *err);

/* 1 while there is a connection that works. Without the mutex: only a hint. */
int ilk__lane_is_up(const ilk__lane *lane);

/*
 * 1 from the moment when a connection breaks with commands that have no reply
 * until the lane has the next connection: the server may execute those commands
 * until then.
 */
int ilk__lane_is_unsettled(const ilk__lane *lane);

/* 1: the lane is down and nobody opens it. *out_replaced identifies its last
 * connection, for the login of the next one. */
int ilk__lane_is_down(ilk__lane *lane, ilk__conn_identity *out_replaced);

/* Take over a connection that is ready and has replaced `replaced`; it is closed if
 * the lane needs another one by now. */
void ilk__lane_adopt(ilk__lane *lane, ilk__conn *conn,
                     const ilk__conn_identity *replaced);

/* As ilk__lane_distrust(), unless a command has no reply. */
void ilk__lane_break_if_idle(ilk__lane *lane);

/* Read the replies that have arrived, if some that nobody waits for may have been
 * there for OVERDUE_MS. Never blocks. */
void ilk__lane_read_overdue(ilk__lane *lane);

/* Close the connection after a reply that made no sense. Calls that wait for a
 * reply on it fail with ILK_ECONN, and the next call opens a new one. */
void ilk__lane_distrust(ilk__lane *lane);

/* After a switch of the primary (sentinel.h): close a connection to another
 * server, as if it had broken. */
void ilk__lane_leave_old(ilk__lane *lane);

/*
 * 1 while the server executes all commands in the order of their calls. 0 for
 * the rest of the lane's life once a broken connection could not be closed on
 * the server, so that its commands may be executed late (see login.h).
 */
int ilk__lane_in_order(const ilk__lane *lane);

void ilk__lane_add_traffic(ilk__lane *lane, ilk__traffic *sum);

/* Fail all calls, now and later, with ILK_ECLOSED. Returns while threads may
 * still be inside ilk__lane_call_run(). */
void ilk__lane_shut(ilk__lane *lane);

/* No other thread may be inside the lane. */
void ilk__lane_free(ilk__lane *lane);

/* In a forked child: close the descriptor and leave the rest alone. */
void ilk__lane_abandon(ilk__lane *lane);

#endif
