/* SPDX-License-Identifier: MIT */
/* channel.c -- subscriptions to channels, and the messages received on them. */
#include "channel_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <stddef.h>
#include <string.h>

ilk__channel *ilk__channel_of_node(ilk__node *node)
{
    return (ilk__channel *)((char *)node - offsetof(ilk__channel, node));
}

ilk__channel *ilk__channel_find(ilk__shared *shared, char kind,
                                const void *name, size_t len)
{
    ilk__buf *ident = &shared->scratch;
    ilk__node *node;

    ilk__buf_drop(ident, ilk__buf_len(ident));
    if (ilk__buf_add(ident, &kind, 1) || ilk__buf_add(ident, name, len))
        return NULL;
    node = ilk__table_find(&shared->channels, ilk__buf_data(ident), len + 1);
    return node ? ilk__channel_of_node(node) : NULL;
}

int ilk__channel_is_confirmed(const ilk__channel *channel, size_t number)
{
    return channel->at[number].subscribed && !channel->at[number].to_confirm;
}

int ilk__channel_is_subscribed(const ilk__channel *channel)
{
    for (size_t i = 0; i < ILK__SUBSCRIBERS_MAX; i++)
        if (ilk__channel_is_confirmed(channel, i))
            return 1;
    return 0;
}

static void wake_all(ilk__channel *channel)
{
    for (ilk__listener *l = channel->listeners; l; l = l->next)
        ilk__unpark(&l->parker);
}

/* ---- subscribing and unsubscribing -------------------------------------- */

static void ask(ilk__channel *channel, ilk__subscriber *subscriber)
{
    const ilk__subscribe_call call = {.kind = ILK__SUBSCRIBE_CHANNEL,
                                      .channel = channel};
    int unanswered = ++channel->at[subscriber->number].unanswered;

    if (!channel->at[subscriber->number].subscribed)
        channel->at[subscriber->number].to_confirm = unanswered;
    channel->at[subscriber->number].subscribed = 1;
    if (subscriber->number == 0)
        for (ilk__listener *l = channel->listeners; l; l = l->next)
            if (l->to_begin < 0)
                l->to_begin = unanswered;
    ilk__subscriber_call(subscriber,
                         channel->ident[0] == 'p' ? "PSUBSCRIBE" : "SUBSCRIBE",
                         channel->ident + 1, channel->node.key_len - 1, call);
}

static void unsubscribe(ilk__channel *channel, ilk__subscriber *subscriber)
{
    const ilk__subscribe_call call = {.kind = ILK__UNSUBSCRIBE};

    channel->at[subscriber->number].subscribed = 0;
    ilk__subscriber_call(
        subscriber, channel->ident[0] == 'p' ? "PUNSUBSCRIBE" : "UNSUBSCRIBE",
        channel->ident + 1, channel->node.key_len - 1, call);
}

static int has_new_listener(const ilk__channel *channel)
{
    for (const ilk__listener *l = channel->listeners; l; l = l->next)
        if (l->to_begin < 0)
            return 1;
    return 0;
}

void ilk__channels_ask(ilk__shared *shared, ilk__subscriber *subscriber)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->channels, &cursor)))
        for (; node && subscriber->connection.up; node = node->next) {
            ilk__channel *channel = ilk__channel_of_node(node);
            int wanted = channel->listeners && !channel->why.code
                         && (subscriber->number == 0 || channel->own_format);
            int subscribed = channel->at[subscriber->number].subscribed;
            int is_new = subscriber->number == 0 && has_new_listener(channel);

            if (wanted && (!subscribed || is_new)
                && !channel->at[subscriber->number].refused)
                ask(channel, subscriber);
            else if (!wanted && subscribed)
                unsubscribe(channel, subscriber);
        }
}

static int is_needed(const ilk__channel *channel)
{
    int needed = channel->listeners != NULL;

    for (size_t i = 0; i < ILK__SUBSCRIBERS_MAX; i++)
        needed |= channel->at[i].subscribed || channel->at[i].unanswered;
    return needed;
}

static void drop_unless(ilk__shared *shared, int (*keep)(const ilk__channel *))
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->channels, &cursor)))
        for (ilk__node *next; node; node = next) {
            ilk__channel *channel = ilk__channel_of_node(node);

            next = node->next;
            if (keep && keep(channel))
                continue;
            ilk__table_remove(&shared->channels, node);
            ilk__free(channel);
        }
}

void ilk__channels_sweep(ilk__shared *shared)
{
    drop_unless(shared, is_needed);
}

void ilk__channels_free(ilk__shared *shared)
{
    drop_unless(shared, NULL);
    ilk__table_free(&shared->channels);
}

const char *ilk__channel_name(const ilk__channel *channel, size_t *out_len)
{
    *out_len = channel->node.key_len - 1;
    return channel->ident + 1;
}

/* ---- replies ------------------------------------------------------------ */

/* If the subscription was confirmed before, this is the reply with which a new
 * listener begins, even if it is a refusal. */
