/* SPDX-License-Identifier: MIT */
/* ut_buf.c -- bytes that grow at the end and are taken from the front. */
#include "base/buf.h"

#include "base/alloc.h"

#include <string.h>

#include "test.h"

TEST(an_empty_buffer_has_data_of_length_zero)
{
    ilk__buf buf = {0};

    assert_int_equal(ilk__buf_len(&buf), 0);
    assert_non_null(ilk__buf_data(&buf));
    assert_int_equal(ilk__buf_add(&buf, NULL, 0), ILK_OK);
    assert_int_equal(ilk__buf_len(&buf), 0);
    ilk__buf_free(&buf);
}

/* Random additions and takings against a counter: byte n is n % 251. */
TEST(bytes_leave_in_the_order_they_came)
{
    unsigned in = 0, out = 0, seed = 12345;
    ilk__buf buf = {0};

    for (int round = 0; round < 3000; round++) {
        unsigned char piece[300];
        size_t n, len = (seed = seed * 1103515245u + 12345u) >> 16;

        n = len % sizeof piece;
        for (size_t i = 0; i < n; i++)
            piece[i] = (unsigned char)(in++ % 251);
        assert_int_equal(ilk__buf_add(&buf, piece, n), ILK_OK);
        n = len % 7 == 0 ? ilk__buf_len(&buf) : ilk__buf_len(&buf) / 2;
        for (size_t i = 0; i < n; i++)
            assert_int_equal((unsigned char)ilk__buf_data(&buf)[i],
                             out++ % 251);
        ilk__buf_drop(&buf, n);
        assert_int_equal(ilk__buf_len(&buf), in - out);
    }
    ilk__buf_free(&buf);
}

TEST(reserved_room_holds_as_many_bytes)
{
    ilk__buf buf = {0};
    char *at;

    assert_int_equal(ilk__buf_add(&buf, "abc", 3), ILK_OK);
    at = ilk__buf_reserve(&buf, 100000);
    assert_non_null(at);
    memset(at, 'x', 100000);
    ilk__buf_grew(&buf, 2);

    assert_int_equal(ilk__buf_len(&buf), 5);
    assert_memory_equal(ilk__buf_data(&buf), "abcxx", 5);
    ilk__buf_free(&buf);
}

TEST(room_in_front_is_used_before_more_is_allocated)
{
    ilk__buf buf = {0};
    size_t room;

    assert_non_null(ilk__buf_reserve(&buf, 1));
    room = buf.room;
    for (size_t i = 0; i < 20 * room; i++) {
        assert_int_equal(ilk__buf_add(&buf, "ab", 2), ILK_OK);
        ilk__buf_drop(&buf, i == 0 ? 1 : 2);
    }
    assert_int_equal(buf.room, room);
    ilk__buf_free(&buf);
}

TEST(no_memory_is_a_status_and_keeps_the_content)
{
    char big[5000] = {0};
    ilk__buf buf = {0};

    assert_int_equal(ilk__buf_add(&buf, "kept", 4), ILK_OK);
    ilk__alloc_fail_at(1);
    assert_int_equal(ilk__buf_add(&buf, big, sizeof big), ILK_ENOMEM);
    ilk__alloc_fail_at(0);

    assert_int_equal(ilk__buf_len(&buf), 4);
    assert_memory_equal(ilk__buf_data(&buf), "kept", 4);
    ilk__buf_free(&buf);
}

TEST(a_length_that_overflows_is_refused)
{
    ilk__buf buf = {0};

    assert_null(ilk__buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(ilk__buf_add(&buf, "a", 1), ILK_OK);
    assert_null(ilk__buf_reserve(&buf, SIZE_MAX));
    assert_null(ilk__buf_reserve(&buf, SIZE_MAX - 1));
    assert_int_equal(ilk__buf_len(&buf), 1);
    ilk__buf_free(&buf);
}

TEST(a_freed_buffer_is_empty_and_usable)
{
    ilk__buf buf = {0};

    assert_int_equal(ilk__buf_add(&buf, "a", 1), ILK_OK);
    ilk__buf_free(&buf);
    assert_int_equal(ilk__buf_len(&buf), 0);
    assert_int_equal(ilk__buf_add(&buf, "b", 1), ILK_OK);
    assert_memory_equal(ilk__buf_data(&buf), "b", 1);
    ilk__buf_free(&buf);
}
