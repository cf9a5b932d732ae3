/* SPDX-License-Identifier: MIT */
/* ut_url_sentinels.c -- URLs that name sentinels. */
#include "net/url_sentinels.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

TEST(all_parts)
{
    ilk__url url =
        parse("redis+sentinel://app:pw@one:1,[::1]:2,three/my%2fmaster/5"
              "?sentinel_user=watch&sentinel_password_file=/run/p&label=x");
    const ilk__url_sentinels *sentinels = url.sentinels;

    assert_int_equal(url.scheme, ILK__SCHEME_TCP);
    assert_non_null(sentinels);
    assert_null(url.host);
    assert_string_equal(url.user, "app");
    assert_string_equal(url.password, "pw");
    assert_int_equal(url.db, 5);
    assert_string_equal(sentinels->service, "my/master");
    assert_int_equal(sentinels->count, 3);
    assert_string_equal(sentinels->hosts[0], "one");
    assert_int_equal(sentinels->ports[0], 1);
    assert_string_equal(sentinels->hosts[1], "::1");
    assert_int_equal(sentinels->ports[1], 2);
    assert_string_equal(sentinels->hosts[2], "three");
    assert_int_equal(sentinels->ports[2], 26379);
    assert_string_equal(sentinels->user, "watch");
    assert_string_equal(sentinels->password_file, "/run/p");
    assert_null(sentinels->password);
    assert_string_equal(url.label, "x");
    assert_null(strstr(url.shown, "pw"));
    assert_non_null(strstr(url.shown, "app:***@one:1,[::1]:2,three/"));
    ilk__url_free(&url);
}

TEST(schemes_and_defaults)
{
    static const struct {
        const char *text;
        ilk__scheme scheme;
    } rows[] = {
        {"redis+sentinel://h/m", ILK__SCHEME_TCP},
        {"valkey+sentinel://h/m/", ILK__SCHEME_TCP},
        {"rediss+sentinel://h/m/0?ca=/a", ILK__SCHEME_TLS},
        {"VALKEYS+Sentinel://h/m", ILK__SCHEME_TLS},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ilk__url url = parse(rows[i].text);

        assert_int_equal(url.scheme, rows[i].scheme);
        assert_int_equal(url.db, 0);
        assert_string_equal(url.sentinels->service, "m");
        assert_int_equal(url.sentinels->count, 1);
        assert_null(url.sentinels->user);
        ilk__url_free(&url);
    }
}

TEST(a_service_is_needed)
{
    static const char *const texts[] = {
        "redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://h//0"};
    char text[256];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_refused(texts[i], "name of the sentinels' service is missing");
    assert_refused("redis+sentinel://h/a%20b", "no spaces");
    assert_refused("redis+sentinel://h/a%0ab", "no spaces");
    assert_refused("redis+sentinel://h/a%00b", "%00 in the service");
    snprintf(text, sizeof text, "redis+sentinel://h/%0129d", 7);
    assert_refused(text, "at most 128 bytes");
    assert_refused("redis+sentinel://h/m/x", "database");
    assert_refused("redis+sentinel://h/m/1/2", "database");
}

TEST(bad_hosts_are_refused)
{
    char text[256] = "redis+sentinel://h";
    ilk__url url = parse("redis+sentinel://a,u:p@b/m"); /* "a,u" is the user */

    assert_string_equal(url.user, "a,u");
    assert_int_equal(url.sentinels->count, 1);
    ilk__url_free(&url);
    assert_refused("redis+sentinel:///m", "there is no host");
    assert_refused("redis+sentinel://a,/m", "there is no host");
    assert_refused("redis+sentinel://,a/m", "there is no host");
    assert_refused("redis+sentinel://a:0,b/m", "the port must be");
    assert_refused("redis+sentinel://a,b:x/m", "the port must be");
    assert_refused("redis+sentinel://a,b%2f/m", "neither a name");
    assert_refused("redis+sentinel://::1,b/m", "brackets");
    for (int i = 1; i < ILK__SENTINELS_MAX; i++)
        strcat(text, ",h");
    strcat(text, "/m");
    url = parse(text);
    assert_int_equal(url.sentinels->count, ILK__SENTINELS_MAX);
    ilk__url_free(&url);
    strcpy(strrchr(text, '/'), ",h/m");
    assert_refused(text, "at most 16 sentinels");
}

TEST(keys_of_other_schemes_are_refused)
{
    assert_refused("redis+sentinel://h/m?listen=a", "\"listen\"");
    assert_refused("redis+sentinel://h/m?ca=/a", "\"ca\"");
    assert_refused("redis://h?sentinel_user=a", "\"sentinel_user\"");
    assert_refused("redis://h?hosts=a", "\"hosts\"");
    assert_refused("redis://h?sentinel_password_file=/a",
                   "\"sentinel_password_file\"");
}

