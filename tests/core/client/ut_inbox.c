/* SPDX-License-Identifier: MIT */
/* ut_inbox.c -- the subscription: what is sent, what messages mean. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "shared_case.h"

#include "base/clock.h"
#include "primitives/signal/signal_wait.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static taker me;

static int setup(void)
{
    int failed = shared_case_setup();

    taker_open(&me, "orders", &ilk__lock_plain);
    return failed;
}

static int teardown(void)
{
    taker_close(&me);
    return shared_case_teardown();
}

AROUND_EACH(setup, teardown);

/* ---- the subscription --------------------------------------------------- */

static void assert_connection_sends(const char *words)
{
    assert_int_equal(ilk__buf_len(&inbox_subscriber.connection.out),
                     strlen(words));
    assert_memory_equal(ilk__buf_data(&inbox_subscriber.connection.out), words,
                        strlen(words));
    ilk__buf_drop(&inbox_subscriber.connection.out, strlen(words));
}

static const char *subscription(void)
{
    static char words[128];

    snprintf(words, sizeof words,
             "*2\r\n$9\r\nSUBSCRIBE\r\n$%zu\r\nilk:inbox:%s\r\n",
             strlen("ilk:inbox:") + strlen(shared.client_id), shared.client_id);
    return words;
}

static void confirm(const char *channel)
{
    char words[256];

    snprintf(words, sizeof words,
             ">3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n", strlen(channel),
             channel);
    inbox_receives_raw(words);
}

static const char *own_channel(void)
{
    static char channel[64];

    snprintf(channel, sizeof channel, "ilk:inbox:%s", shared.client_id);
    return channel;
}

TEST(it_subscribes_when_the_connection_comes_up)
{
    shared.inbox = ILK__INBOX_WANTED;
    inbox_subscriber.connection.up = 1;

    ilk__inbox_came_up(&shared, &inbox_subscriber);
    assert_connection_sends(subscription());
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    confirm(own_channel());

    assert_int_equal(shared.inbox, ILK__INBOX_READY);
    assert_int_equal(shared.wakes, 1); /* who waits for it may go on */
}

/* Surplus or swapped: believed, it would leave waiters without messages. */
TEST(a_confirmation_of_no_call_ends_the_connection)
{
    static const char *const foreign[] = {
        ">3\r\n$9\r\nsubscribe\r\n$3\r\nx:y\r\n:1\r\n",
        ">3\r\n$11\r\nunsubscribe\r\n$3\r\nx:y\r\n:1\r\n",
        "-ERR nobody asked\r\n", "+OK\r\n", ":1\r\n"};

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        shared.inbox = ILK__INBOX_WANTED;
        inbox_subscriber.connection.up = 1;
        inbox_receives_raw(foreign[i]);

        assert_int_equal(inbox_subscriber.connection.up, 0);
        assert_int_equal(shared.inbox, ILK__INBOX_WANTED);

        inbox_subscriber.connection.up = 1;
        ilk__inbox_came_up(&shared, &inbox_subscriber);
        inbox_receives_raw(">3\r\n$9\r\nsubscribe\r\n$3\r\nx:y\r\n:1\r\n");
        assert_int_equal(inbox_subscriber.connection.up, 0);
        assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    }
}

TEST(two_protocols_confirm_alike)
{
    char words[256];

    shared.inbox = ILK__INBOX_WANTED;
    snprintf(words, sizeof words,
             "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
             strlen(own_channel()), own_channel());

    inbox_subscriber.connection.up = 1;
    ilk__inbox_came_up(&shared, &inbox_subscriber);
    inbox_receives_raw(words);

    assert_int_equal(shared.inbox, ILK__INBOX_READY);
}

TEST(once_confirmed_all_waits_are_refreshed)
{
    ilk__inflight *inflight;

    taker_queue(&me, -1);
    shared_tick(10);
    assert_null(next_inflight());

    inbox_confirms(&inbox_subscriber);
    shared_tick(0);

    inflight = next_inflight();
    assert_non_null(inflight);
    assert_int_equal(inflight->op.command.argc, 14);
    inflight_end(inflight, ILK_ECLOSED);
}

TEST(a_lost_connection_is_wanted_again)
{
    ilk__fail(&inbox_subscriber.connection.error, ILK_ECONN, "gone");

    ilk__inbox_lost(&shared, &inbox_subscriber);

    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    assert_string_equal(shared.inbox_error.msg, "gone");
    assert_int_equal(shared.wakes, 0);
}

