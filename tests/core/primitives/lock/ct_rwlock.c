/* SPDX-License-Identifier: MIT */
/* ct_rwlock.c -- many readers or one writer, first come, first served. */
#include "lock_thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

typedef ilk_status open_side(ilk_lock **, ilk_client *, const void *, size_t,
                             const ilk_lock_opts *, ilk_error *);

static ilk_lock *open_as(open_side *open, ilk_client *client, const char *name,
                         int64_t ttl_ms, uint32_t flags)
{
    ilk_lock_opts opts = {
        .size = sizeof opts, .ttl_ms = ttl_ms, .flags = flags};
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, open(&lock, client, name, strlen(name), &opts, &err));
    return lock;
}

static ilk_lock *open_reader(ilk_client *client, const char *name)
{
    return open_as(ilk_rwlock_read_open, client, name, 0, 0);
}

static ilk_lock *open_writer(ilk_client *client, const char *name)
{
    return open_as(ilk_rwlock_write_open, client, name, 0, 0);
}

/* ---- together, alone ---------------------------------------------------- */

TEST(readers_share_and_a_writer_is_alone)
{
    ilk_client *client = open_client();
    ilk_lock *r1 = open_reader(client, "share"),
             *r2 = open_reader(client, "share");
    ilk_lock *w = open_writer(client, "share");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(r1, 0, &err));
    assert_status(ILK_OK, ilk_lock_acquire(r2, 0, &err));
    assert_true(ilk_lock_fence(r2) > ilk_lock_fence(r1));
    assert_status(ILK_OK, ilk_lock_release(r1, &err));
    assert_status(ILK_EBUSY, ilk_lock_acquire(w, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(r2, &err));
    assert_status(ILK_OK, ilk_lock_acquire(w, 0, &err));
    assert_true(ilk_lock_fence(w) > ilk_lock_fence(r2));
    assert_status(ILK_EBUSY, ilk_lock_acquire(r1, 0, &err));
    ilk_lock_free(r1);
    ilk_lock_free(r2);
    ilk_lock_free(w);
    ilk_client_free(client);
}

TEST(readers_exclude_every_other_locker)
{
    ilk_client *client = open_client();
    ilk_lock *reader = open_reader(client, "plain");
    ilk_lock *plain = open_lock(client, "plain");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(reader, 0, &err));
    assert_status(ILK_EBUSY, ilk_lock_acquire(plain, 0, &err));
    assert_string_equal("(nil)", fixture_command(&fx, "SET plain x NX PX 9"));
    assert_in_range(fixture_int(&fx, "PTTL plain"), 29000, 30000);
    assert_status(ILK_OK, ilk_lock_release(reader, &err));
    assert_status(ILK_OK, ilk_lock_acquire(plain, 0, &err));
    assert_status(ILK_EBUSY, ilk_lock_acquire(reader, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(plain, &err));
    fixture_command(&fx, "SET plain somebody PX 200");
    assert_status(ILK_OK, ilk_lock_acquire(reader, patience(2000), &err));
    ilk_lock_free(reader);
    ilk_lock_free(plain);
    ilk_client_free(client);
}

TEST(sides_that_leave_the_queue_are_refused)
{
    const ilk_lock_opts refused[] = {
        {.size = sizeof *refused, .flags = ILK_LOCK_BARGE},
        {.size = sizeof *refused, .layout = ILK_LAYOUT_REDISSON}};
    ilk_client *client = open_client();
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    for (int i = 0; i < 2; i++) {
        assert_status(ILK_EINVAL, ilk_rwlock_read_open(&lock, client, "no", 2,
                                                       &refused[i], &err));
        assert_status(ILK_EINVAL, ilk_rwlock_write_open(&lock, client, "no", 2,
                                                        &refused[i], &err));
        assert_null(lock);
    }
    ilk_client_free(client);
}

/* ---- the wait queue ----------------------------------------------------- */

static void assert_waiting(const taker *t, int n)
{
    fixture_sleep_ms(30);
    while (n-- > 0)
        assert_false(atomic_load(&t[n].done));
}

