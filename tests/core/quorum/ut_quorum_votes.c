/* SPDX-License-Identifier: MIT */
/* ut_quorum_votes.c -- the decisions of an attempt and a hold over several nodes. */
#include "stores/quorum/quorum_votes.h"

#include "base/clock.h"
#include "redis/script.h"

#include <string.h>

#include "test.h"

enum { LEASE_MS = 10000, LEFT_MS = LEASE_MS - 100 - 2 };

static ilk__votes votes;
static int64_t now;

/* ---- by hand ------------------------------------------------------------- */

static void begin(size_t count, int waits)
{
    now = 1000;
    ilk__votes_begin(&votes, count, waits, 0);
}

static void begin_to_reserve(size_t count, int waits)
{
    now = 1000;
    ilk__votes_begin(&votes, count, waits, 1);
}

/* Send all that is due; returns how many, of this script only. */
static size_t send_all(int script)
{
    ilk__vote_command command;
    size_t number = 0;

    while (ilk__votes_next(&votes, now, &command)) {
        assert_int_equal(command.script, script);
        number++;
    }
    return number;
}

static void reply(size_t node, int code, int64_t fence)
{
    ilk__vote_reply one = {.code = code, .lease_ms = LEASE_MS, .fence = fence};

    ilk__votes_reply(&votes, node, &one);
}

static ilk__decision decide(void)
{
    return ilk__votes_decide(&votes, now);
}

static void hold(size_t count)
{
    begin(count, 1);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_ACQUIRE), count);
    for (size_t i = 0; i < count; i++)
        reply(i, ILK__CODE_HELD, 100 + (int64_t)i);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), count);
    for (size_t i = 0; i < count; i++)
        reply(i, ILK__CODE_HELD, 0);
    assert_int_equal(decide(), ILK__DECISION_HELD);
}

TEST(a_majority_holds_with_the_greatest_fence)
{
    ilk__vote_command command;

    begin(3, 1);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_ACQUIRE), 3);
    reply(0, ILK__CODE_HELD, 7);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(2, ILK__CODE_HELD, 9);
    assert_int_equal(decide(), ILK__DECISION_NONE);

    assert_true(ilk__votes_next(&votes, now, &command));
    assert_int_equal(command.script, ILK__SCRIPT_QUORUM_CONFIRM);
    assert_int_equal(command.node, 0);
    assert_int_equal(command.given, 7);
    assert_int_equal(command.fence, 9);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 1);
    reply(2, ILK__CODE_HELD, 9);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(0, ILK__CODE_HELD, 9);
    assert_int_equal(decide(), ILK__DECISION_HELD);
}

TEST(a_majority_that_gives_one_fence_holds_at_once)
{
    ilk__vote_command command;

    begin_to_reserve(3, 1);
    assert_true(ilk__votes_next(&votes, now, &command));
    assert_int_equal(command.mark, ILK__MARK_RESERVED);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(2, ILK__CODE_HELD, 7);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(0, ILK__CODE_HELD, 7);

    assert_int_equal(decide(), ILK__DECISION_HELD);
    assert_int_equal(votes.fence, 7);
    assert_int_equal(ilk__votes_until(&votes), now + LEFT_MS);
    assert_int_equal(send_all(ILK__SCRIPT_NONE), 0);
    reply(1, ILK__CODE_HELD, 9);
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
}

TEST(votes_with_different_fences_are_confirmed)
{
    begin_to_reserve(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 8);
    assert_int_equal(decide(), ILK__DECISION_NONE);

    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
    assert_int_equal(votes.fence, 8);
}

/* The yield may still be on its way. */
TEST(after_a_yield_votes_are_confirmed)
{
    begin_to_reserve(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    decide();
    now += ILK__YIELD_FIRST_MS;
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_YIELD), 1);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 7);

    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
}

