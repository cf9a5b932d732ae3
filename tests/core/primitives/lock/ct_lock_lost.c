/* SPDX-License-Identifier: MIT */
/* ct_lock_lost.c -- locks that end otherwise than by release: run out, taken
 * away, overwritten, handed to another handle; and their
 * notifications. */
#include "lock_thread.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

/* ---- notifications ------------------------------------------------------ */

static int notification_fd(ilk_client *client)
{
    ilk_error err = {0};
    int fd = -1;

    assert_status(ILK_OK, ilk_client_notification_fd(client, &fd, &err));
    return fd;
}

static int is_readable(int fd, int timeout_ms)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};

    return poll(&pfd, 1, timeout_ms) == 1;
}

static void assert_no_notification(ilk_client *client, int fd)
{
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};

    assert_int_equal(0, is_readable(fd, 0));
    assert_status(ILK_EAGAIN,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_NOTIFICATION_NONE, notification.kind);
}

/* The only notification: this lock was lost, for this reason. */
static void assert_loss(ilk_client *client, int fd, const ilk_lock *lock,
                        ilk_status why)
{
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};

    assert_int_equal(1, is_readable(fd, 3000));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_NOTIFICATION_LOCK_LOST, notification.kind);
    assert_int_equal(ilk_lock_id(lock), notification.id);
    assert_string_equal(ilk_status_name(why),
                        ilk_status_name(notification.status));
    assert_int_equal(0, ilk_lock_held(lock));
    assert_no_notification(client, fd);
}

TEST(longest_hold_ends_renewal_with_a_notification)
{
    ilk_client *client = open_client();
    ilk_lock_opts opts;
    ilk_error err = {0};
    ilk_lock *lock;
    int64_t began = fixture_now_ms();
    int fd = notification_fd(client);

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 600;
    opts.max_hold_ms = 850;
    assert_status(ILK_OK, ilk_lock_open(&lock, client, "max", 3, &opts, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_no_notification(client, fd);

    assert_loss(client, fd, lock, ILK_ETIMEOUT);

    assert_in_range(fixture_now_ms() - began, 800, 850 + patience(80));
    assert_status(ILK_ELOST, ilk_lock_check(lock, &err));
    assert_int_equal(0,
                     fixture_await(&fx, "0", (int)patience(200), "EXISTS max"));
    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* The lease is no longer than the longest hold, for every way to begin one. */
TEST(longest_hold_bounds_the_lease)
{
    ilk_client *client = open_client();
    ilk_semaphore_opts permits = {.size = sizeof permits, .max_hold_ms = 400};
    ilk_election_opts term = {.size = sizeof term, .max_hold_ms = 400};
    ilk_lock_opts opts = {.size = sizeof opts, .max_hold_ms = 400};
    const void *names[] = {"short:1", "short:2"};
    const size_t lens[] = {7, 7};
    ilk_semaphore *semaphore;
    ilk_election *election;
    ilk_lock_many *many;
    ilk_error err = {0};
    ilk_lock *lock;

    assert_status(ILK_OK,
                  ilk_lock_open(&lock, client, "short", 5, &opts, &err));
    assert_status(
        ILK_OK, ilk_lock_many_open(&many, client, names, lens, 2, &opts, &err));
    assert_status(ILK_OK, ilk_semaphore_open(&semaphore, client, "short", 5, 1,
                                             &permits, &err));
    assert_status(
        ILK_OK, ilk_election_open(&election, client, "short", 5, &term, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(semaphore, 0, &err));
    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    assert_in_range(ilk_lock_remaining_ms(lock), 1, 400);
    assert_in_range(fixture_int(&fx, "PTTL short"), 1, 400);
    assert_in_range(fixture_int(&fx, "PTTL short:2"), 1, 400);
    assert_in_range(ilk_semaphore_remaining_ms(semaphore), 1, 400);
    assert_in_range(ilk_election_remaining_ms(election), 1, 400);
    assert_int_equal(
        0, fixture_await(&fx, "0", (int)patience(600),
                         "EXISTS short short:1 ilk:election:{short}"));
    assert_int_equal(0, ilk_semaphore_held(semaphore));
    assert_status(ILK_ELOST, ilk_lock_check(lock, &err));
    ilk_lock_free(lock);
    ilk_lock_many_free(many);
    ilk_semaphore_free(semaphore);
    ilk_election_free(election);
    ilk_client_free(client);
}

/* The same without renewal. An extend that the program asks for goes beyond it. */
TEST(longest_hold_without_renewal)
{
    ilk_client *client = open_client();
    ilk_lock_opts opts = {
        .size = sizeof opts, .max_hold_ms = 300, .flags = ILK_LOCK_NO_RENEW};
    ilk_error err = {0};
    ilk_lock *lock;

    assert_status(ILK_OK, ilk_lock_open(&lock, client, "once", 4, &opts, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_in_range(fixture_int(&fx, "PTTL once"), 1, 300);
    assert_status(ILK_OK, ilk_lock_extend(lock, 0, &err));
    assert_in_range(fixture_int(&fx, "PTTL once"), 1, 300);
    assert_status(ILK_OK, ilk_lock_extend(lock, 5000, &err)); /* by hand */
    assert_true(fixture_int(&fx, "PTTL once") > 4000);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(lease_without_renewal_runs_out)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "out", 250, ILK_LOCK_NO_RENEW);
    int64_t began = fixture_now_ms();
    ilk_error err = {0};
    int fd = notification_fd(client);

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));

    assert_loss(client, fd, lock, ILK_ETIMEOUT);

    assert_in_range(fixture_now_ms() - began, 240, 250 + patience(150));
    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    assert_status(ILK_ENOTOWNER, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(deleted_key_is_reported)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "gone", 1500, 0);
    ilk_error err = {0};
    int fd = notification_fd(client);

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "DEL gone");

    assert_loss(client, fd, lock, ILK_ELOST);

    assert_status(ILK_ELOST, ilk_lock_extend(lock, 0, &err));
    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(overwritten_key_is_reported_and_left_alone)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "other", 1500, 0);
    ilk_error err = {0};
    int fd = notification_fd(client);

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "SET other somebody PX 60000");

    assert_loss(client, fd, lock, ILK_ELOST);

    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    assert_string_equal("somebody", fixture_command(&fx, "GET other"));
    assert_true(fixture_int(&fx, "PTTL other") > 50000);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(release_of_an_overwritten_lock_touches_nothing)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "theirs");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "SET theirs somebody PX 60000");
    assert_status(ILK_ELOST, ilk_lock_extend(lock, 1000, &err));
    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    assert_string_equal("somebody", fixture_command(&fx, "GET theirs"));
    assert_true(fixture_int(&fx, "PTTL theirs") > 50000);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(losses_of_one_handle_are_one_notification)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "many"), *b = open_lock(client, "two");
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};
    int fd = notification_fd(client);

    for (int i = 0; i < 3; i++) {
        assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
        fixture_command(&fx, "DEL many");
        assert_status(ILK_ELOST, ilk_lock_extend(a, 0, &err));
    }
    assert_status(ILK_OK, ilk_lock_acquire(b, 0, &err));
    fixture_command(&fx, "DEL two");
    assert_status(ILK_ELOST, ilk_lock_extend(b, 0, &err));

    assert_int_equal(1, is_readable(fd, 0));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ilk_lock_id(a), notification.id);
    assert_loss(client, fd, b, ILK_ELOST);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(freed_handle_takes_its_notification_along)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "freed");
    ilk_error err = {0};
    int fd = notification_fd(client);

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "DEL freed");
    assert_status(ILK_ELOST, ilk_lock_extend(lock, 0, &err));
    assert_int_equal(1, is_readable(fd, 0));
    ilk_lock_free(lock);
    assert_no_notification(client, fd);
    ilk_client_free(client);
}

