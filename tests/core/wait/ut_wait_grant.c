/* SPDX-License-Identifier: MIT */
/* ut_wait_grant.c -- grants: when their lease began, seen late, told twice. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "shared_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static taker me;

static int setup(void)
{
    int failed = shared_case_setup();

    taker_open(&me, "orders", &ilk__lock_plain);
    return failed;
}

static int teardown(void)
{
    taker_close(&me);
    return shared_case_teardown();
}

AROUND_EACH(setup, teardown);

/* ---- when a lease began ------------------------------------------------- */

/* Queued at t0, when the server's clock showed 1 s. */
static void queue_at(int64_t t0)
{
    local_ms = t0;
    taker_queue(&me, -1);
    assert_int_equal(me.waiter.sample_at, t0);
    assert_int_equal(me.waiter.sample_us, 1000000);
}

static int64_t began(int64_t received_at, int64_t server_us)
{
    local_ms = received_at;
    inbox_grants(&me, 18, 1000000, server_us);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_OK);
    return me.waiter.began;
}

TEST(a_lease_began_when_the_server_says)
{
    queue_at(2000000);

    /* granted 10 s after the sample, heard of 20 s after it; less 1 % */
    assert_int_equal(began(2020000, 11000000), 2010000 - 100);
}

TEST(a_lease_began_at_its_receipt_at_the_latest)
{
    queue_at(2000000);

    /* the server's clock runs ahead: 10 s, where we count 5 */
    assert_int_equal(began(2005000, 11000000), 2005000);
}

TEST(a_server_clock_set_back_makes_a_lease_older)
{
    queue_at(2000000);

    assert_int_equal(began(2005000, 500000), 2000000 - 500);
}

TEST(a_lease_told_by_a_refresh_began_at_that_question)
{
    queue_at(2000000);
    local_ms += 3000;
    me.waiter.report_fence = 18;
    me.waiter.report_lease_ms = 4000;
    me.waiter.report_us = 0;
    me.waiter.report_at = local_ms - 7;

    ilk__waiter_report(&me.waiter, ILK__REPORT_GRANTED);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.began, 2003000 - 7);
}

/* ---- seen late ---------------------------------------------------------- */

/* Granted 5 s at the server's 1 s, which was our beginning. */
static void freeze_until(int64_t ms_after)
{
    taker_queue(&me, 60000);
    inbox_grants(&me, 18, 5000, 1000000);
    local_ms += ms_after;
}

TEST(a_grant_counts_until_its_local_deadline)
{
    freeze_until(5000 - 50 - 2 - 1);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
}

TEST(a_grant_seen_late_is_passed_on_and_waited_for_anew)
{
    char words[1024], token[sizeof me.waiter.token];

    freeze_until(5000 - 50 - 2);
    snprintf(words, sizeof words, "%s", taker_tells(&me));
    memcpy(token, me.waiter.token, sizeof token);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_string_equal(op_says(&me.op), words);
    assert_null(me.waiter.refresher);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SEND);

    assert_string_not_equal(me.waiter.token, token);
    assert_int_equal(me.waiter.id, 2);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
    assert_null(next_inflight());
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
    inbox_grants(&me, 19, 5000, 1000000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(me.waiter.fence, 19);
}

/* A server that lost its memory counts from the beginning. */
TEST(a_grant_below_the_last_fence_is_no_hold)
{
    taker_queue(&me, 60000);
    me.waiter.floor = 18;
    inbox_grants(&me, 18, 5000, 1000000);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_EREPLY);
    assert_false(me.op.bad_reply); /* it came over another connection */
}

