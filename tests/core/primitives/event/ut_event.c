/* SPDX-License-Identifier: MIT */
/* ut_event.c -- waits for an event and for a latch, fed with answers. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "state_op.h"

#include <interlock/event.h>
#include <interlock/latch.h>

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk_event *event;
static ilk_latch *latch;

static int setup(void)
{
    ilk_error err = {0};

    if (state_op_setup() != 0
        || ilk_latch_open(&latch, &state_client, "l", 1, 3, NULL, &err))
        return -1;
    return ilk_event_open(&event, &state_client, "e", 1, NULL, &err);
}

static int teardown(void)
{
    ilk_event_free(event);
    ilk_latch_free(latch);
    return state_op_teardown();
}

AROUND_EACH(setup, teardown);

static void assert_asks(int queued, const char *known)
{
    char rest[512];

    snprintf(rest, sizeof rest, "%s %s", state_waiter(event)->token, known);
    assert_state_asks(event, queued, "event_wait",
                      "4 ilk:event:{e} ilk:event:once:{e} "
                      "ilk:event:wait:{e} ilk:event:live:{e}",
                      rest);
}

static void enqueue(void)
{
    assert_int_equal(state_begin(event, 5000), ILK__ACT_SEND);
    assert_asks(1, "0 ''");
    assert_int_equal(op_answer(&state_op, "%d -1 7 1 3", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
}

static void answer_state(int64_t generation, int is_set, const char *data)
{
    assert_int_equal(
        op_answer(&state_op, "*5\r\n:%d\r\n:%d\r\n:%d\r\n:-1\r\n$%zu\r\n%s\r\n",
                  ILK__CODE_STATE, (int)generation, is_set, strlen(data), data),
        ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_OK);
}

TEST(a_set_event_is_seen_at_once)
{
    assert_int_equal(state_begin(event, 5000), ILK__ACT_SEND);
    answer_state(77, 1, "data");
    assert_int_equal(77, ilk_event_generation(event));
    assert_int_equal(1, ilk_event_is_set(event));
    assert_string_equal("data", ilk_event_data(event, NULL));
    assert_null(state_waiter(event)->refresher);
}

TEST(woken_it_asks_again_in_the_same_place)
{
    char entry[ILK__ENTRY_MAX];

    enqueue();
    snprintf(entry, sizeof entry, "%s", state_waiter(event)->entry);
    inbox_receives("1 change ilk:event:wait:{e}");

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_string_equal(entry, state_waiter(event)->entry);
    assert_asks(1, "0 3");
    answer_state(78, 1, "");
    assert_string_equal("", ilk_event_data(event, NULL));
}

/* The message overtakes the answer that says that it stands in the wait
 * queue. */
TEST(a_change_before_the_answer_is_not_forgotten)
{
    assert_int_equal(state_begin(event, 5000), ILK__ACT_SEND);
    inbox_receives("1 change ilk:event:wait:{e}");

    assert_int_equal(op_answer(&state_op, "%d -1 7 1 3", ILK__CODE_QUEUED),
                     ILK__ACT_SEND);
    answer_state(79, 1, "");
}

TEST(one_message_wakes_all_of_this_client_in_that_list)
{
    ilk_event *other = NULL;
    ilk_error err = {0};
    ilk__op second;

    assert_int_equal(ILK_OK,
                     ilk_event_open(&other, &state_client, "e", 1, NULL, &err));
    enqueue();
    ilk__op_init(&second, state_op.type, state_waiter(other), state_op.deadline,
                 &err);
    assert_int_equal(op_start(&second), ILK__ACT_SEND);
    assert_int_equal(op_answer(&second, "%d -1 7 1 3", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);

    inbox_receives("1 change ilk:event:wait:{e}");

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_int_equal(op_wake(&second, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    ilk__op_free(&second);
    ilk_event_free(other);
}

TEST(a_change_of_another_list_wakes_nobody)
{
    enqueue();
    inbox_receives("1 change ilk:event:wait:{f}");
    inbox_receives("1 change ilk:event:{e}");

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
}

TEST(time_that_runs_out_takes_the_entry_back)
{
    enqueue();
    local_ms += 5000;
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_TIME), ILK__ACT_SEND_ONLY);
    assert_non_null(strstr(op_says(&state_op), "state_cancel! 4 "));
    assert_int_equal(op_sent(&state_op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_ETIMEOUT);
}

TEST(a_refresh_that_finds_it_gone_asks_again)
{
    ilk__inflight *inflight;

    enqueue();
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();
    assert_non_null(inflight);
    assert_non_null(strstr(op_says(&inflight->op), "state_refresh 4 "));
    inflight_answer(inflight, "%d -1 9 1 %d 0 0", ILK__CODE_BUSY,
                    ILK__CODE_GONE);
    inflight_end(inflight, ILK_OK);

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    answer_state(80, 1, "");
}

TEST(an_answer_of_another_shape_is_refused)
{
    assert_int_equal(state_begin(event, 0), ILK__ACT_SEND);
    assert_int_equal(op_answer(&state_op, "%d 5", ILK__CODE_STATE),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&state_op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_EREPLY);
}

/* ---- the latch ---------------------------------------------------------- */

TEST(a_latch_asks_with_its_count)
{
    char rest[512];

    assert_int_equal(state_begin(latch, 5000), ILK__ACT_SEND);
    snprintf(rest, sizeof rest, "%s 3 86400000", state_waiter(latch)->token);
    assert_state_asks(latch, 1, "latch_wait",
                      "4 ilk:latch:{l} ilk:latch:once:{l} ilk:latch:wait:{l} "
                      "ilk:latch:live:{l}",
                      rest);
    assert_int_equal(op_answer(&state_op, "%d 0", ILK__CODE_STATE),
                     ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_OK);
}

TEST(a_latch_that_was_begun_anew_with_another_count_ends_it)
{
    assert_int_equal(state_begin(latch, 5000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&state_op, "%d -1 7 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
    inbox_receives("1 change ilk:latch:wait:{l}");
    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_int_equal(op_answer(&state_op, "%d 4", ILK__CODE_DIFFERS),
                     ILK__ACT_DONE);

    assert_int_equal(state_op.status, ILK_EDIFFERS);
    assert_string_equal(state_op.err->msg,
                        "the latch counts down from 4, not 3");
    assert_null(state_waiter(latch)->refresher);
}
