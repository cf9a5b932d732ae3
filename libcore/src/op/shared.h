/* SPDX-License-Identifier: MIT */
/*
 * shared.h -- the shared client state: what the callers' threads and the keeper
 * share: timers, waits, leases, in-flight operations, news. One mutex guards
 * all of it; no I/O happens under it.
 */
#ifndef ILK__SHARED_H
#define ILK__SHARED_H

#include "base/notification.h"
#include "base/park.h"
#include "base/recent.h"
#include "base/table.h"
#include "base/token.h"
#include "inflight.h"
#include "redis/keys.h"

#include <pthread.h>

typedef struct ilk__shared ilk__shared;
typedef struct ilk__message ilk__message;

/*
 * Passes on what a message brings when the waiter it is for waits no more, or
 * has what it wanted. Called with the mutex held; the message lives for the
 * call.
 */
typedef void ilk__orphaned(ilk__shared *shared, const ilk__message *message);

/* A thread asleep in the blocking driver. */
typedef struct ilk__sleeper {
    struct ilk__sleeper *next;
    ilk__parker *parker;
} ilk__sleeper;

typedef enum ilk__inbox_state {
    ILK__INBOX_NONE,   /* nobody has needed it yet */
    ILK__INBOX_WANTED, /* on its way */
    ILK__INBOX_READY,  /* subscribed, confirmed */
    ILK__INBOX_REFUSED /* inbox_error tells why */
} ilk__inbox_state;

struct ilk__shared {
    pthread_mutex_t mutex;
    ilk__pollable wakeup; /* wakes the keeper */
    int64_t plan;         /* when the keeper will look by itself */
    int closed;
    char client_id[ILK__CLIENT_ID_LEN + 1];
    char label[128];
    ilk__timers timers;
    ilk__table waiters;    /* by id */
    ilk__table refreshers; /* by their keys and how they refresh */
    ilk__table lists;   /* the refreshers' lists that take signals, by name */
    ilk__buf scratch;   /* for a key of refreshers or channels */
    ilk__recent recent; /* signals */
    ilk__inflight *posted, **posted_end;
    ilk__sleeper *sleepers;
    _Atomic uint32_t wakes; /* of all sleepers, for who is about to sleep */
    _Atomic int32_t inbox;  /* an ilk__inbox_state */
    ilk_error inbox_error;
    unsigned subscribed_count; /* connections that hear our channel */
    int own_lost;              /* the server's own is not among them */
    ilk__table channels;       /* that somebody listens to */
    int refresher_channels;    /* refreshers with a channel */
    int channels_changed;      /* one of these came or went */
    _Atomic int32_t notifications_wanted; /* somebody polls for news */
    ilk__orphaned *orphaned[26]; /* by kind of entry, 'a' to 'z'; or NULL */
    int64_t last_id;
    /* an answer to what was told without its source has shown it */
    _Atomic char knows_script[ILK__SCRIPT_COUNT];
    _Atomic uint32_t interrupts; /* ilk_client_interrupt() calls */
    ilk__notifications notifications;
    ilk_client_stats stats;
};

ilk_status ilk__shared_open(ilk__shared *shared, const char *label,
                            ilk_error *err);
/* Nobody else may be at it, and its channels are freed (channel.h). */
void ilk__shared_close(ilk__shared *shared);

void ilk__shared_lock(ilk__shared *shared);
void ilk__shared_unlock(ilk__shared *shared);

/* These take the mutex themselves. */
int64_t ilk__shared_new_id(ilk__shared *shared);
/* Ask for the inbox; again: also if it was refused to somebody before. The
 * state it is in, and why it is not ready. */
int32_t ilk__shared_want_inbox(ilk__shared *shared, int again, ilk_error *why);

/* With the mutex held. */
/* keeper, look by then */
void ilk__shared_wake_keeper(ilk__shared *shared, int64_t due);
void ilk__shared_set_timer(ilk__shared *shared, ilk__timer *timer, int64_t due);
void ilk__shared_post(ilk__shared *shared, ilk__inflight *inflight);
ilk__inflight *ilk__shared_next_posted(ilk__shared *shared); /* or NULL */
void ilk__shared_wake_sleepers(ilk__shared *shared);

#endif
