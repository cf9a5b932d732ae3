/* SPDX-License-Identifier: MIT */
/* ut_refresher_many.c -- one name and many waiters: batches, and what each is
 * told. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "shared_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { MANY = 250 };

static taker takers[MANY];
static size_t open_count;

static void queue_all(size_t count)
{
    for (; open_count < count; open_count++) {
        taker_open(&takers[open_count], "orders", &ilk__lock_plain);
        assert_int_equal(taker_acquire(&takers[open_count], -1), ILK__ACT_SEND);
        assert_int_equal(op_answer(&takers[open_count].op, "%d 90000 1000000 1",
                                   ILK__CODE_QUEUED),
                         ILK__ACT_SLEEP);
    }
}

static int teardown(void)
{
    while (open_count > 0)
        taker_close(&takers[--open_count]);
    return shared_case_teardown();
}

AROUND_EACH(shared_case_setup, teardown);

/* Answer a refresh that must be for the takers [from, from + count). */
static void answer_batch(size_t from, size_t count)
{
    ilk__inflight *inflight = next_inflight();
    static char text[16 * 1024];
    size_t used;

    assert_non_null(inflight);
    assert_null(next_inflight());
    assert_int_equal(inflight->op.command.argc, 3 + 5 + 5 + count);
    for (size_t i = 0; i < count; i++) {
        const ilk__waiter *waiter = &takers[from + i].waiter;

        assert_int_equal(inflight->op.command.lens[13 + i], waiter->entry_len);
        assert_memory_equal(inflight->op.command.argv[13 + i], waiter->entry,
                            waiter->entry_len);
    }
    used = (size_t)snprintf(text, sizeof text, "%d 90000 1000000 1",
                            ILK__CODE_BUSY);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %d 0 0",
                                 ILK__CODE_QUEUED);
    assert_int_equal(inflight_answer(inflight, "%s", text), ILK__ACT_DONE);
}

TEST(one_round_is_asked_in_batches_of_a_hundred)
{
    queue_all(MANY);

    for (int round = 0; round < 2; round++) {
        shared_tick(ILK__REFRESH_MS - 1);
        assert_null(next_inflight());
        shared_tick(1);
        answer_batch(0, 100);
        shared_tick(0);
        answer_batch(100, 100);
        shared_tick(0);
        answer_batch(200, 50);
        shared_tick(0);
        assert_null(next_inflight());
    }
    assert_int_equal(shared.stats.refreshes, 6);
}

TEST(a_reconnect_begins_the_round_anew)
{
    queue_all(MANY);
    shared_tick(ILK__REFRESH_MS);
    answer_batch(0, 100);
    shared_tick(0);

    ilk__refresher_refresh_all(&shared);
    answer_batch(100, 100);
    shared_tick(0);

    answer_batch(0, 100);
    shared_tick(0);
    answer_batch(100, 100);
    shared_tick(0);
    answer_batch(200, 50);
}

