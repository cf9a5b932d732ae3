/* SPDX-License-Identifier: MIT */
/* ut_quorum_members.c -- which nodes may vote, and how they are taken in. */
#include "stores/quorum/quorum_members.h"

#include "base/clock.h"
#include "redis/script.h"

#include <string.h>

#include "test.h"

enum { LONGEST = 60000, WAIT = LONGEST + LONGEST / 100 + 2 };

static ilk__members members;
static int64_t now;

static void begin(size_t count)
{
    now = 1000000;
    ilk__members_begin(&members, count);
    for (size_t i = 0; i < count; i++)
        ilk__members_connected(&members, i);
}

/* The next call goes to this node and only asks. */
static void assert_asks(size_t node)
{
    ilk__join call;

    assert_true(ilk__members_next(&members, now, &call));
    assert_int_equal(call.script, ILK__SCRIPT_QUORUM_JOIN);
    assert_int_equal(call.node, node);
    assert_string_equal(call.nonce, "");
}

static void assert_takes_in(size_t node, const char *nonce, int64_t floor,
                            int first)
{
    ilk__join call;

    assert_true(ilk__members_next(&members, now, &call));
    assert_int_equal(call.node, node);
    assert_string_equal(call.nonce, nonce);
    assert_int_equal(call.floor, floor);
    assert_int_equal(call.first, first);
}

static void assert_idle(void)
{
    ilk__join call;

    assert_false(ilk__members_next(&members, now, &call));
}

static void reply(size_t node, int is_member, int64_t most, const char *nonce)
{
    ilk__join_reply one = {.is_member = is_member,
                           .wait_ms = is_member ? 0 : LONGEST,
                           .most = most,
                           .nonce = nonce};

    assert_true(ilk__members_reply(&members, node, &one, now));
}

static void reply_early(size_t node, int64_t early_ms, int64_t most,
                        const char *nonce)
{
    ilk__join_reply one = {
        .wait_ms = LONGEST, .early_ms = early_ms, .most = most, .nonce = nonce};

    assert_true(ilk__members_reply(&members, node, &one, now));
}

/* Each node that is read once more, after the others were known, replies as before. */
static void read_once_more(void)
{
    ilk__join call;

    while (ilk__members_next(&members, now, &call)) {
        const ilk__member *one = &members.nodes[call.node];
        const ilk__join_reply same = {.is_member = one->is_member,
                                      .is_late = one->is_late,
                                      .most = one->most,
                                      .nonce = one->nonce};

        assert_string_equal(call.nonce, "");
        assert_true(ilk__members_reply(&members, call.node, &same, now));
    }
}

/* Nodes 1, ... are members; node 0 has lost its memory. */
static void lose_one(size_t count)
{
    begin(count);
    for (size_t i = 0; i < count; i++)
        assert_asks(i);
    for (size_t i = 1; i < count; i++)
        reply(i, 1, (int64_t)i * 10, "m");
    reply(0, 0, 0, "n0");
}

TEST(members_may_vote_and_others_may_not)
{
    lose_one(3);
    assert_false(ilk__members_may_vote(&members, 0));
    assert_true(ilk__members_may_vote(&members, 1));
    ilk__members_lost(&members, 1);
    assert_false(ilk__members_may_vote(&members, 1));
    ilk__members_refused(&members, 2);
    assert_false(ilk__members_may_vote(&members, 2));
}

TEST(a_floor_is_read_after_the_wait)
{
    lose_one(3);
    assert_idle();
    assert_int_equal(ilk__members_wake_at(&members, now), now + WAIT);
    now += WAIT - 1;
    assert_idle();

    now += 1;
    assert_asks(1);
    assert_asks(2);
    assert_idle();
    reply(2, 1, 25, "m");
    assert_idle();
    reply(1, 1, 90, "m");
    assert_takes_in(0, "n0", 90, 0);
    reply(0, 1, 90, "n0");
    assert_true(ilk__members_may_vote(&members, 0));
    assert_idle();
}

TEST(a_reply_to_a_question_from_before_is_not_enough)
{
    lose_one(3);
    now += WAIT - 1;
    ilk__members_refused(&members, 1);
    assert_asks(1);
    now += 1;
    reply(1, 1, 90, "m"); /* it was read too early */
    assert_asks(1);
    assert_asks(2);
}

TEST(fewer_than_a_majority_of_others_give_no_floor)
{
    lose_one(4);
    ilk__members_lost(&members, 3);
    now += WAIT;
    assert_asks(1);
    assert_asks(2);
    reply(1, 1, 10, "m");
    reply(2, 1, 20, "m");
    assert_idle();

    ilk__members_connected(&members, 3);
    assert_asks(3);
    reply(3, 1, 30, "m");
    assert_takes_in(0, "n0", 30, 0);
}

/* With one member left, the greatest fence of a majority is unknown. */
TEST(a_majority_that_has_forgotten_begins_after_the_wait)
{
    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks(i);
    reply(2, 1, 30, "m");
    reply_early(0, 0, 500, "n0");
    assert_idle();
    now += 100;
    reply_early(1, 0, 40, "n1");
    read_once_more();
    now += WAIT - 1;
    assert_asks(2); /* node 0 alone needs a floor */
    reply(2, 1, 30, "m");
    assert_idle();
    now++;
    assert_takes_in(0, "n0", 500, 1);
    assert_takes_in(1, "n1", 500, 1);
}

TEST(those_that_wait_give_no_floor)
{
    begin(5);
    for (size_t i = 0; i < 5; i++)
        assert_asks(i);
    for (size_t i = 2; i < 5; i++)
        reply(i, 1, 30, "m");
    reply(0, 0, 500, "n0");
    reply(1, 0, 500, "n1");
    now += WAIT;
    for (size_t i = 2; i < 5; i++) {
        assert_asks(i);
        reply(i, 1, 30 + (int64_t)i, "m");
    }
    assert_takes_in(0, "n0", 34, 0);
}

