/* SPDX-License-Identifier: MIT */
/*
 * lane_internal.h -- what the three files of a lane share.
 *
 * One mutex guards everything here; no I/O happens under it. At any time at
 * most one thread is the leader (reads), one the writer (writes) and one the
 * connector (opens); each drops the mutex around its I/O. A connection that
 * failed is closed by the last of leader and writer to let go of it.
 *
 *     DOWN --connector--> UP --failure--> BROKEN --last one out--> DOWN
 *
 * All functions here are called, and return, with the mutex held.
 */
#ifndef ILK__LANE_INTERNAL_H
#define ILK__LANE_INTERNAL_H

#include "base/park.h"
#include "lane.h"

#include <pthread.h>

typedef enum ilk__lane_state {
    ILK__LANE_DOWN,
    ILK__LANE_UP,
    ILK__LANE_BROKEN,
    ILK__LANE_SHUT
} ilk__lane_state;

/* A call's slot on the wire; on its caller's stack, or abandoned. */
typedef struct ilk__lane_slot {
    struct ilk__lane_slot *next;
    ilk__parker parker;
    ilk__reply *reply;
    ilk_status status;
    uint64_t begins; /* offset of its first byte on this connection */
    int ends_batch;  /* the last command of a write */
    int done;
    int parked;    /* asleep; cleared by who wakes it without being done */
    int abandoned; /* nobody waits: the reply is dropped, the slot freed */
    ilk__ensured *ensured; /* of an abandoned slot, or NULL */
} ilk__lane_slot;

/* A thread that waits for the lane to come up, or for a turn to open it. */
typedef struct ilk__newcomer {
    struct ilk__newcomer *next;
    ilk__parker parker;
} ilk__newcomer;

struct ilk__lane {
    pthread_mutex_t mutex;
    const ilk__target *target;
    ilk__lane_state state;
    ilk__conn *conn;
    int has_leader, has_writer, has_connector;
    ilk__newcomer *newcomers;
    ilk__buf pending; /* commands nobody has begun to write */
    ilk__buf writing; /* the writer's; the rest of a write that was cut */
    uint64_t appended, sent; /* bytes, on this connection */
    int unanswered;          /* batches */
    ilk__lane_slot *first, *last;
    ilk__lane_slot *owed, **owed_end; /* done, to be woken without the mutex */
    ilk__ensured *ended;              /* to be told so without the mutex */
    int64_t retry_at;                 /* no connection is opened before */
    int retry_ms;
    ilk__conn_number replaced; /* the connection that broke */
    _Atomic int left_open;     /* one of those; what it carried may come late */
    ilk_error failure;         /* why the last attempt to connect failed */
    ilk__lane_counts counts;
};

/*
 * Drop the mutex, then wake who was finished under it: woken earlier they
 * would only queue for the mutex.
 */
void ilk__lane_unlock(ilk__lane *lane);
void ilk__lane_end_ensured(ilk__ensured *ended);

/* lane_open.c: the life of the connection. */
ilk_status ilk__lane_come_up(ilk__lane *lane, int64_t deadline, ilk_error *err);
void ilk__lane_break(ilk__lane *lane, ilk_status status, ilk__lane_state state);
void ilk__lane_let_go(ilk__lane *lane);
void ilk__lane_wake_newcomers(ilk__lane *lane);
void ilk__lane_finish(ilk__lane *lane, ilk__lane_slot *slot, ilk_status status);
void ilk__lane_finish_all(ilk__lane *lane, ilk_status status);

/* lane_wire.c: commands out, replies in. */
ilk_status ilk__lane_append(ilk__lane *lane, ilk__lane_slot *slot,
                            const ilk__command *command, ilk_error *err);
void ilk__lane_flush(ilk__lane *lane, int force, ilk_error *err);
void ilk__lane_lead_once(ilk__lane *lane, int64_t deadline, ilk_error *err);
void ilk__lane_resign(ilk__lane *lane);

#endif