TEST(only_the_first_command_to_a_node_reserves)
{
    ilk__vote_command command;

    begin_to_reserve(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    ilk__votes_silent(&votes, 1);
    ilk__votes_reachable(&votes, 1);
    assert_true(ilk__votes_next(&votes, now, &command));
    assert_int_equal(command.mark, ILK__MARK_OPEN);
    reply(1, ILK__CODE_HELD, 7);

    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
}

TEST(a_grant_by_message_is_not_reserved)
{
    begin_to_reserve(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_QUEUED, 0);
    ilk__votes_granted(&votes, 1, 7, LEASE_MS, now);

    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
}

TEST(a_late_vote_takes_no_part_in_the_confirmation)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 8);
    decide();
    reply(2, ILK__CODE_HELD, 50);

    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
    assert_int_equal(votes.fence, 8);
}

/* Its node has not confirmed it, so it does not make the hold longer. */
TEST(a_vote_that_comes_after_the_hold_waits_for_an_extension)
{
    ilk__vote_command command;

    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 8);
    decide();
    send_all(ILK__SCRIPT_QUORUM_CONFIRM);
    reply(0, ILK__CODE_HELD, 8);
    reply(1, ILK__CODE_HELD, 8);
    assert_int_equal(decide(), ILK__DECISION_HELD);
    reply(2, ILK__CODE_HELD, 50);
    assert_int_equal(votes.nodes[2].state, ILK__VOTE_GRANTED);

    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    assert_false(ilk__votes_next(&votes, now, &command));
}

TEST(a_reply_sent_before_an_extension_is_no_reply_to_it)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    for (size_t i = 0; i < 3; i++)
        reply(i, ILK__CODE_HELD, 7);
    decide();
    send_all(ILK__SCRIPT_QUORUM_CONFIRM);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 7);
    assert_int_equal(decide(), ILK__DECISION_HELD);

    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
    reply(2, ILK__CODE_HELD, 7); /* to the confirmation */
    reply(0, ILK__CODE_HELD, 7);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 1);
    reply(2, ILK__CODE_HELD, 7);
    assert_int_equal(decide(), ILK__DECISION_HELD);
}

/* One of three has lost the vote, and is taken again at `at`; one is silent. */
static ilk__decision take_one_again(int64_t at)
{
    ilk__vote_command command;

    hold(3);
    now += 500;
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    ilk__votes_silent(&votes, 2);
    reply(1, ILK__CODE_HELD, 0);
    reply(0, ILK__CODE_LOST, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_true(ilk__votes_next(&votes, now, &command));
    assert_int_equal(command.mark, ILK__MARK_CONFIRMED);
    now = at;
    reply(0, ILK__CODE_HELD, 200);
    return decide();
}

TEST(a_node_that_is_taken_again_in_time_counts)
{
    assert_int_equal(take_one_again(1000 + LEFT_MS - 1), ILK__DECISION_HELD);
    now += 10; /* behind the end of the hold that was extended */
    assert_int_equal(decide(), ILK__DECISION_HELD);
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
}

/* Another client may have held between the end of the hold and the grant. */
TEST(a_node_that_is_taken_again_too_late_does_not)
{
    assert_int_equal(take_one_again(1000 + LEFT_MS), ILK__DECISION_OVER);
}

/* Nobody but an operator takes the votes of a majority at once. */
TEST(a_majority_that_has_lost_its_votes_is_not_taken_again)
{
    hold(3);
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    reply(0, ILK__CODE_LOST, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(2, ILK__CODE_LOST, 0);
    assert_int_equal(decide(), ILK__DECISION_LOST);
}

TEST(another_grant_takes_no_part_in_it_either)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    ilk__votes_granted(&votes, 1, 8, LEASE_MS, now);
    decide();
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 1);
    reply(1, ILK__CODE_HELD, 50); /* to the acquire */

    assert_int_equal(decide(), ILK__DECISION_AGAIN);
}

TEST(too_few_confirmations_give_all_back)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 8);
    decide();
    send_all(ILK__SCRIPT_QUORUM_CONFIRM);
    reply(0, ILK__CODE_HELD, 8);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(1, ILK__CODE_LOST, 0);

    assert_int_equal(decide(), ILK__DECISION_AGAIN);
}

TEST(an_end_of_the_lease_while_confirming_gives_all_back)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 8);
    decide();
    send_all(ILK__SCRIPT_QUORUM_CONFIRM);
    reply(0, ILK__CODE_HELD, 8);
    now += LEFT_MS;

    assert_int_equal(decide(), ILK__DECISION_AGAIN);
}

