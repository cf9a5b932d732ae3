/* SPDX-License-Identifier: MIT */
/*
 * hold.h -- a handle that stands in the wait queue for a thing and holds it on
 * lease.
 *
 *   your primitive       this layer                       layers below
 *
 *   ilk_noun             ilk__hold                        ilk_client, counted
 *     hold  ------------>  keys, wait_queue, waiter ----> wait.h, refresher.h
 *     options, checks      lease -----------------------> lease.h, the keeper
 *   ilk__hold_kind ----->  which scripts, which keys, which words
 *
 *   acquire:  enter > wait -------> lengthen > keep > leave
 *                      |  EINTR: parked, it keeps its place; the next acquire
 *                      |         takes it up, any other request ends it
 *                      +- lost before it was ours: again
 *   release:  enter > give > claim > leave      also a lease that is LOST:
 *                      |       |                 it may be there still
 *                      |       +- claim until nobody is left behind
 *                      +- repeated under the token until it is answered
 *
 * A primitive embeds an ilk__hold as its first member, so that one is the
 * other; fills in its options; calls ilk__hold_open(); and offers the requests
 * below under its own name after it has checked for NULL. A request of its own
 * (request.h) begins with ilk__hold_enter_request() and ends with
 * ilk__hold_end().
 *
 * What a primitive has more than a lock goes into its `ask` and `reply`:
 *   acquire   op->subject is an ilk__waiter, ilk__hold_of() tells whose. Ask
 *             nothing more once ilk__wait_ask_to_go() has asked; else begin
 *             with ilk__wait_ask(), end with ilk__wait_reply().
 *   release   op->subject is an ilk__release. Begin with
 *             ilk__hold_ask_release(), end with ilk__hold_released().
 *   extend    op->subject is an ilk__extension, which may outlive the handle:
 *             all it needs is keys and token. ilk__lease_ask().
 *   refresh   the arguments are those of lock_refresh, for every primitive: the
 *             layers ask it themselves, for waiters, to claim and to check.
 * Arguments of a primitive's own stand behind the common ones.
 */
#ifndef ILK__HOLD_H
#define ILK__HOLD_H

#include "handle.h"
#include "wait/lease.h"
#include "wait/refresher.h"

enum { ILK__HOLD_EXTEND_KEYS = 6 };

typedef struct ilk__hold ilk__hold;
typedef struct ilk__acquire_request ilk__acquire_request;
typedef struct ilk__probe ilk__probe;
typedef struct ilk__unconfirmed_release ilk__unconfirmed_release;

/* What a primitive tells about its handles. Constant, one for each kind. */
typedef struct ilk__hold_kind {
    ilk__lease_kind lease;   /* noun, notification of a loss, how to extend */
    char waits_as;           /* kind of its entries in the waiting list */
    ilk__orphaned *orphaned; /* of that kind; see wait_queue.h */
    int barges;              /* has no order to keep */
    int32_t taken_notification; /* tells that it was acquired; 0: nothing
                                   does */
    int stays; /* to take it again is no fault, and no second hold */

    /* The thing's keys: kinds of side keys, NULL being the name itself.
       None: the primitive sets hold->keys before it opens. */
    const char *const *key_kinds;
    size_t key_count;
    size_t extend_keys[ILK__HOLD_EXTEND_KEYS]; /* which, to extend */
    size_t extend_key_count;                   /* 0: all of them */
    const ilk__op_type *acquire, *refresh, *cancel, *release;

    /*
     * For what is special; NULL: this layer's own.
     * bind    waiter and lease were set up, first or after a fork: what the
     *         primitive adds to them (permits, a prefix of the token). Tokens
     *         are fresh for each take: what comes late is given back by them
     * run_acquire  in place of the wait: more steps, which end with
     *         ilk__hold_acquired(). Who keeps something after ILK_EINTR sets
     *         hold->parked, and has `unpark`
     * unpark  gives that up
     * cancel_acquire  ends one that waits
     * probe   in place of ilk__hold_probe()
     */
    ilk_status (*bind)(ilk__hold *hold, ilk_error *err);
    void (*run_acquire)(ilk__acquire_request *request);
    void (*unpark)(ilk__hold *hold);
    void (*cancel_acquire)(ilk__hold *hold);
    void (*probe)(ilk__request *request, ilk__probe *probe,
                  ilk__request_then *then);
} ilk__hold_kind;

typedef struct ilk__hold_opts {
    int64_t ttl_ms;      /* of each hold; 0: the default */
    int64_t max_hold_ms; /* no renewal beyond; 0: no end */
    int no_renew;
    int reentrant; /* acquires may nest */
} ilk__hold_opts;

