/* SPDX-License-Identifier: MIT */
/*
 * ut_timer.c -- timers against a list that is searched from end to end. The
 * seed is printed; ILK_TEST_SEED sets it.
 */
#include "base/timer.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "test.h"

AROUND_ALL(dice_seed, NULL);

enum { COUNT = 60, STEPS = 200000 };

static ilk__timers timers;
static ilk__timer all[COUNT];
static int setup(void)
{
    memset(&timers, 0, sizeof timers);
    memset(all, 0, sizeof all);
    for (int i = 0; i < COUNT; i++)
        if (ilk__timers_reserve(&timers, NULL))
            return -1;
    return 0;
}

static int teardown(void)
{
    ilk__timers_free(&timers);
    return 0;
}

AROUND_EACH(setup, teardown);

/* ---- one by one --------------------------------------------------------- */

TEST(nothing_set_is_never_due)
{
    assert_int_equal(ilk__timers_next(&timers), ILK__FOREVER);
    assert_null(ilk__timers_pop(&timers, ILK__FOREVER));
    ilk__timer_clear(&timers, &all[0]); /* harmless */
    assert_int_equal(timers.count, 0);
}

TEST(a_timer_is_due_at_its_moment_and_once)
{
    ilk__timer_set(&timers, &all[0], 100);
    assert_int_equal(ilk__timers_next(&timers), 100);

    assert_null(ilk__timers_pop(&timers, 99));
    assert_ptr_equal(ilk__timers_pop(&timers, 100), &all[0]);
    assert_null(ilk__timers_pop(&timers, 100));

    ilk__timer_set(&timers, &all[0], 50); /* may be set again */
    assert_ptr_equal(ilk__timers_pop(&timers, 100), &all[0]);
}

TEST(setting_again_moves_a_timer)
{
    ilk__timer_set(&timers, &all[0], 100);
    ilk__timer_set(&timers, &all[1], 200);
    ilk__timer_set(&timers, &all[0], 300);
    assert_int_equal(timers.count, 2);
    assert_int_equal(ilk__timers_next(&timers), 200);
    ilk__timer_set(&timers, &all[0], 150);
    assert_int_equal(ilk__timers_next(&timers), 150);
}

TEST(without_memory_a_reservation_is_refused)
{
    ilk__timers small = {0};
    ilk_error err = {0};
    int reserved = 0;

    assert_int_equal(ilk__timers_reserve(&small, NULL), ILK_OK);
    ilk__alloc_fail_at(1);
    while (ilk__timers_reserve(&small, &err) == ILK_OK)
        reserved++;
    ilk__alloc_fail_at(0);

    assert_int_equal(err.code, ILK_ENOMEM);
    assert_int_equal(small.reserved, 1 + reserved);
    for (int i = 0; i <= reserved; i++)
        ilk__timer_set(&small, &all[i], i); /* there is room for those */
    assert_int_equal(small.count, 1 + reserved);
    ilk__timers_free(&small);
}

TEST(a_reservation_given_back_serves_the_next)
{
    size_t room = timers.room;

    for (int i = 0; i < 1000; i++) {
        ilk__timers_unreserve(&timers);
        assert_int_equal(ilk__timers_reserve(&timers, NULL), ILK_OK);
    }
    assert_int_equal(timers.room, room);
}

/* ---- against a list ------------------------------------------------------ */

/* The naive side: when each is due, or -1. */
static int64_t due[COUNT];

static int64_t naive_next(void)
{
    int64_t next = ILK__FOREVER;

    for (int i = 0; i < COUNT; i++)
        if (due[i] >= 0 && due[i] < next)
            next = due[i];
    return next;
}

static void pop_and_compare(int64_t now)
{
    ilk__timer *timer = ilk__timers_pop(&timers, now);

    if (naive_next() > now) {
        assert_null(timer);
        return;
    }
    assert_non_null(timer);
    assert_int_equal(due[timer - all], naive_next());
    due[timer - all] = -1;
}

TEST(random_use_agrees_with_a_list)
{
    memset(due, -1, sizeof due);
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = dice(COUNT);

        switch (dice(4)) {
        case 0:
        case 1:
            due[i] = dice(1000);
            ilk__timer_set(&timers, &all[i], due[i]);
            break;
        case 2:
            due[i] = -1;
            ilk__timer_clear(&timers, &all[i]);
            break;
        default: pop_and_compare(dice(1000)); break;
        }
        assert_int_equal(ilk__timers_next(&timers), naive_next());
        assert_int_equal(all[i].slot != 0, due[i] >= 0);
    }
}
