/* SPDX-License-Identifier: MIT */
/* ut_lease_end.c -- renewals that end: with the hold, its limit, its handle. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "lease_case.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

#include "test.h"

AROUND_EACH(lease_case_setup, lease_case_teardown);

/* ---- the limit of a hold ------------------------------------------------ */

TEST(no_renewal_goes_beyond_the_limit)
{
    hold(1, 10000);
    shared_tick(3000);

    /* 7 s are left, so for these it is asked, and not again */
    (void)inflight_answer(renewal_of(7000), "%d 7000 17 1", ILK__CODE_HELD);
    shared_tick(7000 - 70 - 2 - 1);
    assert_null(next_inflight());
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    shared_tick(1);

    assert_lost(ILK_ETIMEOUT);
}

TEST(a_far_limit_changes_nothing_at_first)
{
    hold(1, 20000);

    for (int i = 0; i < 3; i++) {
        shared_tick(3000);
        (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1",
                              ILK__CODE_HELD);
    }
    shared_tick(3000);
    (void)inflight_answer(renewal_of(20000 - 12000), "%d 8000 17 1",
                          ILK__CODE_HELD);
    shared_tick(8000);

    assert_null(next_inflight());
    assert_lost(ILK_ETIMEOUT);
}

/* ---- late answers ------------------------------------------------------- */

TEST(an_answer_after_the_release_changes_nothing)
{
    ilk__inflight *inflight;

    hold(1, 0);
    shared_tick(3000);
    inflight = renewal_of(TTL_MS);
    ilk__lease_end(&lease);

    (void)inflight_answer(inflight, "%d 9000 17 1", ILK__CODE_HELD);

    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ENOTOWNER);
    assert_int_equal(ilk__lease_remaining(&lease), 0);
    assert_int_equal(shared.stats.renewals, 0);
}

TEST(an_answer_to_the_hold_before_changes_nothing)
{
    ilk__inflight *inflight;

    hold(1, 0);
    shared_tick(3000);
    inflight = renewal_of(TTL_MS);
    ilk__lease_end(&lease);
    hold(1, 0);

    (void)inflight_answer(inflight, "*4\r\n:%d\r\n:1000\r\n:0\r\n$0\r\n\r\n",
                          ILK__CODE_LOST);

    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    assert_no_notification();
}

TEST(the_handle_may_go_before_the_answer)
{
    ilk__inflight *inflight;

    hold(1, 0);
    shared_tick(3000);
    inflight = renewal_of(TTL_MS);

    ilk__lease_destroy(&lease);
    memset(&lease, 0xee, sizeof lease);
    (void)inflight_answer(inflight, "%d 9000 17 1", ILK__CODE_HELD);

    lease_case_init();
}

TEST(a_handle_that_goes_takes_its_news_along)
{
    hold(0, 0);
    shared_tick(TTL_MS);

    ilk__lease_destroy(&lease);

    assert_no_notification();
    lease_case_init();
}

TEST(closing_ends_a_renewal_and_leaves_the_hold)
{
    hold(1, 0);
    shared_tick(3000);

    inflight_end(renewal_of(TTL_MS), ILK_ECLOSED);

    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    assert_no_notification();
}

/* ---- by hand ------------------------------------------------------------ */

TEST(prolonging_moves_deadline_and_renewal)
{
    hold(1, 0);
    shared_tick(2900);

    ilk__lease_prolong(&lease, local_ms, 30000);

    assert_int_equal(ilk__lease_remaining(&lease), 30000 - 302);
    shared_tick(9999);
    assert_null(next_inflight());
    shared_tick(1);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
}

TEST(a_lost_hold_stays_lost)
{
    hold(0, 0);
    shared_tick(TTL_MS);
    assert_lost(ILK_ETIMEOUT);

    assert_false(ilk__lease_prolong(&lease, local_ms, 5000));

    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ELOST);
    assert_int_equal(ilk__lease_remaining(&lease), 0);
}

TEST(watching_again_counts_one_hold)
{
    hold(1, 0);
    ilk__lease_watch(&lease, TTL_MS, 1, ILK__FOREVER);

    assert_int_equal(shared.stats.held, 1);
    ilk__lease_end(&lease);
    assert_int_equal(shared.stats.held, 0);
}

/* ---- no memory ---------------------------------------------------------- */

TEST(without_memory_the_next_look_renews)
{
    hold(1, 0);

    ilk__alloc_fail_at(1);
    shared_tick(3000);
    ilk__alloc_fail_at(0);
    assert_null(next_inflight());
    shared_tick(TTL_MS / 10 + 1);

    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
    assert_no_notification();
}

TEST(absurd_leases_do_no_harm)
{
    hold(1, 0);
    shared_tick(3000);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9223372036854775807 17 1",
                          ILK__CODE_HELD);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);

    shared_tick(ILK__LEASE_MAX_MS / 3 + 1);
    (void)inflight_answer(renewal_of(TTL_MS), "%d -9223372036854775808 17 1",
                          ILK__CODE_HELD);
    assert_int_equal(ilk__lease_remaining(&lease), 0);
    shared_tick(0);

    assert_lost(ILK_EUNKNOWN);
}
