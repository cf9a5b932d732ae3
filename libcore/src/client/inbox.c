/* SPDX-License-Identifier: MIT */
/*
 * inbox.c -- the client's own channel: subscribing, and delivering messages.
 *
 *     GRANT    waiter waits under this token: news GRANTED; else orphaned
 *     WAKE     waiter waits: news WOKEN; else orphaned
 *     SIGNAL   waiter accepts it (delivered_signal.h); else orphaned
 *     NOTIFY   every waiter in the list of that name may accept it
 *     CHANGE   every waiter in that list: news WOKEN
 *
 * An orphaned message goes to its primitive's function, which passes the grant
 * or signal on to another client (ilk__wait_orphaned()). A message that came
 * from a replica only is never passed on, and a grant or wake of that kind only
 * makes the waiter ask the server.
 */
#include "inbox.h"

#include "base/clock.h"
#include "base/log.h"
#include "pubsub/channel.h"
#include "wait/delivered_signal.h"
#include "wait/refresher.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "ilk:inbox:";

static int is_text(const ilk__reply *reply, const char *text)
{
    return reply->type == ILK__REPLY_STR && reply->len == strlen(text)
           && memcmp(reply->str, text, reply->len) == 0;
}

static int is_own_channel(const ilk__shared *shared, const ilk__reply *channel)
{
    return channel->type == ILK__REPLY_STR
           && channel->len == sizeof prefix - 1 + ILK__CLIENT_ID_LEN
           && memcmp(channel->str, prefix, sizeof prefix - 1) == 0
           && memcmp(channel->str + sizeof prefix - 1, shared->client_id,
                     ILK__CLIENT_ID_LEN)
                  == 0;
}

/* ---- subscribing -------------------------------------------------------- */

/* These channels are never unsubscribed: an unused subscription is harmless and
 * ends with the connection. */
static void subscribe_foreign(ilk__shared *shared, ilk__subscriber *subscriber)
{
    const ilk__subscribe_call call = {ILK__SUBSCRIBE_FOREIGN, NULL};
    size_t cursor = 0;
    ilk__node *node;

    while (shared->refresher_channels > 0
           && (node = ilk__table_bucket(&shared->refreshers, &cursor)))
        for (; node && subscriber->connection.up; node = node->next) {
            const ilk__refresher *refresher =
                (ilk__refresher *)((char *)node
                                   - offsetof(ilk__refresher, node));

            if (refresher->wait_queue.channel.len)
                ilk__subscriber_call(subscriber, "SUBSCRIBE",
                                     refresher->wait_queue.channel.data,
                                     refresher->wait_queue.channel.len, call);
        }
}

void ilk__inbox_channels(ilk__shared *shared, ilk__subscriber *subscriber)
{
    subscribe_foreign(shared, subscriber);
    ilk__channels_ask(shared, subscriber);
}

/* Reset the state of a connection: no subscriptions, no pending replies. */
static void forget(ilk__shared *shared, ilk__subscriber *subscriber)
{
    shared->subscribed_count -= subscriber->subscribed != 0;
    subscriber->subscribed = 0;
    ilk__buf_drop(&subscriber->calls, ilk__buf_len(&subscriber->calls));
    ilk__channels_lost(shared, subscriber);
    if (!shared->subscribed_count && shared->inbox == ILK__INBOX_READY)
        shared->inbox = ILK__INBOX_WANTED;
}

void ilk__inbox_came_up(ilk__shared *shared, ilk__subscriber *subscriber)
{
    const ilk__subscribe_call call = {ILK__SUBSCRIBE_OWN, NULL};
    char channel[sizeof prefix + ILK__CLIENT_ID_LEN];
    int len =
        snprintf(channel, sizeof channel, "%s%s", prefix, shared->client_id);

    forget(shared, subscriber);
    ilk__subscriber_call(subscriber, "SUBSCRIBE", channel, (size_t)len, call);
    if (subscriber->connection.up)
        ilk__inbox_channels(shared, subscriber);
}

/* The server refused the subscription. A replica is not used any more. For the
 * primary the inbox is refused, and waits that need it fail with `why`. */
static void refuse(ilk__shared *shared, ilk__subscriber *subscriber,
                   const ilk_error *why)
{
    ilk__log(ILK__LOG_ERROR, "no wake-ups%s: %s",
             subscriber->number ? " by a replica" : "", why->msg);
    subscriber->connection.wanted = 0;
    ilk__async_conn_break(&subscriber->connection, why->msg);
    forget(shared, subscriber);
    if (subscriber->number) {
        subscriber->refused = 1;
        return;
    }
    shared->inbox_error = *why;
    shared->inbox = ILK__INBOX_REFUSED;
    ilk__shared_wake_sleepers(shared);
}

