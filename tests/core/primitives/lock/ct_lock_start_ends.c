/* SPDX-License-Identifier: MIT */
/*
 * ct_lock_start_ends.c -- started acquires that end early: cancelled, freed,
 * closed, forked, on a server that dies. None leaves anything behind.
 */
#include "lock_thread.h"
#include "started_case.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A wait behind somebody who holds. */
static ilk_lock *held, *lock;
static ilk_op *op;

static void start_wait(const char *name)
{
    held = hold_elsewhere(name);
    lock = open_lock(client, name);
    op = start_acquire(lock, -1);
    await_lock_queue(name, "1");
}

/* ---- cancelled ---------------------------------------------------------- */

static void cancel_leaves_the_wait_queue(void **state)
{
    ilk_error err = {0};

    (void)state;
    start_wait("cancelled");
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_status(ILK_OK, ilk_op_cancel(op, &err)); /* as often as you like */
    assert_ended(ILK_ECANCELLED, client, op);
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_status(ILK_ECANCELLED, ilk_op_status(op, &err));
    assert_non_null(strstr(err.msg, "cancel"));
    ilk_op_free(op);
    assert_nothing_left("cancelled", held);
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
}

static void cancel_by_the_handle_does_the_same(void **state)
{
    ilk_error err = {0};

    (void)state;
    start_wait("by_handle");
    assert_status(ILK_OK, ilk_lock_cancel(lock, &err));
    assert_ends(ILK_ECANCELLED, client, op);
    assert_nothing_left("by_handle", held);
    ilk_lock_free(lock);
}

static void cancel_before_the_first_answer_gives_all_back(void **state)
{
    ilk_error err = {0};
    ilk_status st;

    (void)state;
    lock = open_lock(client, "hasty");
    for (int i = 0; i < 20; i++) {
        op = start_acquire(lock, -1);
        assert_status(ILK_OK, ilk_op_cancel(op, &err));
        while ((st = ilk_op_status(op, NULL)) == ILK_EAGAIN)
            (void)turn(client, 100);
        assert_true(st == ILK_OK || st == ILK_ECANCELLED);
        assert_int_equal(st == ILK_OK, ilk_lock_held(lock));
        if (st == ILK_OK)
            assert_status(ILK_OK, ilk_lock_release(lock, &err));
        assert_ends(st, client, op);
        turn_until(client, "0", "EXISTS hasty");
    }
    ilk_lock_free(lock);
}

/* ---- granted, and the client has not looked yet ------------------------- */

static ilk_client *third;
static ilk_lock *next;
static taker behind;

/* The wait has it, and the keeper knows; `next` stands behind. */
static void start_granted(const char *name)
{
    ilk_error err = {0};

    third = open_client();
    next = open_lock(third, name);
    start_wait(name);
    start_taker(&behind, next, 20000);
    await_lock_queue(name, "2");
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_string_equal("1", fixture_command(&fx, "EXISTS %s", name));
    fixture_sleep_ms(50);
}

/* It does not wait for a lease to run out. */
static void assert_the_next_has_it(const char *name, int64_t since)
{
    assert_took(ILK_OK, &behind);
    assert_in_range(behind.ended_at - since, 0, patience(1000));
    assert_string_equal(ilk_lock_token(next),
                        fixture_command(&fx, "GET %s", name));
    ilk_lock_free(next);
    ilk_client_free(third);
    free_elsewhere(held);
}

static void a_grant_just_before_the_cancel_is_had(void **state)
{
    ilk_error err = {0};
    int64_t at;

    (void)state;
    start_granted("granted");
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_lock_held(lock));
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_the_next_has_it("granted", at);
    ilk_lock_free(lock);
}

static void a_grant_just_before_the_operation_is_freed_is_passed_on(
    void **state)
{
    int64_t at;

    (void)state;
    start_granted("unwanted");
    at = fixture_now_ms();
    ilk_op_free(op);
    assert_false(ilk_lock_held(lock));
    assert_the_next_has_it("unwanted", at);
    ilk_lock_free(lock);
}

static void a_grant_just_before_the_handle_is_freed_is_passed_on(void **state)
{
    int64_t at;

    (void)state;
    start_granted("orphan");
    at = fixture_now_ms();
    ilk_lock_free(lock);
    assert_the_next_has_it("orphan", at);
    assert_ends(ILK_ECANCELLED, client, op);
}

