/* SPDX-License-Identifier: MIT */
/* ct_lock_replies.c -- replies that are cut, lost, late or nonsense. */
#include "lock_thread.h"
#include "proxy_case.h"
#include "redis/script.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 400 };

static ilk_client *client; /* behind it */
static const char *acquiring, *releasing, *extending;

static int setup(void)
{
    acquiring = ilk__scripts[ILK__SCRIPT_LOCK_ACQUIRE].sha1;
    releasing = ilk__scripts[ILK__SCRIPT_LOCK_RELEASE].sha1;
    extending = ilk__scripts[ILK__SCRIPT_LOCK_EXTEND].sha1;
    return proxy_setup();
}

AROUND_ALL(setup, proxy_teardown);

/* The server knows the scripts before a test begins. */
static int come(void)
{
    ilk_client_opts opts;
    ilk_error err = {0};
    ilk_lock *lock;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = PATIENCE_MS;
    opts.connect_timeout_ms = patience(2000);
    assert_status(ILK_OK, ilk_client_open(&client, between.url, &opts, &err));
    lock = open_lock(client, "warm");
    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
    assert_status(ILK_OK, ilk_lock_extend(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    return 0;
}

static int go(void)
{
    ilk_client_free(client);
    return 0;
}

AROUND_EACH(come, go);

static void assert_holds(const ilk_lock *lock, const char *name)
{
    int64_t server = fixture_int(&fx, "PTTL %s", name);

    assert_string_equal(ilk_lock_token(lock),
                        fixture_command(&fx, "GET %s", name));
    assert_in_range(ilk_lock_remaining_ms(lock), 1, server);
}

static void assert_struck(void)
{
    assert_int_equal(1, proxy_struck(&between));
}

/* ---- cut ---------------------------------------------------------------- */

/* Every cut of the reply: before its first byte ... behind its last. */
TEST(acquire_cut_at_every_byte_holds_under_its_token)
{
    ilk_lock *lock = open_lock(client, "cut");
    ilk_error err = {0};
    size_t len = 1;

    for (size_t at = 0; at <= len; at++) {
        proxy_cut(&between, acquiring, at);
        assert_status(ILK_OK, ilk_lock_acquire(lock, at % 2 ? 0 : 5000, &err));
        assert_struck();
        len = proxy_reply_len(&between);
        assert_holds(lock, "cut");
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
        assert_int_equal(0, fixture_int(&fx, "EXISTS cut"));
    }
    ilk_lock_free(lock);
}

TEST(release_cut_at_every_byte_has_released)
{
    ilk_lock *lock = open_lock(client, "let");
    ilk_error err = {0};
    size_t len = 1;

    for (size_t at = 0; at <= len; at++) {
        assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
        proxy_cut(&between, releasing, at);
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
        assert_struck();
        len = proxy_reply_len(&between);
        assert_int_equal(0, fixture_int(&fx, "EXISTS let"));
    }
    ilk_lock_free(lock);
}

TEST(extend_cut_at_every_byte_has_extended)
{
    ilk_lock *lock = open_lock_with(client, "ext", 9000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};
    size_t len = 1;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    for (size_t at = 0; at <= len; at++) {
        int64_t ttl = 10000 + 1000 * (int64_t)at;

        proxy_cut(&between, extending, at);
        assert_status(ILK_OK, ilk_lock_extend(lock, ttl, &err));
        assert_struck();
        len = proxy_reply_len(&between);
        assert_in_range(fixture_int(&fx, "PTTL ext"), ttl - 500, ttl);
        assert_holds(lock, "ext");
    }
    ilk_lock_free(lock);
}

/* Past the local deadline a lost answer leaves it open who ended the hold. */
TEST(release_cut_past_the_lease_is_unknown)
{
    ilk_lock *lock = open_lock_with(client, "late", 1000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "PEXPIRE late 60000");
    fixture_sleep_ms(1050);
    proxy_cut(&between, releasing, 0);
    assert_status(ILK_EUNKNOWN, ilk_lock_release(lock, &err));
    assert_struck();
    assert_int_equal(0, fixture_int(&fx, "EXISTS late"));
    ilk_lock_free(lock);
}

/* Nobody else's lock is released by a copy of the question. */
TEST(release_repeated_touches_nobody_s_lock)
{
    ilk_client *other = open_client();
    ilk_lock *lock = open_lock(client, "next"),
             *next = open_lock(other, "next");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    start_taker(&t, next, -1);
    await_waiters("next", 1);
    proxy_cut(&between, releasing, 3);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_struck();
    assert_took(ILK_OK, &t);
    assert_holds(next, "next");
    ilk_lock_free(lock);
    ilk_lock_free(next);
    ilk_client_free(other);
}

TEST(waiter_keeps_its_place_when_the_reply_is_cut)
{
    ilk_client *other = open_client();
    ilk_lock *holder = open_lock(other, "place");
    ilk_lock *lock = open_lock(client, "place"),
             *later = open_lock(other, "place");
    ilk_error err = {0};
    taker t, u;

    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(lock, 50, &err)); /* inbox */
    /* The acquire has not awaited its cancel, which may still be in the proxy.
     * Until that is executed its entry looks like that of the taker below, and
     * the later one could pass. */
    await_waiters("place", 0);
    for (size_t at = 0; at < 30; at += 7) {
        proxy_cut(&between, acquiring, at);
        start_taker(&t, lock, -1);
        await_waiters("place", 1);
        start_taker(&u, later, -1);
        await_waiters("place", 2);
        fixture_sleep_ms(20);
        assert_struck();
        assert_int_equal(2, fixture_int(&fx, "ZCARD ilk:lock:wait:{place}"));
        assert_status(ILK_OK, ilk_lock_release(holder, &err));
        assert_took(ILK_OK, &t);
        assert_holds(lock, "place");
        assert_false(atomic_load(&u.done));
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
        assert_took(ILK_OK, &u);
        assert_status(ILK_OK, ilk_lock_release(later, &err));
        assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    }
    ilk_lock_free(holder);
    ilk_lock_free(lock);
    ilk_lock_free(later);
    ilk_client_free(other);
}

TEST(commands_that_never_arrive_are_sent_again)
{
    ilk_lock *lock = open_lock(client, "lose");
    ilk_error err = {0};

    proxy_arm(&between, PROXY_LOSE, acquiring);
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(1000), &err));
    assert_struck();
    assert_holds(lock, "lose");
    proxy_arm(&between, PROXY_LOSE, extending);
    assert_status(ILK_OK, ilk_lock_extend(lock, 0, &err));
    assert_struck();
    proxy_arm(&between, PROXY_LOSE, releasing);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_struck();
    ilk_lock_free(lock);
}

