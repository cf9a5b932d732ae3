/* SPDX-License-Identifier: MIT */
/* ut_quorum_nodes.c -- nodes that are closed with calls under way, and two nodes that are
 * one server. */
/* link: -Wl,--wrap=ilk__node_calls_send */
#include "stores/quorum/quorum_internal.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { NODES = 3 };

static ilk__quorum quorum;
static char why[ILK_ERROR_MAX];

/* The last call of quorum_join to each node. */
static ilk__node_call joins[NODES];
static int is_asked[NODES];

ilk__node_call *__wrap_ilk__node_calls_send(ilk__node_calls *calls,
                                            ilk__command *command, int script,
                                            ilk__node_call_ended *ended,
                                            void *owner);

ilk__node_call *__wrap_ilk__node_calls_send(ilk__node_calls *calls,
                                            ilk__command *command, int script,
                                            ilk__node_call_ended *ended,
                                            void *owner)
{
    const ilk__quorum_node *node = calls->node;

    ilk__command_free(command);
    joins[node->number] =
        (ilk__node_call){.script = script, .ended = ended, .owner = owner};
    is_asked[node->number] = 1;
    return &joins[node->number];
}

static int open_nodes(void)
{
    static const char *const hosts[NODES] = {"10.0.0.1", "10.0.0.2",
                                             "10.0.0.3"};

    memset(&quorum, 0, sizeof quorum);
    memset(is_asked, 0, sizeof is_asked);
    quorum.patience_ms = 3000;
    quorum.longest_ms = 60000;
    for (size_t i = 0; i < NODES; i++)
        if (ilk__quorum_add_node(&quorum,
                                 (ilk__span){hosts[i], strlen(hosts[i])}, NULL))
            return -1;
    ilk__members_begin(&quorum.members, NODES);
    return 0;
}

static int close_nodes(void)
{
    ilk__quorum_close_nodes(&quorum);
    return 0;
}

AROUND_EACH(open_nodes, close_nodes);

/* ---- closing ------------------------------------------------------------- */

static int write_why(void *at, void *owner, const ilk__node_call *call,
                     ilk__reply *reply)
{
    (void)at;
    (void)owner;
    (void)call;
    assert_null(reply);
    ilk__quorum_write_why(&quorum, "NOQUORUM", why);
    return 0;
}

TEST_WITH(open_nodes, NULL, a_call_that_ends_at_the_close_may_name_all_nodes)
{
    ilk__node_call *call = ilk__calloc(1, sizeof *call);

    assert_non_null(call);
    call->ended = write_why;
    quorum.nodes[2].calls.first = quorum.nodes[2].calls.last = call;
    ilk__quorum_close_nodes(&quorum);
    assert_string_equal(
        "NOQUORUM 0 of 3 nodes vote, and 2 must; 10.0.0.1:6379: "
        "it has not been reached yet",
        why);
}

/* ---- one server under two names ------------------------------------------ */

static void connect_node(size_t node)
{
    ilk__members_connected(&quorum.members, node);
    is_asked[node] = 0;
    ilk__quorum_fire_nodes(&quorum, ilk__now_ms());
    assert_true(is_asked[node]);
}

/* It is a member, with this nonce. */
static void joined(size_t node, const char *nonce)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;
    char text[128];

    snprintf(text, sizeof text,
             "*7\r\n:%d\r\n:1\r\n:0\r\n:0\r\n:0\r\n$%zu\r\n%s\r\n:0\r\n",
             ILK__CODE_STATE, strlen(nonce), nonce);
    assert_non_null(reader);
    assert_int_equal(ilk__reader_feed(reader, text, strlen(text), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__reader_free(reader);
    (void)joins[node].ended(&quorum.nodes[node], joins[node].owner,
                            &joins[node], reply);
    ilk__reply_free(reply);
}

static void join_all(const char *first, const char *second, const char *third)
{
    const char *const nonces[NODES] = {first, second, third};

    for (size_t i = 0; i < NODES; i++) {
        connect_node(i);
        joined(i, nonces[i]);
    }
}

TEST(two_nodes_may_be_one_server)
{
    join_all("a", "b", "c");
    assert_string_equal("", quorum.twice);
    connect_node(1);
    joined(1, "c");
    assert_string_equal("10.0.0.2:6379 and 10.0.0.3:6379 are one server",
                        quorum.twice);
}

TEST(they_are_two_again_when_both_have_said_so)
{
    join_all("a", "a", "c");
    assert_true(quorum.twice[0]);
    connect_node(1);
    joined(1, "b");
    assert_string_equal("", quorum.twice);
}

TEST(one_that_is_away_is_still_the_same)
{
    join_all("a", "a", "c");
    ilk__members_lost(&quorum.members, 0);
    connect_node(2);
    joined(2, "c");
    assert_true(quorum.twice[0]);
    connect_node(0);
    joined(0, "a");
    assert_true(quorum.twice[0]);
}

TEST(of_two_pairs_the_other_one_is_found)
{
    join_all("a", "a", "a");
    connect_node(2);
    joined(2, "c");
    assert_string_equal("10.0.0.1:6379 and 10.0.0.2:6379 are one server",
                        quorum.twice);
    connect_node(1);
    joined(1, "b");
    assert_string_equal("", quorum.twice);
}
