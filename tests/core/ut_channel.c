/* SPDX-License-Identifier: MIT */
/* ut_channel.c -- listening to channels and patterns. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "alloc.h"
#include "channel_inside.h"
#include "clock.h"
#include "desk_case.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"

static ilk__listener a, b;
static ilk__op op;
static ilk_error err;

static int setup(void **state)
{
    int failed = desk_case_setup(state);

    inbox_ear.link.up = replica_ear.link.up = 1;
    (void)ilk__listener_init(&a, &desk, NULL);
    (void)ilk__listener_init(&b, &desk, NULL);
    ilk__op_init(&op, &ilk__listen_op, &a, 0, &err);
    return failed;
}

static int teardown(void **state)
{
    ilk__listener_destroy(&a);
    ilk__listener_destroy(&b);
    ilk__op_free(&op);
    return desk_case_teardown(state);
}

static void join(ilk__listener *listener, const char *name, int is_pattern,
                 int letters)
{
    const ilk__channel_of to = {.name = name,
                                .len = strlen(name),
                                .is_pattern = is_pattern,
                                .letters = letters};

    ilk__desk_lock(&desk);
    assert_int_equal(ilk__listener_join(listener, &to), ILK_OK);
    ilk__desk_unlock(&desk);
}

/* Let the inbox see what is wanted: all that an ear says, in one line. */
static const char *says(ilk__ear *ear)
{
    static char text[1024];
    size_t len;

    ilk__desk_lock(&desk);
    if (ear->link.up)
        ilk__inbox_channels(&desk, ear);
    ilk__channels_sweep(&desk);
    ilk__desk_unlock(&desk);
    len = ilk__buf_len(&ear->link.out);
    assert_true(len < sizeof text);
    if (len)
        memcpy(text, ilk__buf_data(&ear->link.out), len);
    text[len] = '\0';
    ilk__buf_take(&ear->link.out, len);
    return text;
}

static void confirm(ilk__ear *ear, const char *word, const char *name)
{
    char text[256];

    snprintf(text, sizeof text, ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:1\r\n",
             strlen(word), word, strlen(name), name);
    hears = ear;
    inbox_hears_raw(text);
}

static void publish(ilk__ear *ear, const char *pattern, const char *channel,
                    const char *data)
{
    char text[512];
    int used = 0;

    if (pattern)
        used = snprintf(text, sizeof text, ">4\r\n$8\r\npmessage\r\n$%zu\r\n%s",
                        strlen(pattern), pattern);
    else
        used = snprintf(text, sizeof text, ">3\r\n$7\r\nmessage");
    snprintf(text + used, sizeof text - (size_t)used,
             "\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(channel), channel,
             strlen(data), data);
    hears = ear;
    inbox_hears_raw(text);
}

/* All that a listener has heard: "<channel>=<data>;" for each. */
static const char *heard(ilk__listener *listener)
{
    static char text[1024];
    ilk__heard *h;
    size_t used = 0;

    text[0] = '\0';
    while ((h = ilk__listener_take(listener))) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s;",
                                 (int)h->channel_len, h->channel,
                                 (int)h->data_len, h->data);
        ilk__heard_free(h);
    }
    return text;
}

static ilk__act wait_for(int message, int64_t timeout_ms)
{
    a.awaits_message = message;
    ilk__op_free(&op);
    ilk__error_clear(&err);
    ilk__op_init(&op, &ilk__listen_op, &a, __wrap_ilk__deadline(timeout_ms),
                 &err);
    return op_start(&op);
}

#define SUBSCRIBE_NEWS "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n"
#define UNSUBSCRIBE_NEWS "*2\r\n$11\r\nUNSUBSCRIBE\r\n$4\r\nnews\r\n"

/* ---- subscribing -------------------------------------------------------- */

static void it_is_asked_for_once_and_begins_when_confirmed(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    join(&b, "news", 0, 0);
    assert_int_equal(wait_for(0, 8000), ILK__ACT_SLEEP);
    assert_string_equal(says(&inbox_ear), SUBSCRIBE_NEWS);
    assert_string_equal(says(&inbox_ear), "");
    assert_string_equal(says(&replica_ear), ""); /* copies have no id */
    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);

    confirm(&inbox_ear, "subscribe", "news");

    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_OK);
}

static void the_last_one_takes_it_back(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    join(&b, "news", 0, 0);
    (void)says(&inbox_ear);
    confirm(&inbox_ear, "subscribe", "news");

    ilk__listen_end(&a);
    assert_string_equal(says(&inbox_ear), "");
    ilk__listen_end(&b);
    assert_string_equal(says(&inbox_ear), UNSUBSCRIBE_NEWS);

    confirm(&inbox_ear, "unsubscribe", "news");
    assert_int_equal(desk.channels.count, 0);
}

/* The first answer is that of a subscription which was taken back since. */
static void asked_for_twice_it_begins_with_the_second_answer(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    (void)says(&inbox_ear);
    ilk__listen_end(&a);
    assert_string_equal(says(&inbox_ear), UNSUBSCRIBE_NEWS);
    join(&a, "news", 0, 0);
    assert_string_equal(says(&inbox_ear), SUBSCRIBE_NEWS);
    assert_int_equal(wait_for(0, 8000), ILK__ACT_SLEEP);

    confirm(&inbox_ear, "subscribe", "news");
    confirm(&inbox_ear, "unsubscribe", "news");
    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    confirm(&inbox_ear, "subscribe", "news");

    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
}

