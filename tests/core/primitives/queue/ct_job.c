/* SPDX-License-Identifier: MIT */
/* ct_job.c -- what becomes of messages that were taken. */
#include "fork_case.h"
#include "queue_case.h"

#include "primitives/queue/settlement.h"
#include "proxy_case.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

TEST(first_delivery_says_so)
{
    ilk_queue *queue = open_queue("mail");
    int64_t id = push(queue, "a");
    ilk_job *job = reserve(queue, 0, 10000);

    assert_int_equal(id, ilk_job_id(job));
    assert_int_equal(1, ilk_job_attempts(job));
    assert_in_range(ilk_job_remaining_ms(job), 9000, 10000);
    assert_true(ilk_job_pushed_ms(job) > INT64_C(1500000000000));
    assert_string_equal("", ilk_job_reason(job, NULL));
    assert_string_equal("mail", ilk_job_queue(job, NULL));
    ack(job);
    ilk_queue_free(queue);
}

TEST(job_is_finished_once)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 0);
    assert_status(ILK_OK, ilk_job_ack(job, &err));

    assert_status(ILK_ENOTOWNER, ilk_job_ack(job, &err));
    assert_status(ILK_ENOTOWNER, ilk_job_nack(job, 0, &err));
    assert_status(ILK_ENOTOWNER, ilk_job_extend(job, 0, &err));
    assert_int_equal(0, ilk_job_remaining_ms(job));
    ilk_job_free(job);
    ilk_queue_free(queue);
}

TEST(given_back_is_delivered_again)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *job;

    push(queue, "a");
    push(queue, "b");
    job = reserve(queue, 0, 0);
    assert_status(ILK_OK, ilk_job_nack(job, 0, &err));
    ilk_job_free(job);
    job = reserve(queue, 0, 0);

    assert_data(job, "a");
    assert_int_equal(2, ilk_job_attempts(job));
    assert_status(ILK_EINVAL, ilk_job_nack(job, -1, &err));
    assert_status(ILK_OK, ilk_job_nack(job, 100000, &err));
    ilk_job_free(job);
    assert_next(queue, "b");
    assert_empty(queue);
    ilk_queue_free(queue);
}

TEST(last_attempt_is_the_last)
{
    ilk_queue *queue = open_queue_at(client, "mail", ILK_QUEUE_FIFO, 2, 0);
    ilk_error err = {0};

    push(queue, "a");
    for (int i = 0; i < 2; i++) {
        ilk_job *job = reserve(queue, 0, 0);

        assert_status(ILK_OK, ilk_job_nack(job, 0, &err));
        ilk_job_free(job);
    }
    assert_empty(queue);
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_DEAD));
    ilk_queue_free(queue);
}

TEST(late_ack_is_refused)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *late, *job;

    push(queue, "a");
    late = reserve(queue, 0, 50);
    fixture_sleep_ms(60);
    job = reserve(queue, 0, 0);

    assert_int_equal(0, ilk_job_remaining_ms(late));
    assert_status(ILK_ELOST, ilk_job_ack(late, &err));
    assert_string_equal("1 of the messages were no longer ours", err.msg);
    assert_int_equal(2, ilk_job_attempts(job));
    ack(job);
    ilk_job_free(late);
    ilk_queue_free(queue);
}

TEST(extending_keeps_it)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 200);
    assert_status(ILK_OK, ilk_job_extend(job, 10000, &err));
    fixture_sleep_ms(250);

    assert_empty(queue);
    assert_in_range(ilk_job_remaining_ms(job), 5000, 10000);
    ack(job);
    ilk_queue_free(queue);
}

TEST(renewal_keeps_it)
{
    ilk_queue *queue =
        open_queue_at(client, "mail", ILK_QUEUE_FIFO, 0, ILK_QUEUE_RENEW);
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 600);
    fixture_sleep_ms(1500);

    assert_empty(queue);
    assert_true(ilk_job_remaining_ms(job) > 0);
    ilk_job_free(job);
    fixture_sleep_ms((int)patience(700));
    assert_next(queue, "a");
    ilk_queue_free(queue);
}

