/* SPDX-License-Identifier: MIT */
/*
 * state_wait.h -- handles of things that are a small state in the server and
 * a wait queue of those who wait for it to change: events, latches, barriers.
 *
 *     a wait    asks how it stands; QUEUED, it sleeps until "change", and asks
 *               again; any other answer is the primitive's to understand
 *     a change  tells each client that waits, bounded per call: as many more
 *               calls follow as clients are left (state_wake)
 *
 * The entries are of kind 'o' and leave the wait queue at each change, so a
 * lost message shows at the next refresh: GONE, ask again. On the server that
 * is scripts/include/wake_all.lua with state_refresh, state_cancel, state_wake.
 *
 * A primitive embeds an ilk__state as its first member and gives a kind. A
 * request of it (request.h) is an ilk__state_request, or a struct that has one
 * first; it begins with ilk__state_begin() and ends with ilk__state_end().
 */
#ifndef ILK__STATE_WAIT_H
#define ILK__STATE_WAIT_H

#include "handle.h"
#include "wait/refresher.h"

enum {
    ILK__STATE_KEYS = 5,      /* at most */
    ILK__STATE_TELL = 256,    /* clients told in one call */
    ILK__STATE_LEASE = 60000, /* entries have one; nobody looks at it */
    ILK__STATE_TOKEN = 64
};

typedef struct ilk__state_kind {
    const char *noun;
    const char *const *key_kinds; /* state, own, wait, live, then its own */
    size_t key_count;
    const ilk__op_type *wait, *refresh, *cancel;
    int asks_to_leave; /* a wait that ends early: ilk__wait_left() */
} ilk__state_kind;

typedef struct ilk__state {
    ilk__handle handle; /* first */
    const ilk__state_kind *kind;
    ilk__bytes keys[ILK__STATE_KEYS];
    ilk__wait_queue wait_queue;
    ilk__waiter waiter;
} ilk__state;

/* A primitive's handle of so many bytes, zeroed but for the state it begins
   with. Untouched when it fails. */
ilk_status ilk__state_new(ilk__state **out, size_t size, ilk_client *client,
                          const ilk__state_kind *kind, const void *name,
                          size_t name_len, ilk_error *err);
void ilk__state_free(ilk__state *state); /* the handle */

/* What is under way on it ends; for handles that have more to free. */
void ilk__state_forget(ilk__state *state);

/* ---- requests ----------------------------------------------------------- */

typedef struct ilk__state_request {
    ilk__request request; /* first */
    ilk__state *state;
    int64_t timeout_ms; /* of a wait */
} ilk__state_request;

/*
 * The whole request, run or started. noun is what the handle is called when it
 * is NULL; the second copies the request, which has so many bytes.
 */
ilk_status ilk__state_run(ilk__state_request *self, const char *noun,
                          ilk__request_begin *begin, ilk_error *err);
ilk_status ilk__state_start(ilk_op **out, ilk__state_request *self, size_t size,
                            const char *noun, ilk__request_begin *begin,
                            ilk_error *err);

/* Enter the handle. 0: the request is over. The second also ends a parked wait,
   as every request but the wait does. */
int ilk__state_enter(ilk__state_request *self);
int ilk__state_begin(ilk__state_request *self);
/* Leave the handle, and end with this. */
void ilk__state_end(ilk__request *request, ilk_status status);

/* Inside a request: run the kind's wait to its end. A signal leaves it
 * parked. */
void ilk__state_await(ilk__state_request *self, ilk__request_then *then);
/* End a wait from outside, or a parked one. Any thread. */
ilk_status ilk__state_cancel(ilk__state *state, ilk_error *err);

ilk__state *ilk__state_of(const ilk__waiter *waiter);

/* ---- for the kinds' wait types ------------------------------------------ */

/* Begin the question: the script, the keys, the waiter's place. */
void ilk__state_ask(ilk__op *op);
/* What QUEUED and BUSY mean. */
ilk__act ilk__state_waits(ilk__op *op, const ilk__reply *reply);
/* The wait is over, out of the wait queue, by what the server answered. */
ilk__act ilk__state_refused(ilk__op *op, ilk_status status, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

#define ILK__STATE_WAIT(what, ask_, reply_)                                    \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = (ask_),            \
        .reply = (reply_), .start = ilk__wait_start, .wake = ilk__wait_wake,   \
        .failed = ilk__wait_failed, .told = ilk__wait_told                     \
    }
#define ILK__STATE_REFRESH(what)                                               \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .reads = 1,               \
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

/* A request that changes the state; a primitive's own begins with one. */
typedef struct ilk__change {
    ilk__state_request of;        /* first */
    char token[ILK__STATE_TOKEN]; /* of the request: retried, it is done once */
    int64_t untold;               /* clients that another call has to tell */
    int denied;                   /* this user may not tell them */
    int64_t calls;                /* left, to tell them */
    ilk__request_then *then;
} ilk__change;

/* Inside the request: ask it under a fresh token, and see that all are told.
 * The change is the question's subject. */
void ilk__state_change(ilk__change *change, const ilk__op_type *type,
                       ilk__request_then *then);
/* Begin the question: the script, the keys, the token. */
void ilk__state_ask_change(ilk__op *op);
/* Two elements of its answer, from `at`: untold, denied. */
void ilk__state_changed(ilk__change *change, const ilk__reply *reply,
                        size_t at);

#endif
