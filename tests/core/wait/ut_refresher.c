/* SPDX-License-Identifier: MIT */
/* ut_refresher.c -- one name that is waited for: refreshes and claims in
 * time. */
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

#define ORDERS                                                                 \
    "5 orders ilk:lock:fence:{orders} ilk:lock:wait:{orders} "                 \
    "ilk:lock:live:{orders} ilk:lock:readers:{orders}"

/* In the wait queue; the holder's lease runs out in so many ms. */
static void queue_behind(int64_t holder_ms, int ours)
{
    assert_int_equal(taker_acquire(&me, -1), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d %d 1000000 %d", ILK__CODE_QUEUED,
                               (int)holder_ms, ours),
                     ILK__ACT_SLEEP);
}

/* The operation that is due now; all that it asks is checked. */
static ilk__inflight *refresh_of(int entries)
{
    ilk__inflight *inflight = next_inflight();
    char words[1024];

    assert_non_null(inflight);
    assert_null(next_inflight());
    snprintf(words, sizeof words,
             "lock_refresh " ORDERS " %s 6000 5000 64 %d%s%.*s",
             shared.client_id, entries, entries ? " " : "",
             entries ? (int)me.waiter.entry_len : 0, me.waiter.entry);
    assert_string_equal(op_says(&inflight->op), words);
    return inflight;
}

/* Nothing is asked for so long, and then it is. */
static ilk__inflight *refresh_after(int64_t ms, int entries)
{
    shared_tick(ms - 1);
    assert_null(next_inflight());
    shared_tick(1);
    return refresh_of(entries);
}

/* ---- when ---------------------------------------------------------------- */

TEST(a_waited_name_is_refreshed_every_two_seconds)
{
    queue_behind(90000, 1);

    for (int i = 0; i < 3; i++) {
        ilk__inflight *inflight = refresh_after(ILK__REFRESH_MS, 1);

        assert_int_equal(inflight_answer(inflight, "%d %d 1000000 1 3 0 0",
                                         ILK__CODE_BUSY, 90000),
                         ILK__ACT_DONE);
    }

    assert_int_equal(shared.stats.refreshes, 3);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
}

/* The difference of two clocks' speeds is allowed for since the last refresh, not since
 * the wait began. */
TEST(a_grant_after_a_long_wait_is_in_time)
{
    queue_behind(3600 * 1000, 1);

    for (int64_t i = 1; i <= 900; i++)
        (void)inflight_answer(refresh_after(ILK__REFRESH_MS, 1),
                              "%d 3600000 %lld 1 3 0 0", ILK__CODE_BUSY,
                              1000000 + 1000LL * i * ILK__REFRESH_MS);
    inbox_grants(&me, 18, 5000, 1000000 + 1000LL * 900 * ILK__REFRESH_MS);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.began, local_ms);
}

TEST(a_claim_is_made_when_the_holders_lease_runs_out)
{
    queue_behind(500, 1);

    (void)inflight_answer(refresh_after(501, 0), "%d 700 1000000 1",
                          ILK__CODE_BUSY);

    (void)inflight_answer(refresh_after(701, 0), "%d -1 1000000 1",
                          ILK__CODE_BUSY); /* a holder without an end */
    (void)inflight_answer(refresh_after(2000 - 501 - 701, 1),
                          "%d -1 1000000 1 3 0 0", ILK__CODE_BUSY);
    assert_int_equal(shared.stats.refreshes, 1); /* claims are none */
}

TEST(a_foreign_holder_is_looked_after_more_often)
{
    queue_behind(9000, 0);

    for (int i = 0; i < 5; i++)
        (void)inflight_answer(refresh_after(ILK__FOREIGN_POLL_MS, 0),
                              "%d -1 1000000 0", ILK__CODE_BUSY);
    (void)inflight_answer(refresh_after(ILK__FOREIGN_POLL_MS, 0),
                          "%d 9000 1000000 1", ILK__CODE_BUSY);

    (void)inflight_answer(refresh_after(2000 - 600, 1),
                          "%d 9000 1000000 1 3 0 0", ILK__CODE_BUSY);
}

TEST(a_fleet_with_short_leases_looks_as_often)
{
    me.waiter.lease_ms = 300;
    queue_behind(90000, 1);

    for (int i = 0; i < 3; i++)
        (void)inflight_answer(refresh_after(300, 0), "%d 90000 1000000 1",
                              ILK__CODE_BUSY);
}

