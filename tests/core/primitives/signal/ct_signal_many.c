/* SPDX-License-Identifier: MIT */
/* ct_signal_many.c -- waiting for any of several signals, and for all. */
#include "signal_case.h"

#include <stdio.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_client *client, *giver;
static ilk_signal *a, *b, *c, *give_a, *give_b, *give_c;

static int open_all(void)
{
    fixture_command(&fx, "FLUSHALL");
    client = open_client();
    giver = open_client();
    a = open_signal(client, "a");
    b = open_signal(client, "b");
    c = open_signal(client, "c");
    give_a = open_signal(giver, "a");
    give_b = open_signal(giver, "b");
    give_c = open_signal(giver, "c");
    return 0;
}

static int close_all(void)
{
    ilk_signal *all[] = {a, b, c, give_a, give_b, give_c};

    for (int i = 0; i < 6; i++)
        ilk_signal_free(all[i]);
    ilk_client_free(client);
    ilk_client_free(giver);
    return 0;
}

AROUND_EACH(open_all, close_all);

static void await_empty(const char *name)
{
    await_waits(name, 0);
}

/* ---- any ---------------------------------------------------------------- */

TEST(any_of_several_ends_the_wait_and_all_its_places)
{
    ilk_signal *set[] = {a, b, c};
    hearing l;

    for (int all = 0; all < 2; all++) {
        start_hearing(&l, LISTEN_ANY, set, 3, 20000);
        await_waits("c", 1);

        assert_int_equal(1, (all ? report_all : tell_one)(give_b, "hello"));

        assert_heard(ILK_OK, &l);
        assert_string_equal("1 b=hello;", heard(l.arrival));
        await_empty("a");
        await_empty("c");
        assert_int_equal(0, report_all(give_a, "late"));
        free_hearing(&l);
    }
}

enum { ROUNDS = 100 };

/* Two lists choose the same wait at the same time: it takes the first, and
 * the other one's signal goes to the next who waits there. */
TEST(the_signal_that_lost_is_passed_on)
{
    ilk_signal *set[] = {a, b}, *next = open_signal(client, "b");

    for (int i = 0; i < ROUNDS; i++) {
        hearing l, other;

        start_hearing(&l, LISTEN_ANY, set, 2, 20000);
        await_waits("b", 1);
        start_hearing(&other, LISTEN_ANY, &next, 1, 20000);
        await_waits("b", 2);

        assert_int_equal(1, tell_one(give_a, "first"));
        assert_int_equal(1, tell_one(give_b, "second"));

        assert_heard(ILK_OK, &l);
        assert_heard(ILK_OK, &other);
        assert_string_equal("0 a=first;", heard(l.arrival));
        assert_string_equal("0 b=second;", heard(other.arrival));
        free_hearing(&l);
        free_hearing(&other);
    }
    await_empty("a");
    await_empty("b");
    ilk_signal_free(next);
}

TEST(a_wait_for_any_ends_on_time_everywhere)
{
    ilk_signal *set[] = {a, b, c};
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    int64_t began = fixture_now_ms();

    assert_status(ILK_ETIMEOUT,
                  ilk_signal_wait_any(&arrival, set, 3, 300, &err));
    assert_on_time(fixture_now_ms() - began, 300);
    await_empty("a");
    await_empty("b");
    await_empty("c");
}

TEST(up_to_64_names_wait_together)
{
    ilk_signal *set[ILK_SIGNAL_MAX];
    hearing l;
    char name[16];

    for (int i = 0; i < ILK_SIGNAL_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        set[i] = open_signal(client, name);
    }
    for (int round = 0; round < 2; round++) {
        start_hearing(&l, LISTEN_ANY, set, ILK_SIGNAL_MAX, 20000);
        await_waits("n63", 1);
        fixture_sleep_ms(2500); /* a refresh of all of them */

        assert_int_equal(1, tell_one(set[63], "last"));

        assert_heard(ILK_OK, &l);
        assert_string_equal("63 n63=last;", heard(l.arrival));
        free_hearing(&l);
    }
    for (int i = 0; i < ILK_SIGNAL_MAX; i++)
        ilk_signal_free(set[i]);
}