/* ---- late --------------------------------------------------------------- */

/* A waiter is granted a short lease first, which ends while the extend has no reply. */
TEST(an_extend_without_a_reply_leaves_no_lease_that_is_over)
{
    ilk_client *direct = open_client(), *slow;
    ilk_lock *holder = open_lock(direct, "over"), *lock;
    ilk_client_opts opts;
    ilk_error err = {0};
    taker t;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 5200;
    assert_status(ILK_OK, ilk_client_open(&slow, between.url, &opts, &err));
    lock = open_lock_with(slow, "over", 30000, ILK_LOCK_NO_RENEW);
    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    start_taker(&t, lock, -1);
    await_waiters("over", 1);
    proxy_delay(&between, extending, 6000);
    assert_status(ILK_OK, ilk_lock_release(holder, &err));
    assert_took(ILK_OK, &t);
    assert_true(ilk_lock_held(lock));
    assert_holds(lock, "over");
    ilk_lock_free(lock);
    ilk_lock_free(holder);
    ilk_client_free(slow);
    ilk_client_free(direct);
}

static ilk_lock_many *open_short_many(ilk_client *slow)
{
    const void *names[] = {"one", "two"};
    const size_t lens[] = {3, 3};
    ilk_lock_opts opts;
    ilk_lock_many *many = NULL;
    ilk_error err = {0};

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 1500;
    assert_status(ILK_OK,
                  ilk_lock_many_open(&many, slow, names, lens, 2, &opts, &err));
    return many;
}

