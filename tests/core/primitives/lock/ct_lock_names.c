/* SPDX-License-Identifier: MIT */
/* ct_lock_names.c -- names of any bytes, keys of other types and owners, and
 * options that make no sense. */
#include "lock_thread.h"

#include <stdio.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

/* ---- names -------------------------------------------------------------- */

typedef struct name {
    const char *bytes;
    size_t len;
} name;

#define NAME(literal)                                                          \
    {                                                                          \
        literal, sizeof(literal) - 1                                           \
    }

/* Neighbours differ by what a careless key builder would drop or add. */
static const name odd_names[] = {
    NAME("a"),         NAME("a\0"),     NAME("a\0b"), NAME("\0"),
    NAME("a\r\n"),     NAME("\r\n"),    NAME("\xff"), NAME("\xff\xfe"),
    NAME("{}"),        NAME("{}a"),     NAME("x}{t"), NAME("x}t"),
    NAME("{a}b"),      NAME("{a}"),     NAME("a}"),   NAME("{a"),
    NAME("}"),         NAME("{"),       NAME("a b"),  NAME(" "),
    NAME("{a} b"),     NAME("{}{a}"),   NAME("=a"),   NAME("~a"),
    NAME(":{a}"),      NAME("={a}"),    NAME("ilk"),  NAME("ilk;a"),
    NAME("fence:{a}"), NAME("1 grant"), NAME("%s%n"), NAME("$5\r\nhello")};

enum { ODD = sizeof odd_names / sizeof *odd_names };

static ilk_lock *open_named(ilk_client *client, const name *n)
{
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_lock_open(&lock, client, n->bytes, n->len, NULL, &err));
    return lock;
}

static const char *value_at(const name *n)
{
    const char *argv[] = {"GET", n->bytes};
    const size_t lens[] = {3, n->len};

    return fixture_argv(&fx, 2, argv, lens);
}

TEST(names_of_any_bytes_are_different_locks)
{
    ilk_client *client = open_client();
    ilk_lock *locks[ODD];
    ilk_error err = {0};

    fixture_command(&fx, "FLUSHALL");
    for (int i = 0; i < ODD; i++) {
        locks[i] = open_named(client, &odd_names[i]);
        assert_status(ILK_OK, ilk_lock_acquire(locks[i], 0, &err));
    }
    for (int i = 0; i < ODD; i++)
        assert_string_equal(ilk_lock_token(locks[i]), value_at(&odd_names[i]));
    assert_int_equal(2 * ODD, fixture_int(&fx, "DBSIZE")); /* with a fence */
    for (int i = 0; i < ODD; i++) {
        assert_status(ILK_OK, ilk_lock_extend(locks[i], 0, &err));
        assert_status(ILK_OK, ilk_lock_release(locks[i], &err));
        assert_string_equal("(nil)", value_at(&odd_names[i]));
        ilk_lock_free(locks[i]);
    }
    ilk_client_free(client);
}

TEST(names_of_any_bytes_can_be_waited_for)
{
    ilk_client *client = open_client();
    ilk_lock *holders[ODD], *waiters[ODD];
    taker takers[ODD];
    ilk_error err = {0};

    for (int i = 0; i < ODD; i++) {
        holders[i] = open_named(client, &odd_names[i]);
        waiters[i] = open_named(client, &odd_names[i]);
        assert_status(ILK_OK, ilk_lock_acquire(holders[i], 0, &err));
        start_taker(&takers[i], waiters[i], 5000);
    }
    fixture_sleep_ms(100); /* all stand in the wait queue */
    for (int i = 0; i < ODD; i++) {
        int64_t released_at = fixture_now_ms();

        assert_false(takers[i].done);
        assert_status(ILK_OK, ilk_lock_release(holders[i], &err));
        assert_took(ILK_OK, &takers[i]);
        assert_on_time(takers[i].ended_at - released_at, 0);
        assert_string_equal(ilk_lock_token(waiters[i]),
                            value_at(&odd_names[i]));
    }
    for (int i = 0; i < ODD; i++) {
        ilk_lock_free(holders[i]);
        ilk_lock_free(waiters[i]);
    }
    ilk_client_free(client);
}

