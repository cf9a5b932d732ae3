/* SPDX-License-Identifier: MIT */
/* ct_semaphore_replies.c -- answers that are cut, lost, late or senseless. */
#include "proxy_case.h"
#include "semaphore_case.h"

#include <string.h>

AROUND_ALL(proxy_setup, proxy_teardown);
AROUND_EACH(server_flush, NULL);

TEST(a_cut_answer_takes_no_permit_twice)
{
    ilk_client *client = open_client_at(between.url);
    ilk_semaphore *s = open_semaphore_with(client, "cut", 4, 2, 0, 0);
    ilk_error err = {0};

    for (size_t bytes = 0; bytes < 20; bytes += 5) {
        proxy_cut(&between, "{cut}", bytes);
        assert_status(ILK_OK, ilk_semaphore_acquire(s, patience(5000), &err));
        assert_int_equal(1, proxy_struck(&between));
        assert_int_equal(2, permits_taken("cut"));

        proxy_cut(&between, "{cut}", bytes);
        assert_status(ILK_OK, ilk_semaphore_extend(s, 0, &err));
        assert_int_equal(1, proxy_struck(&between));

        proxy_cut(&between, "{cut}", bytes);
        assert_status(ILK_OK, ilk_semaphore_release(s, &err));
        assert_int_equal(1, proxy_struck(&between));
        assert_int_equal(0, permits_taken("cut"));
    }
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

TEST(a_lost_request_is_sent_again)
{
    ilk_client *client = open_client_at(between.url);
    ilk_semaphore *s = open_semaphore(client, "lose", 1);
    ilk_error err = {0};

    proxy_arm(&between, PROXY_LOSE, "{lose}");
    assert_status(ILK_OK, ilk_semaphore_acquire(s, patience(5000), &err));
    proxy_arm(&between, PROXY_LOSE, "{lose}");
    assert_status(ILK_OK, ilk_semaphore_set_limit(s, 3, &err));
    assert_string_equal(
        "3", fixture_command(&fx, "HGET ilk:semaphore:fence:{lose} limit"));
    proxy_arm(&between, PROXY_LOSE, "{lose}");
    assert_status(ILK_OK, ilk_semaphore_release(s, &err));
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

/* Replies are checked before they are believed. */
TEST(senseless_answers_are_refused)
{
    static const char *const senseless[] = {
        "*2\r\n:1\r\n:3\r\n",
        "*9\r\n:1\r\n:3\r\n:1\r\n:9\r\n:9\r\n:0\r\n:1\r\n:1\r\n:5\r\n",
        "*9\r\n:1\r\n:3\r\n:1\r\n:9\r\n:9\r\n:0\r\n:1\r\n:101\r\n$1\r\nx\r\n",
        ("*14\r\n:1\r\n:3\r\n:1\r\n:9\r\n:9\r\n:0\r\n:1\r\n:1\r\n"
         "$1\r\nt\r\n$1\r\nw\r\n$1\r\nx\r\n:1\r\n:1\r\n:1\r\n"),
    };
    ilk_client *client = open_client_at(between.url);
    ilk_info *info = NULL;
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        proxy_replace(&between, "{odd}", senseless[i], strlen(senseless[i]));
        assert_status(ILK_EREPLY,
                      ilk_semaphore_inspect(&info, client, "odd", 3, &err));
        assert_null(info);
    }
    ilk_client_free(client);
}

TEST(a_late_grant_of_one_that_timed_out_is_passed_on)
{
    ilk_client *client = open_client_at(between.url), *other = open_client();
    ilk_semaphore *s = open_semaphore(client, "late", 1);
    ilk_semaphore *next = open_semaphore(other, "late", 1);
    ilk_error err = {0};

    proxy_delay(&between, "{late}", 900);
    assert_status(ILK_ECONN, ilk_semaphore_acquire(s, 500, &err));
    assert_int_equal(0, ilk_semaphore_held(s));

    assert_status(ILK_OK, ilk_semaphore_acquire(next, patience(3000), &err));
    ilk_semaphore_free(s);
    ilk_semaphore_free(next);
    ilk_client_free(client);
    ilk_client_free(other);
}