static void a_cancel_on_the_heels_of_the_release_loses_nothing(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (int i = 0; i < 20; i++) {
        ilk_status st;

        start_wait("heels");
        assert_status(ILK_OK, ilk_lock_release(held, &err));
        assert_status(ILK_OK, ilk_op_cancel(op, &err));
        while ((st = ilk_op_status(op, NULL)) == ILK_EAGAIN)
            (void)turn(client, 100);
        if (st == ILK_OK)
            assert_status(ILK_OK, ilk_lock_release(lock, &err));
        assert_ends(st, client, op);
        turn_until(client, "0", "EXISTS heels");
        await_lock_queue("heels", "0");
        ilk_lock_free(lock);
        free_elsewhere(held);
    }
}

/* ---- freed -------------------------------------------------------------- */

static void freeing_the_operation_leaves_the_queue(void **state)
{
    (void)state;
    start_wait("op_freed");
    ilk_op_free(op);
    assert_nothing_left("op_freed", held);
    ilk_lock_free(lock);
}

static void freeing_an_operation_on_its_way_gives_all_back(void **state)
{
    ilk_error err = {0};

    (void)state;
    lock = open_lock(client, "unheard");
    for (int i = 0; i < 20; i++) {
        ilk_op_free(start_acquire(lock, -1));
        turn_until(client, "0", "EXISTS unheard");
        await_lock_queue("unheard", "0");
    }
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    ilk_lock_free(lock);
}

static void freeing_the_handle_ends_the_wait(void **state)
{
    (void)state;
    start_wait("lock_freed");
    ilk_lock_free(lock);
    assert_ends(ILK_ECANCELLED, client, op);
    assert_nothing_left("lock_freed", held);
}

static void freeing_the_handle_ends_what_was_asked(void **state)
{
    ilk_error err = {0};

    (void)state;
    lock = open_lock(client, "asked");
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release_start(&op, lock, &err));
    ilk_lock_free(lock);
    assert_ends(ILK_ECANCELLED, client, op);
    turn_until(client, "0", "EXISTS asked"); /* it was sent before */

    lock = open_lock(client, "asked");
    op = start_acquire(lock, -1);
    ilk_lock_free(lock);
    assert_ends(ILK_ECANCELLED, client, op);
    turn_until(client, "0", "EXISTS asked");
}

static void *free_lock(void *arg)
{
    ilk_lock_free(arg);
    return NULL;
}

static void cancel_and_free_may_meet(void **state)
{
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 50; i++) {
        start_wait("met");
        assert_int_equal(0, pthread_create(&thread, NULL, free_lock, lock));
        assert_int_equal(ILK_OK, ilk_op_cancel(op, NULL));
        assert_ends(ILK_ECANCELLED, client, op);
        pthread_join(thread, NULL);
        assert_nothing_left("met", held);
    }
}

/* ---- closed, forked ----------------------------------------------------- */

static void closing_the_client_ends_all(void **state)
{
    ilk_client *own = open_client();
    ilk_lock *waits, *asks = open_lock(own, "closing too");
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};
    ilk_op *wait, *ask;

    (void)state;
    held = hold_elsewhere("closing");
    waits = open_lock(own, "closing");
    wait = start_acquire(waits, -1);
    turn_until(own, "1", "ZCARD ilk:lock:wait:{closing}");
    ask = start_acquire(asks, -1);
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_ends(ILK_ECLOSED, own, wait);
    assert_ends(ILK_ECLOSED, own, ask);
    assert_status(ILK_ECLOSED,
                  ilk_client_next_notification(own, &notification, &err));
    assert_status(ILK_ECLOSED,
                  ilk_lock_acquire_start(&wait, waits, -1, 0, &err));
    assert_null(wait);
    ilk_lock_free(waits);
    ilk_lock_free(asks);
    ilk_client_free(own);
    free_elsewhere(held);
}

