/* SPDX-License-Identifier: MIT */
/*
 * ct_switch.c -- a client follows the switches that a sentinel announces: its
 * threads, its event loop and its keeper. Two servers without a link between
 * them take turns as the primary, so that it shows on which one a lock lies.
 */
/* link: -Wl,--wrap=ilk__conn_open -Wl,--wrap=ilk__primary_switched */
#include "base/alloc.h"
#include "base/clock.h"
#include "client/client.h"
#include "fake_sentinel.h"
#include "fixture.h"
#include "fork_case.h"

#include <interlock.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 4, SWITCHES = OFTEN(40) };

static fixture one, two;
static fake_sentinel sentinel;
static ilk_client *client;
static _Atomic int over;

static _Atomic int switch_at_open;
static _Atomic int opened; /* call lanes */

ilk_status __real_ilk__conn_open(ilk__conn **out, const ilk__target *target,
                                 const ilk__conn_identity *replaces,
                                 int64_t deadline, ilk_error *err);
ilk_status __wrap_ilk__conn_open(ilk__conn **out, const ilk__target *target,
                                 const ilk__conn_identity *replaces,
                                 int64_t deadline, ilk_error *err);

/* News come when the connection is ready, before anything else uses it. */
ilk_status __wrap_ilk__conn_open(ilk__conn **out, const ilk__target *target,
                                 const ilk__conn_identity *replaces,
                                 int64_t deadline, ilk_error *err)
{
    ilk_status st = __real_ilk__conn_open(out, target, replaces, deadline, err);

    atomic_fetch_add(&opened, st == ILK_OK);
    if (st == ILK_OK && atomic_exchange(&switch_at_open, 0)) {
        fake_sentinel_switch(&sentinel, two.port, NULL);
        ilk__primary_switched(target->primary, 0, "127.0.0.1", two.port);
    }
    return st;
}

/* The primary's port as the keeper has read it last. */
static _Atomic int port_read;

void __real_ilk__primary_switched(ilk__primary *primary, unsigned from,
                                  const char *host, int port);
void __wrap_ilk__primary_switched(ilk__primary *primary, unsigned from,
                                  const char *host, int port);

void __wrap_ilk__primary_switched(ilk__primary *primary, unsigned from,
                                  const char *host, int port)
{
    __real_ilk__primary_switched(primary, from, host, port);
    atomic_store(&port_read, port);
}

static int setup(void)
{
    return fixture_start(&one, NULL) | fixture_start(&two, NULL);
}

static int teardown(void)
{
    return fixture_stop(&one) | fixture_stop(&two);
}

AROUND_ALL(setup, teardown);

static int begin(void)
{
    char url[96];

    (void)fixture_command(&one, "FLUSHALL");
    (void)fixture_command(&two, "FLUSHALL");
    atomic_store(&over, 0);
    atomic_store(&port_read, 0);
    if (fake_sentinel_open(&sentinel, one.port) != 0)
        return -1;
    snprintf(url, sizeof url,
             "redis+sentinel://127.0.0.1:%d/mymaster?reply_timeout_ms=90000",
             sentinel.port);
    return ilk_client_open(&client, url, NULL, NULL) == ILK_OK ? 0 : -1;
}

static int end(void)
{
    ilk_client_free(client);
    fake_sentinel_close(&sentinel);
    return 0;
}

AROUND_EACH(begin, end);

static ilk_lock *lock_of(const char *name)
{
    ilk_error err = {0};
    ilk_lock *lock;

    if (ilk_lock_open(&lock, client, name, strlen(name), NULL, &err) != ILK_OK)
        fail_msg("%s", err.msg);
    return lock;
}

static void acquire(const char *name)
{
    ilk_lock *lock = lock_of(name);
    ilk_error err = {0};

    if (ilk_lock_acquire(lock, 10000, &err) != ILK_OK)
        fail_msg("%s", err.msg);
    ilk_lock_free(lock);
}

/* The keeper runs, has subscribed, and has read the state before that: read later, it
 * would undo a switch. */
static void await_subscription(void)
{
    int64_t until = fixture_now_ms() + patience(10000);
    int fd;

    assert_int_equal(ilk_client_notification_fd(client, &fd, NULL), ILK_OK);
    while (atomic_load(&sentinel.subscribers) == 0
           || atomic_load(&port_read) == 0) {
        assert_true(fixture_now_ms() < until);
        fixture_sleep_ms(2);
    }
}