TEST(batch_is_finished_job_by_job_and_together)
{
    const void *data[] = {"a", "b", "c", "d"};
    const size_t lens[] = {1, 1, 1, 1};
    ilk_queue *queue = open_queue("mail");
    ilk_batch *batch = NULL;
    ilk_job *job = NULL;
    ilk_error err = {0};

    ilk_queue_push_many(NULL, queue, data, lens, 4, NULL, NULL);
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&batch, queue, 9, 0, 0, NULL, &err));
    assert_int_equal(4, ilk_batch_count(batch));
    assert_status(ILK_OK, ilk_batch_job(&job, batch, 1, &err));
    assert_data(job, "b");
    ack(job);
    assert_status(ILK_EINVAL, ilk_batch_job(&job, batch, 4, &err));
    assert_int_equal(3, count_of(queue, ILK_QUEUE_N_TAKEN));

    assert_status(ILK_OK, ilk_batch_ack(batch, &err));
    assert_status(ILK_OK, ilk_batch_ack(batch, &err));
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_TAKEN));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:queue:leases:{mail}"));
    ilk_batch_free(batch);
    ilk_queue_free(queue);
}

static void *ack_alone(void *job)
{
    return (void *)(intptr_t)ilk_job_ack(job, NULL);
}

/* A message is finished by one of two threads, and the other one's call has no reason to
 * speak of a loss. */
TEST(job_and_its_batch_are_finished_at_once)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};

    for (int i = 0; i < OFTEN(300); i++) {
        ilk_batch *batch = NULL;
        ilk_job *job = NULL;
        pthread_t thread;
        void *alone;

        push(queue, "a");
        assert_status(
            ILK_OK, ilk_queue_reserve_many(&batch, queue, 1, 0, 0, NULL, &err));
        assert_status(ILK_OK, ilk_batch_job(&job, batch, 0, &err));
        assert_int_equal(0, pthread_create(&thread, NULL, ack_alone, job));
        assert_status(ILK_OK, ilk_batch_ack(batch, &err));
        assert_int_equal(0, pthread_join(thread, &alone));
        if ((ilk_status)(intptr_t)alone != ILK_OK)
            assert_int_equal(ILK_ENOTOWNER, (ilk_status)(intptr_t)alone);
        ilk_job_free(job);
        ilk_batch_free(batch);
    }
    assert_int_equal(OFTEN(300), count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_queue_free(queue);
}

/* As two threads do it, step by step. */
TEST(settlements_of_one_batch_at_once)
{
    const void *data[] = {"a", "b"};
    const size_t lens[] = {1, 1};
    ilk_queue *queue = open_queue("mail");
    ilk__settlements first = {0}, second = {0};
    ilk_batch *batch = NULL;
    ilk_job *job = NULL;
    ilk_error err = {0};
    ilk__op op = {0};

    ilk_queue_push_many(NULL, queue, data, lens, 2, NULL, NULL);
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&batch, queue, 2, 0, 0, NULL, &err));
    assert_status(ILK_OK, ilk_batch_job(&job, batch, 0, &err));
    assert_status(ILK_OK,
                  ilk__settlements_add(&first, batch, ILK__SETTLE_FAILED, 1, 1,
                                       0, NULL, 0, &err));
    assert_status(ILK_ENOTOWNER,
                  ilk__settlements_add(&second, batch, ILK__SETTLE_DONE, 1, 2,
                                       0, NULL, 0, &err));
    assert_status(ILK_OK, ilk__settlements_add_open(&second, batch,
                                                    ILK__SETTLE_DONE, &err));
    assert_int_equal(1, second.count);
    assert_int_equal(1, ilk__settlements_reply(&second, &op, "1"));
    ilk__settlements_unanswered(&first); /* so the lease goes on */
    assert_true(ilk_job_remaining_ms(job) > 0);
    ack(job);
    ilk_batch_free(batch);
    ilk_queue_free(queue);
}

TEST(batch_is_acknowledged_with_the_next)
{
    ilk_queue *queue = open_queue("mail"), *other = open_queue("mail");
    ilk_batch *first = NULL, *second = NULL;
    ilk_error err = {0};

    push(queue, "a");
    push(queue, "b");
    ilk_queue_reserve_many(&first, queue, 1, 0, 0, NULL, &err);
    assert_status(ILK_EINVAL,
                  ilk_queue_reserve_many(&second, other, 1, 0, 0, first, &err));
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&second, queue, 1, 0, 0, first, &err));
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_batch_free(first);
    first = NULL;
    assert_status(ILK_EBUSY,
                  ilk_queue_reserve_many(&first, queue, 1, 0, 0, second, &err));
    assert_int_equal(2, count_of(queue, ILK_QUEUE_N_FINISHED));
    assert_int_equal(0, ilk_batch_lost(second));
    ilk_batch_free(second);
    ilk_queue_free(queue);
    ilk_queue_free(other);
}

