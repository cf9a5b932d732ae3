/* SPDX-License-Identifier: MIT */
/* ut_url.c -- where the server is, parsed strictly. */
#include "net/url.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk__url parse(const char *text)
{
    ilk_error err = {0};
    ilk__url url;

    if (ilk__url_parse(&url, text, &err) != ILK_OK)
        fail_msg("%s: %s", text, err.msg);
    return url;
}

static void assert_refused(const char *text, const char *why)
{
    const ilk__url empty = {0};
    ilk_error err = {0};
    ilk__url url;

    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_EINVAL);
    if (strstr(err.msg, why) == NULL)
        fail_msg("%s: %s", text, err.msg);
    assert_memory_equal(&url, &empty, sizeof url);
}

TEST(tcp_in_full)
{
    ilk__url url = parse("redis://user:pass@example.org:7000/5");

    assert_int_equal(url.scheme, ILK__SCHEME_TCP);
    assert_string_equal(url.host, "example.org");
    assert_int_equal(url.port, 7000);
    assert_string_equal(url.user, "user");
    assert_string_equal(url.password, "pass");
    assert_int_equal(url.db, 5);
    assert_null(url.path);
    ilk__url_free(&url);
}

TEST(parts_that_are_not_given_have_their_defaults)
{
    ilk__url url = parse("redis://h");

    assert_int_equal(url.port, 6379);
    assert_int_equal(url.db, 0);
    assert_null(url.user);
    assert_null(url.password);
    assert_null(url.label);
    assert_int_equal(url.connect_timeout_ms, 0);
    assert_int_equal(url.protocol, 0);
    ilk__url_free(&url);
}

TEST(schemes_and_their_aliases)
{
    static const struct {
        const char *text;
        ilk__scheme scheme;
    } rows[] = {
        {"redis://h", ILK__SCHEME_TCP},
        {"valkey://h", ILK__SCHEME_TCP},
        {"rediss://h/", ILK__SCHEME_TLS},
        {"valkeys://h", ILK__SCHEME_TLS},
        {"unix:///s", ILK__SCHEME_UNIX},
        {"REDIS://h", ILK__SCHEME_TCP},
        {"embedded://", ILK__SCHEME_EMBEDDED},
        {"embedded:///d", ILK__SCHEME_EMBEDDED},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ilk__url url = parse(rows[i].text);

        assert_int_equal(url.scheme, rows[i].scheme);
        ilk__url_free(&url);
    }
}

