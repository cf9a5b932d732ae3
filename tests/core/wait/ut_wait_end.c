/* SPDX-License-Identifier: MIT */
/* ut_wait_end.c -- how waits end: time, cancel, signals, closing, failures. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "base/alloc.h"
#include "shared_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static taker me;
static char words[1024];

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

/* It tells the server that it leaves, and ends so. */
static void assert_leaves(ilk__act act, ilk_status status)
{
    assert_int_equal(act, ILK__ACT_SEND_ONLY);
    assert_string_equal(op_says(&me.op), words);
    assert_null(me.waiter.refresher);
    assert_int_equal(shared.stats.waiting, 0);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(me.op.status, status);
    assert_int_equal(me.err.code, status);
    assert_int_equal(me.waiter.stage, ILK__STAGE_IDLE);
    assert_null(next_inflight());
}

static void wait_queued(int64_t timeout_ms)
{
    taker_queue(&me, timeout_ms);
    snprintf(words, sizeof words, "%s", taker_tells(&me));
}

/* Shortly before its deadline. The refreshes of the time before that have their replies. */
static void assert_asks_once_more(void)
{
    assert_int_equal(me.op.wake_at, me.op.deadline - 750);
    local_ms = me.op.wake_at;
    me.waiter.refresher->refresh_at = local_ms + ILK__REFRESH_MS;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_SLEEP);
    assert_int_equal(me.op.wake_at, me.op.deadline);
    shared_tick(0);
}

/* ---- time and cancel ---------------------------------------------------- */

TEST(a_wait_ends_at_its_deadline)
{
    wait_queued(8000);

    assert_asks_once_more();
    (void)inflight_answer(next_inflight(), "%d 9000 1000000 1", ILK__CODE_BUSY);
    local_ms = me.op.deadline;

    assert_leaves(op_wake(&me.op, ILK__CAUSE_TIME), ILK_ETIMEOUT);
}

TEST(a_server_that_has_gone_silent_is_no_busy_one)
{
    ilk__inflight *unanswered;

    wait_queued(8000);

    assert_asks_once_more();
    unanswered = next_inflight();
    assert_non_null(unanswered);
    local_ms = me.op.deadline;

    assert_leaves(op_wake(&me.op, ILK__CAUSE_TIME), ILK_ECONN);
    inflight_end(unanswered, ILK_ECLOSED);
}

TEST(a_wait_asks_once_and_only_once_more)
{
    wait_queued(8000);

    assert_asks_once_more();
    (void)inflight_answer(next_inflight(), "%d 9000 1000000 1", ILK__CODE_BUSY);
    local_ms += 1;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    shared_tick(1);

    assert_null(next_inflight());
}

TEST(a_deadline_that_passed_before_the_answer_ends_it)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    local_ms += 8000;

    assert_leaves(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                  ILK_ETIMEOUT);
}

TEST(a_short_wait_awaits_the_first_reply_for_half_a_second)
{
    assert_int_equal(taker_acquire(&me, 10), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));
    assert_int_equal(me.op.deadline, local_ms + 500);

    local_ms += 400;

    assert_leaves(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                  ILK_ETIMEOUT);
}

TEST(a_cancelled_wait_leaves)
{
    wait_queued(8000);

    ilk__waiter_cancel(&me.waiter);

    assert_int_equal(ilk__park(&me.waiter.parker, 0), ILK_OK);
    assert_leaves(op_wake(&me.op, ILK__CAUSE_NEWS), ILK_ECANCELLED);
}

TEST(a_cancel_for_the_inbox_ends_it_without_a_word)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    ilk__waiter_cancel(&me.waiter);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ECANCELLED);
    assert_int_equal(me.err.code, ILK_ECANCELLED);
}

TEST(a_cancel_just_before_the_inbox_opens_is_not_forgotten)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    ilk__waiter_cancel(&me.waiter);
    shared.inbox = ILK__INBOX_READY;

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));
    assert_leaves(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                  ILK_ECANCELLED);
}

TEST(a_cancel_before_the_acquire_does_not_count)
{
    ilk__waiter_cancel(&me.waiter);

    wait_queued(8000);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
}

TEST(a_grant_wins_over_a_cancel)
{
    wait_queued(8000);

    inbox_grants(&me, 18, 5000, 1000000);
    ilk__waiter_cancel(&me.waiter);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
}

TEST(a_grant_that_meets_a_cancel_is_given_back)
{
    wait_queued(8000);
    ilk__waiter_cancel(&me.waiter);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);

    inbox_grants(&me, 18, 5000, 1000000);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);

    me.waiter.entry_len = 0;
    snprintf(words, sizeof words, "%s", taker_gives_back(&me));
    assert_gives_back(words);
}

