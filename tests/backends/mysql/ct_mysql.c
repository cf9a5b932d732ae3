/* SPDX-License-Identifier: MIT */
/*
 * ct_mysql.c -- what is special about locks and elections in MariaDB: the row, the
 * wait queue by GET_LOCK, sessions that end, servers that cannot be used.
 */
#include "lock_thread.h"
#include "mysql_fixture.h"
#include "started.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static mysql_fixture db;
static ilk_error err;

static int start_server(void)
{
    int st;

    setenv("INTERLOCK_BACKENDS", ILK_TEST_OBJECTS, 1);
    st = mysql_fixture_start(&db);
    if (st == MYSQL_FIXTURE_MISSING) {
        fprintf(stderr, "SKIPPED: ct_mysql needs mariadbd and "
                        "mariadb-install-db\n");
        exit(77);
    }
    return st;
}

static int stop_server(void)
{
    mysql_fixture_stop(&db);
    return 0;
}

AROUND_ALL(start_server, stop_server);

static ilk_client *open_db(void)
{
    return open_client_at(db.url);
}

static void take(ilk_lock *lock, int64_t timeout_ms)
{
    assert_status(ILK_OK, ilk_lock_acquire(lock, timeout_ms, &err));
}

static void give(ilk_lock *lock)
{
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
}

/* How many sessions wait in GET_LOCK. */
static const char in_queue[] =
    "SELECT COUNT(*) FROM information_schema.processlist "
    "WHERE INFO LIKE 'SELECT GET_LOCK(%3600)%' AND COMMAND='Query'";

static void await_queue(const char *count)
{
    assert_int_equal(
        0, mysql_fixture_await(&db, count, patience(10000), in_queue));
}

/* The same, with operations that only the turns of their client send. */
static void turn_until_queued(ilk_client *client)
{
    const int64_t until = fixture_now_ms() + patience(10000);

    do
        turn_for(client, 200);
    while (strcmp(mysql_fixture_sql(&db, "%s", in_queue), "1") != 0
           && fixture_now_ms() < until);
    await_queue("1");
}

static void assert_sql(const char *expected, const char *statement)
{
    assert_string_equal(expected, mysql_fixture_sql(&db, "%s", statement));
}

/* ---- holding ------------------------------------------------------------- */

TEST(two_clients_exclude_each_other)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock(a, "orders"), *two = open_lock(b, "orders");
    int64_t fence;

    take(one, 0);
    fence = ilk_lock_fence(one);
    assert_status(ILK_EBUSY, ilk_lock_acquire(two, 0, &err));
    assert_sql(ilk_lock_token(one), "SELECT token FROM app.ilk_lock "
                                    "WHERE kind='l' AND name='orders'");
    assert_status(ILK_OK, ilk_lock_check(one, &err));
    assert_status(ILK_OK, ilk_lock_extend(one, 60000, &err));
    give(one);
    take(two, 0);
    assert_true(ilk_lock_fence(two) > fence);
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(a_fence_rises_over_a_lost_row)
{
    ilk_client *a = open_db();
    ilk_lock *lock = open_lock(a, "fences");
    int64_t last = 0;

    for (int i = 0; i < 4; i++) {
        take(lock, 0);
        assert_true(ilk_lock_fence(lock) > last);
        last = ilk_lock_fence(lock);
        give(lock);
        mysql_fixture_sql(&db, i == 0   ? "DELETE FROM app.ilk_lock"
                               : i == 1 ? "TRUNCATE app.ilk_lock"
                                        : "DROP TABLE app.ilk_lock");
    }
    ilk_lock_free(lock);
    ilk_client_free(a);
}

