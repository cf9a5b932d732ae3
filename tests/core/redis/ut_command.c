/* SPDX-License-Identifier: MIT */
/* ut_command.c -- a command as arguments, then as bytes. */
#include "redis/command.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk__command command;
static ilk__buf out;

static int setup(void)
{
    ilk__command_init(&command);
    return 0;
}

static int teardown(void)
{
    ilk__alloc_fail_at(0);
    ilk__command_free(&command);
    ilk__buf_free(&out);
    return 0;
}

AROUND_EACH(setup, teardown);

static void assert_formats_as(const char *expected, size_t len)
{
    assert_int_equal(ilk__command_format(&command, 0, &out, NULL), ILK_OK);
    assert_int_equal(ilk__buf_len(&out), len);
    assert_memory_equal(ilk__buf_data(&out), expected, len);
}

TEST(arguments_are_written_with_their_lengths)
{
    const char expected[] = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$0\r\n\r\n";

    ilk__command_add_str(&command, "SET");
    ilk__command_add(&command, "a", 1);
    ilk__command_add_str(&command, "");

    assert_formats_as(expected, sizeof expected - 1);
}

TEST(arguments_may_be_any_bytes)
{
    const char expected[] = "*1\r\n$6\r\n\0\r\n\xff{}\r\n";

    ilk__command_add(&command, "\0\r\n\xff{}", 6);

    assert_formats_as(expected, sizeof expected - 1);
}

TEST(numbers_are_written_whole)
{
    const char expected[] = "*3\r\n$20\r\n-9223372036854775808\r\n"
                            "$19\r\n9223372036854775807\r\n$1\r\n0\r\n";

    ilk__command_add_int(&command, INT64_MIN);
    ilk__command_add_int(&command, INT64_MAX);
    ilk__command_add_int(&command, 0);

    assert_formats_as(expected, sizeof expected - 1);
}

TEST(commands_are_appended_one_after_the_other)
{
    const char expected[] = "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n";

    ilk__command_add_str(&command, "PING");
    assert_int_equal(ilk__command_format(&command, 0, &out, NULL), ILK_OK);

    assert_formats_as(expected, sizeof expected - 1);
}

static void add_many(int count)
{
    static char texts[200][16];

    for (int i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        ilk__command_add_str(&command, texts[i]);
    }
}

TEST(more_arguments_than_fit_inside_are_kept)
{
    char expected[4000];
    size_t len = 0;

    add_many(200);
    len += (size_t)snprintf(expected, sizeof expected, "*200\r\n");
    for (int i = 0; i < 200; i++)
        len += (size_t)snprintf(expected + len, sizeof expected - len,
                                "$%d\r\n%d\r\n", 1 + (i > 9) + (i > 99), i);

    assert_formats_as(expected, len);
}

TEST(a_freed_command_is_empty_and_usable)
{
    const char expected[] = "*1\r\n$4\r\nPING\r\n";

    add_many(50);
    ilk__command_free(&command);
    ilk__command_add_str(&command, "PING");

    assert_formats_as(expected, sizeof expected - 1);
}

TEST(an_allocation_that_failed_is_reported_by_format)
{
    ilk_error err;

    add_many(ILK__COMMAND_ARGS);
    ilk__alloc_fail_at(1);
    ilk__command_add_str(&command, "one more");
    ilk__alloc_fail_at(0);
    ilk__command_add_str(&command, "and another");

    assert_int_equal(ilk__command_format(&command, 0, &out, &err), ILK_ENOMEM);
    assert_int_equal(err.code, ILK_ENOMEM);
    assert_int_equal(ilk__buf_len(&out), 0);
}

TEST(no_room_for_the_bytes_is_reported)
{
    ilk__command_add_str(&command, "PING");
    ilk__alloc_fail_at(1);

    assert_int_equal(ilk__command_format(&command, 0, &out, NULL), ILK_ENOMEM);
}
