/* SPDX-License-Identifier: MIT */
/* ut_subscriber.c -- listening to the server and to a replica of it. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "gate_case.h"

#include <string.h>

#include "test.h"

static void lose(ilk__subscriber *subscriber)
{
    ilk__fail(&subscriber->connection.error, ILK_ECONN, "gone");
    ilk__shared_lock(&shared);
    ilk__inbox_lost(&shared, subscriber);
    ilk__shared_unlock(&shared);
}

static int setup(void)
{
    int failed = gate_setup();

    inbox_confirms(&inbox_subscriber);
    inbox_confirms(&replica_subscriber);
    inbox_receiver = &inbox_subscriber;
    shared_tick(0);
    return failed;
}

AROUND_EACH(setup, gate_teardown);

static int setup_deaf(void)
{
    int failed = gate_setup();

    shared.inbox = ILK__INBOX_WANTED;
    return failed;
}

/* ---- ready -------------------------------------------------------------- */

TEST_WITH(setup_deaf, gate_teardown,
          a_replica_alone_is_not_enough_while_the_server_is_coming)
{
    inbox_confirms(&replica_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);

    inbox_confirms(&inbox_subscriber);

    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    assert_int_equal(shared.subscribed_count, 2);
}

TEST_WITH(setup_deaf, gate_teardown,
          a_replica_is_enough_when_the_server_is_lost)
{
    uint32_t wakes;

    inbox_confirms(&replica_subscriber);
    wakes = shared.wakes;
    lose(&inbox_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    assert_true(shared.wakes > wakes); /* who waits for it may go on */

    lose(&replica_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    inbox_confirms(&replica_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
}

TEST(either_may_be_lost)
{
    lose(&inbox_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    inbox_confirms(&inbox_subscriber);
    lose(&replica_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    lose(&inbox_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    assert_int_equal(shared.subscribed_count, 0);
}

TEST(a_replica_that_refuses_is_done_without)
{
    replica_subscriber.connection.wanted = 1;
    replica_subscriber.connection.up = 1;
    ilk__inbox_came_up(&shared, &replica_subscriber);
    inbox_receiver = &replica_subscriber;

    inbox_receives_raw("-NOPERM no channel\r\n");

    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    assert_true(replica_subscriber.refused);
    assert_false(replica_subscriber.connection.wanted);
}

/* ---- grants ------------------------------------------------------------- */

TEST(a_grant_by_hearsay_is_requested)
{
    taker t;

    taker_open(&t, "orders", &ilk__lock_plain);
    taker_queue(&t, -1);
    inbox_receiver = &replica_subscriber;

    inbox_grants(&t, 18, 5000, 1000000);
    assert_int_equal(op_wake(&t.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_string_equal(op_says(&t.op), taker_asks(&t, 1));
    assert_int_equal(op_answer(&t.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP); /* it was taken back */
    inbox_receiver = &inbox_subscriber;
    inbox_grants(&t, 19, 5000, 1000000);
    assert_int_equal(op_wake(&t.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(t.waiter.fence, 19);
    taker_close(&t);
}

TEST(the_copy_of_a_grant_changes_nothing)
{
    taker t;

    taker_open(&t, "orders", &ilk__lock_plain);
    taker_queue(&t, -1);
    inbox_grants(&t, 18, 5000, 1000000);
    inbox_receiver = &replica_subscriber;
    inbox_grants(&t, 18, 5000, 1000000);
    assert_int_equal(op_wake(&t.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    inbox_grants(&t, 18, 5000, 1000000);

    assert_int_equal(t.op.status, ILK_OK);
    assert_string_equal(gate_orphaned, "");
    taker_close(&t);
}

TEST(an_orphaned_message_is_passed_on_once)
{
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 grant x77 tok 18 5000 1000000 orders");
    inbox_receives("1 wake q77 jobs");
    inbox_receives("1 signal s77 id1 3 red");
    assert_string_equal(gate_orphaned, "");

    inbox_receiver = &inbox_subscriber;
    inbox_receives("1 signal s77 id1 3 red");

    assert_string_equal(gate_orphaned, "s77 id1 red=;");
}

/* ---- signals ------------------------------------------------------------ */

static void assert_got(const char *signals)
{
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);
    assert_int_equal(op_sent(&my_gate.op, ILK_OK), ILK__ACT_DONE);
    assert_int_equal(my_gate.op.status, ILK_OK);
    assert_string_equal(gate_signals(&my_gate), signals);
}

TEST(a_signal_by_hearsay_waits_for_the_word)
{
    ilk__inflight *inflight;

    gate_queue(&my_gate, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);

    shared_tick(0);
    inflight = next_inflight(); /* how does it stand? */
    assert_non_null(inflight);
    (void)inflight_answer(inflight, "%d -1 0 1 %d 0 0", ILK__CODE_BUSY,
                          ILK__CODE_QUEUED);
    inbox_receives("1 wake s1 red");

    assert_got("0 id1 red=one;");
}

TEST(without_the_word_it_was_somebody_elses)
{
    gate_queue(&my_gate, 8000);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receives("1 wake s1 blue"); /* another list's */
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_int_equal(op_answer(&my_gate.op, "%d 10 30 0", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);

    local_ms = my_gate.op.deadline;
    assert_int_equal(op_wake(&my_gate.op, ILK__CAUSE_TIME), ILK__ACT_SEND);
    assert_int_equal(op_answer(&my_gate.op, "%d 0 0", ILK__CODE_RELEASED),
                     ILK__ACT_DONE);

    assert_int_equal(my_gate.op.status, ILK_ETIMEOUT);
    assert_string_equal(gate_orphaned, "");
}

TEST(gone_from_the_list_is_a_word_as_well)
{
    gate_queue(&my_gate, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");

    shared_tick(0);
    (void)inflight_answer(next_inflight(), "%d -1 0 1 %d 0 0", ILK__CODE_BUSY,
                          ILK__CODE_GONE);

    assert_got("0 id1 red=one;");
}

TEST(the_servers_own_copy_needs_no_word)
{
    gate_queue(&my_gate, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receiver = &inbox_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");

    assert_got("0 id1 red=one;0 id1 red=one;"); /* the other is aside */
    assert_int_equal(my_gate.waiter.delivered_count, 1);
    assert_false(my_gate.waiter.delivered->aside
                 && my_gate.waiter.delivered->next->aside);
    inbox_receives("1 signal s1 id1 3 redone");
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");
    assert_string_equal(gate_orphaned, "");
}

TEST(a_broadcast_counts_from_whomever_it_comes)
{
    gate_queue(&my_gate, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 notify 99 id1 3 redall");
    inbox_receiver = &inbox_subscriber;
    inbox_receives("1 notify 99 id1 3 redall");

    assert_got("0 id1 red=all;");
}

TEST(a_place_that_the_server_may_have_kept_is_given_up)
{
    gate red;

    gate_open(&red, 1);
    gate_queue(&red, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 notify 99 id1 3 redall");

    assert_int_equal(op_wake(&red.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);

    assert_non_null(strstr(op_says(&red.op), "lock_cancel! 2 w:red"));
    assert_int_equal(op_sent(&red.op, ILK_OK), ILK__ACT_DONE);
    gate_close(&red);
}
