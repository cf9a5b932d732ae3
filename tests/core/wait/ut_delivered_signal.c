/* SPDX-License-Identifier: MIT */
/* ut_delivered_signal.c -- signals find those who wait for them, with their
 * data. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "base/alloc.h"
#include "gate_case.h"

#include <string.h>

#include "test.h"

AROUND_EACH(gate_setup, gate_teardown);

static void assert_got(gate *g, const char *signals)
{
    ilk__act act = op_wake(&g->op, ILK__CAUSE_NEWS);

    if (act == ILK__ACT_SEND_ONLY) /* its places in other lists */
        act = op_sent(&g->op, ILK_OK);
    assert_int_equal(act, ILK__ACT_DONE);
    assert_int_equal(g->op.status, ILK_OK);
    assert_string_equal(gate_signals(g), signals);
    assert_null(g->waiter.refresher);
}

static void assert_waits(gate *g)
{
    assert_int_equal(op_wake(&g->op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
}

static char accepted[] = "00"; /* of the two names */

TEST(a_signal_ends_the_wait_and_its_other_places)
{
    gate_queue(&my_gate, -1);

    inbox_receives("1 signal s1 id1 4 blueone");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);

    assert_non_null(strstr(op_says(&my_gate.op), "lock_cancel! 4 w:red"));
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);
    assert_string_equal(gate_signals(&my_gate), "1 id1 blue=one;");
}

TEST(with_one_list_nothing_is_left_to_cancel)
{
    gate red;

    gate_open(&red, 1);
    gate_queue(&red, -1);

    inbox_receives("1 signal s1 id1 3 red");
    assert_int_equal(op_wake(&red.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_string_equal(gate_signals(&red), "0 id1 red=;");
    gate_close(&red);
}

TEST(an_accepted_signal_is_acknowledged)
{
    my_gate.waiter.accepted = accepted;
    gate_queue(&my_gate, -1);

    inbox_receives("1 signal s1 id1 4 blueone");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_string_equal(accepted, "01");

    /* a second copy, and the other list's signal, which is handed on */
    inbox_receives("1 signal s1 id1 4 blueone");
    inbox_receives("1 signal s1 id2 3 redtwo");
    assert_string_equal(gate_orphaned, "");
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);
    assert_string_equal(gate_signals(&my_gate), "1 id1 blue=one;");
}

TEST(data_are_any_bytes)
{
    gate_queue(&my_gate, -1);

    inbox_receives_bytes("1 signal s1 id1 3 red\0 \n\xff", 25);

    assert_int_equal(my_gate.waiter.delivered_count, 1);
    assert_int_equal(my_gate.waiter.delivered->message->data_len, 4);
    assert_memory_equal(my_gate.waiter.delivered->message->data, "\0 \n\xff",
                        4);
}

TEST(a_wait_for_all_takes_one_of_each)
{
    my_gate.waiter.wants_all = 1;
    gate_queue(&my_gate, -1);

    inbox_receives("1 signal s1 id1 4 blueone");
    assert_waits(&my_gate);
    inbox_receives("1 signal s1 id2 4 bluetwo");
    assert_string_equal(gate_orphaned, "");
    inbox_receives("1 notify 99 id3 3 redall");

    assert_got(&my_gate, "1 id1 blue=one;0 id3 red=all;");
}

TEST(what_a_wait_for_any_does_not_want_is_left_to_the_server)
{
    gate_queue(&my_gate, -1);

    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receives("1 signal s1 id2 4 bluetwo");
    inbox_receives("1 notify 99 id3 3 redall"); /* others had their copy */

    assert_got(&my_gate, "0 id1 red=one;");
    inbox_receives("1 signal s1 id4 3 redlate");
    assert_string_equal(gate_orphaned, "");
}

TEST(a_signal_for_nobody_is_orphaned_with_its_data)
{
    inbox_receives("1 signal s77 id1 3 reddata");
    gate_queue(&my_gate, -1);
    inbox_receives("1 signal s1 id2 5 greendata"); /* not what it waits for */

    assert_string_equal(gate_orphaned, "s77 id1 red=data;");
    assert_waits(&my_gate);
}

TEST(a_wake_up_of_nobody_is_orphaned)
{
    inbox_receives("1 wake q77 jobs");

    assert_string_equal(gate_orphaned, "q77 - jobs=;");
}

TEST(a_wait_for_all_that_ends_leaves_what_it_had_to_the_server)
{
    my_gate.waiter.wants_all = 1;
    my_gate.waiter.accepted = accepted;
    gate_queue(&my_gate, 8000);
    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receives("1 notify 99 id2 3 redall");

    local_ms = my_gate.op.deadline;
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);
    inbox_receives("1 wake s1 ");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_string_equal(accepted, "00");
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ETIMEOUT);
    assert_string_equal(gate_orphaned, "");
    assert_null(my_gate.waiter.delivered);
}

