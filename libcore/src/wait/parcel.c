/* SPDX-License-Identifier: MIT */
/* parcel.c -- the signals that a waiter has been sent. */
#include "parcel.h"

#include "base/alloc.h"
#include "base/log.h"
#include "watch.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { ASIDE_MAX = 16 }; /* more wait for a ticket: the oldest goes */

typedef struct ilk__cargo {
    _Atomic int refs;
    ilk__message message; /* points into bytes */
    char bytes[];
} cargo;

/* ---- copies ------------------------------------------------------------- */

static const char *put(char **to, const void *data, size_t len)
{
    char *here = *to;

    if (len)
        memcpy(here, data, len);
    here[len] = '\0';
    *to += len + 1;
    return here;
}

static cargo *load(const ilk__message *message)
{
    size_t signal_len = strlen(message->signal);
    cargo *made = ilk__malloc(sizeof *made + signal_len + message->name_len
                              + message->data_len + 3);
    char *to;

    if (!made) {
        ilk__log(ILK__LOG_WARN, "no memory for a signal of %zu bytes",
                 message->data_len);
        return NULL;
    }
    to = made->bytes;
    atomic_init(&made->refs, 1);
    made->message = *message;
    made->message.signal = put(&to, message->signal, signal_len);
    made->message.name = put(&to, message->name, message->name_len);
    made->message.data = put(&to, message->data, message->data_len);
    return made;
}

static void unload(cargo *copy)
{
    if (copy && atomic_fetch_sub(&copy->refs, 1) == 1)
        ilk__free(copy);
}

void ilk__parcel_free(ilk__parcel *parcel)
{
    if (!parcel)
        return;
    unload(parcel->cargo);
    ilk__free(parcel);
}

static void remove_at(ilk__waiter *waiter, ilk__parcel **link)
{
    ilk__parcel *parcel = *link;

    if (!parcel->aside)
        waiter->parcel_count--;
    *link = parcel->next;
    ilk__parcel_free(parcel);
}

/* ---- taking ------------------------------------------------------------- */

static int index_of(const ilk__line *line, const ilk__message *message,
                    size_t *out)
{
    for (size_t i = 0; i < line->name_count; i++)
        if (line->names[i].len == message->name_len
            && memcmp(line->names[i].data, message->name, message->name_len)
                   == 0) {
            *out = i;
            return 1;
        }
    return 0;
}

static int wants(const ilk__waiter *waiter, size_t index)
{
    if (!waiter->wants_all)
        return waiter->parcel_count == 0;
    for (const ilk__parcel *p = waiter->parcels; p; p = p->next)
        if (!p->aside && p->index == index)
            return 0;
    return 1;
}

static void tell_if_complete(ilk__waiter *waiter)
{
    size_t all = waiter->wants_all ? waiter->line->name_count : 1;

    if (waiter->parcel_count >= all)
        ilk__wait_tell_news(waiter, ILK__NEWS_SIGNAL);
}

static void append(ilk__waiter *waiter, ilk__parcel *parcel)
{
    ilk__parcel **link = &waiter->parcels, **oldest = NULL;
    int aside = 0;

    for (; *link; link = &(*link)->next)
        if ((*link)->aside && aside++ == 0)
            oldest = link;
    *link = parcel;
    if (parcel->aside && aside >= ASIDE_MAX)
        remove_at(waiter, oldest);
}

/* *copy is the message's copy, made by the first who keeps it. */
static int keep(ilk__waiter *waiter, const ilk__message *message, cargo **copy,
                size_t index, int aside)
{
    ilk__parcel *parcel;

    if (!wants(waiter, index))
        return 0;
    if (!*copy)
        *copy = load(message);
    if (!*copy)
        return 0;
    parcel = ilk__malloc(sizeof *parcel);
    if (!parcel)
        return 0;
    atomic_fetch_add(&(*copy)->refs, 1);
    *parcel = (ilk__parcel){.index = index,
                            .aside = aside,
                            .cargo = *copy,
                            .message = &(*copy)->message};
    append(waiter, parcel);
    if (!aside)
        waiter->parcel_count++;
    tell_if_complete(waiter);
    return 1;
}

