/* SPDX-License-Identifier: MIT */
/*
 * ct_queue_alloc.c -- a queue's life in which the n-th allocation and all
 * after it fail, for n = 1, 2, 3 ... until it needs no more. No message may
 * get lost by that: each is somewhere, or finished.
 */
#include "queue_case.h"

#include "base/alloc.h"
#include "started.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

enum { MOST = 3000 };

static ilk_status open_own(ilk_queue **out, ilk_error *err)
{
    return ilk_queue_open(out, client, "mail", 4, NULL, err);
}

/* Push, look, take together, finish in each way. */
static ilk_status live(ilk_error *err)
{
    const void *data[] = {"a", "b", "c"};
    const size_t lens[] = {1, 1, 1};
    ilk_batch *batch = NULL, *seen = NULL;
    ilk_queue *queue = NULL;
    ilk_job *job = NULL;
    ilk_status st = open_own(&queue, err);

    if (st == ILK_OK)
        st = ilk_queue_push_many(NULL, queue, data, lens, 3, NULL, err);
    if (st == ILK_OK)
        st = ilk_queue_peek(&seen, queue, ILK_QUEUE_READY, 0, 3, err);
    if (st == ILK_OK)
        st = ilk_queue_reserve_many(&batch, queue, 3, 0, 0, NULL, err);
    if (st == ILK_OK)
        st = ilk_batch_job(&job, batch, 1, err);
    if (st == ILK_OK)
        st = ilk_job_extend(job, 20000, err);
    if (st == ILK_OK)
        st = ilk_job_bury(job, "why", 3, err);
    ilk_job_free(job);
    if (st == ILK_OK)
        st = ilk_batch_ack(batch, err);
    if (st == ILK_OK)
        st = ilk_queue_requeue(NULL, queue, 0, 0, err);
    ilk_batch_free(seen);
    ilk_batch_free(batch);
    ilk_queue_free(queue);
    return st;
}

/* Work off two, and wait for a third that does not come. */
static ilk_status work(ilk_error *err)
{
    const void *names[] = {"other", "mail"};
    const size_t lens[] = {5, 4};
    ilk_worker *worker = NULL;
    ilk_queue *queue = NULL;
    ilk_job *job = NULL;
    ilk_status st = open_own(&queue, err);

    if (st == ILK_OK)
        st = ilk_worker_open(&worker, client, names, lens, 2, NULL, NULL, err);
    for (int i = 0; i < 2 && st == ILK_OK; i++) {
        st = ilk_queue_push(NULL, queue, "x", 1, NULL, err);
        if (st == ILK_OK)
            st = ilk_worker_next(&job, worker, 1000, err);
        if (st == ILK_OK)
            st = i ? ilk_worker_failed(worker, "why", 3, err)
                   : ilk_worker_done(worker, err);
        ilk_job_free(job);
        job = NULL;
    }
    if (st == ILK_OK)
        st = ilk_worker_next(&job, worker, 30, err);
    if (st == ILK_ETIMEOUT)
        st = ilk_worker_finish(worker, err);
    ilk_worker_free(worker);
    ilk_queue_free(queue);
    return st;
}

/* How it ended, if it began. */
static ilk_status end_of(ilk_status st, ilk_op **op, ilk_error *err)
{
    if (st)
        return st;
    while ((st = ilk_op_status(*op, err)) == ILK_EAGAIN)
        (void)turn(client, 5);
    return st;
}

/* Wait, push, finish, all started; then a wait that is cancelled. */
static ilk_status start(ilk_error *err)
{
    const void *data[] = {"a", "b", "c"};
    const size_t lens[] = {1, 1, 1};
    ilk_op *wait = NULL, *op = NULL, *end = NULL;
    ilk_queue *queue = NULL;
    ilk_status st = open_own(&queue, err);

    if (st == ILK_OK)
        st = ilk_queue_reserve_many_start(&wait, queue, 2, 2000, 0, NULL, err);
    if (st == ILK_OK)
        st = end_of(
            ilk_queue_push_many_start(&op, queue, data, lens, 3, NULL, err),
            &op, err);
    if (st == ILK_OK)
        st = end_of(ILK_OK, &wait, err);
    if (st == ILK_OK)
        st = end_of(ilk_batch_ack_start(&end, ilk_op_batch(wait), err), &end,
                    err);
    ilk_op_free(wait);
    wait = NULL;
    if (st == ILK_OK) {
        st = ilk_queue_reserve_start(&wait, queue, -1, 0, err);
        (void)turn(client, 5);
    }
    ilk_op_free(wait);
    ilk_op_free(op);
    ilk_op_free(end);
    ilk_queue_free(queue);
    return st;
}

static int64_t length(const char *command, const char *key)
{
    return fixture_int(&fx, "%s ilk:queue:%s{mail}", command, key);
}

/* Pushed, by the record, less those that lie somewhere. */
static void assert_none_is_lost(int64_t finished_at_most)
{
    int64_t pushed = fixture_int(&fx, "HGET ilk:queue:{mail} pushed");
    int64_t there = length("LLEN", "ready:") + length("ZCARD", "delayed:")
                    + length("HLEN", "flight:") + length("HLEN", "dead:");

    if (pushed != INT64_MIN)
        assert_in_range(there, pushed - finished_at_most, pushed);
    assert_int_equal(length("ZCARD", "leases:") > 0,
                     length("HLEN", "flight:") > 0);
}

/* Until it needs no more allocations than are allowed. */
static void play(ilk_status (*scene)(ilk_error *err), int64_t finishes)
{
    ilk_status st = ILK_ENOMEM;
    long n;

    for (n = 1; n < MOST; n++) {
        ilk_error err = {0};

        fixture_command(&fx, "FLUSHALL");
        ilk__alloc_fail_at(n);
        st = scene(&err);
        if (ilk__alloc_count() < n)
            break;
        ilk__alloc_fail_at(0);
        if (st != ILK_OK && st != ILK_ENOMEM && st != ILK_ETIMEOUT)
            fail_msg("allocation %ld: %s (%s)", n, ilk_status_name(st),
                     err.msg);
        assert_none_is_lost(finishes);
    }
    ilk__alloc_fail_at(0);
    assert_int_equal(ILK_OK, st);
    assert_in_range(n, 20, MOST - 1);
}

TEST(no_message_is_lost_for_want_of_memory)
{
    play(live, 2);
}

TEST(no_work_is_lost_for_want_of_memory)
{
    play(work, 1);
}

TEST(nothing_started_is_lost_for_want_of_memory)
{
    play(start, 3);
}
