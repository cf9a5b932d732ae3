/* SPDX-License-Identifier: MIT */
/*
 * notification.h -- the client's bounded queue of news behind one descriptor.
 * Thread-safe. Events of the same kind and id are coalesced while they wait.
 */
#ifndef ILK__EVENT_H
#define ILK__EVENT_H

#include "pollable.h"

#include <interlock/notification.h>
#include <pthread.h>

enum { ILK__EVENT_MAX = 1024 };

typedef struct ilk__events {
    pthread_mutex_t mutex;
    ilk__pollable pollable; /* opened by the first ilk__events_fd() */
    ilk_event *ring;        /* grows up to ILK__EVENT_MAX */
    size_t first, count, room;
    int64_t dropped; /* news that found the queue full or no memory */
} ilk__events;

void ilk__events_init(ilk__events *events);
void ilk__events_destroy(ilk__events *events);
ilk_status ilk__events_fd(ilk__events *events, int *out_fd, ilk_error *err);
void ilk__events_push(ilk__events *events, ilk_event_kind kind, int64_t id,
                      ilk_status status);
ilk_status ilk__events_next(ilk__events *events, ilk_event *out,
                            ilk_error *err); /* ILK_EAGAIN: none */
/* Forget what is waiting for this id, because its handle is freed. */
void ilk__events_forget(ilk__events *events, int64_t id);

#endif