TEST(a_connection_without_rights_is_refused)
{
    shared.inbox = ILK__INBOX_WANTED;
    ilk__fail(&inbox_subscriber.connection.error, ILK_EAUTH, "WRONGPASS");

    ilk__inbox_lost(&shared, &inbox_subscriber);

    assert_int_equal(shared.inbox, ILK__INBOX_REFUSED);
    assert_int_equal(shared.wakes, 1);
}

TEST(others_channels_are_listened_to_while_waited_for)
{
    static char channel[] = "redisson_lock__channel:{orders}";
    char words[256];

    me.wait_queue.channel =
        (ilk__bytes){.data = channel, .len = strlen(channel)};
    inbox_subscriber.connection.up = 1;
    taker_queue(&me, -1);
    assert_int_equal(shared.channels_changed, 1);

    ilk__inbox_channels(&shared, &inbox_subscriber);
    snprintf(words, sizeof words, "*2\r\n$9\r\nSUBSCRIBE\r\n$%zu\r\n%s\r\n",
             strlen(channel), channel);
    assert_connection_sends(words);

    snprintf(words, sizeof words,
             ">3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
             strlen(channel), channel);
    inbox_receives_raw(words);
    shared_tick(0);

    inflight_end(next_inflight(), ILK_ECLOSED); /* somebody released: a claim */
    ilk__inbox_came_up(&shared, &inbox_subscriber);
    snprintf(words, sizeof words, "%s*2\r\n$9\r\nSUBSCRIBE\r\n$%zu\r\n%s\r\n",
             subscription(), strlen(channel), channel);
    assert_connection_sends(words);
}

TEST(a_message_of_an_unknown_channel_is_nothing)
{
    taker_queue(&me, -1);

    inbox_receives_raw(
        ">3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$9\r\n1 wake x1\r\n");
    shared_tick(0);

    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_null(next_inflight());
}

/* ---- messages ----------------------------------------------------------- */

static void assert_no_sense(const char *payload, size_t len)
{
    inbox_receives_bytes(payload, len);
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_null(next_inflight());
}

TEST(senseless_messages_change_nothing)
{
    static const char *const garbage[] = {"",
                                          " ",
                                          "1",
                                          "1 ",
                                          "1 grant",
                                          "1 grant ",
                                          "1 grant x",
                                          "1 grant x1",
                                          "1 wake",
                                          "1 wake x",
                                          "1 wake x1y",
                                          "1 wake 1",
                                          "grant",
                                          "\r\n",
                                          "%s%n",
                                          "1  wake x1 orders",
                                          "1 wake  x1 orders"};
    static const char *const versions[] = {"2", "0", "", "11", "one", "-1"};
    char text[256];

    taker_queue(&me, -1);

    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        assert_no_sense(garbage[i], strlen(garbage[i]));
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        snprintf(text, sizeof text, "%s grant x1 %s 18 5000 1000000 orders",
                 versions[i], me.waiter.token);
        assert_no_sense(text, strlen(text));
    }
    assert_no_sense("1 wake\0x1 orders", 16);
    assert_no_sense("1\0wake x1 orders", 16);
    assert_no_sense("\0\0\0", 3);
}

TEST(numbers_must_be_numbers)
{
    static const char *const numbers[] = {"x 5000 1000000",
                                          "18 x 1000000",
                                          "18 5000 x",
                                          "-18 5000 1000000",
                                          "18 -1 1000000",
                                          "18 5000 -1000",
                                          "18 5000 1e6",
                                          "18 5000",
                                          "18",
                                          "",
                                          "18  5000 1",
                                          "1.5 5000 1000000"};
    char text[256];

    taker_queue(&me, -1);

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "1 grant x1 %s %s", me.waiter.token,
                 numbers[i]);
        assert_no_sense(text, strlen(text));
    }
}

TEST(every_cut_of_a_grant_is_none)
{
    char text[256];
    size_t len;

    taker_queue(&me, -1);
    snprintf(text, sizeof text, "1 grant x1 %s 18 5000 1000000",
             me.waiter.token);
    len = strlen(text) - strlen("1000000");

    for (size_t cut = 0; cut <= len; cut++)
        assert_no_sense(text, cut);
    inbox_receives("%s", text);

    assert_int_equal(me.waiter.report, ILK__REPORT_GRANTED);
    assert_int_equal(me.waiter.report_fence, 18);
    assert_int_equal(me.waiter.report_lease_ms, 5000);
    assert_int_equal(me.waiter.report_us, 1000000);
    assert_int_equal(me.waiter.report_at, local_ms);
}

