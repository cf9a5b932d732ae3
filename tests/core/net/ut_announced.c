/* SPDX-License-Identifier: MIT */
/* ut_announced.c -- which announced addresses a client connects to. */
/* link: -Wl,--wrap=ilk__now_ms */
#include "base/clock.h"
#include "net/announced.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { AT_ONCE = 4, EACH_MS = 1000 };

static int64_t now;
static ilk__announced announced;
static ilk_error err;

int64_t __wrap_ilk__now_ms(void);

int64_t __wrap_ilk__now_ms(void)
{
    return now;
}

static int set_up(void)
{
    now = 1000000;
    memset(&announced, 0, sizeof announced);
    return ilk__announced_init(&announced, NULL, AT_ONCE, EACH_MS, &err);
}

AROUND_EACH(set_up, NULL);

static ilk_status check(int port)
{
    return ilk__announced_check(&announced, "10.0.0.1", port, &err);
}

TEST_WITH(NULL, NULL, patterns_match_whole_hosts)
{
    static const char *const match[][2] = {{"10.0.*", "10.0.0.1"},
                                           {"10.0.*", "10.0."},
                                           {"*.example.com", "a.b.example.com"},
                                           {"*.EXAMPLE.com", "a.example.COM"},
                                           {"*", "x"},
                                           {"a,b", "b"},
                                           {"a*b*c", "aXbXbXc"},
                                           {"fe80::*", "fe80::1%eth0"},
                                           {"redis-1", "redis-1"},
                                           {"**", "x"}};
    static const char *const none[][2] = {
        {"10.0.*", "10.1.0.1"},
        {"10.0.*", "110.0.0.1"},
        {"*.example.com", "example.com"},
        {"*.example.com", "a.example.com.evil.net"},
        {"a", "ab"},
        {"ab", "a"},
        {"a,b", "a,b"},
        {"a*b*c", "aXbX"}};

    for (size_t i = 0; i < sizeof match / sizeof match[0]; i++)
        if (!ilk__announced_matches(match[i][0], match[i][1]))
            fail_msg("%s, %s", match[i][0], match[i][1]);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (ilk__announced_matches(none[i][0], none[i][1]))
            fail_msg("%s, %s", none[i][0], none[i][1]);
}

TEST_WITH(NULL, NULL, other_texts_are_no_patterns)
{
    static const char *const wrong[] = {
        "", ",", "a,", ",a", "a,,b", "a b", "[::1]", "a/b", "a\x80", "10.0.?"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(ilk__announced_check_patterns(wrong[i], &err),
                         ILK_EINVAL);
        assert_non_null(strstr(err.msg, "hosts must be patterns"));
    }
    assert_int_equal(ilk__announced_check_patterns("a*,::1,*.b", &err), ILK_OK);
}

TEST(with_patterns_only_they_count)
{
    announced.patterns = "10.*";
    for (int port = 1; port < 10 * AT_ONCE; port++)
        assert_int_equal(check(port), ILK_OK);
    assert_int_equal(
        ilk__announced_check(&announced, "evil.example", 6379, &err),
        ILK_ECONN);
    assert_string_equal(err.msg, "the announced address evil.example:6379 "
                                 "matches no pattern of hosts=10.*");
}

TEST(new_addresses_have_a_limit_at_once_and_in_a_time)
{
    for (int port = 1; port <= AT_ONCE; port++)
        assert_int_equal(check(port), ILK_OK);
    assert_int_equal(check(AT_ONCE + 1), ILK_ECONN);
    assert_non_null(strstr(err.msg, "too many new addresses"));
    assert_non_null(strstr(err.msg, "10.0.0.1:5"));
    now += EACH_MS;
    assert_int_equal(check(AT_ONCE + 1), ILK_OK);
    assert_int_equal(check(AT_ONCE + 2), ILK_ECONN);
    now += 100 * EACH_MS;
    for (int port = 1; port <= AT_ONCE; port++)
        assert_int_equal(check(100 + port), ILK_OK);
    assert_int_equal(check(200), ILK_ECONN);
}

TEST(known_addresses_do_not_count)
{
    for (int i = 0; i < 100; i++)
        for (int port = 1; port <= AT_ONCE; port++)
            assert_int_equal(check(port), ILK_OK);
    assert_int_equal(check(AT_ONCE + 1), ILK_ECONN);
    assert_int_equal(check(1), ILK_OK);
}

TEST(without_a_limit_all_are_allowed)
{
    memset(&announced, 0, sizeof announced);
    for (int port = 1; port < 1000; port++)
        assert_int_equal(check(port), ILK_OK);
}
