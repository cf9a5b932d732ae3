/* SPDX-License-Identifier: MIT */
/* loop_internal.h -- for loop.c and started.c. */
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
    ilk__wake wake; /* called when the bound parker is unparked */
    ilk_op *next, *previous, *next_ready;
    ilk__started_list *list; /* running, cancelling or done; NULL: fetched */
    ilk_client *client;      /* a counted reference */
    uint32_t era;            /* the client's, when it was started */
    _Atomic int ready;       /* in loop->ready, because there is news */
    ilk__parker *bound;      /* the parker whose news it gets; or NULL */
    int cancelled, done;
    uint32_t stop; /* the last stop of the client that it has seen */
    int64_t id;
    _Atomic(void *) user; /* the program's, for the notification */
    ilk_error error;
    ilk__request *request; /* points to room */
    max_align_t room[];    /* the copy of the request */
};

struct ilk__loop {
    pthread_mutex_t mutex;  /* guards all except atomics */
    _Atomic(char *) inside; /* identifies the thread that has the mutex */
    ilk_client *client;
    ilk__pollset pollset;
    ilk__pollable wakeup;
    _Atomic int raised; /* the descriptor is raised, or about to be */
    int open, shut;
    int watched_fd;    /* the connection's descriptor in the pollset ... */
    short watched_for; /* ... and its poll events */
    int64_t connects;
    uint64_t written; /* slots before this position have been written */
    ilk__timers timers;
    ilk__pipeline pipeline;
    ilk__started_list running, done;
    ilk__started_list cancelling; /* cancelled; done once the cancels that they
                                  sent are written */
    _Atomic int under_way;        /* how many are running or cancelling */
    _Atomic(ilk_op *) ready; /* stack of operations with news, latest first */
    uint32_t wakes;          /* shared->wakes when last read */
    uint32_t stop;           /* the last stop of the client that it has seen */
    ilk__sleeper sleeper;    /* our entry among the shared state's sleepers */
    ilk__parker parker;      /* unparked with all sleepers; calls `wake` */
    ilk__wake wake;
    ilk__timer alarm; /* run by the keeper; raises the wake-up descriptor */
    _Atomic int64_t alarm_at;
};

void ilk__loop_lock(ilk__loop *loop);
void ilk__loop_unlock(ilk__loop *loop);

/* With the mutex held. loop.c: */
void ilk__loop_wake_up(ilk__loop *loop); /* or without it */
ilk_status ilk__loop_open(ilk__loop *loop, ilk_error *err);
/* Write new commands, at once or by the next turn. */
void ilk__loop_kick(ilk__loop *loop);

/* started.c: */
void ilk__started_remove(ilk_op *op);
void ilk__loop_cancels_sent(ilk__loop *loop); /* `cancelling` is done */
void ilk__loop_wake_ready(ilk__loop *loop);
void ilk__loop_wake_all(ilk__loop *loop);
void ilk__loop_stop_waits(ilk__loop *loop); /* the client is stopped */
void ilk__loop_end_all(ilk__loop *loop);

#endif
