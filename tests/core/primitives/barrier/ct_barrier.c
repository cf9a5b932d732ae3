/* SPDX-License-Identifier: MIT */
/* ct_barrier.c -- rounds that become full, and how they break. */
#include "proxy_case.h"
#include "redis/script.h"
#include "state_case.h"

#include <string.h>
#include <unistd.h>

AROUND_ALL(state_setup, state_teardown);

/* A wait that stands in the wait queue before this returns. */
static waiting arrive(ilk_client *from, const char *name, int64_t parties)
{
    return (waiting){.barrier = open_barrier(from, name, parties),
                     .timeout_ms = 20000};
}

static void assert_says(const waiting *w, const char *what)
{
    if (!strstr(w->err.msg, what))
        fail_msg("'%s' says nothing of '%s'", w->err.msg, what);
}

/* ---- full --------------------------------------------------------------- */

TEST(the_last_lets_all_pass_each_with_its_index)
{
    waiting w[3];

    for (int i = 0; i < 3; i++) {
        w[i] = arrive(i % 2 ? client : other, "full", 3);
        start_waiting(&w[i]);
        await_queue_length("barrier", "full", i < 2 ? i + 1 : 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_waited(ILK_OK, &w[i]);
        assert_int_equal(i, w[i].index);
        ilk_barrier_free(w[i].barrier);
    }
}

TEST(a_try_arrives_only_as_the_last)
{
    waiting w = arrive(other, "try", 2);
    ilk_barrier *a = open_barrier(client, "try", 2);
    ilk_error err = {0};
    int64_t index = -1, here = -1;

    assert_status(ILK_EBUSY, ilk_barrier_wait(a, 0, &index, &err));
    assert_status(ILK_OK, ilk_barrier_waiting(a, &here, &err));
    assert_int_equal(0, here);
    start_waiting(&w);
    await_queue_length("barrier", "try", 1);
    assert_status(ILK_OK, ilk_barrier_waiting(a, &here, &err));
    assert_int_equal(1, here);

    assert_status(ILK_OK, ilk_barrier_wait(a, 0, &index, &err));

    assert_int_equal(1, index);
    assert_waited(ILK_OK, &w);
    ilk_barrier_free(w.barrier);
    ilk_barrier_free(a);
}

TEST(an_arrival_whose_answer_was_lost_counts_once)
{
    ilk_client *behind;
    waiting w;
    ilk_barrier *a;
    ilk_error err = {0};
    int64_t index = -1;

    assert_int_equal(0, proxy_before_server(&between));
    behind = open_client_at(between.url);
    a = open_barrier(behind, "once", 2);
    assert_status(ILK_EBUSY, ilk_barrier_wait(a, 0, NULL, &err));
    for (size_t at = 0; at < 20; at++) {
        w = arrive(client, "once", 2);
        start_waiting(&w);
        await_queue_length("barrier", "once", 1);
        proxy_cut(&between, ilk__scripts[ILK__SCRIPT_BARRIER_WAIT].sha1, at);
        assert_status(ILK_OK, ilk_barrier_wait(a, 5000, &index, &err));
        assert_int_equal(1, proxy_struck(&between));
        assert_int_equal(1, index);
        assert_waited(ILK_OK, &w);
        assert_int_equal(0, w.index);
        ilk_barrier_free(w.barrier);
    }
    ilk_barrier_free(a);
    ilk_client_free(behind);
    proxy_close(&between);
}

TEST(after_a_flush_all_arrive_anew)
{
    waiting w[2];
    ilk_barrier *last = open_barrier(client, "flush", 3);
    ilk_error err = {0};
    int64_t index = -1;

    for (int i = 0; i < 2; i++) {
        w[i] = arrive(i ? client : other, "flush", 3);
        start_waiting(&w[i]);
        await_queue_length("barrier", "flush", i + 1);
    }
    fixture_command(&fx, "FLUSHALL");
    await_queue_length("barrier", "flush", 2);

    assert_status(ILK_OK, ilk_barrier_wait(last, 5000, &index, &err));

    assert_int_equal(2, index);
    for (int i = 0; i < 2; i++) {
        assert_waited(ILK_OK, &w[i]);
        ilk_barrier_free(w[i].barrier);
    }
    ilk_barrier_free(last);
}

/* ---- broken ------------------------------------------------------------- */

TEST(a_wait_that_times_out_breaks_the_round_at_once)
{
    waiting first = arrive(client, "late", 3),
            second = arrive(other, "late", 3);
    ilk_error err = {0};
    int64_t index;

    second.timeout_ms = 200;
    start_waiting(&first);
    await_queue_length("barrier", "late", 1);
    start_waiting(&second);

    assert_waited(ILK_ETIMEOUT, &second);
    assert_waited(ILK_EBROKEN, &first);
    assert_on_time(waited_ms(&second), 200);
    assert_in_range(first.ended_at - first.began_at, 0, 200 + patience(200));
    assert_says(&first, "the round broke: ");
    assert_says(&first, " left it");

    /* the next round knows nothing of it */
    start_waiting(&first);
    await_queue_length("barrier", "late", 1);
    second.timeout_ms = 20000;
    start_waiting(&second);
    await_queue_length("barrier", "late", 2);
    {
        ilk_barrier *third = open_barrier(client, "late", 3);

        assert_status(ILK_OK, ilk_barrier_wait(third, 1000, &index, &err));
        ilk_barrier_free(third);
    }
    assert_waited(ILK_OK, &first);
    assert_waited(ILK_OK, &second);
    ilk_barrier_free(first.barrier);
    ilk_barrier_free(second.barrier);
}

TEST(a_cancelled_wait_breaks_the_round)
{
    waiting first = arrive(client, "cancel", 3),
            second = arrive(other, "cancel", 3);
    ilk_error err = {0};

    start_waiting(&first);
    start_waiting(&second);
    await_queue_length("barrier", "cancel", 2);
    assert_status(ILK_OK, ilk_barrier_cancel(second.barrier, &err));

    assert_waited(ILK_ECANCELLED, &second);
    assert_waited(ILK_EBROKEN, &first);
    ilk_barrier_free(first.barrier);
    ilk_barrier_free(second.barrier);
}

TEST(interrupted_it_stays_arrived_and_can_go_on)
{
    waiting first = arrive(client, "eintr", 2);
    ilk_barrier *second = open_barrier(other, "eintr", 2);
    ilk_error err = {0};
    int64_t index = -1;

    start_waiting(&first);
    await_queue_length("barrier", "eintr", 1);
    interrupt_waiting(&first);
    assert_waited(ILK_EINTR, &first);
    assert_status(ILK_OK, ilk_barrier_wait(second, 5000, &index, &err));
    assert_int_equal(1, index);

    start_waiting(&first);
    assert_waited(ILK_OK, &first); /* the result is of the round it was in */
    assert_int_equal(0, first.index);
    ilk_barrier_free(first.barrier);
    ilk_barrier_free(second);
}

TEST(a_handle_that_is_freed_while_arrived_breaks_the_round)
{
    waiting gone = arrive(client, "freed", 3), left = arrive(other, "freed", 3);
    int64_t freed_at;

    start_waiting(&left);
    start_waiting(&gone);
    await_queue_length("barrier", "freed", 2);
    interrupt_waiting(&gone);
    assert_waited(ILK_EINTR, &gone);
    freed_at = fixture_now_ms();
    ilk_barrier_free(gone.barrier);

    assert_waited(ILK_EBROKEN, &left);
    assert_in_range(left.ended_at - freed_at, 0, patience(300));
    ilk_barrier_free(left.barrier);
}

TEST(a_reset_breaks_the_round_and_sets_the_parties)
{
    waiting w = arrive(client, "reset", 3);
    ilk_barrier *two = open_barrier(other, "reset", 2);
    ilk_error err = {0};
    int64_t here = -1;

    start_waiting(&w);
    await_queue_length("barrier", "reset", 1);
    assert_status(ILK_EDIFFERS, ilk_barrier_wait(two, 1000, NULL, &err));
    assert_string_equal("the barrier has 3 parties, not 2", err.msg);
    assert_status(ILK_EDIFFERS, ilk_barrier_wait(two, 0, NULL, &err));
    assert_status(ILK_EDIFFERS, ilk_barrier_waiting(two, &here, &err));

    assert_status(ILK_OK, ilk_barrier_reset(two, &err));

    assert_waited(ILK_EBROKEN, &w);
    assert_says(&w, " reset the barrier");
    assert_status(ILK_EDIFFERS, ilk_barrier_wait(w.barrier, 1000, NULL, &err));
    assert_status(ILK_ETIMEOUT, ilk_barrier_wait(two, 20, NULL, &err));
    ilk_barrier_free(w.barrier);
    ilk_barrier_free(two);
}

TEST(closing_the_client_ends_its_wait)
{
    ilk_client *own = open_client();
    waiting w = arrive(own, "close", 2);
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("barrier", "close", 1);
    assert_status(ILK_OK, ilk_client_close(own, &err));

    assert_waited(ILK_ECLOSED, &w);
    ilk_barrier_free(w.barrier);
    ilk_client_free(own);
}

TEST(bad_input_is_refused)
{
    ilk_barrier *a = open_barrier(client, "bad", 1), *none = (ilk_barrier *)1;
    ilk_barrier_opts opts;
    ilk_error err = {0};

    assert_int_equal(ILK_EINVAL,
                     ilk_barrier_open(&none, client, "x", 1, 0, NULL, &err));
    assert_string_equal("parties must be 1 to 1024, got 0", err.msg);
    assert_null(none);
    assert_int_equal(ILK_EINVAL,
                     ilk_barrier_open(&none, client, "x", 1, 1025, NULL, &err));
    ilk_barrier_opts_init(&opts, sizeof opts);
    opts.keep_ms = -1;
    assert_int_equal(ILK_EINVAL,
                     ilk_barrier_open(&none, client, "x", 1, 1, &opts, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_barrier_open(NULL, client, "x", 1, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_barrier_open(&none, client, "", 0, 1, NULL, &err));
    assert_int_equal(ILK_EINVAL, ilk_barrier_wait(NULL, 0, NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_barrier_waiting(a, NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_barrier_reset(NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_barrier_cancel(NULL, NULL));
    ilk_barrier_opts_init(NULL, 8);
    ilk_barrier_free(NULL);
    ilk_barrier_free(a);
}
