/* SPDX-License-Identifier: MIT */
/* ut_channel_messages.c -- what is received on channels and patterns. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "base/alloc.h"
#include "channel_case.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

AROUND_EACH(channel_setup, channel_teardown);

/* ---- messages ----------------------------------------------------------- */

TEST(each_listener_receives_each_message_in_order)
{
    listener_join(&listener_one, "news", 0, 0);
    listener_join(&listener_two, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    assert_int_equal(listener_wait(1, -1), ILK__ACT_SLEEP);

    subscriber_receives(&inbox_subscriber, NULL, "news", "one");
    subscriber_receives(&inbox_subscriber, NULL, "other", "no");
    subscriber_receives(&inbox_subscriber, NULL, "news", "");

    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_string_equal(listener_received(&listener_one), "news=one;news=;");
    assert_string_equal(listener_received(&listener_two), "news=one;news=;");
}

TEST(messages_published_before_it_began_are_not_received)
{
    listener_join(&listener_one, "jobs.*", 1, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "psubscribe", "jobs.*");
    listener_join(&listener_two, "jobs.*", 1, 0);

    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "1");
    assert_string_equal(subscriber_sends(&inbox_subscriber),
                        "*2\r\n$10\r\nPSUBSCRIBE\r\n$6\r\njobs.*\r\n");
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "2");
    subscriber_confirms(&inbox_subscriber, "psubscribe", "jobs.*");
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "3");

    assert_string_equal(listener_received(&listener_one),
                        "jobs.red=1;jobs.red=2;jobs.red=3;");
    assert_string_equal(listener_received(&listener_two), "jobs.red=3;");
}

/* The unsubscription is under way when it joins, and so may be a message. */
TEST(nor_when_the_last_one_has_just_left)
{
    listener_join(&listener_one, "jobs.*", 1, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "psubscribe", "jobs.*");
    ilk__listen_end(&listener_one);
    (void)subscriber_sends(&inbox_subscriber);
    listener_join(&listener_one, "jobs.*", 1, 0);

    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "1");
    subscriber_confirms(&inbox_subscriber, "punsubscribe", "jobs.*");
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "psubscribe", "jobs.*");
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "2");

    assert_string_equal(listener_received(&listener_one), "jobs.red=2;");
}

/* The replica confirms and sends first; the primary's copy would be lost if the
 * listener began with the primary's confirmation. */
TEST(a_message_of_a_replica_is_not_lost)
{
    static const char first[] = "1 notify 0.- id1 3 redgo";
    static const char second[] = "1 notify 0.- id2 3 redgo";

    listener_join(&listener_one, "jobs.*", 1, 1);
    (void)subscriber_sends(&inbox_subscriber);
    (void)subscriber_sends(&replica_subscriber);
    subscriber_confirms(&replica_subscriber, "psubscribe", "jobs.*");
    assert_int_equal(listener_wait(0, -1), ILK__ACT_DONE);

    subscriber_receives(&replica_subscriber, "jobs.*", "jobs.red", first);
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", first);
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", second);
    subscriber_receives(&replica_subscriber, "jobs.*", "jobs.red", second);

    assert_int_equal(listener_one.count, 2);
}

TEST(a_pattern_receives_all_that_match)
{
    listener_join(&listener_one, "jobs.*", 1, 0);
    assert_string_equal(subscriber_sends(&inbox_subscriber),
                        "*2\r\n$10\r\nPSUBSCRIBE\r\n$6\r\njobs.*\r\n");
    subscriber_confirms(&inbox_subscriber, "psubscribe", "jobs.*");

    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "1");
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.blue", "2");
    subscriber_receives(&inbox_subscriber, NULL, "jobs.*",
                        "a channel of that name");
    assert_string_equal(listener_received(&listener_one),
                        "jobs.red=1;jobs.blue=2;");

    ilk__listen_end(&listener_one);
    assert_string_equal(subscriber_sends(&inbox_subscriber),
                        "*2\r\n$12\r\nPUNSUBSCRIBE\r\n$6\r\njobs.*\r\n");
}