TEST(longest_name_works_and_longer_is_refused)
{
    ilk_client *client = open_client();
    ilk_lock *lock = NULL;
    ilk_error err = {0};
    char long_name[ILK_NAME_MAX + 1];

    memset(long_name, 'n', sizeof long_name);
    assert_status(ILK_OK, ilk_lock_open(&lock, client, long_name, ILK_NAME_MAX,
                                        NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    assert_status(ILK_EINVAL, ilk_lock_open(&lock, client, long_name,
                                            ILK_NAME_MAX + 1, NULL, &err));
    assert_string_equal("name must have 1 to 512 bytes, got 513", err.msg);
    assert_null(lock);
    assert_status(ILK_EINVAL, ilk_lock_break(client, long_name,
                                             ILK_NAME_MAX + 1, NULL, 0, &err));
    ilk_client_free(client);
}

TEST(refused_names)
{
    static const name refused[] = {NAME(""),      {NULL, 0},
                                   {NULL, 3},     NAME("ilk:"),
                                   NAME("ilk:x"), NAME("ilk:lock:wait:{a}")};
    ilk_client *client = open_client();
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_status(ILK_EINVAL, ilk_lock_open(&lock, client, refused[i].bytes,
                                                refused[i].len, NULL, &err));
        assert_null(lock);
        assert_non_null(strstr(err.msg, "name must"));
    }
    ilk_client_free(client);
}

/* ---- keys of other types and owners ------------------------------------- */

static void assert_wrong_type(const char *create, const char *read)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "typed"), *reader = NULL;
    ilk_error err = {0};
    char before[64];

    fixture_command(&fx, "DEL typed");
    fixture_command(&fx, "%s", create);
    snprintf(before, sizeof before, "%s", fixture_command(&fx, "%s", read));
    assert_status(
        ILK_OK, ilk_rwlock_read_open(&reader, client, "typed", 5, NULL, &err));

    assert_status(ILK_ETYPE, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_ETYPE, ilk_lock_acquire(lock, 1000, &err));
    assert_status(ILK_ETYPE, ilk_lock_acquire(lock, -1, &err));
    assert_status(ILK_ETYPE, ilk_lock_acquire(reader, 1000, &err));
    assert_status(ILK_ETYPE, ilk_lock_adopt(lock, "token", 5, &err));
    assert_status(ILK_ENOTOWNER, ilk_lock_release(lock, &err));

    assert_string_equal(before, fixture_command(&fx, "%s", read));
    assert_int_equal(-1, fixture_int(&fx, "PTTL typed"));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:lock:wait:{typed}"));
    ilk_lock_free(lock);
    ilk_lock_free(reader);
    ilk_client_free(client);
}

TEST(hash_at_the_key)
{
    assert_wrong_type("HSET typed field value", "HGETALL typed");
}

TEST(list_at_the_key)
{
    assert_wrong_type("RPUSH typed one two", "LRANGE typed 0 -1");
}

TEST(stream_at_the_key)
{
    assert_wrong_type("XADD typed 1-1 field value", "XLEN typed");
}

TEST(key_that_becomes_a_hash_ends_the_wait)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "turned"), *b = open_lock(client, "turned");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, 10000);
    await_waiters("turned", 1);
    fixture_command(&fx, "DEL turned");
    fixture_command(&fx, "HSET turned field value");

    assert_took(ILK_ETYPE, &t);

    assert_true(took_ms(&t) < 2000 + patience(1000));
    assert_status(ILK_ETYPE, ilk_lock_release(a, &err));
    assert_string_equal("value", fixture_command(&fx, "HGET turned field"));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(foreign_holder_with_expiry_is_followed)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "foreign");
    ilk_error err = {0};
    taker t;
    int64_t end;

    fixture_command(&fx, "SET foreign redis-py PX 400");
    end = fixture_now_ms() + fixture_int(&fx, "PTTL foreign");
    assert_status(ILK_EBUSY, ilk_lock_acquire(lock, 0, &err));
    start_taker(&t, lock, -1);
    assert_took(ILK_OK, &t);
    assert_in_range(t.ended_at, end - 2, end + 100 + patience(60));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* No message comes when a foreign holder goes: the waiter polls. */
