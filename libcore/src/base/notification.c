/* SPDX-License-Identifier: MIT */
/*
 * notification.c -- the client's bounded queue of news behind one descriptor.
 *
 * The descriptor is raised exactly while the ring is not empty; both change
 * under the mutex, so that a poller never sleeps on news.
 */
#include "notification.h"

#include "alloc.h"
#include "opts.h"

#include <assert.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

void ilk__events_init(ilk__events *events)
{
    memset(events, 0, sizeof *events);
    pthread_mutex_init(&events->mutex, NULL);
    events->pollable.fds[0] = events->pollable.fds[1] = -1;
}

void ilk__events_destroy(ilk__events *events)
{
    ilk__pollable_close(&events->pollable);
    ilk__free(events->ring);
    events->ring = NULL;
    events->count = events->room = 0;
    pthread_mutex_destroy(&events->mutex);
}

static ilk_event *at(const ilk__events *events, size_t i)
{
    assert(events->room > 0);
    return &events->ring[(events->first + i) % events->room];
}

static void raise_or_clear(ilk__events *events)
{
    if (ilk__pollable_fd(&events->pollable) < 0)
        return;
    if (events->count > 0)
        ilk__pollable_raise(&events->pollable);
    else
        ilk__pollable_clear(&events->pollable);
}

ilk_status ilk__events_fd(ilk__events *events, int *out_fd, ilk_error *err)
{
    ilk_status st = ILK_OK;

    pthread_mutex_lock(&events->mutex);
    if (ilk__pollable_fd(&events->pollable) < 0) {
        st = ilk__pollable_open(&events->pollable, err);
        if (st == ILK_OK)
            raise_or_clear(events);
    }
    *out_fd = ilk__pollable_fd(&events->pollable);
    pthread_mutex_unlock(&events->mutex);
    return st;
}

/* Make room for one more; what waits is laid out from the start again. */
static int grow(ilk__events *events)
{
    size_t room = events->room != 0 ? events->room * 2 : FIRST_ROOM;
    ilk_event *ring;

    if (events->count < events->room)
        return 0;
    if (events->room >= ILK__EVENT_MAX
        || (ring = ilk__malloc(room * sizeof *ring)) == NULL)
        return -1;
    for (size_t i = 0; i < events->count; i++)
        ring[i] = *at(events, i);
    ilk__free(events->ring);
    events->ring = ring;
    events->first = 0;
    events->room = room;
    return 0;
}

static ilk_event *find(const ilk__events *events, ilk_event_kind kind,
                       int64_t id)
{
    for (size_t i = 0; i < events->count; i++)
        if (at(events, i)->kind == (int32_t)kind && at(events, i)->id == id)
            return at(events, i);
    return NULL;
}

void ilk__events_push(ilk__events *events, ilk_event_kind kind, int64_t id,
                      ilk_status status)
{
    ilk_event *event;

    pthread_mutex_lock(&events->mutex);
    if ((event = find(events, kind, id)) != NULL) {
        event->status = status;
    } else if (grow(events) == 0) {
        events->count++;
        *at(events, events->count - 1) =
            (ilk_event){.kind = (int32_t)kind, .status = status, .id = id};
        if (events->count == 1)
            raise_or_clear(events);
    } else {
        events->dropped++;
    }
    pthread_mutex_unlock(&events->mutex);
}

ilk_status ilk__events_next(ilk__events *events, ilk_event *out, ilk_error *err)
{
    const ilk_event none = {.kind = ILK_EVENT_NONE};
    ilk_status st;

    pthread_mutex_lock(&events->mutex);
    st = ilk__opts_fill(out, events->count != 0 ? at(events, 0) : &none,
                        sizeof *out, "event", err);
    if (st == ILK_OK && events->count == 0) {
        st = ILK_EAGAIN;
    } else if (st == ILK_OK) {
        events->first = (events->first + 1) % events->room;
        if (--events->count == 0)
            raise_or_clear(events);
    }
    pthread_mutex_unlock(&events->mutex);
    if (st == ILK_EAGAIN)
        ilk__fail(err, st, "no event is waiting");
    return st;
}

void ilk__events_forget(ilk__events *events, int64_t id)
{
    size_t kept = 0, before;

    pthread_mutex_lock(&events->mutex);
    before = events->count;
    for (size_t i = 0; i < before; i++)
        if (at(events, i)->id != id)
            *at(events, kept++) = *at(events, i);
    events->count = kept;
    if (kept == 0 && before != 0)
        raise_or_clear(events);
    pthread_mutex_unlock(&events->mutex);
}
