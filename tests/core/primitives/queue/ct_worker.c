/* SPDX-License-Identifier: MIT */
/* ct_worker.c -- the consumer's loop. */
#include "queue_case.h"

#include <stdio.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

static ilk_worker *open_worker(int32_t batch, int64_t lease_ms,
                               int64_t backoff_ms, int32_t max_attempts)
{
    const void *names[] = {"mail"};
    const size_t lens[] = {4};
    ilk_worker *worker = NULL;
    ilk_worker_opts opts;
    ilk_queue_opts queue;
    ilk_error err = {0};

    ilk_worker_opts_init(&opts, sizeof opts);
    opts.batch = batch;
    opts.lease_ms = lease_ms;
    opts.backoff_ms = backoff_ms;
    ilk_queue_opts_init(&queue, sizeof queue);
    queue.max_attempts = max_attempts;
    assert_status(ILK_OK, ilk_worker_open(&worker, client, names, lens, 1,
                                          &queue, &opts, &err));
    return worker;
}

static void next_is(ilk_worker *worker, const char *text)
{
    ilk_job *job = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_worker_next(&job, worker, 5000, &err));
    assert_data(job, text);
    ilk_job_free(job);
}

static void nothing_is_next(ilk_worker *worker)
{
    ilk_job *job = NULL;
    ilk_error err = {0};

    assert_status(ILK_EBUSY, ilk_worker_next(&job, worker, 0, &err));
    assert_null(job);
}

TEST(answer_goes_with_the_next_question)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(0, 0, 0, 0);
    ilk_error err = {0};

    push(queue, "a");
    push(queue, "b");
    assert_status(ILK_ENOTOWNER, ilk_worker_done(worker, &err));
    next_is(worker, "a");
    assert_status(ILK_OK, ilk_worker_done(worker, &err));
    assert_status(ILK_ENOTOWNER, ilk_worker_done(worker, &err));
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_FINISHED));
    next_is(worker, "b");
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    assert_status(ILK_OK, ilk_worker_done(worker, &err));
    assert_status(ILK_OK, ilk_worker_finish(worker, &err));

    assert_int_equal(2, count_of(queue, ILK_QUEUE_N_FINISHED));
    assert_int_equal(0, ilk_worker_lost(worker));
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

TEST(batch_is_worked_off_one_by_one)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(3, 0, 0, 0);
    ilk_error err = {0};

    for (const char *text = "abcd"; *text; text++)
        push(queue, (char[]){*text, '\0'});
    next_is(worker, "a");
    assert_int_equal(3, count_of(queue, ILK_QUEUE_N_TAKEN));
    ilk_worker_done(worker, &err);
    next_is(worker, "b");
    assert_status(ILK_OK, ilk_worker_bury(worker, "why", 3, &err));
    next_is(worker, "c");
    ilk_worker_done(worker, &err);
    next_is(worker, "d");

    assert_int_equal(2, count_of(queue, ILK_QUEUE_N_FINISHED));
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_DEAD));
    ilk_worker_done(worker, &err);
    nothing_is_next(worker);
    assert_int_equal(3, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

TEST(failure_comes_again_later_each_time)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(1, 0, 100, 3);
    int64_t began = fixture_now_ms(), first, second;
    ilk_error err = {0};

    push(queue, "a");
    next_is(worker, "a");
    assert_status(ILK_OK, ilk_worker_failed(worker, "why", 3, &err));
    next_is(worker, "a");
    first = fixture_now_ms() - began;
    ilk_worker_failed(worker, NULL, 0, &err);
    next_is(worker, "a");
    second = fixture_now_ms() - began - first;
    ilk_worker_failed(worker, "the end", 7, &err);
    assert_status(ILK_OK, ilk_worker_finish(worker, &err));

    assert_in_range(first, 48, patience(300));
    assert_in_range(second, 98, patience(500));
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_DEAD));
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