static void assert_follows_foreign(int64_t poll_ms, int64_t within_ms)
{
    ilk_client *client = open_client();
    ilk_lock_opts opts;
    ilk_error err = {0};
    ilk_lock *lock;
    int64_t gone_at;
    taker t;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.foreign_poll_ms = poll_ms;
    assert_status(ILK_OK, ilk_lock_open(&lock, client, "fp", 2, &opts, &err));
    fixture_command(&fx, "SET fp somebody");
    assert_status(ILK_EBUSY, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(lock, 150, &err));
    assert_string_equal("somebody", fixture_command(&fx, "GET fp"));
    assert_int_equal(-1, fixture_int(&fx, "PTTL fp"));
    start_taker(&t, lock, -1);
    await_waiters("fp", 1);
    fixture_sleep_ms(130);
    fixture_command(&fx, "DEL fp");
    gone_at = fixture_now_ms();
    assert_took(ILK_OK, &t);
    assert_true(t.ended_at - gone_at <= patience(within_ms));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(foreign_holder_without_expiry_is_followed)
{
    assert_follows_foreign(0, 100 + 60);
    assert_follows_foreign(10, 10 + 30);
    assert_follows_foreign(10000, 3000); /* the first waiter looks more often */
}

/* ---- options ------------------------------------------------------------ */

static void assert_refused(ilk_lock_opts opts, const char *text)
{
    ilk_client *client = open_client();
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_EINVAL,
                  ilk_lock_open(&lock, client, "opts", 4, &opts, &err));
    assert_non_null(strstr(err.msg, text));
    assert_null(lock);
    ilk_client_free(client);
}

TEST(leases_out_of_range_are_refused)
{
    static const int64_t refused[] = {-1, INT64_MIN, INT64_MAX,
                                      INT64_C(366) * 24 * 3600 * 1000 + 1};
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "ttl");
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char got[32];

        snprintf(got, sizeof got, "got %lld", (long long)refused[i]);
        assert_refused((ilk_lock_opts){.size = sizeof(ilk_lock_opts),
                                       .ttl_ms = refused[i]},
                       got);
        assert_refused((ilk_lock_opts){.size = sizeof(ilk_lock_opts),
                                       .max_hold_ms = refused[i]},
                       got);
        assert_status(ILK_EINVAL,
                      ilk_lock_acquire_ttl(lock, 0, refused[i], &err));
        assert_int_equal(0, fixture_int(&fx, "EXISTS ttl"));
    }
    assert_status(ILK_OK, ilk_lock_acquire_ttl(
                              lock, 0, INT64_C(366) * 24 * 3600 * 1000, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(options_without_sense_are_refused)
{
    const size_t size = sizeof(ilk_lock_opts);

    assert_refused((ilk_lock_opts){.size = 0}, "size");
    assert_refused((ilk_lock_opts){.size = size, .flags = 8}, "flags 0x8");
    assert_refused((ilk_lock_opts){.size = size, .layout = 2}, "layout 2");
    assert_refused((ilk_lock_opts){.size = size, .foreign_poll_ms = -3},
                   "got -3");
}

/* A caller of another version has smaller or larger options. */
TEST(options_of_other_sizes)
{
    ilk_client *client = open_client();
    struct {
        ilk_lock_opts opts;
        int64_t added;
    } larger = {.opts = {.size = sizeof larger, .ttl_ms = 7000}};
    ilk_lock_opts smaller = {.size = offsetof(ilk_lock_opts, foreign_poll_ms),
                             .ttl_ms = 7000,
                             .flags = 0xffffffff}; /* beyond its size */
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_lock_open(&lock, client, "size", 4, &smaller, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_in_range(fixture_int(&fx, "PTTL size"), 6000, 7000);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    assert_status(ILK_OK,
                  ilk_lock_open(&lock, client, "size", 4, &larger.opts, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_in_range(fixture_int(&fx, "PTTL size"), 6000, 7000);
    ilk_lock_free(lock);
    larger.added = 1;
    assert_status(ILK_EINVAL,
                  ilk_lock_open(&lock, client, "size", 4, &larger.opts, &err));
    assert_null(lock);
    ilk_client_free(client);
}
