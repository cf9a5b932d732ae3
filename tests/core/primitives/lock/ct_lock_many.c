/* SPDX-License-Identifier: MIT */
/* ct_lock_many.c -- one lock over many names: all of them or none. */
#include "lock_thread.h"
#include "many_case.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int setup(void)
{
    fixture_wake_on(SIGUSR1);
    return server_setup();
}

AROUND_ALL(setup, server_teardown);

static void assert_nobody_waits(const char *names)
{
    for (; *names; names++) {
        const char name[] = {*names, '\0'};

        await_waiters(name, 0);
    }
}

/* ---- all or none -------------------------------------------------------- */

TEST(free_names_are_taken_and_given_up_together)
{
    ilk_client *client = open_client();
    ilk_lock_many *many = open_many(client, "cab", 0);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    assert_all("abc", ilk_lock_many_token(many));
    assert_status(ILK_EHELD, ilk_lock_many_acquire(many, 0, &err));
    assert_in_range(ilk_lock_many_remaining_ms(many), 29000, 30000);
    assert_status(ILK_OK, ilk_lock_many_extend(many, 5000, &err));
    for (const char *n = "abc"; *n; n++)
        assert_in_range(fixture_int(&fx, "PTTL %c", *n), 4000, 5000);
    assert_status(ILK_OK, ilk_lock_many_check(many, &err));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    assert_all("abc", "(nil)");
    assert_status(ILK_ENOTOWNER, ilk_lock_many_release(many, &err));
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

TEST(deadline_before_the_first_reply_is_an_outage)
{
    ilk_client *client = open_client();
    ilk_lock_many *many = open_many(client, "789", 0);
    ilk_error err = {0};

    assert_int_equal(0, fixture_pause(&fx));
    assert_status(ILK_ECONN, ilk_lock_many_acquire(many, 60, &err));
    assert_int_equal(0, fixture_resume(&fx));
    assert_false(ilk_lock_many_held(many));
    for (const char *n = "789"; *n; n++)
        assert_int_equal(0, fixture_await(&fx, "(nil)", 5000, "GET %c", *n));
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

TEST(one_busy_name_leaves_the_others_alone)
{
    ilk_client *client = open_client();
    ilk_lock_many *many = open_many(client, "defg", 0);
    ilk_lock *held = open_lock(client, "f");
    ilk_error err = {0};
    int64_t began;

    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    assert_status(ILK_EBUSY, ilk_lock_many_acquire(many, 0, &err));
    assert_non_null(strstr(err.msg, "\"f\""));
    assert_all("deg", "(nil)");
    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, ilk_lock_many_acquire(many, 300, &err));
    assert_on_time(fixture_now_ms() - began, 300);
    assert_int_equal(0, fixture_await(&fx, "0", 1000, "EXISTS d e g"));
    assert_all("f", ilk_lock_token(held));
    assert_nobody_waits("defg");
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    ilk_lock_free(held);
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

TEST(wait_ends_when_the_last_name_is_free)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock_many *many = open_many(client, "hij", 0);
    ilk_lock *h = open_lock(other, "h"), *j = open_lock(other, "j");
    ilk_error err = {0};
    many_taker t;
    int64_t at;

    assert_status(ILK_OK, ilk_lock_acquire(h, 0, &err));
    assert_status(ILK_OK, ilk_lock_acquire(j, 0, &err));
    start_many_taker(&t, many, -1);
    await_waiters("h", 1);
    assert_all("i", "(nil)"); /* in byte order: not yet */
    assert_status(ILK_OK, ilk_lock_release(h, &err));
    await_waiters("j", 1);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_release(j, &err));
    assert_took_many(ILK_OK, &t);
    assert_on_time(t.ended_at - at, 0);
    assert_all("hij", ilk_lock_many_token(many));
    for (const char *n = "hij"; *n; n++) /* the full lease, not a grant's */
        assert_in_range(fixture_int(&fx, "PTTL %c", *n), 25000, 30000);
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    ilk_lock_free(h);
    ilk_lock_free(j);
    ilk_lock_many_free(many);
    ilk_client_free(client);
    ilk_client_free(other);
}

static void assert_fences(const char *names, int64_t fence)
{
    for (; *names; names++)
        assert_int_equal(
            fence, fixture_int(&fx, "HGET ilk:lock:fence:{%c} fence", *names));
}

