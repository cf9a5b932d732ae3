/* SPDX-License-Identifier: MIT */
/* ut_op.c -- operations: asking, and what the server answers. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "op_case.h"

#include <string.h>

#include "cmocka_all.h"

static ilk_error err;
static ilk__op op;

static int setup(void **state)
{
    memset(&err, 0, sizeof err);
    return op_case_setup(state);
}

static int teardown(void **state)
{
    ilk__op_free(&op);
    return op_case_teardown(state);
}

/* An operation that has asked its question once. */
static void begin(const ilk__op_type *type, int64_t timeout_ms)
{
    ilk__op_init(&op, type, NULL, __wrap_ilk__deadline(timeout_ms), &err);
    assert_int_equal(op_start(&op), ILK__ACT_SEND);
}

/* ---- asking ------------------------------------------------------------- */

static void a_question_is_sent_and_its_answer_ends_it(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);
    assert_string_equal(op_says(&op), "lock_extend" OP_CASE_WORDS);
    assert_int_equal(op.sent_at, local_ms);

    local_ms += 7;
    assert_int_equal(op_answer(&op, "1 30000 17 5"), ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_OK);
    assert_int_equal(op.first_sent_at, OP_CASE_BEGIN_MS);
    assert_int_equal(op.contact_at, local_ms);
    assert_int_equal(op_case_seen.answered, 1);
    assert_int_equal(err.code, 0);
}

static void an_unknown_script_is_sent_in_full(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);

    local_ms += 3;
    assert_int_equal(op_answer(&op, "-NOSCRIPT No matching script.\r\n"),
                     ILK__ACT_SEND);

    assert_string_equal(op_says(&op), "lock_extend!" OP_CASE_WORDS);
    assert_int_equal(op.sent_at, local_ms);
    assert_int_equal(op.first_sent_at, OP_CASE_BEGIN_MS);
    assert_int_equal(op.retried, 0);
    assert_int_equal(op_answer(&op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_OK);
}

static void a_server_that_knows_no_script_in_full_is_left(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);

    assert_int_equal(op_answer(&op, "-NOSCRIPT No matching script.\r\n"),
                     ILK__ACT_SEND);
    assert_int_equal(op_answer(&op, "-NOSCRIPT No matching script.\r\n"),
                     ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_ESERVER);
    assert_int_equal(err.code, ILK_ESERVER);
}

static void an_answer_of_another_shape_is_refused(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);

    assert_int_equal(op_answer(&op, "1 30000 17"), ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_EREPLY);
    assert_int_equal(err.code, ILK_EREPLY);
    assert_non_null(strstr(err.msg, "lock_extend"));
    assert_int_equal(op_case_seen.answered, 0);
}

static void an_error_of_the_server_ends_it(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);

    assert_int_equal(op_answer(&op, "-NOPERM no right to 'evalsha'\r\n"),
                     ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_EAUTH);
    assert_non_null(strstr(err.msg, "evalsha"));
}

static void a_plain_command_is_not_taken_for_a_script(void **state)
{
    (void)state;
    begin(&op_case_ping, 5000);
    assert_string_equal(op_says(&op), "PING");

    assert_int_equal(op_answer(&op, "+PONG\r\n"), ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_OK);
}

/* ---- a server that is busy ---------------------------------------------- */

static void busy_and_loading_are_told_to_the_impatient(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);
    assert_int_equal(op_answer(&op, "-BUSY running a script\r\n"),
                     ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_ESERVERBUSY);
    assert_int_equal(err.code, ILK_ESERVERBUSY);
    ilk__op_free(&op);

    begin(&op_case_change, 5000);
    assert_int_equal(op_answer(&op, "-LOADING the data set\r\n"),
                     ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_ESERVERLOADING);
}

static void the_patient_ask_a_busy_server_until_it_answers(void **state)
{
    (void)state;
    begin(&op_case_change, 5000);
    op.patient = 1;

    for (int i = 0; i < 30; i++) {
        assert_int_equal(op_answer(&op, i % 2 ? "-BUSY a script runs\r\n"
                                              : "-LOADING data\r\n"),
                         ILK__ACT_SLEEP);
        assert_in_range(op.wake_at, local_ms + 1, local_ms + 250);
        local_ms = op.wake_at;
        assert_int_equal(op_wake(&op, ILK__CAUSE_TIME),
                         op.now < op.deadline ? ILK__ACT_SEND : ILK__ACT_DONE);
        assert_int_equal(err.code, 0); /* what passed is not told */
        if (local_ms > OP_CASE_BEGIN_MS + 3000)
            break;
    }

    assert_in_range(local_ms, OP_CASE_BEGIN_MS + 2000, OP_CASE_BEGIN_MS + 4000);
    assert_int_equal(op_answer(&op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_OK);
    assert_int_equal(op.retried, 0); /* none of the copies ran */
}

static void a_server_that_stays_busy_ends_it_at_the_deadline(void **state)
{
    ilk__act act;

    (void)state;
    begin(&op_case_change, 1000);
    op.patient = 1;

    while ((act = op_answer(&op, "-BUSY a script runs\r\n"))
           == ILK__ACT_SLEEP) {
        local_ms = op.wake_at;
        assert_int_equal(op_wake(&op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    }

    assert_int_equal(act, ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_ESERVERBUSY);
    assert_int_equal(local_ms, op.deadline);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_is_sent_and_its_answer_ends_it),
        TEST(an_unknown_script_is_sent_in_full),
        TEST(a_server_that_knows_no_script_in_full_is_left),
        TEST(an_answer_of_another_shape_is_refused),
        TEST(an_error_of_the_server_ends_it),
        TEST(a_plain_command_is_not_taken_for_a_script),
        TEST(busy_and_loading_are_told_to_the_impatient),
        TEST(the_patient_ask_a_busy_server_until_it_answers),
        TEST(a_server_that_stays_busy_ends_it_at_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