TEST(trying_once_ends_as_soon_as_a_majority_is_impossible)
{
    begin(4, 0);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_ACQUIRE), 4);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_BUSY, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(2, ILK__CODE_BUSY, 0);

    assert_int_equal(decide(), ILK__DECISION_BUSY);
}

TEST(half_of_an_even_number_is_no_majority)
{
    begin(4, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_HELD, 8);
    decide();

    assert_int_equal(votes.phase, ILK__VOTES_COLLECTS);
}

TEST(too_few_nodes_are_no_quorum_until_one_returns)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    ilk__votes_silent(&votes, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(1, ILK__CODE_REFUSED, 0);
    assert_int_equal(decide(), ILK__DECISION_NOQUORUM);
    assert_int_equal(send_all(ILK__SCRIPT_NONE), 0);

    ilk__votes_reachable(&votes, 1);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_ACQUIRE), 1);
}

TEST(a_grant_by_message_counts_from_when_it_began)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    for (size_t i = 0; i < 3; i++)
        reply(i, ILK__CODE_QUEUED, 0);
    now += 500;
    ilk__votes_granted(&votes, 0, 11, LEASE_MS, now - 100);
    ilk__votes_granted(&votes, 1, 12, LEASE_MS, now - 200);
    ilk__votes_granted(&votes, 1, 10, LEASE_MS, now + 200); /* an older one */

    assert_int_equal(votes.nodes[1].until, now - 200 + LEFT_MS);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 2);
    assert_int_equal(votes.fence, 12);
}

/* ---- yields ------------------------------------------------------------- */

static void have_one_of_three(void)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    reply(1, ILK__CODE_QUEUED, 0);
    reply(2, ILK__CODE_QUEUED, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);
}

TEST(too_few_votes_are_yielded_after_a_while)
{
    have_one_of_three();
    now += ILK__YIELD_FIRST_MS - 1;
    assert_int_equal(send_all(ILK__SCRIPT_NONE), 0);
    now += 1;
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_YIELD), 1);

    /* It does not count while the reply is missing. */
    ilk__votes_granted(&votes, 1, 9, LEASE_MS, now);
    decide();
    assert_int_equal(votes.phase, ILK__VOTES_COLLECTS);
    reply(0, ILK__CODE_QUEUED, 0);
    assert_int_equal(votes.nodes[0].state, ILK__VOTE_WAITS);
}

TEST(a_vote_that_is_kept_is_yielded_more_and_more_rarely)
{
    int64_t last = 0, pause = 0;

    have_one_of_three();
    for (int i = 0; i < 10; i++) {
        int64_t at = ilk__votes_wake_at(&votes, now);

        assert_true(i < 2 || at - now >= pause);
        pause = at - now;
        now = last = at;
        assert_int_equal(send_all(ILK__SCRIPT_QUORUM_YIELD), 1);
        reply(0, ILK__CODE_HELD, 7);
        decide();
    }
    assert_int_equal(last - now, 0);
    assert_int_equal(pause, ILK__YIELD_MOST_MS);
}

TEST(a_yield_without_a_reply_takes_the_vote)
{
    have_one_of_three();
    now += ILK__YIELD_FIRST_MS;
    send_all(ILK__SCRIPT_QUORUM_YIELD);
    ilk__votes_silent(&votes, 0);
    ilk__votes_granted(&votes, 1, 9, LEASE_MS, now);
    decide();
    assert_int_equal(votes.phase, ILK__VOTES_COLLECTS);

    ilk__votes_reachable(&votes, 0);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_ACQUIRE), 1);
}

TEST(a_single_try_yields_nothing)
{
    begin(3, 0);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    reply(0, ILK__CODE_HELD, 7);
    decide();
    now += 2000;
    assert_int_equal(send_all(ILK__SCRIPT_NONE), 0);
}

/* ---- a hold --------------------------------------------------------------- */

