/* SPDX-License-Identifier: MIT */
/* ut_sentinel.c -- finding a primary by sentinels that lie, hang or are gone. */
#include "base/alloc.h"
#include "base/clock.h"
#include "conn_case.h"
#include "fixture.h"
#include "net/url_sentinels.h"
#include "redis/sentinel.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define NO_ADDRESS "*-1\r\n"
/* To HELLO, SELECT and CLIENT ID. */
#define LOGGED_IN "%2\r\n+proto\r\n:3\r\n+mode\r\n+standalone\r\n+OK\r\n:7\r\n"
#define MASTER "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA                                                                \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"

enum { PEERS = 3 };

static peer sentinels[PEERS], server, other_server;
static char answer[128], other_answer[128]; /* where the servers are */
static ilk__primary primary;

static void write_answer(char *out, size_t room, int port)
{
    char digits[16];

    snprintf(digits, sizeof digits, "%d", port);
    snprintf(out, room, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
             strlen(digits), digits);
}

static int setup(void)
{
    int failed = conn_case_setup();

    for (int i = 0; i < PEERS; i++)
        failed |= peer_open(&sentinels[i]);
    failed |= peer_open(&server) | peer_open(&other_server);
    write_answer(answer, sizeof answer, server.port);
    write_answer(other_answer, sizeof other_answer, other_server.port);
    memset(&primary, 0, sizeof primary);
    return failed;
}

static int teardown(void)
{
    int failed = conn_case_teardown(); /* closes the connection first */

    for (int i = 0; i < PEERS; i++)
        peer_close(&sentinels[i]);
    peer_close(&server);
    peer_close(&other_server);
    return failed;
}

AROUND_EACH(setup, teardown);

static ilk_status open_by(const char *query, int64_t timeout_ms)
{
    ilk_status status;
    char text[256];
    ilk__url url;

    snprintf(text, sizeof text,
             "redis+sentinel://:sesame@127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d"
             "/mymaster/7%s",
             sentinels[0].port, sentinels[1].port, sentinels[2].port, query);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    assert_int_equal(ilk__primary_init(&primary, &url, &err), ILK_OK);
    if (conn_case_fail_at != 0)
        ilk__alloc_fail_at(conn_case_fail_at);
    status = ilk__conn_open(
        &conn, &(ilk__target){.url = &url, .name = "n", .primary = &primary},
        NULL, ilk__deadline(timeout_ms), &err);
    ilk__alloc_fail_at(0);
    ilk__url_free(&url);
    return status;
}

static const char *const says_master[] = {LOGGED_IN, MASTER, NULL};
static const char *const says_replica[] = {LOGGED_IN, REPLICA, NULL};
static const char *const says_nothing_known[] = {HELLO_ANSWER, NO_ADDRESS,
                                                 NULL};

static const char *const *says_answer(void)
{
    static const char *lines[] = {HELLO_ANSWER, answer, NULL};

    return lines;
}

static void dead(int number)
{
    close(sentinels[number].listener);
    sentinels[number].listener = -1;
}

TEST(the_first_one_names_the_primary_of_the_login)
{
    peer_serve(&sentinels[0], says_answer());
    peer_serve(&server, says_master);
    assert_int_equal(open_by("?sentinel_user=watch", 5000), ILK_OK);
    assert_non_null(strstr(sentinels[0].heard, "SENTINEL"));
    assert_non_null(strstr(sentinels[0].heard, "mymaster"));
    assert_non_null(strstr(sentinels[0].heard, "watch"));
    assert_null(strstr(sentinels[0].heard, "sesame"));
    assert_null(strstr(sentinels[0].heard, "SELECT"));
    assert_non_null(strstr(server.heard, "sesame"));
    assert_non_null(strstr(server.heard, "SELECT"));
    assert_non_null(strstr(server.heard, "ROLE"));
    assert_null(strstr(server.heard, "watch"));
    assert_int_equal(atomic_load(&primary.sentinel), 0);
    assert_true(ilk__conn_identity_of(conn).server
                == ilk__server_hash("127.0.0.1", server.port));
}

TEST(the_one_that_answered_last_comes_first)
{
    atomic_store(&primary.sentinel, 2);
    peer_serve(&sentinels[2], says_answer());
    peer_serve(&server, says_master);
    assert_int_equal(open_by("", 5000), ILK_OK);
    assert_int_equal(sentinels[0].heard_len, 0);
}

