/* SPDX-License-Identifier: MIT */
/*
 * ct_etcd.c -- what is special about etcd: shapes of keys, leases, foreign clients,
 * and servers that stop, end or change.
 */
#include "etcd_case.h"
#include "etcd_relay.h"
#include "started.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

AROUND_ALL(etcd_setup, etcd_teardown);

enum { TTL_MS = 20000, MANY = 1000 };

static ilk_error err;

static void nap(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000,
                                   .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

static atomic_int warnings;

static void count_warning(void *user, int32_t level, const char *text)
{
    (void)user;
    if (level == ILK_LOG_WARN && strstr(text, "may end leases"))
        atomic_fetch_add(&warnings, 1);
}

/* Two clients with a lock each. */
typedef struct pair {
    ilk_client *client, *other;
    ilk_lock *mine, *theirs;
} pair;

static pair open_pair(const char *name, int64_t ttl_ms)
{
    pair p = {.client = open_etcd(), .other = open_etcd()};

    p.mine = open_lock_with(p.client, name, ttl_ms, 0);
    p.theirs = open_lock_with(p.other, name, ttl_ms, 0);
    return p;
}

static void close_pair(pair *p)
{
    ilk_lock_free(p->mine);
    ilk_lock_free(p->theirs);
    ilk_client_free(p->client);
    ilk_client_free(p->other);
}

static void take(ilk_lock *lock)
{
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(10000), &err));
}

static void give(ilk_lock *lock)
{
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
}

static const char *keys(const char *prefix)
{
    return ctl(5, "get %s --prefix --keys-only", prefix);
}

/* ---- keys ---------------------------------------------------------------- */

TEST(a_client_warns_once_of_a_version_that_ends_leases)
{
    const char *version = strstr(ctl(10, "endpoint status"), ", 3.");
    const int is_faulty = version
                          && (!strncmp(version, ", 3.4.2", 7)
                              || !strncmp(version, ", 3.5.1,", 8));
    ilk_client *client;

    atomic_store(&warnings, 0);
    assert_status(
        ILK_OK, ilk_log_set_callback(count_warning, NULL, ILK_LOG_WARN, &err));
    client = open_etcd();
    for (int i = 0; i < 3; i++) {
        ilk_lock *lock = open_lock(client, "warned");

        assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
        ilk_lock_free(lock);
    }
    ilk_client_free(client);
    assert_status(ILK_OK, ilk_log_set_callback(NULL, NULL, ILK_LOG_WARN, &err));
    assert_int_equal(is_faulty, atomic_load(&warnings));
}

TEST(names_with_slashes_are_names_of_their_own)
{
    static const char *const names[] = {"s", "s/", "s//", "s/b", "s/b/", "/s"};
    enum { NAMES = sizeof names / sizeof names[0] };
    ilk_client *client = open_etcd(), *other = open_etcd();
    ilk_lock *mine[NAMES], *theirs[NAMES];

    for (int i = 0; i < NAMES; i++) {
        mine[i] = open_lock_with(client, names[i], TTL_MS, 0);
        theirs[i] = open_lock_with(other, names[i], TTL_MS, 0);
        assert_status(ILK_OK, ilk_lock_acquire(mine[i], 0, &err));
    }
    for (int i = 0; i < NAMES; i++)
        assert_status(ILK_EBUSY, ilk_lock_acquire(theirs[i], 0, &err));
    for (int i = 0; i < NAMES; i++) {
        give(mine[i]);
        assert_status(ILK_OK, ilk_lock_acquire(theirs[i], 0, &err));
        give(theirs[i]);
        ilk_lock_free(mine[i]);
        ilk_lock_free(theirs[i]);
    }
    assert_int_equal(count_keys("s/"), 0);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* Shapes that are no contender's, and those that are. */
TEST(only_exact_shapes_contend)
{
    static const char *const strange[] = {
        "shape/b/1a",  "shape/",       "shape/xyz",     "shape/1a-q1",
        "shape/1a-x",  "shape/1a-x1.", "shape/1a-e1.t", "shape/01a",
        "shape/1a-x0", "shape/1A",     "shape/1a-p1.1"};
    static const char *const shapes[] = {"shape/1a", "shape/1a-x1",
                                         "shape/1a-rff"};
    pair p = open_pair("shape", TTL_MS);
    taker waiter;

    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
        (void)ctl(5, "put %s v", strange[i]);
    assert_status(ILK_OK, ilk_lock_acquire(p.mine, 0, &err));
    assert_status(ILK_EBUSY, ilk_lock_acquire(p.theirs, 0, &err));
    start_taker(&waiter, p.theirs, patience(10000));
    await_keys("shape/", 2 + (int)(sizeof strange / sizeof strange[0]));
    give(p.mine);
    assert_took(ILK_OK, &waiter);
    give(p.theirs);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        (void)ctl(5, "put %s v", shapes[i]);
        assert_status(ILK_EBUSY, ilk_lock_acquire(p.mine, 0, &err));
        start_taker(&waiter, p.mine, patience(10000));
        nap(100);
        assert_false(waiter.done);
        (void)ctl(5, "del %s", shapes[i]);
        assert_took(ILK_OK, &waiter);
        give(p.mine);
    }
    (void)ctl(5, "del shape/ --prefix");
    close_pair(&p);
}

