/* SPDX-License-Identifier: MIT */
/*
 * ct_lock_many_start.c -- what is special about started operations on many
 * names; ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "many_case.h"
#include "started_case.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;
static ilk_op *op;

static ilk_op *start(ilk_lock_many *many, int64_t timeout_ms)
{
    ilk_op *started = NULL;

    assert_status(
        ILK_OK, ilk_lock_many_acquire_start(&started, many, timeout_ms, &err));
    return started;
}

/* Held by nobody, before a lease could have run out; nobody in the wait
 * queue. */
static void assert_all_free(const char *names)
{
    for (; *names; names++) {
        const char name[] = {*names, '\0'};

        turn_until(client, "0", "EXISTS %s", name);
        await_lock_queue(name, "0");
    }
}

/* Of "abc" the last is held elsewhere: a and b are taken, c is waited for. */
static ilk_lock_many *many;
static ilk_lock *held;

static void start_wait(void)
{
    held = hold_elsewhere("c");
    many = open_many(client, "abc", 0);
    op = start(many, -1);
    await_lock_queue("c", "1");
    turn_until(client, "2", "EXISTS a b");
}

static void end_wait(void)
{
    assert_all_free("ab");
    assert_nothing_left("c", held);
    ilk_lock_many_free(many);
}

TEST(the_handle_shows_what_the_operation_did)
{
    many = open_many(client, "cab", 0);
    op = start(many, 0);
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_lock_many_held(many));
    assert_all("abc", ilk_lock_many_token(many));
    assert_status(ILK_OK, ilk_lock_many_extend_start(&op, many, 90000, &err));
    assert_ends(ILK_OK, client, op);
    assert_in_range(fixture_int(&fx, "PTTL b"), 80000, 90000);
    assert_status(ILK_OK, ilk_lock_many_check_start(&op, many, &err));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_lock_many_release_start(&op, many, &err));
    assert_false(ilk_lock_many_held(many));
    assert_ends(ILK_OK, client, op);
    assert_all("abc", "(nil)");
    ilk_lock_many_free(many);
}

TEST(check_asks_for_each_name)
{
    ilk_client *quiet = open_client(); /* nobody polls, so no keeper reports */
    ilk_notification notification = {.size = sizeof notification};

    many = open_many_with(quiet, "abc", 1000, ILK_LOCK_NO_RENEW);
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    for (const char *n = "abc"; *n; n++)
        fixture_command(&fx, "PEXPIRE %c %d", *n, *n == 'b' ? 50000 : 60000);
    fixture_sleep_ms(1010);
    assert_status(ILK_OK, ilk_lock_many_check_start(&op, many, &err));
    while (ilk_client_next_notification(quiet, &notification, &err)
           == ILK_EAGAIN)
        fixture_sleep_ms(1);
    assert_int_equal(ilk_op_id(op), notification.id);
    assert_status(ILK_OK, ilk_op_status(op, &err));
    assert_in_range(ilk_lock_many_remaining_ms(many), 40000, 50000);
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    ilk_lock_many_free(many);
    ilk_client_free(quiet);
}

TEST(a_wait_gets_all_names)
{
    start_wait();
    assert_under_way(client, op);
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_ends(ILK_OK, client, op);
    assert_all("abc", ilk_lock_many_token(many));
    assert_true(ilk_lock_many_fence(many) > ilk_lock_fence(held));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    free_elsewhere(held);
    ilk_lock_many_free(many);
}

TEST(a_busy_name_is_named)
{
    held = hold_elsewhere("c");
    many = open_many(client, "abc", 0);
    op = start(many, 0);
    assert_ended(ILK_EBUSY, client, op);
    assert_status(ILK_EBUSY, ilk_op_status(op, &err));
    assert_non_null(strstr(err.msg, "\"c\""));
    ilk_op_free(op);
    end_wait();
}

/* Everyone wants the same two of three: nobody waits in a circle. */
TEST(those_of_one_loop_take_turns)
{
    static const char *const sets[] = {"ab", "bc", "ca"};
    enum { ROUNDS = 30 };
    ilk_lock_many *all[ROUNDS];
    ilk_op *ops[ROUNDS], *release;
    int64_t limit;

    for (int i = 0; i < ROUNDS; i++) {
        all[i] = open_many(client, sets[i % 3], 0);
        ops[i] = start(all[i], -1);
    }
    limit = fixture_now_ms() + patience(20000);
    for (int done = 0; done < ROUNDS;) {
        assert_true(fixture_now_ms() < limit);
        (void)turn(client, 100);
        for (int i = 0; i < ROUNDS; i++) {
            if (!ops[i] || ilk_op_status(ops[i], NULL) == ILK_EAGAIN)
                continue;
            assert_ends(ILK_OK, client, ops[i]);
            assert_status(ILK_OK,
                          ilk_lock_many_release_start(&release, all[i], &err));
            assert_ends(ILK_OK, client, release);
            ilk_lock_many_free(all[i]);
            done++;
        }
    }
    assert_all_free("abc");
}
