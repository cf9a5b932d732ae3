/* SPDX-License-Identifier: MIT */
/* ut_op_lost.c -- operations whose reply does not come, and their pauses. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "sent_op_case.h"

#include "base/backoff.h"

#include <string.h>

#include "test.h"

AROUND_EACH(sent_op_setup, sent_op_teardown);

/* ---- replies that do not come ------------------------------------------- */

TEST(a_request_without_its_reply_is_sent_again_at_once)
{
    send_op(&op_case_change, 5000);

    local_ms += 40;
    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);

    assert_string_equal(op_says(&sent_op), "lock_extend" OP_CASE_WORDS);
    assert_int_equal(op_case_seen.asked, 1); /* the very same question */
    assert_int_equal(sent_op.retried, 1);
    assert_int_equal(ilk__op_may_have_run(&sent_op), 1);
    assert_int_equal(sent_op.sent_at, local_ms);
    assert_int_equal(op_answer(&sent_op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_OK);
    assert_int_equal(sent_err.code, 0);
}

/* A reply that cannot be read leaves open what it said. */
TEST(an_end_without_a_meaning_may_have_changed_something)
{
    static const ilk_status open[] = {ILK_EREPLY, ILK_ENOMEM, ILK_ECLOSED};

    send_op(&op_case_change, 5000);
    sent_op.status = ILK_ELOST;
    assert_int_equal(ilk__op_may_have_run(&sent_op), 0);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        sent_op.status = open[i];
        assert_int_equal(ilk__op_may_have_run(&sent_op), 1);
    }
}

TEST(the_second_lost_reply_is_followed_by_the_first_pause)
{
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SLEEP);

    assert_in_range(sent_op.wake_at - local_ms, ILK__REQUEST_PAUSE_FIRST_MS / 2,
                    ILK__REQUEST_PAUSE_FIRST_MS);
    assert_int_equal(sent_op.backoff_ms, ILK__REQUEST_PAUSE_FIRST_MS);
}

TEST(a_request_whose_reply_is_lost_after_pauses_is_sent_again_at_once)
{
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    assert_int_equal(op_answer(&sent_op, "-BUSY a script runs\r\n"),
                     ILK__ACT_SLEEP);
    local_ms = sent_op.wake_at;
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME), ILK__ACT_SEND);

    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);
}

/* Lose every reply; how many requests it sent until it gave up. */
static int lose_replies_until_done(int may_have_run)
{
    ilk__act act = op_no_answer(&sent_op, ILK_ECONN, may_have_run);
    int64_t longest = 0;
    int copies = 1;

    while (act != ILK__ACT_DONE) {
        if (act == ILK__ACT_SLEEP) {
            int64_t pause = sent_op.wake_at - local_ms;

            assert_in_range(pause, 0, 250);
            longest = pause > longest ? pause : longest;
            local_ms = sent_op.wake_at;
            act = op_wake(&sent_op, ILK__CAUSE_TIME);
            continue;
        }
        copies++;
        assert_string_equal(op_says(&sent_op), "lock_extend" OP_CASE_WORDS);
        act = op_no_answer(&sent_op, ILK_ECONN, may_have_run);
    }
    assert_in_range(longest, 120, 250); /* it did grow */
    return copies;
}

TEST(lost_replies_to_the_end_leave_it_unknown)
{
    int copies;

    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    copies = lose_replies_until_done(1);

    assert_int_equal(sent_op.status, ILK_EUNKNOWN);
    assert_int_equal(sent_err.code, ILK_EUNKNOWN);
    assert_int_equal(local_ms, sent_op.deadline);
    assert_in_range(copies, 5000 / 250, 5000 / 125 + 10);
}

TEST(without_time_for_an_outage_there_is_one_attempt)
{
    send_op(&op_case_change, 5000);
    assert_int_equal(sent_op.pauses_until, 0);

    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 0), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ECONN);
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS);
}

TEST(the_patient_wait_for_a_server_until_their_deadline)
{
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    (void)lose_replies_until_done(0);

    assert_int_equal(sent_op.status, ILK_ECONN);
    assert_int_equal(local_ms, sent_op.deadline);
    assert_int_equal(sent_op.retried, 0);
}

TEST(without_a_deadline_60_seconds_without_contact_end_it)
{
    send_op(&op_case_change, -1);
    sent_op.persist_ms = ILK__FOREVER;
    local_ms += 500;
    assert_int_equal(op_answer(&sent_op, "-LOADING the data set\r\n"),
                     ILK__ACT_SLEEP);

    (void)lose_replies_until_done(0);

    assert_int_equal(sent_op.status, ILK_ECONN);
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + 500 + ILK__CONTACT_LOST_MS);
}

TEST(one_attempt_is_two_copies_when_the_connection_was_dead)
{
    send_op(&op_case_change, 5000);

    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 0), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_EUNKNOWN);
    assert_int_equal(sent_op.retried, 1);
}

