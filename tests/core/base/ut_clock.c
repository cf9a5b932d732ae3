/* SPDX-License-Identifier: MIT */
/* ut_clock.c -- local milliseconds and deadlines. */
#include "base/clock.h"

#include <limits.h>
#include <poll.h>

#include "test.h"

TEST(now_advances_as_time_does)
{
    int64_t before = ilk__now_ms(), passed;

    poll(NULL, 0, 30);
    passed = ilk__now_ms() - before;

    assert_true(passed >= 29);
    assert_true(passed < 3000);
}

TEST(deadline_lies_the_timeout_ahead)
{
    int64_t before = ilk__now_ms(), deadline = ilk__deadline(1000);

    assert_true(deadline >= before + 1000);
    assert_true(deadline <= ilk__now_ms() + 1001);
}

TEST(negative_timeout_is_for_ever)
{
    assert_true(ilk__deadline(-1) == ILK__FOREVER);
    assert_true(ilk__deadline(INT64_MIN) == ILK__FOREVER);
}

TEST(deadline_saturates)
{
    assert_true(ilk__deadline(INT64_MAX) == ILK__FOREVER);
    assert_true(ilk__deadline(INT64_MAX - 1) == ILK__FOREVER);
}

TEST(poll_timeout_is_the_rest_and_never_negative)
{
    int rest = ilk__poll_timeout(ilk__deadline(1000));

    assert_in_range(rest, 500, 1001);
    assert_int_equal(ilk__poll_timeout(0), 0);
    assert_int_equal(ilk__poll_timeout(INT64_MIN), 0);
}

TEST(poll_timeout_is_capped_and_knows_for_ever)
{
    assert_int_equal(ilk__poll_timeout(ILK__FOREVER), -1);
    assert_int_equal(ilk__poll_timeout(ILK__FOREVER - 1), INT_MAX);
}

TEST(sooner_is_the_smaller)
{
    assert_true(ilk__sooner(5, ILK__FOREVER) == 5);
    assert_true(ilk__sooner(7, 6) == 6);
}
