/* SPDX-License-Identifier: MIT */
/* delivered_signal.c -- the signals that were sent to a waiter. */
#include "delivered_signal.h"

#include "base/alloc.h"
#include "base/log.h"
#include "refresher.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { ASIDE_MAX = 16 }; /* of one waiter; beyond that the oldest is dropped */

typedef struct ilk__payload {
    _Atomic int refs;
    ilk__message message; /* points into bytes */
    char bytes[];
} ilk__payload;

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

static ilk__payload *payload_new(const ilk__message *message)
{
    size_t signal_len = strlen(message->signal);
    ilk__payload *made = ilk__malloc(
        sizeof *made + signal_len + message->name_len + message->data_len + 3);
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

static void payload_unref(ilk__payload *payload)
{
    if (payload && atomic_fetch_sub(&payload->refs, 1) == 1)
        ilk__free(payload);
}

void ilk__delivered_signal_free(ilk__delivered_signal *delivered)
{
    if (!delivered)
        return;
    payload_unref(delivered->payload);
    ilk__free(delivered);
}

static void remove_at(ilk__waiter *waiter, ilk__delivered_signal **link)
{
    ilk__delivered_signal *delivered = *link;

    if (!delivered->aside)
        waiter->delivered_count--;
    *link = delivered->next;
    ilk__delivered_signal_free(delivered);
}

/* ---- accepting ---------------------------------------------------------- */

static int index_of(const ilk__wait_queue *wait_queue,
                    const ilk__message *message, size_t *out)
{
    for (size_t i = 0; i < wait_queue->name_count; i++)
        if (wait_queue->names[i].len == message->name_len
            && memcmp(wait_queue->names[i].data, message->name,
                      message->name_len)
                   == 0) {
            *out = i;
            return 1;
        }
    return 0;
}

static int wants(const ilk__waiter *waiter, size_t index)
{
    if (!waiter->wants_all)
        return waiter->delivered_count == 0;
    for (const ilk__delivered_signal *p = waiter->delivered; p; p = p->next)
        if (!p->aside && p->index == index)
            return 0;
    return 1;
}

static void wake_if_complete(ilk__waiter *waiter)
{
    size_t all = waiter->wants_all ? waiter->wait_queue->name_count : 1;

    if (waiter->delivered_count >= all)
        ilk__waiter_report(waiter, ILK__REPORT_SIGNAL);
}

static void append(ilk__waiter *waiter, ilk__delivered_signal *delivered)
{
    ilk__delivered_signal **link = &waiter->delivered, **oldest = NULL;
    int aside = 0;

    for (; *link; link = &(*link)->next)
        if ((*link)->aside && aside++ == 0)
            oldest = link;
    *link = delivered;
    if (delivered->aside && aside >= ASIDE_MAX)
        remove_at(waiter, oldest);
}

/* *payload is the shared copy of the message; the first waiter that keeps the
 * message makes it. */
static int keep(ilk__waiter *waiter, const ilk__message *message,
                ilk__payload **payload, size_t index, int aside)
{
    ilk__delivered_signal *delivered;

    if (!wants(waiter, index))
        return 0;
    if (!*payload)
        *payload = payload_new(message);
    if (!*payload)
        return 0;
    delivered = ilk__malloc(sizeof *delivered);
    if (!delivered)
        return 0;
    atomic_fetch_add(&(*payload)->refs, 1);
    *delivered = (ilk__delivered_signal){.index = index,
                                         .aside = aside,
                                         .payload = *payload,
                                         .message = &(*payload)->message};
    append(waiter, delivered);
    if (!aside)
        waiter->delivered_count++;
    wake_if_complete(waiter);
    return 1;
}

int ilk__delivered_signal_accept(ilk__waiter *waiter,
                                 const ilk__message *message)
{
    ilk__payload *payload = NULL;
    size_t index;
    int accepted;

    if (!waiter->refresher || !index_of(waiter->wait_queue, message, &index)
        || !wants(waiter, index))
        return 1;
    accepted = keep(waiter, message, &payload, index, message->second_hand);
    payload_unref(payload);
    if (accepted && message->second_hand)
        ilk__refresher_refresh_now(waiter->refresher);
    return accepted;
}

/* If several are aside, the latest is ours: the entry was still in the list
 * after the others were sent, so those went to other waiters. */
void ilk__delivered_signal_confirm(ilk__waiter *waiter, const char *name,
                                   size_t len)
{
    ilk__delivered_signal *latest = NULL;

    for (ilk__delivered_signal *p = waiter->delivered; p; p = p->next)
        if (p->aside && p->message->type == ILK__MESSAGE_SIGNAL
            && (!len
                || (p->message->name_len == len
                    && memcmp(p->message->name, name, len) == 0)))
            latest = p;
    if (!latest || !wants(waiter, latest->index))
        return;
    latest->aside = 0;
    waiter->delivered_count++;
    /* The server's own copy may still arrive. Mark it as seen, or it would be
     * passed on to another waiter. */
    (void)ilk__recent_seen(&waiter->shared->recent,
                           ilk__message_mark(latest->message));
    wake_if_complete(waiter);
}

void ilk__delivered_signal_entry_gone(ilk__waiter *waiter,
                                      const ilk__message *message)
{
    size_t index;

    if (message->second_hand) /* the replica's signals came before this */
        ilk__delivered_signal_confirm(waiter, message->name, message->name_len);
    if (message->name_len == 0) {
        waiter->last_received++;
        ilk__unpark(&waiter->parker);
    } else if (waiter->report == ILK__REPORT_NONE
               && index_of(waiter->wait_queue, message, &index)
               && wants(waiter, index)) {
        ilk__waiter_report(waiter, ILK__REPORT_WOKEN);
    }
}

static void notify_refresher(ilk__refresher *refresher, size_t index,
                             const ilk__message *message,
                             ilk__payload **payload)
{
    for (ilk__waiter *w = refresher->first; w; w = w->next) {
        int64_t ticket = w->tickets ? w->tickets[index] : 0;

        if (ticket <= message->ticket)
            (void)keep(w, message, payload, index, ticket == 0);
    }
}

void ilk__delivered_signal_notify(ilk__shared *shared,
                                  const ilk__message *message)
{
    ilk__node *node =
        ilk__table_find(&shared->lists, message->name, message->name_len);
    ilk__payload *payload = NULL;

    for (; node; node = node->next) { /* the bucket may hold other names */
        const ilk__refresher_list *list =
            (ilk__refresher_list *)((char *)node
                                    - offsetof(ilk__refresher_list, node));

        if (node->key_len == message->name_len
            && memcmp(node->key, message->name, node->key_len) == 0)
            notify_refresher(list->refresher, list->index, message, &payload);
    }
    payload_unref(payload);
}

/* ---- the ticket --------------------------------------------------------- */

void ilk__delivered_signal_ticket(ilk__waiter *waiter, size_t index,
                                  int64_t ticket)
{
    ilk__delivered_signal **link = &waiter->delivered;

    if (!waiter->tickets[index]) /* the first one counts */
        waiter->tickets[index] = ticket;
    while (*link) {
        ilk__delivered_signal *delivered = *link;

        if (!delivered->aside || delivered->index != index
            || delivered->message->type == ILK__MESSAGE_SIGNAL) {
            link = &delivered->next;
        } else if (ticket <= delivered->message->ticket
                   && wants(waiter, index)) {
            delivered->aside = 0;
            waiter->delivered_count++;
            link = &delivered->next;
        } else {
            remove_at(waiter, link);
        }
    }
    wake_if_complete(waiter);
}

/* ---- the end ------------------------------------------------------------ */

void ilk__delivered_signal_drop(ilk__waiter *waiter)
{
    while (waiter->delivered)
        remove_at(waiter, &waiter->delivered);
}

int ilk__delivered_signal_take(ilk__waiter *waiter)
{
    int acknowledges = 0;

    ilk__shared_lock(waiter->shared);
    for (const ilk__delivered_signal *p = waiter->delivered; p; p = p->next)
        if (waiter->accepted && p->message->type == ILK__MESSAGE_SIGNAL
            && !p->aside) {
            waiter->accepted[p->index] = '1';
            acknowledges = 1;
        }
    ilk__refresher_succeed(waiter);
    ilk__shared_unlock(waiter->shared);
    return acknowledges;
}
