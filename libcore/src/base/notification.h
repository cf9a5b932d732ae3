/* SPDX-License-Identifier: MIT */
/*
 * notification.h -- the client's bounded queue of notifications, with one
 * descriptor to poll. Thread-safe. A notification replaces one of the same kind
 * and id that is still in the queue.
 */
#ifndef ILK__NOTIFICATION_H
#define ILK__NOTIFICATION_H

#include "pollable.h"

#include <interlock/notification.h>
#include <pthread.h>

enum { ILK__NOTIFICATION_MAX = 1024 };

typedef struct ilk__notifications {
    pthread_mutex_t mutex;
    ilk__pollable pollable; /* opened by the first ilk__notifications_fd() */
    ilk_notification *ring; /* grows up to ILK__NOTIFICATION_MAX */
    size_t first, count, room;
    int64_t dropped; /* notifications lost: queue full, or no memory */
} ilk__notifications;

void ilk__notifications_init(ilk__notifications *queue);
void ilk__notifications_destroy(ilk__notifications *queue);
ilk_status ilk__notifications_fd(ilk__notifications *queue, int *out_fd,
                                 ilk_error *err);
void ilk__notifications_push(ilk__notifications *queue,
                             ilk_notification_kind kind, int64_t id, void *user,
                             ilk_status status, ilk_loss cause);
ilk_status ilk__notifications_next(ilk__notifications *queue,
                                   ilk_notification *out,
                                   ilk_error *err); /* ILK_EAGAIN: none */
/* Remove all notifications of this id, whose handle is freed. */
void ilk__notifications_forget(ilk__notifications *queue, int64_t id);

#endif
