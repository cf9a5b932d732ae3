/* SPDX-License-Identifier: MIT */
/*
 * notification.c -- the client's bounded queue of notifications, with one
 * descriptor to poll.
 *
 * The descriptor is raised exactly while the ring is not empty. Both change
 * under the mutex, so that poll() never sleeps while a notification waits.
 */
#include "notification.h"

#include "alloc.h"
#include "opts.h"

#include <assert.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

void ilk__notifications_init(ilk__notifications *queue)
{
    memset(queue, 0, sizeof *queue);
    pthread_mutex_init(&queue->mutex, NULL);
    queue->pollable.fds[0] = queue->pollable.fds[1] = -1;
}

void ilk__notifications_destroy(ilk__notifications *queue)
{
    ilk__pollable_close(&queue->pollable);
    ilk__free(queue->ring);
    queue->ring = NULL;
    queue->count = queue->room = 0;
    pthread_mutex_destroy(&queue->mutex);
}

static ilk_notification *at(const ilk__notifications *queue, size_t i)
{
    assert(queue->room > 0);
    return &queue->ring[(queue->first + i) % queue->room];
}

static void raise_or_clear(ilk__notifications *queue)
{
    if (ilk__pollable_fd(&queue->pollable) < 0)
        return;
    if (queue->count > 0)
        ilk__pollable_raise(&queue->pollable);
    else
        ilk__pollable_clear(&queue->pollable);
}

ilk_status ilk__notifications_fd(ilk__notifications *queue, int *out_fd,
                                 ilk_error *err)
{
    ilk_status st = ILK_OK;

    pthread_mutex_lock(&queue->mutex);
    if (ilk__pollable_fd(&queue->pollable) < 0) {
        st = ilk__pollable_open(&queue->pollable, err);
        if (st == ILK_OK)
            raise_or_clear(queue);
    }
    *out_fd = ilk__pollable_fd(&queue->pollable);
    pthread_mutex_unlock(&queue->mutex);
    return st;
}

/* Make room for one more. A new ring begins with the oldest notification. */
static int grow(ilk__notifications *queue)
{
    size_t room = queue->room != 0 ? queue->room * 2 : FIRST_ROOM;
    ilk_notification *ring;

    if (queue->count < queue->room)
        return 0;
    if (queue->room >= ILK__NOTIFICATION_MAX
        || (ring = ilk__malloc(room * sizeof *ring)) == NULL)
        return -1;
    for (size_t i = 0; i < queue->count; i++)
        ring[i] = *at(queue, i);
    ilk__free(queue->ring);
    queue->ring = ring;
    queue->first = 0;
    queue->room = room;
    return 0;
}

static ilk_notification *find(const ilk__notifications *queue,
                              ilk_notification_kind kind, int64_t id)
{
    for (size_t i = 0; i < queue->count; i++)
        if (at(queue, i)->kind == (int32_t)kind && at(queue, i)->id == id)
            return at(queue, i);
    return NULL;
}

void ilk__notifications_push(ilk__notifications *queue,
                             ilk_notification_kind kind, int64_t id, void *user,
                             ilk_status status, ilk_loss cause)
{
    ilk_notification *notification;

    pthread_mutex_lock(&queue->mutex);
    if ((notification = find(queue, kind, id)) != NULL) {
        notification->status = status;
        notification->cause = (int32_t)cause;
    } else if (grow(queue) == 0) {
        queue->count++;
        *at(queue, queue->count - 1) =
            (ilk_notification){.kind = (int32_t)kind,
                               .status = status,
                               .id = id,
                               .user = user,
                               .cause = (int32_t)cause};
        if (queue->count == 1)
            raise_or_clear(queue);
    } else {
        queue->dropped++;
    }
    pthread_mutex_unlock(&queue->mutex);
}

ilk_status ilk__notifications_next(ilk__notifications *queue,
                                   ilk_notification *out, ilk_error *err)
{
    const ilk_notification none = {.kind = ILK_NOTIFICATION_NONE};
    ilk_status st;

    pthread_mutex_lock(&queue->mutex);
    st = ilk__opts_fill(out, queue->count != 0 ? at(queue, 0) : &none,
                        sizeof *out, "notification", err);
    if (st == ILK_OK && queue->count == 0) {
        st = ILK_EAGAIN;
    } else if (st == ILK_OK) {
        queue->first = (queue->first + 1) % queue->room;
        if (--queue->count == 0)
            raise_or_clear(queue);
    }
    pthread_mutex_unlock(&queue->mutex);
    if (st == ILK_EAGAIN)
        ilk__fail(err, st, "no notification is waiting");
    return st;
}

void ilk__notifications_forget(ilk__notifications *queue, int64_t id)
{
    size_t kept = 0, before;

    pthread_mutex_lock(&queue->mutex);
    before = queue->count;
    for (size_t i = 0; i < before; i++)
        if (at(queue, i)->id != id)
            *at(queue, kept++) = *at(queue, i);
    queue->count = kept;
    if (kept == 0 && before != 0)
        raise_or_clear(queue);
    pthread_mutex_unlock(&queue->mutex);
}
