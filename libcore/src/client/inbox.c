/* SPDX-License-Identifier: MIT */
/*
 * inbox.c -- the client's own channel: subscribing, and delivering messages.
 *
 *     GRANT    waiter waits under this token: report GRANTED; else orphaned
 *     WAKE     waiter waits: report WOKEN; else orphaned
 *     SIGNAL   waiter accepts it (delivered_signal.h); else orphaned
 *     NOTIFY   every waiter in the list of that name may accept it
 *     CHANGE   every waiter in that list: report WOKEN
 *
 * A message that does not repeat the right secret (wait/secret.h), or that is of
 * another version, is dropped and counted. An orphaned message goes to its
 * primitive's function, which passes the grant or signal on to another client
 * (ilk__wait_orphaned()). A message that came from a replica only is never
 * passed on, and such a grant or wake only makes the waiter send its request
 * again.
 */
#include "inbox.h"

#include "base/clock.h"
#include "base/log.h"
#include "pubsub/channel.h"
#include "redis/missing_right.h"
#include "wait/delivered_signal.h"
#include "wait/refresher.h"
#include "wait/secret.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "ilk:inbox:";

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
    const ilk__subscribe_call call = {.kind = ILK__SUBSCRIBE_FOREIGN};
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
    /* the server may have restarted without our scripts */
    for (size_t i = 0; i < ILK__SCRIPT_COUNT; i++)
        shared->knows_script[i] = 0;
    ilk__buf_drop(&subscriber->calls, ilk__buf_len(&subscriber->calls));
    ilk__channels_lost(shared, subscriber);
    if (!shared->subscribed_count && shared->inbox == ILK__INBOX_READY)
        shared->inbox = ILK__INBOX_WANTED;
}

void ilk__inbox_came_up(ilk__shared *shared, ilk__subscriber *subscriber)
{
    const ilk__subscribe_call call = {.kind = ILK__SUBSCRIBE_OWN};
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
             subscriber->number ? " from a replica" : "", why->msg);
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
    if (subscriber->connection.was_opening
        && (why->code == ILK_ECONN || why->code == ILK_ETIMEOUT))
        ilk__outage_note(&shared->outage, ilk__now_ms(), ILK_ECONN, why);
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

/* Others may publish here as fast as they can: only the first one is logged. */
static void refuse_message(ilk__shared *shared, const char *why)
{
    if (shared->stats.messages_refused++ == 0)
        ilk__log(ILK__LOG_WARN,
                 "inbox: dropped a message %s; others will only be counted",
                 why);
}

/* A grant or wake-up from a replica, before the primary's copy or without one.
 * The primary may have passed over this waiter, so the waiter sends its request
 * again. */
static void on_second_hand(ilk__waiter *waiter)
{
    if (waiter && waiter->refresher && waiter->report == ILK__REPORT_NONE)
        ilk__waiter_report(waiter, ILK__REPORT_WOKEN);
}

/* Others may send many messages for waiters that are gone. Beyond this number
 * in flight they cause no commands, so that renewals are not delayed: the grants
 * end by themselves. */
static void pass_on(ilk__shared *shared, const ilk__message *message)
{
    if (shared->giving_back < ILK__GIVING_BACK_MAX)
        ilk__wait_orphaned(shared, message);
    else
        shared->stats.messages_refused++;
}

static void on_grant(ilk__shared *shared, const ilk__message *message)
{
    ilk__waiter *waiter = ilk__wait_find(shared, message->waiter);

    if (message->second_hand) {
        on_second_hand(waiter);
        return;
    }
    if (!waiter || strcmp(ilk__waiter_token(waiter), message->token) != 0) {
        if (!ilk__detached_token_has(shared, message->token))
            pass_on(shared, message);
        return;
    }
    if (!ilk__wait_queue_grants(waiter->wait_queue)) {
        refuse_message(shared, "that grants to a wait that is for no hold");
        return;
    }
    if (!waiter->refresher)
        return; /* a refresh reported the grant first; it holds already */
    waiter->report_fence = message->fence;
    waiter->report_lease_ms = message->lease_ms;
    waiter->report_us = message->server_us;
    waiter->report_at = ilk__now_ms();
    ilk__waiter_report(waiter, ILK__REPORT_GRANTED);
}

static void on_wake(ilk__shared *shared, const ilk__message *message)
{
    ilk__waiter *waiter = ilk__wait_find(shared, message->waiter);

    if (waiter && waiter->refresher) {
        if (waiter->wait_queue->name_count)
            ilk__delivered_signal_entry_gone(waiter, message);
        else if (waiter->report == ILK__REPORT_NONE)
            ilk__waiter_report(waiter, ILK__REPORT_WOKEN);
    } else if (!message->second_hand) {
        pass_on(shared, message);
    }
}

