/* SPDX-License-Identifier: MIT */
/*
 * ct_outage.c -- a server that cannot be reached: killed or frozen, before a call and
 * while it waits. No call takes that for an answer of the server.
 */
#include "lock_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk_error err;

static int setup(void)
{
    return fixture_start(&fx, NULL);
}

static int teardown(void)
{
    return fixture_stop(&fx);
}

AROUND_EACH(setup, teardown);

static ilk_client *open_with(int64_t reply_ms, int64_t outage_ms,
                             uint32_t flags)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = reply_ms;
    opts.outage_ms = outage_ms;
    opts.flags = flags;
    assert_status(ILK_OK, ilk_client_open(&client, fx.unix_url, &opts, &err));
    return client;
}

/* A handle whose client has a connection. */
static ilk_lock *open_used(ilk_client *client, const char *name)
{
    ilk_lock *lock = open_lock(client, name);

    assert_status(ILK_OK, ilk_client_ping(client, 5000, &err));
    return lock;
}

static void close_both(ilk_lock *lock, ilk_client *client)
{
    ilk_lock_free(lock);
    ilk_client_free(client);
}

static void assert_took(int64_t since, int64_t least_ms, int64_t most_ms)
{
    assert_in_range(fixture_now_ms() - since, least_ms, patience(most_ms));
}

/* ---- gone before the call ------------------------------------------------ */

TEST(a_limit_bounds_the_wait_for_a_dead_server)
{
    ilk_client *client = open_with(0, 0, 0);
    ilk_lock *lock = open_used(client, "orders");
    int64_t begin;

    assert_int_equal(0, fixture_kill(&fx));
    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 700, &err));
    assert_took(begin, 700, 900);
    assert_non_null(strstr(err.msg, "unreachable for 0.7 s: "));
    assert_non_null(strstr(err.msg, fx.socket));

    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 0, &err));
    assert_took(begin, 0, 200);

    assert_int_equal(0, fixture_restart(&fx));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    close_both(lock, client);
}

/* A call of another thread, because the server ends with the thread that started it. */
typedef struct caller {
    ilk_status (*call)(void *subject, ilk_error *err);
    void *subject;
    ilk_status status;
    ilk_error err;
    pthread_t thread;
} caller;

static void *run_call(void *context)
{
    caller *self = context;

    self->status = self->call(self->subject, &self->err);
    return NULL;
}

static void assert_outlasts_a_restart(ilk_status (*call)(void *, ilk_error *),
                                      void *subject)
{
    caller self = {.call = call, .subject = subject};

    assert_int_equal(0, pthread_create(&self.thread, NULL, run_call, &self));
    fixture_sleep_ms(400);
    assert_int_equal(0, fixture_restart(&fx));
    join_soon(self.thread, "call");
    assert_status_at(ILK_OK, self.status, &self.err, "call", __FILE__,
                     __LINE__);
}

static ilk_status acquire(void *lock, ilk_error *why)
{
    return ilk_lock_acquire(lock, 20000, why);
}

static ilk_status acquire_many(void *many, ilk_error *why)
{
    return ilk_lock_many_acquire(many, 20000, why);
}

static ilk_status open_patiently(void *out, ilk_error *why)
{
    ilk_client_opts opts;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.outage_ms = 20000;
    return ilk_client_open(out, fx.unix_url, &opts, why);
}

TEST(a_server_that_comes_back_in_time_grants)
{
    ilk_client *client = open_with(0, 0, 0);
    ilk_lock *lock = open_used(client, "orders");

    assert_int_equal(0, fixture_kill(&fx));
    assert_outlasts_a_restart(acquire, lock);
    close_both(lock, client);
}

TEST(a_lazy_client_waits_for_its_first_connection)
{
    ilk_client *client;
    ilk_lock *lock;

    assert_int_equal(0, fixture_kill(&fx));
    client = open_with(0, 0, ILK_CLIENT_LAZY);
    lock = open_lock(client, "orders");
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 0, &err));
    assert_outlasts_a_restart(acquire, lock);
    close_both(lock, client);
}

