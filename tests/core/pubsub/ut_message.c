/* SPDX-License-Identifier: MIT */
/* ut_message.c -- messages on a client's own channel, taken apart. */
#include "pubsub/message.h"

#include <interlock/base.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Room behind the text is not touched: a reader past its end shows under a
 * sanitizer, since the copy is exactly as long. */
static ilk__message message;
static char *copy;

static int reads(const char *text, size_t len)
{
    free(copy);
    copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return ilk__message_read(&message, copy, len);
}

static int teardown(void)
{
    free(copy);
    copy = NULL;
    return 0;
}

AROUND_EACH(NULL, teardown);

#define READS(text) reads(text, sizeof text - 1)

TEST(a_grant_has_its_numbers_and_the_name)
{
    assert_true(READS("1 grant x12.ab tok 18 5000 1000000 or ders\0x"));

    assert_int_equal(message.type, ILK__MESSAGE_GRANT);
    assert_int_equal(message.kind, 'x');
    assert_int_equal(message.waiter, 12);
    assert_string_equal(message.token, "tok");
    assert_int_equal(message.fence, 18);
    assert_int_equal(message.lease_ms, 5000);
    assert_int_equal(message.server_us, 1000000);
    assert_int_equal(message.name_len, 9);
    assert_memory_equal(message.name, "or ders\0x", 9);
    assert_null(message.signal);
}

TEST(a_wake_up_has_a_waiter_and_maybe_a_name)
{
    assert_true(READS("1 wake q7.ab jobs"));
    assert_int_equal(message.type, ILK__MESSAGE_WAKE);
    assert_int_equal(message.kind, 'q');
    assert_int_equal(message.waiter, 7);
    assert_memory_equal(message.name, "jobs", 4);

    assert_true(READS("1 wake s7.ab"));
    assert_int_equal(message.name_len, 0);
}

TEST(a_signal_has_a_name_and_data_of_any_bytes)
{
    assert_true(READS("1 signal s5.ab c.9 4 a\0 b1 \0\n"));

    assert_int_equal(message.type, ILK__MESSAGE_SIGNAL);
    assert_int_equal(message.kind, 's');
    assert_int_equal(message.waiter, 5);
    assert_string_equal(message.signal, "c.9");
    assert_int_equal(message.name_len, 4);
    assert_memory_equal(message.name, "a\0 b", 4);
    assert_int_equal(message.data_len, 4);
    assert_memory_equal(message.data, "1 \0\n", 4);
}

TEST(a_signal_may_be_without_data)
{
    assert_true(READS("1 signal s5.ab c.9 3 red"));
    assert_int_equal(message.data_len, 0);
}

TEST(a_change_has_the_key_of_a_list)
{
    assert_true(READS("1 change ab ilk:event:wait:{a b}"));
    assert_int_equal(message.type, ILK__MESSAGE_CHANGE);
    assert_int_equal(message.name_len, 20);
    assert_memory_equal(message.name, "ilk:event:wait:{a b}", 20);
    assert_null(message.signal);

    assert_false(READS("1 change"));
}

TEST(a_notify_goes_by_ticket)
{
    assert_true(READS("1 notify 1700000000000000.ab c.9 3 redgo"));

    assert_int_equal(message.type, ILK__MESSAGE_NOTIFY);
    assert_int_equal(message.ticket, 1700000000000000);
    assert_int_equal(message.waiter, 0);
    assert_memory_equal(message.data, "go", 2);
}

TEST(another_form_is_no_message)
{
    static const char *const bad[] = {
        "",
        " ",
        "1",
        "1 ",
        "2 wake s1 x",
        "1 shout s1 x",
        "1 wake ",
        "1 wake s",
        "1 wake s-1 x",
        "1 wake s+1 x",
        "1 wake s1x y",
        "1 wake s9223372036854775808.ab x",
        "1 wake s99999999999999999999.ab x",
        "1 grant x1.ab tok 1 2",
        "1 grant x1.ab tok 1 -2 3 name",
        "1 signal s1.ab",
        "1 signal s1.ab id",
        "1 signal s1.ab id 3",
        "1 signal s1.ab id 0 ",
        "1 signal s1.ab id 4 red",
        "1 signal s1.ab id -1 red",
        "1 signal s1.ab id 9223372036854775807 red",
        "1 signal s1.ab id 18446744073709551619 red",
        "1 signal s1.ab id  3 red",
        "1 signal s1.ab  3 red",
        "1 notify s1 id 3 red",
        "1 notify -1.ab id 3 red",
        "1 notify 9223372036854775808.ab id 3 red",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reads(bad[i], strlen(bad[i])))
            fail_msg("a message: \"%s\"", bad[i]);
    assert_false(READS("1 sig\0nal s1 id 3 red"));
    assert_false(READS("1 signal s1.ab i\0d 3 red"));
    assert_false(READS("1 signal s1.ab id 3\0 red"));
}

TEST(every_cut_of_a_signal_is_shorter_or_none)
{
    static const char whole[] = "1 signal s5.ab id 3 redlight";

    for (size_t len = 0; len < sizeof whole; len++)
        if (reads(whole, len))
            assert_int_equal(message.name_len + message.data_len, len - 20);
        else
            assert_true(len < 23);
}

TEST(the_lengths_have_limits)
{
    size_t size = ILK__DATA_MAX + 2 * ILK_NAME_MAX;
    char *text = malloc(size);
    int head = snprintf(text, size, "1 signal s1.ab id %d ", ILK_NAME_MAX);

    memset(text + head, 'n', size - (size_t)head);
    assert_true(reads(text, (size_t)head + ILK_NAME_MAX + ILK__DATA_MAX));
    assert_int_equal(message.data_len, ILK__DATA_MAX);
    assert_false(reads(text, (size_t)head + ILK_NAME_MAX + ILK__DATA_MAX + 1));

    snprintf(text, size, "1 signal s1.ab id %d n", ILK_NAME_MAX + 1);
    assert_false(reads(text, (size_t)head + ILK_NAME_MAX + 1));
    free(text);
}

TEST(a_copy_has_the_same_mark_and_others_do_not)
{
    static const char *const all[] = {
        "1 signal s5.ab id 3 red",  "1 signal s6.ab id 3 red",
        "1 signal s5.ab id2 3 red", "1 signal s5.ab id 4 reds",
        "1 notify 5.ab id 3 red",   "1 notify 6.ab id 3 red"};
    uint64_t marks[6];

    for (size_t i = 0; i < 6; i++) {
        assert_true(reads(all[i], strlen(all[i])));
        marks[i] = ilk__message_mark(&message);
        assert_true(reads(all[i], strlen(all[i])));
        assert_true(marks[i] == ilk__message_mark(&message));
        for (size_t j = 0; j < i; j++)
            assert_true(marks[i] != marks[j]);
    }
}
