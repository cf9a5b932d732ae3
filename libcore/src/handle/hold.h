/* SPDX-License-Identifier: MIT */
/*
 * hold.h -- a handle that waits for a name in its wait queue and then holds it
 * under a lease: the common part of locks, semaphores and elections.
 *
 *   your primitive       this layer                       layers below
 *
 *   ilk_noun             ilk__hold                        ilk_client
 *     hold  ------------>  keys, wait_queue, waiter ----> wait.h, refresher.h
 *     options, checks      lease -----------------------> lease.h, the keeper
 *   ilk__hold_kind ----->  which scripts, which keys, which error texts
 *
 *   acquire:  enter > wait -------> extend > keep > leave
 *                      |              +- left out, unless the wait was granted a
 *                      |              |  shorter lease (ILK__GRANT_MS)
 *                      |              +- lost before the extend: wait again
 *                      |              +- min_replicas: confirm instead of extend;
 *                      |                 too few: give back, wait again
 *                      +- EINTR: suspended, the entry keeps its place; the next
 *                                acquire resumes it, any other request ends it
 *   release:  enter > send -> claim > leave
 *                      |        +- only if the script stopped at its limit of
 *                      |           waiters; repeated until it has looked at every
 *                      |           one that may be served now
 *                      +- retried under the same token until a reply arrives
 *
 * A release is also sent for a LOST lease: the server may still have it.
 *
 * A primitive embeds an ilk__hold as its first member, so that a pointer to
 * one can be cast to the other. It fills in its options, calls
 * ilk__hold_open(), and wraps the requests below in functions that check for
 * NULL first. A request of the primitive's own (request.h) begins with
 * ilk__hold_enter_request() and ends with ilk__hold_end().
 *
 * The op types of a primitive differ from the lock's in `ask` and `reply`:
 *   acquire   op->subject is an ilk__waiter; ilk__hold_of() returns its hold.
 *             `ask` is done when ilk__wait_ask_to_go() returns 1; otherwise it
 *             begins with ilk__wait_ask(). `reply` ends with ilk__wait_reply().
 *             `start`, `wake`, `failed` and `sent` are wait.h's in every
 *             primitive; the macro ILK__HOLD_ACQUIRE below binds them all.
 *   release   op->subject is an ilk__release. `ask` begins with
 *             ilk__hold_begin_release(), `reply` ends with ilk__hold_released().
 *   extend    op->subject is an ilk__extension. It may outlive the handle, so
 *             it refers to nothing but keys and token. See ilk__lease_ask().
 *   refresh   has the arguments of lock_refresh in every primitive, because the
 *             refresher, the claim and the check below fill them in.
 * A primitive's own arguments follow the common ones.
 */
#ifndef ILK__HOLD_H
#define ILK__HOLD_H

#include "client/confirmer.h"
#include "handle.h"
#include "wait/lease.h"
#include "wait/refresher.h"

enum { ILK__HOLD_EXTEND_KEYS = 6 };

typedef struct ilk__hold ilk__hold;
typedef struct ilk__acquire_request ilk__acquire_request;
typedef struct ilk__probe ilk__probe;
typedef struct ilk__unconfirmed_release ilk__unconfirmed_release;

