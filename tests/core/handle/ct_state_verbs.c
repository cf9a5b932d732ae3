/* SPDX-License-Identifier: MIT */
/*
 * ct_state_verbs.c -- what is special about started operations of events,
 * latches and barriers; ct_started_waits.c and ct_started_requests.c have the
 * rest.
 */
#include "started.h"
#include "state_case.h"

#include <string.h>

AROUND_ALL(state_setup, state_teardown);

/* ---- the barrier's wait ------------------------------------------------- */

TEST(each_party_gets_its_index)
{
    ilk_barrier *parties[3];
    ilk_error err = {0};
    ilk_op *ops[3];

    for (int i = 0; i < 3; i++) {
        parties[i] = open_barrier(client, "index", 3);
        assert_status(ILK_OK,
                      ilk_barrier_wait_start(&ops[i], parties[i], -1, &err));
    }
    for (int i = 0; i < 3; i++) {
        assert_ended(ILK_OK, client, ops[i]);
        assert_int_equal(i, ilk_op_number(ops[i]));
        ilk_op_free(ops[i]);
        ilk_barrier_free(parties[i]);
    }
}

/* Decided in the server: whom the others saw arrive has arrived. */
TEST(a_cancelled_party_of_a_full_round_has_arrived)
{
    ilk_barrier *ours = open_barrier(client, "full", 2),
                *theirs = open_barrier(other, "full", 2);
    ilk_error err = {0};
    ilk_op *op = NULL;
    int64_t index = -1;

    assert_status(ILK_OK, ilk_barrier_wait_start(&op, ours, -1, &err));
    turn_until(client, "1", "ZCARD ilk:barrier:wait:{full}");
    assert_status(ILK_OK, ilk_barrier_wait(theirs, 0, &index, &err));
    assert_int_equal(1, index);

    assert_status(ILK_OK, ilk_op_cancel(op, &err));

    assert_ended(ILK_OK, client, op);
    assert_int_equal(0, ilk_op_number(op));
    ilk_op_free(op);
    ilk_barrier_free(ours);
    ilk_barrier_free(theirs);
}

TEST(a_cancelled_party_breaks_the_round)
{
    waiting w = {.barrier = open_barrier(other, "broken", 3),
                 .timeout_ms = 20000};
    ilk_barrier *ours = open_barrier(client, "broken", 3);
    ilk_error err = {0};
    ilk_op *op = NULL;

    start_waiting(&w);
    await_queue_length("barrier", "broken", 1);
    assert_status(ILK_OK, ilk_barrier_wait_start(&op, ours, -1, &err));
    turn_until(client, "2", "ZCARD ilk:barrier:wait:{broken}");

    assert_status(ILK_OK, ilk_op_cancel(op, &err));

    assert_ends(ILK_ECANCELLED, client, op);
    assert_waited(ILK_EBROKEN, &w);
    assert_int_equal(0, fixture_int(&fx, "ZCARD ilk:barrier:wait:{broken}"));
    ilk_barrier_free(ours);
    ilk_barrier_free(w.barrier);
}

