/* SPDX-License-Identifier: MIT */
/* ut_errand_lost.c -- errands: a link that is lost, what is told, who sleeps. */
/* link: -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__link_send */
#include "errand_case.h"

/* ---- a link that is lost ------------------------------------------------ */

static void what_was_on_the_wire_is_asked_again(void **state)
{
    (void)state;
    start_errands(3);

    lose_link();
    assert_int_equal(errands.count, 0);
    assert_int_equal(runners[0].ended, 0);
    bring_link_up();

    assert_int_equal(sent, 6);
    answer_errands(3);
    for (int i = 0; i < 3; i++)
        assert_errand_ended(&runners[i], ILK_OK);
    assert_int_equal(runners[0].err.code, 0);
}

static void what_was_held_fails_and_tells_why(void **state)
{
    (void)state;
    errands.link.up = 0;
    start_errand(0, &op_case_change, -1);

    lose_link();

    assert_errand_ended(&runners[0], ILK_ECONN);
    assert_string_equal(runners[0].err.msg, "gone");
    assert_int_equal(sent, 0);
}

static void the_line_moves_up_when_the_wire_is_lost(void **state)
{
    (void)state;
    start_errands(ILK__WIRE_FULL + 2);

    lose_link();
    bring_link_up();

    assert_int_equal(sent, 2 * ILK__WIRE_FULL + 2);
    answer_errands((int)errands.count);
    for (int i = 0; i < ILK__WIRE_FULL + 2; i++)
        assert_errand_ended(&runners[i], ILK_OK);
}

/* ---- telling ------------------------------------------------------------ */

static ilk__act tell(ilk__op *op)
{
    return ilk__op_tell(op, &pledged.promise);
}

static ilk__act told(ilk__op *op, ilk_status status)
{
    return ilk__op_done(op, status);
}

static void ask_ping(ilk__op *op)
{
    ilk__command_add_str(&op->command, "PING");
}

static const ilk__op_type telling = {.name = "telling",
                                     .script = ILK__SCRIPT_NONE,
                                     .ask = ask_ping,
                                     .start = tell,
                                     .told = told};

static void assert_kept(ilk_status status)
{
    assert_int_equal(pledged.ended, 1);
    assert_int_equal(pledged.status, status);
}

static void a_promise_is_kept_by_the_answer(void **state)
{
    const runner *self;

    (void)state;
    self = start_errand(0, &telling, -1);

    assert_errand_ended(self, ILK_OK); /* nobody waits for it */
    assert_int_equal(pledged.ended, 0);
    answer_errands(1);
    assert_kept(ILK_OK);
}

static void a_promise_is_broken_by_an_error(void **state)
{
    (void)state;
    start_errand(0, &telling, -1);

    ilk__errands_reply(&errands, op_case_reply("-ERR no\r\n"));

    assert_kept(ILK_ESERVER);
}

static void a_promise_is_broken_with_the_link(void **state)
{
    (void)state;
    start_errand(0, &telling, -1);

    lose_link();

    assert_kept(ILK_ECONN);
}

static void a_promise_is_broken_when_nothing_is_sent(void **state)
{
    const runner *self;

    (void)state;
    errands.link.up = 0;
    self = start_errand(0, &telling, -1);

    assert_errand_ended(self,
                        ILK_ECONN); /* told later it could follow what it was
                                      to be ahead of */
    assert_kept(ILK_ECONN);
}

static void a_promise_ends_with_the_client(void **state)
{
    (void)state;
    start_errand(0, &telling, -1);

    ilk__errands_free(&errands);

    assert_kept(ILK_ECLOSED);
}

/* ---- sleeping ----------------------------------------------------------- */

static ilk__act doze(ilk__op *op)
{
    return ilk__op_sleep(op, op->deadline);
}

static ilk__act woken(ilk__op *op, ilk__cause cause)
{
    return ilk__op_done(op, cause == ILK__CAUSE_NEWS     ? ILK_OK
                            : cause == ILK__CAUSE_CLOSED ? ILK_ECLOSED
                                                         : ILK_ETIMEOUT);
}

static const ilk__op_type dozing = {.name = "dozing",
                                    .script = ILK__SCRIPT_NONE,
                                    .ask = ask_ping,
                                    .start = doze,
                                    .wake = woken};

static void who_sleeps_is_woken_by_news_by_time_and_by_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        start_errand(i, &dozing, 100);

    ilk__errand_wake(&errands, &runners[0].errand, ILK__CAUSE_NEWS);
    assert_errand_ended(&runners[0], ILK_OK);
    ilk__errand_close(&errands, &runners[1].errand);
    assert_errand_ended(&runners[1], ILK_ECLOSED);
    tick(99);
    assert_int_equal(runners[2].ended, 0);
    tick(1);
    assert_errand_ended(&runners[2], ILK_ETIMEOUT);
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, errand_setup, errand_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_was_on_the_wire_is_asked_again),
        TEST(what_was_held_fails_and_tells_why),
        TEST(the_line_moves_up_when_the_wire_is_lost),
        TEST(a_promise_is_kept_by_the_answer),
        TEST(a_promise_is_broken_by_an_error),
        TEST(a_promise_is_broken_with_the_link),
        TEST(a_promise_is_broken_when_nothing_is_sent),
        TEST(a_promise_ends_with_the_client),
        TEST(who_sleeps_is_woken_by_news_by_time_and_by_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
