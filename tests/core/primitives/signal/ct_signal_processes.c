/* SPDX-License-Identifier: MIT */
/*
 * ct_signal_processes.c -- signals between processes that come, go and die:
 * each signal that was counted as delivered was received by exactly one. Where
 * processes are killed, another one may receive it again, because a process may be
 * killed when it has the signal, and the server not yet its acknowledgement.
 */
#include "signal_case.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 5, THREADS = 10, SIGNALS = 10000, GIVERS = 2, KILLS = 10 };

/* Shared by all processes. */
typedef struct board {
    _Atomic int stop, failures, running;
    _Atomic int heard[SIGNALS];
    _Atomic pid_t by[SIGNALS]; /* the process that received it first */
} board;

static board *shared;
static int how_many;   /* fewer where everything is slow */
static int longest_ms; /* of a wait: not over before a slow round trip is */

static int setup(void)
{
    how_many = patience(1) > 1 ? SIGNALS / 10 : SIGNALS;
    longest_ms = patience(1) > 1 ? 200 : 20;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : fixture_start(&fx, NULL);
}

static int teardown(void)
{
    munmap(shared, sizeof *shared);
    return fixture_stop(&fx);
}

AROUND_ALL(setup, teardown);

static int clear(void)
{
    fixture_command(&fx, "FLUSHALL");
    memset(shared, 0, sizeof *shared);
    return 0;
}

AROUND_EACH(clear, NULL);

/* ---- processes that wait ------------------------------------------------ */

typedef struct crew {
    ilk_client *client;
    unsigned seed;
} crew;

static void note(const ilk_arrival *arrival)
{
    int number = atoi(ilk_arrival_data(arrival, 0, NULL));
    pid_t nobody = 0;

    if (number >= 0 && number < SIGNALS) {
        atomic_compare_exchange_strong(&shared->by[number], &nobody, getpid());
        atomic_fetch_add(&shared->heard[number], 1);
    } else {
        atomic_fetch_add(&shared->failures, 1);
    }
}

/* Short waits: many end while a signal is on its way to them. */
static void *come_and_go(void *arg)
{
    const crew *self = arg;
    unsigned seed = self->seed;
    ilk_signal *signal = NULL;
    ilk_error err = {0};

    ilk_signal_open(&signal, self->client, "work", 4, NULL, &err);
    atomic_fetch_add(&shared->running, 1);
    while (!atomic_load(&shared->stop)) {
        ilk_arrival *arrival = NULL;
        ilk_status st = ilk_signal_wait(&arrival, signal,
                                        1 + rand_r(&seed) % longest_ms, &err);

        if (st == ILK_OK) {
            note(arrival);
        } else if (st != ILK_ETIMEOUT && st != ILK_ECONN) {
            /* ILK_ECONN: a busy server may not have replied in so short a time. */
            fprintf(stderr, "wait: %s: %s\n", ilk_status_name(st), err.msg);
            atomic_fetch_add(&shared->failures, 1);
        }
        ilk_arrival_free(arrival);
        if (rand_r(&seed) % 50 == 0)
            fixture_sleep_ms(rand_r(&seed) % 5);
    }
    ilk_signal_free(signal);
    return NULL;
}

