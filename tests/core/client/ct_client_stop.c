/* SPDX-License-Identifier: MIT */
/* ct_client_stop.c -- a client is stopped: its waits end and its other calls go
 * on. */
#include "election_case.h"
#include "fork_case.h"
#include "lock_thread.h"
#include "many_case.h"
#include "queue_case.h"
#include "semaphore_case.h"
#include "signal_case.h"
#include "state_case.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_error err;

/* ---- every call that waits ---------------------------------------------- */

/* A call that blocks on the name "b" because nobody does what it waits for. */
typedef struct blocking {
    const char *name;
    void (*open)(void);
    ilk_status (*wait)(int64_t timeout_ms, ilk_error *out);
    void (*close)(void);
    const char *waiting, *count; /* a command, and its reply while it waits */
} blocking;

static void *handle, *theirs;
static ilk_job *job;

static void open_held(void)
{
    handle = open_lock(client, "b");
    theirs = open_lock(other, "b");
    assert_status(ILK_OK, ilk_lock_acquire(theirs, 0, &err));
}

static ilk_status wait_lock(int64_t timeout_ms, ilk_error *out)
{
    return ilk_lock_acquire(handle, timeout_ms, out);
}

static void close_lock(void)
{
    ilk_lock_free(handle);
    ilk_lock_free(theirs);
}

static void open_all_held(void)
{
    handle = open_many(client, "a b", 10000);
    theirs = open_lock(other, "b");
    assert_status(ILK_OK, ilk_lock_acquire(theirs, 0, &err));
}

static ilk_status wait_many(int64_t timeout_ms, ilk_error *out)
{
    return ilk_lock_many_acquire(handle, timeout_ms, out);
}

static void close_many(void)
{
    /* It is given back, by a command whose reply nobody awaits. */
    assert_int_equal(0, fixture_await(&fx, "0", 5000, "EXISTS a"));
    ilk_lock_many_free(handle);
    ilk_lock_free(theirs);
}

static void open_taken(void)
{
    handle = open_semaphore(client, "b", 1);
    theirs = open_semaphore(other, "b", 1);
    assert_status(ILK_OK, ilk_semaphore_acquire(theirs, 0, &err));
}

static ilk_status wait_permit(int64_t timeout_ms, ilk_error *out)
{
    return ilk_semaphore_acquire(handle, timeout_ms, out);
}

static void close_semaphore(void)
{
    ilk_semaphore_free(handle);
    ilk_semaphore_free(theirs);
}

static void open_led(void)
{
    handle = open_candidate(client, "b", 0, "mine");
    theirs = open_candidate(other, "b", 0, "theirs");
    assert_status(ILK_OK, ilk_election_campaign(theirs, 0, &err));
}

static ilk_status wait_to_lead(int64_t timeout_ms, ilk_error *out)
{
    return ilk_election_campaign(handle, timeout_ms, out);
}

static void close_election(void)
{
    ilk_election_free(handle);
    ilk_election_free(theirs);
}

static void open_vacant(void)
{
    ilk_observer *observer = NULL;

    theirs = open_candidate(client, "b", 0, "");
    assert_status(ILK_OK, ilk_election_observe(&observer, theirs, 0, &err));
    handle = observer;
}

static ilk_status wait_for_leader(int64_t timeout_ms, ilk_error *out)
{
    ilk_leader *leader = NULL;

    return ilk_observer_next(&leader, handle, timeout_ms, out);
}

static void close_observer(void)
{
    ilk_observer_free(handle);
    ilk_election_free(theirs);
}

static void open_unset(void)
{
    handle = open_event(client, "b");
}

static ilk_status wait_event(int64_t timeout_ms, ilk_error *out)
{
    return ilk_event_wait(handle, timeout_ms, out);
}

static void close_event(void)
{
    ilk_event_free(handle);
}

static void open_counting(void)
{
    handle = open_latch(client, "b", 1);
}

static ilk_status wait_latch(int64_t timeout_ms, ilk_error *out)
{
    return ilk_latch_wait(handle, timeout_ms, out);
}

static void close_latch(void)
{
    ilk_latch_free(handle);
}

static void open_pair(void)
{
    handle = open_barrier(client, "b", 2);
}

static ilk_status wait_barrier(int64_t timeout_ms, ilk_error *out)
{
    return ilk_barrier_wait(handle, timeout_ms, NULL, out);
}

static void close_barrier(void)
{
    ilk_barrier_free(handle);
}

static void open_name(void)
{
    handle = open_signal(client, "b");
}

static void open_pattern(void)
{
    ilk_signal_opts opts;
    ilk_signal *signal = NULL;

    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = ILK_SIGNAL_PATTERN;
    assert_status(ILK_OK,
                  ilk_signal_open(&signal, client, "b*", 2, &opts, &err));
    handle = signal;
}

