/* SPDX-License-Identifier: MIT */
/* conf_signal.c -- the conformance table's statements about signals. */
#include "conf_signal.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_error err;

static int is(const conf_word *word, const char *text)
{
    return strcmp(word->text, text) == 0;
}

/* The word behind "->"; NULL: there is none. */
static const conf_word *answer(const conf_word *words, int count)
{
    return count > 2 && is(&words[count - 2], "->") ? &words[count - 1] : NULL;
}

static void expect(const conf_word *words, int count, ilk_status st)
{
    const conf_word *wanted = answer(words, count);

    if (strcmp(ilk_status_name(st), wanted ? wanted->text : "ILK_OK") != 0)
        fail_msg("answers %s (%s)", ilk_status_name(st), err.msg);
}

static int names_a_status(const conf_word *words, int count)
{
    const conf_word *wanted = answer(words, count);

    return !wanted || strncmp(wanted->text, "ILK_", 4) == 0;
}

static ilk_signal *find(const conf_signal *self, const char *word)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->words[i], word) == 0)
            return self->handles[i];
    return NULL;
}

static int open_handle(conf_signal *self, ilk_client *client,
                       const conf_word *words, int count)
{
    size_t at = self->count++;
    ilk_signal_opts opts;

    assert_true(at < CONF_SIGNAL_HANDLES && count > 3);
    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = is(&words[2], "pattern") ? ILK_SIGNAL_PATTERN : 0;
    snprintf(self->words[at], sizeof self->words[at], "%.63s", words[0].text);
    expect(words, count,
           ilk_signal_open(&self->handles[at], client, words[3].text,
                           words[3].len, &opts, &err));
    return 1;
}

static void await_signal(ilk_signal *signal, const conf_word *words, int count)
{
    ilk_arrival *arrival = NULL;
    ilk_status st =
        ilk_signal_wait(&arrival, signal, atoll(words[2].text), &err);
    const conf_word *wanted = answer(words, count);
    const char *data;
    size_t len;

    if (names_a_status(words, count)) {
        expect(words, count, st);
    } else if (st) {
        fail_msg("answers %s (%s)", ilk_status_name(st), err.msg);
    } else {
        data = ilk_arrival_data(arrival, 0, &len);
        assert_int_equal(wanted->len, len);
        assert_memory_equal(wanted->text, data, len);
    }
    ilk_arrival_free(arrival);
}

static void give(ilk_signal *signal, const conf_word *words, int count)
{
    int64_t reached = -1;
    ilk_status st =
        (is(&words[1], "one") ? ilk_signal_notify_one : ilk_signal_notify_all)(
            &reached, signal, words[2].text, words[2].len, &err);

    if (names_a_status(words, count)) {
        expect(words, count, st);
        return;
    }
    if (st)
        fail_msg("answers %s (%s)", ilk_status_name(st), err.msg);
    assert_int_equal(atoll(answer(words, count)->text), reached);
}

static int await_several(const conf_signal *self, const conf_word *words,
                         int count)
{
    ilk_signal *signals[CONF_SIGNAL_HANDLES];
    ilk_arrival *arrival = NULL;
    size_t given = 0;

    for (int i = 2; i < count && !is(&words[i], "->"); i++)
        signals[given++] = find(self, words[i].text);
    expect(words, count,
           (is(&words[0], "any") ? ilk_signal_wait_any : ilk_signal_wait_all)(
               &arrival, signals, given, atoll(words[1].text), &err));
    ilk_arrival_free(arrival);
    return 1;
}

int conf_signal_line(conf_signal *self, ilk_client *client,
                     const conf_word *words, int count)
{
    ilk_signal *signal = find(self, words[0].text);

    if (count > 2 && is(&words[1], "="))
        return is(&words[2], "signal") || is(&words[2], "pattern")
                   ? open_handle(self, client, words, count)
                   : 0;
    if (count > 3 && (is(&words[0], "any") || is(&words[0], "both")))
        return await_several(self, words, count);
    if (!signal)
        return 0;
    if (is(&words[1], "listen"))
        expect(words, count, ilk_signal_listen(signal, &err));
    else if (is(&words[1], "cancel"))
        expect(words, count, ilk_signal_cancel(signal, &err));
    else if (is(&words[1], "wait"))
        await_signal(signal, words, count);
    else if (is(&words[1], "one") || is(&words[1], "all"))
        give(signal, words, count);
    else
        fail_msg("a signal cannot \"%s\"", words[1].text);
    return 1;
}

void conf_signal_free(conf_signal *self)
{
    for (size_t i = 0; i < self->count; i++)
        ilk_signal_free(self->handles[i]);
    memset(self, 0, sizeof *self);
}