/* r | w r r w r: who stands behind a writer waits for him. */
TEST(readers_and_writers_enter_in_their_order)
{
    static const char sides[] = "wrrwr";
    ilk_client *clients[] = {open_client(), open_client()};
    ilk_lock *first = open_reader(clients[0], "line"), *locks[5];
    ilk_error err = {0};
    int64_t at;
    taker t[5];

    assert_status(ILK_OK, ilk_lock_acquire(first, 0, &err));
    for (int i = 0; i < 5; i++) {
        locks[i] = sides[i] == 'w' ? open_writer(clients[i % 2], "line")
                                   : open_reader(clients[i % 2], "line");
        start_taker(&t[i], locks[i], -1);
        await_waiters("line", i + 1);
    }
    assert_waiting(t, 5); /* no reader has overtaken the writer */

    assert_status(ILK_OK, ilk_lock_release(first, &err));
    assert_took(ILK_OK, &t[0]);
    assert_waiting(t + 1, 4);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_release(locks[0], &err));
    assert_took(ILK_OK, &t[1]); /* the two readers together */
    assert_took(ILK_OK, &t[2]);
    assert_on_time(t[2].ended_at - at, 0);
    assert_waiting(t + 3, 2);
    assert_status(ILK_OK, ilk_lock_release(locks[2], &err));
    assert_waiting(t + 3, 2);
    assert_status(ILK_OK, ilk_lock_release(locks[1], &err));
    assert_took(ILK_OK, &t[3]);
    assert_waiting(t + 4, 1);
    assert_status(ILK_OK, ilk_lock_release(locks[3], &err));
    assert_took(ILK_OK, &t[4]);
    for (int i = 1; i < 5; i++)
        assert_true(ilk_lock_fence(locks[i]) > ilk_lock_fence(locks[i - 1]));
    for (int i = 0; i < 5; i++)
        ilk_lock_free(locks[i]);
    ilk_lock_free(first);
    ilk_client_free(clients[0]);
    ilk_client_free(clients[1]);
}

TEST(readers_behind_a_writer_that_gives_up_enter)
{
    ilk_client *client = open_client();
    ilk_lock *first = open_reader(client, "up"), *w = open_writer(client, "up");
    ilk_lock *r = open_reader(client, "up");
    ilk_error err = {0};
    taker tw, tr;
    int64_t at;

    assert_status(ILK_OK, ilk_lock_acquire(first, 0, &err));
    start_taker(&tw, w, -1);
    await_waiters("up", 1);
    start_taker(&tr, r, -1);
    await_waiters("up", 2);
    assert_waiting(&tr, 1);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_lock_cancel(w, &err));
    assert_took(ILK_ECANCELLED, &tw);
    assert_took(ILK_OK, &tr);
    assert_on_time(tr.ended_at - at, 0);
    ilk_lock_free(first);
    ilk_lock_free(w);
    ilk_lock_free(r);
    ilk_client_free(client);
}

/* ---- leases ------------------------------------------------------------- */

TEST(each_reader_has_a_lease_of_its_own)
{
    ilk_client *client = open_client();
    ilk_lock *brief =
        open_as(ilk_rwlock_read_open, client, "own", 600, ILK_LOCK_NO_RENEW);
    ilk_lock *longer =
        open_as(ilk_rwlock_read_open, client, "own", 2400, ILK_LOCK_NO_RENEW);
    ilk_lock *w = open_writer(client, "own");
    ilk_error err = {0};
    int64_t ends;
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(longer, 0, &err));
    assert_status(ILK_OK, ilk_lock_acquire(brief, 0, &err));
    ends = fixture_now_ms() + fixture_int(&fx, "PTTL own");
    start_taker(&t, w, -1);
    fixture_sleep_ms(700);
    assert_int_equal(0, ilk_lock_held(brief));
    assert_int_equal(1, ilk_lock_held(longer));
    assert_status(ILK_ELOST, ilk_lock_release(brief, &err));
    assert_took(ILK_OK, &t);
    assert_in_range(t.ended_at, ends - 2, ends + patience(100));
    assert_status(ILK_ELOST, ilk_lock_release(longer, &err));
    ilk_lock_free(brief);
    ilk_lock_free(longer);
    ilk_lock_free(w);
    ilk_client_free(client);
}

TEST(renewal_keeps_a_reader_in)
{
    ilk_client *client = open_client();
    ilk_lock *r = open_as(ilk_rwlock_read_open, client, "kept", 1500, 0);
    ilk_lock *w = open_writer(client, "kept");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(r, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(w, 2500, &err));
    assert_int_equal(1, ilk_lock_held(r));
    assert_status(ILK_OK, ilk_lock_release(r, &err));
    assert_status(ILK_OK, ilk_lock_acquire(w, 0, &err));
    ilk_lock_free(r);
    ilk_lock_free(w);
    ilk_client_free(client);
}

