/* SPDX-License-Identifier: MIT */
/* ct_queue.c -- pushing, popping, looking, on a server. */
#include "queue_case.h"

#include <stdlib.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

/* ---- what goes in comes out --------------------------------------------- */

TEST(messages_come_out_in_order)
{
    ilk_queue *queue = open_queue("mail");

    assert_int_equal(1, push(queue, "a"));
    assert_int_equal(2, push(queue, "b"));

    assert_next(queue, "a");
    assert_next(queue, "b");
    assert_empty(queue);
    ilk_queue_free(queue);
}

TEST(filo_gives_the_newest_first)
{
    ilk_queue *queue = open_queue_at(client, "pile", ILK_QUEUE_FILO, 0, 0);

    push(queue, "a");
    push(queue, "b");

    assert_next(queue, "b");
    assert_next(queue, "a");
    ilk_queue_free(queue);
}

TEST(other_order_is_refused)
{
    ilk_queue *queue = open_queue("mail");
    ilk_queue *pile = open_queue_at(client, "mail", ILK_QUEUE_FILO, 0, 0);
    ilk_job *job = NULL;
    ilk_error err = {0};

    push(queue, "a");

    assert_status(ILK_EDIFFERS, ilk_queue_push(NULL, pile, "b", 1, NULL, &err));
    assert_string_equal("the queue is fifo, not filo", err.msg);
    assert_status(ILK_EDIFFERS, ilk_queue_reserve(&job, pile, 0, 0, &err));
    assert_status(ILK_EDIFFERS, ilk_queue_reserve(&job, pile, -1, 0, &err));
    assert_null(job);
    ilk_queue_free(pile);
    ilk_queue_free(queue);
}

TEST(any_bytes_come_back)
{
    ilk_queue *queue = open_queue("mail");
    char *large = calloc(1, ILK_QUEUE_DATA_MAX + 1);
    ilk_job *job = NULL;
    ilk_error err = {0};
    size_t len = 0;

    memset(large, 'x', ILK_QUEUE_DATA_MAX);
    memcpy(large, "\0\r\n\xff", 4);
    assert_status(ILK_OK, ilk_queue_push(NULL, queue, NULL, 0, NULL, &err));
    assert_status(ILK_OK, ilk_queue_push(NULL, queue, large, ILK_QUEUE_DATA_MAX,
                                         NULL, &err));
    assert_status(
        ILK_EINVAL,
        ilk_queue_push(NULL, queue, large, ILK_QUEUE_DATA_MAX + 1, NULL, &err));
    assert_string_equal("data must have at most 1048576 bytes, got 1048577",
                        err.msg);

    assert_next(queue, "");
    assert_status(ILK_OK, ilk_queue_pop(&job, queue, 0, &err));
    assert_memory_equal(large, ilk_job_data(job, &len), ILK_QUEUE_DATA_MAX);
    assert_int_equal(ILK_QUEUE_DATA_MAX, len);
    ilk_job_free(job);
    free(large);
    ilk_queue_free(queue);
}

TEST(long_messages_come_in_batches_that_fit)
{
    ilk_queue *queue = open_queue("mail");
    char *large = calloc(1, ILK_QUEUE_DATA_MAX);
    ilk_batch *batch = NULL;
    ilk_error err = {0};
    size_t seen = 0;

    for (int i = 0; i < 20; i++)
        assert_status(ILK_OK, ilk_queue_push(NULL, queue, large,
                                             ILK_QUEUE_DATA_MAX, NULL, &err));
    while (seen < 20) {
        assert_status(ILK_OK, ilk_queue_reserve_many(&batch, queue, 20, 0, 0,
                                                     NULL, &err));
        seen += ilk_batch_count(batch);
        assert_status(ILK_OK, ilk_batch_ack(batch, &err));
        ilk_batch_free(batch);
    }
    assert_int_equal(20, seen);
    assert_int_equal(20, count_of(queue, ILK_QUEUE_N_FINISHED));
    free(large);
    ilk_queue_free(queue);
}

TEST(pop_takes_for_good)
{
    ilk_queue *queue = open_queue("mail");
    ilk_job *job = NULL;
    ilk_error err = {0};

    push(queue, "a");
    assert_status(ILK_OK, ilk_queue_pop(&job, queue, 0, &err));

    assert_data(job, "a");
    assert_int_equal(1, ilk_job_attempts(job)); /* it is a delivery */
    assert_int_equal(0, ilk_job_remaining_ms(job));
    assert_status(ILK_ENOTOWNER, ilk_job_ack(job, &err));
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_FINISHED));
    ilk_job_free(job);
    ilk_queue_free(queue);
}