TEST(no_answer_counts_as_a_failure)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(1, 0, 10, 1);
    ilk_batch *dead = NULL;
    ilk_error err = {0};
    ilk_job *job = NULL;

    push(queue, "a");
    next_is(worker, "a");
    nothing_is_next(worker);
    assert_status(ILK_OK,
                  ilk_queue_peek(&dead, queue, ILK_QUEUE_DEAD, 0, 1, &err));
    assert_status(ILK_OK, ilk_batch_job(&job, dead, 0, &err));

    assert_string_equal("no answer from the worker", ilk_job_reason(job, NULL));
    ilk_job_free(job);
    ilk_batch_free(dead);
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

TEST(finish_gives_back_what_was_not_begun)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(8, 0, 0, 0);
    ilk_error err = {0};
    ilk_job *job = NULL;

    push(queue, "a");
    push(queue, "b");
    push(queue, "c");
    next_is(worker, "a");
    ilk_worker_done(worker, &err);
    assert_status(ILK_OK, ilk_worker_stop(worker, &err));
    assert_status(ILK_ECANCELLED, ilk_worker_next(&job, worker, -1, &err));
    assert_status(ILK_OK, ilk_worker_finish(worker, &err));
    assert_status(ILK_OK, ilk_worker_finish(worker, &err));

    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    job = reserve(queue, 0, 0);
    assert_data(job, "b");
    assert_int_equal(1, ilk_job_attempts(job));
    ilk_job_free(job);
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

static void *stop(void *worker)
{
    await_consumers("mail", 1);
    ilk_worker_stop(worker, NULL);
    return NULL;
}

TEST(stop_ends_a_wait)
{
    ilk_worker *worker = open_worker(1, 0, 0, 0);
    int64_t began = fixture_now_ms();
    ilk_error err = {0};
    ilk_job *job = NULL;
    pthread_t thread;

    pthread_create(&thread, NULL, stop, worker);
    assert_status(ILK_ECANCELLED, ilk_worker_next(&job, worker, -1, &err));
    pthread_join(thread, NULL);

    assert_in_range(fixture_now_ms() - began, 0, patience(1000));
    await_consumers("mail", 0);
    assert_status(ILK_ECANCELLED, ilk_worker_next(&job, worker, -1, &err));
    ilk_worker_free(worker);
}

TEST(lease_is_renewed_while_one_works)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(1, 500, 0, 0);
    ilk_error err = {0};

    push(queue, "a");
    next_is(worker, "a");
    fixture_sleep_ms(1200);
    assert_empty(queue);
    ilk_worker_done(worker, &err);
    assert_status(ILK_OK, ilk_worker_finish(worker, &err));

    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

TEST(answer_that_comes_too_late_is_counted)
{
    ilk_queue *queue = open_queue("mail");
    ilk_worker *worker = open_worker(1, 10000, 0, 0);
    ilk_error err = {0};

    push(queue, "a");
    next_is(worker, "a");
    fixture_command(&fx, "DEL ilk:queue:flight:{mail}");
    ilk_worker_done(worker, &err);
    nothing_is_next(worker);

    assert_int_equal(1, ilk_worker_lost(worker));
    ilk_worker_free(worker);
    ilk_queue_free(queue);
}

TEST(bad_options_are_refused)
{
    const void *names[] = {"mail"};
    const size_t lens[] = {4};
    ilk_worker *worker = NULL;
    ilk_worker_opts opts;
    ilk_error err = {0};

    ilk_worker_opts_init(&opts, sizeof opts);
    opts.batch = 257;
    assert_status(ILK_EINVAL, ilk_worker_open(&worker, client, names, lens, 1,
                                              NULL, &opts, &err));
    assert_string_equal("batch must be 1 to 256, got 257", err.msg);
    opts.batch = 0;
    opts.backoff_ms = -1;
    assert_status(ILK_EINVAL, ilk_worker_open(&worker, client, names, lens, 1,
                                              NULL, &opts, &err));
    assert_status(ILK_EINVAL, ilk_worker_open(&worker, client, names, lens, 0,
                                              NULL, NULL, &err));
    assert_status(ILK_EINVAL, ilk_worker_stop(NULL, &err));
    assert_null(worker);
    ilk_worker_free(NULL);
}