TEST(a_message_is_received_once_of_all_subscribers)
{
    static const char message[] = "1 notify 0.- id1 3 redgo";

    listener_join(&listener_one, "jobs.*", 1, 1);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "psubscribe", "jobs.*");
    listener_join(&listener_two, "*", 1, 1);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "psubscribe", "*");
    assert_non_null(strstr(subscriber_sends(&replica_subscriber), "jobs.*"));

    subscriber_receives(&replica_subscriber, "jobs.*", "jobs.red", message);
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", message);
    /* for the other pattern */
    subscriber_receives(&inbox_subscriber, "*", "jobs.red", message);
    subscriber_receives(&inbox_subscriber, "jobs.*", "jobs.red", "no message");

    assert_int_equal(listener_one.count, 1);
    assert_string_equal(listener_one.first->parsed.signal, "id1");
    assert_memory_equal(listener_one.first->parsed.data, "go", 2);
    assert_string_equal(listener_received(&listener_one),
                        "jobs.red=1 notify 0.- id1 3 redgo;");
    assert_int_equal(listener_two.count, 1);
}

TEST(a_message_that_is_not_ours_is_the_servers)
{
    listener_join(&listener_one, "news", 0, 0);
    listener_join(&listener_two, "news", 0, 1);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    (void)subscriber_sends(&replica_subscriber);

    subscriber_receives(&replica_subscriber, NULL, "news", "one");
    subscriber_receives(&inbox_subscriber, NULL, "news", "one");

    assert_string_equal(listener_received(&listener_one), "news=one;");
    assert_string_equal(listener_received(&listener_two), "");
}

TEST(the_oldest_goes_when_nobody_takes_them)
{
    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    subscriber_receives(&inbox_subscriber, NULL, "news", "first");
    for (int i = 0; i < ILK__CHANNEL_MESSAGES_MAX; i++)
        subscriber_receives(&inbox_subscriber, NULL, "news", "x");

    assert_int_equal(listener_one.count, ILK__CHANNEL_MESSAGES_MAX);
    assert_int_equal(listener_one.lost, 1);
    assert_memory_equal(listener_one.first->data, "x", 2);
}

static void receive_bytes(size_t len)
{
    char name[] = "news";
    ilk__reply channel = {.type = ILK__REPLY_STR, .str = name, .len = 4};
    ilk__reply payload = {.type = ILK__REPLY_STR, .len = len};

    payload.str = calloc(1, len + 1);
    assert_non_null(payload.str);
    ilk__shared_lock(&shared);
    ilk__channel_receive(&shared, &inbox_subscriber, NULL, &channel, &payload);
    ilk__shared_unlock(&shared);
    free(payload.str);
}

/* Messages of 1 MB: few of them are many bytes. */
TEST(nor_do_they_become_too_many_bytes)
{
    enum { SIZE = 1024 * 1024, SENT = 3 * ILK__CHANNEL_BYTES_MAX / SIZE };

    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    for (int i = 0; i < SENT; i++)
        receive_bytes(SIZE);
    assert_true(listener_one.bytes <= ILK__CHANNEL_BYTES_MAX);
    assert_true(listener_one.count > 8);
    assert_int_equal(listener_one.count + (size_t)listener_one.lost, SENT);

    receive_bytes(2 * ILK__CHANNEL_BYTES_MAX);
    assert_int_equal(listener_one.count, 1); /* the last one stays */
    assert_int_equal(listener_one.lost, SENT);
    ilk__channel_message_free(ilk__listener_pop(&listener_one));
    assert_int_equal(listener_one.bytes, 0);
}

/* ---- memory ------------------------------------------------------------- */

/* A message, of which the nth allocation fails. */
static void receive_message_failing(long nth)
{
    const ilk__reply *reply =
        op_case_reply(">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$22\r\n"
                      "1 notify 0.- id1 3 red\r\n");

    ilk__alloc_fail_at(nth);
    ilk__inbox_reply(&shared, &inbox_subscriber, reply);
    ilk__alloc_fail_at(0);
}

TEST(without_memory_nothing_is_half_done)
{
    const ilk__channel_of to = {.name = "news", .len = 4, .own_format = 1};
    ilk_status st = ILK_ENOMEM;

    for (long nth = 1; st; nth++) {
        assert_true(nth < 20);
        ilk__alloc_fail_at(nth);
        st = ilk__listener_join(&listener_one, &to);
        ilk__alloc_fail_at(0);
        assert_int_equal(st ? ILK_ENOMEM : ILK_OK, st);
        assert_true(st ? !listener_one.channel : listener_one.channel != NULL);
    }
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    for (long nth = 1; listener_one.count == 0; nth++) {
        assert_true(nth < 20);
        receive_message_failing(nth);
        ilk__recent_free(&shared.recent); /* without the first one there is
                                             no copy */
    }
    assert_int_equal(listener_one.count, 1);
}
