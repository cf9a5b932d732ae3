/* SPDX-License-Identifier: MIT */
/* ut_backoff.c -- pauses grow, end growing, and differ. */
#include "base/backoff.h"

#include "test.h"

TEST(a_connection_s_pause_doubles_up_to_its_limit)
{
    int step_ms = 0;

    for (int most = ILK__CONNECT_PAUSE_FIRST_MS; most <= 1024; most *= 2) {
        int limit = most < ILK__CONNECT_PAUSE_MOST_MS
                        ? most
                        : ILK__CONNECT_PAUSE_MOST_MS;

        assert_in_range(ilk__connect_pause_ms(&step_ms, ILK_ECONN), limit / 2,
                        limit);
    }
    assert_int_equal(step_ms, ILK__CONNECT_PAUSE_MOST_MS);
}

TEST(after_a_time_out_it_is_longer_and_all_of_it_is_random)
{
    int step_ms = 0, shortest = ILK__CROWD_PAUSE_MOST_MS;

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

TEST(a_request_s_pause_begins_anew_with_a_step_of_0)
{
    int step_ms = 0;

    (void)ilk__request_pause_ms(&step_ms);
    (void)ilk__request_pause_ms(&step_ms);
    assert_int_equal(step_ms, 2 * ILK__REQUEST_PAUSE_FIRST_MS);

    step_ms = 0;
    assert_in_range(ilk__request_pause_ms(&step_ms),
                    ILK__REQUEST_PAUSE_FIRST_MS / 2,
                    ILK__REQUEST_PAUSE_FIRST_MS);
}

TEST(the_pause_after_the_nth_failure_needs_no_state)
{
    assert_in_range(ilk__failure_pause_ms(1000, 60000, 1), 500, 1000);
    assert_in_range(ilk__failure_pause_ms(1000, 60000, 3), 2000, 4000);
    assert_in_range(ilk__failure_pause_ms(1000, 60000, 1000), 30000, 60000);
    assert_in_range(ilk__failure_pause_ms(0, 60000, 5), 0, 0);
    assert_in_range(ilk__failure_pause_ms(INT64_MAX / 4, INT64_MAX / 2, 9),
                    INT64_MAX / 4, INT64_MAX / 2);
}

TEST(half_of_a_pause_is_random)
{
    int64_t first = ilk__failure_pause_ms(1 << 20, 1 << 20, 1);
    int differ = 0;

    for (int i = 0; i < 20; i++)
        differ |= ilk__failure_pause_ms(1 << 20, 1 << 20, 1) != first;
    assert_true(differ);
}
