/* SPDX-License-Identifier: MIT */
/* conf_queue.c -- the statements of the conformance table about queues. */
#include "conf_queue.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
    conf_queue *self;
    ilk_client *client;
    const conf_word *words;
    int count;
    ilk_error err;
} line;

static int is(const line *l, int index, const char *text)
{
    return index < l->count && strcmp(l->words[index].text, text) == 0;
}

static int64_t number(const line *l, int index)
{
    assert_true(index < l->count);
    return strtoll(l->words[index].text, NULL, 10);
}

/* The value of "key=value" among the words, or NULL. */
static const char *option(const line *l, const char *key, size_t *out_len)
{
    size_t len = strlen(key);

    for (int i = 2; i < l->count; i++)
        if (strncmp(l->words[i].text, key, len) == 0
            && l->words[i].text[len] == '=') {
            *out_len = l->words[i].len - len - 1;
            return l->words[i].text + len + 1;
        }
    return NULL;
}

/* The status that the line ends with; without one it is ILK_OK. */
static void expect(const line *l, ilk_status st)
{
    int told = l->count > 2 && is(l, l->count - 2, "->");

    assert_string_equal(told ? l->words[l->count - 1].text : "ILK_OK",
                        ilk_status_name(st));
}

static void expect_bytes(const line *l, int index, const char *data, size_t len)
{
    assert_true(index < l->count);
    assert_int_equal(l->words[index].len, len);
    assert_memory_equal(l->words[index].text, data, len);
}

static conf_queue_handle *find(conf_queue *self, const char *word)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->handles[i].word, word) == 0)
            return &self->handles[i];
    return NULL;
}

static conf_queue_handle *add(conf_queue *self, const char *word)
{
    conf_queue_handle *h = &self->handles[self->count++];

    assert_true(self->count <= CONF_QUEUE_HANDLES);
    snprintf(h->word, sizeof h->word, "%.63s", word);
    return h;
}

static void open_queue(line *l)
{
    conf_queue_handle *h = add(l->self, l->words[0].text);
    const void *names[CONF_QUEUE_HANDLES];
    size_t lens[CONF_QUEUE_HANDLES], count = 0, len;
    const char *value;
    ilk_queue_opts opts;

    ilk_queue_opts_init(&opts, sizeof opts);
    if ((value = option(l, "order", &len)) != NULL)
        opts.order =
            strcmp(value, "filo") == 0 ? ILK_QUEUE_FILO : ILK_QUEUE_FIFO;
    if ((value = option(l, "max_attempts", &len)) != NULL)
        opts.max_attempts = atoi(value);
    for (int i = 3; i < l->count && !strchr(l->words[i].text, '='); i++) {
        names[count] = l->words[i].text;
        lens[count++] = l->words[i].len;
    }
    expect(l, ilk_queue_open_many(&h->queue, l->client, names, lens, count,
                                  &opts, &l->err));
}

/* ---- queues ------------------------------------------------------------- */

static void push(line *l, ilk_queue *queue)
{
    const char *value;
    ilk_push_opts opts;
    size_t len;

    ilk_push_opts_init(&opts, sizeof opts);
    if ((value = option(l, "delay", &len)) != NULL)
        opts.delay_ms = atoll(value);
    opts.once = option(l, "once", &opts.once_len);
    expect(l, ilk_queue_push(NULL, queue, l->words[2].text, l->words[2].len,
                             &opts, &l->err));
}

static void pop(line *l, ilk_queue *queue)
{
    ilk_job *job = NULL;
    size_t len = 0;
    const char *data;

    expect(l, ilk_queue_pop(&job, queue, number(l, 2), &l->err));
    data = ilk_job_data(job, &len);
    if (job)
        expect_bytes(l, 3, data, len);
    ilk_job_free(job);
}

static void size(line *l, ilk_queue *queue)
{
    int64_t count = 0;
    ilk_status st = ilk_queue_size(&count, queue, &l->err);

    if (st)
        expect(l, st);
    else
        assert_int_equal(number(l, 3), count);
}

