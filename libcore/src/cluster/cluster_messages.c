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

#include <string.h>

/* ---- channels ------------------------------------------------------------ */

static ilk__cluster_channel **find(ilk__cluster *cluster, ilk__span name,
                                   int is_pattern)
{
    ilk__cluster_channel **link = &cluster->channels;

    while (*link
           && ((*link)->is_pattern != is_pattern || (*link)->len != name.len
               || memcmp((*link)->name, name.at, name.len) != 0))
        link = &(*link)->next;
    return link;
}

static void send(ilk__cluster_node *node, ilk__span name, int is_pattern,
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

static void subscribe_all(ilk__cluster_node *node)
{
    node->unconfirmed = 0;
    for (const ilk__cluster_channel *one = node->cluster->channels;
         one && node->messages.up; one = one->next)
        send(node, (ilk__span){one->name, one->len}, one->is_pattern, 1);
}

static void add(ilk__cluster *cluster, ilk__span name, int is_pattern)
{
    ilk__cluster_channel *one = ilk__malloc(sizeof *one + name.len);

    if (!one) {
        /* As a lost connection: the core subscribes again. */
        ilk__gateway_break_subscribers(cluster->gateway);
        return;
    }
    one->is_pattern = is_pattern;
    one->len = name.len;
    memcpy(one->name, name.at, name.len);
    one->next = cluster->channels;
    cluster->channels = one;
}

void ilk__cluster_subscribe(void *self, ilk__span channel, int is_pattern,
                            int begins)
{
    ilk__cluster *cluster = self;
    ilk__cluster_channel **link = find(cluster, channel, is_pattern), *one;

    if (begins && !*link) {
        add(cluster, channel, is_pattern);
    } else if (!begins && *link) {
        one = *link;
        *link = one->next;
        ilk__free(one);
    }
    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__cluster_node *node = cluster->nodes[i];

        if (node->messages.up)
            send(node, channel, is_pattern, begins);
        else
            ilk__cluster_listen(node);
    }
}

void ilk__cluster_channels_free(ilk__cluster *cluster)
{
    ilk__cluster_channel *one;

    while ((one = cluster->channels)) {
        cluster->channels = one->next;
        ilk__free(one);
    }
}

/* ---- nodes --------------------------------------------------------------- */

int ilk__cluster_is_subscribed(const ilk__cluster_node *node)
{
    return !node->cluster->channels
           || (node->messages.up && node->unconfirmed == 0);
}

void ilk__cluster_listen(ilk__cluster_node *node)
{
    node->messages.wanted =
        node->cluster->channels
        && (node->is_primary || (node->waiting.first && !node->is_retired));
    if (node->is_retired && node->messages.conn) {
        ilk__async_conn_close(&node->messages);
        node->unconfirmed = 0;
    }
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
                     || ilk__cluster_is_subscribed(cluster->nodes[i]));
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

static ilk__span span_of(const ilk__reply *word)
{
    return (ilk__span){word->str, word->len};
}

/* With lengths, so that no two messages are hashed alike by their places. */
static uint64_t mark_of(const ilk__reply *reply)
{
    uint64_t mark = ILK__HASH_START;

    for (size_t i = 0; i < reply->count; i++) {
        mark =
            ilk__hash(mark, &reply->items[i]->len, sizeof reply->items[i]->len);
        mark = ilk__hash(mark, reply->items[i]->str, reply->items[i]->len);
    }
    return mark;
}

static void deliver(ilk__cluster_node *node, const ilk__reply *reply)
{
    ilk__cluster *cluster = node->cluster;
    const size_t at = reply->count - 2;
    const ilk__span pattern =
        at == 2 ? span_of(reply->items[1]) : (ilk__span){NULL, 0};

    for (size_t i = 0; i < reply->count; i++)
        if (reply->items[i]->type != ILK__REPLY_STR)
            return;
    if (ilk__copies_is_new(&cluster->copies, mark_of(reply),
                           (size_t)node->number, ilk__now_ms()))
        (void)ilk__gateway_publish(cluster->gateway, pattern,
                                   span_of(reply->items[at]),
                                   span_of(reply->items[at + 1]));
}

/* A refused subscription counts as confirmed: a server without a cluster would go on
 * executing requests as well, and say so. */
static void confirm(ilk__cluster_node *node)
{
    if (node->unconfirmed && --node->unconfirmed == 0)
        ilk__cluster_route_waiting(node);
}

static int is_message(const ilk__reply *reply)
{
    return (reply->count == 3 && ilk__reply_is_text(reply->items[0], "message"))
           || (reply->count == 4
               && ilk__reply_is_text(reply->items[0], "pmessage"));
}

static void take(ilk__cluster_node *node, const ilk__reply *reply)
{
    const ilk__reply *word = reply->count ? reply->items[0] : NULL;

    node->received_at = ilk__now_ms();
    node->pinged = 0;
    if (reply->type == ILK__REPLY_ERROR) {
        ilk__log(ILK__LOG_WARN, "cluster: %s:%d refuses a subscription: %.150s",
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

/* Messages may have been missed, which the core finds out when it subscribes
 * again. */
static void lose(ilk__cluster_node *node, int was_up)
{
    node->unconfirmed = 0;
    if (!was_up || !node->cluster->channels)
        return;
    ilk__log(ILK__LOG_INFO, "cluster: %s:%d: %s", node->url.host,
             node->url.port, node->messages.error.msg);
    ilk__gateway_break_subscribers(node->cluster->gateway);
    ilk__cluster_want_map(node->cluster);
}

void ilk__cluster_read_messages(ilk__cluster_node *node)
{
    ilk__async_conn_result result;
    ilk__reply *reply;

    do {
        int was_up = node->messages.up;

        result = ilk__async_conn_next(&node->messages, &reply);
        if (result == ILK__ASYNC_CONN_REPLY) {
            take(node, reply);
            ilk__reply_free(reply);
        } else if (result == ILK__ASYNC_CONN_LOST) {
            lose(node, was_up);
        } else if (result == ILK__ASYNC_CONN_CAME_UP) {
            node->received_at = ilk__now_ms();
            node->pinged = 0;
            ilk__copies_join(&node->cluster->copies, (size_t)node->number);
            subscribe_all(node);
        }
    } while (result != ILK__ASYNC_CONN_NOTHING);
}

/* ---- time ---------------------------------------------------------------- */

int64_t ilk__cluster_messages_due(const ilk__cluster_node *node)
{
    if (!node->messages.up)
        return ILK__FOREVER;
    return node->received_at + ILK__CLUSTER_PING_MS
           + (node->pinged ? node->cluster->patience_ms : 0);
}

/* A connection of a host that has gone sends nothing, as one without messages. */
void ilk__cluster_check_messages(ilk__cluster_node *node, int64_t now)
{
    ilk__command command;

    if (ilk__cluster_messages_due(node) > now)
        return;
    if (node->pinged) {
        ilk__async_conn_break(&node->messages, "the node does not answer");
        lose(node, 1);
        return;
    }
    ilk__command_init(&command);
    ilk__command_add_str(&command, "PING");
    (void)ilk__async_conn_send(&node->messages, &command, NULL);
    ilk__command_free(&command);
    node->pinged = 1;
}
