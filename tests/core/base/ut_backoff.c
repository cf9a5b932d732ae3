/* SPDX-License-Identifier: MIT */
/* ut_backoff.c -- pauses grow, end growing, and differ. */
#include "base/backoff.h"

#include "cmocka_all.h"

static void a_connection_s_pause_doubles_up_to_its_limit(void **state)
{
    int step_ms = 0;

    (void)state;
    for (int most = ILK__CONNECT_PAUSE_FIRST_MS; most <= 1024; most *= 2) {
        int limit = most < ILK__CONNECT_PAUSE_MOST_MS
                        ? most
                        : ILK__CONNECT_PAUSE_MOST_MS;

        assert_in_range(ilk__connect_pause_ms(&step_ms, ILK_ECONN), limit / 2,
                        limit);
    }
    assert_int_equal(step_ms, ILK__CONNECT_PAUSE_MOST_MS);
}

static void after_a_time_out_it_is_longer_and_all_of_it_is_random(void **state)
{
    int step_ms = 0, shortest = ILK__CROWD_PAUSE_MOST_MS;

    (void)state;
    for (int most = ILK__CROWD_PAUSE_FIRST_MS; most <= 64000; most *= 2)
        assert_in_range(ilk__connect_pause_ms(&step_ms, ILK_ETIMEOUT), 0, most);
    assert_int_equal(step_ms, ILK__CROWD_PAUSE_MOST_MS);
    for (int i = 0; i < 100; i++) {
        int pause = (int)ilk__connect_pause_ms(&step_ms, ILK_ETIMEOUT);

        assert_in_range(pause, 0, ILK__CROWD_PAUSE_MOST_MS);
        shortest = pause < shortest ? pause : shortest;
    }
    assert_in_range(shortest, 0, ILK__CROWD_PAUSE_MOST_MS / 4);

    assert_in_range(ilk__connect_pause_ms(&step_ms, ILK_ECONN), 0,
                    ILK__CONNECT_PAUSE_MOST_MS);
}

static void a_request_s_pause_begins_anew_with_a_step_of_0(void **state)
{
    int step_ms = 0;

    (void)state;
    (void)ilk__request_pause_ms(&step_ms);
    (void)ilk__request_pause_ms(&step_ms);
    assert_int_equal(step_ms, 2 * ILK__REQUEST_PAUSE_FIRST_MS);

    step_ms = 0;
    assert_in_range(ilk__request_pause_ms(&step_ms),
                    ILK__REQUEST_PAUSE_FIRST_MS / 2,
                    ILK__REQUEST_PAUSE_FIRST_MS);
}

static void the_pause_after_the_nth_failure_needs_no_state(void **state)
{
    (void)state;
    assert_in_range(ilk__failure_pause_ms(1000, 60000, 1), 500, 1000);
    assert_in_range(ilk__failure_pause_ms(1000, 60000, 3), 2000, 4000);
    assert_in_range(ilk__failure_pause_ms(1000, 60000, 1000), 30000, 60000);
    assert_in_range(ilk__failure_pause_ms(0, 60000, 5), 0, 0);
    assert_in_range(ilk__failure_pause_ms(INT64_MAX / 4, INT64_MAX / 2, 9),
                    INT64_MAX / 4, INT64_MAX / 2);
}

static void half_of_a_pause_is_random(void **state)
{
    int64_t first = ilk__failure_pause_ms(1 << 20, 1 << 20, 1);
    int differ = 0;

    (void)state;
    for (int i = 0; i < 20; i++)
        differ |= ilk__failure_pause_ms(1 << 20, 1 << 20, 1) != first;
    assert_true(differ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_s_pause_doubles_up_to_its_limit),
        cmocka_unit_test(after_a_time_out_it_is_longer_and_all_of_it_is_random),
        cmocka_unit_test(a_request_s_pause_begins_anew_with_a_step_of_0),
        cmocka_unit_test(the_pause_after_the_nth_failure_needs_no_state),
        cmocka_unit_test(half_of_a_pause_is_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
