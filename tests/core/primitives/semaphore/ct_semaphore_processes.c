/* SPDX-License-Identifier: MIT */
/*
 * ct_semaphore_processes.c -- holders and waiters that die or freeze.
 *
 * Many processes take and give back while the test kills and stops them. A
 * witness of the test's own, a zset in the server, has an entry for each
 * permit that a process is sure to hold, until when it is sure by the
 * server's clock; it never has more than the limit that are in force.
 */
#include "semaphore_case.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

enum {
    LIMIT = 4,
    TTL = 500,
    PROCESSES = 32,
    TURNS = OFTEN(200),
    FAULTS = OFTEN(60)
};

/* ---- the crowd ---------------------------------------------------------- */

/* Shared by the processes; a killed one's successor goes on with its count. */
typedef struct crowd {
    _Atomic int turns[PROCESSES];
    _Atomic int inside[PROCESSES];
    _Atomic int lost, too_many, errors;
} crowd;

static crowd *all;

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Enter the permits as in force until `until`; answers how many are then.
 * The clock is read before the time left, so whoever is stopped in between
 * claims less than it has, never more.
 */
static const char enter_script[] =
    "local t = redis.call('TIME') "
    "local now = t[1] * 1000 + math.floor(t[2] / 1000) "
    "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now) "
    "for i = 1, ARGV[3] do "
    "  redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. i) end "
    "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now) "
    "if redis.call('SADD', KEYS[2], ARGV[2]) == 0 then return 1000000 end "
    "return redis.call('ZCARD', KEYS[1])";

static int64_t enter_witness(const ilk_semaphore *s, int32_t permits)
{
    char until[32], fence[32], count[16];
    int64_t now = wall_ms(), sure = now + ilk_semaphore_remaining_ms(s);

    snprintf(until, sizeof until, "%lld", (long long)sure);
    snprintf(fence, sizeof fence, "%lld", (long long)ilk_semaphore_fence(s));
    snprintf(count, sizeof count, "%d", (int)permits);
    return strtoll(fixture_call(&fx, "EVAL", enter_script, "2", "witness",
                                "fences", until, fence, count, (char *)NULL),
                   NULL, 10);
}

static void leave_witness(const ilk_semaphore *s, int32_t permits)
{
    for (int i = 1; i <= permits; i++) {
        char member[48];

        snprintf(member, sizeof member, "%lld %d",
                 (long long)ilk_semaphore_fence(s), i);
        fixture_call(&fx, "ZREM", "witness", member, (char *)NULL);
    }
}

static int turn(ilk_semaphore *s, int index, unsigned *seed)
{
    int32_t permits = 1 + index % 3; /* a third of them wants three */
    ilk_error err = {0};
    ilk_status st = ilk_semaphore_acquire(s, 60000, &err);

    if (st) {
        fprintf(stderr, "crowd: %s: %s\n", ilk_status_name(st), err.msg);
        atomic_fetch_add(&all->errors, 1);
        return 0;
    }
    if (enter_witness(s, permits) > LIMIT)
        atomic_fetch_add(&all->too_many, 1);
    atomic_store(&all->inside[index], 1);
    if (rand_r(seed) % 4 == 0)
        usleep((useconds_t)(rand_r(seed) % 2000));
    atomic_store(&all->inside[index], 0);
    leave_witness(s, permits);
    st = ilk_semaphore_release(s, &err);
    if (st == ILK_ELOST || st == ILK_ENOTOWNER)
        atomic_fetch_add(&all->lost, 1);
    else if (st)
        atomic_fetch_add(&all->errors, 1);
    return 1;
}

static pid_t start_process(int index, unsigned seed)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        ilk_client *client = open_client();
        ilk_semaphore *s =
            open_semaphore_with(client, "crowd", LIMIT, 1 + index % 3, TTL, 0);

        while (atomic_load(&all->turns[index]) < TURNS && turn(s, index, &seed))
            atomic_fetch_add(&all->turns[index], 1);
        ilk_semaphore_free(s);
        ilk_client_free(client);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static int is_done(int index)
{
    return atomic_load(&all->turns[index]) >= TURNS
           || atomic_load(&all->errors);
}

/* Anybody, or one that holds, if there is one within 20 ms. */
static int choose(unsigned *seed, int holds)
{
    int64_t until = fixture_now_ms() + 20;
    int victim;

    do
        victim = rand_r(seed) % PROCESSES;
    while (holds && !atomic_load(&all->inside[victim])
           && fixture_now_ms() < until);
    return victim;
}