/* etcd visits deleted keys until it is compacted, so there must not be one for each
 * acquisition. */
TEST(a_key_is_used_again)
{
    pair p = open_pair("again", TTL_MS);
    ilk_lock *second = open_lock_with(p.client, "again", TTL_MS, 0);
    const char *found;
    taker waiter;

    for (int i = 0; i < 20; i++) {
        take(p.mine);
        give(p.mine);
    }
    for (int i = 0; i < 5; i++) {
        take(p.mine);
        start_taker(&waiter, second, patience(10000));
        await_keys("again/", 2);
        found = keys("again/");
        assert_non_null(strstr(found, "-x1\n"));
        assert_non_null(strstr(found, "-x2\n"));
        give(p.mine);
        assert_took(ILK_OK, &waiter);
        assert_status(ILK_EBUSY, ilk_lock_acquire(p.theirs, 0, &err));
        assert_status(ILK_EBUSY, ilk_lock_acquire(p.mine, 0, &err));
        give(second);
    }
    ilk_lock_free(second);
    close_pair(&p);
}

TEST(a_lock_and_an_election_of_one_name_are_two)
{
    ilk_client *client = open_etcd();
    ilk_lock *lock = open_lock_with(client, "both", TTL_MS, 0);
    ilk_election *election = NULL;

    assert_status(ILK_OK,
                  ilk_election_open(&election, client, "both", 4, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    give(lock);
    assert_status(ILK_OK, ilk_election_resign(election, &err));
    ilk_election_free(election);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(readers_share_and_a_writer_comes_in_its_turn)
{
    ilk_client *client = open_etcd(), *other = open_etcd();
    ilk_lock *readers[3] = {NULL}, *writer = NULL;
    taker writing, reading;

    for (int i = 0; i < 3; i++)
        assert_status(ILK_OK,
                      ilk_rwlock_read_open(&readers[i], i == 1 ? other : client,
                                           "rw", 2, NULL, &err));
    assert_status(ILK_OK,
                  ilk_rwlock_write_open(&writer, other, "rw", 2, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(readers[0], 0, &err));
    assert_status(ILK_OK, ilk_lock_acquire(readers[1], 0, &err));
    start_taker(&writing, writer, patience(10000));
    await_keys("rw/", 3);
    assert_status(ILK_EBUSY, ilk_lock_acquire(readers[2], 0, &err));
    start_taker(&reading, readers[2], patience(10000));
    await_keys("rw/", 4);
    give(readers[0]);
    nap(100);
    assert_false(writing.done);
    give(readers[1]);
    assert_took(ILK_OK, &writing);
    assert_false(reading.done);
    give(writer);
    assert_took(ILK_OK, &reading);
    give(readers[2]);
    for (int i = 0; i < 3; i++)
        ilk_lock_free(readers[i]);
    ilk_lock_free(writer);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* More than a transaction deletes; the writer that waits behind them is not broken. */
TEST(a_break_ends_many_readers_and_nobody_else)
{
    enum { READERS = 560 };
    ilk_client *client = open_etcd(), *other = open_etcd();
    static ilk_lock *readers[READERS];
    ilk_lock *writer = NULL;
    taker writing;

    for (int i = 0; i < READERS; i++) {
        assert_status(ILK_OK, ilk_rwlock_read_open(&readers[i], client,
                                                   "readers", 7, NULL, &err));
        take(readers[i]);
    }
    assert_status(ILK_OK, ilk_rwlock_write_open(&writer, other, "readers", 7,
                                                NULL, &err));
    start_taker(&writing, writer, patience(20000));
    await_keys("readers/", READERS + 1);
    assert_status(ILK_OK, ilk_lock_break(client, "readers", 7, NULL, 0, &err));
    assert_took(ILK_OK, &writing);
    assert_int_equal(count_keys("readers/"), 1);
    for (int i = 0; i < READERS; i++) {
        assert_status(ILK_ELOST, ilk_lock_extend(readers[i], TTL_MS, &err));
        ilk_lock_free(readers[i]);
    }
    give(writer);
    ilk_lock_free(writer);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* ---- semaphores ---------------------------------------------------------- */

static ilk_semaphore *open_permit(ilk_client *client, int limit)
{
    ilk_semaphore *one = NULL;

    assert_status(
        ILK_OK, ilk_semaphore_open(&one, client, "pool", 4, limit, NULL, &err));
    return one;
}

TEST(a_limit_is_agreed_and_can_be_raised)
{
    ilk_client *client = open_etcd(), *other = open_etcd();
    ilk_semaphore *one = open_permit(client, 1), *two = open_permit(other, 1),
                  *differs = open_permit(other, 3);
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_semaphore_acquire(one, 0, &err));
    assert_status(ILK_EDIFFERS, ilk_semaphore_acquire(differs, 0, &err));
    assert_status(ILK_EBUSY, ilk_semaphore_acquire(two, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire_start(&op, two, -1, 0, &err));
    turn_for(other, 200);
    assert_under_way(other, op);
    assert_status(ILK_OK, ilk_semaphore_set_limit(one, 2, &err));
    assert_ends(ILK_OK, other, op);
    assert_status(ILK_OK, ilk_semaphore_release(one, &err));
    assert_status(ILK_OK, ilk_semaphore_release(two, &err));
    /* Nobody uses it: another limit replaces this one. */
    assert_status(ILK_OK, ilk_semaphore_acquire(differs, 0, &err));
    assert_non_null(strstr(ctl(5, "get 'ilk:semaphore:{pool}'"), "3 3"));
    assert_status(ILK_OK, ilk_semaphore_release(differs, &err));
    ilk_semaphore_free(one);
    ilk_semaphore_free(two);
    ilk_semaphore_free(differs);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* ---- foreign clients ----------------------------------------------------- */

/* etcdctl holds the lock until the file is removed. */
static pid_t begin_foreign_lock(const char *name, char file[64])
{
    int fd;

    snprintf(file, 64, "%s", "/tmp/ilk-etcdctl-XXXXXX");
    fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    return begin_ctl("lock %s -- sh -c 'while [ -e %s ]; do sleep 0.05; done'",
                     name, file);
}

TEST(etcdctl_lock_excludes_us_and_we_it)
{
    ilk_client *client = open_etcd();
    ilk_lock *lock = open_lock_with(client, "orders", TTL_MS, 0);
    char file[64];
    pid_t holder = begin_foreign_lock("orders", file);
    taker waiter;

    await_keys("orders/", 1);
    assert_status(ILK_EBUSY, ilk_lock_acquire(lock, 0, &err));
    start_taker(&waiter, lock, patience(10000));
    await_keys("orders/", 2);
    assert_false(waiter.done);
    assert_int_equal(unlink(file), 0);
    assert_took(ILK_OK, &waiter);
    end_ctl(holder);
    assert_null(strstr(ctl(1, "lock orders -- echo entered"), "entered"));
    give(lock);
    assert_non_null(strstr(ctl(20, "lock orders -- echo entered"), "entered"));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* Its key looks the same as that of an election of the name. */
TEST(a_foreign_lock_counts_for_a_lock_and_for_an_election)
{
    ilk_client *client = open_etcd();
    ilk_lock *lock = open_lock_with(client, "twice", TTL_MS, 0);
    ilk_election *election = NULL;
    char file[64];
    pid_t holder = begin_foreign_lock("twice", file);

    assert_status(ILK_OK,
                  ilk_election_open(&election, client, "twice", 5, NULL, &err));
    await_keys("twice/", 1);
    assert_status(ILK_EBUSY, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_EBUSY, ilk_election_campaign(election, 0, &err));
    assert_int_equal(unlink(file), 0);
    await_keys("twice/", 0);
    end_ctl(holder);
    take(lock);
    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    assert_null(strstr(ctl(1, "lock twice -- echo entered"), "entered"));
    give(lock);
    assert_null(strstr(ctl(1, "lock twice -- echo entered"), "entered"));
    assert_status(ILK_OK, ilk_election_resign(election, &err));
    assert_non_null(strstr(ctl(20, "lock twice -- echo entered"), "entered"));
    ilk_election_free(election);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(etcdctl_elect_excludes_us_and_we_it)
{
    ilk_client *client = open_etcd();
    ilk_election *election = NULL;
    ilk_election_opts opts;
    pid_t leader = begin_ctl("elect boss theirs");

    ilk_election_opts_init(&opts, sizeof opts);
    opts.value = "ours";
    opts.value_len = 4;
    assert_status(ILK_OK,
                  ilk_election_open(&election, client, "boss", 4, &opts, &err));
    await_keys("boss/", 1);
    assert_status(ILK_EBUSY, ilk_election_campaign(election, 0, &err));
    end_ctl(leader);
    (void)ctl(5, "del boss/ --prefix"); /* SIGTERM may have left its key */
    assert_status(ILK_OK,
                  ilk_election_campaign(election, patience(10000), &err));
    assert_non_null(strstr(ctl(4, "elect boss -l"), "ours"));
    assert_status(ILK_OK, ilk_election_proclaim(election, "other", 5, &err));
    assert_non_null(strstr(ctl(4, "elect boss -l"), "other"));
    assert_status(ILK_OK, ilk_election_resign(election, &err));
    await_keys("boss/", 0);
    ilk_election_free(election);
    ilk_client_free(client);
}

/* ---- leases -------------------------------------------------------------- */

TEST(a_larger_extend_moves_the_hold_to_another_lease)
{
    pair p = open_pair("move", TTL_MS);
    ilk_lock *lock = open_lock_with(p.client, "move", 2000, ILK_LOCK_NO_RENEW);
    char before[CTL_TEXT];
    int64_t fence;

    take(lock);
    fence = ilk_lock_fence(lock);
    snprintf(before, sizeof before, "%s",
             ctl(5, "get move/ --prefix -w fields | grep Lease"));
    assert_status(ILK_OK, ilk_lock_extend(lock, TTL_MS, &err));
    assert_string_not_equal(
        before, ctl(5, "get move/ --prefix -w fields | grep Lease"));
    nap(4000); /* the first lease is over */
    assert_status(ILK_OK, ilk_lock_check(lock, &err));
    assert_int_equal(ilk_lock_fence(lock), fence);
    assert_status(ILK_EBUSY, ilk_lock_acquire(p.theirs, 0, &err));
    give(lock);
    ilk_lock_free(lock);
    close_pair(&p);
}

/* The grant of the new lease, and a read of the key, are answered in any order. */
TEST(a_hold_always_has_a_lease)
{
    ilk_client *client = open_etcd();

    for (int i = 0; i < 12; i++) {
        ilk_lock *lock =
            open_lock_with(client, "always", 2000, ILK_LOCK_NO_RENEW);

        take(lock);
        assert_status(ILK_OK, ilk_lock_extend(lock, TTL_MS + i * 1000, &err));
        assert_null(strstr(
            ctl(5, "get always/ --prefix -w fields | grep Lease"), " : 0\n"));
        give(lock);
        ilk_lock_free(lock);
    }
    ilk_client_free(client);
}

TEST(a_hold_ends_in_time_without_renewal)
{
    pair p = open_pair("short", TTL_MS);
    ilk_lock *lock = open_lock_with(p.client, "short", 1200, ILK_LOCK_NO_RENEW);
    taker waiter;

    take(lock);
    start_taker(&waiter, p.theirs, patience(10000));
    assert_took(ILK_OK, &waiter);
    assert_in_range(took_ms(&waiter), 1000, 1200 + patience(1500));
    assert_status(ILK_ELOST, ilk_lock_check(lock, &err));
    give(p.theirs);
    ilk_lock_free(lock);
    close_pair(&p);
}

TEST(a_key_that_an_operator_deletes_is_a_loss)
{
    pair p = open_pair("gone", TTL_MS);
    taker waiter;

    take(p.mine);
    start_taker(&waiter, p.theirs, patience(10000));
    await_keys("gone/", 2);
    (void)ctl(5,
              "get gone/ --prefix --keys-only --sort-by=CREATE --limit=1 | "
              "xargs -r etcdctl --endpoints=127.0.0.1:%d del",
              etcd.port);
    assert_took(ILK_OK, &waiter);
    assert_status(ILK_ELOST, ilk_lock_extend(p.mine, TTL_MS, &err));
    give(p.theirs);
    close_pair(&p);
}

TEST(a_lease_that_ends_while_waiting_costs_the_place_only)
{
    pair p = open_pair("revoked", TTL_MS);
    taker waiter;

    take(p.mine);
    start_taker(&waiter, p.theirs, patience(20000));
    await_keys("revoked/", 2);
    (void)ctl(5,
              "get revoked/ --prefix --keys-only --sort-by=CREATE "
              "--order=DESCEND --limit=1 | sed -n 's/^revoked.\\([0-9a-f]*\\)"
              "-.*/\\1/p' | xargs -r etcdctl --endpoints=127.0.0.1:%d lease "
              "revoke",
              etcd.port);
    await_keys("revoked/", 1);
    await_keys("revoked/", 2); /* it has joined again */
    assert_false(waiter.done);
    give(p.mine);
    assert_took(ILK_OK, &waiter);
    give(p.theirs);
    close_pair(&p);
}

TEST(a_lease_that_ends_while_holding_is_a_loss)
{
    pair p = open_pair("expired", TTL_MS);

    take(p.mine);
    (void)ctl(5,
              "get expired/ --prefix --keys-only | sed -n "
              "'s/^expired.\\([0-9a-f]*\\)-.*/\\1/p' | xargs -r etcdctl "
              "--endpoints=127.0.0.1:%d lease revoke",
              etcd.port);
    await_keys("expired/", 0);
    assert_status(ILK_ELOST, ilk_lock_extend(p.mine, TTL_MS, &err));
    take(p.mine); /* under a new lease */
    give(p.mine);
    close_pair(&p);
}

TEST(compaction_disturbs_no_wait)
{
    pair p = open_pair("compact", TTL_MS);
    taker waiter;
    int64_t revision;

    take(p.mine);
    start_taker(&waiter, p.theirs, patience(10000));
    await_keys("compact/", 2);
    for (int i = 0; i < 5; i++)
        (void)ctl(5, "put other %d", i);
    revision =
        atoll(ctl(5, "get other -w fields | sed -n 's/\"Revision\" : //p'"));
    assert_true(revision > 5);
    (void)ctl(5, "compact --physical=true %lld", (long long)revision);
    assert_false(waiter.done);
    give(p.mine);
    assert_took(ILK_OK, &waiter);
    give(p.theirs);
    close_pair(&p);
}

/* ---- servers ------------------------------------------------------------- */

TEST(a_server_that_stands_still_loses_nothing)
{
    pair p = open_pair("frozen", TTL_MS);
    taker waiter;

    take(p.mine);
    start_taker(&waiter, p.theirs, patience(30000));
    await_keys("frozen/", 2);
    etcd_server_pause(&etcd);
    nap(3000);
    etcd_server_resume(&etcd);
    assert_status(ILK_OK, ilk_lock_check(p.mine, &err));
    assert_false(waiter.done);
    give(p.mine);
    assert_took(ILK_OK, &waiter);
    give(p.theirs);
    close_pair(&p);
}

/* Longer than leases: the hold may be lost, and the place, but not the wait. */
TEST(a_server_may_stand_still_longer_than_leases_last)
{
    pair p = open_pair("long", 2000);
    taker waiter;
    ilk_status st;

    take(p.mine);
    start_taker(&waiter, p.theirs, patience(30000));
    await_keys("long/", 2);
    etcd_server_pause(&etcd);
    nap(4500);
    assert_int_equal(ilk_lock_remaining_ms(p.mine), 0);
    etcd_server_resume(&etcd);
    st = ilk_lock_release(p.mine, &err);
    assert_true(st == ILK_OK || st == ILK_ELOST || st == ILK_EUNKNOWN);
    assert_took(ILK_OK, &waiter);
    assert_status(ILK_EBUSY, ilk_lock_acquire(p.mine, 0, &err));
    give(p.theirs);
    await_keys("long/", 0);
    close_pair(&p);
}

TEST(a_server_that_is_killed_and_comes_back_loses_nothing)
{
    pair p = open_pair("killed", TTL_MS);
    int64_t fence;
    taker waiter;

    take(p.mine);
    fence = ilk_lock_fence(p.mine);
    start_taker(&waiter, p.theirs, patience(30000));
    await_keys("killed/", 2);
    assert_int_equal(etcd_server_kill(&etcd), 0);
    nap(500);
    assert_int_equal(etcd_server_restart(&etcd), 0);
    await_keys("killed/", 2);
    assert_false(waiter.done);
    assert_status(ILK_OK, ilk_lock_extend(p.mine, TTL_MS, &err));
    assert_int_equal(ilk_lock_fence(p.mine), fence);
    give(p.mine);
    assert_took(ILK_OK, &waiter);
    assert_true(ilk_lock_fence(p.theirs) > fence);
    give(p.theirs);
    close_pair(&p);
}

/* The server stops with the join in its hands, and executes it afterwards. */
TEST(a_join_without_an_answer_leaves_nothing_behind)
{
    pair p = open_pair("late", TTL_MS);
    ilk_status st;

    take(p.mine); /* both have connections and leases */
    give(p.mine);
    take(p.theirs);
    give(p.theirs);
    etcd_server_pause(&etcd);
    st = ilk_lock_acquire(p.mine, 300, &err);
    assert_true(st != ILK_OK);
    etcd_server_resume(&etcd);
    take(p.theirs);
    give(p.theirs);
    await_keys("late/", 0);
    take(p.mine);
    give(p.mine);
    close_pair(&p);
}

/* Its answer does not come in time, so its outcome is unknown to the client. */
TEST(a_join_that_is_executed_late_ends_as_well)
{
    ilk_client *client, *other = open_etcd();
    ilk_lock *mine, *theirs = open_lock_with(other, "void", TTL_MS, 0);
    char url[96];
    ilk_status st;

    snprintf(url, sizeof url, "etcd://127.0.0.1:%d?reply_timeout_ms=400",
             etcd.port);
    client = open_client_at(url);
    mine = open_lock_with(client, "void", TTL_MS, 0);
    take(mine);
    give(mine);
    etcd_server_pause(&etcd);
    st = ilk_lock_acquire(mine, 1500, &err);
    assert_true(st != ILK_OK);
    etcd_server_resume(&etcd);
    take(theirs);
    give(theirs);
    await_keys("void/", 0);
    await_keys("ilk:void/", 1);
    /* Under another key: a copy of the join may still be executed. */
    take(mine);
    assert_null(strstr(keys("void/"), "-x1\n"));
    give(mine);
    ilk_lock_free(mine);
    ilk_lock_free(theirs);
    ilk_client_free(client);
    ilk_client_free(other);
}

static ilk_member *open_member(ilk_client *client, const char *name,
                               const char *id, int64_t ttl_ms)
{
    ilk_member_opts opts;
    ilk_member *member;
    ilk_group *group;

    ilk_member_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    assert_status(ILK_OK,
                  ilk_group_open(&group, client, name, strlen(name), &err));
    assert_status(ILK_OK,
                  ilk_member_open(&member, group, id, strlen(id), &opts, &err));
    ilk_group_free(group);
    return member;
}

/* The lease that it names was revoked by the leave. */
TEST(a_member_that_joins_after_its_leave_is_refused)
{
    etcd_relay *relay = etcd_relay_start(etcd.port);
    ilk_client *client;
    ilk_member *member;
    char url[96];

    assert_non_null(relay);
    snprintf(url, sizeof url, "etcd://127.0.0.1:%d?reply_timeout_ms=400",
             etcd_relay_port(relay));
    client = open_client_at(url);
    member = open_member(client, "crew", "latecomer", TTL_MS);
    etcd_relay_hold(relay, "latecomer", 0);
    while (ilk_member_join(member, "x", 1, &err) != ILK_OK)
        assert_int_equal(ILK_EUNKNOWN, err.code);
    assert_true(etcd_relay_has_held(relay));
    assert_int_equal(1, count_keys("ilk:group:{crew}/"));
    assert_status(ILK_OK, ilk_member_leave(member, &err));
    etcd_relay_let_go(relay);
    nap((int)patience(1000));
    assert_int_equal(0, count_keys("ilk:group:{crew}/"));
    ilk_member_free(member);
    ilk_client_free(client);
    etcd_relay_stop(relay);
}

/* Its join comes to a server that is silent for a while. Whose clock runs out first
 * decides: the core's, which repeats the request, or the backend's, which refuses it
 * as one that has not joined, and then the acquire has ended. The client's other lock
 * shows that its connections stand. */
static int joins_late(taker *waiter, ilk_lock *lock, ilk_lock *another)
{
    const int64_t deadline = ilk__deadline(patience(5000));

    while (ilk_lock_acquire(another, patience(5000), &err) != ILK_OK)
        assert_true(ilk__now_ms() < deadline);
    give(another);
    etcd_server_pause(&etcd);
    start_taker(waiter, lock, patience(20000));
    nap(700);
    etcd_server_resume(&etcd);
    while (count_keys("anew/") != 2) {
        if (atomic_load(&waiter->done)) {
            assert_took(ILK_ECONN, waiter);
            return 0;
        }
        assert_true(ilk__now_ms() < deadline);
        nap(20);
    }
    return 1;
}

/* A void key stands for the first place, so the second one has another key. */
TEST(a_place_lost_after_a_late_join_is_taken_again)
{
    ilk_client *client, *other = open_etcd();
    ilk_lock *mine, *another,
        *theirs = open_lock_with(other, "anew", TTL_MS, 0);
    char url[96], key[256];
    taker waiter;

    snprintf(url, sizeof url, "etcd://127.0.0.1:%d?reply_timeout_ms=400",
             etcd.port);
    client = open_client_at(url);
    /* So long a lease need not be renewed before the join. */
    mine = open_lock_with(client, "anew", 50 * TTL_MS, 0);
    another = open_lock_with(client, "connected", 50 * TTL_MS, 0);
    take(mine);
    give(mine);
    take(theirs);
    for (int i = 0; !joins_late(&waiter, mine, another); i++)
        assert_true(i < 20);
    nap(500); /* the join is repeated, and finds its key */
    snprintf(key, sizeof key, "%s",
             ctl(5, "get anew/ --prefix --keys-only --limit=1 "
                    "--sort-by=CREATE --order=DESCEND"));
    key[strcspn(key, "\n")] = '\0';
    assert_non_null(strstr(ctl(5, "del %s", key), "1"));
    await_keys("anew/", 2);
    assert_int_equal(count_keys(key), 0);
    assert_false(waiter.done);
    give(theirs);
    assert_took(ILK_OK, &waiter);
    give(mine);
    ilk_lock_free(mine);
    ilk_lock_free(another);
    ilk_lock_free(theirs);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* The connection of the request may be the one that the relay holds. */
static void extend_soon(ilk_lock *lock, int64_t ttl_ms)
{
    const int64_t deadline = ilk__deadline(patience(4000));
    ilk_status st;

    do {
        st = ilk_lock_extend(lock, ttl_ms, &err);
    } while (st != ILK_OK && st != ILK_ELOST && ilk__now_ms() < deadline);
    assert_status(ILK_OK, st);
}

/* The put that gives the key a longer lease waits on its way. Meanwhile the hold is
 * extended as if it had never been sent; then it comes, while the longer lease, which
 * nobody keeps alive, lasts. The hold outlives that lease by seconds, in which the
 * key must be there. */
TEST(a_move_that_is_executed_late_takes_no_hold_away)
{
    enum { HOLD_MS = 6000, LONGER_MS = 7000, COMES_MS = 5000 };
    etcd_relay *relay = etcd_relay_start(etcd.port);
    ilk_client *client, *other = open_etcd();
    ilk_lock *mine, *longer, *theirs;
    int64_t began;
    char url[96];

    /* One attempt: a second one would move the key by another connection. */
    snprintf(url, sizeof url,
             "etcd://127.0.0.1:%d?reply_timeout_ms=400&outage=0",
             etcd_relay_port(relay));
    client = open_client_at(url);
    mine = open_lock_with(client, "late-move", HOLD_MS, ILK_LOCK_NO_RENEW);
    longer = open_lock_with(client, "late-move-longer", LONGER_MS, 0);
    theirs = open_lock_with(other, "late-move", TTL_MS, 0);
    take(mine);
    take(longer); /* its lease is there, for the move to use */
    began = ilk__now_ms();
    give(longer);
    etcd_relay_hold(relay, "late-move/", 1); /* the key is read, then put */
    assert_true(ilk_lock_extend(mine, LONGER_MS, &err) != ILK_OK);
    assert_true(etcd_relay_has_held(relay));
    do {
        extend_soon(mine, HOLD_MS);
        nap(500);
    } while (ilk__now_ms() < began + COMES_MS);
    etcd_relay_let_go(relay);
    while (ilk__now_ms() < began + LONGER_MS + 700)
        nap(100);
    assert_int_equal(count_keys("late-move/"), 1);
    assert_status(ILK_EBUSY, ilk_lock_acquire(theirs, 0, &err));
    give(mine);
    take(theirs);
    give(theirs);
    ilk_lock_free(mine);
    ilk_lock_free(longer);
    ilk_lock_free(theirs);
    ilk_client_free(client);
    ilk_client_free(other);
    etcd_relay_stop(relay);
}

TEST(a_leader_may_move_and_end)
{
    etcd_cluster cluster;
    ilk_client *client, *other;
    ilk_lock *mine, *theirs;
    taker waiter;
    int leader;

    start_cluster(&cluster);
    leader = find_leader(&cluster);
    client = open_client_at(cluster.url);
    other = open_client_at(cluster.url);
    mine = open_lock_with(client, "cluster", TTL_MS, 0);
    theirs = open_lock_with(other, "cluster", TTL_MS, 0);
    take(mine);
    start_taker(&waiter, theirs, patience(40000));
    nap(300);
    etcd_server_pause(&cluster.members[leader]); /* another is elected */
    nap(3000);
    etcd_server_resume(&cluster.members[leader]);
    leader = find_leader(&cluster);
    assert_status(ILK_OK, ilk_lock_check(mine, &err));
    assert_false(waiter.done);
    assert_int_equal(etcd_server_kill(&cluster.members[leader]), 0);
    (void)find_leader(&cluster);
    assert_status(ILK_OK, ilk_lock_extend(mine, TTL_MS, &err));
    assert_false(waiter.done);
    give(mine);
    assert_took(ILK_OK, &waiter);
    give(theirs);
    ilk_lock_free(mine);
    ilk_lock_free(theirs);
    ilk_client_free(client);
    ilk_client_free(other);
    stop_cluster(&cluster);
}

/* ---- memory -------------------------------------------------------------- */

/* Errors are reported, and the hold of no failed acquire stays. */
TEST(without_memory_no_hold_stays)
{
    pair p = open_pair("memory", TTL_MS);
    int failed = 0;

    take(p.mine);
    give(p.mine);
    for (long n = 1; n <= 40; n++) {
        ilk_status st;

        ilk__alloc_fail_at(n);
        st = ilk_lock_acquire(p.mine, 100, &err);
        ilk__alloc_fail_at(n % 5);
        if (st == ILK_OK)
            (void)ilk_lock_release(p.mine, &err);
        ilk__alloc_fail_at(0);
        failed += st != ILK_OK;
        take(p.theirs);
        give(p.theirs);
        if (ilk_lock_fence(p.mine))
            (void)ilk_lock_release(p.mine, &err);
    }
    assert_true(failed > 5);
    await_keys("memory/", 0);
    take(p.mine);
    give(p.mine);
    close_pair(&p);
}

/* ---- many ---------------------------------------------------------------- */

static int count_sockets(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    struct stat about;
    int count = 0;

    if (!dir)
        return 0;
    while ((entry = readdir(dir)))
        count += fstatat(dirfd(dir), entry->d_name, &about, 0) == 0
                 && S_ISSOCK(about.st_mode);
    closedir(dir);
    return count;
}

static void turn_until_keys(ilk_client *client, const char *prefix, int count)
{
    const int64_t deadline = ilk__deadline(patience(30000));

    while (count_keys(prefix) != count) {
        assert_true(ilk__now_ms() < deadline);
        turn_for(client, 50);
    }
}

/* Release those that were granted, in their order. Returns how many. */
static int give_granted(ilk_op **ops, ilk_lock **locks, int64_t *fence)
{
    int count = 0;

    for (int i = 0; i < MANY; i++) {
        if (!ops[i] || ilk_op_status(ops[i], &err) == ILK_EAGAIN)
            continue;
        assert_status(ILK_OK, ilk_op_status(ops[i], &err));
        assert_true(ilk_lock_fence(locks[i]) > *fence);
        *fence = ilk_lock_fence(locks[i]);
        give(locks[i]);
        ilk_op_free(ops[i]);
        ops[i] = NULL;
        count++;
    }
    return count;
}

TEST(many_waits_need_no_more_connections)
{
    ilk_client *client = open_etcd();
    ilk_lock *holder = open_lock_with(client, "many", TTL_MS, 0);
    static ilk_lock *locks[MANY];
    static ilk_op *ops[MANY];
    const int64_t deadline = ilk__deadline(patience(60000));
    int64_t fence = 0;
    int sockets = 0;

    take(holder);
    for (int i = 0; i < MANY; i++) {
        locks[i] = open_lock_with(client, "many", TTL_MS, 0);
        assert_status(ILK_OK,
                      ilk_lock_acquire_start(&ops[i], locks[i], -1, 0, &err));
        if (i == 0) {
            turn_until_keys(client, "many/", 2);
            sockets = count_sockets();
        }
    }
    turn_until_keys(client, "many/", MANY + 1);
    /* The client's connection for messages may have come in between. */
    assert_in_range(count_sockets(), sockets, sockets + 2);
    give(holder);
    for (int left = MANY; left; left -= give_granted(ops, locks, &fence)) {
        assert_true(ilk__now_ms() < deadline);
        (void)turn(client, 10);
    }
    for (int i = 0; i < MANY; i++)
        ilk_lock_free(locks[i]);
    ilk_lock_free(holder);
    ilk_client_free(client);
}
