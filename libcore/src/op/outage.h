/* SPDX-License-Identifier: MIT */
/*
 * outage.h -- since when a client cannot reach its server, and how long its calls
 * try again.
 *
 *     reached --a call finds no server, or none that replies--> since
 *        ^                                                        |
 *        '--------------------- a reply --------------------------'
 *
 * All operations of a client share it, so calls without a limit of their own count
 * from the outage's beginning: in an outage that is older than wait_ms each of them
 * makes one attempt. op.c decides; nothing else in the core repeats a request.
 */
#ifndef ILK__OUTAGE_H
#define ILK__OUTAGE_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A wait without a deadline fails when the server has not replied for this long. */
enum { ILK__CONTACT_LOST_MS = 60 * 1000 };

typedef struct ilk__outage {
    int64_t wait_ms; /* how long calls without a limit try again */
    int64_t cap_ms;  /* and those with one, if that comes later; ILK__FOREVER:
                        their own limit alone */
    int fails_over; /* another server takes over: one that is read-only is no primary
                       any more, and counts as away */
    _Atomic int64_t since; /* local time; 0: no outage is known */
    pthread_mutex_t mutex; /* of the cause; no other mutex is locked under it */
    ilk_error cause; /* the last one; its code is ILK_ECONN or ILK_ENOQUORUM */
} ilk__outage;

void ilk__outage_init(ilk__outage *outage);
void ilk__outage_destroy(ilk__outage *outage);

/* The server cannot be reached since `since`, or since an earlier note; `why` may be
 * NULL. Returns the beginning. Any thread. */
int64_t ilk__outage_note(ilk__outage *outage, int64_t since, ilk_status status,
                         const ilk_error *why);
/* A reply has come. */
void ilk__outage_end(ilk__outage *outage, int64_t now);

/* The deadline of a call without a limit: by then it has a reply, or an outage has
 * ended it. */
int64_t ilk__outage_patience(const ilk__outage *outage,
                             int64_t reply_timeout_ms);

/* How long a wait in its wait queue goes on without a reply, if its own limit is later:
 * ILK__CONTACT_LOST_MS, or as the program has said. */
int64_t ilk__outage_silence_ms(const ilk__outage *outage);

/* ILK_OK, or the status for a call that ends in an outage, with its text. */
ilk_status ilk__outage_status(ilk__outage *outage, int64_t now, ilk_error *err);

/* Put how long it has lasted before the cause. A short outage is not mentioned. */
void ilk__outage_tell(ilk_error *err, int64_t since, int64_t now);

#endif
