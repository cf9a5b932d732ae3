/* SPDX-License-Identifier: MIT */
/*
 * ct_lock_start.c -- what is special about started operations of locks;
 * ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "started_case.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);

TEST(the_handle_shows_what_the_operation_did)
{
    ilk_lock *lock = open_lock(client, "orders");
    ilk_error err = {0};
    ilk_op *op = start_acquire(lock, 0);

    assert_int_equal(ILK_EAGAIN, ilk_op_status(op, &err));
    assert_true(ilk_op_id(op) > 0);
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_lock_held(lock));
    assert_in_range(ilk_lock_remaining_ms(lock), 29000, 30000);
    assert_string_equal(ilk_lock_token(lock),
                        fixture_command(&fx, "GET orders"));

    assert_status(ILK_OK, ilk_lock_release_start(&op, lock, &err));
    assert_false(ilk_lock_held(lock));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("(nil)", fixture_command(&fx, "GET orders"));
    ilk_lock_free(lock);
}

/* The loop's connection is still being opened when the operation is freed. */
TEST(a_release_that_is_dropped_before_it_is_sent_is_done_all_the_same)
{
    ilk_client *own = open_client();
    ilk_lock *lock = open_lock_with(own, "dropped", 60000, 0);
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release_start(&op, lock, &err));
    ilk_op_free(op);
    assert_int_equal(
        0, fixture_await(&fx, "0", (int)patience(2000), "EXISTS dropped"));
    ilk_lock_free(lock);
    ilk_client_free(own);
}

TEST(the_ttl_is_this_acquires_only)
{
    ilk_lock *lock = open_lock_with(client, "short", 0, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_lock_acquire_start(&op, lock, -1, 7000, &err));
    assert_ends(ILK_OK, client, op);
    assert_in_range(fixture_int(&fx, "PTTL short"), 5000, 7000);
    ilk_lock_free(lock);
}

TEST(an_extend_finds_the_lock_lost)
{
    ilk_lock *lock = open_lock(client, "orders");
    ilk_error err = {0};
    ilk_op *op = start_acquire(lock, -1);

    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_lock_extend_start(&op, lock, 90000, &err));
    assert_ends(ILK_OK, client, op);
    assert_in_range(fixture_int(&fx, "PTTL orders"), 80000, 90000);
    assert_status(ILK_OK, ilk_lock_check_start(&op, lock, &err));
    assert_ends(ILK_OK, client, op);

    fixture_command(&fx, "DEL orders");
    assert_status(ILK_OK, ilk_lock_extend_start(&op, lock, 0, &err));
    assert_ends(ILK_ELOST, client, op);
    /* A result that is known without a request needs no operation. */
    assert_status(ILK_ELOST, ilk_lock_check_start(&op, lock, &err));
    assert_null(op);
    assert_int_equal(ILK_ELOST, err.code);
    ilk_lock_free(lock);
}

/* With its descriptor in use, the keeper reports leases that run out. */
TEST(check_asks_when_the_lease_may_be_over)
{
    ilk_client *quiet = open_client();
    ilk_lock *lock = open_lock_with(quiet, "asked", 1000, ILK_LOCK_NO_RENEW);
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "PEXPIRE asked 60000");
    fixture_sleep_ms(1010);
    assert_false(ilk_lock_held(lock));
    assert_status(ILK_OK, ilk_lock_check_start(&op, lock, &err));
    while (ilk_client_next_notification(quiet, &notification, &err)
           == ILK_EAGAIN)
        fixture_sleep_ms(1);
    assert_int_equal(ilk_op_id(op), notification.id);
    assert_status(ILK_OK, ilk_op_status(op, &err));
    assert_in_range(ilk_lock_remaining_ms(lock), 50000, 60000);
    ilk_op_free(op);
    ilk_lock_free(lock);
    ilk_client_free(quiet);
}