/* The names are free, and the reply that they are taken is late. */
TEST(many_names_whose_lease_ends_on_the_way_are_taken_again)
{
    ilk_client_opts opts;
    ilk_client *slow;
    ilk_lock_many *many;
    ilk_error err = {0};

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 20000;
    assert_status(ILK_OK, ilk_client_open(&slow, between.url, &opts, &err));
    many = open_short_many(slow);
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));

    proxy_delay(&between, ilk__scripts[ILK__SCRIPT_MANY_ACQUIRE].sha1, 3000);
    assert_status(ILK_OK, ilk_lock_many_acquire(many, -1, &err));
    assert_struck();
    assert_true(ilk_lock_many_held(many));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    ilk_lock_many_free(many);
    ilk_client_free(slow);
}

/* The names were taken one by one, and the reply about the common lease is late. */
TEST(many_names_whose_lease_is_over_are_taken_again)
{
    ilk_client *direct = open_client();
    ilk_lock *holder = open_lock(direct, "two");
    ilk_client_opts opts;
    ilk_client *slow;
    ilk_error err = {0};
    ilk_lock_many *many;
    many_taker t;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 20000;
    assert_status(ILK_OK, ilk_client_open(&slow, between.url, &opts, &err));
    many = open_short_many(slow);
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    assert_status(ILK_OK,
                  ilk_lock_many_extend(many, 0, &err)); /* a known script */
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    start_many_taker(&t, many, -1);
    await_waiters("two", 1);
    proxy_delay(&between, ilk__scripts[ILK__SCRIPT_MANY_EXTEND].sha1, 3000);
    assert_status(ILK_OK, ilk_lock_release(holder, &err));
    assert_took_many(ILK_OK, &t);
    assert_struck();
    assert_true(ilk_lock_many_held(many));
    ilk_lock_many_free(many);
    ilk_lock_free(holder);
    ilk_client_free(slow);
    ilk_client_free(direct);
}

TEST(grant_that_comes_too_late_is_taken_back)
{
    ilk_lock *lock = open_lock(client, "slow");
    ilk_error err = {0};
    int64_t began = fixture_now_ms();

    proxy_delay(&between, acquiring, 800);
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 500, &err));
    assert_on_time(fixture_now_ms() - began, 500);
    assert_struck();
    assert_int_equal(0, ilk_lock_held(lock));
    assert_int_equal(0, fixture_await(&fx, "0", 1000, "EXISTS slow"));
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(1000), &err));
    assert_holds(lock, "slow"); /* no answer is taken for another's */
    ilk_lock_free(lock);
}

TEST(reply_that_comes_after_its_lease_is_no_hold)
{
    ilk_lock *lock = open_lock_with(client, "old", 100, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    proxy_delay(&between, acquiring, 200);
    assert_true(ilk_lock_acquire(lock, 0, &err) < 0);
    assert_struck();
    assert_int_equal(0, ilk_lock_held(lock));
    proxy_delay(&between, acquiring, 200);
    assert_status(ILK_OK,
                  ilk_lock_acquire(lock, patience(2000), &err)); /* once more */
    assert_struck();
    assert_holds(lock, "old");
    ilk_lock_free(lock);
}

/* It arrives before the wait begins, and nobody sleeps who could be woken. */
TEST(an_interrupt_during_a_round_trip_ends_the_wait)
{
    ilk_client *other = open_client();
    ilk_lock *holder = open_lock(other, "trip"),
             *lock = open_lock(client, "trip");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(lock, 50, &err)); /* inbox */
    proxy_delay(&between, acquiring, 200);
    start_taker(&t, lock, -1);
    while (!proxy_struck(&between))
        fixture_sleep_ms(1);
    ilk_client_interrupt(client);
    assert_took(ILK_EINTR, &t);
    ilk_lock_free(lock);
    ilk_lock_free(holder);
    ilk_client_free(other);
}

/* ---- nonsense ----------------------------------------------------------- */

