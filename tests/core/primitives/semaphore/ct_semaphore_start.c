/* SPDX-License-Identifier: MIT */
/* ct_semaphore_start.c -- semaphores by operations that are started. */
#include "client_case.h"
#include "semaphore_case.h"
#include "started.h"

#include <string.h>

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

/* ---- each verb ---------------------------------------------------------- */

static void each_request_tells_its_end(void **state)
{
    ilk_semaphore *semaphore = open_semaphore_with(client, "pool", 5, 3, 0, 0);

    (void)state;
    op = start(semaphore, 0);
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_semaphore_held(semaphore));
    assert_int_equal(3, permits_taken("pool"));
    assert_status(ILK_OK,
                  ilk_semaphore_extend_start(&op, semaphore, 90000, &err));
    assert_ends(ILK_OK, client, op);
    assert_in_range(ilk_semaphore_remaining_ms(semaphore), 80000, 90000);
    assert_status(ILK_OK, ilk_semaphore_check_start(&op, semaphore, &err));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_semaphore_release_start(&op, semaphore, &err));
    assert_false(ilk_semaphore_held(semaphore));
    assert_ends(ILK_OK, client, op);
    assert_int_equal(0, permits_taken("pool"));
    ilk_semaphore_free(semaphore);
}

static void adopt_takes_a_hold_over(void **state)
{
    ilk_semaphore *donor = open_semaphore(client, "handed", 2);
    ilk_semaphore *heir = open_semaphore(client, "handed", 2);
    char token[64];

    (void)state;
    assert_status(ILK_OK, ilk_semaphore_acquire(donor, 0, &err));
    strcpy(token, ilk_semaphore_token(donor));
    assert_status(ILK_OK, ilk_semaphore_detach(donor, &err));
    assert_status(ILK_OK, ilk_semaphore_adopt_start(&op, heir, token,
                                                    strlen(token), &err));
    memset(token, 'x', sizeof token);
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_semaphore_held(heir));
    assert_int_equal(1, permits_taken("handed"));
    ilk_semaphore_free(donor);
    ilk_semaphore_free(heir);
}

static void a_raised_limit_lets_a_wait_in(void **state)
{
    ilk_op *limit;

    (void)state;
    start_wait("raised");
    assert_status(ILK_OK, ilk_semaphore_set_limit_start(&limit, held, 2, &err));
    assert_ends(ILK_OK, client, limit);
    assert_ends(ILK_OK, client, op);
    assert_int_equal(2, permits_taken("raised"));
    ilk_semaphore_free(held);
    ilk_semaphore_free(waits);
}

static void inspect_leaves_a_finding_in_the_operation(void **state)
{
    char name[] = "looked_at";
    ilk_op *look;

    (void)state;
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

static void wrong_arguments_start_nothing(void **state)
{
    ilk_semaphore *semaphore = open_semaphore(client, "args", 2);

    (void)state;
    op = (ilk_op *)semaphore;
    assert_status(ILK_EINVAL,
                  ilk_semaphore_acquire_start(&op, NULL, 0, 0, &err));
    assert_null(op);
    assert_status(ILK_EINVAL,
                  ilk_semaphore_acquire_start(NULL, semaphore, 0, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_semaphore_acquire_start(&op, semaphore, 0, -1, &err));
    assert_status(ILK_EINVAL,
                  ilk_semaphore_set_limit_start(&op, semaphore, 0, &err));
    assert_status(ILK_ENOTOWNER,
                  ilk_semaphore_release_start(&op, semaphore, &err));
    assert_status(ILK_EINVAL,
                  ilk_semaphore_inspect_start(&op, client, "", 0, &err));
    assert_null(op);
    ilk_semaphore_free(semaphore);
}

/* ---- waiting ------------------------------------------------------------ */

static void a_wait_gets_its_permits(void **state)
{
    (void)state;
    start_wait("wanted");
    assert_under_way(client, op);
    assert_status(ILK_OK, ilk_semaphore_release(held, &err));
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_semaphore_held(waits));
    assert_int_equal(1, permits_taken("wanted"));
    ilk_semaphore_free(held);
    ilk_semaphore_free(waits);
}

static void a_wait_ends_on_time(void **state)
{
    ilk_op *once;
    int64_t began;

    (void)state;
    start_wait("slow");
    ilk_op_free(op);
    once = start(waits, 0);
    assert_ends(ILK_EBUSY, client, once);
    began = fixture_now_ms();
    op = start(waits, 300);
    assert_ends(ILK_ETIMEOUT, client, op);
    assert_on_time(fixture_now_ms() - began, 300);
    assert_nothing_left("slow");
    ilk_semaphore_free(waits);
}

static void one_thing_at_a_time(void **state)
{
    ilk_op *second = op;

    (void)state;
    start_wait("single");
    assert_status(ILK_EHELD,
                  ilk_semaphore_acquire_start(&second, waits, -1, 0, &err));
    assert_null(second);
    assert_status(ILK_EHELD,
                  ilk_semaphore_set_limit_start(&second, waits, 2, &err));
    assert_status(ILK_EHELD, ilk_semaphore_release(waits, &err));
    assert_status(ILK_OK, ilk_semaphore_release(held, &err));
    assert_ends(ILK_OK, client, op);
    ilk_semaphore_free(held);
    ilk_semaphore_free(waits);
}

/* ---- ending early ------------------------------------------------------- */

static void cancel_leaves_the_wait_queue(void **state)
{
    (void)state;
    start_wait("cancelled");
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_ECANCELLED, client, op);
    assert_nothing_left("cancelled");
    ilk_semaphore_free(waits);

    start_wait("by_handle");
    assert_status(ILK_OK, ilk_semaphore_cancel(waits, &err));
    assert_ends(ILK_ECANCELLED, client, op);
    ilk_semaphore_free(waits);
    ilk_semaphore_free(held);
}