static int is_at(fixture *server, const char *name)
{
    return fixture_int(server, "EXISTS %s", name) == 1;
}

/* Acquire other names until one lies on the server; how long it took. */
static int64_t until_at(fixture *server)
{
    int64_t begun = fixture_now_ms();
    char name[32];
    int number = 0;

    do {
        snprintf(name, sizeof name, "%d:%d", server->port, number++);
        acquire(name);
        assert_true(fixture_now_ms() - begun < patience(10000));
    } while (!is_at(server, name));
    return fixture_now_ms() - begun;
}

static void follow(const char *channel)
{
    acquire("a");
    assert_true(is_at(&one, "a"));
    await_subscription();
    fake_sentinel_switch(&sentinel, two.port, channel);
    assert_true(until_at(&two) < patience(2000));
    fake_sentinel_switch(&sentinel, one.port, channel);
    assert_true(until_at(&one) < patience(2000));
}

TEST(calls_follow_a_switch)
{
    follow("+switch-master");
}

TEST(calls_follow_a_promotion)
{
    follow("+promoted-slave");
}

/* Run the event loop until the operation has ended. */
static void finish(ilk_op *op, int64_t begun)
{
    ilk_notification notification = {0};
    ilk_error err = {0};

    while (ilk_op_status(op, &err) == ILK_EAGAIN) {
        struct pollfd pfd = {.events = POLLIN};

        assert_int_equal(ilk_client_notification_fd(client, &pfd.fd, &err),
                         ILK_OK);
        poll(&pfd, 1, 1000);
        (void)ilk_client_next_notification(client, &notification, &err);
        assert_true(fixture_now_ms() - begun < patience(4000));
    }
    assert_int_equal(ilk_op_status(op, &err), ILK_OK);
    ilk_op_free(op);
}

/* The connection to the frozen server would keep the call for seconds. */
TEST(a_call_leaves_a_frozen_server)
{
    int64_t begun;
    ilk_op *op;
    ilk_lock *lock = lock_of("c"), *started = lock_of("d"),
             *first = lock_of("b");
    ilk_error err = {0};

    acquire("a");
    await_subscription();
    assert_int_equal(ilk_lock_acquire_start(&op, first, 10000, 0, &err),
                     ILK_OK);
    finish(op, fixture_now_ms()); /* the loop has its connection */
    assert_int_equal(fixture_pause(&one), 0);
    begun = fixture_now_ms();
    assert_int_equal(ilk_lock_acquire_start(&op, started, 10000, 0, &err),
                     ILK_OK);
    fake_sentinel_switch(&sentinel, two.port, "+switch-master");
    if (ilk_lock_acquire(lock, 10000, &err) != ILK_OK)
        fail_msg("%s", err.msg);
    finish(op, begun);
    assert_true(fixture_now_ms() - begun < patience(1500));
    assert_int_equal(fixture_resume(&one), 0);
    assert_true(is_at(&two, "c"));
    assert_true(is_at(&two, "d"));
    ilk_lock_free(lock);
    ilk_lock_free(started);
    ilk_lock_free(first);
}

/* The keeper begins after the switch, while the call is on its way. */
TEST(a_switch_before_the_subscription_is_found)
{
    int64_t begun = fixture_now_ms();
    ilk_lock *lock = lock_of("c");
    ilk_error err = {0};

    assert_int_equal(fixture_pause(&one), 0);
    fake_sentinel_switch(&sentinel, two.port, NULL);
    if (ilk_lock_acquire(lock, 10000, &err) != ILK_OK)
        fail_msg("%s", err.msg);
    assert_true(fixture_now_ms() - begun < patience(700));
    assert_int_equal(fixture_resume(&one), 0);
    assert_true(is_at(&two, "c"));
    ilk_lock_free(lock);
}

/* ---- several sentinels -------------------------------------------------- */

static fake_sentinel first, second;
static ilk_client *of_one; /* the client of one sentinel */

/* The client knows two sentinels, and listens to the first. */
static int begin_with_two(void)
{
    int64_t until = fixture_now_ms() + patience(10000);
    char url[96];

    if (begin() != 0 || fake_sentinel_open(&first, one.port) != 0
        || fake_sentinel_open(&second, one.port) != 0)
        return -1;
    atomic_store(&first.epoch, 5);
    snprintf(url, sizeof url,
             "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mymaster", first.port,
             second.port);
    of_one = client;
    if (ilk_client_open(&client, url, NULL, NULL) != ILK_OK)
        return -1;
    acquire("a");
    while (atomic_load(&first.subscribers) == 0 && fixture_now_ms() < until)
        fixture_sleep_ms(2);
    return atomic_load(&first.subscribers) == 1 ? 0 : -1;
}

