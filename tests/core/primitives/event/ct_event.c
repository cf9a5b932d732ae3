/* SPDX-License-Identifier: MIT */
/* ct_event.c -- an event that stays set, on a server. */
#include "state_case.h"

#include <stdlib.h>
#include <string.h>

AROUND_ALL(state_setup, state_teardown);

static void assert_seen(const ilk_event *event, int is_set, const char *data,
                        size_t len)
{
    size_t got_len = 99;
    const char *got = ilk_event_data(event, &got_len);

    assert_int_equal(is_set, ilk_event_is_set(event));
    assert_int_equal(len, got_len);
    assert_memory_equal(data, got, len);
    assert_int_equal('\0', got[len]);
}

/* ---- setting and seeing ------------------------------------------------- */

TEST(a_late_waiter_gets_a_set_event_at_once)
{
    ilk_event *a = open_event(client, "late"), *b = open_event(other, "late");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_event_set(a, "x\0\r\n\xff", 5, &err));

    assert_status(ILK_OK, ilk_event_wait(b, 0, &err));
    assert_seen(b, 1, "x\0\r\n\xff", 5);
    assert_int_equal(ilk_event_generation(a), ilk_event_generation(b));
    assert_status(ILK_OK, ilk_event_wait(b, -1, &err));
    ilk_event_free(a);
    ilk_event_free(b);
}

TEST(each_change_has_a_greater_generation)
{
    ilk_event *a = open_event(client, "rise");
    ilk_error err = {0};
    int64_t last = 0;

    for (int i = 0; i < 6; i++) {
        ilk_status st = i % 3 == 2 ? ilk_event_clear(a, &err)
                                   : ilk_event_set(a, "d", 1, &err);

        assert_status(ILK_OK, st);
        assert_true(ilk_event_generation(a) > last);
        last = ilk_event_generation(a);
    }
    assert_seen(a, 0, "", 0);
    assert_status(ILK_OK, ilk_event_clear(a, &err)); /* it is clear */
    assert_int_equal(last, ilk_event_generation(a));
    fixture_command(&fx, "FLUSHALL");
    assert_status(ILK_OK, ilk_event_set(a, NULL, 0, &err));
    assert_true(ilk_event_generation(a) > last);
    ilk_event_free(a);
}

TEST(an_event_that_nobody_set_is_clear)
{
    ilk_event *a = open_event(client, "unset");
    ilk_error err = {0};

    assert_seen(a, 0, "", 0);
    assert_status(ILK_OK, ilk_event_read(a, &err));
    assert_seen(a, 0, "", 0);
    assert_int_equal(0, ilk_event_generation(a));
    assert_status(ILK_EINVAL, ilk_event_wait(a, -2, &err));
    assert_status(ILK_EBUSY, ilk_event_wait(a, 0, &err));
    assert_string_equal("the condition does not hold yet", err.msg);
    ilk_event_free(a);
}

TEST(a_set_with_a_time_ends_by_itself)
{
    ilk_event_opts opts;
    ilk_event *a = NULL;
    ilk_error err = {0};

    ilk_event_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 1000;
    assert_status(ILK_OK, ilk_event_open(&a, client, "t", 1, &opts, &err));
    assert_status(ILK_OK, ilk_event_set(a, "d", 1, &err));
    assert_status(ILK_OK, ilk_event_wait(a, 0, &err));
    fixture_sleep_ms(1050);

    assert_status(ILK_EBUSY, ilk_event_wait(a, 0, &err));
    assert_status(ILK_OK, ilk_event_read(a, &err));
    assert_seen(a, 0, "", 0);
    ilk_event_free(a);
}

TEST(a_mebibyte_of_data_comes_through_and_no_more)
{
    ilk_event *a = open_event(client, "large");
    char *data = malloc(ILK_EVENT_DATA_MAX + 1);
    ilk_error err = {0};

    assert_non_null(data);
    for (int i = 0; i <= ILK_EVENT_DATA_MAX; i++)
        data[i] = (char)(i * 7);
    assert_status(ILK_OK, ilk_event_set(a, data, ILK_EVENT_DATA_MAX, &err));
    assert_status(ILK_OK, ilk_event_read(a, &err));
    assert_seen(a, 1, data, ILK_EVENT_DATA_MAX);

    assert_status(ILK_EINVAL,
                  ilk_event_set(a, data, ILK_EVENT_DATA_MAX + 1, &err));
    assert_string_equal("data must have at most 1048576 bytes, got 1048577",
                        err.msg);
    free(data);
    ilk_event_free(a);
}

/* ---- waiting ------------------------------------------------------------ */

TEST(a_set_wakes_who_waits)
{
    ilk_event *a = open_event(client, "wake"), *b = open_event(other, "wake");
    waiting w = {.event = b, .timeout_ms = 20000};
    ilk_error err = {0};
    int64_t set_at;

    start_waiting(&w);
    await_queue_length("event", "wake", 1);
    set_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_event_set(a, "now", 3, &err));

    assert_waited(ILK_OK, &w);
    assert_in_range(w.ended_at - set_at, 0, patience(200));
    assert_seen(b, 1, "now", 3);
    await_queue_length("event", "wake", 0);
    ilk_event_free(a);
    ilk_event_free(b);
}

