/* SPDX-License-Identifier: MIT */
/*
 * state.h -- handles of primitives that consist of a small state on the
 * server and a wait queue for its changes: events, latches, barriers, groups,
 * registers.
 *
 *     wait      the script reads the state. QUEUED: the waiter sleeps until a
 *               message wakes it and then runs the script again. The primitive
 *               interprets every other reply.
 *     change    the script changes the state and sends a message to every
 *               waiting client, at most ILK__STATE_NOTIFY of them; state_wake is
 *               called for the rest.
 *
 * Each change removes all entries (they have kind 'o') from the wait queue. So
 * a lost message is noticed at the next refresh: the entry is GONE, and the
 * waiter runs its script again. The server's side is
 * scripts/include/wake_all.lua with state_refresh, state_cancel and state_wake.
 *
 * A primitive embeds an ilk__state as its first member and supplies a kind. Its
 * requests (request.h) are an ilk__state_request or begin with one; they begin
 * with ilk__state_begin() and end with ilk__state_end().
 */
#ifndef ILK__STATE_H
#define ILK__STATE_H

#include "handle.h"
#include "wait/refresher.h"

enum {
    ILK__STATE_KEYS = 6,      /* at most */
    ILK__STATE_NOTIFY = 256,  /* messages sent in one call */
    ILK__STATE_LEASE = 60000, /* entries need one; no script reads it */
    ILK__STATE_TOKEN = 64
};

typedef struct ilk__state ilk__state;

typedef struct ilk__state_kind {
    const char *noun;
    const char *const *key_kinds; /* state, own, wait, live, then its own */
    size_t key_count;
    const ilk__op_type *wait, *refresh, *cancel;
    int asks_to_leave; /* when a wait ends early; see ilk__wait_left() */
    /* Sets up more that belongs to the shared state, as ilk__handle.bind does, and
     * sets *out_in_use if the parent uses it; or NULL. */
    ilk_status (*bind)(ilk__state *state, int *out_in_use, ilk_error *err);
} ilk__state_kind;

struct ilk__state {
    ilk__handle handle; /* first */
    const ilk__state_kind *kind;
    ilk__bytes keys[ILK__STATE_KEYS];
    ilk__wait_queue wait_queue;
    ilk__waiter waiter;
};

/* Allocate a primitive's handle of `size` bytes. It begins with the ilk__state;
   the rest is zeroed. On failure *out is untouched. */
ilk_status ilk__state_new(ilk__state **out, size_t size, ilk_client *client,
                          const ilk__state_kind *kind, const void *name,
                          size_t name_len, ilk_error *err);
void ilk__state_free(ilk__state *state); /* frees the handle */

/* End the operations that were started on the handle. For handles that have
   more to free before ilk__state_free(). */
void ilk__state_forget(ilk__state *state);

/* ---- requests ----------------------------------------------------------- */

typedef struct ilk__state_request {
    ilk__request request; /* first */
    ilk__state *state;
    int64_t timeout_ms; /* of a wait */
} ilk__state_request;

/*
 * Run or start a request. `noun` names the handle in the error text if the
 * handle is NULL. start copies the request, which has `size` bytes.
 */
ilk_status ilk__state_run(ilk__state_request *self, const char *noun,
                          ilk__request_begin *begin, ilk_error *err);
ilk_status ilk__state_start(ilk_op **out, ilk__state_request *self, size_t size,
                            const char *noun, ilk__request_begin *begin,
                            ilk_error *err);

/* Enter the handle. 0: that failed, and the request has ended.
   ilk__state_begin() also ends a suspended wait: every request except the wait
   uses it. */
int ilk__state_enter(ilk__state_request *self);
int ilk__state_begin(ilk__state_request *self);
/* Leave the handle and end the request with this status. */
void ilk__state_end(ilk__request *request, ilk_status status);

/* For a step inside a request: run the kind's wait to its end. After a signal
   the wait stays suspended. */
void ilk__state_await(ilk__state_request *self, ilk__request_then *then);
/* End a running or suspended wait. Any thread. */
ilk_status ilk__state_cancel(ilk__state *state, ilk_error *err);

ilk__state *ilk__state_of(const ilk__waiter *waiter);

/* ---- for the kinds' wait types ------------------------------------------ */

/* Begin the command: script, keys, the waiter's place in the wait queue. */
void ilk__state_ask(ilk__op *op);
/* Handle the replies QUEUED and BUSY. */
ilk__act ilk__state_waits(ilk__op *op, const ilk__reply *reply);
/* The server refused the wait and has no entry for it: end with this status. */
ilk__act ilk__state_refused(ilk__op *op, ilk_status status, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

#define ILK__STATE_WAIT(what, ask_, reply_)                                    \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = (ask_),            \
        .reply = (reply_), .start = ilk__wait_start, .wake = ilk__wait_wake,   \
        .cancelled = ilk__wait_is_cancelled, .failed = ilk__wait_failed,       \
        .sent = ilk__wait_sent                                                 \
    }
#define ILK__STATE_REFRESH(what)                                               \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .reply_is_optional = 1,   \
        .ask = ilk__refresher_ask, .reply = ilk__refresher_reply               \
    }
#define ILK__STATE_CANCEL(what)                                                \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what,                           \
        .ask = ilk__give_back_ask, .reply = ilk__give_back_done,               \
        .wake = ilk__give_back_wake                                            \
    }

extern const ilk__op_type ilk__state_refresh_op, ilk__state_cancel_op;

/* ---- changes ------------------------------------------------------------ */

/* A request that changes the state. A primitive's change begins with one. */
typedef struct ilk__change {
    ilk__state_request of; /* first */
    char token
        [ILK__STATE_TOKEN]; /* of the request: a retry has no second effect */
    int64_t unnotified;     /* clients that have no message yet */
    int denied;             /* this user may not PUBLISH to inboxes */
    int64_t calls;          /* of state_wake that may still be made */
    ilk__request_then *then;
} ilk__change;

/* For a step inside the request: send the change under a new token, then wake
   all waiting clients. The operation's subject is the change. */
void ilk__state_change(ilk__change *change, const ilk__op_type *type,
                       ilk__request_then *then);
/* Begin the command: script, keys, token. */
void ilk__state_ask_change(ilk__op *op);
/* Read the reply's two elements from `at` on: unnotified, denied. */
void ilk__state_changed(ilk__change *change, const ilk__reply *reply,
                        size_t at);

#endif