TEST(many_are_pushed_together)
{
    const void *data[] = {"a", "bb", ""};
    const size_t lens[] = {1, 2, 0};
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    int64_t first = 0;

    assert_status(
        ILK_OK, ilk_queue_push_many(&first, queue, data, lens, 3, NULL, &err));

    assert_int_equal(1, first);
    assert_next(queue, "a");
    assert_next(queue, "bb");
    assert_next(queue, "");
    ilk_queue_free(queue);
}

TEST(request_id_makes_a_push_happen_once)
{
    ilk_queue *queue = open_queue("mail");
    ilk_push_opts opts;
    ilk_error err = {0};
    int64_t first = 0, second = 0;

    ilk_push_opts_init(&opts, sizeof opts);
    opts.once = "order 7\0x";
    opts.once_len = 9;
    assert_status(ILK_OK, ilk_queue_push(&first, queue, "a", 1, &opts, &err));
    push(queue, "b");
    assert_status(ILK_OK, ilk_queue_push(&second, queue, "a", 1, &opts, &err));

    assert_int_equal(first, second);
    assert_next(queue, "a");
    assert_next(queue, "b");
    assert_empty(queue);
    ilk_queue_free(queue);
}

TEST(delayed_message_comes_when_it_is_due)
{
    ilk_queue *queue = open_queue("mail");
    int64_t began = fixture_now_ms();
    ilk_push_opts opts;
    ilk_error err = {0};

    ilk_push_opts_init(&opts, sizeof opts);
    opts.delay_ms = 150;
    assert_status(ILK_OK, ilk_queue_push(NULL, queue, "a", 1, &opts, &err));
    assert_empty(queue);
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_DELAYED));

    ack(reserve(queue, patience(5000), 0));
    assert_in_range(fixture_now_ms() - began, 148, patience(400));
    ilk_queue_free(queue);
}

/* ---- several queues ----------------------------------------------------- */

TEST(first_queue_that_has_something_is_served)
{
    const void *names[] = {"high", "low"};
    const size_t lens[] = {4, 3};
    ilk_queue *high = open_queue("high"), *low = open_queue("low"),
              *both = NULL;
    ilk_error err = {0};
    ilk_job *job;

    assert_status(
        ILK_OK, ilk_queue_open_many(&both, client, names, lens, 2, NULL, &err));
    push(low, "l");
    push(high, "h");

    job = reserve(both, 0, 0);
    assert_string_equal("high", ilk_job_queue(job, NULL));
    ack(job);
    job = reserve(both, -1, 0);
    assert_string_equal("low", ilk_job_queue(job, NULL));
    ack(job);
    assert_empty(both);
    assert_status(ILK_EINVAL, ilk_queue_push(NULL, both, "x", 1, NULL, &err));
    assert_string_equal("a handle for 2 queues can only take from them",
                        err.msg);
    ilk_queue_free(both);
    ilk_queue_free(high);
    ilk_queue_free(low);
}

/* ---- looking ------------------------------------------------------------ */

TEST(size_is_what_can_be_taken_now)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    int64_t size = -1;
    ilk_job *job;

    push(queue, "a");
    push(queue, "b");
    job = reserve(queue, 0, 0);

    assert_status(ILK_OK, ilk_queue_size(&size, queue, &err));
    assert_int_equal(1, size);
    assert_int_equal(1, count_of(queue, ILK_QUEUE_N_TAKEN));
    ilk_job_free(job);
    ilk_queue_free(queue);
}

TEST(dead_are_looked_at_and_put_back)
{
    ilk_queue *queue = open_queue("mail");
    ilk_job *job;
    ilk_batch *dead = NULL;
    ilk_error err = {0};
    int64_t count = 0;
    size_t len = 0;

    push(queue, "a");
    job = reserve(queue, 0, 0);
    assert_status(ILK_OK, ilk_job_bury(job, "why\0so", 6, &err));
    ilk_job_free(job);
    assert_status(ILK_OK,
                  ilk_queue_peek(&dead, queue, ILK_QUEUE_DEAD, 0, 10, &err));
    assert_int_equal(1, ilk_batch_count(dead));
    assert_status(ILK_OK, ilk_batch_job(&job, dead, 0, &err));
    ilk_batch_free(dead);

    assert_data(job, "a");
    assert_memory_equal("why\0so", ilk_job_reason(job, &len), 7);
    assert_int_equal(6, len);
    assert_int_equal(1, ilk_job_attempts(job));
    assert_status(ILK_ENOTOWNER, ilk_job_ack(job, &err));
    assert_status(ILK_OK,
                  ilk_queue_requeue(&count, queue, ilk_job_id(job), 0, &err));
    assert_int_equal(1, count);
    assert_next(queue, "a");
    ilk_job_free(job);
    ilk_queue_free(queue);
}