TEST(many_names_have_one_limit)
{
    ilk_client *client = open_with(0, 0, 0);
    const char *names[] = {"a", "b"};
    const size_t lens[] = {1, 1};
    ilk_lock_many *many = NULL;
    int64_t begin;

    assert_status(ILK_OK,
                  ilk_lock_many_open(&many, client, (const void *const *)names,
                                     lens, 2, NULL, &err));
    assert_status(ILK_OK, ilk_client_ping(client, 5000, &err));
    assert_int_equal(0, fixture_kill(&fx));
    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_many_acquire(many, 700, &err));
    assert_took(begin, 700, 900);
    assert_outlasts_a_restart(acquire_many, many);
    ilk_lock_many_free(many);
    ilk_client_free(client);
}

/* ---- frozen -------------------------------------------------------------- */

/* A grant that the frozen server makes when it goes on is withdrawn. */
static void await_free(const char *name)
{
    ilk_client *other;
    ilk_lock *lock;

    assert_int_equal(0, fixture_resume(&fx));
    other = open_with(0, 0, 0);
    lock = open_lock(other, name);
    assert_status(ILK_OK, ilk_lock_acquire(lock, 5000, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    close_both(lock, other);
}

TEST(a_try_at_a_frozen_server_ends_at_the_reply_timeout)
{
    ilk_client *client = open_with(600, 0, 0);
    ilk_lock *lock = open_used(client, "orders");
    int64_t begin;

    assert_int_equal(0, fixture_pause(&fx));
    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 0, &err));
    assert_took(begin, 600, 800);
    await_free("orders");
    close_both(lock, client);
}

TEST(a_limit_bounds_the_wait_for_a_frozen_server)
{
    static const int64_t limits[] = {200, 900};

    for (size_t i = 0; i < 2; i++) {
        ilk_client *client = open_with(600, 0, 0);
        ilk_lock *lock = open_used(client, "orders");
        const int64_t least = limits[i] > 500 ? limits[i] : 500;
        int64_t begin;

        assert_int_equal(0, fixture_pause(&fx));
        begin = fixture_now_ms();
        assert_status(ILK_ECONN, ilk_lock_acquire(lock, limits[i], &err));
        assert_took(begin, least, least + 200);
        await_free("orders");
        close_both(lock, client);
    }
}

/* ---- gone while it waits ------------------------------------------------- */

typedef struct waiting {
    ilk_client *client, *holder;
    ilk_lock *lock, *held;
    ilk_status status;
    ilk_error err;
    int64_t timeout_ms;
    pthread_t thread;
} waiting;

static void *wait_for_lock(void *context)
{
    waiting *self = context;

    self->status = ilk_lock_acquire(self->lock, self->timeout_ms, &self->err);
    return NULL;
}

static void begin_to_wait(waiting *self, int64_t timeout_ms)
{
    memset(self, 0, sizeof *self);
    self->timeout_ms = timeout_ms;
    self->client = open_with(600, 0, 0);
    self->holder = open_with(600, 0, 0);
    self->held = open_lock(self->holder, "orders");
    self->lock = open_lock(self->client, "orders");
    assert_status(ILK_OK, ilk_lock_acquire(self->held, 0, &err));
    assert_int_equal(0,
                     pthread_create(&self->thread, NULL, wait_for_lock, self));
    await_waiters("orders", 1);
}

static void end_wait(waiting *self)
{
    join_soon(self->thread, "wait");
    close_both(self->lock, self->client);
    close_both(self->held, self->holder);
}

TEST(a_queued_wait_ends_with_the_outage)
{
    waiting self;

    begin_to_wait(&self, 1500);
    assert_int_equal(0, fixture_kill(&fx));
    end_wait(&self);
    assert_int_equal(self.status, ILK_ECONN);

    assert_int_equal(0, fixture_restart(&fx));
    begin_to_wait(&self, 4000); /* a refresh is sent every 2 s */
    assert_int_equal(0, fixture_pause(&fx));
    end_wait(&self);
    assert_int_equal(self.status, ILK_ECONN);
    assert_int_equal(0, fixture_resume(&fx));
}

