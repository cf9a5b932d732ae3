/* SPDX-License-Identifier: MIT */
/* shared.c -- the shared client state of callers' threads and the keeper. */
#include "shared.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of a shared state without a client. */
static _Atomic uint32_t never_stopped;

/* The label is host:pid unless the user chose one. Spaces separate the words of
 * an entry, so they become '_'. */
static void set_label(ilk__shared *shared, const char *label)
{
    char host[64] = "?";
    size_t i;

    if (label) {
        snprintf(shared->label, sizeof shared->label, "%s", label);
    } else {
        if (gethostname(host, sizeof host - 1))
            memcpy(host, "?", 2);
        snprintf(shared->label, sizeof shared->label, "%s:%ld", host,
                 (long)getpid());
    }
    for (i = 0; shared->label[i]; i++)
        if ((unsigned char)shared->label[i] <= ' ')
            shared->label[i] = '_';
    if (i == 0)
        memcpy(shared->label, "-", 2);
}

ilk_status ilk__shared_open(ilk__shared *shared, const char *label,
                            ilk_error *err)
{
    ilk_status st;

    memset(shared, 0, sizeof *shared);
    shared->stops = &never_stopped;
    st = ilk__token(shared->client_id, ILK__CLIENT_ID_LEN, err);
    if (st == ILK_OK)
        st = ilk__random(shared->waiter_key, sizeof shared->waiter_key, err);
    if (st == ILK_OK)
        st = ilk__random(shared->list_key, sizeof shared->list_key, err);
    if (st)
        return st;
    st = ilk__pollable_open(&shared->wakeup, err);
    if (st)
        return st;
    pthread_mutex_init(&shared->mutex, NULL);
    ilk__outage_init(&shared->outage);
    ilk__notifications_init(&shared->notifications);
    set_label(shared, label);
    snprintf(shared->who, sizeof shared->who, "%s %s", shared->client_id,
             shared->label);
    shared->plan = ILK__FOREVER;
    shared->posted_end = &shared->posted;
    return ILK_OK;
}

void ilk__shared_close(ilk__shared *shared)
{
    ilk__timers_free(&shared->timers);
    ilk__table_free(&shared->waiters);
    ilk__table_free(&shared->refreshers);
    ilk__table_free(&shared->lists);
    ilk__buf_free(&shared->scratch);
    ilk__recent_free(&shared->recent);
    ilk__notifications_destroy(&shared->notifications);
    ilk__pollable_close(&shared->wakeup);
    ilk__outage_destroy(&shared->outage);
    pthread_mutex_destroy(&shared->mutex);
}

void ilk__shared_lock(ilk__shared *shared)
{
    pthread_mutex_lock(&shared->mutex);
}

void ilk__shared_unlock(ilk__shared *shared)
{
    pthread_mutex_unlock(&shared->mutex);
}

int ilk__shared_is_stopped(const ilk__shared *shared)
{
    return atomic_load(shared->stops) % 2;
}

int ilk__shared_is_stopped_anew(const ilk__shared *shared, uint32_t *seen)
{
    uint32_t stops = atomic_load(shared->stops);

    if (stops % 2 == 0 || stops == *seen)
        return 0;
    *seen = stops;
    return 1;
}

int64_t ilk__shared_new_id(ilk__shared *shared)
{
    int64_t id;

    ilk__shared_lock(shared);
    id = ++shared->last_id;
    ilk__shared_unlock(shared);
    return id;
}

int32_t ilk__shared_want_inbox(ilk__shared *shared, int again, ilk_error *why)
{
    int32_t inbox;

    ilk__shared_lock(shared);
    if (shared->inbox == ILK__INBOX_NONE
        || (shared->inbox == ILK__INBOX_REFUSED && again)) {
        shared->inbox = ILK__INBOX_WANTED;
        ilk__shared_wake_keeper(shared, 0);
    }
    inbox = shared->inbox;
    *why = shared->inbox_error;
    ilk__shared_unlock(shared);
    return inbox;
}

void ilk__shared_wake_keeper(ilk__shared *shared, int64_t due)
{
    if (due >= shared->plan)
        return;
    shared->plan = due;
    ilk__pollable_raise(&shared->wakeup);
}

void ilk__shared_set_timer(ilk__shared *shared, ilk__timer *timer, int64_t due)
{
    ilk__timer_set(&shared->timers, timer, due);
    ilk__shared_wake_keeper(shared, due);
}

void ilk__shared_post(ilk__shared *shared, ilk__inflight *inflight)
{
    inflight->next = NULL;
    *shared->posted_end = inflight;
    shared->posted_end = &inflight->next;
    ilk__shared_wake_keeper(shared, 0);
}

ilk__inflight *ilk__shared_next_posted(ilk__shared *shared)
{
    ilk__inflight *inflight = shared->posted;

    if (inflight)
        shared->posted = inflight->next;
    if (!shared->posted)
        shared->posted_end = &shared->posted;
    return inflight;
}

void ilk__shared_wake_sleepers(ilk__shared *shared)
{
    atomic_fetch_add(&shared->wakes, 1);
    for (ilk__sleeper *s = shared->sleepers; s; s = s->next)
        ilk__unpark(s->parker);
}
