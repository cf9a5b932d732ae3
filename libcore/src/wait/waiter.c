/* SPDX-License-Identifier: MIT */
/* waiter.c -- a waiter: joining and leaving the wait queue, and its reports. */
#include "wait.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "delivered_signal.h"
#include "refresher.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

ilk_status ilk__waiter_init(ilk__waiter *waiter, ilk__shared *shared,
                            const ilk__wait_queue *wait_queue, ilk_error *err)
{
    waiter->shared = shared;
    waiter->wait_queue = wait_queue;
    ilk__wait_queue_address(waiter->address, shared, wait_queue);
    return ilk__parker_init(&waiter->parker, err);
}

const char *ilk__waiter_token(const ilk__waiter *waiter)
{
    return waiter->fixed_token ? waiter->fixed_token : waiter->token;
}

ilk__withdrawal ilk__waiter_withdrawal(const ilk__waiter *waiter)
{
    return (ilk__withdrawal){.shared = waiter->shared,
                             .wait_queue = waiter->wait_queue,
                             .entry = waiter->entry,
                             .entry_len = waiter->entry_len,
                             .token = ilk__waiter_token(waiter),
                             .lease_ms = waiter->lease_ms,
                             .accepted = waiter->accepted};
}

/* ---- in and out of the wait queue --------------------------------------- */

/* Only the waiter's own operation sets `succeeded`, so the first check needs
 * no mutex. */
void ilk__waiter_forget(ilk__waiter *waiter)
{
    if (!waiter->succeeded)
        return;
    ilk__shared_lock(waiter->shared);
    ilk__refresher_forget(waiter);
    ilk__shared_unlock(waiter->shared);
}

/* A delivery's token begins with the id of the client, so that an inspection can say who
 * has reserved a message. */
ilk_status ilk__waiter_renew_token(ilk__waiter *waiter, ilk_error *err)
{
    ilk__waiter_forget(waiter);
    if (waiter->fixed_token)
        return ILK_OK;
    if (waiter->prefix) {
        snprintf(waiter->token, sizeof waiter->token, "%s:%" PRId64,
                 waiter->prefix, ilk__shared_new_id(waiter->shared));
        return ILK_OK;
    }
    if (waiter->wait_queue->kind == 'q') {
        memcpy(waiter->token, waiter->shared->client_id, ILK__CLIENT_ID_LEN);
        return ilk__token(waiter->token + ILK__CLIENT_ID_LEN,
                          ILK__TOKEN_LEN - ILK__CLIENT_ID_LEN, err);
    }
    return ilk__token(waiter->token, ILK__TOKEN_LEN, err);
}

static ilk_status keep_entry(ilk__waiter *waiter, const char *entry, size_t len)
{
    if (len + 1 > waiter->entry_room) {
        char *room = ilk__malloc(len + 1);

        if (!room)
            return ILK_ENOMEM;
        ilk__free(waiter->entry);
        waiter->entry = room;
        waiter->entry_room = len + 1;
    }
    memcpy(waiter->entry, entry, len + 1);
    waiter->entry_len = len;
    return ILK_OK;
}

static ilk_status compose_entry(ilk__waiter *waiter)
{
    const ilk__shared *shared = waiter->shared;
    char secret[ILK__SECRET_LEN + 1];
    const ilk__entry entry = {.kind = waiter->wait_queue->kind,
                              .client = waiter->address,
                              .waiter = waiter->id,
                              .secret = secret,
                              .token = ilk__waiter_token(waiter),
                              .lease_ms = waiter->lease_ms,
                              .permits = waiter->permits ? waiter->permits : 1,
                              .who = shared->label};
    char text[ILK__ENTRY_MAX];

    ilk__secret_of_waiter(secret, shared, waiter->wait_queue->kind, waiter->id,
                          waiter->wait_queue->keys[0].data,
                          waiter->wait_queue->keys[0].len);
    return keep_entry(waiter, text, ilk__entry_write(text, &entry));
}

/* The shared state's slot for the orphaned() function of this kind; NULL when
 * no primitive can have such a kind. */
static ilk__orphaned **place_for(ilk__shared *shared, char kind)
{
    if (kind < 'a' || kind > 'z')
        return NULL;
    return &shared->orphaned[kind - 'a'];
}