TEST(a_held_name_is_still_a_timeout)
{
    waiting self;

    begin_to_wait(&self, 300);
    join_soon(self.thread, "wait");
    assert_int_equal(self.status, ILK_ETIMEOUT);
    assert_int_equal(ilk_lock_acquire(self.lock, 0, &err), ILK_EBUSY);
    close_both(self.lock, self.client);
    close_both(self.held, self.holder);
}

/* ---- how long: the option ------------------------------------------------ */

TEST(calls_without_a_limit_share_the_time_of_an_outage)
{
    ilk_client *client = open_with(0, 500, 0);
    ilk_lock *locks[50];
    int64_t begin;

    for (int i = 0; i < 50; i++) {
        char name[16];

        snprintf(name, sizeof name, "l%d", i);
        locks[i] = open_lock(client, name);
        assert_status(ILK_OK, ilk_lock_acquire(locks[i], 0, &err));
    }
    assert_int_equal(0, fixture_kill(&fx));
    begin = fixture_now_ms();
    for (int i = 0; i < 50; i++) {
        ilk_status st = ilk_lock_release(locks[i], &err);

        assert_true(st == ILK_ECONN || st == ILK_EUNKNOWN);
    }
    assert_took(begin, 500, 1500);
    for (int i = 0; i < 50; i++)
        ilk_lock_free(locks[i]);
    ilk_client_free(client);
}

TEST(the_option_caps_a_limit)
{
    static const int64_t limits[] = {20000, -1};

    for (size_t i = 0; i < 2; i++) {
        ilk_client *client = open_with(0, 400, 0);
        ilk_lock *lock = open_used(client, "orders");
        int64_t begin;

        assert_int_equal(0, fixture_kill(&fx));
        begin = fixture_now_ms();
        assert_status(ILK_ECONN, ilk_lock_acquire(lock, limits[i], &err));
        assert_took(begin, 400, 600);
        assert_int_equal(0, fixture_restart(&fx));
        close_both(lock, client);
    }
}

TEST(no_wait_for_an_outage_fails_at_once)
{
    ilk_client *client = open_with(0, 0, ILK_CLIENT_NO_OUTAGE_WAIT);
    ilk_lock *lock = open_used(client, "orders");
    int64_t begin;

    assert_int_equal(0, fixture_kill(&fx));
    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, -1, &err));
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 20000, &err));
    assert_took(begin, 0, 300);
    close_both(lock, client);
}

TEST(opening_waits_only_by_its_option)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;
    int64_t begin;

    assert_int_equal(0, fixture_kill(&fx));
    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_client_open(&client, fx.unix_url, NULL, &err));
    assert_took(begin, 0, 300);

    ilk_client_opts_init(&opts, sizeof opts);
    opts.outage_ms = 300;
    begin = fixture_now_ms();
    assert_status(ILK_ECONN,
                  ilk_client_open(&client, fx.unix_url, &opts, &err));
    assert_took(begin, 300, 500);

    assert_outlasts_a_restart(open_patiently, &client);
    ilk_client_free(client);
}

TEST(the_two_options_exclude_each_other)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.outage_ms = 100;
    opts.flags = ILK_CLIENT_NO_OUTAGE_WAIT;
    assert_status(ILK_EINVAL,
                  ilk_client_open(&client, fx.unix_url, &opts, &err));
    opts.flags = 0;
    opts.outage_ms = -1;
    assert_status(ILK_EINVAL,
                  ilk_client_open(&client, fx.unix_url, &opts, &err));
}

/* ---- the recipes, on connections of their own ----------------------------- */