TEST(each_is_told_how_it_stands)
{
    ilk__inflight *inflight;

    queue_all(4);
    ilk__waiter_report(&takers[3].waiter, ILK__REPORT_WOKEN);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();

    (void)inflight_answer(inflight,
                          "%d 4000 1000000 1 %d 0 0 %d 4000 17 %d 0 0 "
                          "%d 0 0",
                          ILK__CODE_BUSY, ILK__CODE_QUEUED, ILK__CODE_HELD,
                          ILK__CODE_GONE, ILK__CODE_GONE);

    assert_int_equal(takers[0].waiter.report, ILK__REPORT_NONE);
    assert_int_equal(takers[2].waiter.report, ILK__REPORT_GONE);
    assert_int_equal(takers[3].waiter.report, ILK__REPORT_WOKEN);
    assert_int_equal(op_wake(&takers[1].op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(takers[1].op.status, ILK_OK);
    assert_int_equal(takers[1].waiter.fence, 17);
    assert_int_equal(takers[1].waiter.granted_ms, 4000);
    assert_int_equal(takers[1].waiter.began, local_ms);
}

TEST(what_the_inbox_told_of_a_grant_counts_more)
{
    ilk__inflight *inflight;

    queue_all(1);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();
    inbox_grants(&takers[0], 18, 5000, 1000000);

    (void)inflight_answer(inflight, "%d 4999 1000000 1 %d 4999 18",
                          ILK__CODE_BUSY, ILK__CODE_HELD);

    assert_int_equal(takers[0].waiter.report_us, 1000000);
    assert_int_equal(takers[0].waiter.report_lease_ms, 5000);
}

TEST(a_grant_told_by_refresh_and_inbox_is_not_given_back)
{
    queue_all(1);
    shared_tick(ILK__REFRESH_MS);
    (void)inflight_answer(next_inflight(), "%d 4999 1000000 1 %d 4999 18",
                          ILK__CODE_BUSY, ILK__CODE_HELD);
    assert_int_equal(op_wake(&takers[0].op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    inbox_grants(&takers[0], 18, 5000, 1000000);

    assert_null(next_inflight());
    assert_int_equal(takers[0].op.status, ILK_OK);
}

TEST(who_left_meanwhile_is_not_told)
{
    ilk__inflight *inflight;

    queue_all(2);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();
    ilk__waiter_leave(&takers[0].waiter);
    assert_int_equal(ilk__waiter_join(&takers[0].waiter, NULL), ILK_OK);

    (void)inflight_answer(inflight, "%d 4000 1000000 1 %d 4000 17 %d 0 0",
                          ILK__CODE_BUSY, ILK__CODE_HELD, ILK__CODE_GONE);

    assert_int_equal(takers[0].waiter.report, ILK__REPORT_NONE);
    assert_int_equal(takers[1].waiter.report, ILK__REPORT_GONE);
}

/* A stranger under the number of one who was asked about. */
TEST(who_waits_for_another_name_by_now_is_not_told)
{
    ilk__inflight *inflight;
    taker other;

    queue_all(2);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();
    ilk__waiter_leave(&takers[0].waiter);
    taker_open(&other, "bills", &ilk__lock_plain);
    shared.last_id = 0; /* as if all numbers had been used */
    taker_queue(&other, -1);

    (void)inflight_answer(inflight, "%d 4000 1000000 1 %d 4000 17 %d 0 0",
                          ILK__CODE_BUSY, ILK__CODE_HELD, ILK__CODE_QUEUED);

    assert_int_equal(other.waiter.report, ILK__REPORT_NONE);
    taker_close(&other);
    shared.last_id = 2;
}

TEST(a_name_nobody_waits_for_is_forgotten)
{
    queue_all(2);
    assert_int_equal(shared.refreshers.count, 1);

    ilk__waiter_leave(&takers[0].waiter);
    assert_int_equal(shared.refreshers.count, 1);
    ilk__waiter_leave(&takers[1].waiter);

    assert_int_equal(shared.refreshers.count, 0);
    assert_int_equal(shared.timers.count, 0);
}

TEST(with_its_question_under_way_it_is_forgotten_later)
{
    ilk__inflight *inflight;

    queue_all(1);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();

    ilk__waiter_leave(&takers[0].waiter);
    assert_int_equal(shared.refreshers.count, 1);
    (void)inflight_answer(inflight, "%d 90000 1000000 1 %d 0 0", ILK__CODE_BUSY,
                          ILK__CODE_QUEUED);

    assert_int_equal(shared.refreshers.count, 0);
}

TEST(a_wait_suspended_for_too_long_leaves)
{
    char words[1024];

    queue_all(2);
    assert_int_equal(op_wake(&takers[0].op, ILK__CAUSE_INTERRUPT),
                     ILK__ACT_DONE);
    snprintf(words, sizeof words, "%s", taker_gives_back(&takers[0]));
    for (int i = 0; i < 2; i++) {
        shared_tick(ILK__REFRESH_MS);
        answer_batch(0, 2);
    }
    assert_int_equal(shared.stats.waiting, 2);

    shared_tick(ILK__REFRESH_MS);

    assert_gives_back(words);
    answer_batch(1, 1);
    assert_null(takers[0].waiter.refresher);
    assert_int_equal(shared.stats.waiting, 1);
}

TEST(the_last_suspended_wait_takes_its_name_along)
{
    char words[1024];

    queue_all(1);
    assert_int_equal(op_wake(&takers[0].op, ILK__CAUSE_INTERRUPT),
                     ILK__ACT_DONE);
    snprintf(words, sizeof words, "%s", taker_gives_back(&takers[0]));

    shared_tick(6000);

    assert_gives_back(words);
    assert_int_equal(shared.refreshers.count, 0);
    assert_null(next_inflight());
}

TEST(names_are_asked_for_one_by_one)
{
    ilk__inflight *first, *second;
    taker other;

    queue_all(1);
    taker_open(&other, "bills", &ilk__lock_plain);
    taker_queue(&other, -1);
    assert_int_equal(shared.refreshers.count, 2);

    shared_tick(ILK__REFRESH_MS);
    first = next_inflight();
    second = next_inflight();

    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(first->op.command.argc, 14);
    assert_int_equal(second->op.command.argc, 14);
    assert_int_not_equal(*first->op.command.argv[3],
                         *second->op.command.argv[3]);
    inflight_end(first, ILK_ECLOSED);
    inflight_end(second, ILK_ECLOSED);
    taker_close(&other);
}