static void a_reconnect_asks_again_and_is_a_gap(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    (void)says(&inbox_ear);
    confirm(&inbox_ear, "subscribe", "news");
    assert_int_equal(wait_for(1, -1), ILK__ACT_SLEEP);

    inbox_ear.link.up = 0;
    ilk__inbox_lost(&desk, &inbox_ear);
    assert_int_equal(a.gaps, 1);
    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    assert_true(op.wake_at < ILK__FOREVER); /* it is not away for ever */
    inbox_ear.link.up = 1;
    ilk__inbox_came_up(&desk, &inbox_ear);

    assert_non_null(strstr(says(&inbox_ear), SUBSCRIBE_NEWS));
}

static void away_for_a_minute_is_told(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    assert_int_equal(wait_for(0, -1), ILK__ACT_SLEEP);

    local_ms = op.wake_at;
    assert_int_equal(op_wake(&op, ILK__CAUSE_TIME), ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_ECONN);
}

static void a_refusal_is_told_to_its_listeners_alone(void **state)
{
    const char *words;

    (void)state;
    join(&a, "news", 0, 0);
    join(&b, "other", 0, 0);
    assert_int_equal(wait_for(0, -1), ILK__ACT_SLEEP);
    words = says(&inbox_ear); /* in which order is the table's business */
    if (strstr(words, "other") < strstr(words, "news"))
        confirm(&inbox_ear, "subscribe", "other");
    inbox_hears_raw("-NOPERM no channel\r\n");
    if (ilk__buf_len(&inbox_ear.asked))
        confirm(&inbox_ear, "subscribe", "other");
    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_EAUTH);
    assert_non_null(strstr(err.msg, "NOPERM"));
    assert_int_equal(desk.inbox, ILK__INBOX_READY);
    assert_true(ilk__channel_is_heard(b.channel));
    assert_string_equal(says(&inbox_ear), ""); /* not asked once more */
}

static void a_replica_that_refuses_is_not_asked_again(void **state)
{
    (void)state;
    join(&a, "news", 0, 1);
    (void)says(&inbox_ear);
    confirm(&inbox_ear, "subscribe", "news");
    assert_string_equal(says(&replica_ear), SUBSCRIBE_NEWS);
    hears = &replica_ear;
    inbox_hears_raw("-NOPERM no channel\r\n");

    assert_string_equal(says(&replica_ear), "");
    assert_int_equal(wait_for(0, -1), ILK__ACT_DONE); /* the server's will do */
    assert_int_equal(op.status, ILK_OK);
    ilk__inbox_lost(&desk, &replica_ear);
    assert_string_equal(says(&replica_ear), SUBSCRIBE_NEWS);
}

static void who_comes_behind_a_refusal_has_it_asked_for(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    (void)says(&inbox_ear);
    inbox_hears_raw("-NOPERM no channel\r\n");
    assert_int_equal(wait_for(0, -1), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_EAUTH);
    ilk__listen_end(&a);

    join(&b, "news", 0, 0);

    assert_string_equal(says(&inbox_ear), SUBSCRIBE_NEWS);
}

static void a_refused_inbox_is_told(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    assert_int_equal(wait_for(0, -1), ILK__ACT_SLEEP);

    desk.inbox = ILK__INBOX_REFUSED;
    ilk__fail(&desk.inbox_error, ILK_EAUTH, "WRONGPASS");
    local_ms++;
    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(op.status, ILK_EAUTH);
}

/* ---- messages ----------------------------------------------------------- */

static void each_listener_hears_each_message_in_order(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    join(&b, "news", 0, 0);
    (void)says(&inbox_ear);
    assert_int_equal(wait_for(1, -1), ILK__ACT_SLEEP);

    publish(&inbox_ear, NULL, "news", "one");
    publish(&inbox_ear, NULL, "other", "no");
    publish(&inbox_ear, NULL, "news", "");

    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_string_equal(heard(&a), "news=one;news=;");
    assert_string_equal(heard(&b), "news=one;news=;");
}

static void a_pattern_hears_all_that_match(void **state)
{
    (void)state;
    join(&a, "jobs.*", 1, 0);
    assert_string_equal(says(&inbox_ear),
                        "*2\r\n$10\r\nPSUBSCRIBE\r\n$6\r\njobs.*\r\n");
    confirm(&inbox_ear, "psubscribe", "jobs.*");

    publish(&inbox_ear, "jobs.*", "jobs.red", "1");
    publish(&inbox_ear, "jobs.*", "jobs.blue", "2");
    publish(&inbox_ear, NULL, "jobs.*", "a channel of that name");
    assert_string_equal(heard(&a), "jobs.red=1;jobs.blue=2;");

    ilk__listen_end(&a);
    assert_string_equal(says(&inbox_ear),
                        "*2\r\n$12\r\nPUNSUBSCRIBE\r\n$6\r\njobs.*\r\n");
}