TEST(a_hold_lasts_as_long_as_the_shortest_of_its_majority)
{
    hold(5);
    votes.nodes[0].until = 5000;
    votes.nodes[1].until = 4000;
    votes.nodes[2].until = 3000;
    votes.nodes[3].until = 2000;
    votes.nodes[4].until = 6000;

    assert_int_equal(ilk__votes_until(&votes), 4000);
    now = 3999;
    assert_int_equal(decide(), ILK__DECISION_HELD);
    now = 4000;
    assert_int_equal(decide(), ILK__DECISION_OVER);
}

TEST(an_extension_takes_a_lost_node_again_with_the_mark)
{
    ilk__vote_command command;

    hold(3);
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    reply(0, ILK__CODE_HELD, 0);
    reply(1, ILK__CODE_LOST, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);

    assert_true(ilk__votes_next(&votes, now, &command));
    assert_int_equal(command.script, ILK__SCRIPT_QUORUM_ACQUIRE);
    assert_int_equal(command.node, 1);
    assert_int_equal(command.mark, ILK__MARK_CONFIRMED);
    reply(1, ILK__CODE_HELD, 500);
    assert_int_equal(decide(), ILK__DECISION_HELD);

    /* From then on it is confirmed as that grant, with the fence of the hold. */
    ilk__votes_extend(&votes);
    reply(2, ILK__CODE_HELD, 0);
    while (ilk__votes_next(&votes, now, &command))
        if (command.node == 1)
            break;
    assert_int_equal(command.given, 500);
    assert_int_equal(command.fence, 102);
}

TEST(silence_is_no_loss)
{
    hold(3);
    ilk__votes_extend(&votes);
    send_all(ILK__SCRIPT_QUORUM_CONFIRM);
    reply(0, ILK__CODE_HELD, 0);
    ilk__votes_silent(&votes, 1);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    ilk__votes_silent(&votes, 2);
    assert_int_equal(decide(), ILK__DECISION_NOQUORUM);
    assert_true(ilk__votes_until(&votes) > now);

    ilk__votes_reachable(&votes, 2);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 1);
    reply(2, ILK__CODE_HELD, 0);
    assert_int_equal(decide(), ILK__DECISION_HELD);
}

TEST(nodes_that_may_not_vote_are_no_loss)
{
    hold(3);
    ilk__votes_extend(&votes);
    send_all(ILK__SCRIPT_QUORUM_CONFIRM);
    reply(0, ILK__CODE_REFUSED, 0);
    reply(1, ILK__CODE_REFUSED, 0);
    assert_int_equal(decide(), ILK__DECISION_NOQUORUM);
}

TEST(a_reply_that_nobody_waits_for_is_ignored)
{
    hold(3);
    reply(0, ILK__CODE_LOST, 0);
    assert_int_equal(decide(), ILK__DECISION_HELD);
}

TEST(a_lease_counts_from_before_the_asking)
{
    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    now += 700;
    reply(0, ILK__CODE_HELD, 1);
    assert_int_equal(votes.nodes[0].until, 1000 + LEFT_MS);
}

TEST(a_lease_out_of_range_is_cut)
{
    ilk__vote_reply one = {
        .code = ILK__CODE_HELD, .lease_ms = INT64_MAX, .fence = 1};

    begin(3, 1);
    send_all(ILK__SCRIPT_QUORUM_ACQUIRE);
    ilk__votes_reply(&votes, 0, &one);
    assert_true(votes.nodes[0].until > now);
    one.lease_ms = -1;
    ilk__votes_reply(&votes, 1, &one);
    assert_true(votes.nodes[1].until <= now);
}

/* ---- hostile orders ------------------------------------------------------- */

/*
 * Nodes as the scripts make them, and clients whose commands run late, whose
 * replies are late or lost, and whose yields run twice. Client c has the stamp c.
 * A lease ends when it is over at the node and, by its margin, earlier at the
 * client.
 */
enum { CLIENTS = 3, ATTEMPTS = 64, NOBODY = -1, CARRIED = 32, STEPS = 20000 };

typedef struct fake_node {
    int owner; /* a token: client + CLIENTS * attempt */
    int64_t until, given, fence, held;
    char queue[CLIENTS * ATTEMPTS];
} fake_node;

