/* SPDX-License-Identifier: MIT */
/* ct_queue_wait.c -- consumers that wait, and what ends that. */
#include "queue_case.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

enum { THREADS = 8 };

/* One thread in a call. */
typedef struct consumer {
    pthread_t thread;
    ilk_queue *queue;
    int64_t timeout_ms, took_ms, lease_ms;
    int again; /* call again after ILK_EINTR */
    _Atomic int interrupted;
    ilk_job *job;
    ilk_status status;
    ilk_error err;
} consumer;

static void *consume(void *arg)
{
    consumer *c = arg;
    int64_t began = fixture_now_ms();

    do {
        c->status = ilk_queue_reserve(&c->job, c->queue, c->timeout_ms,
                                      c->lease_ms, &c->err);
        c->interrupted += c->status == ILK_EINTR;
    } while (c->again && c->status == ILK_EINTR);
    c->took_ms = fixture_now_ms() - began;
    return NULL;
}

static void start(consumer *c, ilk_queue *queue, int64_t timeout_ms)
{
    memset(c, 0, sizeof *c);
    c->queue = queue;
    c->timeout_ms = timeout_ms;
    assert_int_equal(0, pthread_create(&c->thread, NULL, consume, c));
}

static void join(consumer *c)
{
    assert_int_equal(0, pthread_join(c->thread, NULL));
}

TEST(blocked_consumer_wakes_at_once)
{
    ilk_queue *queue = open_queue("mail");
    int64_t began;
    consumer c;

    start(&c, queue, -1);
    await_consumers("mail", 1);
    began = fixture_now_ms();
    push(queue, "a");
    join(&c);

    assert_int_equal(ILK_OK, c.status);
    assert_data(c.job, "a");
    assert_in_range(fixture_now_ms() - began, 0, patience(50));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:queue:wait:{mail}"));
    ack(c.job);
    ilk_queue_free(queue);
}

TEST(wait_ends_on_time)
{
    ilk_queue *queue = open_queue("mail");
    consumer c;

    start(&c, queue, 300);
    join(&c);

    assert_int_equal(ILK_ETIMEOUT, c.status);
    assert_null(c.job);
    assert_on_time(c.took_ms, 300);
    await_consumers("mail", 0);
    ilk_queue_free(queue);
}

TEST(each_message_wakes_one_of_many)
{
    ilk_queue *queue = open_queue("mail");
    consumer c[THREADS];
    int got = 0;

    for (int i = 0; i < THREADS; i++)
        start(&c[i], queue, patience(10000));
    await_consumers("mail", THREADS);
    push(queue, "a");
    await_consumers("mail", THREADS - 1);
    push(queue, "b");
    await_consumers("mail", THREADS - 2);
    assert_int_equal(0, fixture_await(&fx, "2", (int)patience(2000),
                                      "HLEN ilk:queue:flight:{mail}"));
    assert_int_equal(ILK_OK, ilk_queue_cancel(queue, NULL));

    for (int i = 0; i < THREADS; i++) {
        join(&c[i]);
        got += c[i].status == ILK_OK;
        if (c[i].status != ILK_OK)
            assert_int_equal(ILK_ECANCELLED, c[i].status);
        else
            ack(c[i].job);
    }
    assert_int_equal(2, got);
    ilk_queue_free(queue);
}

TEST(lease_that_ends_wakes_a_waiter)
{
    ilk_queue *queue = open_queue("mail");
    ilk_job *late;
    ilk_error err = {0};
    consumer c;

    push(queue, "a");
    late = reserve(queue, 0, 300);
    start(&c, queue, 5000);
    join(&c);

    assert_int_equal(ILK_OK, c.status);
    assert_in_range(c.took_ms, 200, patience(600));
    assert_int_equal(2, ilk_job_attempts(c.job));
    assert_status(ILK_ELOST, ilk_job_ack(late, &err));
    ack(c.job);
    ilk_job_free(late);
    ilk_queue_free(queue);
}