struct ilk__hold {
    ilk__handle handle; /* first */
    const ilk__hold_kind *kind;
    ilk__hold_opts opts;
    int depth;  /* nested acquires */
    int parked; /* the kind's own `run_acquire` kept something */
    ilk__bytes *keys;
    size_t key_count;
    ilk__bytes extend_keys[ILK__HOLD_EXTEND_KEYS]; /* borrowed from keys */
    ilk__wait_queue wait_queue; /* a primitive may change it once it is
                                       open */
    ilk__waiter waiter;         /* none if the kind has no `acquire` */
    ilk__lease lease;
    int64_t id;
    /* a release whose answer was not waited for; under the shared state's
     * mutex */
    ilk__unconfirmed_release *unconfirmed;
    _Atomic int32_t was_lost; /* it has come, and this is what it told */
};

/* ---- handles: hold.c ---------------------------------------------------- */

/* Fill in what the options leave open, and check them. */
ilk_status ilk__hold_check_opts(ilk__hold_opts *opts, ilk_error *err);
ilk_status ilk__hold_check_ttl(int64_t ttl_ms, ilk_error *err);

/*
 * Begin and end of a handle's life. The hold is zeroed memory, the options
 * are checked already. A failed open leaves nothing to close.
 */
ilk_status ilk__hold_open(ilk__hold *hold, ilk_client *client,
                          const ilk__hold_kind *kind,
                          const ilk__hold_opts *opts, const void *name,
                          size_t name_len, ilk_error *err);
void ilk__hold_close(ilk__hold *hold);

/* Set up what belongs to the client's shared state, unless that was done. */
ilk_status ilk__hold_bind(ilk__hold *hold, ilk_error *err);

/*
 * Begin and end of every request: the handle is the caller's alone between
 * them. The second also ends a wait that a signal left parked, as every request
 * but acquire does.
 */
