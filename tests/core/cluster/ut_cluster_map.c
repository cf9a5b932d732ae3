/* SPDX-License-Identifier: MIT */
/* ut_cluster_map.c -- CLUSTER SLOTS, also from a faulty server; URLs. */
/* link: -Wl,--wrap=ilk__async_conn_close,--wrap=ilk__gateway_break_subscribers */
#include "stores/cluster/cluster_internal.h"

#include "base/alloc.h"

#include <interlock/lock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define NODE(host, port) "*3\r\n$9\r\n" host "\r\n:" port "\r\n$1\r\nx\r\n"
#define RANGE(first, last, node) "*3\r\n:" first "\r\n:" last "\r\n" node

static ilk__cluster *cluster;
static int breaks; /* of subscribers */

void __wrap_ilk__async_conn_close(ilk__async_conn *connection);
void __wrap_ilk__gateway_break_subscribers(ilk__gateway *gateway);

/* The connections here are played. */
void __wrap_ilk__async_conn_close(ilk__async_conn *connection)
{
    connection->conn = NULL;
    connection->up = connection->wanted = 0;
}

void __wrap_ilk__gateway_break_subscribers(ilk__gateway *gateway)
{
    assert_ptr_equal(gateway, cluster->gateway);
    breaks++;
}

static int set_up(void)
{
    cluster = calloc(1, sizeof *cluster);
    assert_non_null(cluster);
    for (size_t i = 0; i < ILK__SLOTS; i++)
        cluster->owner[i] = -1;
    return ilk__cluster_node_at(cluster, "seed", 6379) == NULL;
}

static int tear_down(void)
{
    ilk__cluster_nodes_free(cluster);
    free(cluster);
    return 0;
}

AROUND_EACH(set_up, tear_down);

static void read_map(const char *text)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply;

    assert_int_equal(ilk__reader_feed(reader, text, strlen(text), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__cluster_read_map(cluster, cluster->nodes[0], reply);
    ilk__reply_free(reply);
    ilk__reader_free(reader);
}

static const char *host_of(int slot)
{
    return cluster->owner[slot] < 0
               ? "nobody"
               : cluster->nodes[cluster->owner[slot]]->url.host;
}

TEST(slots_have_their_nodes)
{
    read_map("*2\r\n" RANGE("0", "100", NODE("127.0.0.1", "7000"))
                 RANGE("200", "16383", NODE("127.0.0.2", "7001")));
    assert_true(cluster->has_map);
    assert_string_equal(host_of(0), "127.0.0.1");
    assert_string_equal(host_of(100), "127.0.0.1");
    assert_string_equal(host_of(101), "nobody");
    assert_string_equal(host_of(16383), "127.0.0.2");
}

TEST(an_unknown_host_is_the_one_that_replied)
{
    read_map("*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$-1\r\n:7000\r\n$1\r\nx\r\n");
    assert_string_equal(host_of(3), "seed");
    read_map("*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$0\r\n\r\n:7000\r\n$1\r\nx\r\n");
    assert_string_equal(host_of(3), "seed");
    read_map("*1\r\n*3\r\n:0\r\n:5\r\n*3\r\n$1\r\n?\r\n:7000\r\n$1\r\nx\r\n");
    assert_string_equal(host_of(3), "nobody");
}

TEST(a_reply_that_is_no_map_changes_nothing)
{
    static const char *const texts[] = {
        "*0\r\n",
        "+OK\r\n",
        ":1\r\n",
        "-ERR This instance has cluster support disabled\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n" RANGE("0", "16384", NODE("127.0.0.9", "7000")),
        "*1\r\n" RANGE("-1", "3", NODE("127.0.0.9", "7000")),
        "*1\r\n" RANGE("9", "3", NODE("127.0.0.9", "7000")),
        "*1\r\n" RANGE("0", "3", NODE("127.0.0.9", "0")),
        "*1\r\n" RANGE("0", "3", NODE("127.0.0.9", "65536")),
        "*1\r\n" RANGE("0", "3", "*1\r\n$1\r\nx\r\n"),
        "*1\r\n" RANGE("0", "3", "*2\r\n:1\r\n:1\r\n"),
        "*1\r\n" RANGE("0", "3", "$1\r\nx\r\n"),
        "*2\r\n" RANGE("0", "3", NODE("127.0.0.9", "7000")) "$1\r\nx\r\n"};

    read_map("*1\r\n" RANGE("0", "16383", NODE("127.0.0.1", "7000")));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        read_map(texts[i]);
        assert_string_equal(host_of(2), "127.0.0.1");
    }
}