void ilk__inbox_lost(ilk__shared *shared, ilk__subscriber *subscriber)
{
    const ilk_error *why = &subscriber->connection.error;

    ilk__log(ILK__LOG_INFO, "inbox: %s", why->msg);
    forget(shared, subscriber);
    if (subscriber->number)
        return;
    shared->inbox_error = *why;
    shared->own_lost = 1;
    if (shared->subscribed_count && shared->inbox == ILK__INBOX_WANTED)
        shared->inbox = ILK__INBOX_READY;
    if (why->code == ILK_EAUTH)
        shared->inbox = ILK__INBOX_REFUSED;
    if (shared->inbox != ILK__INBOX_WANTED)
        ilk__shared_wake_sleepers(shared);
}

/* ---- messages ----------------------------------------------------------- */

/* A grant or wake-up from a replica, before the primary's copy or without one.
 * It may have been taken back, so the waiter asks the primary. */
static void on_second_hand(ilk__waiter *waiter)
{
    if (waiter && waiter->refresher && waiter->news == ILK__NEWS_NONE)
        ilk__wait_tell_news(waiter, ILK__NEWS_WOKEN);
}

static void on_grant(ilk__shared *shared, const ilk__message *message)
{
    ilk__waiter *waiter = ilk__wait_find(shared, message->waiter);

    if (message->second_hand) {
        on_second_hand(waiter);
        return;
    }
    if (!waiter || strcmp(ilk__waiter_token(waiter), message->token) != 0) {
        ilk__wait_orphaned(shared, message);
        return;
    }
    if (!waiter->refresher)
        return; /* a refresh reported the grant first; it holds already */
    waiter->news_fence = message->fence;
    waiter->news_lease_ms = message->lease_ms;
    waiter->news_us = message->server_us;
    waiter->news_at = ilk__now_ms();
    ilk__wait_tell_news(waiter, ILK__NEWS_GRANTED);
}

static void on_wake(ilk__shared *shared, const ilk__message *message)
{
    ilk__waiter *waiter = ilk__wait_find(shared, message->waiter);

    if (waiter && waiter->refresher) {
        if (waiter->wait_queue->name_count)
            ilk__delivered_signal_entry_gone(waiter, message);
        else if (waiter->news == ILK__NEWS_NONE)
            ilk__wait_tell_news(waiter, ILK__NEWS_WOKEN);
    } else if (!message->second_hand) {
        ilk__wait_orphaned(shared, message);
    }
}

static void on_signal(ilk__shared *shared, const ilk__message *message)
{
    ilk__waiter *waiter = ilk__wait_find(shared, message->waiter);
    int taken = waiter && ilk__delivered_signal_accept(waiter, message);

    if (!taken && !message->second_hand)
        ilk__wait_orphaned(shared, message);
}

/*
 * Whether a copy of the message has been handled. For a SIGNAL the primary's
 * copy must be handled even after a replica's, because only it is certain. So
 * replicas' copies are remembered under another mark (~mark).
 */
static int is_copy(ilk__shared *shared, const ilk__message *message)
{
    uint64_t mark = ilk__message_mark(message);

    if (message->type != ILK__MESSAGE_SIGNAL || !message->second_hand)
        return ilk__recent_seen(&shared->recent, mark);
    return ilk__recent_has(&shared->recent, mark)
           || ilk__recent_seen(&shared->recent, ~mark);
}

/* What a list waits for has changed: all our waiters in it ask again. */
static void on_change(ilk__shared *shared, const ilk__message *message)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&shared->refreshers, &cursor)))
        for (; node; node = node->next)
            ilk__refresher_changed(
                (ilk__refresher *)((char *)node
                                   - offsetof(ilk__refresher, node)),
                message->name, message->name_len);
}

/* Parsing writes into the reply's text, which is not used afterwards. */
static void on_message(ilk__shared *shared, const ilk__subscriber *subscriber,
                       const ilk__reply *payload)
{
    ilk__message message;

    if (!ilk__message_read(&message, payload->str, payload->len)) {
        ilk__log(ILK__LOG_WARN, "inbox: a message that makes no sense");
        return;
    }
    message.second_hand = subscriber->number != 0;
    if (message.signal && is_copy(shared, &message))
        return;
    switch (message.type) {
    case ILK__MESSAGE_GRANT: on_grant(shared, &message); return;
    case ILK__MESSAGE_WAKE: on_wake(shared, &message); return;
    case ILK__MESSAGE_SIGNAL: on_signal(shared, &message); return;
    case ILK__MESSAGE_NOTIFY:
        ilk__delivered_signal_notify(shared, &message);
        return;
    case ILK__MESSAGE_CHANGE: on_change(shared, &message); return;
    }
}

