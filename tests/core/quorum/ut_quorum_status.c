/* SPDX-License-Identifier: MIT */
/* ut_quorum_status.c -- what ilk_client_get_node_stats() says of the nodes. */
#include "stores/quorum/quorum_internal.h"

#include <interlock.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

#define URL "redis://user:secret@10.0.0.1,[::1]:7000,db.example?quorum"

static const int64_t second_us = 1000000;

/* ---- by way of a client -------------------------------------------------- */

static ilk_client *open_lazily(const char *url)
{
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .flags = ILK_CLIENT_LAZY};
    ilk_client *client;
    ilk_error err;

    if (ilk_client_open(&client, url, &opts, &err))
        fail_msg("%s: %s", url, err.msg);
    return client;
}

TEST_WITH(NULL, NULL, nodes_have_their_addresses_before_the_first_call)
{
    static const char *const addresses[] = {"10.0.0.1:6379", "[::1]:7000",
                                            "db.example:6379"};
    ilk_client *client = open_lazily(URL);
    ilk_node_stats node = {.size = sizeof node};
    ilk_error err;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ILK_OK,
                         ilk_client_get_node_stats(client, i, &node, &err));
        assert_int_equal(sizeof node, node.size);
        assert_string_equal(addresses[i], node.address);
        assert_int_equal(ILK_NODE_CONNECTING, node.state);
        assert_int_equal(0, node.wait_ms);
        assert_int_equal(0, node.commands);
        assert_int_equal(-1, node.round_trip_us);
        assert_int_equal(-1, node.mean_round_trip_us);
        assert_string_equal("", node.error);
    }
    assert_int_equal(ILK_EAGAIN,
                     ilk_client_get_node_stats(client, 3, &node, &err));
    assert_string_equal("the client has no node 3", err.msg);
    ilk_client_free(client);
}

TEST_WITH(NULL, NULL, a_closed_client_has_no_nodes)
{
    ilk_client *client = open_lazily(URL);
    ilk_node_stats node = {.size = sizeof node};

    assert_int_equal(ILK_OK, ilk_client_close(client, NULL));
    assert_int_equal(ILK_EAGAIN,
                     ilk_client_get_node_stats(client, 0, &node, NULL));
    ilk_client_free(client);
}

TEST_WITH(NULL, NULL, one_server_has_no_nodes)
{
    ilk_client *client = open_lazily("redis://127.0.0.1:1");
    ilk_node_stats node = {.size = sizeof node};

    assert_int_equal(ILK_EAGAIN,
                     ilk_client_get_node_stats(client, 0, &node, NULL));
    ilk_client_free(client);
}

TEST_WITH(NULL, NULL, arguments_are_checked)
{
    ilk_client *client = open_lazily(URL);
    ilk_node_stats node = {.size = 0};
    ilk_error err;

    assert_int_equal(ILK_EINVAL,
                     ilk_client_get_node_stats(client, 0, &node, &err));
    assert_non_null(strstr(err.msg, "ilk_node_stats: size"));
    assert_int_equal(ILK_EINVAL,
                     ilk_client_get_node_stats(client, 0, NULL, &err));
    assert_string_equal("stats must not be NULL", err.msg);
    assert_int_equal(ILK_EINVAL,
                     ilk_client_get_node_stats(NULL, 0, &node, &err));
    ilk_client_free(client);
}

/* ---- one node alone ------------------------------------------------------ */

static ilk__quorum *quorum;
static ilk__quorum_node *node;

static int setup(void)
{
    ilk__span hosts[] = {{"a", 1}, {"b", 1}, {"c", 1}};

    quorum = calloc(1, sizeof *quorum);
    pthread_mutex_init(&quorum->status.mutex, NULL);
    for (size_t i = 0; i < 3; i++)
        if (ilk__quorum_add_node(quorum, hosts[i], NULL))
            return -1;
    ilk__members_begin(&quorum->members, quorum->count);
    node = &quorum->nodes[0];
    return 0;
}

static int teardown(void)
{
    ilk__quorum_close_nodes(quorum);
    pthread_mutex_destroy(&quorum->status.mutex);
    free(quorum);
    return 0;
}