static void a_letter_is_heard_once_of_all_ears(void **state)
{
    static const char one[] = "1 notify 0 id1 3 redgo";

    (void)state;
    join(&a, "jobs.*", 1, 1);
    join(&b, "*", 1, 1);
    (void)says(&inbox_ear);
    assert_non_null(strstr(says(&replica_ear), "jobs.*"));

    publish(&replica_ear, "jobs.*", "jobs.red", one);
    publish(&inbox_ear, "jobs.*", "jobs.red", one);
    publish(&inbox_ear, "*", "jobs.red", one); /* for the other pattern */
    publish(&inbox_ear, "jobs.*", "jobs.red", "no letter");

    assert_int_equal(a.count, 1);
    assert_string_equal(a.first->letter.signal, "id1");
    assert_memory_equal(a.first->letter.data, "go", 2);
    assert_string_equal(heard(&a), "jobs.red=1 notify 0 id1 3 redgo;");
    assert_int_equal(b.count, 1);
}

static void what_is_no_letter_is_the_servers_own_to_tell(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    join(&b, "news", 0, 1);
    (void)says(&inbox_ear);
    (void)says(&replica_ear);

    publish(&replica_ear, NULL, "news", "one");
    publish(&inbox_ear, NULL, "news", "one");

    assert_string_equal(heard(&a), "news=one;");
    assert_string_equal(heard(&b), "");
}

static void the_oldest_goes_when_nobody_takes_them(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    (void)says(&inbox_ear);
    publish(&inbox_ear, NULL, "news", "first");
    for (int i = 0; i < ILK__HEARD_MAX; i++)
        publish(&inbox_ear, NULL, "news", "x");

    assert_int_equal(a.count, ILK__HEARD_MAX);
    assert_int_equal(a.lost, 1);
    assert_memory_equal(a.first->data, "x", 2);
}

/* ---- memory ------------------------------------------------------------- */

/* A letter, of which the nth allocation fails. */
static void hear_letter_failing(long nth)
{
    const ilk__reply *reply =
        op_case_reply(">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$20\r\n"
                      "1 notify 0 id1 3 red\r\n");

    ilk__alloc_fail_at(nth);
    ilk__inbox_reply(&desk, &inbox_ear, reply);
    ilk__alloc_fail_at(0);
}

static void without_memory_nothing_is_half_done(void **state)
{
    const ilk__channel_of to = {.name = "news", .len = 4, .letters = 1};
    ilk_status st = ILK_ENOMEM;

    (void)state;
    for (long nth = 1; st; nth++) {
        assert_true(nth < 20);
        ilk__alloc_fail_at(nth);
        st = ilk__listener_join(&a, &to);
        ilk__alloc_fail_at(0);
        assert_int_equal(st ? ILK_ENOMEM : ILK_OK, st);
        assert_true(st ? !a.channel : a.channel != NULL);
    }
    (void)says(&inbox_ear);
    for (long nth = 1; a.count == 0; nth++) {
        assert_true(nth < 20);
        hear_letter_failing(nth);
        ilk__recent_free(&desk.recent); /* not the copy of one not heard */
    }
    assert_int_equal(a.count, 1);
}

/* ---- the end of a wait -------------------------------------------------- */

static void time_signal_cancel_and_close_end_a_wait(void **state)
{
    (void)state;
    join(&a, "news", 0, 0);
    (void)says(&inbox_ear);
    confirm(&inbox_ear, "subscribe", "news");

    assert_int_equal(wait_for(1, 0), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_ETIMEOUT);
    assert_int_equal(wait_for(1, -1), ILK__ACT_SLEEP);
    assert_int_equal(op.wake_at, ILK__FOREVER);
    assert_int_equal(op_wake(&op, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_EINTR);
    assert_int_equal(wait_for(1, -1), ILK__ACT_SLEEP);
    ilk__listen_cancel(&a);
    assert_int_equal(op_wake(&op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_ECANCELLED);
    assert_int_equal(wait_for(1, -1), ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&op, ILK__CAUSE_CLOSED), ILK__ACT_DONE);
    assert_int_equal(op.status, ILK_ECLOSED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_asked_for_once_and_begins_when_confirmed),
        TEST(the_last_one_takes_it_back),
        TEST(asked_for_twice_it_begins_with_the_second_answer),
        TEST(a_reconnect_asks_again_and_is_a_gap),
        TEST(away_for_a_minute_is_told),
        TEST(a_refusal_is_told_to_its_listeners_alone),
        TEST(a_replica_that_refuses_is_not_asked_again),
        TEST(who_comes_behind_a_refusal_has_it_asked_for),
        TEST(a_refused_inbox_is_told),
        TEST(without_memory_nothing_is_half_done),
        TEST(each_listener_hears_each_message_in_order),
        TEST(a_pattern_hears_all_that_match),
        TEST(a_letter_is_heard_once_of_all_ears),
        TEST(what_is_no_letter_is_the_servers_own_to_tell),
        TEST(the_oldest_goes_when_nobody_takes_them),
        TEST(time_signal_cancel_and_close_end_a_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
