/* SPDX-License-Identifier: MIT */
/* ut_wait_own.c -- a primitive that waits with questions of its own. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "gate_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

AROUND_EACH(gate_setup, gate_teardown);

/* ---- asking and getting ------------------------------------------------- */

TEST(it_asks_in_its_own_words_with_all_its_keys)
{
    char entry[256], secret[ILK__SECRET_LEN + 1];

    assert_int_equal(gate_wait(&my_gate, 8000), ILK__ACT_SEND);

    ilk__secret_of_waiter(secret, &shared, 's', 1, "", 0);
    snprintf(entry, sizeof entry, "2 s %s s1.%s %s 0 1 me", shared.client_id,
             secret, my_gate.waiter.token);
    assert_gate_asks(&my_gate, entry);
    assert_int_equal(op_answer(&my_gate.op, "%d 0 0 0", ILK__CODE_HELD),
                     ILK__ACT_DONE);
    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_null(my_gate.waiter.refresher);
}

TEST(a_try_leaves_nothing_behind)
{
    assert_int_equal(gate_wait(&my_gate, 0), ILK__ACT_SEND);
    assert_gate_asks(&my_gate, "''");

    assert_int_equal(op_answer(&my_gate.op, "%d 0 0 0", ILK__CODE_BUSY),
                     ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_EBUSY);
}

TEST(the_first_wait_opens_the_inbox)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(gate_wait(&my_gate, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&my_gate.op, "%d 0 0 0", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);

    shared.inbox = ILK__INBOX_READY;
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_gate_asks(&my_gate, my_gate.waiter.entry);
}

TEST(permits_stand_in_the_entry)
{
    my_gate.waiter.permits = 3;
    assert_int_equal(gate_wait(&my_gate, 8000), ILK__ACT_SEND);

    assert_non_null(strstr(my_gate.waiter.entry, " 0 3 me"));
}

TEST(woken_it_asks_again_under_the_same_entry)
{
    char entry[ILK__ENTRY_MAX];

    gate_queue(&my_gate, 8000);
    memcpy(entry, my_gate.waiter.entry, my_gate.waiter.entry_len + 1);

    inbox_receives("1 wake s1 red");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_gate_asks(&my_gate, entry);
    assert_int_equal(op_answer(&my_gate.op, "%d 0 0 0", ILK__CODE_HELD),
                     ILK__ACT_DONE);
    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_int_equal(shared.stats.waiting, 0);
}

TEST(what_its_answer_refuses_ends_the_wait_out_of_the_queue)
{
    assert_int_equal(gate_wait(&my_gate, 8000), ILK__ACT_SEND);

    ilk__fail(&my_gate.err, ILK_EDIFFERS, "another gate");
    my_gate.op.now = local_ms;
    assert_int_equal(ilk__wait_failed(&my_gate.op, ILK_EDIFFERS),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_EDIFFERS);
    assert_string_equal(my_gate.err.msg, "another gate");
    assert_null(my_gate.waiter.refresher);
}

/* ---- the watch ---------------------------------------------------------- */

TEST(lists_waited_for_together_have_one_refresher)
{
    gate both, red;

    gate_open(&both, 2);
    gate_open(&red, 1);
    gate_queue(&my_gate, -1);
    gate_queue(&both, -1);
    gate_queue(&red, -1);

    assert_ptr_equal(my_gate.waiter.refresher, both.waiter.refresher);
    assert_ptr_not_equal(my_gate.waiter.refresher, red.waiter.refresher);
    assert_int_equal(shared.refreshers.count, 2);
    assert_int_equal(shared.lists.count, 3);
    gate_close(&both);
    gate_close(&red);
    assert_int_equal(shared.refreshers.count, 1);
}

TEST(another_refresh_is_another_refresher)
{
    static ilk__op_type other;
    gate same;

    gate_open(&same, 2);
    other = *same.wait_queue.refresh;
    same.wait_queue.refresh = &other;
    gate_queue(&my_gate, -1);
    gate_queue(&same, -1);

    assert_ptr_not_equal(my_gate.waiter.refresher, same.waiter.refresher);
    gate_close(&same);
}

