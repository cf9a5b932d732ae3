/* SPDX-License-Identifier: MIT */
/*
 * fuzz_topology.c -- any replies of a cluster's node or a sentinel, from which addresses
 * are taken: the map of CLUSTER SLOTS, the redirections MOVED and ASK, and a primary's
 * address.
 *
 * The first byte says whether the URL has patterns of hosts. With any replies, an
 * address that is taken has a valid host and port, matches the patterns, and the
 * number of nodes stays bounded.
 */
#include "fuzz.h"

#include "redis/sentinel.h"
#include "stores/cluster/cluster_internal.h"

static const char patterns[] = "10.0.*,*.example.com,seed";

static int is_node(const ilk__cluster *cluster, int number)
{
    return number >= 0 && (size_t)number < cluster->node_count;
}

static void check_nodes(const ilk__cluster *cluster)
{
    CHECK(cluster->node_count <= ILK__CLUSTER_NODES);
    for (size_t i = 0; i < cluster->node_count; i++) {
        const ilk__cluster_node *node = cluster->nodes[i];

        CHECK(node->number == (int)i);
        CHECK(ilk__redirect_is_host(node->url.host, strlen(node->url.host)));
        CHECK(node->url.port > 0 && node->url.port < 65536);
        CHECK(!cluster->announced.patterns || node->is_seed
              || ilk__announced_matches(patterns, node->url.host));
    }
}

static void check_owners(const ilk__cluster *cluster)
{
    for (size_t i = 0; i < ILK__SLOTS; i++)
        CHECK(cluster->owner[i] == -1
              || (is_node(cluster, cluster->owner[i])
                  && cluster->nodes[cluster->owner[i]]->is_primary));
}

/* As a request would that gets this reply. */
static void follow(ilk__cluster *cluster, const ilk__reply *reply)
{
    const ilk__redirect to = ilk__redirect_read(reply);
    ilk__cluster_node *node;

    if (to.kind != ILK__REDIRECT_MOVED && to.kind != ILK__REDIRECT_ASK)
        return;
    CHECK(reply->type == ILK__REPLY_ERROR);
    CHECK(to.slot >= 0 && to.slot < ILK__SLOTS);
    CHECK(memchr(to.host, '\0', sizeof to.host));
    node = ilk__cluster_announced_at(
        cluster, *to.host ? to.host : cluster->nodes[0]->url.host, to.port);
    if (node && to.kind == ILK__REDIRECT_MOVED) {
        ilk__cluster_moved(cluster, to.slot, node);
        CHECK(cluster->owner[to.slot] == node->number);
    }
}

static void check_sentinel(const ilk__reply *reply)
{
    int port;
    const char *host = ilk__sentinel_address(reply, &port);

    if (!host)
        return;
    CHECK(port > 0 && port < 65536 && ilk__url_is_host(host));
    CHECK(strlen(host) == reply->items[0]->len);
}

static void take(ilk__cluster *cluster, const ilk__reply *reply)
{
    check_sentinel(reply);
    follow(cluster, reply);
    ilk__cluster_read_map(cluster, cluster->nodes[0], reply);
    check_nodes(cluster);
    check_owners(cluster);
}

static void read_all(ilk__cluster *cluster, const uint8_t *data, size_t size)
{
    struct redisReader *reader = ilk__reader_new();
    ilk_status st = ilk__reader_feed(reader, data, size, NULL);
    ilk__reply *reply;

    while (st == ILK_OK
           && (st = ilk__reader_next(reader, &reply, NULL)) == ILK_OK) {
        take(cluster, reply);
        ilk__reply_free(reply);
    }
    ilk__reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ilk__cluster *cluster;

    if (!size)
        return 0;
    cluster = calloc(1, sizeof *cluster);
    CHECK(cluster != NULL);
    for (size_t i = 0; i < ILK__SLOTS; i++)
        cluster->owner[i] = -1;
    CHECK(ilk__cluster_node_at(cluster, "seed", 6379) != NULL);
    cluster->nodes[0]->is_seed = 1;
    if (data[0] % 2)
        cluster->announced.patterns = patterns;
    read_all(cluster, data + 1, size - 1);
    ilk__cluster_nodes_free(cluster);
    free(cluster);
    return 0;
}
