/* SPDX-License-Identifier: MIT */
/* ct_latch.c -- a number that is counted down, on a server. */
#include "fork_case.h"
#include "proxy_case.h"
#include "redis/script.h"
#include "state_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(state_setup, state_teardown);

TEST(looking_needs_no_count)
{
    ilk_latch *a = open_latch(client, "looked at", 3);
    ilk_error err = {0};
    int64_t count = -1, left = -1;

    assert_status(
        ILK_OK, ilk_latch_inspect(client, "looked at", 9, &count, &left, &err));
    assert_int_equal(0, count);
    assert_int_equal(0, left);
    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    assert_status(
        ILK_OK, ilk_latch_inspect(other, "looked at", 9, &count, &left, &err));
    assert_int_equal(3, count);
    assert_int_equal(2, left);
    assert_status(ILK_EINVAL,
                  ilk_latch_inspect(client, "", 0, &count, &left, &err));
    assert_status(ILK_EINVAL,
                  ilk_latch_inspect(client, "x", 1, NULL, &left, &err));
    ilk_latch_free(a);
}

TEST(it_counts_down_to_nothing_and_stays_open)
{
    ilk_latch *a = open_latch(client, "down", 3),
              *b = open_latch(other, "down", 3);
    ilk_error err = {0};
    int64_t left = -1;

    assert_status(ILK_OK, ilk_latch_count(a, &left, &err));
    assert_int_equal(3, left);
    assert_status(ILK_EBUSY, ilk_latch_wait(b, 0, &err));
    assert_status(ILK_OK, ilk_latch_count_down(a, 1, &left, &err));
    assert_int_equal(2, left);
    assert_status(ILK_OK, ilk_latch_count_down(b, 5, &left, &err));
    assert_int_equal(0, left);
    assert_status(ILK_OK, ilk_latch_wait(a, 0, &err));
    assert_status(ILK_OK, ilk_latch_wait(b, -1, &err));
    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    ilk_latch_free(a);
    ilk_latch_free(b);
}

enum { CROWD = 100, COUNTERS = 20 };

/* In a process: count once, as a worker that is done does. */
static pid_t start_counter(void)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        ilk_client *own = open_client();
        ilk_latch *latch = open_latch(own, "crowd", COUNTERS);

        demand(ilk_latch_count_down(latch, 1, NULL, NULL) == ILK_OK);
        ilk_latch_free(latch);
        ilk_client_free(own);
        _exit(0);
    }
    return pid;
}

TEST(the_last_count_wakes_all_who_wait)
{
    static waiting w[CROWD];
    pid_t pids[COUNTERS];

    for (int i = 0; i < CROWD; i++) {
        w[i] = (waiting){
            .latch = open_latch(i % 2 ? client : other, "crowd", COUNTERS),
            .timeout_ms = 20000};
        start_waiting(&w[i]);
    }
    await_queue_length("latch", "crowd", CROWD);

    for (int i = 0; i < COUNTERS; i++) {
        for (int j = 0; j < CROWD; j++)
            assert_false(w[j].done);
        pids[i] = start_counter();
        assert_ends_well(pids[i]);
    }

    for (int i = 0; i < CROWD; i++) {
        assert_waited(ILK_OK, &w[i]);
        ilk_latch_free(w[i].latch);
    }
    await_queue_length("latch", "crowd", 0);
}

TEST(a_count_whose_answer_was_lost_counts_once)
{
    ilk_client *behind;
    ilk_latch *a;
    ilk_error err = {0};
    int64_t left = -1;

    assert_int_equal(0, proxy_before_server(&between));
    behind = open_client_at(between.url);
    a = open_latch(behind, "once", 100);
    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    for (size_t at = 0; at < 12; at++) {
        proxy_cut(&between, ilk__scripts[ILK__SCRIPT_LATCH_COUNT_DOWN].sha1,
                  at);
        assert_status(ILK_OK, ilk_latch_count_down(a, 1, &left, &err));
        assert_int_equal(1, proxy_struck(&between));
        assert_int_equal(98 - (int64_t)at, left);
    }
    ilk_latch_free(a);
    ilk_client_free(behind);
    proxy_close(&between);
}

TEST(another_count_is_refused_until_it_is_reset)
{
    ilk_latch *three = open_latch(client, "count", 3),
              *four = open_latch(other, "count", 4);
    waiting w = {.latch = three, .timeout_ms = 20000};
    ilk_error err = {0};
    int64_t left = -1;

    start_waiting(&w);
    await_queue_length("latch", "count", 1);
    assert_status(ILK_EDIFFERS, ilk_latch_count_down(four, 1, &left, &err));
    assert_string_equal("the latch counts down from 3, not 4", err.msg);
    assert_status(ILK_EDIFFERS, ilk_latch_wait(four, -1, &err));
    assert_status(ILK_EDIFFERS, ilk_latch_wait(four, 0, &err));
    assert_status(ILK_EDIFFERS, ilk_latch_count(four, &left, &err));
    assert_int_equal(-1, left);

    assert_status(ILK_OK, ilk_latch_reset(four, &err));

    assert_waited(ILK_EDIFFERS, &w);
    assert_string_equal("the latch counts down from 4, not 3", w.err.msg);
    assert_status(ILK_OK, ilk_latch_count(four, &left, &err));
    assert_int_equal(4, left);
    await_queue_length("latch", "count", 0);
    ilk_latch_free(three);
    ilk_latch_free(four);
}

