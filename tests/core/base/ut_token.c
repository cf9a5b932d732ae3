/* SPDX-License-Identifier: MIT */
/* ut_token.c -- random hexadecimal digits, also from a failing system. */
/* link: -Wl,--wrap=getrandom */
#include "base/token.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "test.h"

ssize_t __real_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);

static int failures;   /* calls that fail from now */
static int failure;    /* with this errno */
static size_t at_most; /* bytes given per call, 0, 1, 2...; 0: real ones */
static unsigned char given;

ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
    if (failures > 0) {
        failures--;
        errno = failure;
        return -1;
    }
    if (at_most == 0)
        return __real_getrandom(out, len, flags);
    if (len > at_most)
        len = at_most;
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)out)[i] = given++;
    return (ssize_t)len;
}

static int heal(void)
{
    failures = 0;
    at_most = 0;
    return 0;
}

TEST(token_is_that_many_hexadecimal_digits)
{
    char token[ILK__TOKEN_LEN + 2];

    for (size_t digits = 0; digits <= ILK__TOKEN_LEN; digits += 2) {
        memset(token, '#', sizeof token);
        assert_int_equal(ilk__token(token, digits, NULL), ILK_OK);
        assert_int_equal(strlen(token), digits);
        assert_int_equal(strspn(token, "0123456789abcdef"), digits);
        assert_int_equal(token[digits + 1], '#');
    }
}

TEST(tokens_differ_in_every_digit)
{
    int seen[ILK__TOKEN_LEN][256] = {{0}};
    char token[ILK__TOKEN_LEN + 1];

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ilk__token(token, ILK__TOKEN_LEN, NULL), ILK_OK);
        for (int k = 0; k < ILK__TOKEN_LEN; k++)
            seen[k][(unsigned char)token[k]] = 1;
    }
    for (int k = 0; k < ILK__TOKEN_LEN; k++)
        for (const char *c = "0123456789abcdef"; *c != '\0'; c++)
            assert_true(seen[k][(unsigned char)*c]);
}

TEST(long_tokens_are_filled_to_the_end)
{
    char token[1001];

    assert_int_equal(ilk__token(token, 1000, NULL), ILK_OK);
    assert_int_equal(strspn(token, "0123456789abcdef"), 1000);
}

TEST_WITH(NULL, heal, interrupted_and_short_reads_go_on)
{
    char token[ILK__TOKEN_LEN + 1];

    failures = 3;
    failure = EINTR;
    at_most = 5;
    given = 0;

    assert_int_equal(ilk__token(token, ILK__TOKEN_LEN, NULL), ILK_OK);
    assert_string_equal(token, "000102030405060708090a0b0c0d0e0f");
    assert_int_equal(failures, 0);
}

TEST_WITH(NULL, heal, no_randomness_is_refused)
{
    char token[ILK__TOKEN_LEN + 1] = "old";
    ilk_error err;

    failures = 1;
    failure = ENOSYS;

    assert_int_equal(ilk__token(token, ILK__TOKEN_LEN, &err), ILK_ESYSTEM);
    assert_string_equal(token, "");
    assert_int_equal(err.code, ILK_ESYSTEM);
    assert_non_null(strstr(err.msg, strerror(ENOSYS)));
}

TEST(jitter_stays_below_its_bound_and_varies)
{
    int seen[10] = {0};

    for (int i = 0; i < 2000; i++) {
        uint32_t n = ilk__jitter(10);

        assert_true(n < 10);
        seen[n] = 1;
    }
    for (int i = 0; i < 10; i++)
        assert_true(seen[i]);
    assert_int_equal(ilk__jitter(0), 0);
    assert_int_equal(ilk__jitter(1), 0);
}