static ilk_status wait_signal(int64_t timeout_ms, ilk_error *out)
{
    ilk_arrival *arrival = NULL;

    return ilk_signal_wait(&arrival, handle, timeout_ms, out);
}

static void close_signal(void)
{
    ilk_signal_free(handle);
}

static void open_empty(void)
{
    handle = open_queue("b");
}

static ilk_status wait_reserve(int64_t timeout_ms, ilk_error *out)
{
    return ilk_queue_reserve(&job, handle, timeout_ms, 10000, out);
}

static ilk_status wait_pop(int64_t timeout_ms, ilk_error *out)
{
    return ilk_queue_pop(&job, handle, timeout_ms, out);
}

static void close_queue(void)
{
    ilk_queue_free(handle);
}

static const void *const names[] = {"b"};
static const size_t lens[] = {1};

static void open_worker(void)
{
    ilk_worker *worker = NULL;

    assert_status(ILK_OK, ilk_worker_open(&worker, client, names, lens, 1, NULL,
                                          NULL, &err));
    handle = worker;
}

static ilk_status wait_work(int64_t timeout_ms, ilk_error *out)
{
    return ilk_worker_next(&job, handle, timeout_ms, out);
}

static void close_worker(void)
{
    ilk_worker_free(handle);
}

static void open_list(void)
{
    ilk_consumer *consumer = NULL;

    assert_status(ILK_OK,
                  ilk_consumer_open(&consumer, client, names, lens, 1, &err));
    handle = consumer;
}

static ilk_status wait_list(int64_t timeout_ms, ilk_error *out)
{
    ilk_items *items = NULL;

    return ilk_consumer_pop(&items, handle, timeout_ms, out);
}

static void close_consumer(void)
{
    ilk_consumer_free(handle);
}

static void open_channel(void)
{
    ilk_listener *listener = NULL;

    assert_status(ILK_OK,
                  ilk_listener_open(&listener, client, "b", 1, NULL, 0, &err));
    handle = listener;
}

static ilk_status wait_channel(int64_t timeout_ms, ilk_error *out)
{
    ilk_items *items = NULL;

    return ilk_listener_wait(&items, handle, timeout_ms, out);
}

static void close_listener(void)
{
    ilk_listener_free(handle);
}

#define QUEUED(kind) "ZCARD ilk:" kind ":wait:{b}", "1"

static const blocking rows[] = {
    {"lock", open_held, wait_lock, close_lock, QUEUED("lock")},
    {"many", open_all_held, wait_many, close_many, QUEUED("lock")},
    {"semaphore", open_taken, wait_permit, close_semaphore,
     QUEUED("semaphore")},
    {"election", open_led, wait_to_lead, close_election, QUEUED("election")},
    {"observer", open_vacant, wait_for_leader, close_observer,
     "ZCARD ilk:election:seen:{b}", "1"},
    {"event", open_unset, wait_event, close_event, QUEUED("event")},
    {"latch", open_counting, wait_latch, close_latch, QUEUED("latch")},
    {"barrier", open_pair, wait_barrier, close_barrier, QUEUED("barrier")},
    {"signal", open_name, wait_signal, close_signal, QUEUED("signal")},
    {"pattern", open_pattern, wait_signal, close_signal, "PUBSUB NUMPAT", "1"},
    {"reserve", open_empty, wait_reserve, close_queue, QUEUED("queue")},
    {"pop", open_empty, wait_pop, close_queue, QUEUED("queue")},
    {"worker", open_worker, wait_work, close_worker, QUEUED("queue")},
    {"consumer", open_list, wait_list, close_consumer,
     "EVAL return(tonumber(redis.call('INFO','clients')"
     ":match('blocked_clients:(%d+)'))) 0",
     "1"},
    {"listener", open_channel, wait_channel, close_listener,
     "EVAL return(redis.call('PUBSUB','NUMSUB','b')[2]) 0", "1"},
};

#define EACH(r)                                                                \
    const blocking *r = rows;                                                  \
    r < rows + sizeof rows / sizeof *rows && (row_name = r->name);             \
    r++

typedef struct call {
    const blocking *row;
    pthread_t thread;
    ilk_status status;
    ilk_error err;
    _Atomic int has_ended;
} call;

static void *run(void *context)
{
    call *c = context;

    c->status = c->row->wait(-1, &c->err);
    c->has_ended = 1;
    return NULL;
}

static void assert_stopped(ilk_status status, const ilk_error *of)
{
    assert_int_equal(ILK_ECANCELLED, status);
    assert_string_equal("the client is stopped", of->msg);
}

static void no_longer_waits(const blocking *r)
{
    assert_int_equal(0, fixture_await(&fx, "0", 10000, "%s", r->waiting));
}