TEST(a_stopped_client_s_wait_leaves)
{
    wait_queued(8000);

    assert_leaves(op_wake(&me.op, ILK__CAUSE_STOPPED), ILK_ECANCELLED);
}

TEST(a_stop_before_the_inbox_opens_leaves_nothing)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_STOPPED), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ECANCELLED);
}

/* The copy had a reply, but the first one may yet have run. */
TEST(a_stop_after_a_repeated_try_withdraws_it)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 1), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    assert_leaves(op_wake(&me.op, ILK__CAUSE_STOPPED), ILK_ECANCELLED);
}

/* The server is away, and the request is to be sent again. */
TEST(a_cancel_ends_the_pause_before_a_copy)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 1), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 1), ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);

    ilk__waiter_cancel(&me.waiter);

    assert_leaves(op_wake(&me.op, ILK__CAUSE_NEWS), ILK_ECANCELLED);
}

/* A hold was lost at its confirmation, and the acquire waits again. */
TEST(a_cancel_before_a_wait_that_keeps_it_counts)
{
    shared.inbox = ILK__INBOX_NONE;
    me.waiter.keeps_cancel = 1;
    ilk__waiter_cancel(&me.waiter);

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_ECANCELLED);
}

/* Nothing can be sent, so its liveness ends the entry on the server: the keeper must not
 * go on refreshing it. */
TEST(a_wait_that_cannot_send_for_want_of_memory_leaves)
{
    wait_queued(8000);
    ilk__waiter_report(&me.waiter, ILK__REPORT_GONE);
    ilk__alloc_fail_at(1);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    ilk__alloc_fail_at(0);

    assert_int_equal(me.op.status, ILK_ENOMEM);
    assert_null(me.waiter.refresher);
    assert_int_equal(shared.stats.waiting, 0);
    assert_int_equal(me.waiter.stage, ILK__STAGE_IDLE);
}

TEST(a_server_away_for_a_minute_ends_it)
{
    wait_queued(-1);

    ilk__waiter_report(&me.waiter, ILK__REPORT_NO_CONTACT);

    assert_leaves(op_wake(&me.op, ILK__CAUSE_NEWS), ILK_ECONN);
}

TEST(closing_ends_it_without_a_word)
{
    wait_queued(8000);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_CLOSED), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ECLOSED);
    assert_null(me.waiter.refresher);
}

TEST(a_handle_that_goes_while_suspended_gives_its_place_back)
{
    wait_queued(8000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    snprintf(words, sizeof words, "%s", taker_gives_back(&me));

    ilk__waiter_destroy(&me.waiter);

    assert_gives_back(words);
    assert_int_equal(
        ilk__waiter_init(&me.waiter, &shared, &me.wait_queue, NULL), ILK_OK);
}

/* ---- signals ------------------------------------------------------------ */

TEST(a_signal_suspends_the_wait_and_acquire_takes_it_up)
{
    wait_queued(8000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_EINTR);
    assert_int_equal(me.err.code, ILK_EINTR);
    assert_int_equal(me.waiter.suspended_since, local_ms);
    assert_int_equal(shared.stats.waiting, 1);

    local_ms += 100;
    assert_int_equal(taker_acquire(&me, 5000), ILK__ACT_SLEEP);

    assert_int_equal(me.op.deadline, local_ms + 5000);
    assert_int_equal(me.waiter.suspended_since, 0);
    inbox_grants(&me, 18, 5000, 1000000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_OK);
}

TEST(a_grant_for_a_suspended_wait_is_found_by_the_next_acquire)
{
    wait_queued(8000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);

    inbox_grants(&me, 18, 5000, 1000000);
    local_ms += 4000;
    assert_int_equal(taker_acquire(&me, 5000), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.fence, 18);
}

TEST(a_suspended_grant_that_ran_out_is_passed_on)
{
    wait_queued(8000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);

    inbox_grants(&me, 18, 5000, 1000000);
    local_ms += 5000;
    assert_int_equal(taker_acquire(&me, 5000), ILK__ACT_SEND_ONLY);
    assert_string_equal(op_says(&me.op), words);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SEND);

    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
}