TEST(a_reset_lets_those_of_the_same_count_wait_on)
{
    ilk_latch *a = open_latch(client, "anew", 2),
              *b = open_latch(other, "anew", 2);
    waiting w = {.latch = b, .timeout_ms = 20000};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    start_waiting(&w);
    await_queue_length("latch", "anew", 1);
    assert_status(ILK_OK, ilk_latch_reset(a, &err));
    await_queue_length("latch", "anew", 1);
    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    fixture_sleep_ms(50);
    assert_false(w.done);

    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));

    assert_waited(ILK_OK, &w);
    ilk_latch_free(a);
    ilk_latch_free(b);
}

TEST(it_goes_after_its_time_of_disuse)
{
    ilk_latch_opts opts;
    ilk_latch *a = NULL;
    waiting w = {.timeout_ms = 20000};
    ilk_error err = {0};
    int64_t left = -1;

    ilk_latch_opts_init(&opts, sizeof opts);
    opts.keep_ms = 3000;
    assert_status(ILK_OK,
                  ilk_latch_open(&a, client, "keep", 4, 2, &opts, &err));
    w.latch = a;
    start_waiting(&w);
    await_queue_length("latch", "keep", 1);
    fixture_command(&fx, "PEXPIRE ilk:latch:{keep} 2500");
    fixture_sleep_ms(2700); /* the refresh keeps it */
    assert_int_equal(1, fixture_int(&fx, "EXISTS ilk:latch:{keep}"));
    assert_status(ILK_OK, ilk_latch_cancel(a, &err));
    assert_waited(ILK_ECANCELLED, &w);

    assert_int_equal(0,
                     fixture_await(&fx, "0", 6000, "EXISTS ilk:latch:{keep}"));
    assert_status(ILK_OK, ilk_latch_count(a, &left, &err));
    assert_int_equal(2, left);
    ilk_latch_free(a);
}

TEST(waits_end_by_time_signal_and_close)
{
    ilk_client *own = open_client();
    ilk_latch *a = open_latch(own, "ends", 2);
    waiting w = {.latch = a, .timeout_ms = 150};
    ilk_error err = {0};

    start_waiting(&w);
    assert_waited(ILK_ETIMEOUT, &w);
    assert_on_time(waited_ms(&w), 150);
    w = (waiting){.latch = a, .timeout_ms = -1};
    start_waiting(&w);
    await_queue_length("latch", "ends", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);
    w = (waiting){.latch = a, .timeout_ms = -1};
    start_waiting(&w); /* takes it up */
    fixture_sleep_ms(30);
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_waited(ILK_ECLOSED, &w);
    ilk_latch_free(a);
    ilk_client_free(own);
}

TEST(a_child_is_refused_until_it_reopens)
{
    ilk_client *own = open_client();
    ilk_latch *a = open_latch(own, "fork", 2);
    ilk_error err = {0};
    int64_t left;
    pid_t pid;

    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        demand(ilk_latch_count_down(a, 1, &left, &err) == ILK_EFORKED);
        demand(ilk_latch_wait(a, 0, &err) == ILK_EFORKED);
        demand(ilk_latch_reset(a, &err) == ILK_EFORKED);
        demand(ilk_client_reopen(own, &err) == ILK_OK);
        demand(ilk_latch_count_down(a, 1, &left, &err) == ILK_OK);
        demand(left == 0);
        ilk_latch_free(a);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_status(ILK_OK, ilk_latch_wait(a, 0, &err));
    ilk_latch_free(a);
    ilk_client_free(own);
}

TEST(bad_input_is_refused)
{
    ilk_latch *a = open_latch(client, "bad", 1), *none = (ilk_latch *)1;
    ilk_latch_opts opts;
    ilk_error err = {0};

    assert_int_equal(ILK_EINVAL,
                     ilk_latch_open(&none, client, "x", 1, 0, NULL, &err));
    assert_string_equal("count must be 1 to 1000000000, got 0", err.msg);
    assert_null(none);
    assert_int_equal(ILK_EINVAL,
                     ilk_latch_open(&none, client, "x", 1, -3, NULL, &err));
    ilk_latch_opts_init(&opts, sizeof opts);
    opts.keep_ms = -1;
    assert_int_equal(ILK_EINVAL,
                     ilk_latch_open(&none, client, "x", 1, 1, &opts, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_latch_open(NULL, client, "x", 1, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_latch_open(&none, client, "", 0, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL, ilk_latch_count_down(a, 0, NULL, &err));
    assert_string_equal("n must be 1 to 1000000000, got 0", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_latch_count_down(a, -1, NULL, &err));
    assert_int_equal(ILK_EINVAL, ilk_latch_count_down(NULL, 1, NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_latch_count(a, NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_latch_wait(NULL, 0, NULL));
    assert_int_equal(ILK_EINVAL, ilk_latch_reset(NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_latch_cancel(NULL, NULL));
    ilk_latch_opts_init(NULL, 8);
    ilk_latch_free(NULL);
    ilk_latch_free(a);
}
