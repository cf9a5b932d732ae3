/* SPDX-License-Identifier: MIT */
/* ct_lock_processes.c -- holders and waiters that die or freeze. */
#include "lock_case.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

enum { TTL = 1000, SLACK = 600 };

TEST(waiters_enter_in_the_order_of_their_arrival)
{
    child c[5];
    int64_t fence, last = 0;

    for (int i = 0; i < 5; i++) {
        c[i] = start_child("order", 5000, 20000, 0);
        if (i)
            await_waiters("order", i);
        else /* it holds before anybody else asks */
            assert_int_equal(0, fixture_await(&fx, "1", 10000, "EXISTS order"));
    }

    for (int i = 0; i < 5; i++) {
        assert_int_equal('h', next_report(&c[i], 5000, &fence));
        assert_true(fence > last);
        last = fence;
        order(&c[i], 'r');
        assert_int_equal('r', next_report(&c[i], 5000, NULL));
    }
    for (int i = 0; i < 5; i++)
        end_child(&c[i]);
}

/* Returns how long after the end of the lease the waiter holds. */
static int64_t follow_killed_holder(void)
{
    child holder = start_child("killed", TTL, 0, 0);
    child waiter;
    int64_t first, second, ends_at, late;

    assert_int_equal('h', next_report(&holder, 5000, &first));
    waiter = start_child("killed", TTL, 20000, 0);
    await_waiters("killed", 1);
    ends_at = fixture_now_ms() + fixture_int(&fx, "PTTL killed");
    end_child(&holder);
    assert_int_equal('h', next_report(&waiter, 5000, &second));
    late = fixture_now_ms() - ends_at;
    assert_true(second > first);
    end_child(&waiter);
    return late;
}

/* A busy machine may stop all that take part, but not each time. */
TEST(killed_holder_is_followed_within_its_lease)
{
    int tries = 1;

    while (follow_killed_holder() > 150 && tries < 10)
        tries++;
    assert_true(tries < 10);
}

TEST(killed_first_waiter_holds_nobody_up)
{
    child holder = start_child("first", 20000, 0, 0);
    child dead, next;
    int64_t released_at;

    assert_int_equal('h', next_report(&holder, 5000, NULL));
    dead = start_child("first", TTL, 20000, 0);
    await_waiters("first", 1);
    next = start_child("first", TTL, 20000, 0);
    await_waiters("first", 2);
    end_child(&dead);

    released_at = fixture_now_ms();
    order(&holder, 'r');
    assert_int_equal('h', next_report(&next, 5000, NULL));

    assert_true(fixture_now_ms() - released_at <= patience(SLACK));
    end_child(&holder);
    end_child(&next);
}

TEST(last_of_many_killed_waiters_enters)
{
    child holder = start_child("all", 20000, 0, 0);
    child c[8];

    assert_int_equal('h', next_report(&holder, 5000, NULL));
    for (int i = 0; i < 8; i++) {
        c[i] = start_child("all", TTL, 20000, 0);
        await_waiters("all", i + 1);
    }
    for (int i = 0; i < 7; i++)
        end_child(&c[i]);

    order(&holder, 'r');

    assert_int_equal('h', next_report(&c[7], 5000, NULL));
    end_child(&c[7]);
    end_child(&holder);
}

TEST(frozen_holder_is_overtaken_and_learns_it)
{
    child frozen = start_child("frozen", TTL, 0, 0);
    child next;
    int64_t first, second;

    assert_int_equal('h', next_report(&frozen, 5000, &first));
    next = start_child("frozen", TTL, 20000, 0);
    await_waiters("frozen", 1);
    kill(frozen.pid, SIGSTOP);

    assert_int_equal('h', next_report(&next, 5000, &second));
    kill(frozen.pid, SIGCONT);
    order(&frozen, 'c');

    assert_true(second > first);
    assert_int_equal('l', next_report(&frozen, 5000, NULL));
    order(&next, 'c'); /* still holds: the thawed one took nothing */
    assert_int_equal('c', next_report(&next, 5000, NULL));
    end_child(&frozen);
    end_child(&next);
}

/* The grant arrives while it is frozen; thawed after the lease it must not
 * believe that it holds, and stands in the wait queue again. */
TEST(waiter_thawed_after_its_grant_ran_out_does_not_hold)
{
    child holder = start_child("thaw", 20000, 0, 0);
    child frozen, next;
    int64_t granted, fence;

    assert_int_equal('h', next_report(&holder, 5000, NULL));
    frozen = start_child("thaw", 700, 30000, ILK_LOCK_NO_RENEW);
    await_waiters("thaw", 1);
    kill(frozen.pid, SIGSTOP);
    next = start_child("thaw", 20000, 30000, 0);
    await_waiters("thaw", 2);

    order(&holder, 'r'); /* granted to the frozen one, for 700 ms */
    assert_int_equal('h', next_report(&next, 9000, &granted));
    kill(frozen.pid, SIGCONT);
    assert_int_equal('?', next_report(&frozen, 1000, NULL));
    order(&next, 'r');

    assert_int_equal('h', next_report(&frozen, 5000, &fence));
    assert_true(fence > granted);
    end_child(&holder);
    end_child(&frozen);
    end_child(&next);
}

TEST(timed_out_waiter_leaves_no_trace)
{
    child holder = start_child("trace", 20000, 0, 0);
    child waiter;

    assert_int_equal('h', next_report(&holder, 5000, NULL));
    waiter = start_child("trace", TTL, 300, 0);

    assert_int_equal('t', next_report(&waiter, 5000, NULL));

    await_waiters("trace", 0);
    end_child(&holder);
    end_child(&waiter);
}
