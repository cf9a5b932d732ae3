/* SPDX-License-Identifier: MIT */
/* desk.c -- what the callers' threads and the keeper share. */
#include "desk.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* host:pid unless the user chose a label; no spaces, they part the entries. */
static void set_label(ilk__desk *desk, const char *label)
{
    char host[64] = "?";
    size_t i;

    if (label) {
        snprintf(desk->label, sizeof desk->label, "%s", label);
    } else {
        if (gethostname(host, sizeof host - 1))
            memcpy(host, "?", 2);
        snprintf(desk->label, sizeof desk->label, "%s:%ld", host,
                 (long)getpid());
    }
    for (i = 0; desk->label[i]; i++)
        if ((unsigned char)desk->label[i] <= ' ')
            desk->label[i] = '_';
    if (i == 0)
        memcpy(desk->label, "-", 2);
}

ilk_status ilk__desk_open(ilk__desk *desk, const char *label, ilk_error *err)
{
    ilk_status st;

    memset(desk, 0, sizeof *desk);
    st = ilk__token(desk->client_id, ILK__CLIENT_ID_LEN, err);
    if (st)
        return st;
    st = ilk__pollable_open(&desk->bell, err);
    if (st)
        return st;
    pthread_mutex_init(&desk->mutex, NULL);
    ilk__notifications_init(&desk->notifications);
    set_label(desk, label);
    desk->plan = ILK__FOREVER;
    desk->posted_end = &desk->posted;
    return ILK_OK;
}

void ilk__desk_close(ilk__desk *desk)
{
    ilk__timers_free(&desk->timers);
    ilk__table_free(&desk->waiters);
    ilk__table_free(&desk->watches);
    ilk__table_free(&desk->lists);
    ilk__buf_free(&desk->scratch);
    ilk__recent_free(&desk->recent);
    ilk__notifications_destroy(&desk->notifications);
    ilk__pollable_close(&desk->bell);
    pthread_mutex_destroy(&desk->mutex);
}

void ilk__desk_lock(ilk__desk *desk)
{
    pthread_mutex_lock(&desk->mutex);
}

void ilk__desk_unlock(ilk__desk *desk)
{
    pthread_mutex_unlock(&desk->mutex);
}

int64_t ilk__desk_new_id(ilk__desk *desk)
{
    int64_t id;

    ilk__desk_lock(desk);
    id = ++desk->last_id;
    ilk__desk_unlock(desk);
    return id;
}

int32_t ilk__desk_want_inbox(ilk__desk *desk, int again, ilk_error *why)
{
    int32_t inbox;

    ilk__desk_lock(desk);
    if (desk->inbox == ILK__INBOX_NONE
        || (desk->inbox == ILK__INBOX_REFUSED && again)) {
        desk->inbox = ILK__INBOX_WANTED;
        ilk__desk_ring(desk, 0);
    }
    inbox = desk->inbox;
    *why = desk->inbox_error;
    ilk__desk_unlock(desk);
    return inbox;
}

void ilk__desk_ring(ilk__desk *desk, int64_t due)
{
    if (due >= desk->plan)
        return;
    desk->plan = due;
    ilk__pollable_raise(&desk->bell);
}

void ilk__desk_set_timer(ilk__desk *desk, ilk__timer *timer, int64_t due)
{
    ilk__timer_set(&desk->timers, timer, due);
    ilk__desk_ring(desk, due);
}

void ilk__desk_post(ilk__desk *desk, ilk__errand *errand)
{
    errand->next = NULL;
    *desk->posted_end = errand;
    desk->posted_end = &errand->next;
    ilk__desk_ring(desk, 0);
}

ilk__errand *ilk__desk_next_posted(ilk__desk *desk)
{
    ilk__errand *errand = desk->posted;

    if (errand)
        desk->posted = errand->next;
    if (!desk->posted)
        desk->posted_end = &desk->posted;
    return errand;
}

void ilk__desk_wake_sleepers(ilk__desk *desk)
{
    atomic_fetch_add(&desk->wakes, 1);
    for (ilk__sleeper *s = desk->sleepers; s; s = s->next)
        ilk__unpark(s->parker);
}