/* A server that names other nodes each time cannot make us keep them all. */
TEST(places_of_nodes_are_used_again)
{
    char text[] = "*1\r\n" RANGE("0", "16383", NODE("127.0.0.1", "70000"));
    char *port = strstr(text, "70000");

    for (int i = 0; i < 3 * ILK__CLUSTER_NODES; i++) {
        char digits[8];

        snprintf(digits, sizeof digits, "%05d", 10000 + i);
        memcpy(port, digits, 5);
        read_map(text);
        assert_int_equal(cluster->nodes[cluster->owner[7]]->url.port,
                         10000 + i);
    }
    assert_true(cluster->node_count <= 4);
}

TEST(announced_hosts_must_match_a_pattern)
{
    cluster->nodes[0]->is_seed = 1;
    cluster->announced.patterns = "127.0.0.*";
    read_map("*3\r\n" RANGE("0", "9", NODE("127.0.0.1", "7000")) RANGE(
        "10", "19",
        NODE("127.1.0.1", "7000")) "*3\r\n:20\r\n"
                                   ":29\r\n*3\r\n$-1\r\n:7000\r\n$1\r\nx\r\n");
    assert_string_equal(host_of(0), "127.0.0.1");
    assert_string_equal(host_of(10), "nobody");
    assert_string_equal(host_of(20), "seed"); /* another port of it */
    assert_int_equal(cluster->node_count, 3);
    assert_non_null(
        strstr(cluster->why.msg, "127.1.0.1:7000 matches no pattern"));
    assert_null(ilk__cluster_announced_at(cluster, "evil.example", 6379));
}

TEST(new_addresses_have_a_limit)
{
    int count = 0;

    assert_int_equal(ilk__announced_init(&cluster->announced, NULL,
                                         ILK__CLUSTER_NEW_AT_ONCE,
                                         ILK__CLUSTER_NEW_EACH_MS, NULL),
                     ILK_OK);
    for (int i = 0; i < 2 * ILK__CLUSTER_NEW_AT_ONCE; i++)
        count += ilk__cluster_announced_at(cluster, "asked", 10000 + i) != NULL;
    assert_in_range(count, ILK__CLUSTER_NEW_AT_ONCE,
                    ILK__CLUSTER_NEW_AT_ONCE + 60);
    assert_non_null(ilk__cluster_announced_at(cluster, "asked", 10000));
    assert_non_null(ilk__cluster_announced_at(cluster, "seed", 6379));
}

/* It may have published a message that was not read yet. */
TEST(the_end_of_a_subscriber_is_a_gap)
{
    static char connected[1];
    ilk__async_conn *subscriber;

    read_map("*1\r\n" RANGE("0", "16383", NODE("127.0.0.1", "7000")));
    subscriber = &cluster->nodes[cluster->owner[7]]->messages.connection;
    subscriber->conn = (ilk__conn *)(void *)connected;
    subscriber->up = 1;
    breaks = 0;
    read_map("*1\r\n" RANGE("0", "16383", NODE("127.0.0.1", "7000")));
    assert_int_equal(breaks, 0);
    read_map("*1\r\n" RANGE("0", "16383", NODE("127.0.0.2", "7000")));
    assert_int_equal(breaks, 1);
    assert_null(subscriber->conn);
}