/* Who asks for many stands before those who ask for few, until it goes. */
static void a_freed_wait_lets_those_behind_it_pass(void **state)
{
    ilk_semaphore *first = open_semaphore(client, "pass", 2);
    ilk_semaphore *many = open_semaphore_with(client, "pass", 2, 2, 0, 0);
    ilk_semaphore *few = open_semaphore(client, "pass", 2);
    ilk_op *big, *small;

    (void)state;
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

static void freeing_the_handle_ends_the_wait(void **state)
{
    (void)state;
    start_wait("freed");
    ilk_semaphore_free(waits);
    assert_ends(ILK_ECANCELLED, client, op);
    assert_nothing_left("freed");
}

/* Permits that were granted and not seen yet are free at once. */
static void a_grant_that_nobody_takes_is_passed_on(void **state)
{
    (void)state;
    start_wait("unwanted");
    assert_status(ILK_OK, ilk_semaphore_release(held, &err));
    assert_int_equal(1, permits_taken("unwanted"));
    fixture_sleep_ms(50);
    ilk_op_free(op);
    assert_false(ilk_semaphore_held(waits));
    assert_status(ILK_OK, ilk_semaphore_acquire(held, 2000, &err));
    ilk_semaphore_free(waits);
    ilk_semaphore_free(held);
}

static void closing_the_client_ends_it(void **state)
{
    ilk_client *own = open_client();
    ilk_semaphore *theirs = open_semaphore(own, "closed", 1);

    (void)state;
    held = open_semaphore(client, "closed", 1);
    assert_status(ILK_OK, ilk_semaphore_acquire(held, 0, &err));
    op = start(theirs, -1);
    turn_until(own, "1", "ZCARD ilk:semaphore:wait:{closed}");
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_ends(ILK_ECLOSED, own, op);
    ilk_semaphore_free(theirs);
    ilk_semaphore_free(held);
    ilk_client_free(own);
}

static void a_wait_survives_the_server(void **state)
{
    (void)state;
    start_wait("revived");
    assert_int_equal(0, fixture_kill(&fx));
    turn_for(client, 100);
    assert_int_equal(0, fixture_restart(&fx));
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_semaphore_held(waits));
    ilk_semaphore_free(waits);
    ilk_semaphore_free(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_tells_its_end),
        cmocka_unit_test(adopt_takes_a_hold_over),
        cmocka_unit_test(a_raised_limit_lets_a_wait_in),
        cmocka_unit_test(inspect_leaves_a_finding_in_the_operation),
        cmocka_unit_test(wrong_arguments_start_nothing),
        cmocka_unit_test(a_wait_gets_its_permits),
        cmocka_unit_test(a_wait_ends_on_time),
        cmocka_unit_test(one_thing_at_a_time),
        cmocka_unit_test(cancel_leaves_the_wait_queue),
        cmocka_unit_test(a_freed_wait_lets_those_behind_it_pass),
        cmocka_unit_test(freeing_the_handle_ends_the_wait),
        cmocka_unit_test(a_grant_that_nobody_takes_is_passed_on),
        cmocka_unit_test(closing_the_client_ends_it),
        cmocka_unit_test(a_wait_survives_the_server),
    };

    return cmocka_run_group_tests(tests, client_setup, client_teardown);
}
