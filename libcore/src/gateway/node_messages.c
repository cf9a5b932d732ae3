/* SPDX-License-Identifier: MIT */
/* node_messages.c -- the client's channels, subscribed to at one of several nodes. */
#include "node_messages.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <string.h>

/* ---- the list ------------------------------------------------------------ */

static ilk__node_channel **find(ilk__node_channel **list, ilk__span name,
                                int is_pattern)
{
    ilk__node_channel **link = list;

    while (*link
           && ((*link)->is_pattern != is_pattern || (*link)->len != name.len
               || memcmp((*link)->name, name.at, name.len) != 0))
        link = &(*link)->next;
    return link;
}

static int add(ilk__node_channel **list, ilk__span name, int is_pattern)
{
    ilk__node_channel *one = ilk__malloc(sizeof *one + name.len);

    if (!one)
        return 0;
    one->is_pattern = is_pattern;
    one->len = name.len;
    memcpy(one->name, name.at, name.len);
    one->next = *list;
    *list = one;
    return 1;
}

int ilk__node_channels_change(ilk__node_channel **list, ilk__span name,
                              int is_pattern, int begins)
{
    ilk__node_channel **link = find(list, name, is_pattern), *one = *link;

    if (begins)
        return one || add(list, name, is_pattern);
    if (one) {
        *link = one->next;
        ilk__free(one);
    }
    return 1;
}

void ilk__node_channels_free(ilk__node_channel **list)
{
    ilk__node_channel *one;

    while ((one = *list)) {
        *list = one->next;
        ilk__free(one);
    }
}

/* ---- subscribing --------------------------------------------------------- */

void ilk__node_messages_init(ilk__node_messages *messages,
                             const ilk__target *target,
                             ilk__node_channel *const *channels)
{
    memset(messages, 0, sizeof *messages);
    messages->channels = channels;
    ilk__async_conn_init(&messages->connection, target);
}

void ilk__node_messages_change(ilk__node_messages *messages, ilk__span name,
                               int is_pattern, int begins)
{
    static const char *const words[2][2] = {{"UNSUBSCRIBE", "SUBSCRIBE"},
                                            {"PUNSUBSCRIBE", "PSUBSCRIBE"}};
    ilk__command command;

    if (!messages->connection.up)
        return;
    ilk__command_init(&command);
    ilk__command_add_str(&command, words[is_pattern][begins]);
    ilk__command_add(&command, name.at, name.len);
    if (ilk__async_conn_send(&messages->connection, &command, NULL))
        ilk__async_conn_break(&messages->connection, "no memory for a command");
    else if (begins)
        messages->unconfirmed++;
    ilk__command_free(&command);
}

static void subscribe_all(ilk__node_messages *messages)
{
    messages->unconfirmed = 0;
    messages->received_at = ilk__now_ms();
    messages->pinged = 0;
    for (const ilk__node_channel *one = *messages->channels; one;
         one = one->next)
        ilk__node_messages_change(messages, (ilk__span){one->name, one->len},
                                  one->is_pattern, 1);
}

int ilk__node_messages_are_subscribed(const ilk__node_messages *messages)
{
    return !*messages->channels
           || (messages->connection.up && messages->unconfirmed == 0);
}

/* ---- receiving ----------------------------------------------------------- */

static ilk__span span_of(const ilk__reply *word)
{
    return (ilk__span){word->str, word->len};
}

/* [message, channel, content] or [pmessage, pattern, channel, content] */
static int read_message(const ilk__reply *reply, ilk__node_message *out)
{
    const size_t at = reply->count - 2;

    if (!(reply->count == 3 && ilk__reply_is_text(reply->items[0], "message"))
        && !(reply->count == 4
             && ilk__reply_is_text(reply->items[0], "pmessage")))
        return 0;
    for (size_t i = 0; i < reply->count; i++)
        if (reply->items[i]->type != ILK__REPLY_STR)
            return 0;
    out->pattern = at == 2 ? span_of(reply->items[1]) : (ilk__span){NULL, 0};
    out->channel = span_of(reply->items[at]);
    out->content = span_of(reply->items[at + 1]);
    return 1;
}

/* A refused subscription counts as confirmed, after a warning in the log: the node can
 * execute requests all the same. */
static int is_confirmation(const ilk__node_messages *messages,
                           const ilk__reply *reply)
{
    const ilk__target *target = messages->connection.target;

    if (reply->type == ILK__REPLY_ERROR) {
        if (!messages->unconfirmed)
            return 0; /* to a PING: the user may not send it */
        ilk__log(ILK__LOG_WARN, "%s:%d refuses a subscription: %.150s",
                 target->url->host, target->url->port, reply->str);
        return 1;
    }
    return reply->count
           && (ilk__reply_is_text(reply->items[0], "subscribe")
               || ilk__reply_is_text(reply->items[0], "psubscribe"));
}

static ilk__node_event take(ilk__node_messages *messages,
                            const ilk__reply *reply, ilk__node_message *out)
{
    messages->received_at = ilk__now_ms();
    messages->pinged = 0;
    if (reply->type != ILK__REPLY_ERROR && read_message(reply, out))
        return ILK__NODE_MESSAGE;
    if (is_confirmation(messages, reply) && messages->unconfirmed
        && --messages->unconfirmed == 0)
        return ILK__NODE_CONFIRMED;
    return ILK__NODE_NOTHING;
}

ilk__node_event ilk__node_messages_next(ilk__node_messages *messages,
                                        ilk__node_message *out,
                                        ilk__reply **out_reply)
{
    for (;;) {
        int was_up = messages->connection.up;
        ilk__node_event event;

        switch (ilk__async_conn_next(&messages->connection, out_reply)) {
        case ILK__ASYNC_CONN_NOTHING: return ILK__NODE_NOTHING;
        case ILK__ASYNC_CONN_CAME_UP:
            subscribe_all(messages);
            return ILK__NODE_CAME_UP;
        case ILK__ASYNC_CONN_LOST:
            messages->unconfirmed = 0;
            return was_up ? ILK__NODE_BROKEN : ILK__NODE_FAILED;
        case ILK__ASYNC_CONN_REPLY:
            event = take(messages, *out_reply, out);
            if (event == ILK__NODE_MESSAGE)
                return event;
            ilk__reply_free(*out_reply);
            if (event != ILK__NODE_NOTHING)
                return event;
        }
    }
}

/* ---- time ---------------------------------------------------------------- */

int64_t ilk__node_messages_due(const ilk__node_messages *messages,
                               int64_t patience_ms)
{
    if (!messages->connection.up)
        return ILK__FOREVER;
    return messages->received_at + ILK__NODE_PING_MS
           + (messages->pinged ? patience_ms : 0);
}

int ilk__node_messages_check(ilk__node_messages *messages, int64_t now,
                             int64_t patience_ms)
{
    ilk__command command;

    if (ilk__node_messages_due(messages, patience_ms) > now)
        return 0;
    if (messages->pinged) {
        ilk__async_conn_break(&messages->connection,
                              "the node does not answer");
        messages->unconfirmed = 0;
        return 1;
    }
    ilk__command_init(&command);
    ilk__command_add_str(&command, "PING");
    (void)ilk__async_conn_send(&messages->connection, &command, NULL);
    ilk__command_free(&command);
    messages->pinged = 1;
    return 0;
}
