/* SPDX-License-Identifier: MIT */
/*
 * lease.h -- the lease of a handle: its token, its fence, the deadline until
 * which it is certainly held, and its renewal.
 *
 *     FREE --begin--> HELD --end--> FREE
 *                      |  \__ renewed: a later deadline
 *                      +--lost--> LOST --end--> FREE
 *
 * Any thread may read state, deadline and fence at any time; the shared state's
 * mutex guards all else. The keeper renews after a third of the lease. If the
 * server replies that the hold is gone, or if the local deadline passes without a
 * renewal, the lease is LOST and stays so, and the client gets a notification. Any
 * other failure is followed by another renewal. A lease that the keeper neither
 * renews nor watches keeps the state HELD, but is no longer certain after its
 * deadline.
 *
 * Commands that change one lease travel on up to three connections (caller's
 * lane, application's loop, keeper), so their order on the server is unknown.
 * The deadline is safe in any order, because it assumes the shortest lease that
 * is possible:
 *
 *   renewal          never shortens the lease on the server. Its reply makes
 *                    the deadline later or leaves it.
 *   extend           sets the lease, also to a shorter one. While an extend is
 *                    in flight, or was given up without a reply, the server may
 *                    execute it at any time. As long as that is so, no reply to
 *                    another command moves the deadline further than the lease
 *                    of the extend would. This doubt ends with a later reply on
 *                    the same connection, or on one that replaced it, because
 *                    the server executes these in order (login.h describes
 *                    how a connection is replaced).
 */
#ifndef ILK__LEASE_H
#define ILK__LEASE_H

#include "loss.h"
#include "op/shared.h"

enum {
    ILK__TOKEN_MAX = 128, /* bytes of a token that is adopted */
    ILK__LEASE_DEFAULT_MS = 30 * 1000,
    ILK__DRIFT_MS = 2 /* plus 1 %: the assumed error of the clocks */
};
#define ILK__LEASE_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

typedef enum ilk__lease_state {
    ILK__LEASE_FREE,
    ILK__LEASE_HELD,
    ILK__LEASE_LOST
} ilk__lease_state;

/* The common part of the leases of one primitive. Constant. */
typedef struct ilk__lease_kind {
    const char *noun;                        /* for error texts: "lock" */
    ilk_notification_kind lost_notification; /* sent when a lease is lost */
    const ilk__op_type *extend;              /* see ilk__lease_ask() */
    int sends_fence; /* its script has the fence as last argument */
} ilk__lease_kind;

/* The arguments and results of an extending operation, which is its subject. */
typedef struct ilk__extension {
    const ilk__lease_kind *kind;
    const ilk__bytes *keys;
    size_t key_count;
    const char *token;
    size_t token_len;
    int64_t ttl_ms; /* in: the requested lease; out: the granted lease */
    int renews;     /* a renewal: the script must not shorten the lease */
    int64_t fence;  /* in: raise the record to this; out: the recorded fence */
    ilk__evidence evidence; /* out: of a loss */
} ilk__extension;

typedef struct ilk__renewal ilk__renewal;

/* The connection of an extend. The server executes the commands of one
 * connection in the order of sending. */
typedef enum ilk__lease_way {
    ILK__LEASE_BY_CALLER, /* the lane */
    ILK__LEASE_BY_LOOP,   /* the application's event loop */
    ILK__LEASE_WAYS
} ilk__lease_way;

/* An extend in flight, and what to restore if it turns out not to be sent. */
typedef struct ilk__lease_change {
    ilk__lease_way way;
    int64_t sent_at, ttl_ms;
    int64_t deadline, span_ms; /* the lease's, before the extend */
} ilk__lease_change;

struct ilk__lease {
    _Atomic int32_t state;
    _Atomic int64_t deadline; /* local; 0 when not held */
    _Atomic int64_t fence;    /* of the current or last hold */
    char token[ILK__TOKEN_MAX + 1];
    size_t token_len;

    ilk__shared *shared;
    const ilk__lease_kind *kind;
    const ilk__bytes *keys; /* for the extending script */
    size_t key_count;
    int64_t id; /* the handle's, for notifications */
    /* Set by the handle: the program's, for notifications; and how texts name what is
       held. Borrowed; the name may be NULL. */
    void *user;
    const char *name;
    size_t name_len, others; /* how many names more it has */

    int64_t ttl_ms;  /* what renewals ask for */
    int64_t span_ms; /* what the server granted last */
    /* The shortest lease that an extend requested: among those given up
       without a reply, and among those in flight. 0: there are none. */
    int64_t doubt_ms[ILK__LEASE_WAYS], changing_ms;
    int changes;           /* extends in flight */
    int overlapped;        /* two or more were in flight at the same time */
    int64_t hold_end;      /* renewals do not extend the lease beyond this */
    int renews;            /* the keeper renews this hold */
    int watched;           /* the timer runs: for renewals or for the end */
    ilk__timer timer;      /* the next renewal, or the deadline */
    ilk__renewal *renewal; /* in flight; or NULL */
    int unanswered;        /* a renewal was sent since the last reply to one */
    ilk__loss loss;        /* of the current or last hold, if it was lost */
    ilk__lease *next, **link; /* in shared->renewed; link NULL: not in it */
    /* Has the keeper release what the token holds, with the mutex held, when the client
       is closed. Set by the handle; NULL: the lease is left to expire. */
    void (*give_back)(ilk__lease *lease);
};