static void process_main(unsigned seed)
{
    pthread_t threads[THREADS];
    crew crews[THREADS];
    ilk_client *client = NULL;

    if (ilk_client_open(&client, fx.unix_url, NULL, NULL))
        _exit(1);
    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] = (crew){.client = client, .seed = seed * 1000 + i};
        pthread_create(&threads[i], NULL, come_and_go, &crews[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ilk_client_free(client);
    _exit(0);
}

static pid_t start_process(unsigned seed)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        process_main(seed);
    return pid;
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* ---- givers ------------------------------------------------------------- */

typedef struct giver_thread {
    pthread_t thread;
    int from, to;
    int nobody, unreached;
    ilk_status status;
    ilk_error err;
} giver_thread;

/* Each number until it has reached one. */
static void *give_numbers(void *arg)
{
    giver_thread *self = arg;
    int64_t until = fixture_now_ms() + patience(60000);
    ilk_client *client = NULL;
    ilk_signal *signal = NULL;
    char text[16];

    self->status = ilk_client_open(&client, fx.unix_url, NULL, &self->err);
    if (!self->status)
        self->status =
            ilk_signal_open(&signal, client, "work", 4, NULL, &self->err);
    for (int i = self->from; i < self->to && !self->status; i++) {
        int len = snprintf(text, sizeof text, "%d", i);
        int64_t reached = 0;

        while (!reached && !self->status && fixture_now_ms() < until) {
            self->status = ilk_signal_notify_one(&reached, signal, text,
                                                 (size_t)len, &self->err);
            self->nobody += reached == 0;
        }
        self->unreached += reached == 0;
    }
    ilk_signal_free(signal);
    ilk_client_free(client);
    return NULL;
}

static void start_givers(giver_thread givers[GIVERS])
{
    memset(givers, 0, GIVERS * sizeof *givers);
    for (int i = 0; i < GIVERS; i++) {
        givers[i].from = i * how_many / GIVERS;
        givers[i].to = (i + 1) * how_many / GIVERS;
        pthread_create(&givers[i].thread, NULL, give_numbers, &givers[i]);
    }
}

static void join_givers(giver_thread givers[GIVERS])
{
    for (int i = 0; i < GIVERS; i++) {
        ilk_error err;

        pthread_join(givers[i].thread, NULL);
        err = givers[i].err;
        assert_status(ILK_OK, givers[i].status);
        assert_int_equal(0, givers[i].unreached);
    }
}

static void count_heard(int *out_never, int *out_twice)
{
    *out_never = *out_twice = 0;
    for (int i = 0; i < how_many; i++) {
        *out_never += shared->heard[i] == 0;
        *out_twice += shared->heard[i] > 1;
    }
}

/* Wait until signals that are on their way have arrived. */
static void await_heard(void)
{
    int64_t until = fixture_now_ms() + patience(10000);
    int never, twice;

    while (count_heard(&never, &twice), never > 0 && fixture_now_ms() < until)
        fixture_sleep_ms(5);
}

/* Wait until nothing has arrived for a while, where some never will. */
static void await_silence(void)
{
    int before = -1, never, twice;

    while (count_heard(&never, &twice), never != before) {
        before = never;
        fixture_sleep_ms((int)patience(100));
    }
}

/* ---- tests -------------------------------------------------------------- */

TEST(each_signal_is_received_exactly_once)
{
    giver_thread givers[GIVERS];
    pid_t pids[PROCESSES];
    int64_t began = fixture_now_ms();
    int never, twice;

    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = start_process(i + 1);
    start_givers(givers);
    join_givers(givers);
    await_heard();
    atomic_store(&shared->stop, 1);
    for (int i = 0; i < PROCESSES; i++)
        reap(pids[i]);

    count_heard(&never, &twice);
    print_message("%d signals to %d waiters in %lld ms\n", how_many,
                  PROCESSES * THREADS, (long long)(fixture_now_ms() - began));
    assert_int_equal(0, shared->failures);
    assert_int_equal(PROCESSES * THREADS, shared->running);
    assert_int_equal(0, twice);
    assert_int_equal(0, never);
    await_waits("work", 0);
}

/* How many were received more than once although the first receiver lives, or more
 * than twice. */
static int heard_in_vain(const pid_t killed[KILLS])
{
    int count = 0;

    for (int i = 0; i < how_many; i++) {
        int first_was_killed = 0;

        for (int k = 0; k < KILLS; k++)
            first_was_killed |= shared->by[i] == killed[k];
        count += shared->heard[i] > 1 + first_was_killed;
    }
    return count;
}

TEST(where_processes_are_killed_only_theirs_is_received_again)
{
    giver_thread givers[GIVERS];
    pid_t pids[PROCESSES], killed[KILLS];
    int never, twice;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = start_process(i + 1);
    start_givers(givers);
    for (unsigned i = 0; i < KILLS; i++) {
        fixture_sleep_ms(100);
        killed[i] = pids[i % PROCESSES];
        kill(killed[i], SIGKILL);
        reap(killed[i]);
        pids[i % PROCESSES] = start_process(100 + i);
    }
    join_givers(givers);
    await_silence();
    atomic_store(&shared->stop, 1);
    for (int i = 0; i < PROCESSES; i++)
        reap(pids[i]);

    count_heard(&never, &twice);
    print_message("of %d signals %d lost with the killed, %d heard again\n",
                  how_many, never, twice);
    assert_int_equal(0, shared->failures);
    assert_int_equal(0, heard_in_vain(killed));
    /* a killed process had at most one for each of its threads */
    assert_in_range(never, 0, KILLS * THREADS);
    assert_in_range(twice, 0, KILLS * THREADS);
}

static pid_t start_idler(const char *name, int threads)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        ilk_client *client = open_client();
        static hearing l[THREADS];
        static ilk_signal *signals[THREADS];

        for (int i = 0; i < threads; i++) {
            signals[i] = open_signal(client, name);
            start_hearing(&l[i], LISTEN_ANY, &signals[i], 1, -1);
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(l[i].thread, NULL);
            atomic_fetch_add(&shared->heard[0], l[i].status == ILK_OK);
        }
        _exit(0);
    }
    return pid;
}

