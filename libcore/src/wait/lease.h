/* SPDX-License-Identifier: MIT */
/*
 * lease.h -- what a handle holds: under which token and fence, for sure until
 * when, and the renewal that keeps it.
 *
 *     FREE --begin--> HELD --end--> FREE
 *                      |  \__ renewed: a later deadline
 *                      +--lost--> LOST --end--> FREE
 *
 * State, deadline and fence may be read by any thread at any time; all else
 * is guarded by the shared state's mutex. Renewal asks at a third of the lease;
 * when it is refused, or not answered by the local deadline, the lease is LOST
 * and stays so, and the client's notification descriptor tells.
 *
 * Changes of one hold travel on up to three connections, which have no order
 * among them. The deadline is right in whatever order the server executes
 * them, because the handle believes the least that may be true:
 *
 *   renewal          never shortens the lease on the server. Its answer moves
 *                    the deadline forward or not at all.
 *   extend           sets the lease, also to a shorter one. While it is under
 *                    way, and after it was given up without an answer, no
 *                    answer to anything else is believed for longer than the
 *                    extend asked for: it may be executed next. An answer on
 *                    the same connection, or on one that replaced it, ends
 *                    that doubt, because the server executes in that order
 *                    (see login.h for connections that are replaced).
 */
#ifndef ILK__LEASE_H
#define ILK__LEASE_H

#include "op/shared.h"

enum {
    ILK__TOKEN_MAX = 128, /* bytes of a token that is adopted */
    ILK__LEASE_DEFAULT_MS = 30 * 1000,
    ILK__DRIFT_MS = 2 /* and 1 %: by how much clocks may disagree */
};
#define ILK__LEASE_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

typedef enum ilk__lease_state {
    ILK__LEASE_FREE,
    ILK__LEASE_HELD,
    ILK__LEASE_LOST
} ilk__lease_state;

typedef struct ilk__lease ilk__lease;

/* What a primitive tells about its leases. Constant. */
typedef struct ilk__lease_kind {
    const char *noun;                        /* "lock": in texts */
    ilk_notification_kind lost_notification; /* that tells of a loss */
    const ilk__op_type *extend;              /* see ilk__lease_ask() */
    int tells_fence; /* that takes a fence as last argument */
} ilk__lease_kind;

/* A question about a lease: the subject of operations that extend it. */
typedef struct ilk__extension {
    const ilk__lease_kind *kind;
    const ilk__bytes *keys;
    size_t key_count;
    const char *token;
    size_t token_len;
    int64_t ttl_ms; /* asked for; then what the server granted */
    int renews;     /* never shortens */
    int64_t fence;  /* raise the records to this; then the fence on record */
} ilk__extension;

typedef struct ilk__renewal ilk__renewal;

/* Which connection an extend takes; each executes in the order of sending. */
typedef enum ilk__lease_way {
    ILK__LEASE_BY_CALLER, /* the lane */
    ILK__LEASE_BY_LOOP,   /* the application's event loop */
    ILK__LEASE_WAYS
} ilk__lease_way;

/* An extend under way, and how to take its effect back if it was not sent. */
typedef struct ilk__lease_change {
    ilk__lease_way way;
    int64_t asked_at, ttl_ms;
    int64_t deadline, span_ms; /* before it */
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

    int64_t ttl_ms;  /* what renewals ask for */
    int64_t span_ms; /* what the server granted last */
    /* The shortest lease that extends asked for: of those that were given up
       without an answer, and of those under way. 0: there are none. */
    int64_t doubt_ms[ILK__LEASE_WAYS], changing_ms;
    int changes;           /* extends under way */
    int overlapped;        /* some of them at the same time */
    int64_t hold_end;      /* no renewal beyond */
    int renews;            /* this hold is renewed */
    int watched;           /* the keeper looks after this hold */
    ilk__timer timer;      /* the next renewal, or the deadline */
    ilk__renewal *renewal; /* under way */
};

/* The local moment until which a lease that began then is ours for sure. */
int64_t ilk__lease_deadline(int64_t began, int64_t lease_ms);

ilk_status ilk__lease_init(ilk__lease *lease, ilk__shared *shared,
                           const ilk__lease_kind *kind, const ilk__bytes *keys,
                           size_t key_count, int64_t id, ilk_error *err);

/* The handle is freed: the hold is forgotten, a late answer finds nobody. */
void ilk__lease_destroy(ilk__lease *lease);

/* A new hold: taken, and for sure ours until deadline. */
void ilk__lease_begin(ilk__lease *lease, int64_t fence, int64_t deadline,
                      int64_t span_ms);

/*
 * The server has said that at least lease_ms were left after a question that
 * was asked then. 0 when the lease has been lost or given up meanwhile.
 */
int ilk__lease_prolong(ilk__lease *lease, int64_t asked_at, int64_t lease_ms);

/* How an extend ended. */
typedef struct ilk__lease_outcome {
    ilk_status status;
    int64_t lease_ms; /* ILK_OK: what the server granted */
    /* a copy of it may have been executed, or may be yet, without an answer */
    int may_have_run;
    int in_order; /* of those that were sent before, none may be */
} ilk__lease_outcome;

/*
 * Around an extend: before it is asked, and with its outcome. The second
 * returns the status, or ILK_ELOST when the lease ended before the answer.
 */
void ilk__lease_change_begin(ilk__lease *lease, ilk__lease_change *change,
                             ilk__lease_way way, int64_t ttl_ms);
ilk_status ilk__lease_change_end(ilk__lease *lease,
                                 const ilk__lease_change *change,
                                 const ilk__lease_outcome *outcome,
                                 ilk_error *err);

/* Let the keeper look after the hold: renew it, or tell when it ends. */
void ilk__lease_watch(ilk__lease *lease, int64_t ttl_ms, int renews,
                      int64_t hold_end);

/*
 * Give the hold away under its token. Blocks until no renewal is under way:
 * it was answered, or its connection was closed. ILK_ELOST.
 */
ilk_status ilk__lease_detach(ilk__lease *lease, ilk_error *err);

/* An extend on this connection was given up without an answer. */
int ilk__lease_in_doubt(const ilk__lease *lease, ilk__lease_way way);

void ilk__lease_end(ilk__lease *lease);  /* given up or away */
void ilk__lease_lose(ilk__lease *lease); /* found out by the caller */

/* ILK_OK while held; ILK_ELOST; ILK_ENOTOWNER when free. */
ilk_status ilk__lease_check(const ilk__lease *lease, ilk_error *err);

int64_t ilk__lease_remaining(const ilk__lease *lease);

/*
 * The question that extends this lease to ttl_ms, or, if it renews, to
 * ttl_ms at least.
 */
void ilk__lease_extension(const ilk__lease *lease, ilk__extension *out,
                          int64_t ttl_ms, int renews);

/* For the primitives' extending op types; op->subject is an ilk__extension. */
void ilk__lease_ask(ilk__op *op);
ilk__act ilk__lease_extended(ilk__op *op, const ilk__reply *reply);

#endif