#define DEEP "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
static const char *const nonsense[] = {
    "hello\r\n", "\r\n", "*\r\n", "*x\r\n", "*-7\r\n", "$1\r\n",
    "*2147483647\r\n", "*99999999999999999999\r\n", "$536870913\r\n",
    "$99999999999999999999\r\n", "*4\r\n$100000000\r\n", DEEP DEEP DEEP,
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    /* whole replies, but no answer of this script */
    ":1\r\n", "+OK\r\n", "$-1\r\n", "_\r\n", "*0\r\n", "*-1\r\n",
    "*1\r\n:1\r\n", "*4\r\n:1\r\n:30000\r\n:7\r\n$1\r\nx\r\n",
    "*4\r\n:99\r\n:1\r\n:1\r\n:1\r\n", "*4\r\n$1\r\n1\r\n:1\r\n:1\r\n:1\r\n",
    "*4\r\n*1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "%1\r\n+a\r\n:1\r\n"};

/* Half a reply spoils the next one, too; then the connection is another. */
static void acquire_at_last(ilk_lock *lock)
{
    int64_t deadline = fixture_now_ms() + 3000;

    while (ilk_lock_acquire(lock, 1000, NULL) != ILK_OK) {
        assert_int_equal(0, ilk_lock_held(lock));
        assert_true(fixture_now_ms() < deadline);
    }
}

TEST(nonsense_is_no_grant)
{
    ilk_lock *lock = open_lock(client, "sense");
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        ilk_status st;

        proxy_replace(&between, acquiring, nonsense[i], strlen(nonsense[i]));
        st = ilk_lock_acquire(lock, 200, &err);
        assert_struck();
        if (st == ILK_OK) { /* it belonged to no request: sent again */
            assert_holds(lock, "sense");
        } else {
            assert_true(st == ILK_EREPLY || st == ILK_ECONN);
            assert_int_equal(0, ilk_lock_held(lock));
            assert_int_equal(0, fixture_await(&fx, "0", 1500, "EXISTS sense"));
            acquire_at_last(lock);
        }
        assert_holds(lock, "sense");
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
    }
    ilk_lock_free(lock);
}

TEST(grant_of_a_lease_that_cannot_be_is_no_hold)
{
    static const char *const leases[] = {"0", "-1", "-9223372036854775808"};
    ilk_lock *lock = open_lock(client, "lease");
    char text[128];

    for (int i = 0; i < 3; i++) {
        ilk_client_ping(client, -1, NULL); /* no reply is under way */
        snprintf(text, sizeof text, "*4\r\n:1\r\n:%s\r\n:7\r\n:1\r\n",
                 leases[i]);
        proxy_replace(&between, acquiring, text, strlen(text));
        assert_true(ilk_lock_acquire(lock, 0, NULL) < 0);
        assert_struck();
        assert_int_equal(0, ilk_lock_held(lock));
        assert_int_equal(0, fixture_await(&fx, "0", 1500, "EXISTS lease"));
    }
    ilk_lock_free(lock);
}

TEST(answer_too_many_ends_the_connection)
{
    static const char two[] = "*4\r\n:1\r\n:30000\r\n:7\r\n:1\r\n"
                              "*4\r\n:1\r\n:30000\r\n:8\r\n:1\r\n";
    ilk_client *other = open_client();
    ilk_lock *lock = open_lock(client, "two"), *b = open_lock(client, "b");
    ilk_lock *held = open_lock(other, "b");
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    proxy_replace(&between, acquiring, two, strlen(two));
    ilk_lock_acquire(lock, 0, NULL);
    assert_struck();
    assert_status(ILK_EBUSY, ilk_lock_acquire(b, 0, &err)); /* not the second */
    ilk_client_get_stats(client, &stats, NULL);
    assert_int_equal(2, stats.connects);
    ilk_lock_free(lock);
    ilk_lock_free(b);
    ilk_lock_free(held);
    ilk_client_free(other);
}

TEST(nonsense_about_a_release_frees_the_handle)
{
    ilk_lock *lock = open_lock(client, "free");
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i += 4) {
        acquire_at_last(lock);
        proxy_replace(&between, releasing, nonsense[i], strlen(nonsense[i]));
        (void)ilk_lock_release(lock, &err); /* a copy may have succeeded */
        assert_struck();
        assert_int_equal(0, ilk_lock_held(lock));
        assert_status(ILK_ENOTOWNER, ilk_lock_release(lock, &err));
    }
    ilk_lock_free(lock);
}
