/* SPDX-License-Identifier: MIT */
/*
 * queue.c -- our side of the queue, in C: queue URL. Messages have 200 bytes;
 * it reads the lines
 *
 *     push BATCH MESSAGES     put them in, BATCH in a call
 *     take BATCH MESSAGES     take them, each call acknowledging what the one
 *                             before took
 *     delay BATCH MESSAGES    put them in, due in a millisecond
 *     wake 1 MESSAGES         from a push to the consumer that waited for it,
 *                             with clients of their own, one at a time
 */
#include "lines.h"

#include <interlock.h>
#include <pthread.h>

enum { BODY = 200, BATCH_MAX = ILK_QUEUE_BATCH_MAX, LEASE_MS = 60000 };

static char body[BODY];
static const void *bodies[BATCH_MAX];
static size_t body_lens[BATCH_MAX];

static void check(ilk_status status, const ilk_error *err)
{
    if (status)
        die("queue", err->msg);
}

static ilk_queue *open_queue(const char *url, ilk_client **out_client)
{
    ilk_queue *queue;
    ilk_error err;

    check(ilk_client_open(out_client, url, NULL, &err), &err);
    check(ilk_queue_open(&queue, *out_client, "bench", 5, NULL, &err), &err);
    return queue;
}

static void push(ilk_queue *queue, size_t batch, size_t messages,
                 int64_t delay_ms)
{
    ilk_push_opts opts;
    ilk_error err;

    ilk_push_opts_init(&opts, sizeof opts);
    opts.delay_ms = delay_ms;
    for (size_t done = 0; done < messages; done += batch)
        if (batch == 1)
            check(ilk_queue_push(NULL, queue, body, BODY, &opts, &err), &err);
        else
            check(ilk_queue_push_many(NULL, queue, bodies, body_lens, batch,
                                      &opts, &err),
                  &err);
}

/* The longest call, in microseconds. */
static double take(ilk_queue *queue, size_t batch, size_t messages)
{
    ilk_batch *before = NULL, *now = NULL;
    int64_t longest = 0;
    ilk_error err;

    for (size_t done = 0; done < messages; done += ilk_batch_count(before)) {
        int64_t began = now_ns(), spent;

        check(ilk_queue_reserve_many(&now, queue, (int32_t)batch, 5000,
                                     LEASE_MS, before, &err),
              &err);
        spent = now_ns() - began;
        longest = spent > longest ? spent : longest;
        ilk_batch_free(before);
        before = now;
    }
    check(ilk_batch_ack(before, &err), &err);
    ilk_batch_free(before);
    return (double)longest / 1000;
}

/* ---- from push to the one who waits ------------------------------------- */

typedef struct consumer {
    ilk_queue *queue;
    size_t messages;
    int64_t *times;
} consumer;

/* A message is the time of its push. */
static void *consume(void *arg)
{
    consumer *me = arg;

    for (size_t i = 0; i < me->messages; i++) {
        ilk_job *job = NULL;
        int64_t pushed;
        ilk_error err;

        check(ilk_queue_pop(&job, me->queue, -1, &err), &err);
        me->times[i] = now_ns();
        memcpy(&pushed, ilk_job_data(job, NULL), sizeof pushed);
        me->times[i] -= pushed;
        ilk_job_free(job);
    }
    return NULL;
}

static void wake(ilk_queue *producer, ilk_queue *waiting, size_t messages)
{
    consumer me = {waiting, messages, calloc(messages, sizeof(int64_t))};
    pthread_t thread;

    if (!me.times || pthread_create(&thread, NULL, consume, &me))
        die("queue", "out of memory");
    for (size_t i = 0; i < messages; i++) {
        struct timespec pause = {0, 3000000};
        int64_t now;
        ilk_error err;

        nanosleep(&pause, NULL); /* it waits again */
        now = now_ns();
        check(ilk_queue_push(NULL, producer, &now, sizeof now, NULL, &err),
              &err);
    }
    pthread_join(thread, NULL);
    printf("{\"messages\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           messages, percentile_us(me.times, messages, 0.5),
           percentile_us(me.times, messages, 0.99));
    fflush(stdout);
    free(me.times);
}

static void pass(ilk_queue *queue, const line *asked)
{
    size_t batch = (size_t)atol(asked->word[1]);
    size_t messages = (size_t)atol(asked->word[2]);
    double longest = 0, cpu = cpu_seconds();
    int64_t began = now_ns();

    if (batch < 1 || batch > BATCH_MAX || messages % batch)
        die("queue: no such batch", asked->word[1]);
    if (says(asked, "take"))
        longest = take(queue, batch, messages);
    else
        push(queue, batch, messages, says(asked, "delay"));
    printf("{\"messages\": %zu, \"per_s\": %.1f, \"longest_us\": %.1f,"
           " \"cpu_us\": %.3f}\n",
           messages, (double)messages * 1e9 / (double)(now_ns() - began),
           longest, (cpu_seconds() - cpu) * 1e6 / (double)messages);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    ilk_client *client, *other;
    ilk_queue *queue, *waiting;
    line asked;

    if (argc != 2)
        die("usage", "queue URL");
    for (size_t i = 0; i < BATCH_MAX; i++) {
        bodies[i] = body;
        body_lens[i] = BODY;
    }
    memset(body, 'x', BODY);
    queue = open_queue(argv[1], &client);
    answer("\"ready\"");
    while (hear(&asked)) {
        if (!says(&asked, "wake")) {
            pass(queue, &asked);
            continue;
        }
        waiting = open_queue(argv[1], &other);
        wake(queue, waiting, (size_t)atol(asked.word[2]));
        ilk_queue_free(waiting);
        ilk_client_free(other);
    }
    ilk_queue_free(queue);
    ilk_client_free(client);
    return 0;
}
