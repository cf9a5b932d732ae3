/* SPDX-License-Identifier: MIT */
/* ut_subscriber.c -- listening to the server and to a replica of it. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "gate_case.h"

#include <string.h>

#include "cmocka_all.h"

static void lose(ilk__subscriber *subscriber)
{
    ilk__fail(&subscriber->connection.error, ILK_ECONN, "gone");
    ilk__shared_lock(&shared);
    ilk__inbox_lost(&shared, subscriber);
    ilk__shared_unlock(&shared);
}

static int setup(void **state)
{
    int failed = gate_setup(state);

    inbox_confirms(&inbox_subscriber);
    inbox_confirms(&replica_subscriber);
    inbox_receiver = &inbox_subscriber;
    shared_tick(0);
    return failed;
}

static int setup_deaf(void **state)
{
    int failed = gate_setup(state);

    shared.inbox = ILK__INBOX_WANTED;
    return failed;
}

/* ---- ready -------------------------------------------------------------- */

static void a_replica_alone_is_not_enough_while_the_server_is_coming(void **s)
{
    (void)s;
    inbox_confirms(&replica_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);

    inbox_confirms(&inbox_subscriber);

    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    assert_int_equal(shared.subscribed_count, 2);
}

static void a_replica_is_enough_when_the_server_is_lost(void **state)
{
    uint32_t wakes;

    (void)state;
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

static void either_may_be_lost(void **state)
{
    (void)state;
    lose(&inbox_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    inbox_confirms(&inbox_subscriber);
    lose(&replica_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    lose(&inbox_subscriber);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    assert_int_equal(shared.subscribed_count, 0);
}

static void a_replica_that_refuses_is_done_without(void **state)
{
    (void)state;
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

static void a_grant_by_hearsay_is_asked_for(void **state)
{
    taker t;

    (void)state;
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

static void the_copy_of_a_grant_changes_nothing(void **state)
{
    taker t;

    (void)state;
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

static void what_is_for_nobody_is_passed_on_once(void **state)
{
    (void)state;
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

static void a_signal_by_hearsay_waits_for_the_word(void **state)
{
    ilk__inflight *inflight;

    (void)state;
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

static void without_the_word_it_was_somebody_elses(void **state)
{
    (void)state;
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

static void gone_from_the_list_is_a_word_as_well(void **state)
{
    (void)state;
    gate_queue(&my_gate, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 signal s1 id1 3 redone");

    shared_tick(0);
    (void)inflight_answer(next_inflight(), "%d -1 0 1 %d 0 0", ILK__CODE_BUSY,
                          ILK__CODE_GONE);

    assert_got("0 id1 red=one;");
}

static void the_servers_own_copy_needs_no_word(void **state)
{
    (void)state;
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

static void a_broadcast_counts_from_whomever_it_comes(void **state)
{
    (void)state;
    gate_queue(&my_gate, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 notify 99 id1 3 redall");
    inbox_receiver = &inbox_subscriber;
    inbox_receives("1 notify 99 id1 3 redall");

    assert_got("0 id1 red=all;");
}

static void a_place_that_the_server_may_have_kept_is_given_up(void **state)
{
    gate red;

    (void)state;
    gate_open(&red, 1);
    gate_queue(&red, -1);
    inbox_receiver = &replica_subscriber;
    inbox_receives("1 notify 99 id1 3 redall");

    assert_int_equal(op_wake(&red.op, ILK__CAUSE_NEWS), ILK__ACT_SEND_ONLY);

    assert_non_null(strstr(op_says(&red.op), "lock_cancel! 2 w:red"));
    assert_int_equal(op_sent(&red.op, ILK_OK), ILK__ACT_DONE);
    gate_close(&red);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, gate_teardown)
#define DEAF(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup_deaf, gate_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEAF(a_replica_alone_is_not_enough_while_the_server_is_coming),
        DEAF(a_replica_is_enough_when_the_server_is_lost),
        TEST(either_may_be_lost),
        TEST(a_replica_that_refuses_is_done_without),
        TEST(a_grant_by_hearsay_is_asked_for),
        TEST(the_copy_of_a_grant_changes_nothing),
        TEST(what_is_for_nobody_is_passed_on_once),
        TEST(a_signal_by_hearsay_waits_for_the_word),
        TEST(without_the_word_it_was_somebody_elses),
        TEST(gone_from_the_list_is_a_word_as_well),
        TEST(the_servers_own_copy_needs_no_word),
        TEST(a_broadcast_counts_from_whomever_it_comes),
        TEST(a_place_that_the_server_may_have_kept_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
