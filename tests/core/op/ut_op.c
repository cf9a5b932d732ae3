/* SPDX-License-Identifier: MIT */
/* ut_op.c -- operations: asking, and what the server answers. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "sent_op_case.h"

#include <string.h>

#include "test.h"

AROUND_EACH(sent_op_setup, sent_op_teardown);

/* ---- asking ------------------------------------------------------------- */

TEST(a_question_is_sent_and_its_answer_ends_it)
{
    send_op(&op_case_change, 5000);
    assert_string_equal(op_says(&sent_op), "lock_extend" OP_CASE_WORDS);
    assert_int_equal(sent_op.sent_at, local_ms);

    local_ms += 7;
    assert_int_equal(op_answer(&sent_op, "1 30000 17 5"), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_OK);
    assert_int_equal(sent_op.contact_at, local_ms);
    assert_int_equal(op_case_seen.answered, 1);
    assert_int_equal(sent_err.code, 0);
}

TEST(an_unknown_script_is_sent_in_full)
{
    send_op(&op_case_change, 5000);

    local_ms += 3;
    assert_int_equal(op_answer(&sent_op, "-NOSCRIPT No matching script.\r\n"),
                     ILK__ACT_SEND);

    assert_string_equal(op_says(&sent_op), "lock_extend!" OP_CASE_WORDS);
    assert_int_equal(sent_op.sent_at, local_ms);
    assert_int_equal(sent_op.retried, 0);
    assert_int_equal(op_answer(&sent_op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_OK);
}

TEST(a_server_that_knows_no_script_in_full_is_left)
{
    send_op(&op_case_change, 5000);

    assert_int_equal(op_answer(&sent_op, "-NOSCRIPT No matching script.\r\n"),
                     ILK__ACT_SEND);
    assert_int_equal(op_answer(&sent_op, "-NOSCRIPT No matching script.\r\n"),
                     ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_ESERVER);
    assert_int_equal(sent_err.code, ILK_ESERVER);
}

TEST(an_answer_of_another_shape_is_refused)
{
    send_op(&op_case_change, 5000);

    assert_int_equal(op_answer(&sent_op, "1 30000 17"), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_EREPLY);
    assert_int_equal(sent_err.code, ILK_EREPLY);
    assert_non_null(strstr(sent_err.msg, "lock_extend"));
    assert_int_equal(op_case_seen.answered, 0);
}

TEST(an_error_of_the_server_ends_it)
{
    send_op(&op_case_change, 5000);

    assert_int_equal(op_answer(&sent_op, "-NOPERM no right to 'evalsha'\r\n"),
                     ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_EAUTH);
    assert_non_null(strstr(sent_err.msg, "evalsha"));
}

TEST(a_plain_command_is_not_taken_for_a_script)
{
    send_op(&op_case_ping, 5000);
    assert_string_equal(op_says(&sent_op), "PING");

    assert_int_equal(op_answer(&sent_op, "+PONG\r\n"), ILK__ACT_DONE);

    assert_int_equal(sent_op.status, ILK_OK);
}

/* ---- a server that is busy ---------------------------------------------- */

TEST(busy_and_loading_are_errors_of_the_impatient)
{
    send_op(&op_case_change, 5000);
    assert_int_equal(op_answer(&sent_op, "-BUSY running a script\r\n"),
                     ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ESERVERBUSY);
    assert_int_equal(sent_err.code, ILK_ESERVERBUSY);
    ilk__op_free(&sent_op);

    send_op(&op_case_change, 5000);
    assert_int_equal(op_answer(&sent_op, "-LOADING the data set\r\n"),
                     ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ESERVERLOADING);
}

TEST(the_patient_ask_a_busy_server_until_it_answers)
{
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;

    for (int i = 0; i < 30; i++) {
        assert_int_equal(op_answer(&sent_op, i % 2 ? "-BUSY a script runs\r\n"
                                                   : "-LOADING data\r\n"),
                         ILK__ACT_SLEEP);
        assert_in_range(sent_op.wake_at, local_ms + 1, local_ms + 250);
        local_ms = sent_op.wake_at;
        assert_int_equal(op_wake(&sent_op, ILK__CAUSE_TIME),
                         sent_op.now < sent_op.deadline ? ILK__ACT_SEND
                                                        : ILK__ACT_DONE);
        assert_int_equal(sent_err.code, 0); /* what passed is no error */
        if (local_ms > OP_CASE_BEGIN_MS + 3000)
            break;
    }

    assert_in_range(local_ms, OP_CASE_BEGIN_MS + 2000, OP_CASE_BEGIN_MS + 4000);
    assert_int_equal(op_answer(&sent_op, "1 30000 17 5"), ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_OK);
    assert_int_equal(sent_op.retried, 0); /* none of the copies ran */
}

/* A gateway says so of a copy that no server has executed. */
TEST(a_store_out_of_reach_is_no_contact)
{
    ilk__act act;

    send_op(&op_case_change, 5000);
    assert_int_equal(op_answer(&sent_op, "-ILKDOWN no node\r\n"),
                     ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ECONN);

    ilk__op_free(&sent_op);
    send_op(&op_case_change, -1);
    sent_op.persist_ms = ILK__FOREVER;
    while ((act = op_answer(&sent_op, "-ILKDOWN no node\r\n"))
           == ILK__ACT_SLEEP) {
        local_ms = sent_op.wake_at;
        if (op_wake(&sent_op, ILK__CAUSE_TIME) != ILK__ACT_SEND)
            break;
    }
    assert_int_equal(sent_op.status, ILK_ECONN);
    assert_in_range(local_ms, OP_CASE_BEGIN_MS + ILK__CONTACT_LOST_MS,
                    OP_CASE_BEGIN_MS + 2 * ILK__CONTACT_LOST_MS);

    ilk__op_free(&sent_op);
    send_op(&op_case_change, 5000);
    sent_op.persist_ms = ILK__FOREVER;
    assert_int_equal(op_no_answer(&sent_op, ILK_ECONN, 1), ILK__ACT_SEND);
    assert_int_equal(op_answer(&sent_op, "-ILKDOWN no node\r\n"),
                     ILK__ACT_SLEEP); /* the first copy may have run */
    assert_int_equal(sent_op.retried, 1);
}

TEST(a_server_that_stays_busy_ends_it_at_the_deadline)
{
    ilk__act act;

    send_op(&op_case_change, 1000);
    sent_op.persist_ms = ILK__FOREVER;

    while ((act = op_answer(&sent_op, "-BUSY a script runs\r\n"))
           == ILK__ACT_SLEEP) {
        local_ms = sent_op.wake_at;
        act = op_wake(&sent_op, ILK__CAUSE_TIME);
        if (act == ILK__ACT_DONE)
            break;
        assert_int_equal(act, ILK__ACT_SEND);
    }

    assert_int_equal(act, ILK__ACT_DONE);
    assert_int_equal(sent_op.status, ILK_ESERVERBUSY);
    assert_int_equal(local_ms, sent_op.deadline);
}