TEST(texts_without_a_scheme_of_ours_are_refused)
{
    static const char *const texts[] = {
        "", "h", "redis:/h", "http://", "redisss://h", "localhost:1"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_refused(texts[i], "must begin with redis://");
    assert_refused(NULL, "NULL");
}

TEST(user_and_password_are_decoded)
{
    ilk__url url = parse("redis://a%40b:p%2F%3f%23%25:x@h");

    assert_string_equal(url.user, "a@b");
    assert_string_equal(url.password, "p/?#%:x");
    ilk__url_free(&url);
}

TEST(parts_of_a_login_may_miss)
{
    static const struct {
        const char *text, *user, *password;
    } rows[] = {
        {"redis://:pw@h", NULL, "pw"}, {"redis://u@h", "u", NULL},
        {"redis://u:@h", "u", ""},     {"redis://:@h", NULL, NULL},
        {"redis://@h", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ilk__url url = parse(rows[i].text);

        assert_int_equal(url.user == NULL, rows[i].user == NULL);
        assert_int_equal(url.password == NULL, rows[i].password == NULL);
        if (url.user != NULL)
            assert_string_equal(url.user, rows[i].user);
        if (url.password != NULL)
            assert_string_equal(url.password, rows[i].password);
        ilk__url_free(&url);
    }
}

TEST(ipv6_stands_in_brackets)
{
    ilk__url url = parse("rediss://[::1]:6380/2");

    assert_string_equal(url.host, "::1");
    assert_int_equal(url.port, 6380);
    ilk__url_free(&url);
    url = parse("redis://u:p@[fe80::1%25eth0]");
    assert_string_equal(url.host, "fe80::1%eth0");
    assert_int_equal(url.port, 6379);
    ilk__url_free(&url);

    assert_refused("redis://::1", "brackets");
    assert_refused("redis://[::1", "bracket");
    assert_refused("redis://[::1]x", "bracket");
    assert_refused("redis://[]", "host");
    assert_refused("redis://[1.2.3.4]", "host");
    assert_refused("redis://[::1%25]", "host");
}

TEST(hosts_that_are_none_are_refused)
{
    assert_refused("redis://", "there is no host");
    assert_refused("redis:///0", "there is no host");
    assert_refused("redis://u:p@", "there is no host");
    assert_refused("redis://a,b", "host");
    assert_refused("redis://a%2fb", "host");
    assert_refused("redis://a b", "percent-encoded");
}

TEST(ports_are_numbers_from_1_to_65535)
{
    static const char *const ports[] = {
        "", "0", "65536", "-1", "+1", "1a", "99999999999999999999"};
    ilk__url url = parse("redis://h:65535");

    assert_int_equal(url.port, 65535);
    ilk__url_free(&url);
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        char text[64];

        snprintf(text, sizeof text, "redis://h:%s/0", ports[i]);
        assert_refused(text, "the port must be");
    }
}

TEST(databases_are_numbers)
{
    ilk__url url = parse("redis://h/2147483647");

    assert_int_equal(url.db, 2147483647);
    ilk__url_free(&url);
    assert_refused("redis://h/2147483648", "got \"2147483648\"");
    assert_refused("redis://h/-1", "database");
    assert_refused("redis://h/x", "database");
    assert_refused("redis://h/1/", "database");
    assert_refused("redis://h//1", "database");
    assert_refused("unix:///s?db=x", "database");
    assert_refused("redis://h?db=1", "\"db\"");
}

TEST(unix_sockets_have_an_absolute_path)
{
    ilk__url url = parse("unix://u:p@/run/a%20b.sock?db=3&label=x");
    char text[256];

    assert_string_equal(url.path, "/run/a b.sock");
    assert_string_equal(url.user, "u");
    assert_string_equal(url.password, "p");
    assert_int_equal(url.db, 3);
    assert_null(url.host);
    ilk__url_free(&url);

    assert_refused("unix://", "no path");
    assert_refused("unix:///", "no path");
    assert_refused("unix://relative/s", "absolute");
    snprintf(text, sizeof text, "unix:///%0*d", 200, 7);
    assert_refused(text, "at most 107 bytes, got 201");
}

TEST(embedded_takes_a_directory_and_no_login)
{
    ilk__url url = parse("embedded://");

    assert_null(url.path);
    ilk__url_free(&url);
    url = parse("embedded:///var/lib/x?label=l");
    assert_string_equal(url.path, "/var/lib/x");
    assert_string_equal(url.label, "l");
    ilk__url_free(&url);

    assert_refused("embedded://dir", "absolute");
    assert_refused("embedded:///", "no path");
    assert_refused("embedded://u:p@/dir", "no user");
    assert_refused("embedded:///d?db=1", "\"db\"");
}

TEST(the_query_sets_options)
{
    ilk__url url = parse("rediss://h?connect_timeout_ms=100&reply_timeout_ms="
                         "2147483647&label=a%26b=c&protocol=2&ca=/a&cert=/b"
                         "&key=%2Fc");

    assert_int_equal(url.connect_timeout_ms, 100);
    assert_int_equal(url.reply_timeout_ms, 2147483647);
    assert_string_equal(url.label, "a&b=c");
    assert_int_equal(url.protocol, 2);
    assert_string_equal(url.ca, "/a");
    assert_string_equal(url.cert, "/b");
    assert_string_equal(url.key, "/c");
    ilk__url_free(&url);
}

TEST(query_keys_that_mean_nothing_are_refused_by_name)
{
    assert_refused("redis://h?timeout=1", "\"timeout\"");
    assert_refused("redis://h?ca=/a", "\"ca\"");
    assert_refused("redis://h?Label=x", "\"Label\"");
    assert_refused("redis://h?label=x&label=y", "\"label\" is given twice");
    assert_refused("redis://h?label", "\"label\" has no value");
    assert_refused("redis://h?label=", "\"label\" has no value");
    assert_refused("redis://h?", "no value");
    assert_refused("redis://h?label=a&", "no value");
    assert_refused("rediss://h?cert=/a", "cert and key");
    assert_refused("rediss://h?key=/a", "cert and key");
}

TEST(query_values_are_checked)
{
    assert_refused("redis://h?protocol=1", "2 or 3");
    assert_refused("redis://h?protocol=4", "2 or 3");
    assert_refused("redis://h?connect_timeout_ms=0", "got \"0\"");
    assert_refused("redis://h?connect_timeout_ms=-1", "got \"-1\"");
    assert_refused("redis://h?reply_timeout_ms=2147483648", "milliseconds");
    assert_refused("redis://h?reply_timeout_ms=5s", "got \"5s\"");
    assert_refused("redis://h?outage=2", "got \"2\"");
    assert_refused("redis://h?outage=s", "got \"s\"");
    assert_refused("redis://h?outage=-1s", "such as 2s");
    assert_refused("redis://h?outage=35792m", "such as 2s");
    assert_refused("redis://h?outage=0ms&outage=1s", "given twice");
    assert_refused("redis://h?noquorum=fail", "\"noquorum\" is unknown");
}

TEST(an_outage_is_a_time_or_no_time)
{
    static const struct {
        const char *text;
        int64_t ms;
        int none;
    } rows[] = {{"redis://h", 0, 0},
                {"redis://h?outage=2s", 2000, 0},
                {"unix:///s?outage=250ms", 250, 0},
                {"redis+sentinel://h/m?outage=35791m", 2147460000, 0},
                {"redis://h?outage=0", 0, 1},
                {"redis://h?outage=0s", 0, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ilk__url url = parse(rows[i].text);

        assert_int_equal(url.outage_ms, rows[i].ms);
        assert_int_equal(url.no_outage_wait, rows[i].none);
        ilk__url_free(&url);
    }
}

TEST(bad_percent_encoding_is_refused)
{
    assert_refused("redis://:a%@h", "password");
    assert_refused("redis://:a%2@h", "password");
    assert_refused("redis://:a%zz@h", "password");
    assert_refused("redis://:a%00b@h", "%00 in the password");
    assert_refused("redis://u%00:a@h", "%00 in the user");
    assert_refused("unix:///a%00b", "%00 in the path");
    assert_refused("redis://h?label=%00", "%00");
}

TEST(bytes_that_must_be_encoded_are_refused)
{
    static const char *const texts[] = {"redis://h\n", "redis://h/0#x",
                                        "redis://u:p p@h", "unix:///a\x7f"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_refused(texts[i], "percent-encoded");
}

TEST(very_long_texts_are_refused)
{
    static char text[70000];

    memset(text, 'h', sizeof text - 1);
    memcpy(text, "redis://", 8);
    assert_refused(text, "over 4096 bytes");
}

TEST(every_failing_allocation_is_a_status)
{
    const char text[] = "rediss://u:p@h:1/2?label=a&ca=/a&cert=/b&key=/c";
    ilk__url url;
    ilk_status st;
    long number = 0;

    do {
        ilk__alloc_fail_at(++number);
        st = ilk__url_parse(&url, text, NULL);
        assert_true(st == ILK_OK || st == ILK_ENOMEM);
    } while (st != ILK_OK);
    ilk__alloc_fail_at(0);

    assert_int_equal(number, 9);
    ilk__url_free(&url);
    ilk__url_free(&url);
}
