/* SPDX-License-Identifier: MIT */
/* cluster_nodes.c -- the nodes of a cluster, and which of them serves a slot. */
#include "cluster_internal.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/log.h"

#include <string.h>

/* ---- nodes --------------------------------------------------------------- */

static void close_node(ilk__cluster_node *node)
{
    for (size_t i = 0; i < node->held_count; i++)
        ilk__reply_free(node->held[i]);
    node->held_count = 0;
    ilk__async_conn_close(&node->requests);
    ilk__async_conn_close(&node->messages.connection);
}

static void set_up(ilk__cluster_node *node, ilk__cluster *cluster, int number,
                   char *host, int port)
{
    memset(node, 0, sizeof *node);
    node->cluster = cluster;
    node->number = number;
    node->url = cluster->url;
    node->url.host = host;
    node->url.port = port;
    node->target = (ilk__target){.url = &node->url,
                                 .name = cluster->name,
                                 .connect_timeout_ms = cluster->connect_ms};
    ilk__async_conn_init(&node->requests, &node->target);
    node->requests.carries_commands = 1;
    ilk__node_messages_init(&node->messages, &node->target, &cluster->channels);
}

/* Nothing refers to it any more: another node may get its place. */
static int is_unused(const ilk__cluster_node *node)
{
    return node->is_retired && !node->is_seed && !node->wire.first
           && !node->waiting.first && !node->requests.conn
           && !node->messages.connection.conn;
}

static ilk__cluster_node *place_for(ilk__cluster *cluster)
{
    size_t i = 0;

    while (i < cluster->node_count && !is_unused(cluster->nodes[i]))
        i++;
    if (i < cluster->node_count) {
        close_node(cluster->nodes[i]);
        ilk__free(cluster->nodes[i]->url.host);
        return cluster->nodes[i];
    }
    if (i == ILK__CLUSTER_NODES)
        return NULL;
    cluster->nodes[i] = ilk__calloc(1, sizeof **cluster->nodes);
    if (cluster->nodes[i])
        cluster->nodes[i]->number = (int)i;
    return cluster->nodes[i];
}

static ilk__cluster_node *find(const ilk__cluster *cluster, const char *host,
                               int port)
{
    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__cluster_node *node = cluster->nodes[i];

        if (node->url.port == port && strcmp(node->url.host, host) == 0)
            return node;
    }
    return NULL;
}

ilk__cluster_node *ilk__cluster_node_at(ilk__cluster *cluster, const char *host,
                                        int port)
{
    ilk__cluster_node *node = find(cluster, host, port);
    char *own;

    if (node)
        return node;
    /* Copied first: `host` may be that of the node that is replaced. */
    own = ilk__strdup(host);
    node = own ? place_for(cluster) : NULL;
    if (!node) {
        ilk__free(own);
        return NULL;
    }
    set_up(node, cluster, node->number, own, port);
    if ((size_t)node->number == cluster->node_count)
        cluster->node_count++;
    return node;
}

/* The other ports of a host in the URL need no pattern. */
static int is_host_of_seed(const ilk__cluster *cluster, const char *host)
{
    for (size_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i]->is_seed
            && strcmp(cluster->nodes[i]->url.host, host) == 0)
            return 1;
    return 0;
}

/* Nodes may repeat it with each map: it is logged once. */
static void refuse(ilk__cluster *cluster)
{
    if (strcmp(cluster->refusal, cluster->why.msg) == 0)
        return;
    memcpy(cluster->refusal, cluster->why.msg, sizeof cluster->refusal);
    ilk__log(ILK__LOG_WARN, "cluster: %s", cluster->refusal);
}

ilk__cluster_node *ilk__cluster_announced_at(ilk__cluster *cluster,
                                             const char *host, int port)
{
    ilk__cluster_node *node = find(cluster, host, port);

    if (node)
        return node;
    if (!(cluster->announced.patterns && is_host_of_seed(cluster, host))
        && ilk__announced_check(&cluster->announced, host, port,
                                &cluster->why)) {
        refuse(cluster);
        return NULL;
    }
    return ilk__cluster_node_at(cluster, host, port);
}

