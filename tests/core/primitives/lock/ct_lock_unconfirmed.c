/* SPDX-License-Identifier: MIT */
/* ct_lock_unconfirmed.c -- releases whose answers are not waited for. */
/* link: -Wl,--wrap=ilk__lanes_send_only */
#include "lock_case.h"
#include "redis/lanes.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_lock *observed;
static int held_when_sent;

ilk_status __real_ilk__lanes_send_only(ilk__lanes *lanes,
                                       const ilk__command *command,
                                       ilk__ensured *ensured);
ilk_status __wrap_ilk__lanes_send_only(ilk__lanes *lanes,
                                       const ilk__command *command,
                                       ilk__ensured *ensured);

ilk_status __wrap_ilk__lanes_send_only(ilk__lanes *lanes,
                                       const ilk__command *command,
                                       ilk__ensured *ensured)
{
    if (observed)
        held_when_sent += ilk_lock_held(observed);
    return __real_ilk__lanes_send_only(lanes, command, ensured);
}

static void await_free(const char *name)
{
    for (int i = 0; i < 1000; i++) {
        if (strcmp(fixture_command(&fx, "EXISTS %s", name), "0") == 0)
            return;
        fixture_sleep_ms(5);
    }
    fail_msg("%s is held for ever", name);
}

TEST(pairs_need_one_round_trip_each)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "brisk", 10000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    for (int i = 0; i < 200; i++) {
        assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
        assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
        assert_int_equal(0, ilk_lock_held(lock));
    }
    await_free("brisk");
    assert_status(ILK_ENOTOWNER, ilk_lock_release_unconfirmed(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* The server may let another one in as soon as the command is sent. */
TEST(the_hold_ends_before_the_command_is_sent)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "before");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    held_when_sent = 0;
    observed = lock;
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    observed = NULL;
    assert_int_equal(0, held_when_sent);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(the_next_who_waits_holds)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "next");
    ilk_error err = {0};
    int64_t fence = 0;
    child second;

    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    second = start_child("next", 10000, -1, 0);
    await_waiters("next", 1);
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    assert_int_equal('h', next_report(&second, 1000, &fence));
    assert_true(fence > ilk_lock_fence(lock));
    end_child(&second);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* Somebody took it away: the reply shows it, and the next acquire reports it. */
TEST(the_next_acquire_reports_a_loss_once)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "told", 10000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    fixture_command(&fx, "DEL told");
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    assert_status(ILK_ELOST, ilk_lock_acquire(lock, 0, &err));
    assert_non_null(strstr(err.msg, "was lost before its release"));
    assert_int_equal(0, ilk_lock_held(lock));
    await_free("told"); /* what that acquire may have got is given back */
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(1000), &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(another_holder_is_not_touched)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "other", 10000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    fixture_command(&fx, "SET other somebody PX 60000");
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    assert_status(ILK_OK, ilk_client_ping(client, -1, &err));
    assert_string_equal("somebody", fixture_command(&fx, "GET other"));
    assert_status(ILK_ELOST, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "DEL other");
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* The script is unknown to the server: nobody reads that in time, so the
 * background thread gives it back. */
TEST(a_release_that_was_refused_is_done_all_the_same)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "refused");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    fixture_command(&fx, "SCRIPT FLUSH");
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    assert_status(ILK_OK, ilk_client_ping(client, -1, &err));
    await_free("refused");
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(the_handle_may_go_before_the_answer)
{
    ilk_client *client = open_client();
    ilk_error err = {0};

    for (int i = 0; i < 50; i++) {
        ilk_lock *lock = open_lock(client, "gone");

        assert_status(ILK_OK, ilk_lock_acquire(lock, patience(5000), &err));
        assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
        ilk_lock_free(lock);
    }
    await_free("gone");
    ilk_client_free(client);
}

TEST(a_server_that_died_meanwhile_does_no_harm)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "dead", 10000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    assert_int_equal(0, fixture_kill(&fx));
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    assert_int_equal(0, fixture_restart(&fx));
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(5000), &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_nested_hold_is_given_up_by_the_last_one_only)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "nest", 10000, ILK_LOCK_REENTRANT);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    assert_int_equal(1, ilk_lock_held(lock));
    assert_status(ILK_OK, ilk_lock_release_unconfirmed(lock, &err));
    await_free("nest");
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(permits_too)
{
    ilk_client *client = open_client();
    ilk_semaphore *semaphore = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_open(&semaphore, client, "permits", 7,
                                             1, NULL, &err));
    for (int i = 0; i < 20; i++) {
        assert_status(ILK_OK,
                      ilk_semaphore_acquire(semaphore, patience(1000), &err));
        assert_status(ILK_OK,
                      ilk_semaphore_release_unconfirmed(semaphore, &err));
    }
    ilk_semaphore_free(semaphore);
    ilk_client_free(client);
}
