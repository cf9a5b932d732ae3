/* SPDX-License-Identifier: MIT */
/*
 * lane_internal.h -- the lane's state, shared by lane.c, lane_slot.c,
 * lane_open.c and lane_wire.c.
 *
 * One mutex guards everything here; no I/O happens under it. At any time at
 * most one thread is the leader (reads), one is the writer (writes) and one is
 * the connector (opens); each unlocks the mutex around its I/O. A connection
 * that failed is closed when neither leader nor writer uses it any more.
 *
 *     DOWN --connector--> UP --failure--> BROKEN --leader, writer out--> DOWN
 *
 * `parked` and `done` say what the caller of a slot does:
 *
 *     parked 0  done 0   it is awake: it leads, or is about to lead or sleep
 *     parked 1  done 0   it sleeps; resign() clears `parked` and wakes it when
 *                        it is to lead
 *     parked 1  done 1   it sleeps; the slot is in `owed`: unlock() wakes it
 *     parked 0  done 1   it sees `done` when it next holds the mutex
 *
 * All functions here are called, and return, with the mutex held, except that
 * unlock() returns without it and end_ensured() is called without it.
 */
#ifndef ILK__LANE_INTERNAL_H
#define ILK__LANE_INTERNAL_H

#include "base/park.h"
#include "expected_reply.h"
#include "lane.h"

#include <pthread.h>

typedef enum ilk__lane_state {
    ILK__LANE_DOWN,
    ILK__LANE_UP,
    ILK__LANE_BROKEN,
    ILK__LANE_SHUT
} ilk__lane_state;

/* One call's slot in the order of replies. It is on the caller's stack, or on
 * the heap when it is abandoned. */
typedef struct ilk__lane_slot {
    struct ilk__lane_slot *next;
    ilk__parker parker;
    ilk__expected_reply expected;
    ilk__reply *reply;
    ilk_status status;
    int ends_batch; /* the last command of a batch */
    int done;
    int parked;    /* see above */
    int abandoned; /* no caller waits: the reply and the slot are freed; set by
                      ilk__lane_set_abandoned() */
    ilk__ensured *ensured;   /* of an abandoned slot, or NULL */
    _Atomic uint32_t *group; /* the call's */
} ilk__lane_slot;

/* A thread that waits until the lane is up, or until it may open it. */
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
    ilk__buf pending;    /* commands that no batch contains yet */
    ilk__buf writing;    /* the batch under way, less the bytes already sent */
    int64_t next_number; /* of the next request */
    int batches;         /* those without their last reply */
    ilk__lane_slot *first, *last;
    ilk__lane_slot *owed, **owed_end; /* done; unlock() wakes their callers */
    ilk__ensured *ended;              /* unlock() calls their `ended` */
    int64_t retry_at;                 /* no connection is opened before */
    int retry_ms;
    ilk__conn_identity replaced;  /* the connection that broke */
    _Atomic int is_up;            /* the state is ILK__LANE_UP */
    _Atomic int is_unsettled;     /* see lane.h */
    _Atomic int left_open;        /* a broken one may be open on the server */
    int abandoned;                /* slots */
    _Atomic int64_t unread_since; /* there are some since then; 0: none */
    ilk_error failure;            /* why it broke, or could not be opened */
    unsigned failures;            /* attempts to open it that failed */
    ilk__traffic traffic;
};

/* lane_slot.c: the end of a call. */
void ilk__lane_set_abandoned(ilk__lane *lane, ilk__lane_slot *slot);
void ilk__lane_finish(ilk__lane *lane, ilk__lane_slot *slot, ilk_status status);
void ilk__lane_finish_all(ilk__lane *lane, ilk_status status);
/*
 * Unlock the mutex, then wake the callers of the slots finished under it. If
 * they were woken earlier, they would only wait for the mutex.
 */
void ilk__lane_unlock(ilk__lane *lane);
void ilk__lane_end_ensured(ilk__ensured *ended);

/* lane_open.c: the life of the connection. */
ilk_status ilk__lane_come_up(ilk__lane *lane, int64_t deadline,
                             int64_t pauses_until, ilk__lane_sleep *sleep,
                             ilk_error *err);
void ilk__lane_break(ilk__lane *lane, ilk_status status, ilk__lane_state state);
void ilk__lane_close_if_unused(ilk__lane *lane);
void ilk__lane_wake_newcomers(ilk__lane *lane);

/* lane_wire.c: sends commands, receives replies. */
ilk_status ilk__lane_append(ilk__lane *lane, ilk__lane_slot *slot,
                            const ilk__command *command, ilk_error *err);
void ilk__lane_flush(ilk__lane *lane, int force, ilk_error *err);
/* 1: the socket accepted or contained something. */
int ilk__lane_lead_once(ilk__lane *lane, int64_t deadline, ilk_error *err);
void ilk__lane_resign(ilk__lane *lane);

#endif
