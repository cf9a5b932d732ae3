/* SPDX-License-Identifier: MIT */
/* inbox.c -- the client's subscription: where grants and wake-ups arrive. */
#include "inbox.h"

#include "clock.h"
#include "log.h"
#include "parcel.h"
#include "watch.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "ilk:inbox:";

static int is_text(const ilk__reply *reply, const char *text)
{
    return reply->type == ILK__REPLY_STR && reply->len == strlen(text)
           && memcmp(reply->str, text, reply->len) == 0;
}

static int is_own_channel(const ilk__desk *desk, const ilk__reply *channel)
{
    return channel->type == ILK__REPLY_STR
           && channel->len == sizeof prefix - 1 + ILK__CLIENT_ID_LEN
           && memcmp(channel->str, prefix, sizeof prefix - 1) == 0
           && memcmp(channel->str + sizeof prefix - 1, desk->client_id,
                     ILK__CLIENT_ID_LEN)
                  == 0;
}

/* ---- subscribing -------------------------------------------------------- */

static void subscribe(ilk__link *link, const void *channel, size_t len)
{
    ilk__command command;

    ilk__command_init(&command);
    ilk__command_add_str(&command, "SUBSCRIBE");
    ilk__command_add(&command, channel, len);
    if (ilk__link_send(link, &command))
        ilk__link_break(link, "out of memory");
    ilk__command_free(&command);
}

/* A subscription too many does no harm and goes with the connection. */
void ilk__inbox_channels(ilk__desk *desk, ilk__link *link)
{
    size_t cursor = 0;
    ilk__node *node;

    desk->channels_changed = 0;
    while ((node = ilk__table_bucket(&desk->watches, &cursor)))
        for (; node && link->up; node = node->next) {
            const ilk__watch *watch =
                (ilk__watch *)((char *)node - offsetof(ilk__watch, node));

            if (watch->line.channel.len)
                subscribe(link, watch->line.channel.data,
                          watch->line.channel.len);
        }
}

void ilk__inbox_came_up(ilk__desk *desk, ilk__link *link)
{
    char channel[sizeof prefix + ILK__CLIENT_ID_LEN];
    int len =
        snprintf(channel, sizeof channel, "%s%s", prefix, desk->client_id);

    subscribe(link, channel, (size_t)len);
    if (link->up)
        ilk__inbox_channels(desk, link);
}

/* Those who cannot wait without it hear why; the rest is op.c's patience. */
static void refuse(ilk__desk *desk, ilk__link *link, const ilk_error *why)
{
    desk->inbox_error = *why;
    desk->inbox = ILK__INBOX_REFUSED;
    link->wanted = 0;
    ilk__log(ILK__LOG_ERROR, "no wake-ups: %s", why->msg);
    ilk__desk_wake_sleepers(desk);
}

void ilk__inbox_lost(ilk__desk *desk, const ilk__link *link)
{
    ilk__log(ILK__LOG_INFO, "inbox: %s", link->error.msg);
    if (desk->inbox == ILK__INBOX_READY)
        desk->inbox = ILK__INBOX_WANTED;
    desk->inbox_error = link->error;
    if (link->error.code == ILK_EAUTH) {
        desk->inbox = ILK__INBOX_REFUSED;
        ilk__desk_wake_sleepers(desk);
    }
}

/* ---- messages ----------------------------------------------------------- */

static void on_grant(ilk__desk *desk, const ilk__letter *letter)
{
    ilk__waiter *waiter = ilk__wait_find(desk, letter->waiter);

    if (!waiter || strcmp(ilk__waiter_token(waiter), letter->token) != 0) {
        desk->unclaimed(desk, letter);
        return;
    }
    if (!waiter->watch)
        return; /* a refresh was faster, and it holds already */
    waiter->news_fence = letter->fence;
    waiter->news_lease_ms = letter->lease_ms;
    waiter->news_us = letter->server_us;
    waiter->news_at = ilk__now_ms();
    ilk__wait_tell_news(waiter, ILK__NEWS_GRANTED);
}

static void on_wake(ilk__desk *desk, const ilk__letter *letter)
{
    ilk__waiter *waiter = ilk__wait_find(desk, letter->waiter);

    if (!waiter || !waiter->watch)
        desk->unclaimed(desk, letter);
    else if (waiter->news == ILK__NEWS_NONE)
        ilk__wait_tell_news(waiter, ILK__NEWS_WOKEN);
}

static void on_signal(ilk__desk *desk, const ilk__letter *letter)
{
    ilk__waiter *waiter = ilk__wait_find(desk, letter->waiter);

    if (!waiter || !ilk__parcel_take(waiter, letter))
        desk->unclaimed(desk, letter);
}

/* The text is the reply's own copy and is cut up in place. */
static void on_message(ilk__desk *desk, const ilk__reply *payload)
{
    ilk__letter letter;

    if (!ilk__letter_read(&letter, payload->str, payload->len)) {
        ilk__log(ILK__LOG_WARN, "inbox: a message that makes no sense");
        return;
    }
    if (letter.signal
        && ilk__recent_seen(&desk->recent, ilk__letter_mark(&letter)))
        return;
    switch (letter.verb) {
    case ILK__LETTER_GRANT: on_grant(desk, &letter); return;
    case ILK__LETTER_WAKE: on_wake(desk, &letter); return;
    case ILK__LETTER_SIGNAL: on_signal(desk, &letter); return;
    case ILK__LETTER_NOTIFY: ilk__parcel_notify(desk, &letter); return;
    }
}

/* Somebody else's release, on a channel that a watch listens to. */
static void on_channel(ilk__desk *desk, const ilk__reply *channel)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&desk->watches, &cursor)))
        for (; node; node = node->next) {
            ilk__watch *watch =
                (ilk__watch *)((char *)node - offsetof(ilk__watch, node));

            if (watch->line.channel.len == channel->len
                && memcmp(watch->line.channel.data, channel->str, channel->len)
                       == 0)
                ilk__watch_hurry(watch);
        }
}

static void confirmed(ilk__desk *desk)
{
    desk->inbox = ILK__INBOX_READY;
    ilk__desk_wake_sleepers(desk);
    ilk__watch_hurry_all(desk);
}

void ilk__inbox_reply(ilk__desk *desk, ilk__link *link, const ilk__reply *reply)
{
    ilk_error error = {0}, said = {0};

    if (reply->type == ILK__REPLY_ERROR) {
        ilk__fail(&error, ilk__reply_error(reply, &said),
                  "cannot SUBSCRIBE to %s*: %.200s", prefix, said.msg);
        refuse(desk, link, &error);
        ilk__link_break(link, error.msg);
        return;
    }
    if ((reply->type != ILK__REPLY_ARRAY && reply->type != ILK__REPLY_PUSH)
        || reply->count < 3)
        return; /* a pong */
    if (is_text(reply->items[0], "subscribe")) {
        if (is_own_channel(desk, reply->items[1]))
            confirmed(desk);
    } else if (is_text(reply->items[0], "message")
               && reply->items[1]->type == ILK__REPLY_STR
               && reply->items[2]->type == ILK__REPLY_STR) {
        if (is_own_channel(desk, reply->items[1]))
            on_message(desk, reply->items[2]);
        else
            on_channel(desk, reply->items[1]);
    }
}