TEST(purge_throws_away)
{
    ilk_queue *queue = open_queue("mail");
    ilk_error err = {0};
    int64_t count = 0;

    push(queue, "a");
    push(queue, "b");

    assert_status(ILK_OK,
                  ilk_queue_purge(&count, queue, ILK_QUEUE_READY, &err));
    assert_int_equal(2, count);
    assert_empty(queue);
    assert_status(ILK_EINVAL, ilk_queue_purge(&count, queue, 8, &err));
    ilk_queue_free(queue);
}

/* ---- what is refused ---------------------------------------------------- */

TEST(bad_options_are_refused)
{
    static const struct {
        ilk_queue_opts opts;
        const char *text;
    } bad[] = {
        {{.order = 2}, "unknown order 2"},
        {{.max_attempts = -2}, "max_attempts must be -1 or more, got -2"},
        {{.once_ms = -1}, "once_ms must be 0 to 604800000, got -1"},
        {{.data_max = 1 << 21}, "data_max must be 0 to 1048576, got 2097152"},
        {{.flags = 8}, "unknown queue flags 0x8"},
    };
    ilk_queue *queue = NULL;
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ilk_queue_opts opts = bad[i].opts;

        opts.size = sizeof opts;
        assert_status(ILK_EINVAL,
                      ilk_queue_open(&queue, client, "q", 1, &opts, &err));
        assert_string_equal(bad[i].text, err.msg);
        assert_null(queue);
    }
    assert_status(ILK_EINVAL,
                  ilk_queue_open(&queue, client, "", 0, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_queue_open(&queue, client, "ilk:x", 5, NULL, &err));
}

TEST(bad_arguments_are_refused)
{
    const void *twice[] = {"a", "a"};
    const size_t lens[] = {1, 1};
    ilk_queue *queue = open_queue("q"), *none = NULL;
    ilk_batch *batch = NULL;
    ilk_push_opts opts;
    ilk_error err = {0};
    ilk_job *job = NULL;

    ilk_push_opts_init(&opts, sizeof opts);
    opts.delay_ms = -1;
    assert_status(ILK_EINVAL, ilk_queue_push(NULL, queue, "a", 1, &opts, &err));
    opts = (ilk_push_opts){.size = sizeof opts, .once = "", .once_len = 0};
    assert_status(ILK_EINVAL, ilk_queue_push(NULL, queue, "a", 1, &opts, &err));
    assert_status(ILK_EINVAL, ilk_queue_push(NULL, queue, NULL, 1, NULL, &err));
    assert_status(ILK_EINVAL, ilk_queue_push(NULL, NULL, "a", 1, NULL, &err));
    assert_status(ILK_EINVAL, ilk_queue_reserve(&job, queue, 0, -1, &err));
    assert_status(ILK_EINVAL, ilk_queue_reserve(&job, queue, -2, 0, &err));
    assert_status(ILK_EINVAL, ilk_queue_pop(&job, queue, -5, &err));
    assert_status(ILK_EINVAL, ilk_queue_reserve(&job, queue, 0, 2, &err));
    assert_string_equal("lease_ms must be 3 to 31622400000 (0: the default), "
                        "got 2",
                        err.msg);
    assert_status(ILK_EINVAL, ilk_queue_reserve(NULL, queue, 0, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_queue_reserve_many(&batch, queue, 257, 0, 0, NULL, &err));
    assert_status(ILK_EINVAL, ilk_queue_peek(&batch, queue, 3, 0, 1, &err));
    assert_status(ILK_EINVAL, ilk_queue_open_many(&none, client, twice, lens, 2,
                                                  NULL, &err));
    assert_string_equal("a queue is named twice: \"a\"", err.msg);
    ilk_queue_free(queue);
    ilk_queue_free(NULL);
    ilk_job_free(NULL);
    ilk_batch_free(NULL);
}

TEST(wrong_type_is_refused)
{
    ilk_queue *queue = open_queue("q");
    ilk_job *job = NULL;
    ilk_error err = {0};

    assert_string_equal("OK",
                        fixture_command(&fx, "SET ilk:queue:ready:{q} x"));

    assert_status(ILK_ETYPE, ilk_queue_push(NULL, queue, "a", 1, NULL, &err));
    assert_status(ILK_ETYPE, ilk_queue_reserve(&job, queue, 0, 0, &err));
    assert_status(ILK_ETYPE, ilk_queue_reserve(&job, queue, 1000, 0, &err));
    assert_status(ILK_ETYPE, ilk_queue_pop(&job, queue, 0, &err));
    ilk_queue_free(queue);
}
