/* SPDX-License-Identifier: MIT */
/* ut_lease.c -- what a handle holds, and the renewal that keeps it. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "lease_case.h"

#include "base/alloc.h"
#include "fixture.h"

#include <pthread.h>
#include <string.h>

#include "test.h"

AROUND_EACH(lease_case_setup, lease_case_teardown);

/* ---- holding ------------------------------------------------------------ */

TEST(a_lease_is_ours_less_one_percent_and_two_ms)
{
    assert_int_equal(ilk__lease_deadline(1000, 30000), 1000 + 30000 - 302);
    assert_int_equal(ilk__lease_deadline(1000, 1), 1000 + 1 - 2);
    assert_int_equal(ilk__lease_deadline(1000, INT64_MAX),
                     ilk__lease_deadline(1000, ILK__LEASE_MAX_MS));
    assert_int_equal(ilk__lease_deadline(1000, INT64_MIN), 1000 - 2);
}

TEST(a_hold_tells_what_is_left_of_it)
{
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ENOTOWNER);
    assert_int_equal(ilk__lease_remaining(&lease), 0);

    hold(1, 0);

    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
    assert_int_equal(shared.stats.held, 1);
    assert_int_equal(shared.stats.acquires, 1);
    local_ms += SURE_MS - 1;
    assert_int_equal(ilk__lease_remaining(&lease), 1);
    local_ms += 5;
    assert_int_equal(ilk__lease_remaining(&lease), 0);
    ilk__lease_end(&lease);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ENOTOWNER);
    assert_int_equal(shared.stats.held, 0);
    assert_int_equal(lease.fence, 17); /* of the last hold */
}

TEST(an_unwatched_hold_runs_out_in_silence)
{
    ilk__lease_begin(&lease, 17, ilk__lease_deadline(local_ms, TTL_MS), TTL_MS);

    shared_tick(INT64_C(2) * TTL_MS);

    assert_null(next_inflight());
    assert_no_notification();
    assert_int_equal(ilk__lease_remaining(&lease), 0);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK); /* ask it */
    assert_int_equal(shared.stats.held, 0);
}

TEST(a_watched_hold_without_renewal_tells_of_its_end)
{
    hold(0, 0);

    shared_tick(SURE_MS - 1);
    assert_null(next_inflight());
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    shared_tick(1);

    assert_lost(ILK_ETIMEOUT);
}

TEST(a_loss_found_by_the_caller_is_told_once)
{
    hold(1, 0);

    ilk__lease_lose(&lease, NULL);
    ilk__lease_lose(&lease, NULL);
    shared_tick(INT64_C(2) * TTL_MS);

    assert_lost(ILK_ELOST);
}

TEST(a_kind_has_its_own_noun_and_notification)
{
    const ilk__lease_kind permits = {
        .noun = "permit",
        .lost_notification = (ilk_notification_kind)7,
        .extend = lease.kind->extend,
    };
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err;

    lease.kind = &permits;
    hold(1, 0);

    lease.name = "orders";
    lease.name_len = 6;

    ilk__lease_lose(&lease, NULL);

    assert_int_equal(ilk__lease_check(&lease, &err), ILK_ELOST);
    assert_string_equal(err.msg, "the permit \"orders\" was lost: the store no "
                                 "longer has it");
    assert_int_equal(
        ilk__notifications_next(&shared.notifications, &notification, NULL),
        ILK_OK);
    assert_int_equal(notification.kind, 7);
    assert_int_equal(notification.cause, ILK_LOSS_DELETED);
}

TEST(what_is_not_held_cannot_be_lost)
{
    ilk__lease_lose(&lease, NULL);

    assert_no_notification();
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ENOTOWNER);
}

/* ---- renewal ------------------------------------------------------------ */

TEST(a_hold_is_renewed_at_a_third_of_its_lease)
{
    hold(1, 0);

    for (int i = 1; i <= 5; i++) {
        ilk__inflight *inflight;

        shared_tick(TTL_MS / 3 - 1);
        assert_null(next_inflight());
        shared_tick(1);
        inflight = renewal_of(TTL_MS);
        assert_int_equal(
            inflight_answer(inflight, "%d 9000 17 1", ILK__CODE_HELD),
            ILK__ACT_DONE);
        assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
        assert_int_equal(shared.stats.renewals, i);
    }
    assert_no_notification();
}

/* A reply that took long leaves less than a third of the lease. */
TEST(a_hold_that_was_late_is_renewed_before_its_end)
{
    hold(1, 0);
    shared_tick(TTL_MS / 3);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
    ilk__lease_end(&lease);
    ilk__lease_begin(&lease, 18, local_ms + TTL_MS / 5, TTL_MS);
    ilk__lease_watch(&lease, TTL_MS, 1, INT64_MAX);

    shared_tick(TTL_MS / 15 - 1);
    assert_null(next_inflight());
    shared_tick(1);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 18 1", ILK__CODE_HELD);
    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
    assert_no_notification();
}

TEST(a_renewal_counts_from_its_question)
{
    ilk__inflight *inflight;

    hold(1, 0);
    shared_tick(3000);
    inflight = renewal_of(TTL_MS);

    local_ms += 800;
    (void)inflight_answer(inflight, "%d 9000 17 1", ILK__CODE_HELD);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS - 800);
}

