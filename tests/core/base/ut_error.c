/* SPDX-License-Identifier: MIT */
/* ut_error.c -- statuses and the caller's error text. */
#include "base/error.h"

#include <string.h>

#include "test.h"

/* The last status; the one after it must be unknown. */
enum { LAST = ILK_ECONFLICT };

TEST(every_status_has_a_name_and_a_text_of_its_own)
{
    for (int32_t a = 0; a >= LAST; a--) {
        assert_non_null(ilk_status_name(a));
        assert_int_equal(strncmp(ilk_status_name(a), "ILK_", 4), 0);
        assert_true(strlen(ilk_strerror(a)) > 3);
        for (int32_t b = a - 1; b >= LAST; b--) {
            assert_string_not_equal(ilk_status_name(a), ilk_status_name(b));
            assert_string_not_equal(ilk_strerror(a), ilk_strerror(b));
        }
    }
}

TEST(numbers_that_are_no_status_have_a_text)
{
    const int32_t strange[] = {1, LAST - 1, INT32_MIN, INT32_MAX};

    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        assert_string_equal(ilk_status_name(strange[i]), "ILK_?");
        assert_string_equal(ilk_strerror(strange[i]), "unknown status");
    }
}

TEST(names_are_those_of_the_header)
{
    assert_string_equal(ilk_status_name(ILK_OK), "ILK_OK");
    assert_string_equal(ilk_status_name(ILK_EBUSY), "ILK_EBUSY");
    assert_string_equal(ilk_status_name(ILK_EFORKED), "ILK_EFORKED");
    assert_string_equal(ilk_status_name(ILK_ECLUSTER), "ILK_ECLUSTER");
}

TEST(version_is_that_of_the_header)
{
    assert_string_equal(ilk_version(), "0.1.0");
}

TEST(fail_fills_the_error_and_returns_the_status)
{
    ilk_error err;

    assert_int_equal(ilk__fail(&err, ILK_EINVAL, "ttl_ms must be %s, got %d",
                               "positive", -5),
                     ILK_EINVAL);

    assert_int_equal(err.code, ILK_EINVAL);
    assert_string_equal(err.msg, "ttl_ms must be positive, got -5");
}

TEST(fail_accepts_no_error_struct)
{
    assert_int_equal(ilk__fail(NULL, ILK_EBUSY, "%d", 1), ILK_EBUSY);
    ilk__error_clear(NULL);
}

TEST(text_that_is_too_long_is_cut)
{
    char text[2 * ILK_ERROR_MAX];
    ilk_error err;

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    ilk__fail(&err, ILK_EINVAL, "%s", text);

    assert_int_equal(strlen(err.msg), ILK_ERROR_MAX - 1);
}

TEST(control_bytes_become_question_marks)
{
    ilk_error err;

    ilk__fail(&err, ILK_EINVAL, "a\nb\tc\x7f\x01 \xc3\xa9");

    assert_string_equal(err.msg, "a?b?c?? \xc3\xa9");
}

/* A server's text could steer the terminal that shows it. */
TEST(bytes_that_no_terminal_should_get_become_question_marks)
{
    static const char *const texts[][2] = {
        {"\xc2\x9b"
         "2J",
         "??2J"}, /* C1: CSI */
        {"\x9b"
         "2J",
         "?2J"}, /* no UTF-8 */
        {"a\xe2\x80\xae"
         "b",
         "a???b"},                    /* U+202E */
        {"\xe2\x81\xa6x", "???x"},    /* U+2066 */
        {"\xf3\xa0\x80\x81", "????"}, /* a tag, U+E0001 */
        {"\xc0\xaf", "??"},           /* longer than needed */
        {"\xed\xa0\x80", "???"},      /* half of a pair of UTF-16 */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"caf\xc3", "caf?"},          /* cut */
        {"\xe2\x82\xac \xf0\x9f\x94\x92", "\xe2\x82\xac \xf0\x9f\x94\x92"}};
    ilk_error err;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ilk__fail(&err, ILK_ESERVER, "%s", texts[i][0]);
        assert_string_equal(err.msg, texts[i][1]);
    }
}

TEST(the_old_text_may_be_part_of_the_new)
{
    ilk_error err;

    ilk__fail(&err, ILK_ECONN, "refused");
    ilk__fail(&err, ILK_ECONN, "localhost: %s", err.msg);

    assert_string_equal(err.msg, "localhost: refused");
}

TEST(clear_leaves_ok_and_no_text)
{
    ilk_error err;

    ilk__fail(&err, ILK_ECONN, "refused");
    ilk__error_clear(&err);

    assert_int_equal(err.code, ILK_OK);
    assert_string_equal(err.msg, "");
}