/* ASK names a node for one request. */
TEST(a_node_without_slots_is_let_go)
{
    const int64_t now = ilk__now_ms(), later = now + ILK__CLUSTER_IDLE_MS;
    ilk__cluster_node *node;

    for (int i = 0; i < 3 * ILK__CLUSTER_NODES; i++) {
        node = ilk__cluster_node_at(cluster, "asked", 10000 + i);
        assert_non_null(node);
        node->used_at = now;
        ilk__cluster_let_go(node, later - 1);
        assert_false(node->is_retired);
        ilk__cluster_let_go(node, later);
        assert_true(node->is_retired);
    }
    assert_true(cluster->node_count <= 4);
}

TEST(a_node_that_is_needed_is_kept)
{
    const int64_t later = ilk__now_ms() + ILK__CLUSTER_IDLE_MS;
    ilk__cluster_node *seed = cluster->nodes[0], *primary, *asked;
    ilk__cluster_work work = {.slot = 7};

    seed->is_seed = 1;
    read_map("*1\r\n" RANGE("0", "16383", NODE("127.0.0.1", "7000")));
    primary = cluster->nodes[cluster->owner[7]];
    asked = ilk__cluster_node_at(cluster, "asked", 7000);
    ilk__cluster_append(&asked->waiting, &work);
    for (size_t i = 0; i < cluster->node_count; i++)
        ilk__cluster_let_go(cluster->nodes[i], later);
    assert_false(seed->is_retired || primary->is_retired || asked->is_retired);
    assert_ptr_equal(ilk__cluster_take(&asked->waiting), &work);
}

/* ---- URLs ---------------------------------------------------------------- */

static void assert_refused(const char *url, const char *why)
{
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .flags = ILK_CLIENT_LAZY};
    ilk_client *client;
    ilk_error err;

    assert_int_equal(ilk_client_open(&client, url, &opts, &err), ILK_EINVAL);
    if (!strstr(err.msg, why))
        fail_msg("%s: %s", url, err.msg);
    assert_null(strstr(err.msg, "secret"));
}

TEST_WITH(NULL, NULL, urls)
{
    static const char *const good[] = {
        "redis+cluster://a",
        "redis+cluster://a,b:7000,[::1]:7001/0",
        "redis+cluster://u:secret@a/?label=x&connect_timeout_ms=5",
        "rediss+cluster://a,b?ca=/tmp/ca.pem",
        "redis+cluster://a?hosts=10.0.*,*.example.com&label=x",
        "redis+cluster://a?hosts=%2A"};
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .flags = ILK_CLIENT_LAZY};
    ilk_client *client;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(ilk_client_open(&client, good[i], &opts, NULL),
                         ILK_OK);
        assert_true(ilk_client_offers(client, ILK_OFFER_LOCK));
        ilk_client_free(client);
    }
    assert_refused("redis+cluster://", "there is no host");
    assert_refused("redis+cluster://a,,b", "there is no host");
    assert_refused("redis+cluster://a:0", "port");
    assert_refused("redis+cluster://u:secret@a b", "URL");
    assert_refused("redis+cluster://u:secret@a/1", "database 0 only");
    assert_refused("redis+cluster://a?listen=b",
                   "listen is not for the cluster");
    assert_refused("redis+cluster://a?quorum=1", "unknown");
    assert_refused("redis+cluster://a?hosts=", "has no value");
    assert_refused("redis+cluster://a?hosts=a&hosts=b", "given twice");
    assert_refused("redis+cluster://a?hosts=a,", "hosts must be patterns");
    assert_refused("redis://a,b,c?quorum&hosts=a", "unknown");
    assert_refused("redis+cluster://a?ca=x", "unknown, or not for this scheme");
}

TEST_WITH(NULL, NULL, names_without_a_slot_are_refused)
{
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .flags = ILK_CLIENT_LAZY};
    ilk_client *client;
    ilk_lock *lock;
    ilk_error err;

    assert_int_equal(ilk_client_open(&client, "redis+cluster://a", &opts, NULL),
                     ILK_OK);
    assert_int_equal(ilk_lock_open(&lock, client, "x}y", 3, NULL, &err),
                     ILK_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "\"x}y\" in one slot"));
    assert_int_equal(ilk_lock_open(&lock, client, "{a}y", 4, NULL, &err),
                     ILK_OK);
    ilk_lock_free(lock);
    ilk_client_free(client);
}