AROUND_EACH(setup, teardown);

static ilk_node_stats published(void)
{
    ilk_node_stats stats;

    ilk__quorum_publish(quorum);
    assert_int_equal(ILK_OK, ilk__quorum_node_stats(quorum, 0, &stats));
    return stats;
}

static int64_t monotonic_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void reply_with(int script, int code, const int64_t *numbers)
{
    const ilk__node_call call = {.script = script, .sent_us = monotonic_us()};
    ilk__reply items[7], *pointers[7];
    const ilk__reply reply = {
        .type = ILK__REPLY_ARRAY, .items = pointers, .count = 7};

    memset(items, 0, sizeof items);
    for (size_t i = 0; i < 7; i++) {
        pointers[i] = &items[i];
        items[i].type = ILK__REPLY_INT;
        items[i].num = i ? numbers[i - 1] : code;
    }
    ilk__quorum_count_call(node);
    assert_int_equal(1, published().in_flight);
    ilk__quorum_count_reply(node, &call, &reply);
}

TEST(votes_are_counted_by_their_replies)
{
    const int64_t none[6] = {0};
    ilk_node_stats stats;

    reply_with(ILK__SCRIPT_QUORUM_ACQUIRE, ILK__CODE_HELD, none);
    reply_with(ILK__SCRIPT_QUORUM_ACQUIRE, ILK__CODE_BUSY, none);
    reply_with(ILK__SCRIPT_QUORUM_ACQUIRE, ILK__CODE_REFUSED, none);
    reply_with(ILK__SCRIPT_QUORUM_CONFIRM, ILK__CODE_HELD, none);
    reply_with(ILK__SCRIPT_QUORUM_CONFIRM, ILK__CODE_HELD, none);
    reply_with(ILK__SCRIPT_QUORUM_CONFIRM, ILK__CODE_LOST, none);
    reply_with(ILK__SCRIPT_QUORUM_YIELD, ILK__CODE_LOST, none);
    reply_with(ILK__SCRIPT_LOCK_EXTEND, ILK__CODE_HELD, none);

    stats = published();
    assert_int_equal(1, stats.granted);
    assert_int_equal(2, stats.confirmed);
    assert_int_equal(1, stats.refused);
    assert_int_equal(1, stats.lost);
    assert_int_equal(8, stats.commands);
    assert_int_equal(0, stats.in_flight);
}

/* Each reply has the time at another place. */
TEST(the_clock_is_that_of_the_reply)
{
    static const struct {
        int script, code;
        size_t at;
    } replies[] = {
        {ILK__SCRIPT_QUORUM_JOIN, ILK__CODE_STATE, 5},
        {ILK__SCRIPT_QUORUM_ACQUIRE, ILK__CODE_HELD, 2},
        {ILK__SCRIPT_QUORUM_ACQUIRE, ILK__CODE_QUEUED, 1},
        {ILK__SCRIPT_QUORUM_ACQUIRE, ILK__CODE_BUSY, 1},
        {ILK__SCRIPT_QUORUM_CONFIRM, ILK__CODE_HELD, 2},
        {ILK__SCRIPT_QUORUM_YIELD, ILK__CODE_HELD, 2},
        {ILK__SCRIPT_QUORUM_YIELD, ILK__CODE_QUEUED, 1},
    };

    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        const int64_t ahead = ((int64_t)i - 3) * 3600 * second_us;
        int64_t numbers[6] = {0};

        numbers[replies[i].at] = (int64_t)time(NULL) * second_us + ahead;
        reply_with(replies[i].script, replies[i].code, numbers);
        /* time() is rounded down */
        assert_in_range(published().clock_offset_us - ahead + 1000 * second_us,
                        0, 1001 * second_us);
    }
}

TEST(a_reply_without_a_clock_leaves_the_offset)
{
    int64_t numbers[6] = {0};
    int64_t offset;

    numbers[5] = second_us;
    reply_with(ILK__SCRIPT_QUORUM_JOIN, ILK__CODE_STATE, numbers);
    offset = published().clock_offset_us;
    assert_true(offset < 0);

    reply_with(ILK__SCRIPT_QUORUM_CONFIRM, ILK__CODE_LOST, numbers);
    reply_with(ILK__SCRIPT_LOCK_INSPECT, ILK__CODE_STATE, numbers);

    assert_true(published().clock_offset_us == offset);
}