static void close_row(const blocking *r)
{
    r->close();
    no_longer_waits(r);
    ilk_client_resume(client);
    server_flush();
}

/* The wait is in a thread of its own, and the server knows it. */
static void open_and_wait(call *c)
{
    const blocking *r = c->row;

    r->open();
    assert_int_equal(0, pthread_create(&c->thread, NULL, run, c));
    assert_int_equal(0, fixture_await(&fx, r->count, 10000, "%s", r->waiting));
}

/* The server may know of a wait whose thread does not sleep yet, and an interrupt ends
 * only waits that do. */
static void interrupt_until_it_ends(const call *c)
{
    const int64_t until = fixture_now_ms() + patience(10000);

    do {
        ilk_client_interrupt(client);
        fixture_sleep_ms(10);
    } while (!c->has_ended && fixture_now_ms() < until);
}

TEST(a_stop_ends_a_wait_that_is_under_way)
{
    for (EACH(r)) {
        call c = {.row = r};

        open_and_wait(&c);

        ilk_client_stop(client);

        join_soon(c.thread, r->name);
        assert_stopped(c.status, &c.err);
        if (r->close != close_listener) /* it subscribes until it is freed */
            no_longer_waits(r);
        close_row(r);
    }
}

TEST(a_stop_before_a_wait_is_not_lost)
{
    for (EACH(r)) {
        call c = {.row = r};

        r->open();
        ilk_client_stop(client);
        assert_int_equal(0, pthread_create(&c.thread, NULL, run, &c));
        join_soon(c.thread, r->name);
        assert_stopped(c.status, &c.err);
        ilk_client_resume(client);
        assert_int_equal(ILK_ETIMEOUT, r->wait(50, &err));
        close_row(r);
    }
}

TEST(a_stop_after_an_interrupt_gives_the_place_up)
{
    for (EACH(r)) {
        call c = {.row = r};

        open_and_wait(&c);
        interrupt_until_it_ends(&c);
        join_soon(c.thread, r->name);
        assert_int_equal(ILK_EINTR, c.status);

        ilk_client_stop(client);

        assert_stopped(r->wait(-1, &err), &err);
        close_row(r);
    }
}

/* ---- what still works --------------------------------------------------- */

TEST(a_stopped_client_ends_in_good_order)
{
    ilk_lock *held = open_lock(client, "held"), *free = open_lock(client, "f");
    ilk_semaphore *permit = open_semaphore(client, "p", 2);
    ilk_election *leader = open_candidate(client, "e", 0, "me");
    ilk_queue *queue = open_queue("q");

    push(queue, "message");
    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(permit, 0, &err));
    assert_status(ILK_OK, ilk_election_campaign(leader, 0, &err));
    job = reserve(queue, 0, 10000);
    ilk_client_stop(client);

    assert_status(ILK_OK, ilk_client_ping(client, -1, &err));
    assert_status(ILK_OK, ilk_lock_extend(held, 20000, &err));
    assert_status(ILK_OK, ilk_lock_check(held, &err));
    assert_stopped(ilk_lock_acquire(free, 1000, &err), &err);
    assert_status(ILK_OK, ilk_lock_acquire(free, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(free, &err));
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_status(ILK_OK, ilk_semaphore_release(permit, &err));
    assert_status(ILK_OK, ilk_election_campaign(leader, -1, &err)); /* leads */
    assert_status(ILK_OK, ilk_election_resign(leader, &err));
    assert_status(ILK_OK, ilk_job_ack(job, &err));
    push(queue, "another");
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_READY));
    ilk_job_free(job);
    ilk_lock_free(held);
    ilk_lock_free(free);
    ilk_semaphore_free(permit);
    ilk_election_free(leader);
    ilk_queue_free(queue);
}

TEST(done_messages_are_acknowledged_when_nothing_is_reserved)
{
    ilk_queue *queue = open_queue("q");
    ilk_batch *done = NULL, *next = NULL;

    push(queue, "1");
    push(queue, "2");
    assert_status(
        ILK_OK, ilk_queue_reserve_many(&done, queue, 1, 0, 10000, NULL, &err));
    ilk_client_stop(client);

    assert_stopped(
        ilk_queue_reserve_many(&next, queue, 1, -1, 10000, done, &err), &err);

    assert_null(next);
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_TAKEN));
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_READY));
    ilk_batch_free(done);
    ilk_queue_free(queue);
}

