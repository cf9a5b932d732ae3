/* SPDX-License-Identifier: MIT */
/* inbox.c -- the client's subscription: where grants and wake-ups arrive. */
#include "inbox.h"

#include "clock.h"
#include "log.h"
#include "watch.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The next space-parted word of a message; NULL when there is none. */
static char *word(char **rest)
{
    char *begin = *rest;
    char *end = begin ? strchr(begin, ' ') : NULL;

    if (!begin)
        return NULL;
    if (end)
        *end++ = '\0';
    *rest = end;
    return begin;
}

typedef struct letter {
    char kind; /* of the waiter: x, r, w */
    int64_t waiter;
    const char *token;
    int64_t fence, lease_ms, server_us;
    const char *name;
    size_t name_len;
} letter;

static int parse_number(char **rest, int64_t *out)
{
    char *text = word(rest), *end = NULL;

    if (!text || !*text)
        return 0;
    *out = strtoll(text, &end, 10);
    return *end == '\0' && *out >= 0;
}

static int parse_waiter(char **rest, letter *out)
{
    char *text = word(rest), *end = NULL;

    if (!text || !text[0] || !text[1])
        return 0;
    out->kind = text[0];
    out->waiter = strtoll(text + 1, &end, 10);
    return *end == '\0';
}

static int parse_grant(char **rest, letter *out)
{
    return parse_waiter(rest, out) && (out->token = word(rest)) != NULL
           && parse_number(rest, &out->fence)
           && parse_number(rest, &out->lease_ms)
           && parse_number(rest, &out->server_us);
}

static void on_grant(ilk__desk *desk, const letter *news)
{
    ilk__waiter *waiter = ilk__wait_find(desk, news->waiter);

    if (!waiter || strcmp(ilk__waiter_token(waiter), news->token) != 0) {
        desk->unclaimed(desk, news->kind, news->token, news->name,
                        news->name_len);
        return;
    }
    if (!waiter->watch)
        return; /* a refresh was faster, and it holds already */
    waiter->news_fence = news->fence;
    waiter->news_lease_ms = news->lease_ms;
    waiter->news_us = news->server_us;
    waiter->news_at = ilk__now_ms();
    ilk__wait_tell_news(waiter, ILK__NEWS_GRANTED);
}

static void on_wake(ilk__desk *desk, const letter *news)
{
    ilk__waiter *waiter = ilk__wait_find(desk, news->waiter);

    if (waiter && waiter->watch && waiter->news == ILK__NEWS_NONE)
        ilk__wait_tell_news(waiter, ILK__NEWS_WOKEN);
}

/* The text is the reply's own copy and is cut up in place. */
static void on_message(ilk__desk *desk, const ilk__reply *payload)
{
    char *rest = payload->str;
    const char *version = word(&rest);
    const char *verb = word(&rest);
    letter news = {0};
    int known = version && verb && strcmp(version, "1") == 0;
    int grants = known && strcmp(verb, "grant") == 0;

    if (grants ? !parse_grant(&rest, &news)
               : !known || !parse_waiter(&rest, &news)) {
        ilk__log(ILK__LOG_WARN, "inbox: a message that makes no sense");
        return;
    }
    news.name = rest ? rest : "";
    news.name_len = rest ? payload->len - (size_t)(rest - payload->str) : 0;
    if (grants)
        on_grant(desk, &news);
    else
        on_wake(desk, &news);
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
