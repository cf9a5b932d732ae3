/* SPDX-License-Identifier: MIT */
/*
 * quorum_messages.c -- the client's channels, subscribed at every node, and what
 * the nodes publish there.
 *
 * A grant of a node is a vote for an attempt, and does not go to the core. Other
 * messages, such as that a hold was broken, go to the core from each node that sends
 * them; it ignores repeated ones.
 */
#include "quorum_internal.h"

#include <string.h>

void ilk__quorum_subscribe(void *self, ilk__span channel, int is_pattern,
                           int begins)
{
    ilk__quorum *quorum = self;

    /* Without memory the core subscribes again, as after a lost connection. */
    if (!ilk__node_channels_change(&quorum->channels, channel, is_pattern,
                                   begins))
        ilk__gateway_break_subscribers(quorum->gateway);
    for (size_t i = 0; i < quorum->count; i++) {
        ilk__node_messages *messages = &quorum->nodes[i].messages;

        messages->connection.wanted = quorum->channels != NULL;
        ilk__node_messages_change(messages, channel, is_pattern, begins);
    }
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

/* The waiter's secret shows that the message comes from a script. Whether the node still
 * has the vote is found when it confirms it. */
static void take_grant(ilk__quorum_node *node, ilk__span waiter,
                       ilk__span token, int64_t fence, int64_t lease)
{
    ilk__attempt *attempt =
        ilk__attempt_of_node(node->quorum, token.at, token.len);

    if (!attempt || attempt->state == ILK__ATTEMPT_ENDED
        || waiter.len != attempt->words.waiter.len
        || memcmp(waiter.at, attempt->words.waiter.data, waiter.len) != 0)
        return;
    node->stats.granted++;
    ilk__votes_granted(&attempt->votes, node->number, fence, lease,
                       ilk__now_ms());
    ilk__attempt_go_on(attempt);
}

static void deliver(ilk__quorum_node *node, const ilk__node_message *message)
{
    ilk__span waiter, token;
    int64_t fence, lease;

    if (read_grant(message->content, &waiter, &token, &fence, &lease))
        take_grant(node, waiter, token, fence, lease);
    else
        (void)ilk__gateway_publish(node->quorum->gateway, message->pattern,
                                   message->channel, message->content);
}

/* Grants may have been missed: attempts ask once more when the node takes part
 * again. A connection that was up may come up again at once, so it has not failed. */
static void lose(ilk__quorum_node *node, int has_failed)
{
    node->has_failed |= has_failed;
    node->why = node->messages.connection.error;
}

void ilk__quorum_read_messages(ilk__quorum_node *node)
{
    ilk__node_message message;
    ilk__node_event event;
    ilk__reply *reply;
    int count = 0;

    do {
        event = ilk__node_messages_next(&node->messages, &message, &reply);
        switch (event) {
        case ILK__NODE_MESSAGE:
            deliver(node, &message);
            ilk__reply_free(reply);
            break;
        case ILK__NODE_BROKEN: lose(node, 0); break;
        case ILK__NODE_FAILED: lose(node, 1); break;
        case ILK__NODE_CAME_UP:
        case ILK__NODE_CONFIRMED:
        case ILK__NODE_NOTHING: break;
        }
    } while (event != ILK__NODE_NOTHING && ++count < ILK__NODE_TURN);
}

void ilk__quorum_check_messages(ilk__quorum_node *node, int64_t now)
{
    if (ilk__node_messages_check(&node->messages, now,
                                 node->quorum->patience_ms))
        lose(node, 1);
}