/* Others may have the right to publish to our inbox. */
TEST(a_message_without_the_secret_is_dropped_and_counted)
{
    static const char *const forged[] = {
        "1 grant x1.0 tok 18 5000 1000000 orders",
        "1 grant x99.0123456789abcdef tok 18 5000 1000000 orders",
        "1 wake x1.0123456789abcdef orders",
        "1 wake x99.0123456789abcdef orders",
        "1 signal s1.0123456789abcdef id1 3 red",
        "1 notify 99.0123456789abcdef id1 3 red",
        "1 notify 99.- id1 3 red",
        "1 grant x1 tok 18 5000 1000000 orders",
        "nonsense",
        "1 change 0123456789abcdef ilk:event:wait:{e}"};

    shared.orphaned['x' - 'a'] = ilk__lock_plain.orphaned;
    taker_queue(&me, -1);
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        inbox_receives_forged(forged[i], strlen(forged[i]));
        assert_int_equal(shared.stats.messages_refused, i + 1);
    }
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_null(next_inflight()); /* no command was caused */
}

/* Another process may have adopted the token of a hold that was detached. */
TEST(a_late_grant_of_a_detached_token_is_left_alone)
{
    static const char *const tokens[] = {"mine", "other"};
    char text[256], secret[ILK__SECRET_LEN + 1];

    shared.orphaned['x' - 'a'] = ilk__lock_plain.orphaned;
    ilk__detached_token_add(&shared, "mine");
    ilk__secret_of_waiter(secret, &shared, 'x', 99, "orders", 6);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "1 grant x99.%s %s 18 5000 1000000 orders",
                 secret, tokens[i]);
        inbox_receives_forged(text, strlen(text));
        assert_int_equal(shared.posted != NULL, i);
    }
    inflight_end(next_inflight(), ILK_OK);
}

/* The secret of another waiter is none, even beside the right token. */
TEST(a_secret_proves_one_kind_one_waiter_one_name)
{
    static const struct {
        char kind;
        int64_t waiter;
        const char *name;
    } others[] = {{'x', 2, "orders"}, {'r', 1, "orders"}, {'x', 1, "order"}};
    char text[256], secret[ILK__SECRET_LEN + 1];

    shared.orphaned['x' - 'a'] = ilk__lock_plain.orphaned;
    taker_queue(&me, -1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ilk__secret_of_waiter(secret, &shared, others[i].kind, others[i].waiter,
                              others[i].name, strlen(others[i].name));
        snprintf(text, sizeof text, "1 grant x1.%s %s 18 5000 1000000 orders",
                 secret, me.waiter.token);
        inbox_receives_forged(text, strlen(text));
        assert_int_equal(shared.stats.messages_refused, i + 1);
    }
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_null(next_inflight());
}

/* The rest of the text may mean something else in another version. */
TEST(a_message_of_another_version_is_dropped_and_counted)
{
    static const char *const versions[] = {"0", "2", "11", "", "1.0"};
    char text[256], secret[ILK__SECRET_LEN + 1];

    taker_queue(&me, -1);
    ilk__secret_of_waiter(secret, &shared, 'x', 1, "orders", 6);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        snprintf(text, sizeof text, "%s grant x1.%s %s 18 5000 1000000 orders",
                 versions[i], secret, me.waiter.token);
        inbox_receives_forged(text, strlen(text));
        assert_int_equal(shared.stats.messages_refused, i + 1);
    }
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_null(next_inflight());

    snprintf(text, sizeof text, "1 grant x1.%s %s 18 5000 1000000 orders",
             secret, me.waiter.token);
    inbox_receives_forged(text, strlen(text));
    assert_int_equal(me.waiter.report, ILK__REPORT_GRANTED);
}

/* Only the keys of a name contain the secret by which its signals are sent. */
TEST(a_signal_is_proven_by_the_secret_of_its_list)
{
    char text[256], secret[ILK__SECRET_LEN + 1];

    shared.orphaned['s' - 'a'] = ilk__signal_orphaned;
    ilk__secret_of_waiter(secret, &shared, 's', 1, "", 0);
    snprintf(text, sizeof text, "1 signal s1.%s id1 3 redstop", secret);
    inbox_receives_forged(text, strlen(text));
    ilk__secret_of_list(secret, &shared, "green", 5);
    snprintf(text, sizeof text, "1 signal s1.%s id1 3 redstop", secret);
    inbox_receives_forged(text, strlen(text));

    assert_int_equal(shared.stats.messages_refused, 2);
    assert_null(next_inflight());
    inbox_receives("1 signal s1 id1 3 redstop");
    inflight_end(next_inflight(), ILK_OK); /* it is passed on */
}