/* Describes the handles of one kind. Constant, one for each kind. */
typedef struct ilk__hold_kind {
    ilk__lease_kind lease;   /* noun, loss notification, extend op */
    char waits_as;           /* kind of its entries in the wait queue */
    ilk__orphaned *orphaned; /* for that kind; see wait_queue.h */
    int barges; /* acquires without regard to the order of waiters */
    int32_t acquired_notification; /* pushed after an acquire; 0: none */
    int stays; /* acquiring while it holds succeeds and does not nest */

    /* The kinds of the side keys; NULL stands for the name itself. No kinds:
       the primitive sets hold->keys before ilk__hold_open(). */
    const char *const *key_kinds;
    size_t key_count;
    size_t extend_keys[ILK__HOLD_EXTEND_KEYS]; /* indices of extend's keys */
    size_t extend_key_count;                   /* 0: all of them */
    const ilk__op_type *acquire, *refresh, *cancel, *release;

    /*
     * Hooks; NULL selects this layer's own behaviour.
     * bind            called after waiter and lease were set up, at first or
     *                 after a fork: the primitive adds to them (permits, a
     *                 prefix of the token). A token is used for one acquire
     *                 only, so a late grant can be given back by its token.
     * run_acquire     replaces the wait by several steps, the last of which
     *                 calls ilk__hold_acquired(). If it keeps anything after
     *                 ILK_EINTR, it sets hold->suspended, and needs `drop_kept`.
     * drop_kept       gives up what run_acquire kept.
     * cancel_acquire  ends an acquire that waits.
     * unconfirmed     gives back what run_acquire acquired and begins anew, or
     *                 ends with this status: ilk__hold_may_begin_anew().
     * give_back       has the keeper release what the token holds, with the mutex
     *                 held; NULL: the wait queue's cancel does.
     * probe           replaces ilk__hold_probe().
     */
    ilk_status (*bind)(ilk__hold *hold, ilk_error *err);
    void (*run_acquire)(ilk__acquire_request *request);
    void (*drop_kept)(ilk__hold *hold);
    void (*cancel_acquire)(ilk__hold *hold);
    void (*unconfirmed)(ilk__acquire_request *request, ilk_status status);
    void (*give_back)(ilk__hold *hold);
    void (*probe)(ilk__request *request, ilk__probe *probe,
                  ilk__request_then *then);
} ilk__hold_kind;

typedef struct ilk__hold_opts {
    int64_t ttl_ms;      /* the lease of each hold; 0: the default */
    int64_t max_hold_ms; /* each hold ends after this unless the program extends
                            it; 0: no limit */
    int no_renew;
    int reentrant; /* acquires may nest */
    void *user;    /* the program's, for notifications */
} ilk__hold_opts;

struct ilk__hold {
    ilk__handle handle; /* first */
    const ilk__hold_kind *kind;
    ilk__hold_opts opts;
    int depth;     /* nested acquires */
    int suspended; /* the kind's `run_acquire` kept something after EINTR */
    ilk__bytes *keys;
    size_t key_count;
    ilk__bytes extend_keys[ILK__HOLD_EXTEND_KEYS]; /* borrowed from keys */
    ilk__wait_queue wait_queue; /* set by open; a primitive may change it
                                   afterwards */
    ilk__waiter waiter;         /* unused if the kind has no `acquire` */
    ilk__lease lease;
    int64_t id;
    /* Under way, or NULL. Guarded by the shared state's mutex. */
    ilk__confirmation *confirmation;
    /* The last unconfirmed release while its reply is missing. Guarded by the
       shared state's mutex. */
    ilk__unconfirmed_release *unconfirmed;
    _Atomic int32_t was_lost; /* its reply said that the hold had been lost */
};

/* ---- handles: hold.c ---------------------------------------------------- */

/* Check the options and fill in defaults. */
ilk_status ilk__hold_check_opts(ilk__hold_opts *opts, ilk_error *err);
ilk_status ilk__hold_check_ttl(int64_t ttl_ms, ilk_error *err);
/* A lease for a new hold: max_hold_ms where ttl_ms is longer, because renewals never
 * shorten a lease. */
int64_t ilk__hold_bounded_ttl(const ilk__hold_opts *opts, int64_t ttl_ms);

/*
 * Open and close a handle. The hold must be zeroed memory, the options must
 * have been checked. After a failed open there is nothing to close.
 */
ilk_status ilk__hold_open(ilk__hold *hold, ilk_client *client,
                          const ilk__hold_kind *kind,
                          const ilk__hold_opts *opts, const void *name,
                          size_t name_len, ilk_error *err);
void ilk__hold_close(ilk__hold *hold);

/* Set up the parts that belong to the client's shared state, if not done. */
ilk_status ilk__hold_bind(ilk__hold *hold, ilk_error *err);

/*
 * Begin and end every request; no other request runs on the handle between the
 * two. ilk__hold_enter_request() also ends a wait that a signal left suspended:
 * every request except acquire uses it.
 */
