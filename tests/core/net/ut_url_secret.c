/* SPDX-License-Identifier: MIT */
/* ut_url_secret.c -- a password is never shown, however wrong the URL. */
#include "net/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

TEST(the_shown_url_has_no_password)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"redis://h", "redis://h"},
        {"redis://u:secret@h:1/2?label=x", "redis://u:***@h:1/2?label=x"},
        {"redis://:s@h", "redis://:***@h"},
        {"redis://u:@h", "redis://u:***@h"},
        {"redis://u@h", "redis://u@h"},
        {"redis://:@h", "redis://:@h"},
        {"unix://u:a%20b@/s", "unix://u:***@/s"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ilk__url url;

        assert_int_equal(ilk__url_parse(&url, rows[i].text, NULL), ILK_OK);
        assert_string_equal(url.shown, rows[i].shown);
        ilk__url_free(&url);
    }
}

/* Random passwords, unencoded, in every place a URL goes wrong around them. */
TEST(no_message_shows_a_piece_of_a_password)
{
    static const char *const forms[] = {
        "redis://u:%s@h:1/0",  "redis://u:%s@h:x",   "redis://u:%s@",
        "redis://u:%s@h/x",    "redis://u:%s@h?x=1", "unix://u:%s@/s?x=1",
        "rediss://:%s@[::1/0", "unix://:%s@s",       "embedded://u:%s@/d",
        "redis:/u:%s@h",       "redis://%s@h:0",     "redis://u:%s@h?label=%%0",
    };
    static const char bytes[] = "/?#@:&=%[]. 0123456789";
    const unsigned seed = (unsigned)time(NULL);

    print_message("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 40000; round++) {
        char secret[24], text[128];
        ilk_error err = {0};
        ilk__url url;
        size_t len = 1 + (size_t)rand() % 16;

        /* Each third byte is a 'Z', which no message of ours has. */
        for (size_t i = 0; i < len; i++)
            secret[i] = i % 3 == 0 ? 'Z' : bytes[rand() % 22];
        secret[len] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, forms[round % 12], secret);
#pragma GCC diagnostic pop
        if (ilk__url_parse(&url, text, &err) != ILK_OK) {
            if (strchr(err.msg, 'Z') != NULL)
                fail_msg("%s: %s", text, err.msg);
        } else {
            if (url.password != NULL && strchr(url.shown, 'Z') != NULL)
                fail_msg("%s: %s", text, url.shown);
            ilk__url_free(&url);
        }
    }
}
