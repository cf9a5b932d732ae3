/* SPDX-License-Identifier: MIT */
/* ut_clock.c -- local milliseconds and deadlines. */
#include "base/clock.h"

#include <limits.h>
#include <poll.h>

#include "cmocka_all.h"

static void now_advances_as_time_does(void **state)
{
    int64_t before = ilk__now_ms(), passed;

    (void)state;
    poll(NULL, 0, 30);
    passed = ilk__now_ms() - before;

    assert_true(passed >= 29);
    assert_true(passed < 3000);
}

static void deadline_lies_the_timeout_ahead(void **state)
{
    int64_t before = ilk__now_ms(), deadline = ilk__deadline(1000);

    (void)state;
    assert_true(deadline >= before + 1000);
    assert_true(deadline <= ilk__now_ms() + 1001);
}

static void negative_timeout_is_for_ever(void **state)
{
    (void)state;
    assert_true(ilk__deadline(-1) == ILK__FOREVER);
    assert_true(ilk__deadline(INT64_MIN) == ILK__FOREVER);
}

static void deadline_saturates(void **state)
{
    (void)state;
    assert_true(ilk__deadline(INT64_MAX) == ILK__FOREVER);
    assert_true(ilk__deadline(INT64_MAX - 1) == ILK__FOREVER);
}

static void poll_timeout_is_the_rest_and_never_negative(void **state)
{
    int rest = ilk__poll_timeout(ilk__deadline(1000));

    (void)state;
    assert_in_range(rest, 500, 1001);
    assert_int_equal(ilk__poll_timeout(0), 0);
    assert_int_equal(ilk__poll_timeout(INT64_MIN), 0);
}

static void poll_timeout_is_capped_and_knows_for_ever(void **state)
{
    (void)state;
    assert_int_equal(ilk__poll_timeout(ILK__FOREVER), -1);
    assert_int_equal(ilk__poll_timeout(ILK__FOREVER - 1), INT_MAX);
}

static void sooner_is_the_smaller(void **state)
{
    (void)state;
    assert_true(ilk__sooner(5, ILK__FOREVER) == 5);
    assert_true(ilk__sooner(7, 6) == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now_advances_as_time_does),
        cmocka_unit_test(deadline_lies_the_timeout_ahead),
        cmocka_unit_test(negative_timeout_is_for_ever),
        cmocka_unit_test(deadline_saturates),
        cmocka_unit_test(poll_timeout_is_the_rest_and_never_negative),
        cmocka_unit_test(poll_timeout_is_capped_and_knows_for_ever),
        cmocka_unit_test(sooner_is_the_smaller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