TEST(names_have_any_bytes)
{
    static const char name[] = "a'\\\"`;--\0\n\xff\xfe%_ {t}";
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = NULL, *two = NULL, *other = NULL;

    assert_status(ILK_OK,
                  ilk_lock_open(&one, a, name, sizeof name, NULL, &err));
    assert_status(ILK_OK,
                  ilk_lock_open(&two, b, name, sizeof name, NULL, &err));
    /* One that a comparison of text would call equal. */
    assert_status(ILK_OK, ilk_lock_open(&other, b, "A'\\\"", 4, NULL, &err));
    take(one, 0);
    take(other, 0);
    assert_status(ILK_EBUSY, ilk_lock_acquire(two, 0, &err));
    give(one);
    take(two, 0);
    give(two);
    give(other);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_lock_free(other);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(a_lease_that_ends_frees_the_row)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock_with(a, "lease", 400, ILK_LOCK_NO_RENEW),
             *two = open_lock(b, "lease");
    int64_t began = fixture_now_ms(), took;

    take(one, 0);
    take(two, 10000);
    took = fixture_now_ms() - began;
    assert_in_range(took, 390, 400 + patience(500));
    assert_status(ILK_ELOST, ilk_lock_release(one, &err));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

/* ---- the wait queue ------------------------------------------------------ */

enum { WAITERS = 5 };

TEST(clients_are_served_in_their_order)
{
    ilk_client *holder = open_db(), *clients[WAITERS];
    ilk_lock *held = open_lock(holder, "order"), *locks[WAITERS];
    taker takers[WAITERS];
    char count[8];

    take(held, 0);
    for (int i = 0; i < WAITERS; i++) {
        clients[i] = open_db();
        locks[i] = open_lock(clients[i], "order");
        start_taker(&takers[i], locks[i], 30000);
        snprintf(count, sizeof count, "%d", i + 1);
        await_queue(count);
    }
    give(held);
    for (int i = 0; i < WAITERS; i++) {
        assert_took(ILK_OK, &takers[i]);
        for (int k = i + 1; k < WAITERS; k++)
            assert_false(takers[k].done);
        /* A newcomer does not overtake. */
        assert_status(ILK_EBUSY, ilk_lock_acquire(held, 0, &err));
        give(locks[i]);
    }
    for (int i = 0; i < WAITERS; i++) {
        ilk_lock_free(locks[i]);
        ilk_client_free(clients[i]);
    }
    ilk_lock_free(held);
    ilk_client_free(holder);
}

enum { HAND_OVERS = 60 };

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

typedef struct relay {
    ilk_lock *lock;
    int64_t got_at;
    ilk_status status;
} relay;

static void *wait_and_note(void *arg)
{
    relay *one = arg;

    one->status = ilk_lock_acquire(one->lock, 30000, NULL);
    one->got_at = now_us();
    return NULL;
}

TEST(a_release_wakes_the_next_at_once)
{
    ilk_client *clients[2] = {open_db(), open_db()};
    ilk_lock *locks[2] = {open_lock(clients[0], "relay"),
                          open_lock(clients[1], "relay")};
    int64_t took[HAND_OVERS], began;
    pthread_t thread;
    relay next;

    take(locks[0], 0);
    for (int i = 0; i < HAND_OVERS; i++) {
        next = (relay){.lock = locks[(i + 1) % 2]};
        assert_int_equal(0,
                         pthread_create(&thread, NULL, wait_and_note, &next));
        await_queue("1");
        began = now_us();
        give(locks[i % 2]);
        join_soon(thread, "the next holder");
        assert_int_equal(ILK_OK, next.status);
        took[i] = next.got_at - began;
    }
    qsort(took, HAND_OVERS, sizeof took[0], by_size);
    print_message("hand-over: median %lld us, 90 %% %lld us\n",
                  (long long)took[HAND_OVERS / 2],
                  (long long)took[HAND_OVERS * 9 / 10]);
    /* Somebody who looks from time to time would take far longer. */
    assert_true(took[HAND_OVERS / 2] < 1000 * patience(50));
    give(locks[HAND_OVERS % 2]);
    for (int i = 0; i < 2; i++) {
        ilk_lock_free(locks[i]);
        ilk_client_free(clients[i]);
    }
}

static const char sessions[] =
    "SELECT COUNT(*) FROM information_schema.processlist WHERE USER='u'";

enum { MANY = 1000 };

/* The index of one that has ended. */
static int await_any(ilk_client *client, ilk_op *const *ops, int count)
{
    int64_t until = fixture_now_ms() + patience(10000);

    while (fixture_now_ms() < until) {
        for (int i = 0; i < count; i++) {
            ilk_status st = ops[i] ? ilk_op_status(ops[i], &err) : ILK_EAGAIN;

            if (st != ILK_EAGAIN) {
                assert_status(ILK_OK, st);
                return i;
            }
        }
        (void)turn(client, 100);
    }
    fail_msg("none of the waits has ended");
    return -1;
}

TEST(many_waits_take_few_connections)
{
    ilk_client *holder = open_db(), *client = open_db();
    ilk_lock *held = open_lock(holder, "many"), **locks;
    ilk_op **ops;
    int served = 0;

    locks = calloc(MANY, sizeof *locks);
    ops = calloc(MANY, sizeof(ilk_op *));
    take(held, 0);
    for (int i = 0; i < MANY; i++) {
        locks[i] = open_lock(client, "many");
        assert_status(ILK_OK,
                      ilk_lock_acquire_start(&ops[i], locks[i], -1, 0, &err));
    }
    turn_until_queued(client);
    assert_true(atoi(mysql_fixture_sql(&db, "%s", sessions)) <= 12);
    give(held);
    for (; served < MANY; served++) {
        int next = await_any(client, ops, MANY);

        ilk_op_free(ops[next]);
        ops[next] = NULL;
        give(locks[next]);
    }
    assert_true(atoi(mysql_fixture_sql(&db, "%s", sessions)) <= 12);
    for (int i = 0; i < MANY; i++)
        ilk_lock_free(locks[i]);
    free(ops);
    free(locks);
    ilk_lock_free(held);
    ilk_client_free(client);
    ilk_client_free(holder);
}

TEST(a_wait_that_ends_leaves_the_queue)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock(a, "gone"), *two = open_lock(b, "gone");

    take(one, 0);
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(two, 200, &err));
    await_queue("0");
    give(one);
    take(one, 0);
    give(one);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

/* The wait's session is in the wait queue until the server has taken it out. */
TEST(a_try_after_a_wait_that_ended_gets_a_free_row)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock(a, "try"), *two = open_lock(b, "try");
    ilk_status st;

    for (int i = 0; i < 40; i++) {
        take(one, 0);
        st = ilk_lock_acquire(two, 5 + i % 8, &err);
        assert_true(st == ILK_ETIMEOUT || st == ILK_ECONN); /* no reply yet */
        give(one);
        take(two, 0);
        give(two);
    }
    await_queue("0");
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

/* The server's time, as the rows have it. */
#define NOW_US "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"

static void await_row_waits(void)
{
    assert_int_equal(
        0, mysql_fixture_await(
               &db, "1", patience(5000),
               "SELECT VARIABLE_VALUE FROM information_schema.global_status "
               "WHERE VARIABLE_NAME='INNODB_ROW_LOCK_CURRENT_WAITS'"));
}

/* The row becomes free while a try waits for it: later than the try's own time. The
 * holder's session keeps the queue's lock, as that of a waiter would. */
TEST(a_try_that_meets_a_release_does_not_overtake)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock(a, "met"), *two = open_lock(b, "met");
    taker try;

    take(one, 0);
    assert_sql("", "START TRANSACTION");
    mysql_fixture_sql(&db, "SELECT fence FROM app.ilk_lock WHERE name='met' "
                           "FOR UPDATE");
    start_taker(&try, two, 0);
    await_row_waits();
    assert_sql("", "UPDATE app.ilk_lock SET token='',until=" NOW_US
                   " WHERE name='met'");
    assert_sql("", "COMMIT");
    assert_took(ILK_EBUSY, &try);
    /* Nobody comes: it is for everybody after a while. */
    take(two, patience(2000));
    give(two);
    assert_status(ILK_ELOST, ilk_lock_release(one, &err));
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(a_clock_that_was_set_back_does_not_close_a_row)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock(a, "back"), *two = open_lock(b, "back");

    take(one, 0);
    assert_sql("", "UPDATE app.ilk_lock SET token='',until=" NOW_US
                   "+3600000000 WHERE name='back'");
    take(two, 0);
    give(two);
    assert_status(ILK_ELOST, ilk_lock_release(one, &err));
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

