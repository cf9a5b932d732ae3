/* SPDX-License-Identifier: MIT */
/* ut_barrier.c -- a party of a barrier, fed with answers. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "state_op.h"

#include <interlock/barrier.h>

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk_barrier *barrier;

static int setup(void)
{
    ilk_error err = {0};

    if (state_op_setup() != 0)
        return -1;
    return ilk_barrier_open(&barrier, &state_client, "b", 1, 3, NULL, &err);
}

static int teardown(void)
{
    ilk_barrier_free(barrier);
    return state_op_teardown();
}

AROUND_EACH(setup, teardown);

/* Its request in this mode, with this number known. */
static void assert_asks(const char *mode, int number)
{
    char rest[512];

    snprintf(rest, sizeof rest, "%s %s 3 3600000 %d %s", mode,
             state_waiter(barrier)->token, number, shared.label);
    assert_state_asks(barrier, strcmp(mode, "wait") == 0, "barrier_wait",
                      "5 ilk:barrier:{b} ilk:barrier:arrived:{b} "
                      "ilk:barrier:wait:{b} ilk:barrier:live:{b} "
                      "ilk:barrier:rounds:{b}",
                      rest);
}

static void arrive(int64_t timeout_ms)
{
    assert_int_equal(state_begin(barrier, timeout_ms), ILK__ACT_SEND);
    assert_asks("wait", 0);
    assert_int_equal(op_answer(&state_op, "%d -1 7 1 42", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
}

TEST(the_last_to_arrive_is_done_at_once)
{
    assert_int_equal(state_begin(barrier, 5000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&state_op, "%d 2 40", ILK__CODE_STATE),
                     ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_OK);
    assert_null(state_waiter(barrier)->refresher);
}

TEST(a_change_is_requested_under_the_same_number)
{
    arrive(5000);
    inbox_receives("1 change ilk:barrier:wait:{b}");

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_asks("wait", 42);
    assert_int_equal(op_answer(&state_op, "%d 0 42", ILK__CODE_STATE),
                     ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_OK);
}

TEST(a_change_of_another_list_wakes_nobody)
{
    arrive(5000);
    inbox_receives("1 change ilk:barrier:wait:{c}");

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
}

TEST(time_that_runs_out_asks_to_leave)
{
    arrive(5000);
    local_ms += 5000;
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_asks("leave", 42);

    assert_int_equal(op_answer(&state_op, "%d", ILK__CODE_GONE), ILK__ACT_DONE);

    assert_int_equal(state_op.status, ILK_ETIMEOUT);
    assert_null(state_waiter(barrier)->refresher);
}

TEST(a_party_that_leaves_too_late_has_passed)
{
    arrive(5000);
    local_ms += 5000;
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_TIME), ILK__ACT_SEND);

    assert_int_equal(op_answer(&state_op, "%d 0 42", ILK__CODE_STATE),
                     ILK__ACT_DONE);

    assert_int_equal(state_op.status, ILK_OK);
}

TEST(a_party_whose_leave_is_lost_takes_its_entry_back)
{
    arrive(5000);
    local_ms += 5000;
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_TIME), ILK__ACT_SEND);

    assert_int_equal(op_no_answer(&state_op, ILK_ECONN, 0), ILK__ACT_SEND_ONLY);

    assert_non_null(strstr(op_says(&state_op), "barrier_cancel! 5 "));
    assert_int_equal(op_sent(&state_op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_ECONN);
}

/* The message that the round is full came, and the time to ask did not do. */
TEST(time_that_runs_out_on_a_question_asks_what_came_of_it)
{
    arrive(5000);
    inbox_receives("1 change ilk:barrier:wait:{b}");
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    local_ms += 5000;
    assert_int_equal(op_no_answer(&state_op, ILK_ETIMEOUT, 1), ILK__ACT_SEND);
    assert_asks("leave", 42);

    assert_int_equal(op_answer(&state_op, "%d 0 42", ILK__CODE_STATE),
                     ILK__ACT_DONE);

    assert_int_equal(state_op.status, ILK_OK);
}

static void assert_broken(const char *why, const char *text)
{
    char resp[128];

    assert_int_equal(state_begin(barrier, 5000), ILK__ACT_SEND);
    snprintf(resp, sizeof resp, "*2\r\n:%d\r\n$%zu\r\n%s\r\n", ILK__CODE_LOST,
             strlen(why), why);
    assert_int_equal(op_answer(&state_op, "%s", resp), ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_EBROKEN);
    assert_string_equal(state_op.err->msg, text);
    assert_null(state_waiter(barrier)->refresher);
}

TEST(a_broken_round_says_who_left_it)
{
    assert_broken("left host:7", "the round broke: host:7 left it");
    assert_broken("dead host:7",
                  "the round broke: host:7 does not answer any more");
    assert_broken("reset host:7", "the round broke: host:7 reset the barrier");
    assert_broken("forgotten", "the round broke: the server has forgotten it");
}

TEST(another_number_of_parties_is_not_queued)
{
    assert_int_equal(state_begin(barrier, 5000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&state_op, "%d 9", ILK__CODE_DIFFERS),
                     ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_EDIFFERS);
    assert_string_equal(state_op.err->msg, "the barrier has 9 parties, not 3");
    assert_null(state_waiter(barrier)->refresher);
}

TEST(a_try_stands_nowhere)
{
    assert_int_equal(state_begin(barrier, 0), ILK__ACT_SEND);
    assert_asks("try", 0);
    assert_int_equal(op_answer(&state_op, "%d -1 7 1", ILK__CODE_BUSY),
                     ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_EBUSY);
    assert_null(state_waiter(barrier)->refresher);
}

/* The number belongs to its token: the next wait begins without one. */
TEST(the_next_wait_knows_no_number)
{
    arrive(5000);
    inbox_receives("1 change ilk:barrier:wait:{b}");
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_int_equal(op_answer(&state_op, "%d 0 42", ILK__CODE_STATE),
                     ILK__ACT_DONE);

    arrive(5000);
}