TEST(a_worker_of_a_stopped_client_gives_the_rest_back)
{
    ilk_queue *queue = open_queue("b");
    ilk_worker_opts opts;
    ilk_worker *worker = NULL;

    for (int i = 0; i < 3; i++)
        push(queue, "work");
    ilk_worker_opts_init(&opts, sizeof opts);
    opts.batch = 3;
    assert_status(ILK_OK, ilk_worker_open(&worker, client, names, lens, 1, NULL,
                                          &opts, &err));
    assert_status(ILK_OK, ilk_worker_next(&job, worker, -1, &err));
    ilk_job_free(job);
    assert_status(ILK_OK, ilk_worker_done(worker, &err));
    ilk_client_stop(client);

    assert_stopped(ilk_worker_next(&job, worker, -1, &err), &err);
    assert_status(ILK_OK, ilk_worker_finish(worker, &err));

    assert_int_equal(2, count_of(queue, ILK_QUEUE_N_READY));
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_TAKEN));
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

/* ---- signal handlers ---------------------------------------------------- */

enum { ROUNDS = 300, SPIN_MOST = 50000 };

static atomic_int round_began, signals;
static volatile sig_atomic_t quit;
static pthread_t waiting_thread;

static void on_signal(int number)
{
    (void)number;
    quit = 1;
    ilk_client_stop(client);
    atomic_fetch_add(&signals, 1);
}

/* Work for a random time. */
static void work(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    for (volatile unsigned n = (*seed >> 8) % SPIN_MOST; n > 0; n--)
        continue;
}

/* One signal in each round, at a moment before the wait or in it. */
static void *send_signals(void *context)
{
    unsigned seed = 1;

    (void)context;
    for (int i = 1; i <= ROUNDS; i++) {
        while (atomic_load(&round_began) < i)
            continue;
        work(&seed);
        work(&seed);
        pthread_kill(waiting_thread, SIGUSR1);
    }
    return NULL;
}

/*
 * The loop of a program that ends on a signal: test, work, wait. A signal
 * between the test and the wait would let the wait go on for ever, if what its
 * handler does applied only to waits that have begun.
 */
TEST(a_handler_may_run_at_any_moment)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction before;
    pthread_t sender;
    unsigned seed = 2;

    open_held();
    waiting_thread = pthread_self();
    sigaction(SIGUSR1, &action, &before);
    assert_int_equal(0, pthread_create(&sender, NULL, send_signals, NULL));
    for (int i = 1; i <= ROUNDS; i++) {
        ilk_status st = ILK_OK;

        quit = 0;
        atomic_store(&round_began, i);
        while (!quit && (st == ILK_OK || st == ILK_EINTR)) {
            work(&seed);
            st = ilk_lock_acquire(handle, 30000, &err);
        }
        assert_int_not_equal(ILK_ETIMEOUT, st);
        while (atomic_load(&signals) < i)
            fixture_sleep_ms(0);
        ilk_client_resume(client);
    }
    pthread_join(sender, NULL);
    sigaction(SIGUSR1, &before, NULL);
    close_lock();
    await_waiters("b", 0);
}

/* ---- fork --------------------------------------------------------------- */

static void expect_wait(ilk_status expected)
{
    ilk_lock *lock = NULL;

    demand(ilk_lock_open(&lock, client, "b", 1, NULL, NULL) == ILK_OK);
    demand(ilk_lock_acquire(lock, 60, NULL) == expected);
    ilk_lock_free(lock);
}

TEST(a_child_starts_without_the_stop_of_its_parent)
{
    pid_t pid;

    open_held();
    ilk_client_stop(client);
    pid = fork_now();
    if (pid == 0) {
        demand(!ilk_client_stopped(client));
        demand(ilk_client_reopen(client, NULL) == ILK_OK);
        demand(!ilk_client_stopped(client));
        expect_wait(ILK_ETIMEOUT);
        ilk_client_stop(client);
        expect_wait(ILK_ECANCELLED);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_true(ilk_client_stopped(client));
    assert_stopped(ilk_lock_acquire(handle, -1, &err), &err);
    close_lock();
}

TEST(a_stop_in_a_child_is_kept_by_reopen)
{
    open_held();
    for (int stopped_before = 0; stopped_before < 2; stopped_before++) {
        pid_t pid = fork_now();

        if (pid == 0) {
            ilk_client_stop(client);
            demand(ilk_client_stopped(client));
            demand(ilk_client_reopen(client, NULL) == ILK_OK);
            expect_wait(ILK_ECANCELLED);
            ilk_client_resume(client);
            expect_wait(ILK_ETIMEOUT);
            _exit(0);
        }
        assert_ends_well(pid);
        ilk_client_stop(client);
    }
    close_lock();
}

static int setup(void)
{
    job = NULL;
    handle = theirs = NULL;
    if (server_flush() != 0)
        return -1;
    client = open_client();
    other = open_client();
    return 0;
}

static int teardown(void)
{
    row_name = NULL;
    ilk_client_free(client);
    ilk_client_free(other);
    client = other = NULL;
    return 0;
}

AROUND_EACH(setup, teardown);
