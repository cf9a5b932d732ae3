/* SPDX-License-Identifier: MIT */
/*
 * contention.h -- the holds and waits of one client at a store that is no Redis.
 *
 *   the core's requests      this layer                            the store
 *
 *   lock_acquire and kin ->  a contender ---------------- join -->  its entry or row
 *     <- HELD, QUEUED, BUSY  <----- granted, queued, busy, failed
 *     <- message: grant      <----- granted, of one that waits
 *   lock_extend and kin ->   ---------------------------- renew ->
 *     <- HELD, LOST          <----- granted, lost, failed
 *   lock_release ->          ---------------------------- leave ->
 *     <- RELEASED, LOST      <----- left
 *   lock_refresh and kin ->  ---------------------------- check ->
 *     <- from what is known  <----- checked
 *
 * A contender is one token of the core:
 *
 *     JOINS --queued--> WAITS          granted: from JOINS and WAITS to HOLDS
 *       |                 |            lost: it is forgotten; one that waits
 *       +--> HOLDS <------+                  gets a wake-up, and joins again
 *              |                       busy: the end of a try
 *            LEAVES --left--> ENDED    remembered a minute for repeated requests
 *
 * This layer reads the requests, finds contenders by token, writes all replies and
 * messages, ends holds whose lease is over and waits whose client is silent, and
 * refuses an acquire that comes after its cancel. The store does the I/O. All
 * functions are for the gateway's thread. A store may report from within its own
 * functions, but must not from within a callback of a library that it cannot enter
 * again.
 */
#ifndef ILK__CONTENTION_H
#define ILK__CONTENTION_H

#include "base/table.h"
#include "gateway/backend.h"
#include "redis/keys.h"

typedef struct ilk__contention ilk__contention;
typedef struct ilk__contended ilk__contended;
typedef struct ilk__contender ilk__contender;

/* The object of a contention. A writer of a read/write lock is a plain lock. */
typedef enum ilk__contended_kind {
    ILK__CONTENDED_LOCK,
    ILK__CONTENDED_ELECTION,
    ILK__CONTENDED_SEMAPHORE
} ilk__contended_kind;

typedef enum ilk__contender_kind {
    ILK__CONTENDER_EXCLUSIVE = 'x',
    ILK__CONTENDER_READER = 'r',
    ILK__CONTENDER_CANDIDATE = 'e',
    ILK__CONTENDER_PERMITS = 'p'
} ilk__contender_kind;

typedef enum ilk__contender_state {
    ILK__CONTENDER_JOINS,
    ILK__CONTENDER_WAITS,
    ILK__CONTENDER_HOLDS,
    ILK__CONTENDER_LEAVES, /* leave() was called, and left() was not */
    ILK__CONTENDER_ENDED
} ilk__contender_state;

/* How a contender has left. */
typedef enum ilk__left {
    ILK__LEFT_NO_HOLD,  /* the hold had gone before, or it did not hold */
    ILK__LEFT_ITS_HOLD, /* leave() has ended the hold */
    ILK__LEFT_EITHER_WAY /* an earlier copy had no answer, and may have ended it */
} ilk__left;

/* A name with contenders or observers of this client. */
struct ilk__contended {
    ilk__node by_key;
    ilk__contention *contention;
    ilk__contended_kind kind;
    ilk__bytes key; /* keys[0] of the requests: in its own memory */
    ilk__span name; /* the user's name, inside key */
    ilk__contender
        *first; /* that have not ENDED, in the order of their joins */
    ilk__contender *last;
    size_t observers; /* of an election, that wait for a change */
    void *at_store;   /* the store's own; forget_name() frees it */
};