TEST(the_killed_are_not_counted)
{
    ilk_client *client = open_client();
    ilk_signal *give = open_signal(client, "dead");
    pid_t dead, alive;

    dead = start_idler("dead", 3);
    alive = start_idler("dead", 2);
    await_waits("dead", 5);
    kill(dead, SIGKILL);
    reap(dead);
    assert_int_equal(0, fixture_await(&fx, "1", 5000, "EVAL %s 0",
                                      "return#redis.call('PUBSUB','CHANNELS',"
                                      "'ilk:inbox:*')"));

    assert_int_equal(2, report_all(give, "x"));

    reap(alive);
    assert_int_equal(2, shared->heard[0]);
    await_waits("dead", 0);
    ilk_signal_free(give);
    ilk_client_free(client);
}

TEST(a_signal_passes_over_the_killed)
{
    ilk_client *client = open_client();
    ilk_signal *give = open_signal(client, "over");
    pid_t dead, alive;

    dead = start_idler("over", 1);
    await_waits("over", 1);
    alive = start_idler("over", 1);
    await_waits("over", 2);
    kill(dead, SIGKILL);
    reap(dead);
    assert_int_equal(0, fixture_await(&fx, "1", 5000, "EVAL %s 0",
                                      "return#redis.call('PUBSUB','CHANNELS',"
                                      "'ilk:inbox:*')"));

    assert_int_equal(1, tell_one(give, "x"));
    assert_int_equal(0, tell_one(give, "y"));

    reap(alive);
    assert_int_equal(1, shared->heard[0]);
    ilk_signal_free(give);
    ilk_client_free(client);
}

TEST(a_frozen_process_receives_when_it_thaws)
{
    ilk_client *client = open_client();
    ilk_signal *give = open_signal(client, "ice");
    pid_t frozen;

    frozen = start_idler("ice", 2);
    await_waits("ice", 2);
    kill(frozen, SIGSTOP);

    assert_int_equal(1, tell_one(give, "one"));
    assert_int_equal(1, report_all(give, "all"));
    assert_int_equal(0, shared->heard[0]);
    kill(frozen, SIGCONT);

    reap(frozen);
    assert_int_equal(2, shared->heard[0]);
    ilk_signal_free(give);
    ilk_client_free(client);
}