ilk_status ilk__waiter_join(ilk__waiter *waiter, ilk_error *err)
{
    const ilk__wait_queue *wait_queue = waiter->wait_queue;
    ilk__shared *shared = waiter->shared;
    ilk__orphaned **place;
    ilk_status st;

    ilk__shared_lock(shared);
    waiter->report = ILK__REPORT_NONE;
    waiter->suspended_since = 0;
    waiter->enqueues = 0;
    waiter->last_received = waiter->may_be_given = 0;
    if (waiter->tickets)
        memset(waiter->tickets, 0,
               wait_queue->name_count * sizeof *waiter->tickets);
    if (waiter->accepted)
        memset(waiter->accepted, '0', wait_queue->name_count);
    place = place_for(shared, wait_queue->kind);
    if (place && wait_queue->orphaned)
        *place = wait_queue->orphaned;
    st = ilk__refresher_join(waiter);
    if (st == ILK_OK && compose_entry(waiter)) {
        ilk__refresher_leave(waiter);
        st = ILK_ENOMEM;
    }
    ilk__shared_unlock(shared);
    if (st)
        return ilk__fail(err, st, "out of memory");
    return ILK_OK;
}

void ilk__waiter_placed(ilk__waiter *waiter, size_t index, int64_t ticket)
{
    ilk__shared_lock(waiter->shared);
    ilk__delivered_signal_ticket(waiter, index, ticket);
    ilk__shared_unlock(waiter->shared);
}

void ilk__waiter_succeed(ilk__waiter *waiter)
{
    ilk__shared_lock(waiter->shared);
    ilk__refresher_succeed(waiter);
    ilk__shared_unlock(waiter->shared);
}

void ilk__waiter_leave(ilk__waiter *waiter)
{
    ilk__shared_lock(waiter->shared);
    if (waiter->refresher)
        ilk__refresher_leave(waiter);
    ilk__shared_unlock(waiter->shared);
}

void ilk__wait_give_up(ilk__waiter *waiter)
{
    const ilk__withdrawal withdrawal = ilk__waiter_withdrawal(waiter);

    ilk__give_back(&withdrawal);
    ilk__refresher_leave(waiter);
    ilk__delivered_signal_drop(waiter);
}

void ilk__waiter_destroy(ilk__waiter *waiter)
{
    ilk__shared *shared = waiter->shared;

    ilk__shared_lock(shared);
    if (waiter->refresher)
        ilk__wait_give_up(waiter);
    ilk__refresher_forget(waiter);
    ilk__delivered_signal_drop(waiter);
    ilk__shared_unlock(shared);
    ilk__free(waiter->entry);
    waiter->entry = NULL;
    ilk__parker_destroy(&waiter->parker);
}

void ilk__waiter_cancel(ilk__waiter *waiter)
{
    ilk__shared *shared = waiter->shared;

    ilk__shared_lock(shared);
    if (waiter->refresher && waiter->suspended_since) {
        ilk__wait_give_up(waiter);
    } else {
        atomic_store(&waiter->cancelled, 1);
        ilk__unpark(&waiter->parker);
    }
    ilk__shared_unlock(shared);
}

void ilk__waiter_end_suspended(ilk__waiter *waiter)
{
    if (waiter->stage == ILK__STAGE_IDLE) /* set by the handle's own requests */
        return;
    ilk__shared_lock(waiter->shared);
    if (waiter->refresher)
        ilk__wait_give_up(waiter);
    ilk__shared_unlock(waiter->shared);
    waiter->stage = ILK__STAGE_IDLE;
}

/* ---- reports ------------------------------------------------------------ */

ilk__waiter *ilk__wait_find(ilk__shared *shared, int64_t id)
{
    ilk__node *node = ilk__table_find(&shared->waiters, &id, sizeof id);

    if (!node)
        return NULL;
    return (ilk__waiter *)((char *)node - offsetof(ilk__waiter, node));
}

void ilk__waiter_report(ilk__waiter *waiter, ilk__wait_report report)
{
    waiter->report = report;
    ilk__unpark(&waiter->parker);
}

void ilk__wait_orphaned(ilk__shared *shared, const ilk__message *message)
{
    ilk__orphaned **place = place_for(shared, message->kind);

    if (place && *place)
        (*place)(shared, message);
}

void ilk__waiter_sample(ilk__waiter *waiter, int64_t sent_at, int64_t now_us)
{
    waiter->sample_at = sent_at;
    waiter->sample_us = now_us > 0 ? now_us : 0; /* no difference overflows */
}

int64_t ilk__waiter_began(const ilk__waiter *waiter)
{
    int64_t since = (waiter->report_us - waiter->sample_us) / 1000;
    int64_t began = waiter->sample_at + since - (since > 0 ? since / 100 : 0);

    if (!waiter->report_us) /* from a refresh: counted from its sending */
        return waiter->report_at;
    return ilk__sooner(began, waiter->report_at);
}