void ilk__cluster_nodes_free(ilk__cluster *cluster)
{
    for (size_t i = 0; i < cluster->node_count; i++) {
        close_node(cluster->nodes[i]);
        ilk__free(cluster->nodes[i]->url.host);
        ilk__free(cluster->nodes[i]);
    }
    cluster->node_count = 0;
}

ilk__cluster_node *ilk__cluster_primary_from(const ilk__cluster *cluster,
                                             int number)
{
    for (size_t i = (size_t)number; i < cluster->node_count; i++)
        if (cluster->nodes[i]->is_primary)
            return cluster->nodes[i];
    return NULL;
}

int ilk__cluster_is_in_doubt(const ilk__cluster *cluster,
                             const ilk__cluster_node *node, int slot)
{
    for (size_t i = 0; i < cluster->node_count; i++) {
        const ilk__cluster_node *other = cluster->nodes[i];

        if (other != node && other->has_doubt
            && (other->doubt[slot / 8] & (1 << slot % 8)))
            return 1;
    }
    return 0;
}

/* ---- the map ------------------------------------------------------------- */

void ilk__cluster_want_map(ilk__cluster *cluster)
{
    if (cluster->map_wanted)
        return;
    cluster->map_wanted = 1;
    cluster->map_due =
        cluster->has_map
            ? ilk__now_ms() + ilk__request_pause_ms(&cluster->map_pause_ms)
            : 0;
}

void ilk__cluster_want_map_now(ilk__cluster *cluster)
{
    cluster->map_wanted = 1;
    cluster->map_due = 0;
}

/* Ask a node that is up, each time the next one; and connect to all seeds and
 * primaries. */
void ilk__cluster_ask_for_map(ilk__cluster *cluster)
{
    size_t count = cluster->node_count;

    if (!cluster->map_wanted || ilk__now_ms() < cluster->map_due)
        return;
    cluster->map_due =
        ilk__now_ms() + ilk__request_pause_ms(&cluster->map_pause_ms);
    for (size_t i = 0; i < count; i++) {
        ilk__cluster_node *node =
            cluster->nodes[((size_t)cluster->map_turn + i) % count];

        if (!node->requests.up)
            continue;
        cluster->map_turn = node->number + 1;
        ilk__cluster_send_map_request(node);
        break;
    }
    for (size_t i = 0; i < count; i++)
        if (cluster->nodes[i]->is_primary || cluster->nodes[i]->is_seed)
            cluster->nodes[i]->requests.wanted = 1;
}

static int is_int(const ilk__reply *reply, int64_t least, int64_t most)
{
    return reply->type == ILK__REPLY_INT && reply->num >= least
           && reply->num <= most;
}

/* [first slot, last slot, [host, port, ...], replicas...] */
static int is_range(const ilk__reply *range)
{
    const ilk__reply *primary;

    if (range->type != ILK__REPLY_ARRAY || range->count < 3
        || !is_int(range->items[0], 0, ILK__SLOTS - 1)
        || !is_int(range->items[1], range->items[0]->num, ILK__SLOTS - 1))
        return 0;
    primary = range->items[2];
    return primary->type == ILK__REPLY_ARRAY && primary->count >= 2
           && (primary->items[0]->type == ILK__REPLY_STR
               || primary->items[0]->type == ILK__REPLY_NIL)
           && is_int(primary->items[1], 1, 65535);
}

/* A node that does not know its own host replies with nil or "": then its host is that
 * of the connection. "?" stands for a host that no node knows. */