TEST(adopt_copies_the_token)
{
    ilk_lock *donor = open_lock(client, "orders");
    ilk_lock *heir = open_lock(client, "orders");
    ilk_error err = {0};
    char token[64];
    ilk_op *op = start_acquire(donor, 0);

    assert_ends(ILK_OK, client, op);
    strcpy(token, ilk_lock_token(donor));
    assert_status(ILK_OK, ilk_lock_detach(donor, &err));
    assert_status(ILK_OK,
                  ilk_lock_adopt_start(&op, heir, token, strlen(token), &err));
    memset(token, 'x', sizeof token);
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_lock_held(heir));
    assert_int_equal(ilk_lock_fence(donor), ilk_lock_fence(heir));
    ilk_lock_free(donor);
    ilk_lock_free(heir);
}

TEST(break_under_another_token_is_refused)
{
    ilk_lock *held = hold_elsewhere("broken");
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_lock_break_start(&op, client, "broken", 6, "else",
                                               4, &err));
    assert_ends(ILK_ENOTOWNER, client, op);
    assert_string_equal(ilk_lock_token(held),
                        fixture_command(&fx, "GET broken"));
    free_elsewhere(held);
}

TEST(break_finds_redissons_owner)
{
    ilk_lock_opts opts;
    ilk_lock *held = NULL;
    ilk_error err = {0};
    ilk_op *op;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.layout = ILK_LAYOUT_REDISSON;
    assert_status(ILK_OK, ilk_lock_open(&held, client, "rb", 2, &opts, &err));
    op = start_acquire(held, 0);
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK,
                  ilk_lock_break_start(&op, client, "rb", 2, NULL, 0, &err));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("0", fixture_command(&fx, "EXISTS rb"));
    ilk_lock_free(held);
}

TEST(inspect_leaves_a_finding_in_the_operation)
{
    ilk_lock *held = hold_elsewhere("seen");
    char name[] = "seen";
    ilk_error err = {0};
    const ilk_info *info;
    ilk_op *op, *ping;

    assert_status(ILK_OK, ilk_inspect_start(&op, client, name, 4, &err));
    memset(name, 'x', 4);
    assert_null(ilk_op_info(op)); /* too early */
    assert_ended(ILK_OK, client, op);
    info = ilk_op_info(op);
    assert_non_null(info);
    assert_int_equal(ILK_INFO_HELD, ilk_info_get_state(info));
    assert_string_equal(ilk_lock_token(held), ilk_info_holder(info, NULL));
    assert_null(ilk_op_leader(op)); /* of another kind */
    ilk_op_free(op);

    assert_status(ILK_OK, ilk_client_ping_start(&ping, client, -1, &err));
    assert_ended(ILK_OK, client, ping);
    assert_null(ilk_op_info(ping));
    ilk_op_free(ping);
    fixture_command(&fx, "LPUSH alist x");
    assert_status(ILK_OK, ilk_inspect_start(&op, client, "alist", 5, &err));
    assert_ended(ILK_ETYPE, client, op);
    assert_null(ilk_op_info(op));
    ilk_op_free(op);
    free_elsewhere(held);
}

TEST(two_operations_on_one_handle_are_refused)
{
    ilk_lock *held = hold_elsewhere("single"), *lock;
    ilk_error err = {0};
    ilk_op *op, *second = (ilk_op *)held;

    lock = open_lock(client, "single");
    op = start_acquire(lock, -1);
    await_lock_queue("single", "1");
    assert_status(ILK_EHELD,
                  ilk_lock_acquire_start(&second, lock, -1, 0, &err));
    assert_null(second);
    assert_status(ILK_EHELD, ilk_lock_release_start(&second, lock, &err));
    assert_status(ILK_EHELD, ilk_lock_check_start(&second, lock, &err));
    assert_status(ILK_EHELD, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_EHELD, ilk_lock_release(lock, &err));
    assert_under_way(client, op);
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_EHELD,
                  ilk_lock_acquire_start(&second, lock, -1, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    free_elsewhere(held);
}
