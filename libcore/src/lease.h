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
 * is guarded by the desk's mutex. Renewal asks at a third of the lease; when
 * it is refused, or not answered by the local deadline, the lease is LOST and
 * stays so, and the client's event descriptor tells.
 */
#ifndef ILK__LEASE_H
#define ILK__LEASE_H

#include "desk.h"

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

/* What a column tells about its leases. Constant. */
typedef struct ilk__lease_kind {
    const char *noun;           /* "lock": in texts */
    ilk_event_kind lost_event;  /* that tells of a loss */
    const ilk__op_type *extend; /* see ilk__lease_ask() */
    int tells_fence;            /* that takes a fence as last argument */
} ilk__lease_kind;

/* A question about a lease: the subject of operations that extend it. */
typedef struct ilk__extension {
    const ilk__lease_kind *kind;
    const ilk__bytes *keys;
    size_t key_count;
    const char *token;
    size_t token_len;
    int64_t ttl_ms; /* asked for; then what the server granted */
    int64_t fence;  /* raise the records to this; then the fence on record */
} ilk__extension;

typedef struct ilk__renewal ilk__renewal;

struct ilk__lease {
    _Atomic int32_t state;
    _Atomic int64_t deadline; /* local; 0 when not held */
    _Atomic int64_t fence;    /* of the current or last hold */
    char token[ILK__TOKEN_MAX + 1];
    size_t token_len;

    ilk__desk *desk;
    const ilk__lease_kind *kind;
    const ilk__bytes *keys; /* for the extending script */
    size_t key_count;
    int64_t id; /* the handle's, for events */

    int64_t ttl_ms;        /* what renewals ask for */
    int64_t span_ms;       /* what the server granted last */
    int64_t hold_end;      /* no renewal beyond */
    int renews;            /* this hold is renewed */
    int watched;           /* the keeper looks after this hold */
    ilk__timer timer;      /* the next renewal, or the deadline */
    ilk__renewal *renewal; /* under way */
};

/* The local moment until which a lease that began then is ours for sure. */
int64_t ilk__lease_deadline(int64_t began, int64_t lease_ms);

ilk_status ilk__lease_init(ilk__lease *lease, ilk__desk *desk,
                           const ilk__lease_kind *kind, const ilk__bytes *keys,
                           size_t key_count, int64_t id, ilk_error *err);

/* The handle is freed: the hold is forgotten, a late answer finds nobody. */
void ilk__lease_destroy(ilk__lease *lease);

/* A new hold: taken, and for sure ours until deadline. */
void ilk__lease_begin(ilk__lease *lease, int64_t fence, int64_t deadline,
                      int64_t span_ms);

/* The server granted another lease_ms to a question asked then. */
void ilk__lease_prolong(ilk__lease *lease, int64_t asked_at, int64_t lease_ms);

/* Let the keeper look after the hold: renew it, or tell when it ends. */
void ilk__lease_watch(ilk__lease *lease, int64_t ttl_ms, int renews,
                      int64_t hold_end);

void ilk__lease_end(ilk__lease *lease);  /* given up or away */
void ilk__lease_lose(ilk__lease *lease); /* found out by the caller */

/* ILK_OK while held; ILK_ELOST; ILK_ENOTOWNER when free. */
ilk_status ilk__lease_check(const ilk__lease *lease, ilk_error *err);

int64_t ilk__lease_remaining(const ilk__lease *lease);

/* The question that extends this lease to ttl_ms. */
void ilk__lease_extension(const ilk__lease *lease, ilk__extension *out,
                          int64_t ttl_ms);

/* For the columns' extending op types; op->subject is an ilk__extension. */
void ilk__lease_ask(ilk__op *op);
ilk__act ilk__lease_extended(ilk__op *op, const ilk__reply *reply);

#endif