typedef struct carried {
    int used, client, attempt, drop_reply;
    int is_copy; /* its reply is nobody's */
    ilk__vote_command command;
    int64_t at;
    int ran;
    ilk__vote_reply reply;
} carried;

typedef struct client {
    ilk__votes votes;
    int attempt, holds, served;
    int confirms; /* it has sent a confirmation in this attempt */
    int64_t hold_until;
} client;

static fake_node nodes[ILK__QUORUM_MOST];
static client clients[CLIENTS];
static carried wire[CARRIED];
static size_t node_count;
static uint64_t seed;
static int64_t last_fence;
static int reserve;         /* the clients do, in this run */
static size_t held_at_once; /* of all runs */

static uint64_t dice(uint64_t sides)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33) % sides;
}

static int token_of(const carried *one)
{
    return one->client + CLIENTS * one->attempt;
}

static int first_of(const fake_node *node)
{
    for (int c = 0; c < CLIENTS; c++)
        for (int a = 0; a < ATTEMPTS; a++)
            if (node->queue[c + CLIENTS * a])
                return c + CLIENTS * a;
    return NOBODY;
}

static void tell(int token, size_t node)
{
    client *one = &clients[token % CLIENTS];

    if (one->attempt == token / CLIENTS && !one->served && dice(4) > 0)
        ilk__votes_granted(&one->votes, node, nodes[node].given, LEASE_MS, now);
}

static void give(size_t at, int token)
{
    fake_node *node = &nodes[at];

    node->owner = token;
    node->queue[token] = 0;
    node->given = ++node->fence;
    node->until = now + LEASE_MS;
}

static void hand_over(size_t at)
{
    int next = first_of(&nodes[at]);

    nodes[at].owner = NOBODY;
    if (next == NOBODY)
        return;
    give(at, next);
    tell(next, at);
}

static void expire(size_t at)
{
    if (nodes[at].owner != NOBODY && nodes[at].until <= now)
        hand_over(at);
}

static ilk__vote_reply held(const fake_node *node)
{
    return (ilk__vote_reply){.code = ILK__CODE_HELD,
                             .lease_ms = node->until - now,
                             .fence = node->given};
}

static int is_confirmed(const fake_node *node)
{
    return node->held == node->given;
}

static int is_open(const fake_node *node)
{
    return !is_confirmed(node) && node->held != -node->given;
}

static ilk__vote_reply run_acquire(size_t at, int token, ilk__vote_mark mark)
{
    fake_node *node = &nodes[at];
    int takes = mark == ILK__MARK_CONFIRMED;

    if (takes && (node->owner == NOBODY || is_open(node))
        && node->owner != token)
        give(at, token);
    if (node->owner == NOBODY) {
        node->queue[token] = 1;
        give(at, first_of(node));
        if (node->owner != token)
            tell(node->owner, at);
    }
    if (node->owner == token) {
        if (takes)
            node->held = node->given;
        else if (mark == ILK__MARK_RESERVED && !is_confirmed(node))
            node->held = -node->given;
        return held(node);
    }
    if (!takes)
        node->queue[token] = 1;
    return (ilk__vote_reply){.code = takes ? ILK__CODE_BUSY : ILK__CODE_QUEUED};
}

static ilk__vote_reply run_script(const carried *one)
{
    const ilk__vote_command *command = &one->command;
    fake_node *node = &nodes[command->node];
    int token = token_of(one), next;

    expire(command->node);
    if (command->script == ILK__SCRIPT_QUORUM_ACQUIRE)
        return run_acquire(command->node, token, command->mark);
    if (node->owner != token)
        return (ilk__vote_reply){.code = ILK__CODE_LOST};
    if (command->script == ILK__SCRIPT_QUORUM_CONFIRM) {
        if (node->given != command->given)
            return (ilk__vote_reply){.code = ILK__CODE_LOST};
        node->held = node->given;
        node->until = now + LEASE_MS;
        if (node->fence < command->fence)
            node->fence = command->fence;
        return held(node);
    }
    next = first_of(node);
    if (is_confirmed(node))
        return held(node);
    if (next == NOBODY || next % CLIENTS >= token % CLIENTS) {
        node->held = 0;
        return held(node);
    }
    node->queue[token] = 1;
    hand_over(command->node);
    return (ilk__vote_reply){.code = ILK__CODE_QUEUED};
}

