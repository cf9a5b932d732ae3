/* SPDX-License-Identifier: MIT */
/*
 * cluster_messages.c -- the client's channels, subscribed at every primary.
 *
 * A script publishes at the node that executes it, and that node passes the message
 * on to all others, without a promise. So the client has a subscriber connection to
 * each primary, gets each message from each of them, and takes the first copy. No
 * primary gets a request before it has confirmed all channels.
 */
#include "cluster_internal.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"

/* ---- nodes --------------------------------------------------------------- */

void ilk__cluster_subscribe(void *self, ilk__span channel, int is_pattern,
                            int begins)
{
    ilk__cluster *cluster = self;

    /* Without memory the core subscribes again, as after a lost connection. */
    if (!ilk__node_channels_change(&cluster->channels, channel, is_pattern,
                                   begins))
        ilk__gateway_break_subscribers(cluster->gateway);
    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__cluster_node *node = cluster->nodes[i];

        if (node->messages.connection.up)
            ilk__node_messages_change(&node->messages, channel, is_pattern,
                                      begins);
        else
            ilk__cluster_listen(node);
    }
}

void ilk__cluster_listen(ilk__cluster_node *node)
{
    ilk__async_conn *connection = &node->messages.connection;

    connection->wanted =
        node->cluster->channels
        && (node->is_primary || (node->waiting.first && !node->is_retired));
    if (!node->is_retired || !connection->conn)
        return;
    /* Messages that the node has sent and that were not read yet are lost. */
    if (connection->up)
        ilk__gateway_break_subscribers(node->cluster->gateway);
    ilk__async_conn_close(connection);
    node->messages.unconfirmed = 0;
}

/* ---- patterns ------------------------------------------------------------ */

void ilk__cluster_await_patterns(void *self, ilk__gateway_request *request)
{
    ilk__cluster *cluster = self;
    ilk__cluster_work *work = ilk__cluster_new_work(cluster, request);

    if (!work)
        return;
    work->sent_at = ilk__now_ms();
    ilk__cluster_append(&cluster->patterns, work);
    ilk__cluster_confirm_patterns(cluster);
}

static size_t count_primaries(const ilk__cluster *cluster, int subscribed_only)
{
    size_t count = 0;

    for (size_t i = 0; i < cluster->node_count; i++)
        count += cluster->nodes[i]->is_primary
                 && (!subscribed_only
                     || ilk__node_messages_are_subscribed(
                         &cluster->nodes[i]->messages));
    return count;
}

void ilk__cluster_confirm_patterns(ilk__cluster *cluster)
{
    ilk__cluster_list all = cluster->patterns, none = {NULL, NULL};
    const int64_t now = ilk__now_ms();
    size_t subscribed;
    ilk__cluster_work *work;

    if (!all.first)
        return;
    subscribed = count_primaries(cluster, 1);
    cluster->patterns = none;
    while ((work = ilk__cluster_take(&all)))
        if (subscribed
            && (subscribed == count_primaries(cluster, 0)
                || work->sent_at + ILK__CLUSTER_SILENCE_MS <= now)) {
            ilk__gateway_contact_made(work->request);
            ilk__free(work);
        } else if (work->deadline <= now) {
            ilk__cluster_break_off(work);
        } else {
            ilk__cluster_append(&cluster->patterns, work);
        }
}

int64_t ilk__cluster_patterns_due(const ilk__cluster *cluster)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__cluster_work *work = cluster->patterns.first; work;
         work = work->next) {
        if (work->sent_at + ILK__CLUSTER_SILENCE_MS > ilk__now_ms())
            until = ilk__sooner(until, work->sent_at + ILK__CLUSTER_SILENCE_MS);
        until = ilk__sooner(until, work->deadline);
    }
    return until;
}

/* ---- messages ------------------------------------------------------------ */

/* The lengths are hashed as well: otherwise the texts "ab", "c" and "a", "bc" would have
 * the same mark. */
static uint64_t hash(uint64_t mark, ilk__span text)
{
    return ilk__hash(ilk__hash(mark, &text.len, sizeof text.len), text.at,
                     text.len);
}

static uint64_t mark_of(const ilk__node_message *message)
{
    uint64_t mark = ILK__HASH_START;

    if (message->pattern.at)
        mark = hash(mark, message->pattern);
    return hash(hash(mark, message->channel), message->content);
}

static void deliver(ilk__cluster_node *node, const ilk__node_message *message)
{
    ilk__cluster *cluster = node->cluster;

    if (ilk__copies_is_new(&cluster->copies, mark_of(message),
                           (size_t)node->number, ilk__now_ms()))
        (void)ilk__gateway_publish(cluster->gateway, message->pattern,
                                   message->channel, message->content);
}

/* Messages may have been missed: the core looks for their effects when it has subscribed
 * again. */
static void lose(ilk__cluster_node *node)
{
    if (!node->cluster->channels)
        return;
    ilk__log(ILK__LOG_INFO, "cluster: %s:%d: %s", node->url.host,
             node->url.port, node->messages.connection.error.msg);
    ilk__gateway_break_subscribers(node->cluster->gateway);
    ilk__cluster_want_map(node->cluster);
}

void ilk__cluster_read_messages(ilk__cluster_node *node)
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
        case ILK__NODE_CAME_UP:
            ilk__copies_join(&node->cluster->copies, (size_t)node->number);
            break;
        case ILK__NODE_CONFIRMED: ilk__cluster_route_waiting(node); break;
        case ILK__NODE_BROKEN: lose(node); break;
        case ILK__NODE_FAILED:
        case ILK__NODE_NOTHING: break;
        }
    } while (event != ILK__NODE_NOTHING && ++count < ILK__NODE_TURN);
}

void ilk__cluster_check_messages(ilk__cluster_node *node, int64_t now)
{
    if (ilk__node_messages_check(&node->messages, now,
                                 node->cluster->patience_ms))
        lose(node);
}