TEST(the_first_are_taken_in_when_the_last_has_run_long_enough)
{
    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks(i);
    reply_early(0, 0, 7, "n0");
    reply_early(1, 100, 40, "n1");
    assert_idle();
    reply_early(2, 50, 8, "n2");
    read_once_more();
    assert_int_equal(ilk__members_wake_at(&members, now), now + 103);

    now += 103;
    ilk__members_lost(&members, 2);
    assert_takes_in(0, "n0", 40, 1);
    reply(0, 1, 40, "n0");
    assert_takes_in(1, "n1", 40, 1);
    assert_idle();
}

TEST(one_of_the_first_that_is_lost_shortens_nothing)
{
    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks(i);
    for (size_t i = 0; i < 3; i++)
        reply_early(i, i == 2 ? 100 : 0, 0, "n");
    read_once_more();
    ilk__members_lost(&members, 2);

    now += 102;
    assert_idle();
    now += 1;
    assert_takes_in(0, "n", 0, 1);
}

TEST(a_node_that_loses_its_memory_again_is_none_of_the_first)
{
    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks(i);
    for (size_t i = 0; i < 3; i++)
        reply_early(i, 1, 0, "n");
    read_once_more();
    now += 3;
    assert_takes_in(0, "n", 0, 1);
    reply(0, 1, 0, "n");
    assert_takes_in(1, "n", 0, 1);
    reply_early(1, 0, 0, "another");
    assert_asks(0);
    reply(0, 1, 0, "n");
    assert_asks(2);
    reply_early(2, 1, 0, "n");
    assert_takes_in(2, "n", 0, 1);
    reply(2, 1, 0, "n");
    assert_idle();
}

/* ---- nodes that are emptied one after another ---------------------------- */

/* The next call goes to this node, which this client has seen as a member or not. */
static void assert_asks_knowing(size_t node, int is_known)
{
    ilk__join call;

    assert_true(ilk__members_next(&members, now, &call));
    assert_int_equal(call.node, node);
    assert_int_equal(call.is_known, is_known);
    assert_string_equal(call.nonce, "");
}

TEST(a_client_that_has_seen_them_says_so_and_waits)
{
    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks_knowing(i, 0);
    for (size_t i = 0; i < 3; i++)
        reply(i, 1, 10, "m");
    for (size_t i = 0; i < 3; i++) {
        ilk__members_refused(&members, i);
        ilk__members_lost(&members, i);
        ilk__members_connected(&members, i);
        assert_asks_knowing(i, 1);
        reply_early(i, 0, 0, "n");
        read_once_more();
    }
    now += WAIT - 1;
    assert_idle();
    now++;
    assert_takes_in(0, "n", 0, 1);
}

TEST(beside_one_that_is_late_all_wait)
{
    const ilk__join_reply late = {.is_late = 1,
                                  .wait_ms = LONGEST - 100,
                                  .early_ms = LONGEST - 100,
                                  .nonce = "n0"};

    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks(i);
    assert_true(ilk__members_reply(&members, 0, &late, now));
    reply_early(1, 0, 0, "n1");
    reply_early(2, 0, 0, "n2");
    read_once_more();
    now += WAIT - 1;
    assert_idle();
    now++;
    assert_takes_in(0, "n0", 0, 1);
}

/* Another client has made one late since this client has read it. */
TEST(one_that_was_read_early_is_read_again)
{
    const ilk__join_reply late = {.is_late = 1, .nonce = "n0"};

    begin(3);
    for (size_t i = 0; i < 3; i++)
        assert_asks(i);
    reply_early(0, 0, 0, "n0");
    reply_early(1, 0, 0, "n1");
    reply_early(2, 0, 0, "n2");
    assert_asks(0);
    assert_asks(1);
    assert_asks(2);
    assert_idle();
    reply_early(2, 0, 0, "n2");
    assert_true(ilk__members_reply(&members, 0, &late, now));
    reply_early(1, 0, 0, "n1");
    read_once_more();
    now += WAIT - 1;
    assert_idle();
}

TEST(a_node_that_is_refused_is_read_again)
{
    lose_one(3);
    ilk__members_refused(&members, 1);
    assert_asks(1);
    assert_idle();
}

TEST(replies_that_make_no_sense_are_ignored)
{
    static char longer[ILK__NONCE_MAX + 2];
    ilk__join_reply one = {.is_member = 1, .nonce = ""};

    memset(longer, 'n', sizeof longer - 1);
    begin(3);
    assert_false(ilk__members_reply(&members, 0, &one, now));
    assert_asks(0);
    assert_false(ilk__members_reply(&members, 0, &one, now));
    assert_asks(0);
    one.nonce = longer;
    assert_false(ilk__members_reply(&members, 0, &one, now));
    assert_asks(0);
    one = (ilk__join_reply){.is_member = 1, .most = -1, .nonce = "n"};
    assert_false(ilk__members_reply(&members, 0, &one, now));
    assert_false(ilk__members_may_vote(&members, 0));
}

TEST(a_wait_out_of_range_is_cut)
{
    ilk__join_reply one = {
        .wait_ms = INT64_MAX, .early_ms = INT64_MIN, .nonce = "n"};

    begin(3);
    assert_asks(0);
    assert_true(ilk__members_reply(&members, 0, &one, now));
    assert_true(ilk__members_wake_at(&members, now) > now);
    assert_true(ilk__members_wake_at(&members, now) < ILK__FOREVER);
}