/* The row has just become free, so that only the queue's lock opens it. */
static void assert_queue_is_free(const char *name)
{
    ilk_client *other = open_db();
    ilk_lock *lock = open_lock(other, name);

    mysql_fixture_sql(&db,
                      "UPDATE app.ilk_lock SET until=" NOW_US " "
                      "WHERE token='' AND name='%s'",
                      name);
    take(lock, 0);
    give(lock);
    ilk_lock_free(lock);
    ilk_client_free(other);
}

TEST(a_repeated_acquire_has_the_queue_lock_once)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "twice");

    take(one, 0);
    give(one);
    assert_sql("", "CREATE TRIGGER app.t BEFORE UPDATE ON app.ilk_lock FOR "
                   "EACH ROW BEGIN IF @failed IS NULL THEN SET @failed=1; "
                   "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO=1213; END IF; END");
    take(one, 0);
    assert_sql("", "DROP TRIGGER app.t");
    give(one);
    assert_queue_is_free("twice");
    ilk_lock_free(one);
    ilk_client_free(a);
}

TEST(a_failed_acquire_frees_the_queue_lock)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "failed");

    take(one, 0);
    give(one);
    assert_sql("", "CREATE TRIGGER app.t BEFORE UPDATE ON app.ilk_lock FOR "
                   "EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='no'");
    assert_status(ILK_ESERVER, ilk_lock_acquire(one, 0, &err));
    assert_sql("", "DROP TRIGGER app.t");
    assert_queue_is_free("failed");
    ilk_lock_free(one);
    ilk_client_free(a);
}

