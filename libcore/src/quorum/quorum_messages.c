/* SPDX-License-Identifier: MIT */
/*
 * quorum_messages.c -- the client's channels, subscribed at every node, and what
 * the nodes publish there.
 *
 * A grant of a node is a vote for an attempt: it goes no further. Other messages,
 * such as that a hold was broken, go to the core from each node that sends them; it
 * ignores what it knows already.
 */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- channels ------------------------------------------------------------ */

static ilk__quorum_channel **find(ilk__quorum *quorum, ilk__span name,
                                  int is_pattern)
{
    ilk__quorum_channel **link = &quorum->channels;

    while (*link
           && ((*link)->is_pattern != is_pattern || (*link)->len != name.len
               || memcmp((*link)->name, name.at, name.len) != 0))
        link = &(*link)->next;
    return link;
}

static void send(ilk__quorum_node *node, ilk__span name, int is_pattern,
                 int begins)
{
    static const char *const words[2][2] = {{"UNSUBSCRIBE", "SUBSCRIBE"},
                                            {"PUNSUBSCRIBE", "PSUBSCRIBE"}};
    ilk__command command;

    ilk__command_init(&command);
    ilk__command_add_str(&command, words[is_pattern][begins]);
    ilk__command_add(&command, name.at, name.len);
    if (ilk__async_conn_send(&node->messages, &command, NULL))
        ilk__async_conn_break(&node->messages, "no memory for a command");
    else if (begins)
        node->unconfirmed++;
    ilk__command_free(&command);
}

static void subscribe_all(ilk__quorum_node *node)
{
    node->unconfirmed = 0;
    for (const ilk__quorum_channel *one = node->quorum->channels;
         one && node->messages.up; one = one->next)
        send(node, (ilk__span){one->name, one->len}, one->is_pattern, 1);
}

static void add(ilk__quorum *quorum, ilk__span name, int is_pattern)
{
    ilk__quorum_channel *one = ilk__malloc(sizeof *one + name.len);

    if (!one) {
        /* As a lost connection: the core subscribes again. */
        ilk__gateway_break_subscribers(quorum->gateway);
        return;
    }
    one->is_pattern = is_pattern;
    one->len = name.len;
    memcpy(one->name, name.at, name.len);
    one->next = quorum->channels;
    quorum->channels = one;
}

void ilk__quorum_subscribe(void *self, ilk__span channel, int is_pattern,
                           int begins)
{
    ilk__quorum *quorum = self;
    ilk__quorum_channel **link = find(quorum, channel, is_pattern), *one;

    if (begins && !*link) {
        add(quorum, channel, is_pattern);
    } else if (!begins && *link) {
        one = *link;
        *link = one->next;
        ilk__free(one);
    }
    for (size_t i = 0; i < quorum->count; i++) {
        ilk__quorum_node *node = &quorum->nodes[i];

        node->messages.wanted = quorum->channels != NULL;
        if (node->messages.up)
            send(node, channel, is_pattern, begins);
    }
}

void ilk__quorum_channels_free(ilk__quorum *quorum)
{
    ilk__quorum_channel *one;

    while ((one = quorum->channels)) {
        quorum->channels = one->next;
        ilk__free(one);
    }
}

int ilk__quorum_is_subscribed(const ilk__quorum_node *node)
{
    return !node->quorum->channels
           || (node->messages.up && node->unconfirmed == 0);
}

/* ---- messages ------------------------------------------------------------ */

static ilk__span span_of(const ilk__reply *word)
{
    return (ilk__span){word->str, word->len};
}

/* 1 grant <waiter> <token> <fence> <lease> <now> <lock>; see
 * scripts/include/send_grant.lua. */
static int read_grant(ilk__span text, ilk__span *out_waiter,
                      ilk__span *out_token, int64_t *out_fence,
                      int64_t *out_lease)
{
    static const char head[] = "1 grant ";
    const size_t len = sizeof head - 1;

    if (text.len < len || memcmp(text.at, head, len) != 0)
        return 0;
    text.at += len;
    text.len -= len;
    *out_waiter = ilk__text_cut(&text, ' ', NULL);
    *out_token = ilk__text_cut(&text, ' ', NULL);
    *out_fence =
        ilk__text_number(ilk__text_cut(&text, ' ', NULL), ILK__SCRIPT_INT_MAX);
    *out_lease =
        ilk__text_number(ilk__text_cut(&text, ' ', NULL), ILK__SCRIPT_INT_MAX);
    return *out_fence > 0 && *out_lease >= 0;
}