void ilk__channel_answered(ilk__channel *channel,
                           const ilk__subscriber *subscriber,
                           const ilk_error *why)
{
    int was_confirmed = ilk__channel_is_confirmed(channel, subscriber->number);

    channel->at[subscriber->number].unanswered--;
    if (channel->at[subscriber->number].to_confirm)
        channel->at[subscriber->number].to_confirm--;
    if (subscriber->number == 0)
        for (ilk__listener *l = channel->listeners; l; l = l->next)
            l->to_begin -= l->to_begin > 0;
    channel->shared->channels_changed = 1; /* it may be unused by now */
    if (why && !was_confirmed) {
        channel->at[subscriber->number].subscribed = 0;
        channel->at[subscriber->number].refused = 1;
        if (subscriber->number == 0)
            channel->why = *why;
    }
    if (why)
        ilk__log(ILK__LOG_WARN, "%s", why->msg);
    else
        channel->down_since = 0;
    wake_all(channel);
}

/* When the connection is up again, ilk__channels_ask() subscribes anew. */
void ilk__channels_lost(ilk__shared *shared, ilk__subscriber *subscriber)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->channels, &cursor)))
        for (; node; node = node->next) {
            ilk__channel *channel = ilk__channel_of_node(node);
            int was_subscribed = ilk__channel_is_subscribed(channel);

            channel->at[subscriber->number].subscribed = 0;
            channel->at[subscriber->number].unanswered = 0;
            channel->at[subscriber->number].to_confirm = 0;
            channel->at[subscriber->number].refused = 0;
            if (subscriber->number == 0)
                for (ilk__listener *l = channel->listeners; l; l = l->next)
                    l->to_begin = l->to_begin ? -1 : 0;
            if (!was_subscribed || ilk__channel_is_subscribed(channel))
                continue;
            channel->down_since = ilk__now_ms();
            for (ilk__listener *l = channel->listeners; l; l = l->next)
                l->gaps++;
            wake_all(channel);
        }
    shared->channels_changed = 1;
}

/* ---- messages ----------------------------------------------------------- */

void ilk__channel_message_free(ilk__channel_message *message)
{
    ilk__free(message);
}

ilk__channel_message *ilk__listener_pop(ilk__listener *listener)
{
    ilk__channel_message *message = listener->first;

    if (!message)
        return NULL;
    listener->first = message->next;
    if (!listener->first)
        listener->end = &listener->first;
    listener->count--;
    listener->bytes -= message->channel_len + message->data_len;
    return message;
}

static ilk__channel_message *copy_of(const ilk__reply *channel,
                                     const ilk__reply *payload, int own_format)
{
    /* ilk__message_read() writes into the text, so it gets a second copy */
    size_t room =
        channel->len + payload->len + 2 + (own_format ? payload->len + 1 : 0);
    ilk__channel_message *message = ilk__calloc(1, sizeof *message + room);
    char *to;

    if (!message)
        return NULL;
    to = message->bytes;
    memcpy(to, channel->str, channel->len);
    message->channel = to;
    message->channel_len = channel->len;
    to += channel->len + 1;
    memcpy(to, payload->str, payload->len);
    message->data = to;
    message->data_len = payload->len;
    to += payload->len + 1;
    if (own_format) {
        memcpy(to, payload->str, payload->len);
        (void)ilk__message_read(&message->parsed, to, payload->len);
    }
    return message;
}

static void keep(ilk__listener *listener, const ilk__reply *channel,
                 const ilk__reply *payload)
{
    ilk__channel_message *message =
        copy_of(channel, payload, listener->own_format);

    if (message) {
        *listener->end = message;
        listener->end = &message->next;
        listener->count++;
        listener->bytes += channel->len + payload->len;
    } else {
        listener->lost++;
    }
    while (
        listener->count > ILK__CHANNEL_MESSAGES_MAX
        || (listener->bytes > ILK__CHANNEL_BYTES_MAX && listener->count > 1)) {
        listener->lost++;
        ilk__channel_message_free(ilk__listener_pop(listener));
    }
    ilk__unpark(&listener->parker);
}

/* 0: a second copy, or a message without an id from a replica. *is_own: it is
 * in our own format. */
static int is_new(ilk__channel *channel, const ilk__subscriber *subscriber,
                  const ilk__reply *payload, int *is_own)
{
    char *text =
        channel->own_format ? ilk__memdup(payload->str, payload->len) : NULL;
    ilk__message message;
    int is_first = subscriber->number == 0;

    *is_own = text && ilk__message_read(&message, text, payload->len)
              && message.signal;
    if (*is_own)
        is_first =
            !ilk__recent_seen(&channel->shared->recent,
                              ilk__message_mark(&message) + channel->node.hash);
    ilk__free(text);
    return is_first;
}

void ilk__channel_receive(ilk__shared *shared,
                          const ilk__subscriber *subscriber,
                          const ilk__reply *pattern, const ilk__reply *channel,
                          const ilk__reply *payload)
{
    const ilk__reply *of = pattern ? pattern : channel;
    ilk__channel *found =
        ilk__channel_find(shared, pattern ? 'p' : 'c', of->str, of->len);
    int is_own;

    if (!found || !is_new(found, subscriber, payload, &is_own))
        return;
    for (ilk__listener *l = found->listeners; l; l = l->next)
        if ((is_own || !l->own_format) && (subscriber->number || !l->to_begin))
            keep(l, channel, payload);
}