struct ilk__contender {
    ilk__contender *next, *previous; /* of its name, or of the ended ones */
    ilk__node by_token;
    ilk__contended *of;
    ilk__contender_kind kind;
    ilk__contender_state state;
    ilk__bytes token, who, client;
    ilk__bytes waiter; /* of its entry, `x12.<secret>`; empty: it only tries */
    ilk__bytes value;  /* of a candidate; leave() and renew() do not touch it */
    int64_t lease_ms;  /* that the core asks for */
    int64_t liveness_ms, grant_ms, floor;
    int64_t permits, limit; /* of PERMITS; of others 1 and 1 */
    int renews;             /* the lease must not end before its present end */
    int64_t fence;          /* HOLDS */
    int64_t ends;           /* HOLDS: local ms, the end of the lease */
    void *at_store;         /* the store's own; forget() frees it */
    int is_listed;          /* name_queue.c only */

    /* contention.c only */
    ilk__gateway_request *request; /* without its reply */
    int is_queued;                 /* the core has that reply, or a grant */
    ilk__left left;                /* ENDED */
    int64_t until; /* WAITS, JOINS: its client counts as alive; LEAVES: its
                      request waits for left(); ENDED: it is remembered */
};

/* A holder or waiter, as an inspection shows it. All texts are borrowed. */
typedef struct ilk__contended_entry {
    char kind;
    ilk__span token, who;
    int64_t permits, fence, since_ms,
        lease_ms; /* since: ms of the epoch, 0: not
                                                  known; lease: -1: not known */
} ilk__contended_entry;

typedef struct ilk__contended_state {
    size_t holders, waiters; /* all that there are */
    const ilk__contended_entry
        *entries;    /* holders, then waiters, in order: all, or
                                            the first `most` of inspect() */
    int64_t limit;   /* of a semaphore, 0: none on record */
    int64_t version; /* of a leader's value */
    ilk__span value;
} ilk__contended_state;

/*
 * The work of a store. `self` is the backend's own. Each begins something that ends
 * with one report, then or later.
 */
typedef struct ilk__contention_store {
    const char *name; /* in messages: "etcd" */
    /* Join the queue of its name, or try once (waiter is empty). Ends with
     * granted(), queued(), busy() or failed(). After queued() there may be
     * granted() or lost() at any time. After busy() its entry may still exist:
     * leave() is called from within busy(). After failed() as well: leave() is called
     * when the core does not repeat the request. Called again for the same contender
     * after failed(): find what the first call did. */
    void (*join)(void *self, ilk__contender *contender);
    /* Give the hold a lease of lease_ms from now: granted(), lost() or failed(). */
    void (*renew)(void *self, ilk__contender *contender);
    /* Remove what the contender has at the store, whatever state it is in: left(),
     * once the store has said that nothing is there. The backend repeats it until
     * then, over new connections as well. failed() may come before left(): it ends
     * the core's request, but not the work. */
    void (*leave)(void *self, ilk__contender *contender);
    /* Renew the hold of a token that this client does not know: granted(), lost() or
     * failed(). NULL: holds do not outlive their client, and such a token is LOST. */
    void (*adopt)(void *self, ilk__contender *contender);
    /* The contender or name is not used any more, and has nothing at the store. A
     * name is forgotten from ilk__contention_fire() or free() only, so a store may
     * use it after the report about its last contender. */
    void (*forget)(void *self, ilk__contender *contender);
    void (*forget_name)(void *self, ilk__contended *name);
    /* Compare what is known about the contenders of a name with the store:
     * granted() and lost() of those that changed, then checked(). */
    void (*check)(void *self, ilk__contended *name,
                  ilk__gateway_request *request);
    /* Read a name, with at most `most` entries: inspected(). For an election it is
     * called for the observers, too. */
    void (*inspect)(void *self, ilk__contended *name, int64_t most,
                    ilk__gateway_request *request);
    /* Take the hold of this token, or any if it is empty, from whoever has it:
     * broken(). */
    void (*break_hold)(void *self, ilk__contended *name, ilk__span token,
                       ilk__gateway_request *request);
    /* The value of a leader, which has changed: granted() when it is written, lost(),
     * failed(). NULL: no elections. */
    void (*proclaim)(void *self, ilk__contender *contender);
    /* From now on (or no longer), report each change of the leader or its value:
     * election_changed(). NULL: no elections. */
    void (*observe)(void *self, ilk__contended *name, int begins);
    /* Change a semaphore's limit: limit_set(). NULL: no semaphores. */
    void (*set_limit)(void *self, ilk__contended *name, int64_t limit,
                      int64_t base, ilk__gateway_request *request);
    int has_readers; /* read/write locks */
} ilk__contention_store;