static void cancel_everywhere(int token)
{
    for (size_t i = 0; i < node_count; i++) {
        nodes[i].queue[token] = 0;
        if (nodes[i].owner == token)
            hand_over(i);
    }
}

/* A cancelled token is void: its late commands find a grave, as the nodes' leases
 * do away with it. The model has those. */
static int is_void(const carried *one)
{
    return clients[one->client].served
           || clients[one->client].attempt != one->attempt;
}

static void start(int c)
{
    ilk__votes_begin(&clients[c].votes, node_count, 1, reserve);
}

static void give_up(int c)
{
    cancel_everywhere(c + CLIENTS * clients[c].attempt);
    clients[c].attempt++;
    clients[c].confirms = 0;
    assert_true(clients[c].attempt < ATTEMPTS);
    start(c);
}

static void check_holders(int c)
{
    for (int other = 0; other < CLIENTS; other++)
        assert_true(other == c || !clients[other].holds
                    || clients[other].hold_until <= now);
}

static void act_on_decision(int c)
{
    client *one = &clients[c];
    ilk__decision decision = ilk__votes_decide(&one->votes, now);

    if (one->holds) {
        one->hold_until = ilk__votes_until(&one->votes);
        if (one->hold_until > now)
            check_holders(c);
        return;
    }
    if (decision == ILK__DECISION_AGAIN) {
        give_up(c);
    } else if (decision == ILK__DECISION_HELD) {
        one->holds = 1;
        held_at_once += (size_t)!one->confirms;
        one->hold_until = ilk__votes_until(&one->votes);
        check_holders(c);
        assert_true(one->votes.fence > last_fence);
        last_fence = one->votes.fence;
    }
}

static void send_from(int c)
{
    for (size_t i = 0; i < CARRIED; i++) {
        carried *one = &wire[i];

        if (one->used)
            continue;
        if (!ilk__votes_next(&clients[c].votes, now, &one->command))
            return;
        if (one->command.script == ILK__SCRIPT_QUORUM_CONFIRM)
            clients[c].confirms = 1;
        one->used = 1;
        one->client = c;
        one->attempt = clients[c].attempt;
        one->ran = 0;
        one->is_copy = 0;
        one->drop_reply = dice(20) == 0;
    }
}

static void move(carried *one)
{
    client *its = &clients[one->client];

    if (is_void(one)) {
        one->used = 0;
        return;
    }
    if (!one->ran) {
        one->reply = run_script(one);
        one->ran = 1;
        return;
    }
    if (one->is_copy) {
        one->used = 0;
        return;
    }
    if (one->drop_reply) {
        ilk__votes_silent(&its->votes, one->command.node);
        ilk__votes_reachable(&its->votes, one->command.node);
    } else {
        ilk__votes_reply(&its->votes, one->command.node, &one->reply);
    }
    /* a second copy of a yield or an acquire runs at any later time */
    one->is_copy = one->command.script != ILK__SCRIPT_QUORUM_CONFIRM;
    one->used = one->is_copy && dice(3) == 0;
    one->ran = 0;
}

static void step_client(int c)
{
    client *one = &clients[c];

    if (one->served)
        return;
    act_on_decision(c);
    if (one->holds && dice(8) == 0) {
        one->holds = 0;
        one->served = 1;
        cancel_everywhere(c + CLIENTS * one->attempt);
        return;
    }
    if (one->holds && dice(4) == 0)
        ilk__votes_extend(&one->votes);
    /* a refresh finds that a message was lost */
    for (size_t i = 0; i < node_count; i++)
        if (!nodes[i].queue[c + CLIENTS * one->attempt] && dice(16) == 0)
            ilk__votes_gone(&one->votes, i);
    send_from(c);
}

static int all_served(void)
{
    return clients[0].served && clients[1].served && clients[2].served;
}