/* A process that holds, says so, and does nothing more. */
static pid_t hold_in_a_process(const char *name, int64_t ttl_ms)
{
    int pipes[2];
    char byte = 0;
    pid_t pid;

    assert_int_equal(0, pipe(pipes));
    pid = fork();
    if (pid == 0) {
        ilk_client *client = NULL;
        ilk_lock *lock = NULL;
        ilk_lock_opts opts;

        ilk_lock_opts_init(&opts, sizeof opts);
        opts.ttl_ms = ttl_ms;
        if (ilk_client_open(&client, db.url, NULL, NULL)
            || ilk_lock_open(&lock, client, name, strlen(name), &opts, NULL)
            || ilk_lock_acquire(lock, 10000, NULL))
            _exit(1);
        if (write(pipes[1], "h", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(pipes[1]);
    assert_int_equal(1, read(pipes[0], &byte, 1));
    close(pipes[0]);
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The queue's lock of a frozen process comes back when that ends. */
TEST(a_hold_without_the_queue_lock_gets_it_by_a_renewal)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock_with(a, "late queue", 60000, 0),
             *two = open_lock(b, "late queue");
    pid_t pid = hold_in_a_process("late queue", 1000);
    taker waiter;

    kill(pid, SIGSTOP);
    take(one, 10000);
    end_process(pid);
    fixture_sleep_ms(500); /* the server has seen its end */
    assert_status(ILK_OK, ilk_lock_extend(one, 60000, &err));
    start_taker(&waiter, two, 30000);
    await_queue(
        "1"); /* it would be out at once, if the hold did not have the lock */
    give(one);
    assert_took(ILK_OK, &waiter);
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

/* ---- processes ----------------------------------------------------------- */

TEST(a_killed_holder_is_followed_at_the_end_of_its_lease)
{
    pid_t pid = hold_in_a_process("killed", 1500);
    ilk_client *b = open_db();
    ilk_lock *two = open_lock(b, "killed");
    taker waiter;
    int64_t killed_at, took;

    start_taker(&waiter, two, 30000);
    await_queue("1");
    killed_at = fixture_now_ms();
    end_process(pid);
    assert_took(ILK_OK, &waiter);
    took = waiter.ended_at - killed_at;
    assert_in_range(took, 500, 1500 + patience(700));
    give(two);
    ilk_lock_free(two);
    ilk_client_free(b);
}

TEST(a_frozen_holder_is_followed_as_well)
{
    pid_t pid = hold_in_a_process("frozen", 1500);
    ilk_client *b = open_db();
    ilk_lock *two = open_lock(b, "frozen"), *three = open_lock(b, "frozen");
    taker waiter;
    int64_t frozen_at, took;

    start_taker(&waiter, two, 30000);
    await_queue("1");
    frozen_at = fixture_now_ms();
    kill(pid, SIGSTOP);
    assert_took(ILK_OK, &waiter);
    took = waiter.ended_at - frozen_at;
    assert_in_range(took, 500, 1500 + patience(1200));
    give(two);
    /* The frozen process still has the queue's lock, and nobody waits for ever. */
    take(three, 10000);
    give(three);
    kill(pid, SIGCONT);
    end_process(pid);
    ilk_lock_free(two);
    ilk_lock_free(three);
    ilk_client_free(b);
}

TEST(a_detached_hold_is_adopted_by_another_client)
{
    ilk_client *a = open_db(), *b = open_db(), *c = open_db();
    ilk_lock *one = open_lock_with(a, "moved", 1000, 0),
             *two = open_lock(b, "moved"), *three = open_lock(c, "moved");
    char token[128];
    int64_t fence;
    taker waiter;

    take(one, 0);
    fence = ilk_lock_fence(one);
    snprintf(token, sizeof token, "%s", ilk_lock_token(one));
    assert_status(ILK_OK, ilk_lock_detach(one, &err));
    assert_status(ILK_OK, ilk_lock_adopt(two, token, strlen(token), &err));
    assert_int_equal(fence, ilk_lock_fence(two));
    start_taker(&waiter, three, 30000);
    /* The first client's lease is over by now; it must not release the row. */
    fixture_sleep_ms(1600);
    assert_status(ILK_OK, ilk_lock_check(two, &err));
    assert_false(waiter.done);
    give(two);
    assert_took(ILK_OK, &waiter);
    assert_true(took_ms(&waiter) < 1600 + patience(4000));
    give(three);
    assert_status(ILK_ELOST, ilk_lock_adopt(two, token, strlen(token), &err));
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_lock_free(three);
    ilk_client_free(a);
    ilk_client_free(b);
    ilk_client_free(c);
}

TEST(a_broken_hold_goes_to_the_next)
{
    ilk_client *a = open_db(), *b = open_db(), *c = open_db();
    ilk_lock *one = open_lock(a, "broken"), *two = open_lock(b, "broken");
    taker waiter;

    take(one, 0);
    start_taker(&waiter, two, 30000);
    await_queue("1");
    assert_status(ILK_OK, ilk_lock_break(c, "broken", 6, NULL, 0, &err));
    assert_took(ILK_OK, &waiter);
    assert_true(took_ms(&waiter) < patience(3000));
    assert_status(ILK_ELOST, ilk_lock_release(one, &err));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
    ilk_client_free(c);
}

/* ---- sessions and servers that end --------------------------------------- */

static void kill_sessions(void)
{
    MYSQL_RES *rows;
    MYSQL_ROW row;

    assert_int_equal(0,
                     mysql_query(db.root, "SELECT ID FROM information_schema."
                                          "processlist WHERE USER='u'"));
    rows = mysql_store_result(db.root);
    while ((row = mysql_fetch_row(rows)) != NULL)
        mysql_fixture_sql(&db, "KILL %s", row[0]);
    mysql_free_result(rows);
}

/* After a restart of the server its number may be that of another session. */
TEST(a_session_that_has_ended_is_not_killed)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "ended");

    take(one, 0);
    mysql_fixture_sql(&db, "SET GLOBAL log_output='TABLE'");
    mysql_fixture_sql(&db, "SET GLOBAL general_log=ON");
    kill_sessions();
    assert_status(ILK_OK, ilk_lock_extend(one, 30000, &err));
    mysql_fixture_sql(&db, "SET GLOBAL general_log=OFF");
    assert_sql("1", "SELECT COUNT(*)>0 FROM mysql.general_log WHERE user_host "
                    "LIKE 'u[%' AND argument LIKE '%GET_LOCK(''ilk@%'");
    assert_sql("0", "SELECT COUNT(*) FROM mysql.general_log WHERE user_host "
                    "LIKE 'u[%' AND argument LIKE 'KILL %'");
    mysql_fixture_sql(&db, "TRUNCATE mysql.general_log");
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
}

TEST(killed_sessions_lose_neither_holds_nor_waits)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock_with(a, "sessions", 3000, 0),
             *two = open_lock(b, "sessions");
    taker waiter;

    take(one, 0);
    start_taker(&waiter, two, 30000);
    await_queue("1");
    for (int i = 0; i < 3; i++) {
        kill_sessions();
        fixture_sleep_ms(700);
        assert_status(ILK_OK, ilk_lock_check(one, &err));
        assert_status(ILK_OK, ilk_lock_extend(one, 3000, &err));
        assert_false(waiter.done);
    }
    give(one);
    assert_took(ILK_OK, &waiter);
    assert_true(waiter.ended_at - waiter.began_at < 2100 + patience(3000));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(holds_and_waits_outlive_a_restart)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock_with(a, "restart", 60000, 0),
             *two = open_lock(b, "restart");
    taker waiter;

    take(one, 0);
    start_taker(&waiter, two, 60000);
    await_queue("1");
    mysql_fixture_kill(&db);
    fixture_sleep_ms(300);
    assert_int_equal(0, mysql_fixture_restart(&db));
    assert_status(ILK_OK, ilk_lock_extend(one, 60000, &err));
    assert_false(waiter.done);
    give(one);
    assert_took(ILK_OK, &waiter);
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(a_frozen_server_is_an_error_in_time)
{
    char url[192];
    ilk_client *a;
    ilk_lock *one, *other;
    int64_t began;
    ilk_status st;

    snprintf(url, sizeof url, "%s?reply_timeout_ms=800&connect_timeout_ms=2000",
             db.url);
    a = open_client_at(url);
    one = open_lock(a, "silent");
    other = open_lock(a, "silent too");
    take(one, 0);
    mysql_fixture_pause(&db);
    began = fixture_now_ms();
    st = ilk_lock_acquire(other, 0, &err);
    mysql_fixture_resume(&db);
    assert_true(st == ILK_ECONN || st == ILK_ETIMEOUT || st == ILK_EUNKNOWN);
    assert_true(fixture_now_ms() - began < patience(8000));
    assert_status(ILK_OK, ilk_lock_extend(one, 30000, &err));
    give(one);
    take(other, patience(5000));
    give(other);
    ilk_lock_free(one);
    ilk_lock_free(other);
    ilk_client_free(a);
}

static ilk_client *open_by(const mysql_proxy *proxy)
{
    char url[128];

    snprintf(url, sizeof url, "mysql://u:pw@127.0.0.1:%d/app",
             mysql_proxy_port(proxy));
    return open_client_at(url);
}

TEST(a_release_whose_answer_is_lost_has_released)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    ilk_client *a = open_by(proxy);
    ilk_lock *one = open_lock(a, "unsaid");

    take(one, 0);
    mysql_proxy_arm(proxy, "SET released=");
    give(one);
    assert_true(mysql_proxy_struck(proxy));
    take(one, patience(3000));
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
    mysql_proxy_close(proxy);
}

/* The row keeps no evidence, and the lease is over when the release is repeated. */
TEST(a_release_that_is_repeated_too_late_is_not_known)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    ilk_client *a = open_by(proxy);
    ilk_lock *one = open_lock_with(a, "unknown", 1000, ILK_LOCK_NO_RENEW);

    take(one, 0);
    give(one);
    assert_sql("", "CREATE TRIGGER app.t BEFORE UPDATE ON app.ilk_lock FOR "
                   "EACH ROW BEGIN SET NEW.released=''; IF NEW.token='' THEN "
                   "DO SLEEP(1.2); END IF; END");
    take(one, 0);
    mysql_proxy_arm(proxy, "SET released=");
    assert_status(ILK_EUNKNOWN, ilk_lock_release(one, &err));
    assert_true(mysql_proxy_struck(proxy));
    assert_sql("", "DROP TRIGGER app.t");
    ilk_lock_free(one);
    ilk_client_free(a);
    mysql_proxy_close(proxy);
}