TEST(one_attempt_is_one_copy_when_the_server_is_silent)
{
    send_op(&op_case_look, 7000);

    local_ms += 5000;
    assert_int_equal(op_no_answer(&sent_op, ILK_ETIMEOUT, 1), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ECONN);
}

TEST(after_silence_a_copy_follows_a_pause)
{
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    local_ms += 1000;
    assert_int_equal(op_no_answer(&sent_op, ILK_ETIMEOUT, 1), ILK__ACT_SLEEP);
    assert_int_equal(sent_op.retried, 1);
    assert_int_equal(sent_op.away_since, OP_CASE_BEGIN_MS);
}

TEST(silence_until_the_deadline_leaves_it_unknown)
{
    send_op(&op_case_change, 5000);

    local_ms += 5000;
    assert_int_equal(op_no_answer(&sent_op, ILK_ETIMEOUT, 1), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_EUNKNOWN);
    assert_int_equal(sent_err.code, ILK_EUNKNOWN);
}

TEST(unsent_until_the_deadline_is_an_outage)
{
    send_op(&op_case_change, 5000);

    local_ms += 5000;
    assert_int_equal(op_no_answer(&sent_op, ILK_ETIMEOUT, 0), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ECONN);
}

TEST(a_request_that_only_reads_is_never_unknown)
{
    send_op(&op_case_look, 5000);
    sent_op.persist_ms = ILK__FOREVER;
    (void)lose_replies_until_done(1);
    assert_int_equal(sent_op.status, ILK_ECONN);
    ilk__op_free(&sent_op);

    send_op(&op_case_ping, 5000);
    local_ms += 5000;
    assert_int_equal(op_no_answer(&sent_op, ILK_ETIMEOUT, 1), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ECONN);
}

/* ---- how long: the outage that all operations of a client share ----------- */

static ilk__outage outage;

static void send_op_in(int64_t persist_ms, int64_t timeout_ms)
{
    sent_err = (ilk_error){0};
    ilk__op_init(&sent_op, &op_case_change, NULL,
                 __wrap_ilk__deadline(timeout_ms), &sent_err);
    sent_op.outage = &outage;
    sent_op.persist_ms = persist_ms;
    assert_int_equal(op_start(&sent_op), ILK__ACT_SEND);
}

/* The server cannot be reached; the number of attempts until it ends. */
static int fail_until_done(void)
{
    int attempts = 1;

    while (op_no_answer(&sent_op, ILK_ECONN, 0) == ILK__ACT_SLEEP) {
        local_ms = sent_op.wake_at;
        assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME), ILK__ACT_SEND);
        attempts++;
    }
    return attempts;
}

TEST(calls_without_a_limit_share_the_time_of_an_outage)
{
    ilk__outage_init(&outage);
    send_op_in(2000, 5000);
    assert_int_equal(sent_op.pauses_until, OP_CASE_BEGIN_MS + 2000);
    assert_in_range(fail_until_done(), 2000 / 250, 2000 / 125 + 10);
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + 2000);
    assert_int_equal(sent_op.status, ILK_ECONN);
    assert_string_equal(sent_err.msg,
                        "unreachable for 2.0 s: as the connection tells");
    ilk__op_free(&sent_op);

    for (int i = 0; i < 1000; i++) {
        send_op_in(2000, 5000);
        assert_int_equal(sent_op.pauses_until, 0);
        assert_int_equal(fail_until_done(), 1);
        assert_int_equal(sent_op.status, ILK_ECONN);
        ilk__op_free(&sent_op);
    }
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + 2000);

    send_op_in(2000, 5000); /* a reply ends the outage */
    assert_int_equal(op_answer(&sent_op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(outage.since, 0);
    ilk__op_free(&sent_op);
    send_op_in(2000, 5000);
    assert_in_range(fail_until_done(), 2000 / 250, 2000 / 125 + 10);
    ilk__outage_destroy(&outage);
}

TEST(a_limit_of_its_own_bounds_the_wait_for_a_server)
{
    ilk__outage_init(&outage);
    outage.since = OP_CASE_BEGIN_MS - 60 * 1000;
    send_op_in(ILK__FOREVER, 20000);
    (void)fail_until_done();
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + 20000);
    assert_string_equal(sent_err.msg,
                        "unreachable for 80.0 s: as the connection tells");
    ilk__outage_destroy(&outage);
}