static int end_with_two(void)
{
    ilk_client_free(client);
    client = of_one;
    fake_sentinel_close(&second);
    return end();
}

static void await_at_least(_Atomic int *count, int wanted)
{
    int64_t until = fixture_now_ms() + patience(10000);

    while (atomic_load(count) < wanted && fixture_now_ms() < until)
        fixture_sleep_ms(2);
    assert_true(atomic_load(count) >= wanted);
}

/* A sentinel of a lower epoch has been cut off: nobody follows it. */
TEST_WITH(begin_with_two, end_with_two,
          a_sentinel_behind_the_others_is_not_followed)
{
    atomic_store(&second.epoch, 4);
    fake_sentinel_switch(&second, two.port, NULL);
    fake_sentinel_close(&first);
    await_at_least(&second.states, 3);
    acquire("b");
    assert_true(is_at(&one, "a") && is_at(&one, "b"));
}

/* It was not behind when the client read the first one's epoch. */
TEST_WITH(begin_with_two, end_with_two,
          a_sentinel_behind_since_a_switch_is_not_followed)
{
    atomic_store(&second.epoch, 5);
    atomic_store(&first.epoch, 6);
    fake_sentinel_switch(&first, two.port, "+switch-master");
    await_at_least(&first.states, 2);
    assert_true(until_at(&two) < patience(2000));
    fake_sentinel_close(&first);
    await_at_least(&second.states, 2);
    acquire("b");
    assert_true(is_at(&two, "b"));
}

TEST_WITH(begin_with_two, end_with_two,
          a_sentinel_that_forgot_the_service_is_left)
{
    atomic_store(&second.epoch, 5);
    fake_sentinel_switch(&second, two.port, NULL);
    atomic_store(&first.forgot, 1);
    fake_sentinel_switch(&first, two.port, "+switch-master");
    await_at_least(&second.subscribers, 1);
    assert_true(until_at(&two) < patience(2000));
    fake_sentinel_close(&first);
}

/* All sentinels were set up anew. */
TEST(epochs_that_begin_again_are_believed)
{
    atomic_store(&sentinel.epoch, 5);
    acquire("a");
    await_subscription();
    atomic_store(&sentinel.epoch, 0);
    fake_sentinel_switch(&sentinel, two.port, "+switch-master");
    await_at_least(&sentinel.states, 2);
    await_subscription();
    assert_true(until_at(&two) < patience(2000));
    fake_sentinel_switch(&sentinel, one.port, "+switch-master");
    assert_true(until_at(&one) < patience(2000));
}

TEST(a_switch_when_the_lane_has_just_come_up)
{
    acquire("a");
    await_subscription();
    atomic_store(&switch_at_open, 1);
    assert_true(fixture_int(&one, "CLIENT KILL TYPE normal SKIPME yes") > 0);
    acquire("c");
    assert_int_equal(atomic_load(&switch_at_open), 0);
    assert_true(is_at(&two, "c"));
}

/* The sentinel has promoted the new primary, and the replicas do not follow it yet. */
TEST(a_failover_under_way_ends_no_connection_to_the_new_primary)
{
    int64_t until = fixture_now_ms() + patience(10000);

    atomic_store(&sentinel.former, one.port);
    fake_sentinel_switch(&sentinel, two.port, NULL);
    assert_true(fixture_int(&one, "CLIENT KILL TYPE normal SKIPME yes") > 0);
    atomic_store(&port_read, 0);
    atomic_store(&opened, 0);
    acquire("a");
    await_subscription();
    while (atomic_load(&port_read) == 0 && fixture_now_ms() < until)
        fixture_sleep_ms(2);
    assert_int_equal(atomic_load(&port_read), two.port);
    acquire("b");
    assert_true(is_at(&two, "a") && is_at(&two, "b"));
    assert_int_equal(atomic_load(&opened), 1);
}

/* Without news: the old server ends its connections, as Sentinel has it do. */
TEST(a_connection_that_ends_is_opened_at_the_new_primary)
{
    acquire("a");
    await_subscription(); /* no more reads of the state */
    fake_sentinel_switch(&sentinel, two.port, NULL);
    acquire("b");
    assert_true(is_at(&one, "b"));
    assert_true(fixture_int(&one, "CLIENT KILL TYPE normal SKIPME yes") > 0);
    acquire("c");
    assert_true(is_at(&two, "c"));
}