TEST(a_set_that_is_cleared_at_once_ends_the_wait)
{
    ilk_event *a = open_event(client, "short"), *b = open_event(other, "short");
    waiting w = {.event = b, .timeout_ms = 20000};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("event", "short", 1);
    assert_status(ILK_OK, ilk_event_set(a, "now", 3, &err));
    assert_status(ILK_OK, ilk_event_clear(a, &err));

    assert_waited(ILK_OK, &w); /* it has seen the set or the clear */
    assert_status(ILK_EBUSY, ilk_event_wait(b, 0, &err));
    assert_status(ILK_OK, ilk_event_read(b, &err));
    assert_seen(b, 0, "", 0);
    ilk_event_free(a);
    ilk_event_free(b);
}

TEST(a_wait_ends_in_time)
{
    ilk_event *a = open_event(client, "time");
    waiting w = {.event = a, .timeout_ms = 150};

    start_waiting(&w);
    assert_waited(ILK_ETIMEOUT, &w);
    assert_on_time(waited_ms(&w), 150);
    await_queue_length("event", "time", 0);
    ilk_event_free(a);
}

enum { CROWD = 90, LISTENERS = 10 };

TEST(one_set_wakes_a_hundred)
{
    ilk_event *setter = open_event(client, "crowd");
    static waiting w[CROWD];
    party p[LISTENERS];
    ilk_error err = {0};
    int64_t set_at, last = 0, generation;

    for (int i = 0; i < LISTENERS; i++) {
        p[i] = start_listener("crowd", 20000);
        tell_party(&p[i], 'w');
    }
    for (int i = 0; i < CROWD; i++) {
        w[i] = (waiting){.event = open_event(i % 2 ? client : other, "crowd"),
                         .timeout_ms = 20000};
        start_waiting(&w[i]);
    }
    await_queue_length("event", "crowd", CROWD + LISTENERS);

    set_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_event_set(setter, NULL, 0, &err));

    for (int i = 0; i < CROWD; i++) {
        assert_waited(ILK_OK, &w[i]);
        last = w[i].ended_at > last ? w[i].ended_at : last;
        ilk_event_free(w[i].event);
    }
    for (int i = 0; i < LISTENERS; i++) {
        assert_int_equal('k', hear_party(&p[i], 5000, &generation));
        assert_int_equal(ilk_event_generation(setter), generation);
        end_party(&p[i]);
    }
    print_message("90 waiters of 2 clients woken within %d ms\n",
                  (int)(last - set_at));
    assert_in_range(last - set_at, 0, patience(300));
    ilk_event_free(setter);
}

TEST(a_change_is_seen_past_a_known_generation)
{
    ilk_event *a = open_event(client, "gen"), *b = open_event(other, "gen");
    waiting w = {.event = b, .timeout_ms = 20000};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_event_set(a, "1", 1, &err));
    w.generation = ilk_event_generation(a);
    start_waiting(&w);
    await_queue_length("event", "gen", 1);

    assert_status(ILK_OK, ilk_event_clear(a, &err));

    assert_waited(ILK_OK, &w);
    assert_seen(b, 0, "", 0);
    assert_int_equal(ilk_event_generation(a), ilk_event_generation(b));
    assert_status(ILK_OK, ilk_event_wait_change(b, 0, 0, &err));
    ilk_event_free(a);
    ilk_event_free(b);
}

enum { CHANGES = 300 };

static void *change_often(void *arg)
{
    ilk_event *a = arg;
    ilk_error err = {0};

    for (int i = 0; i < CHANGES; i++)
        if (i % 2 ? ilk_event_clear(a, &err) : ilk_event_set(a, "d", 1, &err))
            return arg;
    return NULL;
}

/* Some in between may be skipped; none comes twice or late, the last never
 * fails to come. */
TEST(a_follower_of_two_that_race_sees_the_last)
{
    ilk_event *a = open_event(client, "race"), *b = open_event(client, "race"),
              *follower = open_event(other, "race");
    pthread_t threads[2];
    ilk_error err = {0};
    int64_t seen = 0, last = 0;
    void *failed;

    pthread_create(&threads[0], NULL, change_often, a);
    pthread_create(&threads[1], NULL, change_often, b);
    while (ilk_event_wait_change(follower, seen, 700, &err) == ILK_OK) {
        assert_true(ilk_event_generation(follower) > seen);
        seen = ilk_event_generation(follower);
    }
    assert_int_equal(ILK_ETIMEOUT, err.code);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_status(ILK_OK, ilk_event_read(a, &err));
    last = ilk_event_generation(a);
    assert_int_equal(last, seen);
    ilk_event_free(a);
    ilk_event_free(b);
    ilk_event_free(follower);
}