TEST(all_its_lists_are_refreshed_in_its_own_words)
{
    ilk__inflight *inflight;
    char words[1024];

    gate_queue(&my_gate, -1);
    shared_tick(ILK__REFRESH_MS);
    inflight = next_inflight();

    snprintf(words, sizeof words,
             "lock_refresh 4 w:red l:red w:blue l:blue still? 1 %s",
             my_gate.waiter.entry);
    assert_string_equal(op_says(&inflight->op), words);
    assert_int_equal(inflight_answer(inflight, "%d -1 0 1 %d 0 0",
                                     ILK__CODE_BUSY, ILK__CODE_GONE),
                     ILK__ACT_DONE);
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_gate_asks(&my_gate, my_gate.waiter.entry);
}

/* ---- leaving ------------------------------------------------------------ */

static void time_out(void)
{
    char words[1024];

    local_ms = my_gate.op.deadline;
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    snprintf(words, sizeof words,
             "lock_cancel 4 w:red l:red w:blue l:blue %s %s", shared.client_id,
             my_gate.waiter.entry);
    assert_string_equal(op_says(&my_gate.op), words);
}

TEST(one_whose_time_is_over_asks_to_be_let_go)
{
    gate_queue(&my_gate, 8000);
    time_out();

    assert_int_equal(op_answer(&my_gate.op, "%d 0 0", ILK__CODE_RELEASED),
                     ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ETIMEOUT);
    assert_null(my_gate.waiter.refresher);
}

TEST(what_was_on_its_way_is_waited_for)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);
    assert_true(my_gate.op.wake_at > local_ms);

    inbox_receives("1 signal s1 id1 3 redgo");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_string_equal(gate_signals(&my_gate), "0 id1 red=go;");
    assert_string_equal(gate_orphaned, "");
}

TEST(a_word_behind_all_messages_ends_the_lingering)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);

    inbox_receives("1 wake s1 ");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ETIMEOUT);
    assert_null(my_gate.waiter.refresher);
}

/* In a cluster the lists are at several nodes, and each sends a last word. */
TEST(the_last_words_of_all_nodes_end_the_lingering)
{
    my_gate.nodes = 2;
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);

    inbox_receives("1 wake s1 ");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    inbox_receives("1 wake s1 ");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ETIMEOUT);
    assert_null(my_gate.waiter.refresher);
}

/* It was sent before we left, and another list may have signalled since. */
TEST(a_late_word_of_a_refresh_does_not)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);

    inbox_receives("1 wake s1 red");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    inbox_receives("1 signal s1 id1 4 bluego");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_string_equal(gate_signals(&my_gate), "1 id1 blue=go;");
}

TEST(what_never_comes_is_not_waited_for_long)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);

    local_ms = my_gate.op.wake_at;
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_TIME), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ETIMEOUT);
}

TEST(one_who_is_not_let_go_goes)
{
    gate_queue(&my_gate, 8000);
    time_out();

    assert_int_equal(op_no_answer(&my_gate.op, ILK_ECONN, 0),
                     ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ECONN);
    assert_null(my_gate.waiter.refresher);
}

TEST(a_lingering_wait_that_is_interrupted_goes_on)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(my_gate.op.status, ILK_EINTR);

    inbox_receives("1 signal s1 id1 4 bluego");
    assert_int_equal(gate_wait(&my_gate, 0), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_string_equal(gate_signals(&my_gate), "1 id1 blue=go;");
}

TEST(a_stop_does_not_end_the_lingering)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);

    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_STOPPED), ILK__ACT_SLEEP);
    inbox_receives("1 signal s1 id1 3 redgo");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_OK);
}

TEST(a_close_ends_the_lingering)
{
    gate_queue(&my_gate, 8000);
    time_out();
    assert_int_equal(op_answer(&my_gate.op, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);

    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_CLOSED), ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ECLOSED);
    assert_null(my_gate.waiter.refresher);
}