TEST(more_to_settle_is_asked_for_at_once)
{
    queue_behind(500, 1);

    (void)inflight_answer(refresh_after(501, 0), "%d -2 1000000 0",
                          ILK__CODE_MORE);
    shared_tick(0);

    (void)inflight_answer(refresh_of(0), "%d 5000 1000000 1", ILK__CODE_BUSY);
    shared_tick(100);
    assert_null(next_inflight());
}

/* Who joins while a question is under way may hear sooner than it does. */
TEST(an_answer_that_was_overtaken_puts_nothing_off)
{
    ilk__inflight *inflight;
    taker other;

    queue_behind(500, 1);
    inflight = refresh_after(501, 0);
    taker_open(&other, "orders", &ilk__lock_plain);
    assert_int_equal(taker_acquire(&other, -1), ILK__ACT_SEND);
    assert_int_equal(op_answer(&other.op, "%d 300 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);

    (void)inflight_answer(inflight, "%d -1 1000000 1", ILK__CODE_BUSY);

    (void)inflight_answer(refresh_after(301, 0), "%d 9000 1000000 1",
                          ILK__CODE_BUSY);
    taker_close(&other);
}

TEST(an_answer_that_is_old_already_is_followed_by_a_claim)
{
    assert_int_equal(taker_acquire(&me, -1), ILK__ACT_SEND);
    local_ms += 800;

    assert_int_equal(op_answer(&me.op, "%d 500 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);

    (void)inflight_answer(refresh_after(1, 0), "%d 5000 1000000 1",
                          ILK__CODE_BUSY);
}

TEST(a_refresher_that_is_to_claim_asks_now)
{
    queue_behind(90000, 1);

    ilk__refresher_claim_now(me.waiter.refresher);
    shared_tick(0);

    (void)inflight_answer(refresh_of(0), "%d 90000 1000000 1", ILK__CODE_BUSY);
}

TEST(after_a_reconnect_all_are_refreshed_at_once)
{
    queue_behind(90000, 1);
    shared_tick(700);

    ilk__refresher_refresh_all(&shared);
    shared_tick(0);

    (void)inflight_answer(refresh_of(1), "%d 90000 1000000 1 3 0 0",
                          ILK__CODE_BUSY);
    (void)inflight_answer(refresh_after(2000, 1), "%d 90000 1000000 1 3 0 0",
                          ILK__CODE_BUSY);
}

TEST(one_question_at_a_time_is_under_way)
{
    ilk__inflight *inflight;

    queue_behind(500, 1);
    inflight = refresh_after(501, 0);

    ilk__refresher_refresh_all(&shared);
    shared_tick(3000);
    assert_null(next_inflight());
    (void)inflight_answer(inflight, "%d 9000 1000000 1", ILK__CODE_BUSY);

    shared_tick(0);
    (void)inflight_answer(refresh_of(1), "%d 9000 1000000 1 3 0 0",
                          ILK__CODE_BUSY);
}

/* ---- failures ------------------------------------------------------------ */

TEST(a_failed_refresh_is_repeated_soon_but_not_at_once)
{
    queue_behind(90000, 1);

    (void)inflight_answer(refresh_after(ILK__REFRESH_MS, 1),
                          "-OOM command not allowed\r\n");
    (void)inflight_answer(refresh_after(50, 1), "-ERR whatever\r\n");
    (void)inflight_answer(refresh_after(50, 1), "%d 90000 1000000 1 3 0 0",
                          ILK__CODE_BUSY);

    (void)inflight_answer(refresh_after(ILK__REFRESH_MS, 1),
                          "%d 90000 1000000 1 3 0 0", ILK__CODE_BUSY);
}

TEST(a_failed_claim_is_repeated_soon)
{
    queue_behind(500, 1);

    (void)inflight_answer(refresh_after(501, 0), "-ERR whatever\r\n");

    (void)inflight_answer(refresh_after(50, 0), "%d 90000 1000000 1",
                          ILK__CODE_BUSY);
}

TEST(a_refresh_waits_for_a_server_that_is_away)
{
    ilk__inflight *inflight;

    queue_behind(90000, 1);
    inflight = refresh_after(ILK__REFRESH_MS, 1);

    assert_int_equal(inflight_no_answer(inflight, ILK_ECONN, 0),
                     ILK__ACT_SLEEP);
    local_ms = inflight->op.deadline;
    assert_int_equal(inflight_no_answer(inflight, ILK_ECONN, 0), ILK__ACT_DONE);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    inflight_end(refresh_after(50, 1), ILK_ECLOSED);
}

TEST(a_refresh_that_fails_was_silence_since_it_was_sent)
{
    ilk__inflight *inflight;

    shared.outage.cap_ms = ILK__REFRESH_MS;
    queue_behind(90000, 1);
    inflight = refresh_after(ILK__REFRESH_MS, 1);

    local_ms += ILK__REFRESH_MS;
    inflight_end(inflight, ILK_ECONN);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_ECONN);
    shared.outage.cap_ms = ILK__FOREVER;
}

TEST(a_minute_without_an_answer_is_told_to_all)
{
    int64_t begin;

    queue_behind(90000, 1);
    inflight_end(refresh_after(ILK__REFRESH_MS, 1), ILK_ECONN);
    begin = local_ms;

    while (local_ms + 2000 < begin + ILK__CONTACT_LOST_MS) {
        shared_tick(2000);
        inflight_end(refresh_of(1), ILK_ECONN);
        assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    }
    shared_tick(2000);
    inflight_end(refresh_of(1), ILK_ECONN);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_ECONN);
}

TEST(an_answer_in_between_begins_the_minute_anew)
{
    queue_behind(90000, 1);
    inflight_end(refresh_after(ILK__REFRESH_MS, 1), ILK_ECONN);
    shared_tick(40000);
    (void)inflight_answer(refresh_of(1), "%d 90000 1000000 1 3 0 0",
                          ILK__CODE_BUSY);
    shared_tick(40000);
    inflight_end(refresh_of(1), ILK_ECONN);

    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
}

TEST(what_no_patience_mends_is_heard_by_the_waiters)
{
    static const struct {
        const char *reply;
        ilk_status status;
    } rows[] = {
        {"-WRONGTYPE against a key\r\n", ILK_ETYPE},
        {"-NOPERM no right to a key\r\n", ILK_EAUTH},
        {"-READONLY You can't write\r\n", ILK_ESERVERREADONLY},
        {"-MOVED 1 127.0.0.1:6379\r\n", ILK_ECLUSTER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        queue_behind(90000, 1);
        (void)inflight_answer(refresh_after(ILK__REFRESH_MS, 1), "%s",
                              rows[i].reply);
        assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
        assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
        assert_int_equal(op_answer(&me.op, "%s", rows[i].reply),
                         ILK__ACT_SEND_ONLY);
        assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);

        assert_int_equal(me.op.status, rows[i].status);
    }
}

TEST(an_answer_for_another_number_of_waiters_is_refused)
{
    queue_behind(90000, 1);

    (void)inflight_answer(refresh_after(ILK__REFRESH_MS, 1),
                          "%d 90000 1000000 1 %d 5000 17 3 0 0", ILK__CODE_BUSY,
                          ILK__CODE_HELD);

    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    inflight_end(refresh_after(50, 1), ILK_ECLOSED);
}

TEST(absurd_numbers_do_no_harm)
{
    static const char *const absurd[] = {"9223372036854775807",
                                         "-9223372036854775808"};

    queue_behind(500, 1);
    for (int i = 0; i < 2; i++) {
        shared_tick(3000);
        (void)inflight_answer(refresh_of(1), "%d %s %s 1 %d 0 0",
                              ILK__CODE_BUSY, absurd[i], absurd[i],
                              ILK__CODE_QUEUED);
    }
    shared_tick(3000);
    (void)inflight_answer(refresh_of(1), "%d 1 1 1 %d %s 18", ILK__CODE_BUSY,
                          ILK__CODE_HELD, absurd[1]);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_SEND);
}

/* It is given back, and the caller gets an error. */
TEST(a_grant_with_a_fence_that_cannot_be_is_no_hold)
{
    static const char *const fences[] = {"9223372036854775807",
                                         "9007199254740992", "0", "-1"};

    for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
        queue_behind(500, 1);
        shared_tick(3000);
        (void)inflight_answer(refresh_of(1), "%d 1 1 1 %d 5000 %s",
                              ILK__CODE_BUSY, ILK__CODE_HELD, fences[i]);

        assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
        assert_int_equal(op_sent(&me.op, ILK_OK), ILK__ACT_DONE);
        assert_int_equal(me.op.status, ILK_EREPLY);
        assert_false(me.op.bad_reply); /* not that of the waiter's request */
    }
}
