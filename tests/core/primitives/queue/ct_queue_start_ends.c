/* SPDX-License-Identifier: MIT */
/* ct_queue_start_ends.c -- what ends a started wait, and what that leaves. */
#include "queue_case.h"
#include "started.h"

#include <stdatomic.h>

/* ---- what ends it ------------------------------------------------------- */

static void cancelled_wait_leaves_nothing(void **state)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *first = start_reserve(queue, -1), *second;
    ilk_error err = {0};

    (void)state;
    turn_until_waiting(1);
    assert_status(ILK_OK, ilk_op_cancel(first, &err));
    assert_ends(ILK_ECANCELLED, client, first);
    await_consumers("mail", 0);

    second = start_reserve(queue, -1); /* with the place that is free now */
    turn_until_waiting(1);
    push(queue, "a");
    assert_ended(ILK_OK, client, second);
    assert_data(ilk_op_job(second), "a");
    assert_status(ILK_OK, ilk_job_ack(ilk_op_job(second), &err));
    ilk_op_free(second);
    ilk_queue_free(queue);
}

/* The server has taken the message, or will: nobody waits for it any more. */
static void freed_while_it_is_asked_gives_back(void **state)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("mail");
    ilk_job *job;

    (void)state;
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

static void message_that_nobody_asked_for_is_back_at_once(void **state)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *op;
    ilk_job *job;

    (void)state;
    push(queue, "a");
    op = start_reserve(queue, -1);
    assert_ends(ILK_OK, client, op);
    job = reserve(queue, 2000, 0);
    assert_int_equal(1, ilk_job_attempts(job));
    ack(job);
    ilk_queue_free(queue);
}

static void cancel_of_the_handle_ends_all(void **state)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *ops[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        ops[i] = start_reserve(queue, -1);
    turn_until_waiting(3);
    assert_int_equal(ILK_OK, ilk_queue_cancel(queue, NULL));
    for (int i = 0; i < 3; i++)
        assert_ends(ILK_ECANCELLED, client, ops[i]);
    await_consumers("mail", 0);
    ilk_queue_free(queue);
}

static void freed_operation_leaves_nothing(void **state)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *op = start_reserve(queue, -1);

    (void)state;
    turn_until_waiting(1);
    ilk_op_free(op);
    turn_until_waiting(0);
    ilk_queue_free(queue);
}

static void freed_handle_ends_what_is_under_way(void **state)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("mail");
    ilk_op *ops[2];

    (void)state;
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

/* The server may do it all the same, at any time. */
static void handle_freed_under_a_push_ends_it(void **state)
{
    ilk_queue *queue = open_queue("pushed by the freed");
    ilk_error err = {0};
    ilk_op *op = NULL;

    (void)state;
    assert_status(ILK_OK, ilk_queue_push_start(&op, queue, "a", 1, NULL, &err));
    ilk_queue_free(queue);
    assert_ends(ILK_ECANCELLED, client, op);
}

static void close_ends_all(void **state)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("pushed last");
    ilk_op *op = start_reserve(queue, -1), *pushing = NULL;
    ilk_error err = {0};

    (void)state;
    turn_until_waiting(1);
    assert_status(ILK_OK,
                  ilk_queue_push_start(&pushing, other, "a", 1, NULL, &err));
    ilk_client_close(client, NULL);
    assert_ends(ILK_ECLOSED, client, op);
    assert_ends(ILK_ECLOSED, client, pushing);
    assert_status(ILK_ECLOSED,
                  ilk_queue_reserve_start(&op, queue, -1, 0, &err));
    assert_null(op);
    ilk_queue_free(other);
    ilk_queue_free(queue);
}

static void wait_outlives_the_server(void **state)
{
    ilk_queue *queue = open_queue("mail");
    ilk_op *op = start_reserve(queue, -1);

    (void)state;
    turn_until_waiting(1);
    assert_int_equal(0, fixture_kill(&fx));
    turn_for(client, 50);
    assert_int_equal(0, fixture_restart(&fx));
    turn_until_waiting(1);
    push(queue, "a");
    assert_ended(ILK_OK, client, op);
    assert_data(ilk_op_job(op), "a");
    ilk_op_free(op);
    ilk_queue_free(queue);
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
static void threads_and_operations_share_a_handle(void **state)
{
    ilk_queue *queue = open_queue("mail");
    _Atomic int stop = 0;
    taker_thread t[2] = {{.queue = queue, .stop = &stop},
                         {.queue = queue, .stop = &stop}};
    int64_t until = fixture_now_ms() + 60000;
    int taken = 0;

    (void)state;
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, queue_begin, queue_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cancelled_wait_leaves_nothing),
        TEST(freed_while_it_is_asked_gives_back),
        TEST(message_that_nobody_asked_for_is_back_at_once),
        TEST(cancel_of_the_handle_ends_all),
        TEST(freed_operation_leaves_nothing),
        TEST(freed_handle_ends_what_is_under_way),
        TEST(handle_freed_under_a_push_ends_it),
        TEST(close_ends_all),
        TEST(wait_outlives_the_server),
        TEST(threads_and_operations_share_a_handle),
    };

    return cmocka_run_group_tests(tests, server_setup, server_teardown);
}