TEST(hosts_are_patterns)
{
    ilk__url url = parse("redis+sentinel://h/m?hosts=10.0.%2A,*.example.com");

    assert_string_equal(url.sentinels->patterns, "10.0.*,*.example.com");
    ilk__url_free(&url);
    assert_refused("redis+sentinel://h/m?hosts=a,,b", "hosts must be patterns");
    assert_refused("redis+sentinel://h/m?hosts=a/b", "hosts must be patterns");
}

TEST(replicas_are_counted)
{
    static const char *const wrong[] = {"0", "-1", "101", "1x", "%31", "two"};
    ilk__url url = parse("redis+sentinel://h/m?min_replicas=100");
    char text[64];

    assert_int_equal(url.sentinels->min_replicas, 100);
    ilk__url_free(&url);
    url = parse("redis+sentinel://h/m");
    assert_int_equal(url.sentinels->min_replicas, 0);
    ilk__url_free(&url);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "redis+sentinel://h/m?min_replicas=%s",
                 wrong[i]);
        assert_refused(text, "min_replicas must be 1 to 100, got \"");
    }
    assert_refused("redis+sentinel://h/m?min_replicas=1&min_replicas=1",
                   "given twice");
    assert_refused("redis://h?min_replicas=1", "is for sentinels only");
    assert_refused("unix:///s?min_replicas=1", "is for sentinels only");
    assert_refused("embedded://?min_replicas=1", "is for sentinels only");
}

/* Write a file and read the sentinels' password from it. */
static ilk_status read_password(const char *text, size_t len, char **out,
                                ilk_error *err)
{
    char path[] = "/tmp/ilk-password-XXXXXX", line[128];
    int fd = mkstemp(path);
    ilk_status st;
    ilk__url url;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
    snprintf(line, sizeof line,
             "redis+sentinel://h/m?sentinel_password_file=%s", path);
    url = parse(line);
    st = ilk__url_sentinels_read(url.sentinels, err);
    *out = ilk__strdup(url.sentinels->password);
    ilk__url_free(&url);
    unlink(path);
    return st;
}

TEST(the_password_is_the_files_first_line)
{
    static const char *const texts[] = {"secret", "secret\n", "secret\r\nx\n"};
    static const char *const none[] = {"", "\n", "\nsecret\n"};
    static char text[1026];
    ilk_error err = {0};
    char *password;
    ilk__url url;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            read_password(texts[i], strlen(texts[i]), &password, &err), ILK_OK);
        assert_string_equal(password, "secret");
        ilk__free(password);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            read_password(none[i], strlen(none[i]), &password, &err),
            ILK_EINVAL);
        assert_non_null(strstr(err.msg, "1 to 1024 bytes"));
        assert_null(strstr(err.msg, "secret"));
        assert_null(password);
    }
    memset(text, 'x', sizeof text);
    assert_int_equal(read_password(text, 1024, &password, &err), ILK_OK);
    assert_int_equal(strlen(password), 1024);
    ilk__free(password);
    assert_int_equal(read_password(text, 1025, &password, &err), ILK_EINVAL);
    assert_int_equal(read_password(text, 1026, &password, &err), ILK_EINVAL);

    url = parse("redis+sentinel://h/m?sentinel_password_file=/nowhere/p");
    assert_int_equal(ilk__url_sentinels_read(url.sentinels, &err), ILK_EINVAL);
    assert_non_null(strstr(err.msg, "cannot read /nowhere/p: No such file"));
    ilk__url_free(&url);
    url = parse("redis+sentinel://h/m?sentinel_password_file=/tmp");
    assert_int_equal(ilk__url_sentinels_read(url.sentinels, &err), ILK_EINVAL);
    assert_non_null(strstr(err.msg, "cannot read /tmp"));
    ilk__url_free(&url);
}

TEST(every_failing_allocation_is_a_status)
{
    const char text[] = "redis+sentinel://u:p@a,b/m?label=l&sentinel_user=u"
                        "&sentinel_password_file=/p&hosts=h";
    ilk__url url;
    ilk_status st;
    long number = 0;

    do {
        ilk__alloc_fail_at(++number);
        st = ilk__url_parse(&url, text, NULL);
        assert_true(st == ILK_OK || st == ILK_ENOMEM);
    } while (st != ILK_OK);
    ilk__alloc_fail_at(0);
    assert_int_equal(number, 12);
    ilk__url_free(&url);
}
