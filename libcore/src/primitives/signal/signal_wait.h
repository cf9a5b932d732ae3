/* SPDX-License-Identifier: MIT */
/*
 * signal_wait.h -- the signal's handle, its waits, its signals on their way.
 *
 *     ilk_signal --.         names, lists, tickets of one or several handles
 *       wait ------+-> ilk__signal_wait { wait_queue, waiter }  in the
 *                                            |       refresher (refresher.h)
 *                       delivered signals become an ilk_arrival
 *
 * A handle keeps its last wait: after a signal of the system it is taken up.
 */
#ifndef ILK__SIGNAL_WAIT_H
#define ILK__SIGNAL_WAIT_H

#include "handle/handle.h"
#include "pubsub/channel.h"
#include "wait/delivered_signal.h"
#include "wait/wait.h"

#include <interlock/signal.h>

enum {
    ILK__SIGNAL_LISTS = 3,          /* wait, live, crowd */
    ILK__SIGNAL_KEEP_MS = 60 * 1000 /* a retry comes by then, or never */
};

struct ilk_arrival {
    ilk_client *client; /* of the wait; an operation that has it refers to it */
    uint32_t era;
    _Atomic int seen; /* by who started the wait */
    size_t count;
    ilk__channel_message *message;      /* of a pattern; else NULL */
    ilk__delivered_signal *delivered[]; /* their index is that of the
                                                  handle */
};

/* One wait over one name or several. */
typedef struct ilk__signal_wait {
    ilk__wait_queue wait_queue;
    ilk__waiter waiter;
    size_t count;
    ilk__bytes *names, *keys, *chosen; /* keys: three for each name */
    int64_t *tickets;
    size_t *asked; /* the names of the last question, asked_count of them */
    size_t asked_count;
    int listens;  /* only begins, for a later wait */
    int complete; /* and what that wait is to return was there at once */
} ilk__signal_wait;

struct ilk_signal {
    ilk__handle handle; /* first */
    uint32_t flags;
    ilk__bytes name;
    ilk__bytes keys[ILK__SIGNAL_LISTS];
    ilk__bytes channel;     /* of broadcasts */
    ilk__listener listener; /* of a pattern */
    int64_t id, requests;
    pthread_mutex_t gate; /* guards `wait`, before the shared state's mutex */
    ilk__signal_wait *wait;
};

/* A request that waits, with one handle or several, or begins to. */
typedef struct ilk__signal_request {
    ilk__request request; /* first */
    ilk_signal *own;
    ilk_signal *const *signals; /* the caller's, until it has begun */
    size_t count;
    int wants_all;
    int64_t timeout_ms, deadline;
    ilk_arrival *received; /* with room for what is to come */
} ilk__signal_request;

/* ---- handles (signal_handle.c) */

/* Set up what belongs to the client's shared state; again after a reopening. */
ilk_status ilk__signal_bind(ilk__handle *handle, int *out_in_use,
                            ilk_error *err);
/* The whole request, run or started; the second copies it. */
ilk_status ilk__signal_run(ilk__request *request, ilk_signal *signal,
                           ilk__request_begin *begin, ilk_error *err);
ilk_status ilk__signal_start(ilk_op **out, ilk__request *request, size_t size,
                             ilk_signal *signal, ilk__request_begin *begin,
                             ilk_error *err);
/* Its begin and its end. */
ilk_status ilk__signal_enter(ilk_signal *signal, ilk_error *err);
void ilk__signal_end(ilk__request *request, ilk_signal *signal,
                     ilk_status status);
/* The end of one that waits: the arrival is the answer, or goes. */
void ilk__signal_finish(ilk__signal_request *self, ilk_status status);
/* A wait whose shared state is the parent process' is not given up, but
 * forgotten. */
void ilk__signal_wait_forget(ilk__signal_wait *wait);

/* The lists of a name; freed by ilk__signal_keys_free(). */
ilk_status ilk__signal_keys(ilk__bytes keys[ILK__SIGNAL_LISTS],
                            const void *name, size_t len, ilk_error *err);
void ilk__signal_keys_free(ilk__bytes keys[ILK__SIGNAL_LISTS]);

/* ---- waits (signal_wait.c) */

ilk_status ilk__signal_wait_new(ilk__signal_wait **out,
                                ilk_signal *const *signals, size_t count,
                                int wants_all, ilk_error *err);
/* Whether it is one over exactly these. */
int ilk__signal_wait_is(const ilk__signal_wait *wait,
                        ilk_signal *const *signals, size_t count,
                        int wants_all);
void ilk__signal_wait_free(ilk__signal_wait *wait);
/* What only listens is given up, and what came for it is passed on. */
void ilk__signal_wait_give_up(ilk__signal_wait *wait);
/* Inside a request: await what is to come; begin to, for a later request. */
void ilk__signal_await(ilk__signal_request *self);
void ilk__signal_begin_waiting(ilk__signal_request *self);

/* ---- patterns (signal_pattern.c): the same */

void ilk__signal_receive(ilk__signal_request *self);
void ilk__signal_begin_receiving(ilk__signal_request *self);

/* ---- received signals */

/* As an operation's answer: what nobody has seen is passed on. */
void ilk__received_signal_dispose(void *received);

/* ---- notices (signal_notify.c) */

/* A signal whose waiter is gone goes to the next who waits. Mutex held. */
void ilk__signal_orphaned(ilk__shared *shared, const ilk__message *message);

#endif
