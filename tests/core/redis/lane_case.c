/* SPDX-License-Identifier: MIT */
/* lane_case.c -- what the tests of lanes share. */
#include "lane_case.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

ilk__lane *lane;
static ilk__url url;
static ilk__target target;

void lane_case_open(const char *text)
{
    ilk_error err = {0};

    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    target =
        (ilk__target){.url = &url, .name = "lane", .connect_timeout_ms = 2000};
    lane = ilk__lane_new(&target);
    assert_non_null(lane);
}

void lane_case_close(void)
{
    if (lane)
        ilk__lane_shut(lane);
    ilk__lane_free(lane);
    ilk__url_free(&url);
    lane = NULL;
}

ilk__traffic lane_case_traffic(void)
{
    ilk__traffic traffic = {0};

    ilk__lane_add_traffic(lane, &traffic);
    return traffic;
}

static void add_words(ilk__command *command, const char *words)
{
    ilk__command_init(command);
    while (*words) {
        size_t len = strcspn(words, " ");

        ilk__command_add(command, words, len);
        words += len + (words[len] == ' ');
    }
}

static void keep_answer(asker *self, const ilk__reply *reply)
{
    self->answer[0] = '\0';
    if (!reply)
        return;
    if (reply->type == ILK__REPLY_INT)
        snprintf(self->answer, sizeof self->answer, "%" PRId64, reply->num);
    else if (reply->type == ILK__REPLY_STR || reply->type == ILK__REPLY_ERROR)
        snprintf(self->answer, sizeof self->answer, "%s", reply->str);
}

void asker_run(asker *self)
{
    int64_t begin = ilk__now_ms();
    ilk__command command;
    ilk__lane_call call = {
        .command = &command,
        .deadline = ilk__deadline(self->timeout_ms),
        .patience = ilk__deadline(self->patience_ms ? self->patience_ms : 5000),
        .pauses_until = ILK__FOREVER,
    };

    add_words(&command, self->words);
    if (self->much)
        ilk__command_add(&command, self->much, self->much_len);
    memset(&self->err, 0, sizeof self->err);
    self->status = ilk__lane_call_run(lane, &call, &self->err);
    self->may_have_run = call.may_have_run;
    keep_answer(self, call.reply);
    ilk__reply_free(call.reply);
    ilk__command_free(&command);
    self->took_ms = ilk__now_ms() - begin;
}

static void *run(void *context)
{
    asker_run(context);
    return NULL;
}

void asker_start(asker *self)
{
    assert_int_equal(pthread_create(&self->thread, NULL, run, self), 0);
}

void asker_start_in_turn(asker *self)
{
    int64_t before = lane_case_traffic().commands;
    int64_t limit = fixture_now_ms() + 5000;

    asker_start(self);
    while (lane_case_traffic().commands == before) {
        assert_true(fixture_now_ms() < limit);
        fixture_sleep_ms(1);
    }
}

void asker_join(asker *self)
{
    assert_int_equal(pthread_join(self->thread, NULL), 0);
}

const char *lane_ask(const char *words)
{
    static asker self;

    self = (asker){.words = words, .timeout_ms = 5000};
    asker_run(&self);
    return self.status ? ilk_status_name(self.status) : self.answer;
}

ilk_status lane_tell(const char *words)
{
    ilk__command command;
    ilk_status st;

    add_words(&command, words);
    st = ilk__lane_send_only(lane, &command, NULL, NULL);
    ilk__command_free(&command);
    return st;
}