ilk_status ilk__hold_enter(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_enter_request(ilk__hold *hold, ilk_error *err);
void ilk__hold_leave(ilk__hold *hold);

/* The hold that this waiter belongs to. */
ilk__hold *ilk__hold_of(const ilk__waiter *waiter);

/* Answered from memory, without the server; 0 in a forked child. Any thread. */
int64_t ilk__hold_remaining_ms(const ilk__hold *hold);
int32_t ilk__hold_held(const ilk__hold *hold);

/* Leave the handle and end the request with this status. */
void ilk__hold_end(ilk__hold *hold, ilk__request *request, ilk_status status);

/* ---- acquiring: hold_acquire.c ------------------------------------------ */

struct ilk__acquire_request {
    ilk__request request;
    ilk__hold *hold;
    int64_t timeout_ms, ttl_ms; /* ttl_ms 0: the options' ttl_ms */
    int started;                /* runs in the application's event loop */
    /* set when the request begins */
    int64_t deadline, sent_at;
    int once;
    int kept; /* a started acquire was suspended by a signal and still occupies
                 the handle; give_up() leaves it */
    ilk__extension extension;
};

/* Run or start an acquire. */
ilk_status ilk__hold_acquire(ilk__hold *hold, int64_t timeout_ms,
                             int64_t ttl_ms, ilk_error *err);
ilk_status ilk__hold_acquire_start(ilk_op **out, ilk__hold *hold,
                                   int64_t timeout_ms, int64_t ttl_ms,
                                   ilk_error *err);

/* End a running or suspended wait. Any thread. */
ilk_status ilk__hold_cancel(ilk__hold *hold, ilk_error *err);
/* A part of it, for a kind's own `cancel_acquire`. */
void ilk__hold_cancel_confirmation(ilk__hold *hold);

/*
 * For a step inside a request: wait in this hold's wait queue. On ILK_OK the
 * server has granted the hold; `then` must call ilk__hold_begin_lease(). The
 * keeper does not watch the lease before ilk__hold_keep().
 */
void ilk__hold_await(ilk__request *request, ilk__hold *hold, int64_t deadline,
                     int once, int64_t ttl_ms, ilk__request_then *then);
void ilk__hold_begin_lease(ilk__hold *hold);
/* Whether an acquire that ended with this status tries again. */
int ilk__hold_may_begin_anew(const ilk__acquire_request *request,
                             ilk_status status);
/* The last step of a kind's own `run_acquire`. */
void ilk__hold_acquired(ilk__acquire_request *request, ilk_status status);
/* The hold begins: hand its lease to the keeper, which renews it, or only
   watches its deadline if the application wants notifications. */
void ilk__hold_keep(ilk__hold *hold, int64_t ttl_ms);

/* ---- requests of a holder: hold_requests.c ------------------------------ */

ilk_status ilk__hold_release(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_release_start(ilk_op **out, ilk__hold *hold,
                                   ilk_error *err);
ilk_status ilk__hold_release_unconfirmed(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_extend(ilk__hold *hold, int64_t ttl_ms, ilk_error *err);
ilk_status ilk__hold_extend_start(ilk_op **out, ilk__hold *hold, int64_t ttl_ms,
                                  ilk_error *err);
ilk_status ilk__hold_check(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_check_start(ilk_op **out, ilk__hold *hold, ilk_error *err);

/* Hand the hold over to another process, which needs only the token. */
ilk_status ilk__hold_detach(ilk__hold *hold, ilk_error *err);
ilk_status ilk__hold_adopt(ilk__hold *hold, const void *token, size_t token_len,
                           ilk_error *err);
ilk_status ilk__hold_adopt_start(ilk_op **out, ilk__hold *hold,
                                 const void *token, size_t token_len,
                                 ilk_error *err);

/* ---- without an answer: hold_unconfirmed.c ------------------------------ */

/* Have the keeper release what the hold's token holds. With the mutex held. */
void ilk__hold_give_back_token(ilk__hold *hold);

/* Send the release and return at once. ILK_ENOMEM: nothing was sent. */
ilk_status ilk__hold_post_release(ilk__hold *hold, ilk_error *err);
/* ILK_ELOST, once, if the reply to an unconfirmed release said so. */
ilk_status ilk__hold_report_lost(ilk__hold *hold, ilk_error *err);
void ilk__hold_forget_unconfirmed(ilk__hold *hold); /* the handle is freed */

/* ---- extending any lease: hold_requests.c -------------------------------- */

/* The outcome of an extend; `way` is the connection that carried it. */
ilk__lease_outcome ilk__extend_outcome(const ilk__request *request,
                                       ilk__lease_way way, ilk_status status,
                                       const ilk__extension *extension);

/* ---- release, claim, probe: hold_commands.c ---------------------------------- */

/* Subject of an operation on a wait queue as a whole. */
typedef struct ilk__wait_queue_query {
    const ilk__wait_queue *wait_queue;
    const ilk__shared *shared;
} ilk__wait_queue_query;

/* Subject of releasing and breaking operations. */
typedef struct ilk__release {
    ilk__wait_queue_query at; /* first */
    const ilk__hold_kind *kind;
    const ilk__hold *hold; /* NULL: a break, the hold is not ours */
    const char *token;
    size_t token_len;
    const char *breaker;    /* of a break, see ilk__hold_breaker(); or NULL */
    int64_t sure_until;     /* the local deadline when the release was sent */
    int64_t fence;          /* of the hold that is released */
    ilk__evidence evidence; /* after ILK_ELOST: of the reply */
    int more, denied; /* waiters are left; PUBLISH to inboxes is forbidden */
    int tries;        /* claims sent so far */
    ilk__request_then *then;
} ilk__release;

/* The request id of a break, by which a retry is recognised, and the client's label,
 * from which the holder learns who broke its hold. */
enum { ILK__BREAKER_MAX = ILK__TOKEN_LEN + 1 + ILK__LABEL_MAX };
ilk_status ilk__hold_breaker(char out[ILK__BREAKER_MAX + 1],
                             const ilk__shared *shared, ilk_error *err);

/*
 * For a step inside a request: send the release or break, then claim until
 * every waiter that can be served has its grant.
 */
void ilk__hold_send_release(ilk__request *request, const ilk__op_type *type,
                            ilk__release *release, ilk__request_then *then);

/* Asks the server whether the hold's token still holds. */
struct ilk__probe {
    ilk__wait_queue_query at; /* first */
    const ilk__hold *hold;    /* the hold whose token is looked up */
    char entry[ILK__ENTRY_MAX];
    size_t entry_len;
    int64_t lease_ms; /* set on ILK_OK: what is left of the lease */
    /* for a kind's own probe, which asks about several names in turn */
    size_t index;
    int64_t shortest_ms;
    ilk__request_then *then;
};
void ilk__hold_probe(ilk__request *request, ilk__probe *probe,
                     const ilk__hold *hold, ilk__request_then *then);

/* For release op types: the script, the keys and the token; the same with the
   arguments grant_ms, limit, liveness; and the reply. */
const ilk__release *ilk__hold_begin_release(ilk__op *op);
void ilk__hold_ask_release(ilk__op *op);
void ilk__hold_ask_break(ilk__op *op); /* the same, and the breaker */
ilk__act ilk__hold_released(ilk__op *op, const ilk__reply *reply);

/* ---- the op types of a primitive without arguments of its own ----------- */

#define ILK__HOLD_ACQUIRE(what)                                                \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .ask = ilk__wait_ask,     \
        .reply = ilk__wait_reply, .start = ilk__wait_start,                    \
        .wake = ilk__wait_wake, .cancelled = ilk__wait_is_cancelled,           \
        .failed = ilk__wait_failed, .sent = ilk__wait_sent                     \
    }
#define ILK__HOLD_REFRESH(what)                                                \
    {                                                                          \
        .name = #what, .script = ILK__SCRIPT_##what, .reply_is_optional = 1,   \
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