/* In whatever order: the operation keeps its client, as a handle does. */
static void an_operation_outlives_handle_and_client(void **state)
{
    ilk_client *own = open_client();
    ilk_lock *waits;
    ilk_op *wait;

    (void)state;
    held = hold_elsewhere("outlived");
    waits = open_lock(own, "outlived");
    wait = start_acquire(waits, -1);
    turn_until(own, "1", "ZCARD ilk:lock:wait:{outlived}");
    ilk_lock_free(waits);
    ilk_client_free(own);
    assert_int_equal(ILK_ECANCELLED, ilk_op_status(wait, NULL));
    assert_int_equal(
        0, fixture_await(&fx, "0", 10000, "ZCARD ilk:lock:wait:{outlived}"));
    ilk_op_free(wait);
    free_elsewhere(held);
}

static void a_child_does_not_touch_its_parents_operation(void **state)
{
    ilk_error err = {0};
    int status;
    pid_t pid;

    (void)state;
    start_wait("forked");
    pid = fork();
    if (pid == 0) {
        int right = ilk_op_status(op, NULL) == ILK_EFORKED
                    && ilk_op_cancel(op, NULL) == ILK_EFORKED
                    && ilk_op_number(op) == 0;

        ilk_op_free(op);
        ilk_lock_free(lock);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_int_equal(0, status);
    assert_under_way(client, op);
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    free_elsewhere(held);
}

/* ---- a server that dies ------------------------------------------------- */

static void a_wait_survives_the_server(void **state)
{
    ilk_op *ping;
    ilk_error err = {0};

    (void)state;
    start_wait("revived");
    assert_int_equal(0, fixture_kill(&fx));
    assert_status(ILK_OK, ilk_client_ping_start(&ping, client, 200, &err));
    turn_for(client, 300);
    assert_true(ilk_op_status(ping, NULL) != ILK_EAGAIN);
    assert_true(ilk_op_status(ping, NULL) != ILK_OK);
    ilk_op_free(ping);
    assert_int_equal(ILK_EAGAIN, ilk_op_status(op, NULL));
    assert_int_equal(0, fixture_restart(&fx));
    assert_ends(ILK_OK, client, op); /* its memory was empty */
    assert_true(ilk_lock_held(lock));
    assert_status(ILK_OK, ilk_lock_release_start(&op, lock, &err));
    assert_ends(ILK_OK, client, op);
    ilk_lock_free(lock);
    free_elsewhere(held);
}

static void a_wait_is_cancelled_while_the_server_is_away(void **state)
{
    ilk_error err = {0};

    (void)state;
    start_wait("away");
    assert_int_equal(0, fixture_kill(&fx));
    turn_for(client, 100);
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_ECANCELLED, client, op);
    op = start_acquire(lock, -1);
    turn_for(client, 100);
    ilk_op_free(op);
    assert_int_equal(0, fixture_restart(&fx));
    turn_for(client, 1000);
    assert_string_equal("0", fixture_command(&fx, "EXISTS away"));
    await_lock_queue("away", "0");
    ilk_lock_free(lock);
    free_elsewhere(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_leaves_the_wait_queue),
        cmocka_unit_test(cancel_by_the_handle_does_the_same),
        cmocka_unit_test(cancel_before_the_first_answer_gives_all_back),
        cmocka_unit_test(a_grant_just_before_the_cancel_is_had),
        cmocka_unit_test(
            a_grant_just_before_the_operation_is_freed_is_passed_on),
        cmocka_unit_test(a_grant_just_before_the_handle_is_freed_is_passed_on),
        cmocka_unit_test(a_cancel_on_the_heels_of_the_release_loses_nothing),
        cmocka_unit_test(freeing_the_operation_leaves_the_queue),
        cmocka_unit_test(freeing_an_operation_on_its_way_gives_all_back),
        cmocka_unit_test(freeing_the_handle_ends_the_wait),
        cmocka_unit_test(freeing_the_handle_ends_what_was_asked),
        cmocka_unit_test(cancel_and_free_may_meet),
        cmocka_unit_test(closing_the_client_ends_all),
        cmocka_unit_test(an_operation_outlives_handle_and_client),
        cmocka_unit_test(a_child_does_not_touch_its_parents_operation),
        cmocka_unit_test(a_wait_survives_the_server),
        cmocka_unit_test(a_wait_is_cancelled_while_the_server_is_away),
    };

    return cmocka_run_group_tests(tests, client_setup, client_teardown);
}
