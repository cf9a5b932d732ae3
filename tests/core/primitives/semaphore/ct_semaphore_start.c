/* SPDX-License-Identifier: MIT */
/*
 * ct_semaphore_start.c -- what is special about started operations of
 * semaphores; ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "client_case.h"
#include "semaphore_case.h"
#include "started.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

static ilk_op *start(ilk_semaphore *semaphore, int64_t timeout_ms)
{
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_semaphore_acquire_start(&op, semaphore,
                                                      timeout_ms, 0, &err));
    return op;
}

static void await_queue_length(const char *name, const char *count)
{
    turn_until(client, count, "ZCARD ilk:semaphore:wait:{%s}", name);
}

/* The only permit is held; a handle of its own waits for it. */
static ilk_semaphore *held, *waits;
static ilk_op *op;

static void start_wait(const char *name)
{
    held = open_semaphore(client, name, 1);
    waits = open_semaphore(client, name, 1);
    assert_status(ILK_OK, ilk_semaphore_acquire(held, 0, &err));
    op = start(waits, -1);
    await_queue_length(name, "1");
}

/* Nobody waits, or holds once the permit is given back. */
static void assert_nothing_left(const char *name)
{
    await_queue_length(name, "0");
    assert_status(ILK_OK, ilk_semaphore_release(held, &err));
    assert_int_equal(0, permits_taken(name));
    ilk_semaphore_free(held);
}

TEST(a_raised_limit_lets_a_wait_in)
{
    ilk_op *limit;

    start_wait("raised");
    assert_status(ILK_OK, ilk_semaphore_set_limit_start(&limit, held, 2, &err));
    assert_ends(ILK_OK, client, limit);
    assert_ends(ILK_OK, client, op);
    assert_int_equal(2, permits_taken("raised"));
    ilk_semaphore_free(held);
    ilk_semaphore_free(waits);
}

TEST(inspect_leaves_a_finding_in_the_operation)
{
    char name[] = "looked_at";
    ilk_op *look;

    start_wait(name);
    assert_status(ILK_OK, ilk_semaphore_inspect_start(&look, client, name,
                                                      strlen(name), &err));
    memset(name, 'x', strlen(name));
    assert_null(ilk_op_info(look));
    assert_ended(ILK_OK, client, look);
    assert_int_equal(1, ilk_info_limit(ilk_op_info(look)));
    assert_int_equal(1, ilk_info_holders(ilk_op_info(look)));
    assert_int_equal(1, ilk_info_waiters(ilk_op_info(look)));
    assert_string_equal(ilk_semaphore_token(held),
                        ilk_info_holder(ilk_op_info(look), NULL));
    ilk_op_free(look);
    ilk_op_free(op);
    assert_nothing_left("looked_at");
    ilk_semaphore_free(waits);
}

/* A waiter for many permits stands before those for few, until it goes. */
TEST(a_freed_wait_lets_those_behind_it_pass)
{
    ilk_semaphore *first = open_semaphore(client, "pass", 2);
    ilk_semaphore *many = open_semaphore_with(client, "pass", 2, 2, 0, 0);
    ilk_semaphore *few = open_semaphore(client, "pass", 2);
    ilk_op *big, *small;

    assert_status(ILK_OK, ilk_semaphore_acquire(first, 0, &err));
    big = start(many, -1);
    await_queue_length("pass", "1");
    small = start(few, -1);
    await_queue_length("pass", "2");
    assert_under_way(client, small);
    ilk_op_free(big);
    assert_ends(ILK_OK, client, small);
    assert_int_equal(2, permits_taken("pass"));
    await_queue_length("pass", "0");
    ilk_semaphore_free(first);
    ilk_semaphore_free(many);
    ilk_semaphore_free(few);
}