TEST(a_reply_below_the_last_fence_is_no_hold)
{
    me.waiter.floor = 18;
    assert_int_equal(taker_acquire(&me, 60000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 5000 18 1000000", ILK__CODE_HELD),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_EREPLY);
    assert_int_equal(me.op.bad_reply, 1);
}

/* The wait has returned one late grant and gets the next, late as well. */
static void freeze_twice(int64_t timeout_ms)
{
    taker_queue(&me, timeout_ms);
    inbox_grants(&me, 18, 5000, 1000000);
    local_ms += 5000;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SEND);
    local_ms += 5000;
    assert_int_equal(op_answer(&me.op, "%d 5000 19 1000000", ILK__CODE_HELD),
                     ILK__ACT_SEND_ONLY);
}

TEST(a_second_late_grant_is_followed_by_a_pause)
{
    freeze_twice(60000);

    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SLEEP);
    assert_in_range(me.op.wake_at, local_ms + 1, local_ms + 250);
    assert_null(me.waiter.refresher);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    local_ms = me.op.wake_at;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
}

TEST(the_pause_ends_by_an_interrupt)
{
    freeze_twice(60000);

    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_EINTR);
}

TEST(the_pause_ends_by_a_cancel)
{
    freeze_twice(60000);

    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SLEEP);
    ilk__waiter_cancel(&me.waiter);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_ECANCELLED);
}

TEST(the_pause_ends_at_the_own_deadline)
{
    freeze_twice(10001);

    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SLEEP);
    assert_int_equal(me.op.wake_at, me.op.deadline);
    local_ms = me.op.wake_at;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_ETIMEOUT);
}

TEST(what_cannot_be_told_is_given_to_the_keeper)
{
    char words[1024];

    freeze_until(6000);
    snprintf(words, sizeof words, "%s", taker_gives_back(&me));

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_ECONN), ILK__ACT_SEND);

    assert_gives_back_twice(words);
    assert_int_equal(shared.stats.passed_on, 1);
}

TEST(a_grant_seen_past_the_own_deadline_too_is_a_timeout)
{
    char words[1024];

    freeze_until(60000);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_string_equal(op_says(&me.op), words);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ETIMEOUT);
    assert_int_equal(me.err.code, ILK_ETIMEOUT);
}

TEST(a_grant_still_good_past_the_own_deadline_is_taken)
{
    taker_queue(&me, 1000);
    inbox_grants(&me, 18, 5000, 1000000);
    local_ms += 2000;

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
}

TEST(an_answer_that_took_longer_than_its_lease_is_no_hold)
{
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);

    local_ms += 5000;
    assert_int_equal(op_answer(&me.op, "%d 4000 17 1000000", ILK__CODE_HELD),
                     ILK__ACT_SEND_ONLY);
    assert_string_equal(op_says(&me.op), taker_tells(&me));
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ETIMEOUT);
}

/* ---- told twice, told the wrong one ------------------------------------- */

TEST(a_grant_told_twice_is_not_given_back)
{
    taker_queue(&me, 8000);
    inbox_grants(&me, 18, 5000, 1000000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    inbox_grants(&me, 18, 5000, 1000000);

    assert_null(next_inflight());
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_int_equal(shared.stats.passed_on, 0);
}

TEST(a_grant_heard_of_after_the_answer_holds_is_not_given_back)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 5000 18 1000000", ILK__CODE_HELD),
                     ILK__ACT_DONE);

    inbox_grants(&me, 18, 5000, 1000000);

    assert_null(next_inflight());
}

TEST(a_grant_for_the_place_before_is_given_back)
{
    taker before;
    char words[1024];

    taker_queue(&me, 8000);
    before = me; /* only to write its message later */
    inbox_grants(&me, 18, 5000, 1000000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    taker_queue(&me, 8000);

    inbox_grants(&before, 19, 5000, 1000000);

    before.waiter.entry_len = 0; /* a place of which nothing is known */
    snprintf(words, sizeof words, "%s", taker_gives_back(&before));
    assert_gives_back(words);
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
}

TEST(a_grant_under_another_token_is_given_back)
{
    taker_queue(&me, 8000);

    inbox_receives("1 grant x%d another 18 5000 1000000 orders",
                   (int)me.waiter.id);

    assert_gives_back("lock_cancel 5 orders ilk:lock:fence:{orders} "
                      "ilk:lock:wait:{orders} ilk:lock:live:{orders} "
                      "ilk:lock:readers:{orders} '' another 5000 64 0 6000");
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
}