/* A waiter that is gone is recognised by its secret; a flood is bounded. */
TEST(giving_back_is_bounded)
{
    ilk__inflight *inflight;
    int count = 0;

    shared.orphaned['r' - 'a'] = ilk__lock_reader.orphaned;
    for (int i = 0; i < ILK__GIVING_BACK_MAX + 9; i++)
        inbox_receives("1 grant r%d tok 18 5000 1000000 orders", i);

    while ((inflight = next_inflight())) {
        inflight_end(inflight, ILK_OK);
        count++;
    }
    assert_int_equal(count, ILK__GIVING_BACK_MAX);
    inbox_receives("1 grant r7 tok 19 5000 1000000 orders");
    inflight = next_inflight();
    assert_non_null(inflight);
    inflight_end(inflight, ILK_OK);
}

/* Its hold may be somebody's by now, and whoever saw the message can repeat it. */
TEST(a_repeated_grant_is_not_given_back_again)
{
    shared.orphaned['x' - 'a'] = ilk__lock_plain.orphaned;
    inbox_receives("1 grant x99 tok 18 5000 1000000 orders");
    inflight_end(next_inflight(), ILK_OK);

    inbox_receives("1 grant x99 tok 18 5000 1000000 orders");

    assert_null(next_inflight());
}

TEST(absurd_numbers_in_a_grant_are_no_hold)
{
    taker_queue(&me, 8000);

    inbox_receives("1 grant x1 %s 9007199254740991 9223372036854775807 "
                   "9223372036854775807 orders",
                   me.waiter.token);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    /* Receipt bounds the beginning, a year the lease. */
    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.began, local_ms);
    assert_int_equal(ilk__lease_deadline(me.waiter.began, me.waiter.granted_ms),
                     ilk__lease_deadline(local_ms, ILK__LEASE_MAX_MS));
}

TEST(a_grant_for_nobody_is_given_back_whatever_the_name)
{
    static const char name[] = "a b\0c {x}";
    const size_t name_len = sizeof name - 1;
    char text[128] = "1 grant r99 tok 18 5000 1000000 ";
    size_t begin = strlen(text);
    ilk__inflight *inflight;

    shared.orphaned['r' - 'a'] = ilk__lock_reader.orphaned;
    for (size_t i = 0; i < name_len; i++)
        text[begin + i] = name[i];

    inbox_receives_bytes(text, begin + name_len);

    inflight = next_inflight();
    assert_non_null(inflight);
    assert_string_equal(inflight->op.command.argv[1],
                        ilk__scripts[ILK__SCRIPT_RWLOCK_CANCEL].sha1);
    assert_int_equal(inflight->op.command.lens[3], name_len);
    assert_memory_equal(inflight->op.command.argv[3], name, name_len);
    assert_int_equal(inflight->op.command.lens[4],
                     strlen("ilk:lock:fence=") + name_len);
    inflight_end(inflight, ILK_OK);
}

TEST(a_grant_for_nobody_at_a_name_that_cannot_be_is_dropped)
{
    char text[ILK_NAME_MAX + 64];
    int len =
        snprintf(text, sizeof text, "1 grant x99 tok 18 5000 1000000 %0*d",
                 ILK_NAME_MAX + 1, 0);

    shared.orphaned['x' - 'a'] = ilk__lock_plain.orphaned;
    assert_no_sense("1 grant x99 tok 18 5000 1000000", 31);
    assert_no_sense("1 grant x99 tok 18 5000 1000000 ", 32);
    assert_no_sense(text, (size_t)len);
    assert_no_sense("1 grant x99 tok 18 5000 1000000 ilk:lock:x", 42);
}

TEST(a_wake_up_does_not_hide_a_grant)
{
    taker_queue(&me, -1);
    inbox_grants(&me, 18, 5000, 1000000);

    inbox_receives("1 wake x1 orders");

    assert_int_equal(me.waiter.report, ILK__REPORT_GRANTED);
    inbox_receives("1 wake x2 orders"); /* nobody */
    assert_null(next_inflight());
}

TEST(replies_that_are_no_messages_are_skipped)
{
    static const char *const others[] = {
        "+PONG\r\n",
        "$-1\r\n",
        ":1\r\n",
        "*0\r\n",
        "*-1\r\n",
        "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        "*3\r\n$7\r\nmessage\r\n:2\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n:3\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n",
        "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
        "*3\r\n*0\r\n*0\r\n*0\r\n"};

    taker_queue(&me, -1);
    shared.inbox = ILK__INBOX_WANTED;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        inbox_receives_raw(others[i]);

    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    assert_int_equal(me.waiter.report, ILK__REPORT_NONE);
    assert_null(next_inflight());
}
