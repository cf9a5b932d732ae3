/* SPDX-License-Identifier: MIT */
/*
 * signal_wait.h -- the signal's handle, its waits and received signals.
 *
 *     ilk_signal          ilk__signal_wait: names, lists and tickets of
 *       wait -----------> one handle or several
 *                           wait_queue
 *                           waiter --> the refresher (refresher.h)
 *                             delivered signals --> ilk_arrival
 *
 * A wait over several handles belongs to the first. A handle keeps its last
 * wait: after ILK_EINTR the next call for the same signals continues it.
 */
#ifndef ILK__SIGNAL_WAIT_H
#define ILK__SIGNAL_WAIT_H

#include "handle/handle.h"
#include "pubsub/channel.h"
#include "wait/delivered_signal.h"
#include "wait/wait.h"

#include <interlock/signal.h>

enum {
    ILK__SIGNAL_LISTS = 4,          /* wait, live, crowd, given */
    ILK__SIGNAL_KEEP_MS = 60 * 1000 /* no retry comes later than that */
};

struct ilk_arrival {
    ilk_client *client; /* borrowed; a started operation has a reference */
    uint32_t era;
    _Atomic int seen; /* the application has fetched it from the operation */
    size_t count;
    ilk__channel_message *message;      /* of a pattern; else NULL */
    ilk__delivered_signal *delivered[]; /* ->index is the handle's index */
};

/* One wait over one name or several. */
typedef struct ilk__signal_wait {
    ilk__wait_queue wait_queue;
    ilk__waiter waiter;
    size_t count;
    ilk__bytes *names, *keys, *chosen; /* keys: four for each name */
    int64_t *tickets;
    char *accepted;
    char (*secrets)[ILK__SECRET_LEN + 1]; /* of the names' lists */
    size_t *tried; /* indexes of the names in the last command */
    size_t tried_count;
    int listens;  /* begun by ilk_signal_listen(), for a later wait */
    int complete; /* such a wait has got all signals that it will return */
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

/* A request that waits with one handle or several, or begins to listen. */
typedef struct ilk__signal_request {
    ilk__request request;       /* first */
    ilk_signal *own;            /* the first handle; it has the wait */
    ilk_signal *const *signals; /* the caller's: valid until begin returns */
    size_t count;
    int wants_all;
    int64_t timeout_ms, deadline;
    ilk_arrival *received; /* allocated before the wait begins */
} ilk__signal_request;

/* ---- requests of a handle (signal_enter.c) */

/* Sets up the members that depend on the client's shared state; called again
 * when the client was reopened. */
ilk_status ilk__signal_bind(ilk__handle *handle, int *out_in_use,
                            ilk_error *err);
/* Run or start a request; starting copies it. */
ilk_status ilk__signal_run(ilk__request *request, ilk_signal *signal,
                           ilk__request_begin *begin, ilk_error *err);
ilk_status ilk__signal_start(ilk_op **out, ilk__request *request, size_t size,
                             ilk_signal *signal, ilk__request_begin *begin,
                             ilk_error *err);
/* Its begin and its end. */
ilk_status ilk__signal_enter(ilk_signal *signal, ilk_error *err);
void ilk__signal_end(ilk__request *request, ilk_signal *signal,
                     ilk_status status);
/* The end of a request that waits: the received signals are its result, or are
 * freed on failure. */
void ilk__signal_finish(ilk__signal_request *self, ilk_status status);
/* Frees a wait that belongs to the parent process, without withdrawing it. */
void ilk__signal_wait_forget(ilk__signal_wait *wait);

/* The keys of a name (signal_keys.c); freed by ilk__signal_keys_free(). */
ilk_status ilk__signal_keys(ilk__bytes keys[ILK__SIGNAL_LISTS],
                            const void *name, size_t len, ilk_error *err);
void ilk__signal_keys_free(ilk__bytes keys[ILK__SIGNAL_LISTS]);

/* ---- waits (signal_wait.c) */

ilk_status ilk__signal_wait_new(ilk__signal_wait **out,
                                ilk_signal *const *signals, size_t count,
                                int wants_all, ilk_error *err);
/* Whether the wait is for exactly these signals. */
int ilk__signal_wait_is(const ilk__signal_wait *wait,
                        ilk_signal *const *signals, size_t count,
                        int wants_all);
void ilk__signal_wait_free(ilk__signal_wait *wait);
/* Gives up a wait that only listens, and passes its signals on. */
void ilk__signal_wait_give_up(ilk__signal_wait *wait);
/* Inside a request: wait for signals; or begin to wait, for a later request. */
void ilk__signal_await(ilk__signal_request *self);
void ilk__signal_begin_waiting(ilk__signal_request *self);

/* ---- the same two for patterns (signal_pattern.c) */

void ilk__signal_receive(ilk__signal_request *self);
void ilk__signal_begin_receiving(ilk__signal_request *self);

/* ---- received signals */

/* Frees an operation's result; signals that nobody has fetched are passed on
 * to the next waiter. */
void ilk__received_signal_dispose(void *received);

/* ---- notifying (signal_notify.c) */

/* With the mutex held. A signal has come for a waiter that is gone: has the
 * server hand it on, if nobody has acknowledged it. */
void ilk__signal_orphaned(ilk__shared *shared, const ilk__message *message);
/* With the mutex held. Sends a signal that was acknowledged to the next waiter. */
void ilk__signal_pass_on(ilk__shared *shared, const ilk__message *message);

#endif