static void count_of(line *l, ilk_queue *queue)
{
    static const char *const names[] = {
        [ILK_QUEUE_N_READY] = "ready",       [ILK_QUEUE_N_DELAYED] = "delayed",
        [ILK_QUEUE_N_TAKEN] = "taken",       [ILK_QUEUE_N_DEAD] = "dead",
        [ILK_QUEUE_N_FINISHED] = "finished", [ILK_QUEUE_N_EXPIRED] = "expired",
        [ILK_QUEUE_N_RETURNED] = "returned", [ILK_QUEUE_N_BURIED] = "buried",
        [ILK_QUEUE_N_PURGED] = "purged",
    };
    ilk_queue_info *info = NULL;
    int32_t which = -1;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && is(l, 2, names[i]))
            which = (int32_t)i;
    assert_int_equal(ILK_OK, ilk_queue_inspect(&info, queue, &l->err));
    assert_int_equal(number(l, 4), ilk_queue_info_get(info, which));
    ilk_queue_info_free(info);
}

static void queue_line(line *l, ilk_queue *queue)
{
    int64_t count = 0;

    if (is(l, 1, "push")) {
        push(l, queue);
    } else if (is(l, 1, "pop")) {
        pop(l, queue);
    } else if (is(l, 1, "reserve")) {
        expect(l, ilk_queue_reserve(&add(l->self, l->words[2].text)->job, queue,
                                    number(l, 3), number(l, 4), &l->err));
    } else if (is(l, 1, "size")) {
        size(l, queue);
    } else if (is(l, 1, "count")) {
        count_of(l, queue);
    } else if (is(l, 1, "requeue")) {
        assert_int_equal(ILK_OK,
                         ilk_queue_requeue(&count, queue, 0, 0, &l->err));
        assert_int_equal(number(l, 3), count);
    } else if (is(l, 1, "purge")) {
        assert_int_equal(ILK_OK, ilk_queue_purge(&count, queue, 7, &l->err));
        assert_int_equal(number(l, 3), count);
    } else {
        fail_msg("a queue cannot \"%s\"", l->words[1].text);
    }
}

/* ---- jobs --------------------------------------------------------------- */

static void job_line(line *l, ilk_job *job)
{
    if (is(l, 1, "ack")) {
        expect(l, ilk_job_ack(job, &l->err));
    } else if (is(l, 1, "nack")) {
        expect(l, ilk_job_nack(job, number(l, 2), &l->err));
    } else if (is(l, 1, "bury")) {
        expect(l,
               ilk_job_bury(job, l->words[2].text, l->words[2].len, &l->err));
    } else if (is(l, 1, "extend")) {
        expect(l, ilk_job_extend(job, number(l, 2), &l->err));
    } else if (is(l, 1, "attempts")) {
        assert_int_equal(number(l, 3), ilk_job_attempts(job));
    } else {
        size_t len = 0;
        const char *data = ilk_job_data(job, &len);

        assert_true(is(l, 1, "data"));
        expect_bytes(l, 3, data, len);
    }
}

int conf_queue_line(conf_queue *self, ilk_client *client,
                    const conf_word *words, int count)
{
    line l = {self, client, words, count, {0, ""}};
    conf_queue_handle *h = find(self, words[0].text);

    if (is(&l, 1, "=") && (is(&l, 2, "queue") || is(&l, 2, "queues"))) {
        open_queue(&l);
        return 1;
    }
    if (!h)
        return 0;
    if (h->queue)
        queue_line(&l, h->queue);
    else
        job_line(&l, h->job);
    return 1;
}

void conf_queue_free(conf_queue *self)
{
    for (size_t i = 0; i < self->count; i++) {
        ilk_job_free(self->handles[i].job);
        ilk_queue_free(self->handles[i].queue);
    }
    memset(self, 0, sizeof *self);
}