static void on_signal(ilk__shared *shared, const ilk__message *message)
{
    ilk__waiter *waiter = ilk__wait_find(shared, message->waiter);
    int handled = waiter && ilk__delivered_signal_accept(waiter, message);

    if (!handled && !message->second_hand)
        pass_on(shared, message);
}

/*
 * Whether a copy of the message has been handled. For a GRANT or SIGNAL the
 * primary's copy must be handled even after a replica's, because only it is
 * certain. So replicas' copies are remembered under another mark (~mark). A
 * grant that somebody else has seen and repeats must not be given back, because
 * its hold may have been detached since.
 */
static int is_copy(ilk__shared *shared, const ilk__message *message)
{
    uint64_t mark = ilk__message_mark(message);

    if (message->type == ILK__MESSAGE_NOTIFY || !message->second_hand)
        return ilk__recent_seen(&shared->recent, mark);
    return ilk__recent_has(&shared->recent, mark)
           || ilk__recent_seen(&shared->recent, ~mark);
}

/* The state of a wait queue has changed: all our waiters in it send their
 * request again. */
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
        refuse_message(shared, "in an unknown form");
        return;
    }
    if (!ilk__secret_proves(shared, &message)) {
        refuse_message(shared, "without the secret of a wait");
        return;
    }
    message.second_hand = subscriber->number != 0;
    if (message.type != ILK__MESSAGE_WAKE && message.type != ILK__MESSAGE_CHANGE
        && is_copy(shared, &message))
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

/* A reply that belongs to no call: the connection is opened anew, with all its
 * subscriptions. */
static void distrust(ilk__shared *shared, ilk__subscriber *subscriber)
{
    ilk__async_conn_break(&subscriber->connection, ILK__FOREIGN_REPLY);
    ilk__inbox_lost(shared, subscriber);
}

static void on_error(ilk__shared *shared, ilk__subscriber *subscriber,
                     const ilk__reply *reply)
{
    static const char inboxes[] = "ilk:inbox:*",
                      releases[] = "redisson_lock__channel:*";
    ilk_error error = {0}, reason = {0};
    const char *name = inboxes;
    size_t len = sizeof inboxes - 1;
    ilk__subscribe_call call;
    ilk_status st;

    if (!ilk__subscriber_refused(subscriber, &call)) {
        distrust(shared, subscriber);
        return;
    }
    if (call.kind == ILK__SUBSCRIBE_CHANNEL) {
        name = ilk__channel_name(call.channel, &len);
    } else if (call.kind == ILK__SUBSCRIBE_FOREIGN) {
        name = releases;
        len = sizeof releases - 1;
    }
    st = ilk__missing_right_to(reply, name, len, &reason);
    if (call.kind == ILK__SUBSCRIBE_CHANNEL) {
        ilk__fail(&error, st, "cannot listen to a channel: %.200s", reason.msg);
        ilk__channel_answered(call.channel, subscriber, &error);
    } else if (call.kind == ILK__SUBSCRIBE_FOREIGN) {
        /* The waits go on, and see a release at their next look. */
        ilk__log(ILK__LOG_ERROR, "cannot SUBSCRIBE to %s: %.200s", releases,
                 reason.msg);
    } else if (call.kind != ILK__UNSUBSCRIBE) {
        ilk__fail(&error, st, "cannot SUBSCRIBE to %s*: %.200s", prefix,
                  reason.msg);
        refuse(shared, subscriber, &error);
    }
}

static void on_confirmation(ilk__shared *shared, ilk__subscriber *subscriber,
                            const char *command_name, const ilk__reply *channel)
{
    ilk__subscribe_call call;

    if (!ilk__subscriber_confirmed(subscriber, command_name, channel->str,
                                   channel->len, &call))
        distrust(shared, subscriber);
    else if (call.kind == ILK__SUBSCRIBE_CHANNEL)
        ilk__channel_answered(call.channel, subscriber, NULL);
    else if (call.kind == ILK__SUBSCRIBE_OWN)
        confirmed(shared, subscriber);
}

/* Whether the reply is an array of three or more that begins with this word
 * and `texts` strings. */
static int is_of(const ilk__reply *reply, const char *word, size_t texts)
{
    if ((reply->type != ILK__REPLY_ARRAY && reply->type != ILK__REPLY_PUSH)
        || reply->count < 3 || reply->count < texts + 1
        || !ilk__reply_is_text(reply->items[0], word))
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
        on_confirmation(shared, subscriber, items[0]->str, items[1]);
    } else {
        distrust(shared, subscriber);
    }
}