TEST(one_fence_is_above_every_name_s_last)
{
    ilk_client *client = open_client();
    ilk_lock_many *many = open_many(client, "klm", 0);
    int64_t ahead = INT64_C(1) << 52, fence;
    ilk_lock *l = open_lock(client, "l");
    ilk_error err = {0};

    fixture_command(&fx, "HSET ilk:lock:fence:{l} fence %lld",
                    (long long)ahead);
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    fence = ilk_lock_many_fence(many);
    assert_true(fence > ahead);
    assert_fences("klm", fence);
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    assert_status(ILK_OK, ilk_lock_acquire(l, 0, &err));
    assert_true(ilk_lock_fence(l) > fence);
    /* And so when they are taken name by name. */
    fence = ilk_lock_fence(l);
    fixture_command(&fx, "SET k somebody PX 100");
    assert_status(ILK_OK, ilk_lock_release(l, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, patience(5000), &err));
    assert_true(ilk_lock_many_fence(many) > fence);
    fence = ilk_lock_many_fence(many);
    assert_fences("klm", fence);
    ilk_lock_free(l);
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

TEST(name_given_twice_counts_once)
{
    ilk_client *client = open_client();
    ilk_lock_many *many = open_many(client, "nonnon", 0);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    assert_all("no", ilk_lock_many_token(many));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    fixture_command(&fx, "SET n somebody PX 100");
    assert_status(ILK_OK, ilk_lock_many_acquire(many, patience(2000), &err));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

TEST(numbers_of_names)
{
    const void *names[ILK_MANY_MAX + 1];
    size_t lens[ILK_MANY_MAX + 1];
    char text[ILK_MANY_MAX + 1][8];
    ilk_client *client = open_client();
    ilk_lock_many *many = NULL;
    ilk_error err = {0};

    for (int i = 0; i <= ILK_MANY_MAX; i++) {
        lens[i] = (size_t)snprintf(text[i], sizeof text[i], "many%d", i);
        names[i] = text[i];
    }
    assert_status(ILK_EINVAL, ilk_lock_many_open(&many, client, names, lens, 0,
                                                 NULL, &err));
    assert_status(ILK_EINVAL, ilk_lock_many_open(&many, client, names, lens,
                                                 ILK_MANY_MAX + 1, NULL, &err));
    assert_null(many);
    assert_status(ILK_OK, ilk_lock_many_open(&many, client, names, lens,
                                             ILK_MANY_MAX, NULL, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

/* ---- ended from outside ------------------------------------------------- */

TEST(lost_name_is_reported_and_the_others_are_released)
{
    ilk_client *client = open_client();
    ilk_lock_many *many = open_many(client, "pqr", 1500);
    ilk_notification notification = {.size = sizeof notification};
    struct pollfd pfd = {.events = POLLIN};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_notification_fd(client, &pfd.fd, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    fixture_sleep_ms(2000); /* renewed */
    assert_int_equal(1, ilk_lock_many_held(many));
    assert_all("pqr", ilk_lock_many_token(many));
    fixture_command(&fx, "SET q somebody PX 60000");
    assert_int_equal(1, poll(&pfd, 1, 5000));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_NOTIFICATION_LOCK_LOST, notification.kind);
    assert_int_equal(ILK_ELOST, notification.status);
    assert_int_equal(ilk_lock_many_id(many), notification.id);
    assert_status(ILK_ELOST, ilk_lock_many_check(many, &err));
    assert_status(ILK_ELOST, ilk_lock_many_release(many, &err));
    assert_all("pr", "(nil)");
    assert_all("q", "somebody");
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

/* The caller does not hold yet, and does not know the name's own lease. */
TEST(name_lost_during_the_wait_is_no_news)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock_many *many = open_many(client, "123", 1500);
    ilk_lock *third = open_lock(other, "3");
    ilk_notification notification = {.size = sizeof notification};
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_error err = {0};
    many_taker t;

    assert_status(ILK_OK, ilk_lock_acquire(third, 0, &err));
    start_many_taker(&t, many, -1);
    await_waiters("3", 1);
    fixture_command(&fx, "SET 1 somebody PX 60000");
    while (stats.losses == 0)
        assert_status(ILK_OK, ilk_client_get_stats(client, &stats, &err));
    assert_status(ILK_EAGAIN,
                  ilk_client_next_notification(client, &notification, NULL));
    fixture_command(&fx, "DEL 1");
    assert_status(ILK_OK, ilk_lock_release(third, &err));
    assert_took_many(ILK_OK, &t);
    assert_all("123", ilk_lock_many_token(many));
    ilk_lock_free(third);
    ilk_lock_many_free(many);
    ilk_client_free(client);
    ilk_client_free(other);
}

TEST(cancelled_wait_gives_back_what_it_has)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock_many *many = open_many(client, "stu", 0);
    ilk_lock *u = open_lock(other, "u");
    ilk_error err = {0};
    many_taker t;
    int64_t at;

    assert_status(ILK_OK, ilk_lock_acquire(u, 0, &err));
    start_many_taker(&t, many, -1);
    await_waiters("u", 1);
    assert_int_equal(2, fixture_int(&fx, "EXISTS s t"));
    assert_status(ILK_EHELD, ilk_lock_many_acquire(many, 0, &err));
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_many_cancel(many, &err));
    assert_took_many(ILK_ECANCELLED, &t);
    assert_on_time(t.ended_at - at, 0);
    assert_int_equal(0, fixture_await(&fx, "0", 1000, "EXISTS s t"));
    assert_nobody_waits("stu");
    ilk_lock_free(u);
    ilk_lock_many_free(many);
    ilk_client_free(client);
    ilk_client_free(other);
}

TEST(signal_parks_the_wait_for_a_while)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock_many *many = open_many(client, "vwx", 1500);
    ilk_lock *x = open_lock(other, "x");
    ilk_error err = {0};
    many_taker t;

    assert_status(ILK_OK, ilk_lock_acquire(x, 0, &err));
    for (int round = 0; round < 2; round++) {
        start_many_taker(&t, many, -1);
        await_waiters("x", 1);
        interrupt_many_taker(&t);
        assert_took_many(ILK_EINTR, &t);
        fixture_sleep_ms(2200); /* what is taken is kept meanwhile */
        assert_int_equal(2, fixture_int(&fx, "EXISTS v w"));
    }
    assert_int_equal(0, ilk_lock_many_held(many));
    assert_status(ILK_EBUSY, ilk_lock_many_acquire(many, 0, &err));
    assert_string_not_equal("", err.msg);
    assert_int_equal(0, fixture_await(&fx, "0", 5000, "EXISTS v w"));
    assert_nobody_waits("vwx");
    start_many_taker(&t, many, -1);
    await_waiters("x", 1);
    interrupt_many_taker(&t);
    assert_took_many(ILK_EINTR, &t);
    assert_status(ILK_OK, ilk_lock_release(x, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, -1, &err));
    assert_all("vwx", ilk_lock_many_token(many));
    ilk_lock_free(x);
    ilk_lock_many_free(many);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* ---- no circle ---------------------------------------------------------- */

typedef struct rival {
    pthread_t thread;
    ilk_lock_many *many;
    int64_t *value, *fence; /* guarded by the lock */
    int failures;
    ilk_error err;
} rival;

enum { RIVALS = 4, ROUNDS = 150 };

static void *compete(void *arg)
{
    rival *r = arg;

    for (int i = 0; i < ROUNDS && !r->failures; i++) {
        r->failures += ilk_lock_many_acquire(r->many, 20000, &r->err) != ILK_OK;
        ++*r->value;
        r->failures += ilk_lock_many_fence(r->many) <= *r->fence;
        *r->fence = ilk_lock_many_fence(r->many);
        r->failures += ilk_lock_many_release(r->many, &r->err) != ILK_OK;
    }
    return NULL;
}

TEST(opposite_orders_never_wait_in_a_circle)
{
    static const char *const names[RIVALS] = {"123", "321", "2413", "142"};
    ilk_client *clients[] = {open_client(), open_client()};
    rival rivals[RIVALS];
    int64_t value = 0, fence = 0;

    for (int i = 0; i < RIVALS; i++) {
        rivals[i] = (rival){.many = open_many(clients[i % 2], names[i], 0),
                            .value = &value,
                            .fence = &fence};
        pthread_create(&rivals[i].thread, NULL, compete, &rivals[i]);
    }
    for (int i = 0; i < RIVALS; i++) {
        pthread_join(rivals[i].thread, NULL);
        if (rivals[i].failures)
            print_error("rival %d: %s\n", i, rivals[i].err.msg);
        assert_int_equal(0, rivals[i].failures);
        ilk_lock_many_free(rivals[i].many);
    }
    assert_int_equal(RIVALS * ROUNDS, value); /* all have 1 and 2 in common */
    for (int i = 0; i < 2; i++)
        ilk_client_free(clients[i]);
}