TEST(a_primary_that_becomes_a_replica_is_an_outage)
{
    static const char says[] =
        "-READONLY You can't write against a replica.\r\n";

    ilk__outage_init(&outage);
    send_op_in(ILK__FOREVER, 5000);
    assert_int_equal(op_answer(&sent_op, says), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ESERVERREADONLY);
    ilk__op_free(&sent_op);

    outage.fails_over = 1;
    send_op_in(ILK__FOREVER, 5000);
    while (op_answer(&sent_op, says) == ILK__ACT_SLEEP) {
        assert_true(outage.since > 0);
        local_ms = sent_op.wake_at;
        assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    }
    assert_int_equal(sent_op.status, ILK_ECONN);
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + 5000);
    assert_non_null(strstr(sent_err.msg, "unreachable for 5.0 s: "));
    assert_non_null(strstr(sent_err.msg, "You can't write"));
    ilk__op_free(&sent_op);

    send_op_in(ILK__FOREVER, 5000);
    assert_int_equal(op_answer(&sent_op, says), ILK__ACT_SLEEP);
    local_ms = sent_op.wake_at;
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_int_equal(op_answer(&sent_op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_OK);
    assert_int_equal(outage.since, 0);
    ilk__op_free(&sent_op);
    ilk__outage_destroy(&outage);
}

/* Servers remember for 60 s what they have executed. */
TEST(no_copy_is_sent_after_45_seconds)
{
    ilk__outage_init(&outage);
    send_op_in(600 * 1000, 600 * 1000);
    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);
    (void)fail_until_done();
    assert_int_equal(sent_op.status, ILK_EUNKNOWN);
    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + ILK__COPIES_WITHIN_MS);
    ilk__op_free(&sent_op);

    outage.since = 0; /* what was never sent may be sent at any time */
    send_op_in(600 * 1000, 600 * 1000);
    (void)fail_until_done();
    assert_int_equal(sent_op.status, ILK_ECONN);
    ilk__outage_destroy(&outage);
}

TEST(a_closed_client_ends_it_at_once)
{
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    assert_int_equal(op_no_answer(&sent_op, ILK_ECLOSED, 1), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ECLOSED);
}

/* ---- asleep between two copies ------------------------------------------ */

/* Asleep, because a copy could not be sent. */
static void fall_asleep(const ilk__op_type *type)
{
    send_op(type, 5000);
    sent_op.persist_ms = ILK__FOREVER;
    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 0), ILK__ACT_SLEEP);
    assert_true(sent_op.wake_at > local_ms);
}

TEST(news_do_not_shorten_the_pause)
{
    fall_asleep(&op_case_careful);

    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    local_ms = sent_op.wake_at;
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_int_equal(op_case_seen.woken, 0);
    assert_int_equal(op_case_seen.asked, 1);
}

TEST(a_signal_in_the_pause_ends_it)
{
    fall_asleep(&op_case_careful);
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_EINTR);
    assert_int_equal(op_case_seen.cause, ILK__CAUSE_INTERRUPT);
    ilk__op_free(&sent_op);

    fall_asleep(&op_case_change);
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_EINTR);
    assert_true(sent_op.ended_early);
    ilk__op_free(&sent_op);

    fall_asleep(&op_case_change);
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_STOPPED), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ECANCELLED);
}

TEST(a_signal_hides_no_copy_that_may_have_run)
{
    fall_asleep(&op_case_change);
    local_ms = sent_op.wake_at;
    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&sent_op, ILK_ETIMEOUT, 1), ILK__ACT_SLEEP);

    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_EUNKNOWN);
}

/* The second copy is refused, but the first one may have run. */
TEST(a_refusal_hides_no_copy_that_may_have_run)
{
    static const char *const refusals[] = {"-BUSY a script\r\n",
                                           "-NOQUORUM too few\r\n"};

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        send_op(&op_case_change, 5000);
        sent_op.persist_ms = ILK__FOREVER;
        assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);
        assert_int_equal(op_answer(&sent_op, "%s", refusals[i]),
                         ILK__ACT_SLEEP);
        local_ms = sent_op.deadline;

        assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME), ILK__ACT_DONE);

        assert_int_equal(sent_op.status, ILK_EUNKNOWN);
        ilk__op_free(&sent_op);
    }
    send_op(&op_case_change, 5000); /* the teardown frees it */
}

TEST(closing_in_the_pause_ends_it)
{
    fall_asleep(&op_case_change);

    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_CLOSED), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ECLOSED);
}

TEST(a_type_may_end_in_its_own_way)
{
    fall_asleep(&op_case_careful);

    assert_int_equal(op_wake(&sent_op, ILK__CAUSE_CLOSED), ILK__ACT_SEND_ONLY);
    assert_string_equal(op_says(&sent_op), "lock_extend" OP_CASE_WORDS);
    assert_int_equal(op_case_seen.failure, ILK_ECLOSED);
    assert_int_equal(op_sent(&sent_op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ECANCELLED);
}

TEST(no_memory_for_a_question_ends_it)
{
    send_op(&op_case_change, 5000);
    assert_int_equal(op_no_answer(&sent_op, ILK_ENOMEM, 0), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ENOMEM);
    assert_int_equal(sent_err.code, ILK_ENOMEM);
}