/* The keeper of a renewed hold finds that the new primary does not have it. */
TEST(a_hold_that_the_new_primary_lacks_is_lost)
{
    ilk_lock_opts opts;
    ilk_lock *lock;
    ilk_error err = {0};
    int64_t until = fixture_now_ms() + patience(10000);

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 3000;
    assert_int_equal(ilk_lock_open(&lock, client, "h", 1, &opts, &err), ILK_OK);
    assert_int_equal(ilk_lock_acquire(lock, 0, &err), ILK_OK);
    await_subscription();
    fake_sentinel_switch(&sentinel, two.port, "+switch-master");
    while (ilk_lock_check(lock, &err) == ILK_OK) {
        assert_true(fixture_now_ms() < until);
        fixture_sleep_ms(20);
    }
    assert_int_equal(err.code, ILK_ELOST);
    ilk_lock_free(lock);
}

/* A call whose connection breaks twice may fail (docs/connections.md). A release
 * may reach the other server, which does not have the lock; the lease then ends
 * by itself. Returns NULL for no
 * other failure. */
static void *call_all_the_time(void *context)
{
    static ilk_error failures[THREADS];
    static _Atomic int number;
    ilk_error *err = &failures[atomic_fetch_add(&number, 1) % THREADS];
    const char *name = context;
    ilk_lock_opts opts;
    ilk_lock *lock;
    ilk_status st;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 300;
    opts.flags = ILK_LOCK_NO_RENEW;
    if (ilk_lock_open(&lock, client, name, strlen(name), &opts, err) != ILK_OK)
        return err;
    do {
        st = ilk_lock_acquire(lock, 20000, err);
        if (st == ILK_OK)
            st = ilk_lock_release(lock, err);
        if (st == ILK_ECONN || st == ILK_ELOST || st == ILK_EUNKNOWN)
            st = ILK_OK;
    } while (st == ILK_OK && !atomic_load(&over));
    ilk_lock_free(lock);
    return st == ILK_OK ? NULL : err;
}

TEST(many_switches_in_the_middle_of_calls)
{
    static const char *const channels[] = {"+switch-master", "+promoted-slave"};
    static char names[THREADS][8];
    pthread_t threads[THREADS];
    void *ended;

    acquire("a");
    await_subscription();
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_all_the_time, names[i]), 0);
    }
    for (int i = 0; i < SWITCHES; i++) {
        fake_sentinel_switch(&sentinel, i % 2 ? one.port : two.port,
                             channels[i / 2 % 2]);
        fixture_sleep_ms(i % 7);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &ended);
        if (ended)
            fail_msg("thread %d: %s", i, ((ilk_error *)ended)->msg);
    }
    assert_true(until_at(SWITCHES % 2 ? &two : &one) < patience(2000));
}

/* The parent's connections, the one to the sentinel too, are left alone. */
TEST(a_child_finds_the_primary_anew)
{
    int status = -1;
    pid_t child;

    acquire("a");
    await_subscription();
    fake_sentinel_switch(&sentinel, two.port, NULL);
    child = fork_now();
    if (child == 0) {
        ilk_lock *lock;
        int good = ilk_client_reopen(client, NULL) == ILK_OK
                   && ilk_lock_open(&lock, client, "k", 1, NULL, NULL) == ILK_OK
                   && ilk_lock_acquire(lock, 5000, NULL) == ILK_OK;

        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(is_at(&two, "k"));
    acquire("b");
    assert_true(is_at(&one, "b"));
    fake_sentinel_switch(&sentinel, two.port, "+switch-master");
    assert_true(until_at(&two) < patience(2000));
}

TEST(an_open_without_memory_leaves_nothing)
{
    ilk_client *kept = client;
    ilk_status st;
    ilk_error err;
    long number = 0;
    char url[96];

    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/mymaster",
             sentinel.port);
    do {
        memset(&err, 0, sizeof err);
        ilk__alloc_fail_at(++number);
        st = ilk_client_open(&client, url, NULL, &err);
        ilk__alloc_fail_at(0);
        assert_true(st == ILK_OK || st == ILK_ENOMEM || st == ILK_ECONN);
        assert_int_equal(err.code, st);
    } while (st != ILK_OK);
    assert_true(number > 20);
    ilk_client_free(client);
    client = kept;
}
