/* SPDX-License-Identifier: MIT */
/*
 * ct_job_start.c -- what is special about a message's started operations;
 * ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "queue_case.h"
#include "started.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

/* ---- finishing ---------------------------------------------------------- */

TEST(lost_message_is_reported)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_op *op = NULL;
    ilk_job *job, *again;

    push(queue, "a");
    job = reserve(queue, 0, 50);
    again = reserve(queue, patience(5000), 0);
    assert_status(ILK_OK, ilk_job_ack_start(&op, job, &err));
    assert_int_equal(0, ilk_job_remaining_ms(job));
    assert_ends(ILK_ELOST, client, op);
    assert_status(ILK_ENOTOWNER, ilk_job_ack_start(&op, job, &err));
    assert_null(op);
    ack(again);
    ilk_job_free(job);
    ilk_queue_free(queue);
}

TEST(bury_copies_its_reason)
{
    ilk_queue *queue = open_queue("mail");
    char reason[] = "broken";
    ilk_error err = {0};
    ilk_op *op = NULL;
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 0);
    assert_status(ILK_EINVAL, ilk_job_bury_start(&op, job, NULL, 1, &err));
    assert_status(ILK_OK, ilk_job_bury_start(&op, job, reason, 6, &err));
    memset(reason, '?', 6);
    assert_ends(ILK_OK, client, op);
    ilk_job_free(job);

    assert_status(ILK_OK,
                  ilk_queue_peek_start(&op, queue, ILK_QUEUE_DEAD, 0, 1, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(1, ilk_batch_count(ilk_op_batch(op)));
    assert_string_equal("broken", ilk_job_reason(ilk_op_job(op), NULL));
    ilk_op_free(op);
    ilk_queue_free(queue);
}

TEST(extend_sets_the_lease)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_op *op = NULL;
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 5000);
    assert_status(ILK_EINVAL, ilk_job_extend_start(&op, job, -2, &err));
    assert_status(ILK_OK, ilk_job_extend_start(&op, job, 60000, &err));
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_job_remaining_ms(job) > 50000);

    assert_status(ILK_OK, ilk_job_extend_start(&op, job, 0, &err));
    ilk_op_free(op); /* and what it works on stays until it has ended */
    ack(job);
    turn_for(client, 20);
    ilk_queue_free(queue);
}

TEST(batch_is_acknowledged_together)
{
    const void *data[] = {"a", "b", "c"};
    const size_t lens[] = {1, 1, 1};
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_batch *batch = NULL;
    ilk_job *middle = NULL;
    ilk_op *op = NULL;

    assert_status(ILK_OK,
                  ilk_queue_push_many(NULL, queue, data, lens, 3, NULL, &err));
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&batch, queue, 3, 0, 0, NULL, &err));
    assert_status(ILK_OK, ilk_batch_job(&middle, batch, 1, &err));
    assert_status(ILK_OK, ilk_job_nack(middle, 0, &err));
    ilk_job_free(middle);
    assert_status(ILK_OK, ilk_batch_ack_start(&op, batch, &err));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_batch_ack_start(&op, batch, &err));
    assert_ends(ILK_OK, client, op); /* there was nothing to do */
    ilk_batch_free(batch);
    assert_int_equal(2, count_of(queue, ILK_QUEUE_N_FINISHED));
    assert_next(queue, "b");
    ilk_queue_free(queue);
}

/* An ack whose reply was not read can be repeated, and is not taken for lost. */
TEST(freed_ack_can_be_repeated)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_op *op = NULL;
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 0);
    assert_status(ILK_OK, ilk_queue_size_start(&op, queue, &err));
    assert_ends(ILK_OK, client, op); /* there is a connection */
    assert_status(ILK_OK, ilk_job_ack_start(&op, job, &err));
    ilk_op_free(op);
    turn_until(client, "0", "HLEN ilk:queue:flight:{mail}");
    ack(job);
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_queue_free(queue);
}

/* ---- looking, clearing up ----------------------------------------------- */

static int64_t number_of(ilk_op *op)
{
    int64_t number;

    assert_ended(ILK_OK, client, op);
    number = ilk_op_number(op);
    ilk_op_free(op);
    return number;
}

TEST(all_that_is_looked_at)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_op *op = NULL;

    push(queue, "a");
    push(queue, "b");
    assert_status(ILK_OK, ilk_queue_size_start(&op, queue, &err));
    assert_int_equal(2, number_of(op));

    assert_status(ILK_OK, ilk_queue_inspect_start(&op, queue, &err));
    assert_null(ilk_op_queue_info(op));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(
        2, ilk_queue_info_get(ilk_op_queue_info(op), ILK_QUEUE_N_PUSHED));
    assert_null(ilk_op_batch(op)); /* that is something else */
    ilk_op_free(op);

    assert_status(
        ILK_OK, ilk_queue_peek_start(&op, queue, ILK_QUEUE_READY, 1, 5, &err));
    assert_ended(ILK_OK, client, op);
    assert_data(ilk_op_job(op), "b");
    ilk_op_free(op);

    assert_status(ILK_OK,
                  ilk_queue_peek_start(&op, queue, ILK_QUEUE_DEAD, 0, 5, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(0, ilk_batch_count(ilk_op_batch(op)));
    assert_null(ilk_op_job(op));
    ilk_op_free(op);

    assert_status(ILK_OK,
                  ilk_queue_purge_start(&op, queue, ILK_QUEUE_READY, &err));
    assert_int_equal(2, number_of(op));
    assert_empty(queue);
    ilk_queue_free(queue);
}

/* More than go into one question. */
TEST(all_dead_are_put_back)
{
    enum { DEAD = ILK_QUEUE_BATCH_MAX + 20 };
    ilk_queue *queue = open_queue_at(client, "mail", ILK_QUEUE_FIFO, 1, 0);
    ilk_error err = {0};
    ilk_op *op = NULL;

    for (int i = 0; i < DEAD; i++) {
        ilk_job *job;

        push(queue, "x");
        job = reserve(queue, 0, 0);
        assert_status(ILK_OK, ilk_job_nack(job, 0, &err));
        ilk_job_free(job);
    }
    assert_status(ILK_OK, ilk_queue_requeue_start(&op, queue, 1, 0, &err));
    assert_int_equal(1, number_of(op));
    assert_status(ILK_OK, ilk_queue_requeue_start(&op, queue, 0, 3, &err));
    assert_int_equal(3, number_of(op));
    assert_status(ILK_OK, ilk_queue_requeue_start(&op, queue, 0, 0, &err));
    assert_int_equal(DEAD - 4, number_of(op));
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_DEAD));
    ilk_queue_free(queue);
}