TEST(an_acquire_whose_answer_is_lost_keeps_its_fence)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    ilk_client *a = open_by(proxy);
    ilk_lock *one = open_lock(a, "unsaid");
    char fence[32];

    take(one, 0);
    give(one);
    mysql_proxy_arm(proxy, "GREATEST(fence+1");
    take(one, 0);
    assert_true(mysql_proxy_struck(proxy));
    snprintf(fence, sizeof fence, "%lld", (long long)ilk_lock_fence(one));
    assert_sql(fence, "SELECT fence FROM app.ilk_lock WHERE name='unsaid'");
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
    mysql_proxy_close(proxy);
}

/* ---- servers that are not what they seem ---------------------------------- */

/* As behind a proxy that shares connections: GET_LOCK returns, and has no effect. */
TEST(a_server_without_sessions_is_polled)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    ilk_client *a, *b;
    ilk_lock *one, *two;
    taker waiter;
    int64_t given_at;

    mysql_proxy_rewrite(proxy, "GET_LOCK(", "IFNULL(  ");
    a = open_by(proxy);
    b = open_by(proxy);
    one = open_lock(a, "polled");
    two = open_lock(b, "polled");
    take(one, 0);
    start_taker(&waiter, two, 30000);
    fixture_sleep_ms(500);
    assert_false(waiter.done);
    await_queue("0");
    given_at = fixture_now_ms();
    give(one);
    assert_took(ILK_OK, &waiter);
    assert_true(waiter.ended_at - given_at < patience(400));
    assert_status(ILK_EBUSY, ilk_lock_acquire(one, 0, &err));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
    mysql_proxy_close(proxy);
}

/* KILL QUERY of an administrator may hit the statement that asks for sessions. It says
 * nothing about them: the client waits by GET_LOCK, and does not poll. */
TEST(an_interrupted_login_is_repeated)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    ilk_client *a, *b;
    ilk_lock *one, *two;
    taker waiter;

    mysql_proxy_rewrite_once(proxy, "SELECT CONNECTION_ID(),GET_LOCK('ilk@",
                             "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO=1317");
    a = open_by(proxy);
    b = open_by(proxy);
    one = open_lock(a, "interrupted");
    two = open_lock(b, "interrupted");
    take(one, 0);
    start_taker(&waiter, two, 30000);
    await_queue("1");
    give(one);
    assert_took(ILK_OK, &waiter);
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
    mysql_proxy_close(proxy);
}

static int64_t statements(void)
{
    return atoi(mysql_fixture_sql(&db, "SELECT VARIABLE_VALUE FROM "
                                       "information_schema.global_status "
                                       "WHERE VARIABLE_NAME='QUESTIONS'"));
}

/* The server refuses GET_LOCK of waiters at once, each time. */
TEST(a_wait_that_fails_is_repeated_with_pauses)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    ilk_client *a, *b;
    ilk_lock *one, *two;
    taker waiter;
    int64_t before;

    mysql_proxy_rewrite(proxy, "SELECT GET_LOCK('ilk:", "SELECT no_such");
    a = open_by(proxy);
    b = open_by(proxy);
    one = open_lock(a, "refused");
    two = open_lock(b, "refused");
    take(one, 0);
    start_taker(&waiter, two, 30000);
    fixture_sleep_ms(200);
    before = statements();
    fixture_sleep_ms(1000);
    assert_in_range(statements() - before, 3, 60);
    assert_false(waiter.done);
    give(one);
    assert_took(ILK_OK, &waiter);
    assert_true(took_ms(&waiter) < 1200 + patience(2000));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
    mysql_proxy_close(proxy);
}

static void assert_refused_at(const char *url, ilk_status status,
                              const char *text);

/* No Galera here: the proxy answers as a node would. */
TEST(a_galera_node_is_refused)
{
    mysql_proxy *proxy = mysql_proxy_open(&db);
    char url[128];

    mysql_proxy_rewrite(proxy, "SHOW GLOBAL VARIABLES WHERE",
                        "SELECT 'wsrep_on','ON'");
    snprintf(url, sizeof url, "mysql://u:pw@127.0.0.1:%d/app",
             mysql_proxy_port(proxy));
    assert_refused_at(url, ILK_EUNSUPPORTED, "Galera");
    mysql_proxy_close(proxy);
}

