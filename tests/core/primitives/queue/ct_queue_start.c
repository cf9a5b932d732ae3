/* SPDX-License-Identifier: MIT */
/*
 * ct_queue_start.c -- what is special about started operations of queues;
 * ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "queue_case.h"
#include "started.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

enum { MANY = 2000 };

/* ---- putting ------------------------------------------------------------ */

TEST(push_copies_what_it_is_given)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    char text[] = "first", once[] = "id-1";
    ilk_op *op = NULL, *again = NULL;
    ilk_push_opts opts;
    int64_t id;

    ilk_push_opts_init(&opts, sizeof opts);
    opts.once = once;
    opts.once_len = 4;
    assert_status(ILK_OK,
                  ilk_queue_push_start(&op, queue, text, 5, &opts, &err));
    memset(text, '?', 5);
    assert_status(ILK_OK,
                  ilk_queue_push_start(&again, queue, "x", 1, &opts, &err));
    memset(once, '?', 4);
    assert_int_equal(0, ilk_op_number(op)); /* not yet */
    assert_ended(ILK_OK, client, op);
    id = ilk_op_number(op);
    assert_true(id > 0);
    assert_null(ilk_op_batch(op));
    ilk_op_free(op);
    assert_ended(ILK_OK, client, again);
    assert_int_equal(id, ilk_op_number(again));
    ilk_op_free(again);

    assert_next(queue, "first");
    assert_empty(queue);
    ilk_queue_free(queue);
}

TEST(several_are_pushed_in_order)
{
    const void *data[] = {"a", "", "ccc"};
    const size_t lens[] = {1, 0, 3};
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_queue_push_many_start(&op, queue, data, lens, 3,
                                                    NULL, &err));
    data[0] = NULL;
    assert_ends(ILK_OK, client, op);
    assert_next(queue, "a");
    assert_next(queue, "");
    assert_next(queue, "ccc");
    ilk_queue_free(queue);
}

/* ---- taking ------------------------------------------------------------- */

TEST(wait_gets_what_is_pushed)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *op = start_reserve(queue, -1);
    ilk_job *job;

    turn_until_waiting(1);
    assert_under_way(client, op);
    assert_null(ilk_op_job(op));
    push(queue, "a");
    assert_ended(ILK_OK, client, op);
    assert_data(ilk_op_job(op), "a");
    job = job_of(op);
    ilk_op_free(op);

    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_TAKEN)); /* it was sent */
    assert_data(job, "a");
    ack(job);
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_TAKEN));
    ilk_queue_free(queue);
}

TEST(pop_takes_for_good)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_queue_pop_start(&op, queue, 5000, &err));
    turn_until_waiting(1);
    push(queue, "a");
    assert_ended(ILK_OK, client, op);
    assert_data(ilk_op_job(op), "a");
    assert_status(ILK_ENOTOWNER, ilk_job_ack(ilk_op_job(op), &err));
    ilk_op_free(op);
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_queue_free(queue);
}

TEST(batch_is_acknowledged_with_the_next)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_batch *done = NULL;
    ilk_op *op = NULL;

    push(queue, "a");
    push(queue, "b");
    push(queue, "c");
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&done, queue, 2, 0, 0, NULL, &err));
    assert_status(
        ILK_OK, ilk_queue_reserve_many_start(&op, queue, 2, 0, 0, done, &err));
    ilk_batch_free(done); /* it goes on all the same */
    assert_ended(ILK_OK, client, op);
    assert_int_equal(1, ilk_batch_count(ilk_op_batch(op)));
    assert_data(ilk_op_job(op), "c");
    ilk_op_free(op);
    assert_int_equal(2, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_queue_free(queue);
}

/* On a stopped client it only acknowledges, and has no wait to cancel. */
TEST(cancelled_while_it_acknowledges)
{
    ilk_client *own = open_client();
    ilk_queue *queue = NULL;
    ilk_error err = {0};
    ilk_batch *done = NULL;
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_queue_open(&queue, own, "mail", 4, NULL, &err));
    push(queue, "a");
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&done, queue, 1, 0, 0, NULL, &err));
    ilk_client_stop(own);
    assert_int_equal(0, fixture_pause(&fx));
    assert_status(ILK_OK, ilk_queue_reserve_many_start(&op, queue, 1, 5000, 0,
                                                       done, &err));
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_int_equal(0, fixture_resume(&fx));
    turn_for(own, 200);
    ilk_op_free(op);
    ilk_batch_free(done);
    ilk_queue_free(queue);
    ilk_client_free(own);
}

/* More than one wait of one thread on one handle: each has its own place. */
TEST(many_wait_on_one_handle)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *ops[MANY];
    char text[16];

    for (int i = 0; i < MANY; i++)
        ops[i] = start_reserve(queue, -1);
    turn_until_waiting(MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "%d", i);
        push(queue, text);
    }
    for (int i = 0; i < MANY; i++) {
        ilk_job *job;

        assert_ended(ILK_OK, client, ops[i]);
        job = job_of(ops[i]);
        ilk_op_free(ops[i]);
        ack(job);
    }
    assert_int_equal(MANY, count_of(queue, ILK_QUEUE_N_FINISHED));
    await_consumers("mail", 0);
    ilk_queue_free(queue);
}