/* ILK_EINVAL unless the lease that a caller asks for by `field` can be held at
 * all: for a lease up to ILK__DRIFT_MS the deadline below is not after `began`. */
ilk_status ilk__lease_check_ms(const char *field, int64_t lease_ms,
                               ilk_error *err);

/* The local time until which a lease that began at `began` certainly lasts. */
int64_t ilk__lease_deadline(int64_t began, int64_t lease_ms);

ilk_status ilk__lease_init(ilk__lease *lease, ilk__shared *shared,
                           const ilk__lease_kind *kind, const ilk__bytes *keys,
                           size_t key_count, int64_t id, ilk_error *err);

/* For a handle that is freed. A renewal in flight goes on without it; the lease
 * on the server is left to expire. */
void ilk__lease_destroy(ilk__lease *lease);

/* Begin a hold that certainly lasts until deadline. span_ms: its lease. */
void ilk__lease_begin(ilk__lease *lease, int64_t fence, int64_t deadline,
                      int64_t span_ms);

/*
 * The hold that began just now is not believed yet: the handle holds nothing
 * until ilk__lease_begin() is called again. Returns the deadline that it had.
 */
int64_t ilk__lease_withhold(ilk__lease *lease);

/*
 * A reply says that lease_ms were left, to a command sent at sent_at: move
 * the deadline. Returns 0 if the lease has been lost or released meanwhile.
 */
int ilk__lease_prolong(ilk__lease *lease, int64_t sent_at, int64_t lease_ms);

/* The outcome of an extend. */
typedef struct ilk__lease_outcome {
    ilk_status status;
    int64_t lease_ms; /* ILK_OK: what the server granted */
    /* the server may have executed a copy without a reply, or may yet */
    int may_have_run;
    int in_order; /* nothing sent before it can be executed after it */
    const ilk__evidence *evidence; /* ILK_ELOST: of the reply; or NULL */
} ilk__lease_outcome;

/*
 * To be called before an extend is sent, and with its outcome. The second
 * returns the outcome's status, or ILK_ELOST if the lease ended before the
 * reply came.
 */
void ilk__lease_change_begin(ilk__lease *lease, ilk__lease_change *change,
                             ilk__lease_way way, int64_t ttl_ms);
ilk_status ilk__lease_change_end(ilk__lease *lease,
                                 const ilk__lease_change *change,
                                 const ilk__lease_outcome *outcome,
                                 ilk_error *err);

/* Have the keeper renew the hold, or, if `renews` is 0, notice its end. */
void ilk__lease_watch(ilk__lease *lease, int64_t ttl_ms, int renews,
                      int64_t hold_end);

/*
 * Free the handle of its hold, which somebody else goes on with under the same
 * token. Blocks until no renewal is in flight, that is, until its reply came or
 * its connection was closed. ILK_ELOST.
 */
ilk_status ilk__lease_detach(ilk__lease *lease, ilk_error *err);

/* Whether an extend on this connection was given up without a reply. */
int ilk__lease_in_doubt(const ilk__lease *lease, ilk__lease_way way);

/*
 * The client is being closed: end all leases that the keeper renews, and have it
 * release them on the server. Returns the number of those. With the mutex held.
 */
size_t ilk__leases_give_back(ilk__shared *shared);

void ilk__lease_end(ilk__lease *lease); /* released, or handed over */

/* A reply says that it is lost, and perhaps why; the evidence may be NULL. */
void ilk__lease_lose(ilk__lease *lease, const ilk__evidence *evidence);
/* A reply to a release says so. The lease has ended here; it certainly lasted until
 * `deadline`. */
void ilk__lease_was_lost(ilk__lease *lease, const ilk__evidence *evidence,
                         int64_t deadline);
/*
 * ILK_ELOST, with what was lost and why: `the lock "orders" was lost<what>: broken by
 * web-1:4312`.
 */
ilk_status ilk__lease_fail_lost(const ilk__lease *lease, const char *what,
                                ilk_error *err);

/* Write the name of the hold for texts: `lock "orders"`, `lock "a" and 2 more`. */
enum { ILK__LEASE_TEXT = 128 };
const char *ilk__lease_describe(const ilk__lease *lease,
                                char to[ILK__LEASE_TEXT]);

/* ILK_OK while held; ILK_ELOST; ILK_ENOTOWNER when free. */
ilk_status ilk__lease_check(const ilk__lease *lease, ilk_error *err);

int64_t ilk__lease_remaining(const ilk__lease *lease);

/*
 * Fill in an extension that sets the lease to ttl_ms, or, if it renews, to
 * ttl_ms at least.
 */
void ilk__lease_extension(const ilk__lease *lease, ilk__extension *out,
                          int64_t ttl_ms, int renews);

/* The same with copies of keys and token, for an operation that may outlive the
 * handle. `room` has ilk__lease_copy_room() bytes. */
size_t ilk__lease_copy_room(const ilk__lease *lease);
void ilk__lease_extension_copy(const ilk__lease *lease, ilk__extension *out,
                               ilk__bytes *room, int64_t ttl_ms, int renews);

/* Fences are positive whole numbers that a double represents exactly. */
int ilk__fence_is_valid(int64_t fence);

/* For the primitives' extending op types; op->subject is an ilk__extension. */
void ilk__lease_ask(ilk__op *op);
ilk__act ilk__lease_extended(ilk__op *op, const ilk__reply *reply);

#endif