/* The child's end must not end the parent's sessions. */
TEST(a_forked_child_leaves_the_sessions_alone)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "forked");
    char session[32];
    int status = -1;
    pid_t pid;

    take(one, 0);
    snprintf(session, sizeof session, "%s",
             mysql_fixture_sql(&db, "SELECT session FROM app.ilk_lock "
                                    "WHERE name='forked'"));
    pid = fork();
    if (pid == 0) {
        int forked = ilk_lock_release(one, NULL) == ILK_EFORKED;

        ilk_lock_free(one);
        ilk_client_free(a);
        _exit(forked ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(0, status);
    fixture_sleep_ms(200);
    assert_string_equal(
        "1", mysql_fixture_sql(&db,
                               "SELECT COUNT(*) FROM information_schema."
                               "processlist WHERE ID=%s",
                               session));
    assert_status(ILK_OK, ilk_lock_extend(one, 20000, &err));
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
}

/* ---- rows that others lock ----------------------------------------------- */

TEST(a_row_that_another_session_locks_is_waited_for)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "locked");
    MYSQL *other = mysql_fixture_connect(&db, 1);
    taker waiter;

    take(one, 0);
    give(one);
    assert_int_equal(0, mysql_query(other, "START TRANSACTION"));
    assert_int_equal(0, mysql_query(other, "UPDATE app.ilk_lock SET who='x' "
                                           "WHERE name='locked'"));
    start_taker(&waiter, one, 30000);
    fixture_sleep_ms(500);
    assert_false(waiter.done);
    assert_int_equal(0, mysql_query(other, "ROLLBACK"));
    assert_took(ILK_OK, &waiter);
    give(one);
    mysql_close(other);
    ilk_lock_free(one);
    ilk_client_free(a);
}

static int64_t row_waits(void)
{
    return atoi(mysql_fixture_sql(
        &db, "SELECT VARIABLE_VALUE FROM information_schema.global_status "
             "WHERE VARIABLE_NAME='INNODB_ROW_LOCK_WAITS'"));
}

static MYSQL *lock_row(const char *name)
{
    MYSQL *other = mysql_fixture_connect(&db, 1);
    char statement[128];

    snprintf(statement, sizeof statement,
             "UPDATE app.ilk_lock SET who='x' WHERE kind='l' AND name='%s'",
             name);
    assert_int_equal(0, mysql_query(other, "START TRANSACTION"));
    assert_int_equal(0, mysql_query(other, statement));
    return other;
}

/* The slowest of the renewals of 7 s. */
static int64_t renew_for_long(ilk_lock *lock)
{
    int64_t began = fixture_now_ms(), sent, slowest = 0;

    while (fixture_now_ms() - began < 7000) {
        sent = fixture_now_ms();
        assert_status(ILK_OK, ilk_lock_extend(lock, 4000, &err));
        sent = fixture_now_ms() - sent;
        slowest = sent > slowest ? sent : slowest;
        fixture_sleep_ms(50);
    }
    print_message("slowest renewal beside a locked row: %lld ms\n",
                  (long long)slowest);
    return slowest;
}

/* The session in which the lock "steady" was acquired or renewed. */
static void note_session(char *out, size_t room)
{
    snprintf(out, room, "%s",
             mysql_fixture_sql(&db, "SELECT session FROM app.ilk_lock "
                                    "WHERE kind='l' AND name='steady'"));
}

/* The server ends each wait for the row (error 1205) before the client gives its
 * connection up. So another hold on that keeps its session, and is renewed in time. */
TEST(a_row_that_stays_locked_delays_no_other)
{
    ilk_client *a = open_db();
    ilk_lock *steady = open_lock_with(a, "steady", 4000, 0),
             *one = open_lock(a, "locked long");
    char before[32], after[32];
    MYSQL *other;
    taker waiter;
    int64_t waits = row_waits();

    take(one, 0);
    give(one);
    take(steady, 0);
    note_session(before, sizeof before);
    other = lock_row("locked long");
    start_taker(&waiter, one, 60000);
    await_row_waits();
    assert_true(renew_for_long(steady) < patience(1500));
    note_session(after, sizeof after);
    assert_string_equal(before, after);
    assert_true(row_waits() - waits >= 4);
    assert_false(waiter.done);
    assert_int_equal(0, mysql_query(other, "ROLLBACK"));
    assert_took(ILK_OK, &waiter);
    give(one);
    give(steady);
    mysql_close(other);
    ilk_lock_free(one);
    ilk_lock_free(steady);
    ilk_client_free(a);
}

/* The core has no reply in time, but the session stays, and so do other holds. */
TEST(a_reply_time_below_that_of_a_row_keeps_the_session)
{
    char url[160], before[32], after[32];
    ilk_client *a;
    ilk_lock *steady, *one;
    MYSQL *other;
    ilk_status st;

    snprintf(url, sizeof url, "%s?reply_timeout_ms=800&outage=20s", db.url);
    a = open_client_at(url);
    steady = open_lock_with(a, "steady", 6000, 0);
    one = open_lock(a, "locked soon");
    take(one, 0);
    give(one);
    take(steady, 0);
    note_session(before, sizeof before);
    other = lock_row("locked soon");
    st = ilk_lock_acquire(one, 2500, &err);
    assert_true(st == ILK_ETIMEOUT || st == ILK_EUNKNOWN || st == ILK_ECONN);
    assert_true(ilk_lock_held(steady));
    assert_status(ILK_OK, ilk_lock_extend(steady, 6000, &err));
    note_session(after, sizeof after);
    assert_string_equal(before, after);
    assert_int_equal(0, mysql_query(other, "ROLLBACK"));
    give(steady);
    mysql_close(other);
    ilk_lock_free(one);
    ilk_lock_free(steady);
    ilk_client_free(a);
}