TEST(place_of_a_thread_stays_that_of_its_calls)
{
    ilk_client_opts opts;
    ilk_client *ticking = NULL;
    ilk_queue *queue;
    ilk_job *job = NULL;
    ilk_error err = {0};
    ilk_op *op = NULL;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_TICK;
    assert_status(ILK_OK, ilk_client_open(&ticking, fx.unix_url, &opts, &err));
    queue = open_queue_at(ticking, "mail", ILK_QUEUE_FIFO, 0, 0);
    assert_status(ILK_EINTR, ilk_queue_reserve(&job, queue, 9000, 0, &err));
    await_consumers("mail", 1);
    assert_status(ILK_OK, ilk_queue_reserve_start(&op, queue, -1, 0, &err));
    turn_until(ticking, "2", "ZCARD ilk:queue:wait:{mail}");
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_ECANCELLED, ticking, op);
    await_consumers("mail", 1);
    push(queue, "a");
    assert_status(ILK_OK, ilk_queue_reserve(&job, queue, 9000, 0, &err));
    ack(job);
    ilk_queue_free(queue);
    ilk_client_free(ticking);
}

/* ---- what ends it ------------------------------------------------------- */

/* The server has taken the message, or will: nobody waits for it any more. */
TEST(an_operation_freed_under_way_gives_back)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("mail");
    ilk_job *job;

    ilk_op_free(start_reserve(queue, 0)); /* the link is up from here on */
    turn_for(client, 50);
    for (int i = 0; i < 20; i++) {
        ilk_op *op;

        push(queue, "a");
        op = start_reserve(queue, -1);
        ilk_op_free(op);
        turn_for(client, 20);
        job = reserve(other, 1000, 0);
        assert_int_equal(1, ilk_job_attempts(job));
        ack(job);
    }
    turn_for(client, 50);
    await_consumers("mail", 0);
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_TAKEN));
    assert_int_equal(20, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_queue_free(other);
    ilk_queue_free(queue);
}

TEST(a_message_that_nobody_reserved_is_back_at_once)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *op;
    ilk_job *job;

    push(queue, "a");
    op = start_reserve(queue, -1);
    assert_ends(ILK_OK, client, op);
    job = reserve(queue, 2000, 0);
    assert_int_equal(1, ilk_job_attempts(job));
    ack(job);
    ilk_queue_free(queue);
}

TEST(cancel_of_the_handle_ends_all)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *ops[3];

    for (int i = 0; i < 3; i++)
        ops[i] = start_reserve(queue, -1);
    turn_until_waiting(3);
    assert_int_equal(ILK_OK, ilk_queue_cancel(queue, NULL));
    for (int i = 0; i < 3; i++)
        assert_ends(ILK_ECANCELLED, client, ops[i]);
    await_consumers("mail", 0);
    ilk_queue_free(queue);
}

TEST(freed_handle_ends_what_is_under_way)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("mail");
    ilk_op *ops[2];

    for (int i = 0; i < 2; i++)
        ops[i] = start_reserve(queue, -1);
    turn_until_waiting(2);
    ilk_queue_free(queue);
    for (int i = 0; i < 2; i++)
        assert_ends(ILK_ECANCELLED, client, ops[i]);
    await_consumers("mail", 0);
    push(other, "a");
    assert_next(other, "a");
    ilk_queue_free(other);
}

/* ---- threads beside it -------------------------------------------------- */

typedef struct taker_thread {
    pthread_t thread;
    ilk_queue *queue;
    _Atomic int *stop;
    int taken;
} taker_thread;

static void *take_all(void *arg)
{
    taker_thread *self = arg;
    ilk_job *job;

    while (!atomic_load(self->stop)) {
        if (ilk_queue_reserve(&job, self->queue, 100, 0, NULL) != ILK_OK)
            continue;
        if (ilk_job_ack(job, NULL) == ILK_OK)
            self->taken++;
        ilk_job_free(job);
    }
    return NULL;
}

/* The takes of a handle go from threads to operations and back. */
TEST(threads_and_operations_share_a_handle)
{
    ilk_queue *queue = open_queue("mail");
    _Atomic int stop = 0;
    taker_thread t[2] = {{.queue = queue, .stop = &stop},
                         {.queue = queue, .stop = &stop}};
    int64_t until = fixture_now_ms() + 60000;
    int taken = 0;

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i].thread, NULL, take_all, &t[i]);
    for (int i = 0; i < 200; i++) {
        ilk_op *op = start_reserve(queue, i % 3 ? 20 : 0);
        ilk_status st;

        if (i % 2)
            push(queue, "x");
        while ((st = ilk_op_status(op, NULL)) == ILK_EAGAIN)
            (void)turn(client, 20);
        if (st == ILK_OK)
            taken += ilk_job_ack(ilk_op_job(op), NULL) == ILK_OK;
        ilk_op_free(op);
    }
    while (count_of(queue, ILK_QUEUE_N_FINISHED) < 100
           && fixture_now_ms() < until)
        fixture_sleep_ms(5);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i].thread, NULL);
        taken += t[i].taken;
    }
    assert_int_equal(100, taken);
    assert_int_equal(100, count_of(queue, ILK_QUEUE_N_FINISHED));
    await_consumers("mail", 0);
    ilk_queue_free(queue);
}