static void the_next_one_is_asked_after(const char *const *says)
{
    peer_serve(&sentinels[0], says);
    dead(1);
    peer_serve(&sentinels[2], says_answer());
    peer_serve(&server, says_master);
    if (open_by("", patience(3000)) != ILK_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(atomic_load(&primary.sentinel), 2);
}

#define AFTER(name, ...)                                                       \
    TEST(name)                                                                 \
    {                                                                          \
        static const char *const says[] = {HELLO_ANSWER, __VA_ARGS__, NULL};   \
                                                                               \
        the_next_one_is_asked_after(says);                                     \
    }

AFTER(after_one_that_does_not_know_the_service, NO_ADDRESS)
AFTER(after_one_that_refuses, "-NOPERM no\r\n")
AFTER(after_one_that_closes, "")
AFTER(after_one_that_answers_a_number, ":5\r\n")
AFTER(after_one_that_answers_too_little, "*1\r\n$1\r\na\r\n")
AFTER(after_one_that_answers_too_much,
      "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n")
AFTER(after_one_with_a_host_that_is_none, "*2\r\n$3\r\na b\r\n$4\r\n7000\r\n")
AFTER(after_one_with_an_empty_host, "*2\r\n$0\r\n\r\n$4\r\n7000\r\n")
AFTER(after_one_with_a_nul_in_the_host, "*2\r\n$3\r\n\r\n \r\n$4\r\n7000\r\n")
AFTER(after_one_with_port_0, "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n")
AFTER(after_one_with_a_port_that_is_none,
      "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n70000\r\n")
AFTER(after_one_that_makes_no_sense, "HTTP/1.1 400\r\n")

TEST(after_one_that_hangs)
{
    static const char *const says[] = {HELLO_ANSWER, NULL};

    the_next_one_is_asked_after(says);
}

TEST(after_one_that_names_a_host_which_is_not_allowed)
{
    static const char *const lies[] = {
        HELLO_ANSWER, "*2\r\n$12\r\nevil.example\r\n$4\r\n6379\r\n", NULL};

    peer_serve(&sentinels[0], lies);
    peer_serve(&sentinels[1], says_answer());
    peer_serve(&server, says_master);
    assert_int_equal(open_by("?hosts=192.0.2.*", 5000), ILK_OK);
    assert_int_equal(atomic_load(&primary.sentinel), 1);
}

TEST(new_addresses_have_a_limit)
{
    char host[] = "192.0.2.1";
    ilk__url_sentinels sentinel = {.hosts = {host}, .count = 1};
    const ilk__url url = {.sentinels = &sentinel};
    int count = 0;

    assert_int_equal(ilk__primary_init(&primary, &url, &err), ILK_OK);
    for (int port = 1; port < 100; port++)
        count += ilk__primary_check(&primary, &url, host, port, &err) == ILK_OK;
    assert_in_range(count, 16, 18);
    assert_int_equal(ilk__primary_check(&primary, &url, "192.0.2.1", 1, &err),
                     ILK_OK);
}

TEST(when_all_fail_each_reason_is_said)
{
    static const char *const refuses[] = {"-WRONGPASS no\r\n", NULL};
    int64_t before = fixture_now_ms();

    dead(0);
    peer_serve(&sentinels[1], says_nothing_known);
    peer_serve(&sentinels[2], refuses);
    assert_int_equal(open_by("", 60000), ILK_ECONN);
    conn_case_says("no sentinel says where mymaster is");
    conn_case_says("Connection refused");
    conn_case_says("does not know the service");
    conn_case_says("WRONGPASS");
    assert_true(fixture_now_ms() - before < patience(2000));
}

TEST(when_all_refuse_the_login_it_is_a_matter_of_rights)
{
    static const char *const refuses[] = {"-WRONGPASS no\r\n", NULL};

    for (int i = 0; i < PEERS; i++)
        peer_serve(&sentinels[i], refuses);
    assert_int_equal(open_by("", 5000), ILK_EAUTH);
}

TEST(sentinels_that_hang_cost_no_more_than_the_deadline)
{
    int64_t before = fixture_now_ms(), spent;

    assert_int_equal(open_by("", 400), ILK_ECONN);
    conn_case_says("no answer from 127.0.0.1");
    spent = fixture_now_ms() - before;
    assert_true(spent >= 250);
    assert_true(spent <= 400 + patience(SLACK_MS));
}

/* A stale sentinel names a server that is a replica by now: the next sentinel
 * is tried. */
TEST(a_replica_is_left_for_what_another_sentinel_says)
{
    static const char *lines[] = {HELLO_ANSWER, other_answer, NULL};
    int64_t before = fixture_now_ms();

    peer_serve(&sentinels[0], says_answer());
    peer_serve(&sentinels[1], lines);
    peer_serve(&server, says_replica);
    peer_serve(&other_server, says_master);
    assert_int_equal(open_by("", patience(5000)), ILK_OK);
    assert_true(ilk__conn_identity_of(conn).server
                == ilk__server_hash("127.0.0.1", other_server.port));
    /* The first one, which accepts no more, would take its share of the time. */
    assert_true(fixture_now_ms() - before < patience(1000));
}

TEST(a_primary_that_refuses_is_looked_up_until_the_deadline)
{
    int64_t before = fixture_now_ms(), spent;

    close(server.listener);
    server.listener = -1;
    peer_serve(&sentinels[0], says_answer());
    peer_serve(&sentinels[1], says_answer());
    peer_serve(&sentinels[2], says_answer());
    assert_int_equal(open_by("", 900), ILK_ECONN);
    conn_case_says("Connection refused");
    spent = fixture_now_ms() - before;
    assert_true(spent >= 200); /* two pauses */
    assert_true(spent <= 900 + patience(SLACK_MS));
}

TEST(a_role_that_makes_no_sense_is_no_primary)
{
    static const char *const says[] = {LOGGED_IN, ":1\r\n", NULL};

    for (int i = 0; i < PEERS; i++)
        peer_serve(&sentinels[i], says_answer());
    peer_serve(&server, says);
    assert_int_equal(open_by("", 500), ILK_ECONN);
}

TEST(a_user_without_the_right_to_role_gets_an_error)
{
    static const char *const says[] = {LOGGED_IN, "-NOPERM no 'role'\r\n",
                                       NULL};

    peer_serve(&sentinels[0], says_answer());
    peer_serve(&server, says);
    assert_int_equal(open_by("", 5000), ILK_EAUTH);
    conn_case_says("for its role");
    conn_case_says("NOPERM");
}

/* The server found hangs; then a sentinel names another one. */
TEST(news_of_a_switch_end_the_attempt)
{
    static const char *lines[] = {HELLO_ANSWER, other_answer, NULL};
    int64_t before = fixture_now_ms();
    ilk_status status;
    ilk__url url;
    char text[128];

    peer_serve(&sentinels[0], says_answer());
    peer_serve(&sentinels[1], lines);
    peer_serve(&other_server, says_master);
    snprintf(text, sizeof text,
             "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/mymaster/7",
             sentinels[0].port, sentinels[1].port);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    assert_int_equal(
        ilk__conn_start(
            &conn,
            &(ilk__target){.url = &url, .name = "n", .primary = &primary}, NULL,
            ilk__deadline(patience(20000)), &err),
        ILK_OK);
    while ((status = ilk__conn_step(conn, &err)) == ILK_EAGAIN) {
        assert_true(ilk__conn_until(conn) <= ilk__now_ms() + 60);
        if (server.fd < 0 && fixture_now_ms() - before > 100
            && atomic_load(&primary.switches) == 0)
            ilk__primary_switched(&primary, 1, "127.0.0.1", other_server.port);
        fixture_sleep_ms(2);
    }
    ilk__url_free(&url);
    if (status != ILK_OK)
        fail_msg("%s", err.msg);
    assert_true(fixture_now_ms() - before < patience(2000));
    assert_false(ilk__conn_is_outdated(conn));
    ilk__primary_switched(&primary, 0, "127.0.0.1", other_server.port);
    assert_false(ilk__conn_is_outdated(conn));
    ilk__primary_switched(&primary, 0, "127.0.0.1", server.port);
    assert_true(ilk__conn_is_outdated(conn));
}

/* The number of a connection to another server means nothing on this one. */
TEST(another_servers_connection_is_not_closed_here)
{
    ilk__conn_identity old = {.id = 5, .since = 1, .server = 77};
    ilk__url url;
    char text[128];

    peer_serve(&sentinels[0], says_answer());
    peer_serve(&server, says_master);
    snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/mymaster/7",
             sentinels[0].port);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    assert_int_equal(ilk__conn_open(&conn,
                                    &(ilk__target){.url = &url, .name = "n"},
                                    &old, ilk__deadline(5000), &err),
                     ILK_OK);
    ilk__url_free(&url);
    assert_false(ilk__conn_left_open(conn));
    assert_null(strstr(server.heard, "LIST"));
}