/* Ends with us, too: then it has nothing more to read. */
static pid_t start_reading_process(const char *name, int64_t ttl_ms)
{
    int ready[2], going[2];
    char byte;
    pid_t pid;

    assert_int_equal(0, pipe(ready) | pipe(going));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        ilk_lock *r =
            open_as(ilk_rwlock_read_open, open_client(), name, ttl_ms, 0);

        close(going[1]);
        if (ilk_lock_acquire(r, 5000, NULL) == ILK_OK
            && write(ready[1], "r", 1) == 1)
            byte = (char)read(going[0], &byte, 1);
        _exit(1);
    }
    close(ready[1]);
    close(going[0]);
    assert_int_equal(1, read(ready[0], &byte, 1));
    close(ready[0]);
    return pid;
}

TEST(killed_reader_is_followed_within_its_lease)
{
    ilk_client *client = open_client();
    ilk_lock *w = open_writer(client, "dead");
    pid_t pids[] = {start_reading_process("dead", 1500),
                    start_reading_process("dead", 1500)};
    int64_t left, at;
    taker t;

    start_taker(&t, w, -1);
    await_waiters("dead", 1);
    kill(pids[0], SIGKILL);
    waitpid(pids[0], NULL, 0);
    fixture_sleep_ms(2500);
    assert_false(atomic_load(&t.done)); /* the other one lives and renews */
    kill(pids[1], SIGKILL);
    waitpid(pids[1], NULL, 0);
    at = fixture_now_ms();
    left = fixture_int(&fx, "PTTL dead");
    assert_took(ILK_OK, &t);
    assert_true(t.ended_at - at <= left + patience(100));
    ilk_lock_free(w);
    ilk_client_free(client);
}

TEST(a_reader_whose_name_is_deleted_learns_it)
{
    ilk_client *client = open_client();
    ilk_lock *r = open_as(ilk_rwlock_read_open, client, "del", 300, 0);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(r, 0, &err));
    fixture_command(&fx, "SET del somebody PX 60000");
    fixture_sleep_ms(350);
    assert_status(ILK_ELOST, ilk_lock_release(r, &err));
    assert_string_equal("somebody", fixture_command(&fx, "GET del"));
    ilk_lock_free(r);
    ilk_client_free(client);
}

/* ---- a storm ------------------------------------------------------------ */

typedef struct guest {
    pthread_t thread;
    ilk_lock *lock;
    int writes, rounds, failures, clashes;
    _Atomic int *readers, *writers, *most_readers;
    ilk_error err;
} guest;

static void visit(guest *g)
{
    _Atomic int *side = g->writes ? g->writers : g->readers;
    int others = atomic_fetch_add(side, 1);

    g->clashes += g->writes && (others || atomic_load(g->readers));
    g->clashes += !g->writes && atomic_load(g->writers);
    if (!g->writes && others + 1 > atomic_load(g->most_readers))
        atomic_store(g->most_readers, others + 1);
    fixture_sleep_ms(1);
    atomic_fetch_sub(side, 1);
}

static void *come_and_go(void *arg)
{
    guest *g = arg;

    for (int i = 0; i < g->rounds && !g->failures; i++) {
        g->failures += ilk_lock_acquire(g->lock, 20000, &g->err) != ILK_OK;
        visit(g);
        g->failures += ilk_lock_release(g->lock, &g->err) != ILK_OK;
    }
    return NULL;
}

TEST(storm_of_readers_and_writers)
{
    ilk_client *clients[] = {open_client(), open_client()};
    _Atomic int readers = 0, writers = 0, most_readers = 0;
    guest guests[12];

    for (int i = 0; i < 12; i++) {
        guests[i] = (guest){.writes = i % 4 == 0,
                            .rounds = 100,
                            .readers = &readers,
                            .writers = &writers,
                            .most_readers = &most_readers};
        guests[i].lock = guests[i].writes
                             ? open_writer(clients[i % 2], "storm")
                             : open_reader(clients[i % 2], "storm");
        pthread_create(&guests[i].thread, NULL, come_and_go, &guests[i]);
    }
    for (int i = 0; i < 12; i++) {
        pthread_join(guests[i].thread, NULL);
        if (guests[i].failures)
            print_error("guest %d: %s\n", i, guests[i].err.msg);
        assert_int_equal(0, guests[i].failures);
        assert_int_equal(0, guests[i].clashes);
        ilk_lock_free(guests[i].lock);
    }
    assert_true(most_readers > 1);
    for (int i = 0; i < 2; i++)
        ilk_client_free(clients[i]);
}
