/* SPDX-License-Identifier: MIT */
/* loop_internal.h -- what the three files of the loop share. */
#ifndef ILK__LOOP_INTERNAL_H
#define ILK__LOOP_INTERNAL_H

#include "base/pollset.h"
#include "loop.h"

#include <stddef.h>

/* A list of started operations, in order. */
typedef struct ilk__started_list {
    ilk_op *first, *last;
} ilk__started_list;

struct ilk_op {
    ilk__inflight inflight;
    ilk__wake wake; /* its waiter's news */
    ilk_op *next, *previous, *next_ready;
    ilk__started_list *list; /* running, telling or done; NULL: fetched */
    ilk_client *client;      /* referred to */
    uint32_t era;            /* the client's, when it was started */
    _Atomic int ready;       /* among those with news */
    ilk__parker *bound;      /* that tells us its news */
    int cancelled, done;
    int64_t id;
    ilk_error error;
    ilk__request *request; /* the copy, in room */
    max_align_t room[];    /* for it */
};

struct ilk__loop {
    pthread_mutex_t mutex;  /* guards all but what is atomic */
    _Atomic(char *) inside; /* of the thread that has the mutex, or NULL */
    ilk_client *client;
    ilk__pollset pollset;
    ilk__pollable wakeup;
    _Atomic int raised; /* the descriptor is raised, or about to be */
    int open, shut;
    int watched_fd; /* the connection's in the pollset, and for what */
    short watched_for;
    int64_t connects;
    uint64_t written; /* the wire up to this place */
    ilk__timers timers;
    ilk__pipeline pipeline;
    ilk__started_list running, done;
    ilk__started_list telling; /* cancelled; done when what they told is
                                   written */
    _Atomic int under_way;     /* how many are running */
    _Atomic(ilk_op *) ready;   /* with news, the last first */
    uint32_t wakes;            /* the shared state's, seen so far */
    ilk__sleeper sleeper;      /* to be told of them */
    ilk__parker parker;
    ilk__wake wake;
    ilk__timer alarm; /* the shared state's, which raises the descriptor */
    _Atomic int64_t alarm_at;
};

void ilk__loop_lock(ilk__loop *loop);
void ilk__loop_unlock(ilk__loop *loop);

/* With the mutex held. loop.c: */
void ilk__loop_wake_up(ilk__loop *loop); /* without it, too */
ilk_status ilk__loop_open(ilk__loop *loop, ilk_error *err);
void ilk__loop_kick(ilk__loop *loop); /* something was started */

/* loop_started.c: */
void ilk__started_remove(ilk_op *op);
void ilk__loop_has_told(ilk__loop *loop); /* or will not */
void ilk__loop_wake_ready(ilk__loop *loop);
void ilk__loop_wake_all(ilk__loop *loop);
void ilk__loop_end_all(ilk__loop *loop);
void ilk__started_cancel(ilk__loop *loop, ilk_op *op); /* if it is a wait */
void ilk__started_close(ilk__loop *loop, ilk_op *op);  /* it ends now */
void ilk__started_discard(ilk_op *op);                 /* without the mutex */

#endif