int ilk__parcel_take(ilk__waiter *waiter, const ilk__message *message)
{
    cargo *copy = NULL;
    size_t index;
    int taken = waiter->watch && index_of(waiter->line, message, &index)
                && keep(waiter, message, &copy, index, message->second_hand);

    unload(copy);
    if (taken && message->second_hand)
        ilk__watch_refresh(waiter->watch);
    return taken;
}

/* The latest: those before it had not taken the place. */
void ilk__parcel_confirm(ilk__waiter *waiter, const char *name, size_t len)
{
    ilk__parcel *latest = NULL;

    for (ilk__parcel *p = waiter->parcels; p; p = p->next)
        if (p->aside && p->message->type == ILK__MESSAGE_SIGNAL
            && (!len
                || (p->message->name_len == len
                    && memcmp(p->message->name, name, len) == 0)))
            latest = p;
    if (!latest || !wants(waiter, latest->index))
        return;
    latest->aside = 0;
    waiter->parcel_count++;
    /* the server's own copy may yet come, and is not for somebody else */
    (void)ilk__recent_seen(&waiter->shared->recent,
                           ilk__message_mark(latest->message));
    tell_if_complete(waiter);
}

void ilk__parcel_word(ilk__waiter *waiter, const ilk__message *word)
{
    size_t index;

    if (word->second_hand) /* behind all that this replica had to tell */
        ilk__parcel_confirm(waiter, word->name, word->name_len);
    if (word->name_len == 0) {
        waiter->told_last = 1;
        ilk__unpark(&waiter->parker);
    } else if (waiter->news == ILK__NEWS_NONE
               && index_of(waiter->line, word, &index)
               && wants(waiter, index)) {
        ilk__wait_tell_news(waiter, ILK__NEWS_WOKEN);
    }
}

static void notify_watch(ilk__watch *watch, size_t index,
                         const ilk__message *message, cargo **copy)
{
    for (ilk__waiter *w = watch->first; w; w = w->next) {
        int64_t ticket = w->tickets ? w->tickets[index] : 0;

        if (ticket <= message->ticket)
            (void)keep(w, message, copy, index, ticket == 0);
    }
}

void ilk__parcel_notify(ilk__shared *shared, const ilk__message *message)
{
    ilk__node *node =
        ilk__table_find(&shared->lists, message->name, message->name_len);
    cargo *copy = NULL;

    for (; node; node = node->next) { /* others share its bucket */
        const ilk__listing *listing =
            (ilk__listing *)((char *)node - offsetof(ilk__listing, node));

        if (node->key_len == message->name_len
            && memcmp(node->key, message->name, node->key_len) == 0)
            notify_watch(listing->watch, listing->index, message, &copy);
    }
    unload(copy);
}

/* ---- the ticket --------------------------------------------------------- */

void ilk__parcel_placed(ilk__waiter *waiter, size_t index, int64_t ticket)
{
    ilk__parcel **link = &waiter->parcels;

    if (!waiter->tickets[index]) /* since the first one it has been waiting */
        waiter->tickets[index] = ticket;
    while (*link) {
        ilk__parcel *parcel = *link;

        if (!parcel->aside || parcel->index != index
            || parcel->message->type == ILK__MESSAGE_SIGNAL) {
            link = &parcel->next;
        } else if (ticket <= parcel->message->ticket && wants(waiter, index)) {
            parcel->aside = 0;
            waiter->parcel_count++;
            link = &parcel->next;
        } else {
            remove_at(waiter, link);
        }
    }
    tell_if_complete(waiter);
}

/* ---- the end ------------------------------------------------------------ */

void ilk__parcel_drop(ilk__waiter *waiter)
{
    while (waiter->parcels)
        remove_at(waiter, &waiter->parcels);
}

void ilk__parcel_pass_on(ilk__waiter *waiter)
{
    ilk__shared *shared = waiter->shared;

    for (const ilk__parcel *p = waiter->parcels; p; p = p->next)
        if (p->message->type == ILK__MESSAGE_SIGNAL && !p->aside)
            ilk__wait_unclaimed(shared, p->message);
    ilk__parcel_drop(waiter);
}