/* Only a script knows the waiter's secret. That the vote is there, the node says
 * when it confirms it. */
static void take_grant(ilk__quorum_node *node, ilk__span waiter,
                       ilk__span token, int64_t fence, int64_t lease)
{
    ilk__attempt *attempt =
        ilk__attempt_of_node(node->quorum, token.at, token.len);

    if (!attempt || attempt->state == ILK__ATTEMPT_ENDED
        || waiter.len != attempt->words.waiter.len
        || memcmp(waiter.at, attempt->words.waiter.data, waiter.len) != 0)
        return;
    ilk__votes_granted(&attempt->votes, node->number, fence, lease,
                       ilk__now_ms());
    ilk__attempt_go_on(attempt);
}

static void deliver(ilk__quorum_node *node, const ilk__reply *reply)
{
    const size_t at = reply->count - 2;
    const ilk__span pattern =
        at == 2 ? span_of(reply->items[1]) : (ilk__span){NULL, 0};
    ilk__span waiter, token, message;
    int64_t fence, lease;

    for (size_t i = 0; i < reply->count; i++)
        if (reply->items[i]->type != ILK__REPLY_STR)
            return;
    message = span_of(reply->items[at + 1]);
    if (read_grant(message, &waiter, &token, &fence, &lease))
        take_grant(node, waiter, token, fence, lease);
    else
        (void)ilk__gateway_publish(node->quorum->gateway, pattern,
                                   span_of(reply->items[at]), message);
}

/* A refused subscription counts as confirmed: refreshes find the grants, later. */
static void confirm(ilk__quorum_node *node)
{
    if (node->unconfirmed)
        node->unconfirmed--;
}

static int is_message(const ilk__reply *reply)
{
    return (reply->count == 3 && ilk__reply_is_text(reply->items[0], "message"))
           || (reply->count == 4
               && ilk__reply_is_text(reply->items[0], "pmessage"));
}

static void take(ilk__quorum_node *node, const ilk__reply *reply)
{
    const ilk__reply *word = reply->count ? reply->items[0] : NULL;

    node->received_at = ilk__now_ms();
    node->pinged = 0;
    if (reply->type == ILK__REPLY_ERROR) {
        ilk__log(ILK__LOG_WARN, "quorum: %s:%d refuses a subscription: %.150s",
                 node->url.host, node->url.port, reply->str);
        confirm(node);
    } else if (is_message(reply)) {
        deliver(node, reply);
    } else if (word
               && (ilk__reply_is_text(word, "subscribe")
                   || ilk__reply_is_text(word, "psubscribe"))) {
        confirm(node);
    }
}

/* Grants may have been missed: attempts ask once more when the node takes part
 * again. */
static void lose(ilk__quorum_node *node)
{
    node->unconfirmed = 0;
    node->has_failed = 1;
    node->why = node->messages.error;
}

void ilk__quorum_read_messages(ilk__quorum_node *node)
{
    ilk__async_conn_result result;
    ilk__reply *reply;

    do {
        result = ilk__async_conn_next(&node->messages, &reply);
        if (result == ILK__ASYNC_CONN_REPLY) {
            take(node, reply);
            ilk__reply_free(reply);
        } else if (result == ILK__ASYNC_CONN_LOST) {
            lose(node);
        } else if (result == ILK__ASYNC_CONN_CAME_UP) {
            node->received_at = ilk__now_ms();
            node->pinged = 0;
            subscribe_all(node);
        }
    } while (result != ILK__ASYNC_CONN_NOTHING);
}

/* ---- time ---------------------------------------------------------------- */

int64_t ilk__quorum_messages_due(const ilk__quorum_node *node)
{
    if (!node->messages.up)
        return ILK__FOREVER;
    return node->received_at + ILK__QUORUM_PING_MS
           + (node->pinged ? node->quorum->patience_ms : 0);
}

/* A connection of a host that has gone sends nothing, as one without messages. */
void ilk__quorum_check_messages(ilk__quorum_node *node, int64_t now)
{
    ilk__command command;

    if (ilk__quorum_messages_due(node) > now)
        return;
    if (node->pinged) {
        ilk__async_conn_break(&node->messages, "the node does not answer");
        lose(node);
        return;
    }
    ilk__command_init(&command);
    ilk__command_add_str(&command, "PING");
    (void)ilk__async_conn_send(&node->messages, &command, NULL);
    ilk__command_free(&command);
    node->pinged = 1;
}