TEST(a_command_without_a_reply_is_no_longer_in_flight)
{
    ilk__quorum_count_call(node);
    ilk__quorum_close_nodes(quorum);

    assert_int_equal(0, published().in_flight);
    assert_int_equal(1, published().commands);
    quorum->count = 0; /* they are closed */
}

/* ---- states -------------------------------------------------------------- */

static void connect_node(int is_member, int64_t from)
{
    node->calls.connection.up = 1;
    ilk__members_connected(&quorum->members, 0);
    quorum->members.nodes[0].known = 1;
    quorum->members.nodes[0].is_member = is_member;
    quorum->members.nodes[0].from = from;
}

TEST(a_member_votes)
{
    assert_int_equal(ILK_NODE_CONNECTING, published().state);

    connect_node(1, 0);

    assert_int_equal(ILK_NODE_VOTING, published().state);
    node->calls.connection.up = 0;
}

TEST(a_node_waits_until_it_may_be_taken_in)
{
    node->has_failed = 1; /* before */
    connect_node(0, ilk__now_ms() + 3600000);

    assert_int_equal(ILK_NODE_WAITING, published().state);
    assert_in_range(published().wait_ms, 1, 3600000);

    quorum->members.nodes[0].from = 0;
    assert_int_equal(ILK_NODE_WAITING, published().state);
    assert_int_equal(0, published().wait_ms);

    quorum->members.nodes[0].is_first = 1;
    quorum->members.nodes[0].first_at = ilk__now_ms() + 3600000;
    assert_in_range(published().wait_ms, 1, 3600000);
    node->calls.connection.up = 0;
}

TEST(a_failure_is_given_with_its_reason)
{
    ilk__fail(&node->why, ILK_ECONN, "connection refused");
    assert_int_equal(ILK_NODE_CONNECTING, published().state);
    assert_string_equal("connection refused", published().error);

    node->has_failed = 1;

    assert_int_equal(ILK_NODE_FAILED, published().state);
}

TEST(nodes_that_are_one_server_have_failed)
{
    connect_node(1, 0);
    strcpy(quorum->twice, "a and b are one server");

    assert_int_equal(ILK_NODE_FAILED, published().state);
    assert_string_equal("a and b are one server", published().error);
    node->calls.connection.up = 0;
}

/* The reason of an earlier failure is over. */
TEST(an_error_gives_the_present_reason)
{
    char text[ILK_ERROR_MAX];

    connect_node(0, ilk__now_ms() + 3600000);
    node->has_failed = 1;
    ilk__fail(&node->why, ILK_ECONN, "connection refused");
    ilk__quorum_write_why(quorum, "NOQUORUM", text);
    assert_non_null(strstr(text, "0 of 3 nodes vote, and 2 must; a:6379: it was"
                                 " started or wiped"));

    quorum->nodes[2].has_failed = 1;
    ilk__fail(&quorum->nodes[2].why, ILK_ECONN, "no route");
    ilk__quorum_write_why(quorum, "NOQUORUM", text);
    assert_non_null(strstr(text, "c:6379: no route"));
    node->calls.connection.up = 0;
}

TEST(an_error_names_no_node_where_all_vote)
{
    char text[ILK_ERROR_MAX];

    for (size_t i = 0; i < quorum->count; i++) {
        quorum->nodes[i].calls.connection.up = 1;
        quorum->nodes[i].messages.channels = &quorum->channels;
        ilk__members_connected(&quorum->members, i);
        quorum->members.nodes[i].known = 1;
        quorum->members.nodes[i].is_member = 1;
    }
    ilk__quorum_write_why(quorum, "NOQUORUM", text);
    for (size_t i = 0; i < quorum->count; i++)
        quorum->nodes[i].calls.connection.up = 0;
    assert_string_equal("NOQUORUM 3 of 3 nodes vote, and 2 must; too few of "
                        "them replied to this request",
                        text);
}
