/* SPDX-License-Identifier: MIT */
/* ut_lease_changes.c -- an extend beside renewals, in every order of
 * answers. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "lease_case.h"

#include <string.h>

#include "test.h"

AROUND_EACH(lease_case_setup, lease_case_teardown);

static ilk__lease_change change, other;

static int64_t sure(int64_t lease_ms)
{
    return ilk__lease_deadline(0, lease_ms);
}

static void begin(ilk__lease_change *of, ilk__lease_way way, int64_t ttl_ms)
{
    ilk__lease_change_begin(&lease, of, way, ttl_ms);
}

static ilk_status end(ilk__lease_change *of, ilk_status status)
{
    const ilk__lease_outcome outcome = {.status = status,
                                        .lease_ms = of->ttl_ms,
                                        .may_have_run = status == ILK_EUNKNOWN,
                                        .in_order = 1};

    return ilk__lease_change_end(&lease, of, &outcome, NULL);
}

static void renewal_is_answered(ilk__inflight *renewal, int64_t lease_ms)
{
    (void)inflight_answer(renewal, "%d %d 17 1", ILK__CODE_HELD, (int)lease_ms);
}

/* ---- one extend --------------------------------------------------------- */

TEST(an_extend_is_believed_at_once_when_it_shortens)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 1000);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
    assert_int_equal(end(&change, ILK_OK), ILK_OK);
    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
}

TEST(an_extend_is_believed_when_answered_when_it_lengthens)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 60000);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
    local_ms += 50;
    assert_int_equal(end(&change, ILK_OK), ILK_OK);
    assert_int_equal(ilk__lease_remaining(&lease), sure(60000) - 50);
}

TEST(an_answer_as_expected_changes_nothing)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 3000);
    local_ms += 100;

    assert_int_equal(end(&change, ILK_OK), ILK_OK);

    assert_int_equal(ilk__lease_remaining(&lease), sure(3000) - 100);
}

/* The server grants less than was requested. */
TEST(a_shorter_answer_counts)
{
    ilk__lease_outcome outcome = {
        .status = ILK_OK, .lease_ms = 1000, .in_order = 1};

    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 3000);

    assert_int_equal(ilk__lease_change_end(&lease, &change, &outcome, NULL),
                     ILK_OK);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
}

TEST(a_longer_extend_that_was_not_sent_changes_nothing)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 2 * TTL_MS);

    assert_int_equal(end(&change, ILK_ECONN), ILK_ECONN);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
}

/* The outcome of the first one is unknown, so the longer deadline stays lost. */
TEST(an_unsent_extend_beside_a_doubt_takes_nothing_back)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 5000);
    assert_int_equal(end(&change, ILK_EUNKNOWN), ILK_EUNKNOWN);
    begin(&other, ILK__LEASE_BY_CALLER, 3000);

    assert_int_equal(end(&other, ILK_ECONN), ILK_ECONN);

    assert_int_equal(ilk__lease_remaining(&lease), sure(3000));
}

TEST(an_extend_that_was_not_sent_changes_nothing)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_ECONN), ILK_ECONN);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
    shared_tick(3000);
    renewal_is_answered(renewal_of(TTL_MS), TTL_MS);
    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
}

TEST(a_lease_that_ends_before_the_answer_is_lost)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    shared_tick(1000);
    assert_lost(ILK_EUNKNOWN);

    assert_int_equal(end(&change, ILK_OK), ILK_ELOST);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ELOST);
}

TEST(a_refused_extend_is_a_loss)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 60000);
    assert_int_equal(end(&change, ILK_ELOST), ILK_ELOST);

    assert_lost(ILK_ELOST);
}

/* ---- beside a renewal --------------------------------------------------- */

/* The server may execute either first, and either answer may come first. */
TEST(a_renewal_beside_a_longer_extend_takes_nothing_away)
{
    ilk__inflight *renewal;

    hold(1, 0);
    shared_tick(3000);
    renewal = renewal_of(TTL_MS);

    begin(&change, ILK__LEASE_BY_CALLER, 60000);
    assert_int_equal(end(&change, ILK_OK), ILK_OK);
    renewal_is_answered(renewal, TTL_MS);

    assert_int_equal(ilk__lease_remaining(&lease), sure(60000));
}

TEST(a_renewal_beside_a_shorter_extend_adds_nothing)
{
    ilk__inflight *renewal;

    hold(1, 0);
    shared_tick(3000);
    renewal = renewal_of(TTL_MS);

    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_OK), ILK_OK);
    renewal_is_answered(renewal, TTL_MS);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
}