TEST(short_delay_reaches_those_who_wait_already)
{
    ilk_queue *queue = open_queue("mail");
    ilk_push_opts opts;
    consumer c;

    ilk_push_opts_init(&opts, sizeof opts);
    opts.delay_ms = 200;
    start(&c, queue, 5000);
    await_consumers("mail", 1);
    assert_int_equal(ILK_OK, ilk_queue_push(NULL, queue, "a", 1, &opts, NULL));
    join(&c);

    assert_int_equal(ILK_OK, c.status);
    assert_in_range(c.took_ms, 198, patience(500));
    ack(c.job);
    ilk_queue_free(queue);
}

TEST(wait_for_several_queues_ends_with_any)
{
    const void *names[] = {"high", "low"};
    const size_t lens[] = {4, 3};
    ilk_queue *low = open_queue("low"), *both = NULL;
    consumer c;

    assert_int_equal(
        ILK_OK, ilk_queue_open_many(&both, client, names, lens, 2, NULL, NULL));
    start(&c, both, 5000);
    await_consumers("high", 1);
    await_consumers("low", 1);
    push(low, "l");
    join(&c);

    assert_int_equal(ILK_OK, c.status);
    assert_string_equal("low", ilk_job_queue(c.job, NULL));
    await_consumers("high", 0);
    ack(c.job);
    ilk_queue_free(both);
    ilk_queue_free(low);
}

TEST(signal_ends_a_wait_that_keeps_its_place)
{
    ilk_queue *queue = open_queue("mail");
    consumer c;

    fixture_wake_on(SIGUSR1);
    memset(&c, 0, sizeof c);
    c.queue = queue;
    c.timeout_ms = 5000;
    c.again = 1;
    pthread_create(&c.thread, NULL, consume, &c);
    await_consumers("mail", 1);
    fixture_command(&fx, "CONFIG RESETSTAT");
    for (int i = 1; i <= 3; i++) {
        while (c.interrupted < i) {
            pthread_kill(c.thread, SIGUSR1);
            fixture_sleep_ms(5);
        }
    }
    assert_null(
        strstr(fixture_command(&fx, "INFO commandstats"), "cmdstat_zadd"));
    push(queue, "a");
    join(&c);

    assert_int_equal(ILK_OK, c.status);
    ack(c.job);
    ilk_queue_free(queue);
}

TEST(wake_for_one_who_left_goes_to_the_next)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("mail");
    consumer suspended, c;

    fixture_wake_on(SIGUSR1);
    start(&suspended, other, 5000);
    await_consumers("mail", 1);
    while (!suspended.interrupted) {
        pthread_kill(suspended.thread, SIGUSR1);
        fixture_sleep_ms(5);
    }
    join(&suspended);
    start(&c, queue, 5000);
    await_consumers("mail", 2);
    push(queue, "a");
    fixture_sleep_ms(20);
    ilk_queue_free(other); /* it was woken, and never asks */
    join(&c);

    assert_int_equal(ILK_EINTR, suspended.status);
    assert_int_equal(ILK_OK, c.status);
    assert_in_range(c.took_ms, 0, patience(1500));
    ack(c.job);
    ilk_queue_free(queue);
}

TEST(close_ends_a_wait)
{
    ilk_queue *queue = open_queue("mail");
    consumer c;

    start(&c, queue, -1);
    await_consumers("mail", 1);
    ilk_client_close(client, NULL);
    join(&c);

    assert_int_equal(ILK_ECLOSED, c.status);
    ilk_queue_free(queue);
}

TEST(nothing_is_polled)
{
    ilk_queue *queue = open_queue("mail");
    consumer c;

    start(&c, queue, -1);
    await_consumers("mail", 1);
    fixture_command(&fx, "CONFIG RESETSTAT");
    fixture_sleep_ms(1000);
    assert_true(
        fixture_int(&fx,
                    "EVAL return(tonumber(redis.call('INFO','commandstats')"
                    ":match('evalsha:calls=(%%d+)')or'0')) 0")
        <= 1);
    assert_int_equal(ILK_OK, ilk_queue_cancel(queue, NULL));
    join(&c);
    assert_int_equal(ILK_ECANCELLED, c.status);
    ilk_queue_free(queue);
}