TEST(a_release_is_repeated_while_its_row_stays_locked)
{
    ilk_client *a = open_db(), *b = open_db();
    ilk_lock *one = open_lock_with(a, "locked end", 60000, 0),
             *two = open_lock(b, "locked end");
    ilk_op *op = NULL;
    MYSQL *other;

    take(one, 0);
    other = lock_row("locked end");
    assert_status(ILK_OK, ilk_lock_release_start(&op, one, &err));
    turn_for(a, 2500);
    assert_int_equal(ILK_EAGAIN, ilk_op_status(op, &err));
    assert_int_equal(0, mysql_query(other, "ROLLBACK"));
    assert_ends(ILK_OK, a, op);
    take(two, patience(2000));
    give(two);
    mysql_close(other);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

/* The transaction has locked the gap into which the row is to be inserted. */
TEST(a_try_at_a_gap_that_stays_locked_is_busy)
{
    ilk_client *a = open_db();
    ilk_lock *before = open_lock(a, "before the gap"),
             *one = open_lock(a, "locked gap");
    MYSQL *other = mysql_fixture_connect(&db, 1);

    take(before, 0); /* the table is there */
    give(before);
    assert_int_equal(0, mysql_query(other, "START TRANSACTION"));
    assert_int_equal(
        0, mysql_query(other, "SELECT * FROM app.ilk_lock FOR UPDATE"));
    mysql_free_result(mysql_store_result(other));
    assert_status(ILK_EBUSY, ilk_lock_acquire(one, 0, &err));
    assert_int_equal(0, mysql_query(other, "ROLLBACK"));
    take(one, 0);
    give(one);
    mysql_close(other);
    ilk_lock_free(before);
    ilk_lock_free(one);
    ilk_client_free(a);
}

TEST(a_try_at_a_row_that_stays_locked_is_busy)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "locked try");
    MYSQL *other;
    int64_t began;

    take(one, 0);
    give(one);
    other = lock_row("locked try");
    began = fixture_now_ms();
    assert_status(ILK_EBUSY, ilk_lock_acquire(one, 0, &err));
    assert_in_range(fixture_now_ms() - began, 900, patience(3000));
    assert_int_equal(0, mysql_query(other, "ROLLBACK"));
    take(one, 0);
    give(one);
    mysql_close(other);
    ilk_lock_free(one);
    ilk_client_free(a);
}

/* InnoDB chooses a victim by a trigger that needs the rows in the other order. */
TEST(a_deadlock_is_tried_again)
{
    ilk_client *a = open_db();
    ilk_lock *one = open_lock(a, "deadlock");
    MYSQL *other = mysql_fixture_connect(&db, 0);
    taker waiter;

    take(one, 0);
    give(one);
    assert_sql("", "CREATE TABLE app.pair (id INT PRIMARY KEY, n INT, "
                   "b LONGTEXT) ENGINE=InnoDB");
    assert_sql("", "INSERT INTO app.pair VALUES (1,0,''),(2,0,''),(3,0,'')");
    assert_sql("",
               "CREATE TRIGGER app.t BEFORE UPDATE ON app.ilk_lock FOR EACH "
               "ROW UPDATE app.pair SET n=n+1 WHERE id=1");
    mysql_query(other, "START TRANSACTION");
    /* The more a transaction has changed, the less it is the victim. */
    mysql_query(other, "UPDATE app.pair SET n=n+1");
    start_taker(&waiter, one, 30000);
    await_row_waits();
    assert_int_equal(
        0, mysql_query(other, "SELECT * FROM app.ilk_lock FOR UPDATE"));
    mysql_free_result(mysql_store_result(other));
    mysql_query(other, "COMMIT");
    assert_took(ILK_OK, &waiter);
    assert_true(
        atoi(mysql_fixture_sql(
            &db, "SELECT VARIABLE_VALUE FROM information_schema."
                 "global_status WHERE VARIABLE_NAME='INNODB_DEADLOCKS'"))
        > 0);
    assert_sql("", "DROP TRIGGER app.t");
    give(one);
    mysql_close(other);
    ilk_lock_free(one);
    ilk_client_free(a);
}

/* ---- servers that cannot be used ----------------------------------------- */