TEST(job_outlives_queue_and_client_handles)
{
    ilk_client *mine = open_client();
    ilk_queue *queue = open_queue_at(mine, "mail", 0, 0, 0);
    ilk_job *job;

    push(queue, "a");
    job = reserve(queue, 0, 0);
    ilk_queue_free(queue);
    ilk_client_free(mine);

    assert_data(job, "a");
    ack(job);
}

TEST(child_may_not_finish_the_parents)
{
    ilk_queue *queue = open_queue("mail");
    ilk_job *job;
    pid_t pid;

    push(queue, "a");
    job = reserve(queue, 0, 0);
    pid = fork_now();
    if (pid == 0) {
        demand(ilk_job_ack(job, NULL) == ILK_EFORKED);
        demand(ilk_queue_push(NULL, queue, "x", 1, NULL, NULL) == ILK_EFORKED);
        demand(ilk_client_reopen(client, NULL) == ILK_OK);
        demand(ilk_job_ack(job, NULL) == ILK_EFORKED);
        demand(ilk_queue_push(NULL, queue, "x", 1, NULL, NULL) == ILK_OK);
        ilk_job_free(job);
        ilk_queue_free(queue);
        ilk_client_free(client);
        _exit(0);
    }
    assert_ends_well(pid);

    ack(job);
    assert_next(queue, "x");
    ilk_queue_free(queue);
}

TEST(ack_works_without_memory)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *first, *second, *none = NULL;

    push(queue, "a");
    push(queue, "b");
    push(queue, "c");
    first = reserve(queue, 0, 0);
    second = reserve(queue, 0, 0);
    fixture_command(&fx, "CONFIG SET maxmemory 1");

    assert_status(ILK_ESERVERMEMORY,
                  ilk_queue_push(NULL, queue, "x", 1, NULL, &err));
    assert_status(ILK_ESERVERMEMORY,
                  ilk_queue_reserve(&none, queue, 0, 0, &err));
    assert_status(ILK_ESERVERMEMORY, ilk_job_nack(second, 0, &err));
    ack(first);
    fixture_command(&fx, "CONFIG SET maxmemory 0");
    ack(second);
    assert_next(queue, "c");
    assert_int_equal(3, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_queue_free(queue);
}

/* ---- answers that get lost ---------------------------------------------- */

typedef struct lossy {
    proxy p;
    ilk_client *client;
    ilk_queue *queue;
} lossy;

static void begin(lossy *l)
{
    assert_int_equal(0, proxy_before_server(&l->p));
    l->client = open_client_at(l->p.url);
    l->queue = open_queue_at(l->client, "mail", 0, 0, 0);
    /* All scripts known, so that one command is one question. */
    push(l->queue, "warm");
    ack(reserve(l->queue, 0, 0));
}

static void finish(lossy *l)
{
    assert_int_equal(1, proxy_struck(&l->p));
    ilk_queue_free(l->queue);
    ilk_client_free(l->client);
    proxy_close(&l->p);
}

TEST(lost_reply_never_doubles_a_message)
{
    static lossy l;

    begin(&l);
    proxy_cut(&l.p, "queue:ready", 0);
    assert_int_equal(2, push(l.queue, "a"));

    assert_next(l.queue, "a");
    assert_empty(l.queue);
    finish(&l);
}

TEST(lost_reply_takes_no_message_twice)
{
    static lossy l;
    ilk_job *job;

    begin(&l);
    push(l.queue, "a");
    push(l.queue, "b");
    proxy_cut(&l.p, "queue:ready", 3);
    job = reserve(l.queue, 0, 0);

    assert_data(job, "a");
    assert_int_equal(1, count_of(l.queue, ILK_QUEUE_N_TAKEN));
    ack(job);
    assert_next(l.queue, "b");
    finish(&l);
}