TEST(a_renewal_inside_a_shorter_extend_adds_nothing)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    shared_tick(334);
    renewal_is_answered(renewal_of(TTL_MS), TTL_MS);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
    assert_int_equal(end(&change, ILK_OK), ILK_OK);
}

TEST(the_next_renewal_counts_in_full)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_OK), ILK_OK);

    shared_tick(334);
    renewal_is_answered(renewal_of(TTL_MS), TTL_MS);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
}

/* ---- without an answer -------------------------------------------------- */

/* It may be executed after every renewal, so each is worth no more than it. */
TEST(an_extend_without_an_answer_caps_every_renewal)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_EUNKNOWN), ILK_EUNKNOWN);

    for (int i = 0; i < 20; i++) {
        shared_tick(334);
        renewal_is_answered(renewal_of(TTL_MS), TTL_MS);
        assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
    }
    assert_no_notification();
}

TEST(an_answer_on_the_same_way_ends_the_doubt)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_EUNKNOWN), ILK_EUNKNOWN);

    begin(&change, ILK__LEASE_BY_CALLER, 30000);
    assert_int_equal(end(&change, ILK_OK), ILK_OK);

    assert_int_equal(ilk__lease_remaining(&lease), sure(30000));
    assert_false(ilk__lease_in_doubt(&lease, ILK__LEASE_BY_CALLER));
}

TEST(an_answer_on_another_way_leaves_the_doubt)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_LOOP, 1000);
    assert_int_equal(end(&change, ILK_EUNKNOWN), ILK_EUNKNOWN);

    begin(&change, ILK__LEASE_BY_CALLER, 30000);
    assert_int_equal(end(&change, ILK_OK), ILK_OK);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
    assert_true(ilk__lease_in_doubt(&lease, ILK__LEASE_BY_LOOP));
}

/* The connection that broke could not be closed: nothing ends the doubt. */
TEST(without_order_a_doubt_stays)
{
    const ilk__lease_outcome repeated = {
        .status = ILK_OK, .lease_ms = 30000, .may_have_run = 1};

    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_EUNKNOWN), ILK_EUNKNOWN);

    begin(&change, ILK__LEASE_BY_CALLER, 30000);
    assert_int_equal(ilk__lease_change_end(&lease, &change, &repeated, NULL),
                     ILK_OK);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
    assert_true(ilk__lease_in_doubt(&lease, ILK__LEASE_BY_CALLER));
}

TEST(a_slow_answer_takes_no_renewal_back)
{
    hold(1, 0);

    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    shared_tick(334);
    renewal_is_answered(renewal_of(TTL_MS), TTL_MS);
    assert_int_equal(end(&change, ILK_OK), ILK_OK);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
}

TEST(an_unsent_extend_takes_no_other_back)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 5000);
    begin(&other, ILK__LEASE_BY_CALLER, 1000);

    assert_int_equal(end(&other, ILK_OK), ILK_OK);
    assert_int_equal(end(&change, ILK_ECONN), ILK_ECONN);

    assert_int_equal(ilk__lease_remaining(&lease), sure(1000));
}

TEST(a_new_hold_has_no_doubts)
{
    hold(1, 0);
    begin(&change, ILK__LEASE_BY_CALLER, 1000);
    assert_int_equal(end(&change, ILK_EUNKNOWN), ILK_EUNKNOWN);
    ilk__lease_end(&lease);

    hold(1, 0);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
    assert_false(ilk__lease_in_doubt(&lease, ILK__LEASE_BY_CALLER));
}

/* ---- several at the same time ------------------------------------------- */

/* Jobs of one reservation share its lease, and may be extended by two
 * threads: the answers do not say which extend was executed last. */
TEST(extends_at_the_same_time_are_worth_the_shortest)
{
    for (int first = 0; first < 2; first++) {
        hold(1, 0);
        begin(&change, ILK__LEASE_BY_CALLER, 60000);
        begin(&other, ILK__LEASE_BY_CALLER, 10000);

        assert_int_equal(end(first ? &change : &other, ILK_OK), ILK_OK);
        assert_int_equal(end(first ? &other : &change, ILK_OK), ILK_OK);

        assert_int_equal(ilk__lease_remaining(&lease), sure(10000));
        begin(&change, ILK__LEASE_BY_CALLER, 60000);
        assert_int_equal(end(&change, ILK_OK), ILK_OK);
        assert_int_equal(ilk__lease_remaining(&lease), sure(60000));
        ilk__lease_end(&lease);
    }
}