/* Every other fault kills, and the victim has a successor. */
static void disturb(pid_t *pids, unsigned *seed, int nth)
{
    int victim = choose(seed, nth % 4 < 2);

    if (is_done(victim))
        return;
    if (nth % 2) {
        kill(pids[victim], SIGSTOP);
        fixture_sleep_ms(rand_r(seed) % 900); /* up to almost two leases */
        kill(pids[victim], SIGCONT);
        return;
    }
    kill(pids[victim], SIGKILL);
    reap(pids[victim]);
    pids[victim] = start_process(victim, (unsigned)rand_r(seed));
    fixture_sleep_ms(rand_r(seed) % 50);
}

static void await_all(const pid_t *pids)
{
    for (int i = 0; i < PROCESSES; i++)
        reap(pids[i]);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(TURNS, atomic_load(&all->turns[i]));
}

TEST(permits_never_exceed_the_limit_in_a_crowd_that_is_killed)
{
    unsigned seed = (unsigned)time(NULL);
    pid_t pids[PROCESSES];
    ilk_client *client;
    ilk_semaphore *whole;
    ilk_error err = {0};
    int64_t began = fixture_now_ms(), at;

    print_message("seed %u\n", seed);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start_process(i, seed + (unsigned)i);
    for (int i = 0; i < FAULTS; i++) {
        disturb(pids, &seed, i);
        assert_true(permits_taken("crowd") <= LIMIT);
    }
    await_all(pids);
    print_message("%d turns of %d processes in %lld ms, %d lost\n", TURNS,
                  PROCESSES, (long long)(fixture_now_ms() - began),
                  atomic_load(&all->lost));

    assert_int_equal(0, atomic_load(&all->too_many));
    assert_int_equal(0, atomic_load(&all->errors));
    client = open_client();
    whole = open_semaphore_with(client, "crowd", LIMIT, LIMIT, 0, 0);
    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_semaphore_acquire(whole, patience(10000), &err));
    assert_true(fixture_now_ms() - at <= TTL + patience(200));
    assert_int_equal(LIMIT, permits_taken("crowd"));
    ilk_semaphore_free(whole);
    ilk_client_free(client);
    munmap(all, sizeof *all);
}

/* ---- one by one --------------------------------------------------------- */

/* A process that acquires this many permits, reports it, and sleeps. */
static pid_t start_holder(const char *name, int32_t permits, int64_t ttl_ms)
{
    int told[2];
    char byte;
    pid_t pid;

    assert_int_equal(0, pipe(told));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        ilk_client *client = open_client();
        ilk_semaphore *s =
            open_semaphore_with(client, name, LIMIT, permits, ttl_ms, 0);

        if (ilk_semaphore_acquire(s, 0, NULL) || write(told[1], "h", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(told[1]);
    assert_int_equal(1, read(told[0], &byte, 1));
    close(told[0]);
    return pid;
}

TEST(killed_holders_permits_come_back_within_their_lease)
{
    pid_t pid = start_holder("killed", 3, 1000);
    ilk_client *client = open_client();
    ilk_semaphore *s = open_semaphore_with(client, "killed", LIMIT, 4, 0, 0);
    ilk_error err = {0};
    int64_t at = fixture_now_ms();

    kill(pid, SIGKILL);
    reap(pid);

    assert_status(ILK_OK, ilk_semaphore_acquire(s, patience(10000), &err));

    assert_in_range(fixture_now_ms() - at, 300, 1000 + patience(150));
    assert_int_equal(4, permits_taken("killed"));
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

TEST(frozen_holder_is_replaced_and_takes_nothing_back)
{
    pid_t pid = start_holder("frozen", 3, 600);
    ilk_client *client = open_client();
    ilk_semaphore *s = open_semaphore_with(client, "frozen", LIMIT, 4, 0, 0);
    ilk_error err = {0};

    kill(pid, SIGSTOP);
    assert_status(ILK_OK, ilk_semaphore_acquire(s, patience(10000), &err));
    kill(pid, SIGCONT);
    fixture_sleep_ms(500); /* it would renew several times */

    assert_status(ILK_OK, ilk_semaphore_extend(s, 0, &err));
    assert_int_equal(4, permits_taken("frozen"));
    kill(pid, SIGKILL);
    reap(pid);
    ilk_semaphore_free(s);
    ilk_client_free(client);
}
