/* SPDX-License-Identifier: MIT */
/* ut_channel.c -- subscriptions: sent, confirmed, taken back. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "base/clock.h"
#include "channel_case.h"

#include <string.h>

#include "test.h"

AROUND_EACH(channel_setup, channel_teardown);

#define SUBSCRIBE_NEWS "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n"
#define UNSUBSCRIBE_NEWS "*2\r\n$11\r\nUNSUBSCRIBE\r\n$4\r\nnews\r\n"

/* ---- subscribing -------------------------------------------------------- */

TEST(it_is_subscribed_once_and_begins_when_confirmed)
{
    listener_join(&listener_one, "news", 0, 0);
    listener_join(&listener_two, "news", 0, 0);
    assert_int_equal(listener_wait(0, 8000), ILK__ACT_SLEEP);
    assert_string_equal(subscriber_sends(&inbox_subscriber), SUBSCRIBE_NEWS);
    assert_string_equal(subscriber_sends(&inbox_subscriber), "");
    /* copies have no id */
    assert_string_equal(subscriber_sends(&replica_subscriber), "");
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);

    subscriber_confirms(&inbox_subscriber, "subscribe", "news");

    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_OK);
}

TEST(the_last_one_takes_it_back)
{
    listener_join(&listener_one, "news", 0, 0);
    listener_join(&listener_two, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");

    ilk__listen_end(&listener_one);
    assert_string_equal(subscriber_sends(&inbox_subscriber), "");
    ilk__listen_end(&listener_two);
    assert_string_equal(subscriber_sends(&inbox_subscriber), UNSUBSCRIBE_NEWS);

    subscriber_confirms(&inbox_subscriber, "unsubscribe", "news");
    assert_int_equal(shared.channels.count, 0);
}

/* It begins with a reply of its own, whatever that says: others go on. */
TEST(a_newcomer_begins_with_a_reply_of_its_own)
{
    listener_join(&listener_two, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");

    for (int refused = 0; refused < 2; refused++) {
        listener_join(&listener_one, "news", 0, 0);
        assert_int_equal(listener_wait(0, 8000), ILK__ACT_SLEEP);
        assert_string_equal(subscriber_sends(&inbox_subscriber),
                            SUBSCRIBE_NEWS);
        assert_string_equal(subscriber_sends(&inbox_subscriber), "");
        assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
        if (refused)
            inbox_receives_raw("-BUSY a script runs\r\n");
        else
            subscriber_confirms(&inbox_subscriber, "subscribe", "news");

        assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);
        assert_int_equal(listening.status, ILK_OK);
        assert_true(ilk__channel_is_subscribed(listener_two.channel));
        ilk__listen_end(&listener_one);
        assert_string_equal(subscriber_sends(&inbox_subscriber), "");
    }
}

/* The connection breaks before the newcomer's reply. */
TEST(a_newcomer_begins_after_a_reconnect)
{
    listener_join(&listener_two, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    assert_int_equal(listener_wait(0, 8000), ILK__ACT_SLEEP);

    inbox_subscriber.connection.up = 0;
    ilk__inbox_lost(&shared, &inbox_subscriber);
    assert_int_equal(listener_two.gaps, 1);
    inbox_subscriber.connection.up = 1;
    assert_string_equal(subscriber_sends(&inbox_subscriber), SUBSCRIBE_NEWS);
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");

    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_OK);
}

/* The first answer is that of a subscription which was taken back since. */
TEST(subscribed_twice_it_begins_with_the_second_reply)
{
    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    ilk__listen_end(&listener_one);
    assert_string_equal(subscriber_sends(&inbox_subscriber), UNSUBSCRIBE_NEWS);
    listener_join(&listener_one, "news", 0, 0);
    assert_string_equal(subscriber_sends(&inbox_subscriber), SUBSCRIBE_NEWS);
    assert_int_equal(listener_wait(0, 8000), ILK__ACT_SLEEP);

    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    subscriber_confirms(&inbox_subscriber, "unsubscribe", "news");
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");

    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);
}

TEST(a_reconnect_asks_again_and_is_a_gap)
{
    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    assert_int_equal(listener_wait(1, -1), ILK__ACT_SLEEP);

    inbox_subscriber.connection.up = 0;
    ilk__inbox_lost(&shared, &inbox_subscriber);
    assert_int_equal(listener_one.gaps, 1);
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    assert_true(listening.wake_at < ILK__FOREVER); /* it is not away for ever */
    inbox_subscriber.connection.up = 1;
    ilk__inbox_came_up(&shared, &inbox_subscriber);

    assert_non_null(
        strstr(subscriber_sends(&inbox_subscriber), SUBSCRIBE_NEWS));
}

