/* SPDX-License-Identifier: MIT */
/* ct_lock_told.c -- taking back over a connection that breaks. */
#include "lock_case.h"
#include "proxy_case.h"
#include "redis/script.h"

AROUND_ALL(proxy_setup, proxy_teardown);

enum { SLOW_MS = 600 };

static ilk_client *client; /* behind it */

/* Only a command that takes back is sent with the script's text here. */
static const char told[] = "$4\r\nEVAL\r\n";

/* The server knows the scripts before a test begins. */
static int come(void)
{
    ilk_error err = {0};
    ilk_lock *lock;

    client = open_client_at(between.url);
    lock = open_lock_with(client, "warm", 30000, ILK_LOCK_NO_RENEW);
    assert_status(ILK_OK, ilk_lock_acquire(lock, -1, &err));
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

static void await_struck(void)
{
    int64_t limit = fixture_now_ms() + 5000;

    while (!proxy_struck(&between)) {
        assert_true(fixture_now_ms() < limit);
        fixture_sleep_ms(1);
    }
}

/* A grant of the server to one that had gone must not stay for a lease. */
static void what_was_told_in_vain_is_asked_by_the_keeper(uint32_t flags,
                                                         const char *name)
{
    ilk_lock *lock = open_lock_with(client, name, 30000, flags);
    ilk_error err = {0};

    proxy_delay(&between, ilk__scripts[ILK__SCRIPT_LOCK_ACQUIRE].sha1, SLOW_MS);
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 100, &err));
    proxy_arm(&between, PROXY_LOSE, told); /* it lies there already */
    await_struck();
    assert_int_equal(1, fixture_int(&fx, "EXISTS %s", name));

    (void)ilk_client_ping(client, 2000, &err); /* finds the lane broken */

    assert_int_equal(0, fixture_await(&fx, "0", 3000, "EXISTS %s", name));
    ilk_lock_free(lock);
}

TEST(a_lock_that_is_renewed)
{
    what_was_told_in_vain_is_asked_by_the_keeper(0, "renewed");
}

/* Nothing has started the keeper before. */
TEST(a_lock_that_is_not_renewed)
{
    what_was_told_in_vain_is_asked_by_the_keeper(ILK_LOCK_NO_RENEW, "short");
}