TEST(a_suspended_wait_that_is_dropped_leaves_what_it_had_to_the_server)
{
    gate_queue(&my_gate, -1);
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    inbox_receives("1 signal s1 id1 3 redone");

    ilk__waiter_cancel(&my_gate.waiter);

    assert_string_equal(gate_orphaned, "");
    assert_null(my_gate.waiter.delivered);
}

TEST(a_suspended_wait_is_taken_up_with_its_signal)
{
    gate_queue(&my_gate, -1);
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    inbox_receives("1 signal s1 id1 3 redone");

    assert_int_equal(gate_wait(&my_gate, -1), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_string_equal(gate_signals(&my_gate), "0 id1 red=one;");
}

TEST(the_next_wait_begins_without_the_last_ones_signals)
{
    gate_queue(&my_gate, -1);
    inbox_receives("1 signal s1 id1 3 redone");
    assert_got(&my_gate, "0 id1 red=one;");

    gate_queue(&my_gate, -1);

    assert_string_equal(gate_signals(&my_gate), "");
    assert_string_equal(gate_orphaned, "");
    assert_waits(&my_gate);
}

TEST(a_second_copy_is_dropped_also_when_nobody_waits_now)
{
    gate_queue(&my_gate, -1);
    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receives("1 signal s1 id1 3 redone");
    assert_got(&my_gate, "0 id1 red=one;");
    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receives("1 notify 99 id2 3 redall");

    gate_queue(&my_gate, -1); /* stands at 10, so the copy would meet it */
    inbox_receives("1 notify 99 id2 3 redall");

    assert_waits(&my_gate);
    assert_string_equal(gate_orphaned, "");
}

/* ---- tickets ------------------------------------------------------------ */

/* Who has its signal of a name does not stand in the wait queue for it
 * again. */
TEST(a_word_of_a_name_that_has_come_is_not_heeded)
{
    my_gate.waiter.wants_all = 1;
    gate_queue(&my_gate, -1);
    inbox_receives("1 signal s1 id1 4 blueone");

    inbox_receives("1 wake s1 blue");
    assert_waits(&my_gate);
    inbox_receives("1 wake s1 red");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
}

TEST(all_who_are_told_the_same_share_one_copy)
{
    gate red;

    gate_open(&red, 1);
    gate_queue(&my_gate, -1);
    gate_queue(&red, -1);

    inbox_receives("1 notify 10 id1 3 redall");

    assert_ptr_equal(my_gate.waiter.delivered->message->data,
                     red.waiter.delivered->message->data);
    assert_got(&my_gate, "0 id1 red=all;");
    gate_close(&red);
}

TEST(a_notify_is_for_all_who_stood_there)
{
    gate red;

    gate_open(&red, 1);
    gate_queue(&my_gate, -1);
    gate_queue(&red, -1);

    inbox_receives("1 notify 9 id1 3 redearly"); /* both stand at 10 */
    assert_waits(&my_gate);
    inbox_receives("1 notify 19 id2 4 blueearly"); /* it stands at 20 there */
    assert_waits(&my_gate);
    inbox_receives("1 notify 10 id3 3 redall");

    assert_got(&my_gate, "0 id3 red=all;");
    assert_got(&red, "0 id3 red=all;");
    gate_close(&red);
}

TEST(what_overtakes_the_ticket_is_put_aside)
{
    assert_int_equal(gate_wait(&my_gate, -1), ILK__ACT_SEND);
    inbox_receives("1 notify 9 id1 3 redbefore");
    inbox_receives("1 notify 10 id2 3 redours");
    inbox_receives("1 notify 11 id3 3 redmore");
    assert_int_equal(my_gate.waiter.report, ILK__REPORT_NONE);

    assert_int_equal(op_answer(&my_gate.op, "%d 10 20 0", ILK__CODE_QUEUED),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_string_equal(gate_signals(&my_gate), "0 id2 red=ours;");
}

TEST(what_came_before_us_is_not_ours)
{
    assert_int_equal(gate_wait(&my_gate, -1), ILK__ACT_SEND);
    inbox_receives("1 notify 9 id1 3 redbefore");
    inbox_receives("1 notify 19 id2 4 bluebefore");

    assert_int_equal(op_answer(&my_gate.op, "%d 10 20 0", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);

    assert_string_equal(gate_signals(&my_gate), "");
}

TEST(a_place_taken_anew_counts_from_the_first_ticket)
{
    gate_queue(&my_gate, -1);
    inbox_receives("1 wake s1 red");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    inbox_receives("1 notify 9 id1 3 redbefore");
    inbox_receives("1 notify 15 id2 3 redours");
    assert_int_equal(op_answer(&my_gate.op, "%d 30 40 0", ILK__CODE_QUEUED),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_string_equal(gate_signals(&my_gate), "0 id2 red=ours;");
}

TEST(what_is_put_aside_is_bounded_and_the_newest_stays)
{
    assert_int_equal(gate_wait(&my_gate, -1), ILK__ACT_SEND);
    for (int i = 1; i <= 40; i++)
        inbox_receives("1 notify %d id%d 3 red", i, i);

    assert_int_equal(op_answer(&my_gate.op, "%d 40 50 0", ILK__CODE_QUEUED),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_string_equal(gate_signals(&my_gate), "0 id40 red=;");
}

/* ---- memory ------------------------------------------------------------- */

TEST(what_there_is_no_memory_for_is_orphaned)
{
    int taken;
    long nth = 1;

    gate_queue(&my_gate, -1);
    do {
        ilk__message message = {.type = ILK__MESSAGE_SIGNAL,
                                .kind = 's',
                                .waiter = 1,
                                .signal = "id1",
                                .name = "red",
                                .name_len = 3,
                                .data = "x",
                                .data_len = 1};

        assert_true(nth < 5);
        ilk__alloc_fail_at(nth++);
        taken = ilk__delivered_signal_accept(&my_gate.waiter, &message);
        ilk__alloc_fail_at(0);
        assert_int_equal(taken, my_gate.waiter.delivered_count);
    } while (!my_gate.waiter.delivered_count);

    assert_true(nth > 2);
    assert_got(&my_gate, "0 id1 red=x;");
}

TEST(a_wait_without_memory_stands_in_no_list)
{
    ilk__act act = ILK__ACT_DONE;

    for (long nth = 1; act == ILK__ACT_DONE; nth++) {
        assert_true(nth < 20);
        ilk__alloc_fail_at(nth);
        act = gate_wait(&my_gate, -1);
        ilk__alloc_fail_at(0);
        if (act == ILK__ACT_DONE) {
            assert_int_equal(my_gate.op.status, ILK_ENOMEM);
            assert_int_equal(shared.lists.count,
                             my_gate.waiter.refresher ? 2 : 0);
        }
    }

    assert_int_equal(act, ILK__ACT_SEND);
    assert_int_equal(shared.lists.count, 2);
}

/* The caller would find no signal behind the success. */
TEST(a_grant_is_not_taken_for_a_signal)
{
    gate_queue(&my_gate, -1);

    inbox_receives("1 grant s1 %s 18 5000 1000000 red",
                   ilk__waiter_token(&my_gate.waiter));

    assert_waits(&my_gate);
    assert_int_equal(shared.stats.messages_refused, 1);
}

TEST(a_refresh_that_reports_a_hold_makes_no_sense)
{
    ilk__inflight *inflight;

    gate_queue(&my_gate, -1);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();

    assert_int_equal(inflight_answer(inflight, "%d -1 1000000 1 %d 5000 18",
                                     ILK__CODE_FREE, ILK__CODE_HELD),
                     ILK__ACT_DONE);

    assert_int_equal(inflight->op.status, ILK_EREPLY);
    assert_waits(&my_gate);
}