TEST(away_for_a_minute_is_reported)
{
    listener_join(&listener_one, "news", 0, 0);
    assert_int_equal(listener_wait(0, -1), ILK__ACT_SLEEP);

    local_ms = listening.wake_at;
    assert_int_equal(op_wake(&listening, ILK__CAUSE_TIME), ILK__ACT_DONE);

    assert_int_equal(listening.status, ILK_ECONN);
}

TEST(a_refusal_reaches_its_listeners_alone)
{
    const char *words;

    listener_join(&listener_one, "news", 0, 0);
    listener_join(&listener_two, "other", 0, 0);
    assert_int_equal(listener_wait(0, -1), ILK__ACT_SLEEP);
    words = subscriber_sends(&inbox_subscriber); /* in which order is the
                                                    table's business */
    if (strstr(words, "other") < strstr(words, "news"))
        subscriber_confirms(&inbox_subscriber, "subscribe", "other");
    inbox_receives_raw("-NOPERM no channel\r\n");
    if (ilk__buf_len(&inbox_subscriber.calls))
        subscriber_confirms(&inbox_subscriber, "subscribe", "other");
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(listening.status, ILK_EAUTH);
    assert_non_null(strstr(listen_err.msg, "NOPERM"));
    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    assert_true(ilk__channel_is_subscribed(listener_two.channel));
    /* not sent once more */
    assert_string_equal(subscriber_sends(&inbox_subscriber), "");
}

TEST(a_replica_that_refuses_is_not_tried_again)
{
    listener_join(&listener_one, "news", 0, 1);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");
    assert_string_equal(subscriber_sends(&replica_subscriber), SUBSCRIBE_NEWS);
    inbox_receiver = &replica_subscriber;
    inbox_receives_raw("-NOPERM no channel\r\n");

    assert_string_equal(subscriber_sends(&replica_subscriber), "");
    assert_int_equal(listener_wait(0, -1),
                     ILK__ACT_DONE); /* the server's will do */
    assert_int_equal(listening.status, ILK_OK);
    ilk__inbox_lost(&shared, &replica_subscriber);
    assert_string_equal(subscriber_sends(&replica_subscriber), SUBSCRIBE_NEWS);
}

TEST(a_listener_behind_a_refusal_subscribes_again)
{
    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    inbox_receives_raw("-NOPERM no channel\r\n");
    assert_int_equal(listener_wait(0, -1), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_EAUTH);
    ilk__listen_end(&listener_one);

    listener_join(&listener_two, "news", 0, 0);

    assert_string_equal(subscriber_sends(&inbox_subscriber), SUBSCRIBE_NEWS);
}

TEST(a_refused_inbox_is_reported)
{
    listener_join(&listener_one, "news", 0, 0);
    assert_int_equal(listener_wait(0, -1), ILK__ACT_SLEEP);

    shared.inbox = ILK__INBOX_REFUSED;
    ilk__fail(&shared.inbox_error, ILK_EAUTH, "WRONGPASS");
    local_ms++;
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(listening.status, ILK_EAUTH);
}

/* ---- the end of a wait -------------------------------------------------- */

TEST(time_signal_cancel_and_close_end_a_wait)
{
    listener_join(&listener_one, "news", 0, 0);
    (void)subscriber_sends(&inbox_subscriber);
    subscriber_confirms(&inbox_subscriber, "subscribe", "news");

    assert_int_equal(listener_wait(1, 0), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_ETIMEOUT);
    assert_int_equal(listener_wait(1, -1), ILK__ACT_SLEEP);
    assert_int_equal(listening.wake_at, ILK__FOREVER);
    assert_int_equal(op_wake(&listening, ILK__CAUSE_INTERRUPT), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_EINTR);
    assert_int_equal(listener_wait(1, -1), ILK__ACT_SLEEP);
    ilk__listen_cancel(&listener_one);
    assert_int_equal(op_wake(&listening, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_ECANCELLED);
    assert_int_equal(listener_wait(1, -1), ILK__ACT_SLEEP);
    assert_int_equal(op_wake(&listening, ILK__CAUSE_CLOSED), ILK__ACT_DONE);
    assert_int_equal(listening.status, ILK_ECLOSED);
}