TEST(kept_hold_is_one_notification)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "kept");
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};
    int fd = notification_fd(client);

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    for (int i = 0; i < 2; i++)
        assert_status(ILK_OK,
                      ilk_client_notify_kept(client, ilk_lock_id(lock), &err));
    assert_int_equal(1, is_readable(fd, 0));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_NOTIFICATION_KEPT, notification.kind);
    assert_int_equal(ilk_lock_id(lock), notification.id);
    assert_int_equal(ILK_OK, notification.status);
    assert_no_notification(client, fd);
    assert_int_equal(1, ilk_lock_held(lock));

    assert_status(ILK_OK, ilk_client_close(client, &err));
    assert_status(ILK_ECLOSED, ilk_client_notify_kept(client, 1, &err));
    assert_status(ILK_EINVAL, ilk_client_notify_kept(NULL, 1, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* ---- given away, taken away --------------------------------------------- */

TEST(hold_moves_to_another_client_by_its_token)
{
    ilk_client *from = open_client(), *to = open_client();
    ilk_lock *a = open_lock_with(from, "hand", 1500, 0);
    ilk_lock *b = open_lock_with(to, "hand", 1500, 0);
    const char *token;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    assert_status(ILK_OK, ilk_lock_detach(a, &err));
    assert_int_equal(0, ilk_lock_held(a));
    assert_status(ILK_ENOTOWNER, ilk_lock_release(a, &err));
    token = ilk_lock_token(a);
    assert_status(ILK_ELOST, ilk_lock_adopt(b, "another", 7, &err));
    assert_status(ILK_EINVAL, ilk_lock_adopt(b, "", 0, &err));

    assert_status(ILK_OK, ilk_lock_adopt(b, token, strlen(token), &err));

    assert_status(ILK_EHELD, ilk_lock_adopt(b, token, strlen(token), &err));
    assert_int_equal(ilk_lock_fence(a), ilk_lock_fence(b));
    fixture_sleep_ms(2500); /* renewed by its new owner */
    assert_status(ILK_EBUSY, ilk_lock_acquire(a, 0, &err));
    assert_int_equal(1, ilk_lock_held(b));
    assert_status(ILK_OK, ilk_lock_release(b, &err));
    assert_int_equal(0, fixture_int(&fx, "EXISTS hand"));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(from);
    ilk_client_free(to);
}

TEST(operator_breaks_a_lock_and_the_first_waiter_holds_it)
{
    ilk_client *client = open_client(), *admin = open_client();
    ilk_lock *a = open_lock(client, "break"), *b = open_lock(client, "break");
    ilk_error err = {0};
    int64_t broken_at;
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, -1);
    await_waiters("break", 1);
    assert_status(ILK_ENOTOWNER,
                  ilk_lock_break(admin, "break", 5, "other", 5, &err));
    broken_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_break(admin, "break", 5, ilk_lock_token(a),
                                         strlen(ilk_lock_token(a)), &err));

    assert_took(ILK_OK, &t);
    assert_on_time(t.ended_at - broken_at, 0);

    assert_true(ilk_lock_fence(b) > ilk_lock_fence(a));
    assert_status(ILK_ELOST, ilk_lock_release(a, &err));
    assert_string_equal(ilk_lock_token(b), fixture_command(&fx, "GET break"));
    assert_status(ILK_OK, ilk_lock_break(admin, "break", 5, NULL, 0, &err));
    assert_status(ILK_ENOTOWNER,
                  ilk_lock_break(admin, "break", 5, NULL, 0, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
    ilk_client_free(admin);
}

/* ---- barging ------------------------------------------------------------ */

/* The first waiter is frozen, so whoever barges finds the lock free. */
static void assert_newcomer(const char *name, uint32_t flags, ilk_status got)
{
    child holder = start_child(name, 0, 0, ILK_LOCK_BARGE), waiter;
    ilk_error err = {0};
    ilk_client *client;
    ilk_lock *newcomer;

    assert_int_equal('h', next_report(&holder, 5000, NULL));
    waiter = start_child(name, 0, -1, 0);
    await_waiters(name, 1);
    kill(waiter.pid, SIGSTOP);
    order(&holder, 'r');
    assert_int_equal('r', next_report(&holder, 5000, NULL));

    client = open_client();
    newcomer = open_lock_with(client, name, 0, flags);
    assert_status(got, ilk_lock_acquire(newcomer, 0, &err));

    kill(waiter.pid, SIGCONT);
    if (got == ILK_OK)
        assert_status(ILK_OK, ilk_lock_release(newcomer, &err));
    assert_int_equal('h', next_report(&waiter, 5000, NULL));
    end_child(&waiter);
    end_child(&holder);
    ilk_lock_free(newcomer);
    ilk_client_free(client);
}

TEST(barging_newcomer_passes_those_who_wait)
{
    assert_newcomer("barge", ILK_LOCK_BARGE, ILK_OK);
}

TEST(orderly_newcomer_does_not)
{
    assert_newcomer("orderly", 0, ILK_EBUSY);
}

TEST(barging_waiters_are_all_served)
{
    ilk_client *client = open_client();
    ilk_lock *locks[6];
    ilk_error err = {0};
    int64_t at;
    taker t[5];

    for (int i = 0; i < 6; i++)
        locks[i] = open_lock_with(client, "crowd", 0, ILK_LOCK_BARGE);
    assert_status(ILK_OK, ilk_lock_acquire(locks[5], 0, &err));
    for (int i = 0; i < 5; i++)
        start_taker(&t[i], locks[i], -1);
    await_waiters("crowd", 5);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_release(locks[5], &err));
    for (int served = 0; served < 5; fixture_sleep_ms(1))
        for (int i = 0; i < 5; i++)
            if (ilk_lock_held(locks[i]) && t[i].done) {
                served++;
                assert_status(ILK_OK, ilk_lock_release(locks[i], &err));
            }
    assert_true(fixture_now_ms() - at < patience(500)); /* each was woken */
    for (int i = 0; i < 5; i++)
        assert_took(ILK_OK, &t[i]);
    for (int i = 0; i < 6; i++)
        ilk_lock_free(locks[i]);
    ilk_client_free(client);
}