TEST(a_shorter_lease_from_the_server_is_what_counts)
{
    hold(1, 0);
    shared_tick(3000);

    (void)inflight_answer(renewal_of(TTL_MS), "%d 3000 17 1", ILK__CODE_HELD);

    assert_int_equal(ilk__lease_remaining(&lease), 3000 - 30 - 2);
    shared_tick(1000);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
}

TEST(a_renewal_that_is_refused_is_a_loss)
{
    hold(1, 0);
    shared_tick(3000);

    (void)inflight_answer(renewal_of(TTL_MS),
                          "*4\r\n:%d\r\n:1000\r\n:0\r\n$0\r\n\r\n",
                          ILK__CODE_LOST);

    assert_lost(ILK_ELOST);
    shared_tick(INT64_C(2) * TTL_MS);
    assert_null(next_inflight());
    assert_no_notification();
}

TEST(another_type_at_the_key_is_a_loss)
{
    hold(1, 0);
    shared_tick(3000);

    (void)inflight_answer(renewal_of(TTL_MS), "-WRONGTYPE against a key\r\n");

    assert_lost(ILK_ETYPE);
}

TEST(an_error_that_may_pass_is_no_loss)
{
    hold(1, 0);
    shared_tick(3000);

    (void)inflight_answer(renewal_of(TTL_MS), "-OOM command not allowed\r\n");
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    shared_tick(TTL_MS / 10);
    assert_null(next_inflight());
    shared_tick(1);

    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
    assert_no_notification();
}

TEST(a_renewal_without_an_answer_is_a_loss_at_the_deadline)
{
    ilk__inflight *inflight;

    hold(1, 0);
    shared_tick(3000);
    inflight = renewal_of(TTL_MS);
    assert_int_equal(inflight->op.deadline, OP_CASE_BEGIN_MS + SURE_MS);

    shared_tick(SURE_MS - 3000 - 1);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_OK);
    assert_null(next_inflight()); /* one at a time */
    shared_tick(1);

    assert_lost(ILK_EUNKNOWN);
    (void)inflight_answer(inflight, "%d 9000 17 1", ILK__CODE_HELD);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ELOST);
    assert_no_notification();
    assert_int_equal(shared.stats.renewals, 0);
}

TEST(a_frozen_process_finds_its_hold_lost)
{
    hold(1, 0);

    shared_tick(INT64_C(5) * TTL_MS);

    assert_null(next_inflight());
    assert_lost(ILK_EUNKNOWN);
}

/* Its number would be beyond what the server's scripts can count. */
TEST(a_renewal_with_a_fence_that_cannot_be_is_no_answer)
{
    hold(1, 0);
    shared_tick(3000);

    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 9007199254740992 1",
                          ILK__CODE_HELD);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS - 3000);
    shared_tick(TTL_MS / 10 + 1);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
}

TEST(an_old_answer_moves_nothing)
{
    hold(1, 0);

    assert_int_equal(ilk__lease_prolong(&lease, local_ms - 10, TTL_MS), 1);

    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
}

TEST(a_renewal_without_memory_is_tried_again)
{
    size_t before;

    hold(1, 0);
    before = shared.timers.reserved;
    while (shared.timers.reserved < shared.timers.room)
        assert_int_equal(ilk__timers_reserve(&shared.timers, NULL), ILK_OK);

    for (long n = 1; n <= 2; n++) { /* for itself, for its timer */
        ilk__alloc_fail_at(n);
        shared_tick(n == 1 ? 3000 : TTL_MS / 10 + 1);
        ilk__alloc_fail_at(0);
        assert_null(next_inflight());
    }

    while (shared.timers.reserved > before)
        ilk__timers_unreserve(&shared.timers);
    shared_tick(TTL_MS / 10 + 1);
    (void)inflight_answer(renewal_of(TTL_MS), "%d 9000 17 1", ILK__CODE_HELD);
    assert_int_equal(ilk__lease_remaining(&lease), SURE_MS);
}

/* ---- detaching ---------------------------------------------------------- */

static void *detach(void *out)
{
    *(ilk_status *)out = ilk__lease_detach(&lease, NULL);
    return NULL;
}

static void await_detaching(const ilk__inflight *renewal)
{
    int64_t last = fixture_now_ms() + patience(10000);
    int is_closed;

    do {
        ilk__shared_lock(&shared);
        is_closed = renewal->closed;
        ilk__shared_unlock(&shared);
        assert_true(fixture_now_ms() < last);
    } while (!is_closed);
}

/* Otherwise the renewal would prolong a hold that is somebody else's by then. */
TEST(a_detach_waits_for_the_renewal_in_flight)
{
    ilk_status st = ILK_EAGAIN;
    ilk__inflight *renewal;
    pthread_t thread;

    hold(1, 0);
    shared_tick(3000);
    renewal = renewal_of(TTL_MS);

    assert_int_equal(pthread_create(&thread, NULL, detach, &st), 0);
    await_detaching(renewal);
    (void)inflight_answer(renewal, "%d 9000 17 1", ILK__CODE_HELD);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(st, ILK_OK);
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ENOTOWNER);
    assert_no_notification();
}

TEST(a_detach_finds_out_that_the_hold_was_lost)
{
    hold(1, 0);
    ilk__lease_lose(&lease, NULL);

    assert_int_equal(ilk__lease_detach(&lease, NULL), ILK_ELOST);

    assert_lost(ILK_ELOST);
}