static void assert_refused_at(const char *url, ilk_status status,
                              const char *text)
{
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_status st = ilk_client_open(&client, url, NULL, &err);

    if (st == ILK_OK)
        st = ilk_lock_open(&lock, client, "n", 1, NULL, &err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, 0, &err);
    assert_status(status, st);
    if (!strstr(err.msg, text))
        fail_msg("\"%s\" is not in: %s", text, err.msg);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

static void assert_refused(const char *login_and_host, const char *path,
                           ilk_status status, const char *text)
{
    char url[256];

    snprintf(url, sizeof url, "mysql://%s:%d/%s", login_and_host, db.port,
             path);
    assert_refused_at(url, status, text);
}

TEST(urls_are_checked)
{
    assert_refused_at("mysql://u@h,i/app", ILK_EINVAL, "one host");
    assert_refused_at("mysql://u@h/", ILK_EINVAL, "name of a database");
    assert_refused_at("mysql://u@h", ILK_EINVAL, "name of a database");
    assert_refused_at("mysql://h/app", ILK_EINVAL, "needs a user");
    assert_refused_at("mysql://u@h/app?charset=x", ILK_EINVAL, "charset");
    assert_refused_at("mysql://u@h/app?ca=x", ILK_EINVAL, "mysql+tls");
    assert_refused("u:wrong@127.0.0.1", "app", ILK_EAUTH, "Access denied");
    assert_refused("u:pw@127.0.0.1", "nothing", ILK_EAUTH, "nothing");
    assert_refused_at("mysql://u:pw@127.0.0.1:1/app", ILK_ECONN, "127.0.0.1:1");
}

TEST(a_missing_right_says_what_to_run)
{
    mysql_fixture_sql(&db, "CREATE DATABASE small");
    mysql_fixture_sql(&db, "CREATE USER poor@'%%' IDENTIFIED BY 'pw'");
    mysql_fixture_sql(&db,
                      "GRANT SELECT, INSERT, UPDATE ON small.* TO poor@'%%'");
    assert_refused("poor:pw@127.0.0.1", "small", ILK_EAUTH,
                   "CREATE TABLE `small`.`ilk_lock`");
    assert_sql("", "CREATE TABLE small.ilk_lock LIKE app.ilk_lock");
    {
        char url[128];
        ilk_client *client;
        ilk_lock *lock;

        snprintf(url, sizeof url, "mysql://poor:pw@127.0.0.1:%d/small",
                 db.port);
        client = open_client_at(url);
        lock = open_lock(client, "n");
        take(lock, 0);
        give(lock);
        ilk_lock_free(lock);
        ilk_client_free(client);
    }
    assert_sql("", "ALTER TABLE small.ilk_lock ENGINE=MyISAM");
    assert_refused("poor:pw@127.0.0.1", "small", ILK_EUNSUPPORTED, "InnoDB");
    assert_sql("", "DROP TABLE small.ilk_lock");
    assert_sql("", "CREATE TABLE small.ilk_lock (x INT) ENGINE=InnoDB");
    assert_refused("poor:pw@127.0.0.1", "small", ILK_EINVAL, "columns");
    mysql_fixture_sql(&db, "DROP DATABASE small");
}

TEST(a_read_only_server_is_refused)
{
    assert_sql("", "SET GLOBAL read_only=1");
    assert_refused("u:pw@127.0.0.1", "app", ILK_ESERVERREADONLY, "read_only");
    assert_sql("", "SET GLOBAL read_only=0");
}

TEST(all_schemes_are_known)
{
    char url[128];
    ilk_client *client;
    ilk_lock *lock;

    snprintf(url, sizeof url, "mariadb://u:pw@127.0.0.1:%d/app", db.port);
    client = open_client_at(url);
    lock = open_lock(client, "n");
    take(lock, 0);
    give(lock);
    ilk_lock_free(lock);
    ilk_client_free(client);
    /* This server has no certificate; a login in the clear is no way out. */
    snprintf(url, sizeof url, "mysql+tls://u:pw@127.0.0.1:%d/app", db.port);
    assert_refused_at(url, ILK_ECONN, "SSL");
}

/* ---- elections ----------------------------------------------------------- */

static ilk_election *open_candidate(ilk_client *client, const char *value)
{
    ilk_election_opts opts;
    ilk_election *one = NULL;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.value = value;
    opts.value_len = strlen(value);
    assert_status(ILK_OK,
                  ilk_election_open(&one, client, "boss", 4, &opts, &err));
    return one;
}

static void assert_leads(ilk_observer *observer, const char *value)
{
    ilk_leader *leader = NULL;
    size_t len = 0;
    const char *text;

    assert_status(ILK_OK,
                  ilk_observer_next(&leader, observer, patience(5000), &err));
    text = ilk_leader_value(leader, &len);
    assert_int_equal(strlen(value), len);
    assert_memory_equal(value, text, len);
    ilk_leader_free(leader);
}

TEST(leaders_are_elected_and_observed)
{
    ilk_client *a = open_db(), *b = open_db(), *c = open_db();
    ilk_election *one = open_candidate(a, "first"),
                 *two = open_candidate(b, "second"),
                 *watcher = open_candidate(c, "nobody");
    ilk_observer *observer = NULL;
    ilk_op *op = NULL;
    int64_t term;

    assert_status(ILK_OK, ilk_election_campaign(one, 0, &err));
    term = ilk_election_term(one);
    assert_status(ILK_OK, ilk_election_observe(&observer, watcher, 0, &err));
    assert_leads(observer, "first");
    assert_status(ILK_OK, ilk_election_campaign_start(&op, two, 30000, &err));
    turn_until_queued(b);
    assert_status(ILK_OK, ilk_election_proclaim(one, "changed", 7, &err));
    assert_leads(observer, "changed");
    assert_status(ILK_OK, ilk_election_resign(one, &err));
    assert_ends(ILK_OK, b, op);
    assert_true(ilk_election_term(two) > term);
    assert_leads(observer, "second");
    assert_status(ILK_OK, ilk_election_renew(two, 20000, &err));
    assert_status(ILK_OK, ilk_election_resign(two, &err));
    ilk_observer_free(observer);
    ilk_election_free(one);
    ilk_election_free(two);
    ilk_election_free(watcher);
    ilk_client_free(a);
    ilk_client_free(b);
    ilk_client_free(c);
}

/* ---- speed --------------------------------------------------------------- */

enum { PAIRS = 400 };

/* The statements that a release and an acquire need at least. */
static double raw_pairs_per_s(void)
{
    MYSQL *mysql = mysql_fixture_connect(&db, 1);
    int64_t began;

    mysql_query(mysql, "INSERT IGNORE INTO ilk_lock (kind,name,value) "
                       "VALUES ('l','raw','')");
    began = now_us();
    for (int i = 0; i < PAIRS; i++) {
        if (mysql_query(mysql,
                        "UPDATE ilk_lock SET fence=LAST_INSERT_ID(fence+1),"
                        "token='t',until=1 WHERE kind='l' AND name='raw' AND "
                        "(token='' OR until<1)")
            || mysql_query(mysql, "UPDATE ilk_lock SET token='',until=0 WHERE "
                                  "kind='l' AND name='raw' AND token='t'"))
            fail_msg("%s", mysql_error(mysql));
    }
    began = now_us() - began;
    mysql_close(mysql);
    return PAIRS * 1e6 / (double)began;
}

static double pairs_per_s(ilk_lock *lock)
{
    int64_t began = now_us();

    for (int i = 0; i < PAIRS; i++) {
        take(lock, 0);
        give(lock);
    }
    return PAIRS * 1e6 / (double)(now_us() - began);
}

TEST(pairs_take_two_statements)
{
    ilk_client *a = open_db();
    ilk_lock *lock = open_lock(a, "pairs");
    double raw, own;
    int before, after;

    take(lock, 0);
    give(lock);
    before = atoi(mysql_fixture_sql(&db, "SELECT VARIABLE_VALUE FROM "
                                         "information_schema.global_status "
                                         "WHERE VARIABLE_NAME='QUESTIONS'"));
    own = pairs_per_s(lock);
    after = atoi(mysql_fixture_sql(&db, "SELECT VARIABLE_VALUE FROM "
                                        "information_schema.global_status "
                                        "WHERE VARIABLE_NAME='QUESTIONS'"));
    assert_in_range(after - before, 2 * PAIRS, 2 * PAIRS + 10);
    raw = raw_pairs_per_s();
    print_message("pairs/s: %.0f, by libmariadb alone %.0f\n", own, raw);
    ilk_lock_free(lock);
    ilk_client_free(a);
}