ilk_status ilk__hold_enter(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_enter_request(ilk__hold *hold, ilk_error *err);
void ilk__hold_leave(ilk__hold *hold);

/* Whose waiter this is. */
ilk__hold *ilk__hold_of(const ilk__waiter *waiter);

/* Known without asking; 0 in a forked child. Any thread. */
int64_t ilk__hold_remaining_ms(const ilk__hold *hold);
int32_t ilk__hold_held(const ilk__hold *hold);

/* For a request: leave the handle, and end with this. */
void ilk__hold_end(ilk__hold *hold, ilk__request *request, ilk_status status);

/* ---- acquiring: hold_acquire.c ------------------------------------------ */

struct ilk__acquire_request {
    ilk__request request;
    ilk__hold *hold;
    int64_t timeout_ms, ttl_ms; /* ttl_ms 0: that of the options */
    int started;                /* in the application's loop */
    /* set when it begins */
    int64_t deadline, asked_at;
    int once;
    int kept; /* started, and ended by a signal: the handle, until give_up() */
    ilk__extension extension;
};

/* The request, run or started. */
ilk_status ilk__hold_acquire(ilk__hold *hold, int64_t timeout_ms,
                             int64_t ttl_ms, ilk_error *err);
ilk_status ilk__hold_acquire_start(ilk_op **out, ilk__hold *hold,
                                   int64_t timeout_ms, int64_t ttl_ms,
                                   ilk_error *err);

/* End a wait from outside, or a parked one. Any thread. */
ilk_status ilk__hold_cancel(ilk__hold *hold, ilk_error *err);

/*
 * Inside a request: stand in this one's wait queue. `then` calls
 * ilk__hold_begin_lease() for ILK_OK: it holds, and the lease is not watched
 * yet.
 */
void ilk__hold_await(ilk__request *request, ilk__hold *hold, int64_t deadline,
                     int once, int64_t ttl_ms, ilk__request_then *then);
void ilk__hold_begin_lease(ilk__hold *hold);
/* How a kind's own `run_acquire` ends. */
void ilk__hold_acquired(ilk__acquire_request *request, ilk_status status);
/* Hold from now on: renewed, or watched when somebody listens. */
void ilk__hold_keep(ilk__hold *hold, int64_t ttl_ms);

/* ---- held: hold_requests.c ---------------------------------------------- */

ilk_status ilk__hold_release(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_release_start(ilk_op **out, ilk__hold *hold,
                                   ilk_error *err);
ilk_status ilk__hold_release_unconfirmed(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_extend(ilk__hold *hold, int64_t ttl_ms, ilk_error *err);
ilk_status ilk__hold_extend_start(ilk_op **out, ilk__hold *hold, int64_t ttl_ms,
                                  ilk_error *err);
ilk_status ilk__hold_check(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_check_start(ilk_op **out, ilk__hold *hold, ilk_error *err);

/* Hand over to another process, under the token. */
ilk_status ilk__hold_detach(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_adopt(ilk__hold *hold, const void *token, size_t token_len,
                           ilk_error *err);
ilk_status ilk__hold_adopt_start(ilk_op **out, ilk__hold *hold,
                                 const void *token, size_t token_len,
                                 ilk_error *err);

/* ---- without an answer: hold_unconfirmed.c ------------------------------ */

/* Send the release and return. ILK_ENOMEM: nothing was sent. */
ilk_status ilk__hold_tell_release(ilk__hold *hold, ilk_error *err);
/* ILK_ELOST, once, when that was told late. */
ilk_status ilk__hold_told_lost(ilk__hold *hold, ilk_error *err);
void ilk__hold_forget_unconfirmed(ilk__hold *hold); /* the handle is freed */

/* ---- extending, for all that has a lease: hold_requests.c --------------- */

/* With what an extend ended, by the connection that it took. */
ilk__lease_outcome ilk__extend_outcome(const ilk__request *request,
                                       ilk__lease_way way, ilk_status status,
                                       const ilk__extension *extension);

/* ---- questions: hold_ask.c ---------------------------------------------- */

/* A question about a wait queue, whoever stands in it. */
typedef struct ilk__wait_queue_query {
    const ilk__wait_queue *wait_queue;
    const ilk__shared *shared;
} ilk__wait_queue_query;

/* Subject of releasing and breaking operations. */
typedef struct ilk__release {
    ilk__wait_queue_query at; /* first */
    const ilk__hold_kind *kind;
    const ilk__hold *hold; /* whose; NULL: nobody's here, it is broken */
    const char *token;
    size_t token_len;
    const char *request_id; /* of a break, found again by a retry; or NULL */
    int64_t sure_until;  /* the local deadline when it was first asked */
    int64_t fence;       /* of the hold that is given up */
    int more, denied;
    int tries; /* to see the next served */
    ilk__request_then *then;
} ilk__release;

/*
 * Inside a request: ask a releasing or breaking question, and see the next
 * served.
 */
void ilk__hold_send_release(ilk__request *request, const ilk__op_type *type,
                            ilk__release *release, ilk__request_then *then);

/* Does this token hold? */
struct ilk__probe {
    ilk__wait_queue_query at; /* first */
    const ilk__hold *hold;    /* whose token */
    char entry[ILK__ENTRY_MAX];
    size_t entry_len;
    int64_t lease_ms; /* ILK_OK: the lease; else ILK_ELOST */
    /* for a kind's own, which asks about several */
    size_t index;
    int64_t shortest_ms;
    ilk__request_then *then;
};
void ilk__hold_probe(ilk__request *request, ilk__probe *probe,
                     const ilk__hold *hold, ilk__request_then *then);

/* For releasing op types: token, grant_ms, limit, liveness; the answer. */
void ilk__hold_ask_release(ilk__op *op);
void ilk__hold_ask_break(ilk__op *op); /* the same, and the request */
ilk__act ilk__hold_released(ilk__op *op, const ilk__reply *reply);

/* ---- the op types of a primitive without arguments of its own ----------- */

#define ILK__HOLD_ACQUIRE(what)                                                \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = ilk__wait_ask,     \
        .reply = ilk__wait_reply, .start = ilk__wait_start,                    \
        .wake = ilk__wait_wake, .failed = ilk__wait_failed,                    \
        .told = ilk__wait_told                                                 \
    }
#define ILK__HOLD_REFRESH(what)                                                \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .reads = 1,               \
        .ask = ilk__refresher_ask, .reply = ilk__refresher_reply               \
    }
#define ILK__HOLD_CANCEL(what)                                                 \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what,                           \
        .ask = ilk__give_back_ask, .reply = ilk__give_back_done,               \
        .wake = ilk__give_back_wake                                            \
    }
#define ILK__HOLD_RELEASE(what)                                                \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what,                           \
        .ask = ilk__hold_ask_release, .reply = ilk__hold_released              \
    }
#define ILK__HOLD_EXTEND(what)                                                 \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = ilk__lease_ask,    \
        .reply = ilk__lease_extended                                           \
    }

#endif
