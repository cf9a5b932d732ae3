/* SPDX-License-Identifier: MIT */
/* queue_case.c -- what the tests of queues share. */
#include "queue_case.h"
#include "started.h"

#include <stdio.h>
#include <string.h>

int queue_begin(void)
{
    if (strcmp(fixture_command(&fx, "FLUSHALL"), "OK") != 0)
        return -1;
    client = open_client();
    return 0;
}

int queue_end(void)
{
    ilk_client_free(client);
    return 0;
}

ilk_queue *open_queue_at(ilk_client *of, const char *name, int32_t order,
                         int32_t max_attempts, uint32_t flags)
{
    ilk_queue *queue = NULL;
    ilk_queue_opts opts;
    ilk_error err = {0};

    ilk_queue_opts_init(&opts, sizeof opts);
    opts.order = order;
    opts.max_attempts = max_attempts;
    opts.flags = flags;
    assert_status(ILK_OK,
                  ilk_queue_open(&queue, of, name, strlen(name), &opts, &err));
    return queue;
}

ilk_queue *open_queue(const char *name)
{
    return open_queue_at(client, name, ILK_QUEUE_FIFO, 0, 0);
}

int64_t push(ilk_queue *queue, const char *text)
{
    ilk_error err = {0};
    int64_t id = 0;

    assert_status(ILK_OK,
                  ilk_queue_push(&id, queue, text, strlen(text), NULL, &err));
    return id;
}

ilk_job *reserve(ilk_queue *queue, int64_t timeout_ms, int64_t lease_ms)
{
    ilk_job *job = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_queue_reserve(&job, queue, timeout_ms, lease_ms, &err));
    assert_non_null(job);
    return job;
}

void ack(ilk_job *job)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_job_ack(job, &err));
    ilk_job_free(job);
}

void assert_data(const ilk_job *job, const char *text)
{
    size_t len = 0;

    assert_string_equal(text, ilk_job_data(job, &len));
    assert_int_equal(strlen(text), len);
}

void assert_next(ilk_queue *queue, const char *text)
{
    ilk_job *job = reserve(queue, 0, 0);

    assert_data(job, text);
    ack(job);
}

void assert_empty(ilk_queue *queue)
{
    ilk_job *job = NULL;
    ilk_error err = {0};

    assert_status(ILK_EBUSY, ilk_queue_reserve(&job, queue, 0, 0, &err));
    assert_string_equal("the queue is empty", err.msg);
    assert_null(job);
}

int64_t count_of(ilk_queue *queue, int32_t count)
{
    ilk_queue_info *info = NULL;
    ilk_error err = {0};
    int64_t found;

    assert_status(ILK_OK, ilk_queue_inspect(&info, queue, &err));
    found = ilk_queue_info_get(info, count);
    ilk_queue_info_free(info);
    return found;
}

void await_consumers(const char *name, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    assert_int_equal(0, fixture_await(&fx, expected, (int)patience(5000),
                                      "ZCARD ilk:queue:wait:{%s}", name));
}

ilk_op *start_reserve(ilk_queue *queue, int64_t timeout_ms)
{
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK,
                  ilk_queue_reserve_start(&op, queue, timeout_ms, 0, &err));
    return op;
}

void turn_until_waiting(int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    turn_until(client, expected, "ZCARD ilk:queue:wait:{mail}");
}

ilk_job *job_of(ilk_op *op)
{
    ilk_error err = {0};
    ilk_job *job = NULL;

    assert_status(ILK_OK, ilk_batch_job(&job, ilk_op_batch(op), 0, &err));
    return job;
}