TEST(lost_reply_to_an_ack_is_no_loss)
{
    static lossy l;
    ilk_error err = {0};
    ilk_job *job;

    begin(&l);
    push(l.queue, "a");
    job = reserve(l.queue, 0, 0);
    proxy_cut(&l.p, "queue:flight", 0);

    assert_status(ILK_OK, ilk_job_ack(job, &err));
    assert_int_equal(2, count_of(l.queue, ILK_QUEUE_N_FINISHED));
    ilk_job_free(job);
    finish(&l);
}

enum { LEASE_MS = 300 };

static void *resume_after_the_lease(void *none)
{
    fixture_sleep_ms(LEASE_MS + 1);
    fixture_resume(&fx);
    return none;
}

TEST(lost_ack_of_a_message_that_another_has_done_is_unknown)
{
    static lossy l;
    ilk_error err = {0};
    ilk_queue *other = open_queue_at(client, "mail", 0, 0, 0);
    pthread_t thread;
    ilk_job *late;
    const char *token;

    begin(&l);
    push(l.queue, "a");
    late = reserve(l.queue, 0, LEASE_MS);
    token = ilk_job_token(late);
    /* The lease ends on the server as after LEASE_MS; another consumer follows. */
    fixture_command(&fx, "ZADD ilk:queue:leases:{mail} 1 %.*s",
                    (int)strcspn(token, ":"), token);
    ack(reserve(other, 0, 0));

    /* The first copy is lost, the second one comes when the lease is over. */
    proxy_arm(&l.p, PROXY_LOSE, "queue:flight");
    fixture_pause(&fx);
    assert_int_equal(
        0, pthread_create(&thread, NULL, resume_after_the_lease, NULL));
    assert_status(ILK_EUNKNOWN, ilk_job_ack(late, &err));

    pthread_join(thread, NULL);
    ilk_job_free(late);
    ilk_queue_free(other);
    finish(&l);
}

TEST(lost_reply_to_a_pop_is_reported)
{
    static lossy l;
    ilk_error err = {0};
    ilk_job *job = NULL;

    begin(&l);
    push(l.queue, "a");
    push(l.queue, "b");
    proxy_cut(&l.p, "queue:ready", 0);

    assert_status(ILK_EUNKNOWN, ilk_queue_pop(&job, l.queue, 0, &err));
    assert_string_equal("no reply: a message may be lost with it", err.msg);
    assert_next(l.queue, "b");
    finish(&l);
}

static void *resume_soon(void *none)
{
    fixture_sleep_ms(100);
    fixture_resume(&fx);
    return none;
}

TEST(pop_awaits_the_reply_that_may_have_a_message)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *job = NULL;
    pthread_t thread;

    push(queue, "a");
    fixture_pause(&fx);
    assert_int_equal(0, pthread_create(&thread, NULL, resume_soon, NULL));
    assert_status(ILK_OK, ilk_queue_pop(&job, queue, 20, &err));

    pthread_join(thread, NULL);
    assert_data(job, "a");
    ilk_job_free(job);
    ilk_queue_free(queue);
}

/* The error may be another command's. A second copy would take a second message. */
TEST(pop_is_not_repeated_after_an_error_about_its_script)
{
    static const char error[] = "-NOSCRIPT No matching script.\r\n";
    static lossy l;
    ilk_error err = {0};
    ilk_job *job = NULL;

    begin(&l);
    push(l.queue, "a");
    push(l.queue, "b");
    proxy_replace(&l.p, "queue:ready", error, sizeof error - 1);

    assert_status(ILK_EUNKNOWN, ilk_queue_pop(&job, l.queue, 0, &err));
    assert_int_equal(1, count_of(l.queue, ILK_QUEUE_N_READY));
    fixture_command(&fx, "SCRIPT FLUSH"); /* the next one carries its source */
    assert_status(ILK_OK, ilk_queue_pop(&job, l.queue, 0, &err));
    assert_data(job, "b");
    ilk_job_free(job);
    finish(&l);
}

TEST(first_pop_of_a_client_needs_no_loaded_script)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    ilk_job *job = NULL;

    push(queue, "a");
    fixture_command(&fx, "SCRIPT FLUSH");
    assert_status(ILK_OK, ilk_queue_pop(&job, queue, 0, &err));
    assert_data(job, "a");
    ilk_job_free(job);
    ilk_queue_free(queue);
}