/* NULL: no memory. */
ilk__contention *ilk__contention_new(ilk__gateway *gateway,
                                     const ilk__contention_store *store,
                                     void *self);
/* Replies to all requests by breaking their connections. Calls forget() and
 * forget_name(), not leave(). */
void ilk__contention_free(ilk__contention *contention);

/* A backend's call(). Scripts of primitives that the store does not keep are
 * refused with ILKNONE. */
void ilk__contention_call(ilk__contention *contention,
                          ilk__gateway_request *request);
/* A backend's replies_alone(): the lists of observers, and of those who wait for a
 * register or a group, are kept here. */
int ilk__contention_replies_alone(const ilk__gateway_request *request);
/* The time of the next timer, and what is due. */
int64_t ilk__contention_due(const ilk__contention *contention);
void ilk__contention_fire(ilk__contention *contention, int64_t now);

/* All contenders that have not ENDED, as after a lost session: begin with NULL. The
 * one that was returned may have been forgotten by now. */
ilk__contender *ilk__contention_next(ilk__contention *contention,
                                     ilk__contended **name,
                                     ilk__contender *previous);

/* ---- reports ------------------------------------------------------------- */

/* It holds, with a lease that ends at this local time, counted from before the
 * sending of what acquired or renewed it. */
void ilk__contender_granted(ilk__contender *contender, int64_t fence,
                            int64_t ends);
/* Both with the rest of the holder's lease, -1: not known; `ours`: the holder is one
 * of this library's. */
void ilk__contender_queued(ilk__contender *contender, int64_t holder_ms,
                           int ours);
void ilk__contender_busy(ilk__contender *contender, int64_t holder_ms,
                         int ours);
/* A semaphore with other limits, or with fewer permits in all than the contender
 * wants: an acquire is refused, and leave() is called from within. */
void ilk__contender_differs(ilk__contender *contender, int64_t limit,
                            int64_t base);
/* The store has said that its hold or its place is gone. The contender is freed. */
void ilk__contender_lost(ilk__contender *contender);
/* Nothing of it is at the store. The contender must not be used afterwards. */
void ilk__contender_left(ilk__contender *contender, ilk__left left);
/* An error such as "ILKDOWN no server of etcd answers": its first word decides
 * the status, see redis/reply.h. NULL: the request may have been executed, or may be
 * executed later, and the core repeats it. The contender stays as it is. */
void ilk__contender_failed(ilk__contender *contender, const char *text);

/* `error`: NULL, or as of failed(). */
void ilk__contention_checked(ilk__contended *name,
                             ilk__gateway_request *request, const char *error);
void ilk__contention_inspected(ilk__contended *name,
                               ilk__gateway_request *request,
                               const ilk__contended_state *state,
                               const char *error);
void ilk__contention_broken(ilk__contended *name, ilk__gateway_request *request,
                            int was_held, const char *error);
/* Instead of broken(): a copy that was sent to the store may have broken the hold, or
 * may do so later. */
void ilk__contention_break_unsure(ilk__contended *name,
                                  ilk__gateway_request *request);
void ilk__contention_limit_set(ilk__contended *name,
                               ilk__gateway_request *request,
                               int64_t limit_before, const char *error);
void ilk__contention_election_changed(ilk__contended *name);

#endif