TEST(the_same_servers_connection_is_closed)
{
    ilk__conn_identity old = {.id = 5, .since = 1};
    ilk__url url;
    char text[128];

    old.server = ilk__server_hash("127.0.0.1", server.port);
    peer_serve(&sentinels[0], says_answer());
    peer_serve(&server, says_master); /* MASTER is no answer to CLIENT LIST */
    snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/mymaster/7",
             sentinels[0].port);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    assert_int_equal(ilk__conn_open(&conn,
                                    &(ilk__target){.url = &url, .name = "n"},
                                    &old, ilk__deadline(1500), &err),
                     ILK_ECONN);
    ilk__url_free(&url);
    assert_non_null(strstr(server.heard, "LIST"));
}

TEST(no_failing_allocation_leaves_anything)
{
    int open = conn_case_fds();
    ilk_status status;
    long number = 0;

    do {
        teardown();
        assert_int_equal(setup(), 0);
        peer_serve(&sentinels[0], says_answer());
        peer_serve(&sentinels[1], says_answer());
        peer_serve(&server, says_master);
        conn_case_fail_at = ++number;
        status = open_by("", 1000);
        assert_true(status == ILK_OK || status == ILK_ENOMEM
                    || status == ILK_ECONN);
        if (status != ILK_OK)
            assert_null(conn);
    } while (status != ILK_OK);
    conn_case_fail_at = 0;
    assert_true(number > 10);
    teardown();
    assert_true(conn_case_fds() <= open);
    assert_int_equal(setup(), 0);
}