static void play(size_t count, uint64_t which, int lapses)
{
    seed = which * 7919 + 17;
    reserve = which % 2 == 0;
    node_count = count;
    last_fence = 0;
    now = 1000;
    memset(nodes, 0, sizeof nodes);
    memset(clients, 0, sizeof clients);
    memset(wire, 0, sizeof wire);
    for (size_t i = 0; i < count; i++)
        nodes[i].owner = NOBODY;
    for (int c = 0; c < CLIENTS; c++)
        start(c);
    for (int i = 0; i < STEPS && !all_served(); i++) {
        carried *one = &wire[dice(CARRIED)];

        now += (int64_t)dice(5);
        if (lapses && dice(300) == 0)
            now += LEASE_MS / 2;
        if (one->used)
            move(one);
        else
            step_client((int)dice(CLIENTS));
        for (size_t n = 0; n < count; n++)
            expire(n);
    }
    assert_true(all_served());
}

TEST(hostile_orders_serve_everybody_one_at_a_time)
{
    for (uint64_t i = 0; i < 300; i++)
        for (size_t count = 3; count <= 5; count++)
            play(count, i * 3 + count, 0);
    assert_true(held_at_once > 0);
}

TEST(hostile_orders_with_ends_of_leases)
{
    for (uint64_t i = 0; i < 300; i++)
        for (size_t count = 3; count <= 5; count++)
            play(count, i * 3 + count, 1);
}

/* A round that leaves leases as they are finds less left of them, later. */
TEST(a_round_that_keeps_leases_ends_none_early)
{
    const ilk__vote_reply left = {.code = ILK__CODE_HELD, .lease_ms = 4000};
    int64_t until;

    hold(3);
    until = ilk__votes_until(&votes);
    now += 5000;
    votes.keeps_leases = 1;
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    for (size_t i = 0; i < 3; i++)
        ilk__votes_reply(&votes, i, &left);
    assert_int_equal(decide(), ILK__DECISION_HELD);
    assert_int_equal(ilk__votes_until(&votes), until);

    votes.keeps_leases = 0;
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    for (size_t i = 0; i < 3; i++)
        ilk__votes_reply(&votes, i, &left);
    assert_int_equal(decide(), ILK__DECISION_HELD);
    assert_true(ilk__votes_until(&votes) < until);
}

/* A node that was wiped says nothing about the vote, also when it is left for it. */
TEST(a_node_that_refused_and_left_has_denied_nothing)
{
    hold(3);
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    reply(0, ILK__CODE_REFUSED, 0);
    ilk__votes_silent(&votes, 0);
    reply(1, ILK__CODE_LOST, 0);
    assert_int_equal(decide(), ILK__DECISION_NONE);
    reply(2, ILK__CODE_HELD, 0);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_ACQUIRE), 1);
    reply(1, ILK__CODE_HELD, 200);
    assert_int_equal(decide(), ILK__DECISION_HELD);
}

/* A confirmation without a reply may have shortened the lease at its node. */
TEST(a_round_that_shortens_is_counted_from_its_sending)
{
    hold(3);
    votes.shortest_ms = 1000;
    ilk__votes_extend(&votes);
    assert_int_equal(send_all(ILK__SCRIPT_QUORUM_CONFIRM), 3);
    assert_int_equal(ilk__votes_until(&votes), now + 1000 - 10 - 2);
    for (size_t i = 0; i < 3; i++)
        ilk__votes_silent(&votes, i);
    assert_int_equal(ilk__votes_until(&votes), now + 1000 - 10 - 2);
    assert_int_equal(decide(), ILK__DECISION_NOQUORUM);
    now += 1000;
    assert_int_equal(decide(), ILK__DECISION_OVER);
}

TEST(the_nth_greatest_of_some_numbers)
{
    int64_t numbers[] = {3, 9, 1, 9, 4};

    assert_int_equal(ilk__nth_greatest(numbers, 5, 1), 9);
    assert_int_equal(ilk__nth_greatest(numbers, 5, 3), 4);
    assert_int_equal(ilk__nth_greatest(numbers, 5, 5), 1);
    assert_int_equal(ilk__nth_greatest(numbers, 2, 3), 0);
    assert_int_equal(ilk__nth_greatest(numbers, 0, 1), 0);
}