static ilk_listener *open_listening(ilk_client *client)
{
    ilk_listener *listener = NULL;
    ilk_items *items = NULL;

    assert_status(ILK_OK,
                  ilk_listener_open(&listener, client, "ch", 2, NULL, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_listener_wait(&items, listener, 50, &err));
    return listener;
}

TEST(a_frozen_server_is_an_outage_for_a_listener)
{
    ilk_client *client = open_with(0, 0, 0);
    ilk_listener *listener = open_listening(client);
    ilk_items *items = NULL;
    int64_t begin;

    /* A quiet server replies that it is there. */
    assert_status(ILK_ETIMEOUT,
                  ilk_listener_wait(&items, listener, 2200, &err));
    assert_int_equal(0, fixture_pause(&fx));
    begin = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_listener_wait(&items, listener, 2500, &err));
    assert_took(begin, 2500, 2800);
    assert_non_null(strstr(err.msg, "unreachable for "));

    assert_int_equal(0, fixture_resume(&fx));
    assert_int_equal(1, fixture_int(&fx, "PUBLISH ch 1"));
    assert_status(ILK_OK, ilk_listener_wait(&items, listener, 5000, &err));
    ilk_items_free(items);
    ilk_listener_free(listener);
    ilk_client_free(client);
}

TEST(a_listener_receives_again_when_a_frozen_server_is_back)
{
    ilk_client *client = open_with(300, 0, 0);
    ilk_listener *listener = open_listening(client);
    ilk_items *items = NULL;

    assert_int_equal(0, fixture_pause(&fx));
    /* It has given the connection up, and tries to open another one. */
    assert_status(ILK_ECONN, ilk_listener_wait(&items, listener, 2000, &err));
    assert_int_equal(0, fixture_resume(&fx));
    assert_status(ILK_ETIMEOUT, ilk_listener_wait(&items, listener, 700, &err));
    assert_int_equal(1, fixture_int(&fx, "PUBLISH ch 1"));
    assert_status(ILK_OK, ilk_listener_wait(&items, listener, 5000, &err));
    ilk_items_free(items);
    ilk_listener_free(listener);
    ilk_client_free(client);
}

/* Without the right to send a PING nothing but its error comes. */
TEST(a_listener_needs_no_right_to_ping)
{
    ilk_client *client;
    ilk_listener *listener;
    ilk_items *items = NULL;

    fixture_command(&fx, "ACL SETUSER default -ping");
    client = open_with(0, 0, 0);
    listener = open_listening(client);
    assert_status(ILK_ETIMEOUT,
                  ilk_listener_wait(&items, listener, 2200, &err));
    assert_int_equal(1, fixture_int(&fx, "PUBLISH ch 1"));
    assert_status(ILK_OK, ilk_listener_wait(&items, listener, 5000, &err));
    ilk_items_free(items);
    ilk_listener_free(listener);
    ilk_client_free(client);
}

static ilk_status listen_for_ever(void *listener)
{
    ilk_items *items = NULL;

    return ilk_listener_wait(&items, listener, -1, &err);
}

static ilk_status pop_for_ever(void *consumer)
{
    ilk_items *items = NULL;

    return ilk_consumer_pop(&items, consumer, -1, &err);
}

/* In the middle of the wait. */
static void *pause_soon(void *unused)
{
    (void)unused;
    fixture_sleep_ms(200);
    assert_int_equal(0, fixture_pause(&fx));
    return NULL;
}

static void assert_ends_after_the_option(ilk_status (*wait)(void *),
                                         void *subject)
{
    const int64_t begin = fixture_now_ms();
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, pause_soon, NULL));
    assert_status(ILK_ECONN, wait(subject));
    assert_took(begin, 1000, 3300);
    join_soon(thread, "pause");
    assert_int_equal(0, fixture_resume(&fx));
}

TEST(the_option_ends_waits_of_the_recipes)
{
    static const void *const names[] = {"list"};
    static const size_t lens[] = {4};
    ilk_client *client = open_with(500, 1000, 0);
    ilk_listener *listener = open_listening(client);
    ilk_consumer *consumer = NULL;

    assert_ends_after_the_option(listen_for_ever, listener);
    assert_status(ILK_OK,
                  ilk_consumer_open(&consumer, client, names, lens, 1, &err));
    assert_ends_after_the_option(pop_for_ever, consumer);
    ilk_consumer_free(consumer);
    ilk_listener_free(listener);
    ilk_client_free(client);
}