/* A release by another library, on a channel that a refresher subscribed. */
static void on_channel(ilk__shared *shared, const ilk__reply *channel)
{
    size_t cursor = 0;
    ilk__node *node;

    while (shared->refresher_channels > 0
           && (node = ilk__table_bucket(&shared->refreshers, &cursor)))
        for (; node; node = node->next) {
            ilk__refresher *refresher =
                (ilk__refresher *)((char *)node
                                   - offsetof(ilk__refresher, node));

            if (refresher->wait_queue.channel.len == channel->len
                && memcmp(refresher->wait_queue.channel.data, channel->str,
                          channel->len)
                       == 0)
                ilk__refresher_claim_now(refresher);
        }
}

/* ---- replies ------------------------------------------------------------ */

static void confirmed(ilk__shared *shared, ilk__subscriber *subscriber)
{
    shared->subscribed_count += !subscriber->subscribed;
    subscriber->subscribed = 1;
    if (subscriber->number == 0)
        shared->own_lost = 0;
    else if (!shared->own_lost)
        return; /* wait for the primary's confirmation, which is better */
    shared->inbox = ILK__INBOX_READY;
    ilk__shared_wake_sleepers(shared);
    ilk__refresher_refresh_all(shared);
}

static void on_error(ilk__shared *shared, ilk__subscriber *subscriber,
                     const ilk__reply *reply)
{
    ilk_error error = {0}, said = {0};
    ilk_status st = ilk__reply_error(reply, &said);
    ilk__subscribe_call call = {ILK__SUBSCRIBE_OWN, NULL};

    (void)ilk__subscriber_answered(subscriber, &call);
    if (call.kind == ILK__SUBSCRIBE_CHANNEL) {
        ilk__fail(&error, st, "cannot listen to a channel: %.200s", said.msg);
        ilk__channel_answered(call.channel, subscriber, &error);
    } else if (call.kind != ILK__UNSUBSCRIBE) {
        ilk__fail(&error, st, "cannot SUBSCRIBE to %s*: %.200s", prefix,
                  said.msg);
        refuse(shared, subscriber, &error);
    }
}

static void on_confirmation(ilk__shared *shared, ilk__subscriber *subscriber,
                            const ilk__reply *channel)
{
    ilk__subscribe_call call = {ILK__SUBSCRIBE_OWN, NULL};

    (void)ilk__subscriber_answered(subscriber, &call);
    if (call.kind == ILK__SUBSCRIBE_CHANNEL)
        ilk__channel_answered(call.channel, subscriber, NULL);
    else if (call.kind == ILK__SUBSCRIBE_OWN && is_own_channel(shared, channel))
        confirmed(shared, subscriber);
}

/* Whether the array is this word followed by at least `texts` strings. */
static int is_of(const ilk__reply *reply, const char *word, size_t texts)
{
    if (!is_text(reply->items[0], word) || reply->count < texts + 1)
        return 0;
    for (size_t i = 1; i <= texts; i++)
        if (reply->items[i]->type != ILK__REPLY_STR)
            return 0;
    return 1;
}

void ilk__inbox_reply(ilk__shared *shared, ilk__subscriber *subscriber,
                      const ilk__reply *reply)
{
    ilk__reply *const *items = reply->items;

    if (reply->type == ILK__REPLY_ERROR) {
        on_error(shared, subscriber, reply);
    } else if ((reply->type != ILK__REPLY_ARRAY
                && reply->type != ILK__REPLY_PUSH)
               || reply->count < 3) {
        return; /* the reply to PING */
    } else if (is_of(reply, "message", 2)) {
        if (is_own_channel(shared, items[1])) {
            on_message(shared, subscriber, items[2]);
            return;
        }
        ilk__channel_receive(shared, subscriber, NULL, items[1], items[2]);
        on_channel(shared, items[1]);
    } else if (is_of(reply, "pmessage", 3)) {
        ilk__channel_receive(shared, subscriber, items[1], items[2], items[3]);
    } else if (is_of(reply, "subscribe", 1) || is_of(reply, "psubscribe", 1)
               || is_of(reply, "unsubscribe", 1)
               || is_of(reply, "punsubscribe", 1)) {
        on_confirmation(shared, subscriber, items[1]);
    }
}