TEST(a_suspended_wait_that_is_cancelled_leaves_at_once)
{
    wait_queued(8000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    snprintf(words, sizeof words, "%s", taker_gives_back(&me));

    ilk__waiter_cancel(&me.waiter);

    assert_null(me.waiter.refresher);
    assert_gives_back(words);
}

TEST(a_suspended_wait_that_has_left_is_not_ended_again)
{
    wait_queued(8000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    snprintf(words, sizeof words, "%s", taker_gives_back(&me));
    ilk__waiter_cancel(&me.waiter);
    assert_gives_back(words);

    ilk__waiter_end_suspended(&me.waiter);

    assert_int_equal(me.waiter.stage, ILK__STAGE_IDLE);
    assert_null(next_inflight());
}

TEST(a_signal_before_the_queue_leaves_nothing)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_EINTR);
    assert_int_equal(me.waiter.stage, ILK__STAGE_IDLE);
    assert_int_equal(me.waiter.suspended_since, 0);
}

TEST(a_signal_while_the_server_is_away_keeps_the_place)
{
    wait_queued(8000);
    ilk__waiter_report(&me.waiter, ILK__REPORT_GONE);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_SLEEP);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_EINTR);
    assert_int_equal(shared.stats.waiting, 1);
}

/* The interrupt came before the entry was confirmed, so the next acquire sends
 * it again, with the token that the entry names. */
TEST(a_wait_suspended_without_a_confirmed_entry_sends_it_again)
{
    char sent[1024];

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(sent, sizeof sent, "%s", op_says(&me.op));
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_EINTR);

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    assert_string_equal(op_says(&me.op), sent);
    assert_int_equal(me.waiter.suspended_since, 0);
    assert_int_equal(shared.stats.waiting, 1);
}

/* ---- failures ----------------------------------------------------------- */

TEST(a_dead_server_is_waited_for_until_the_deadline)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_SLEEP);
    local_ms = me.op.deadline;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_SEND);

    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ECONN);
}

TEST(a_short_wait_tries_again_until_its_own_deadline_only)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 10), ILK__ACT_SEND);
    assert_int_equal(me.op.pauses_until, local_ms + 10);

    local_ms += 10;

    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_ECONN);
}

TEST(a_try_makes_one_attempt)
{
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);
    assert_int_equal(me.op.pauses_until, 0);

    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ECONN);
}

TEST(a_try_that_may_have_run_is_taken_back)
{
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 1), ILK__ACT_SEND);

    assert_leaves(op_no_answer(&me.op, ILK_ECONN, 0), ILK_ECONN);
}

/* The server may execute it when it is back, and would grant a whole lease. */
TEST(a_late_copy_is_withdrawn_for_longer_than_its_lease)
{
    ilk__inflight *again;

    me.waiter.lease_ms = 120 * 1000;
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 1), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_ECONN), ILK__ACT_DONE);

    again = next_inflight();
    assert_non_null(again);
    assert_int_equal(again->op.deadline, local_ms + (120 + 15) * 1000);
    inflight_end(again, ILK_ECLOSED);
}

TEST(silence_until_the_deadline_is_an_outage_never_unknown)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    local_ms += 8000;

    assert_leaves(op_no_answer(&me.op, ILK_ETIMEOUT, 1), ILK_ECONN);
}

TEST(who_is_queued_waits_for_a_server_that_is_away)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_SLEEP);
    local_ms = me.op.wake_at;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));

    local_ms = me.op.deadline;
    assert_leaves(op_no_answer(&me.op, ILK_ECONN, 0), ILK_ECONN);
}

TEST(replies_lost_to_the_end_leave_nothing_unknown)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 1), ILK__ACT_SEND);
    local_ms = me.op.deadline;

    assert_leaves(op_no_answer(&me.op, ILK_ECONN, 1), ILK_ECONN);
}

TEST(a_wrong_type_is_told_and_leaves_no_waiter)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_leaves(op_answer(&me.op, "-WRONGTYPE against a key\r\n"), ILK_ETYPE);
}

/* Nobody knows how far a script came that failed in this way. */
TEST(an_unknown_error_is_told_and_leaves_no_waiter)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_leaves(op_answer(&me.op, "-ERR whatever\r\n"), ILK_ESERVER);
}

/* A server that lies: with the entry known to the refresher under an old token,
 * its next reply would be believed for the next acquire's. */
TEST(busy_in_reply_to_an_entry_ends_the_wait_outside_the_queue)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_leaves(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                  ILK_EREPLY);
    assert_true(me.op.bad_reply);
}

TEST(queued_without_an_entry_ends_the_wait)
{
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);
    snprintf(words, sizeof words, "%s", taker_tells(&me));

    assert_leaves(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                  ILK_EREPLY);
    assert_int_equal(shared.last_id, 0);
}

TEST(a_busy_server_is_waited_for_in_the_queue)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    assert_int_equal(op_answer(&me.op, "-BUSY a script runs\r\n"),
                     ILK__ACT_SLEEP);
    assert_true(me.op.wake_at < me.op.deadline);
}