/* ---- all ---------------------------------------------------------------- */

TEST(all_have_come_when_each_has)
{
    ilk_signal *set[] = {a, b, c};
    hearing l;

    start_hearing(&l, LISTEN_ALL, set, 3, 20000);
    await_waits("c", 1);

    assert_int_equal(1, report_all(give_c, "three"));
    assert_int_equal(1, tell_one(give_a, "one"));
    fixture_sleep_ms(50);
    assert_false(l.done);
    assert_int_equal(1, tell_one(give_b, "two"));

    assert_heard(ILK_OK, &l);
    assert_string_equal("0 a=one;1 b=two;2 c=three;", heard(l.arrival));
    assert_int_equal(3, ilk_arrival_count(l.arrival));
    free_hearing(&l);
    await_empty("a");
}

/* Also across refreshes, which must not put it back in the wait queue. */
TEST(a_waiter_with_a_signal_of_a_name_takes_no_second)
{
    ilk_signal *set[] = {a, b};
    hearing l;

    start_hearing(&l, LISTEN_ALL, set, 2, 30000);
    await_waits("b", 1);
    assert_int_equal(1, tell_one(give_a, "first"));

    assert_int_equal(0, tell_one(give_a, "second"));
    fixture_sleep_ms(5000);
    assert_int_equal(0, tell_one(give_a, "third"));
    assert_int_equal(0, report_all(give_a, "fourth"));
    assert_int_equal(1, tell_one(give_b, "done"));

    assert_heard(ILK_OK, &l);
    assert_string_equal("0 a=first;1 b=done;", heard(l.arrival));
    free_hearing(&l);
}

/* All lists are lost: it stands again in those that it still needs. */
TEST(a_waiter_with_a_signal_of_a_name_does_not_queue_again)
{
    ilk_signal *set[] = {a, b};
    hearing l;

    start_hearing(&l, LISTEN_ALL, set, 2, 30000);
    await_waits("b", 1);
    assert_int_equal(1, tell_one(give_a, "first"));
    fixture_sleep_ms(50);
    fixture_command(&fx, "FLUSHALL");
    await_waits("b", 1);

    assert_int_equal(0, tell_one(give_a, "second"));
    assert_int_equal(1, tell_one(give_b, "done"));

    assert_heard(ILK_OK, &l);
    assert_string_equal("0 a=first;1 b=done;", heard(l.arrival));
    free_hearing(&l);
}

TEST(a_part_of_all_is_passed_on_when_time_runs_out)
{
    ilk_signal *set[] = {a, b}, *next = open_signal(client, "a");
    hearing l, other;

    start_hearing(&l, LISTEN_ALL, set, 2, 2500);
    await_waits("b", 1);
    assert_int_equal(1, tell_one(give_a, "for whoever can use it"));
    start_hearing(&other, LISTEN_ANY, &next, 1, 20000);
    await_waits("a", 1);

    assert_heard(ILK_ETIMEOUT, &l);
    assert_heard(ILK_OK, &other);

    assert_string_equal("0 a=for whoever can use it;", heard(other.arrival));
    await_empty("b");
    free_hearing(&other);
    ilk_signal_free(next);
}

TEST(a_broadcast_counts_a_wait_for_all_in_each_list)
{
    ilk_signal *set[] = {a, b};
    hearing l[2];
    ilk_signal *one[] = {open_signal(client, "a"), open_signal(client, "b")};

    start_hearing(&l[0], LISTEN_ALL, set, 2, 20000);
    start_hearing(&l[1], LISTEN_ALL, one, 2, 20000);
    await_waits("b", 2);

    assert_int_equal(2, report_all(give_a, "x"));
    assert_int_equal(2, report_all(give_b, "y"));

    for (int i = 0; i < 2; i++)
        assert_heard(ILK_OK, &l[i]);
    for (int i = 0; i < 2; i++) {
        assert_string_equal("0 a=x;1 b=y;", heard(l[i].arrival));
        free_hearing(&l[i]);
        ilk_signal_free(one[i]);
    }
}