static ilk__cluster_node *primary_of(ilk__cluster *cluster,
                                     const ilk__cluster_node *from,
                                     const ilk__reply *range)
{
    const ilk__reply *host = range->items[2]->items[0];
    int port = (int)range->items[2]->items[1]->num;

    if (host->type == ILK__REPLY_NIL || host->len == 0)
        return ilk__cluster_announced_at(cluster, from->url.host, port);
    if (!ilk__redirect_is_host(host->str, host->len))
        return NULL;
    return ilk__cluster_announced_at(cluster, host->str, port);
}

static int is_map(const ilk__reply *reply)
{
    if (reply->type != ILK__REPLY_ARRAY || reply->count == 0)
        return 0;
    for (size_t i = 0; i < reply->count; i++)
        if (!is_range(reply->items[i]))
            return 0;
    return 1;
}

/* Its last writes are lost with its role, so nothing is in doubt any more; its
 * requests are repeated at the node that has the slots now. */
static void retire(ilk__cluster_node *node)
{
    ilk__log(ILK__LOG_INFO, "cluster: %s:%d serves no slot any more",
             node->url.host, node->url.port);
    node->requests.wanted = node->is_seed && node->cluster->map_wanted;
    node->is_retired = 1;
    node->has_doubt = 0;
    memset(node->doubt, 0, sizeof node->doubt);
    ilk__cluster_listen(node);
}

/* A redirection may name a node for one request only, and a faulty server could name
 * new nodes without end. */
void ilk__cluster_let_go(ilk__cluster_node *node, int64_t now)
{
    if (node->is_primary || node->is_seed || node->wire.first
        || node->waiting.first || node->used_at + ILK__CLUSTER_IDLE_MS > now
        || (node->is_retired && !node->requests.conn))
        return;
    ilk__async_conn_close(&node->requests);
    node->is_retired = 1;
    ilk__cluster_listen(node);
}

static void employ(ilk__cluster_node *node)
{
    node->is_primary = 1;
    node->is_retired = 0;
    ilk__cluster_listen(node);
}

static void read_ranges(ilk__cluster *cluster, const ilk__cluster_node *from,
                        const ilk__reply *reply)
{
    for (size_t i = 0; i < ILK__SLOTS; i++)
        cluster->owner[i] = -1;
    for (size_t i = 0; i < reply->count; i++) {
        const ilk__reply *range = reply->items[i];
        ilk__cluster_node *node = primary_of(cluster, from, range);

        if (!node)
            continue;
        node->is_primary = 1;
        for (int64_t slot = range->items[0]->num; slot <= range->items[1]->num;
             slot++)
            cluster->owner[slot] = (int16_t)node->number;
    }
}

void ilk__cluster_read_map(ilk__cluster *cluster, const ilk__cluster_node *from,
                           const ilk__reply *reply)
{
    uint8_t was_primary[ILK__CLUSTER_NODES] = {0};
    size_t count = cluster->node_count;

    if (reply->type == ILK__REPLY_ERROR)
        (void)ilk__reply_error(reply, &cluster->why);
    if (!is_map(reply))
        return;
    for (size_t i = 0; i < count; i++) {
        was_primary[i] = (uint8_t)cluster->nodes[i]->is_primary;
        cluster->nodes[i]->is_primary = 0;
    }
    ilk__error_clear(&cluster->why);
    read_ranges(cluster, from, reply);
    cluster->has_map = 1;
    cluster->map_wanted = 0;
    cluster->map_pause_ms = 0;
    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__cluster_node *node = cluster->nodes[i];

        if (was_primary[i] && !node->is_primary)
            retire(node);
        else if (!was_primary[i] && node->is_primary)
            employ(node);
    }
    for (size_t i = 0; i < cluster->node_count; i++)
        ilk__cluster_route_waiting(cluster->nodes[i]);
    ilk__cluster_answer_contacts(cluster);
}

void ilk__cluster_moved(ilk__cluster *cluster, int slot,
                        ilk__cluster_node *node)
{
    cluster->owner[slot] = (int16_t)node->number;
    if (!node->is_primary)
        employ(node);
    ilk__cluster_want_map(cluster);
}
