/* SPDX-License-Identifier: MIT */
/*
 * shared.h -- the shared client state, which the callers' threads and the
 * keeper both use: timers, waiters, leases, posted operations, notifications.
 * One mutex guards all of it except atomics; no I/O happens while it is held.
 */
#ifndef ILK__SHARED_H
#define ILK__SHARED_H

#include "base/notification.h"
#include "base/park.h"
#include "base/recent.h"
#include "base/siphash.h"
#include "base/table.h"
#include "base/token.h"
#include "inflight.h"
#include "redis/keys.h"

#include <pthread.h>

enum { ILK__LABEL_MAX = 127 };

typedef struct ilk__shared ilk__shared;
typedef struct ilk__message ilk__message;
typedef struct ilk__confirmer ilk__confirmer;
typedef struct ilk__lease ilk__lease;

/*
 * Passes on a grant, wake-up or signal whose waiter is gone or does not accept
 * it. Called with the mutex held; the message is valid during the call.
 */
typedef void ilk__orphaned(ilk__shared *shared, const ilk__message *message);

/* A sleeping thread of the blocking driver, or the application's loop. */
typedef struct ilk__sleeper {
    struct ilk__sleeper *next;
    ilk__parker *parker;
} ilk__sleeper;

typedef enum ilk__inbox_state {
    ILK__INBOX_NONE,   /* not needed yet */
    ILK__INBOX_WANTED, /* connecting or subscribing */
    ILK__INBOX_READY,  /* the subscription is confirmed */
    ILK__INBOX_REFUSED /* see inbox_error */
} ilk__inbox_state;

struct ilk__shared {
    pthread_mutex_t mutex;
    ilk__pollable wakeup; /* wakes the keeper */
    int64_t plan;         /* until when the keeper sleeps */
    int closed;
    char client_id[ILK__CLIENT_ID_LEN + 1];
    unsigned char waiter_key[ILK__SIPHASH_KEY]; /* of secrets, see secret.h */
    unsigned char list_key[ILK__SIPHASH_KEY];
    char label[ILK__LABEL_MAX + 1];
    char who[ILK__CLIENT_ID_LEN + 1 + 128]; /* in records: `<client> <label>` */
    ilk__timers timers;
    ilk__table waiters;    /* by id */
    ilk__table refreshers; /* by their keys and their refresh operation */
    ilk__table lists;      /* the refreshers' names for signals, by name */
    ilk__buf scratch;      /* to compose a key of refreshers or channels */
    ilk__recent
        recent; /* marks of detached tokens, and of messages that have come
                   (grants, signals), to drop second copies */
    ilk__inflight *posted, **posted_end; /* for the keeper to start */
    ilk__sleeper *sleepers;
    _Atomic uint32_t wakes; /* counts ilk__shared_wake_sleepers(): a thread
                               about to sleep compares it */
    _Atomic int32_t inbox;  /* an ilk__inbox_state */
    ilk_error inbox_error;
    unsigned subscriber_count; /* connections that are to be subscribed to our
                                  channel: with replicas several */
    unsigned subscribed_count; /* those that are */
    int own_lost;              /* the primary's connection is not among them */
    ilk__table channels;       /* with listeners (channel.h) */
    int refresher_channels;    /* the number of refreshers with a channel */
    int channels_changed;      /* a channel was added or removed */
    _Atomic int32_t notifications_wanted; /* the application polls for them */
    ilk__orphaned *orphaned[26]; /* by kind of entry, 'a' to 'z'; or NULL */
    int64_t last_id;
    ilk__confirmer *confirmer; /* NULL: a hold needs no replicas */
    ilk__lease *renewed;       /* the leases that the keeper renews */
    int giving_back;           /* cancels in flight, see wait_queue.h */
    int has_gateway;           /* its connections lead to one of this process */
    /* 1: a reply to an earlier EVALSHA proved that the script is loaded */
    _Atomic char knows_script[ILK__SCRIPT_COUNT];
    ilk__outage outage;
    _Atomic uint32_t interrupts; /* ilk_client_interrupt() calls */
    _Atomic uint32_t *stops;     /* the client's: odd while it is stopped */
    ilk__notifications notifications;
    ilk_client_stats stats;
};

ilk_status ilk__shared_open(ilk__shared *shared, const char *label,
                            ilk_error *err);
/* No other thread may use it any more, and its channels must have been freed
 * (channel.h). */
void ilk__shared_close(ilk__shared *shared);

void ilk__shared_lock(ilk__shared *shared);
void ilk__shared_unlock(ilk__shared *shared);

/* Whether ilk_client_stop() was called and ilk_client_resume() was not. */
int ilk__shared_is_stopped(const ilk__shared *shared);
/* Whether there is a stop that a wait has not seen yet. *seen, at first 0, is
 * the number of the last stop that it has seen, so it sees each stop once. */
int ilk__shared_is_stopped_anew(const ilk__shared *shared, uint32_t *seen);

/* These lock the mutex themselves. */
int64_t ilk__shared_new_id(ilk__shared *shared);
/* Have the keeper open the inbox; `again`: even if it was refused before.
 * Returns its state; *why: the last reason why it is not ready. */
int32_t ilk__shared_want_inbox(ilk__shared *shared, int again, ilk_error *why);

/* With the mutex held. */
/* Wake the keeper unless it will wake by `due` anyway. */
void ilk__shared_wake_keeper(ilk__shared *shared, int64_t due);
void ilk__shared_set_timer(ilk__shared *shared, ilk__timer *timer, int64_t due);
void ilk__shared_post(ilk__shared *shared, ilk__inflight *inflight);
ilk__inflight *ilk__shared_next_posted(ilk__shared *shared); /* or NULL */
void ilk__shared_wake_sleepers(ilk__shared *shared);

#endif
