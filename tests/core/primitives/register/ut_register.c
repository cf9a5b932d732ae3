/* SPDX-License-Identifier: MIT */
/* ut_register.c -- a wait for a register, fed with replies. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "state_op.h"

#include <interlock/register.h>

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk_register *reg;

static int setup(void)
{
    ilk_error err = {0};

    if (state_op_setup() != 0)
        return -1;
    return ilk_register_open(&reg, &state_client, "r", 1, &err);
}

static int teardown(void)
{
    ilk_register_free(reg);
    return state_op_teardown();
}

AROUND_EACH(setup, teardown);

static void assert_asks(int queued, const char *known)
{
    char rest[512];

    snprintf(rest, sizeof rest, "%s %s", state_waiter(reg)->token, known);
    assert_state_asks(reg, queued, "register_wait",
                      "4 ilk:register:{r} ilk:register:once:{r} "
                      "ilk:register:wait:{r} ilk:register:live:{r}",
                      rest);
}

static void enqueue(void)
{
    assert_int_equal(state_begin(reg, 5000), ILK__ACT_SEND);
    assert_asks(1, "0");
    assert_int_equal(op_answer(&state_op, "%d -1 7 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
}

static void answer_state(int64_t version, int has_value, const char *value)
{
    assert_int_equal(op_answer(&state_op,
                               "*4\r\n:%d\r\n:%d\r\n:%d\r\n$%zu\r\n%s\r\n",
                               ILK__CODE_STATE, (int)version, has_value,
                               strlen(value), value),
                     ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_OK);
}

TEST(another_version_is_seen_at_once)
{
    assert_int_equal(state_begin(reg, 5000), ILK__ACT_SEND);
    answer_state(77, 1, "value");
    assert_int_equal(77, ilk_register_version(reg));
    assert_string_equal("value", ilk_register_value(reg, NULL));
    assert_null(state_waiter(reg)->refresher);
}

TEST(no_value_is_not_an_empty_one)
{
    assert_int_equal(state_begin(reg, 5000), ILK__ACT_SEND);
    answer_state(77, 1, "");
    assert_string_equal("", ilk_register_value(reg, NULL));
    assert_int_equal(state_begin(reg, 5000), ILK__ACT_SEND);
    answer_state(78, 0, "");
    assert_null(ilk_register_value(reg, NULL));
    assert_int_equal(78, ilk_register_version(reg));
}

TEST(woken_it_asks_again_in_the_same_place)
{
    char entry[ILK__ENTRY_MAX];

    enqueue();
    snprintf(entry, sizeof entry, "%s", state_waiter(reg)->entry);
    inbox_receives("1 change ilk:register:wait:{r}");

    assert_int_equal(op_wake(&state_op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_string_equal(entry, state_waiter(reg)->entry);
    assert_asks(1, "0");
    answer_state(78, 0, "");
}

TEST(a_change_of_another_register_wakes_nobody)
{
    enqueue();
    inbox_receives("1 change ilk:register:wait:{s}");

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

TEST(a_reply_of_another_shape_is_refused)
{
    assert_int_equal(state_begin(reg, 0), ILK__ACT_SEND);
    assert_int_equal(op_answer(&state_op, "%d 5", ILK__CODE_STATE),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&state_op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(state_op.status, ILK_EREPLY);
}