TEST(a_barrier_is_read_and_reset)
{
    ilk_barrier *waits = open_barrier(client, "read", 3),
                *asks = open_barrier(client, "read", 3);
    ilk_error err = {0};
    ilk_op *wait = NULL, *op = NULL;

    assert_status(ILK_OK, ilk_barrier_wait_start(&wait, waits, -1, &err));
    turn_until(client, "1", "ZCARD ilk:barrier:wait:{read}");
    assert_status(ILK_OK, ilk_barrier_waiting_start(&op, asks, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(1, ilk_op_number(op));
    assert_int_equal(0, ilk_op_barrier_parties(op)); /* of another kind */
    ilk_op_free(op);
    assert_status(ILK_OK,
                  ilk_barrier_inspect_start(&op, client, "read", 4, &err));
    assert_int_equal(0, ilk_op_barrier_waiting(op)); /* it is under way */
    assert_ended(ILK_OK, client, op);
    assert_int_equal(3, ilk_op_barrier_parties(op));
    assert_int_equal(1, ilk_op_barrier_waiting(op));
    assert_int_equal(0, ilk_op_latch_left(op)); /* of another kind */
    ilk_op_free(op);

    assert_status(ILK_OK, ilk_barrier_reset_start(&op, asks, &err));

    assert_ends(ILK_OK, client, op);
    assert_ends(ILK_EBROKEN, client, wait);
    ilk_barrier_free(waits);
    ilk_barrier_free(asks);
}

/* ---- the latch ---------------------------------------------------------- */

TEST(a_latch_is_counted_and_reset)
{
    ilk_latch *a = open_latch(client, "n", 5), *b = open_latch(other, "n", 5);
    ilk_error err = {0};
    ilk_op *op = NULL;
    int64_t left = -1;

    assert_status(ILK_EINVAL, ilk_latch_count_down_start(&op, a, 0, &err));
    assert_null(op);
    assert_string_equal("n must be 1 to 1000000000, got 0", err.msg);
    assert_status(ILK_OK, ilk_latch_count_down_start(&op, a, 2, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(3, ilk_op_number(op));
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_latch_count_start(&op, a, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(3, ilk_op_number(op));
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_latch_inspect_start(&op, client, "n", 1, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(5, ilk_op_latch_count(op));
    assert_int_equal(3, ilk_op_latch_left(op));
    ilk_op_free(op);

    assert_status(ILK_OK, ilk_latch_reset_start(&op, a, &err));

    assert_ended(ILK_OK, client, op);
    assert_int_equal(0, ilk_op_number(op)); /* a reset has none */
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_latch_count(b, &left, &err));
    assert_int_equal(5, left);
    ilk_latch_free(a);
    ilk_latch_free(b);
}

TEST(the_operation_reports_a_failure)
{
    ilk_latch *a = open_latch(other, "differs", 3),
              *b = open_latch(client, "differs", 4);
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_latch_count_down(a, 1, NULL, &err));
    assert_status(ILK_OK, ilk_latch_wait_start(&op, b, -1, &err));
    assert_ended(ILK_EDIFFERS, client, op);
    assert_int_equal(ILK_EDIFFERS, ilk_op_status(op, &err));
    assert_string_equal("the latch counts down from 3, not 4", err.msg);
    ilk_op_free(op);
    assert_status(ILK_EINVAL,
                  ilk_latch_inspect_start(&op, client, "", 0, &err));
    assert_null(op);
    ilk_latch_free(a);
    ilk_latch_free(b);
}

/* ---- the event ---------------------------------------------------------- */

TEST(an_event_is_set_cleared_and_read)
{
    ilk_event *a = open_event(client, "event"),
              *b = open_event(client, "event");
    ilk_error err = {0};
    ilk_op *op = NULL;
    int64_t generation;
    size_t len;

    assert_status(ILK_OK, ilk_event_set_start(&op, a, "one", 3, &err));
    assert_ends(ILK_OK, client, op);
    assert_int_equal(1, ilk_event_is_set(a));
    assert_string_equal("one", ilk_event_data(a, &len));
    generation = ilk_event_generation(a);
    assert_status(ILK_OK, ilk_event_read_start(&op, b, &err));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("one", ilk_event_data(b, &len));
    assert_int_equal(generation, ilk_event_generation(b));

    assert_status(ILK_OK,
                  ilk_event_wait_change_start(&op, b, generation, -1, &err));
    turn_until(client, "1", "ZCARD ilk:event:wait:{event}");
    assert_status(ILK_OK, ilk_event_clear(a, &err));
    assert_ends(ILK_OK, client, op);
    assert_int_equal(0, ilk_event_is_set(b));
    assert_status(ILK_OK, ilk_event_clear_start(&op, b, &err));
    assert_ends(ILK_OK, client, op);
    assert_int_equal(ilk_event_generation(a), ilk_event_generation(b));
    assert_status(ILK_EINVAL,
                  ilk_event_wait_change_start(&op, b, -2, -1, &err));
    assert_null(op);
    ilk_event_free(a);
    ilk_event_free(b);
}
