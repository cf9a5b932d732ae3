/* SPDX-License-Identifier: MIT */
/* ut_conn.c -- connecting to peers that are absent, mute, rude or late. */
/* link: -Wl,--wrap=send */
#include "base/clock.h"
#include "conn_case.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

AROUND_EACH(conn_case_setup, conn_case_teardown);

ssize_t __real_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);

/* This thread's sends find the other side gone; the peer's are its own. */
static _Thread_local int too_late;

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
    if (!too_late)
        return __real_send(fd, data, len, flags);
    fixture_sleep_ms(50); /* what it said has come by now */
    errno = EPIPE;
    return -1;
}

TEST(nobody_listens)
{
    int64_t before = fixture_now_ms();

    close(far_end.listener);
    far_end.listener = -1;
    assert_int_equal(conn_case_open(2000), ILK_ECONN);
    assert_true(fixture_now_ms() - before < patience(500));
    conn_case_says("Connection refused");
    conn_case_says_where();
}

TEST(no_such_path)
{
    char path[200] = "/";
    ilk__url url = {.scheme = ILK__SCHEME_UNIX, .path = path};

    assert_int_equal(conn_case_open_url("unix:///nowhere/redis.sock", 2000),
                     ILK_ECONN);
    conn_case_says("/nowhere/redis.sock");
    conn_case_says("No such file");
    memset(path, 'x', sizeof path - 1);
    assert_int_equal(ilk__conn_open(&conn,
                                    &(ilk__target){.url = &url, .name = "n"},
                                    NULL, ilk__deadline(9), &err),
                     ILK_EINVAL);
    conn_case_says("at most");
}

TEST(a_mute_peer_costs_no_more_than_the_deadline)
{
    for (int timeout_ms = 0; timeout_ms <= 200; timeout_ms += 50) {
        int64_t before = fixture_now_ms(), spent;

        assert_int_equal(conn_case_open(timeout_ms), ILK_ETIMEOUT);
        spent = fixture_now_ms() - before;
        assert_true(spent >= timeout_ms - 1);
        assert_true(spent <= timeout_ms + patience(SLACK_MS));
        conn_case_says_where();
    }
    conn_case_says("logging in");
}

/* The bytes of a peer, and the result. */
static void assert_outcome(const char *const *says, ilk_status status,
                           const char *text)
{
    assert_int_equal(peer_serve(&far_end, says), 0);
    assert_int_equal(conn_case_open(2000), status);
    conn_case_says_where();
    conn_case_says(text);
}

TEST(a_peer_that_is_no_server)
{
    static const char *const says[] = {"HTTP/1.1 400 Bad Request\r\n\r\n",
                                       NULL};

    assert_outcome(says, ILK_EREPLY, "makes no sense");
}

TEST(a_peer_that_closes)
{
    static const char *const says[] = {"", NULL};

    assert_int_equal(peer_serve(&far_end, says), 0);
    assert_int_equal(conn_case_open(2000), ILK_ECONN);
    conn_case_says_where();
}

TEST(a_peer_that_closes_within_its_answer)
{
    static const char *const says[] = {"%2\r\n+proto\r\n", "", NULL};

    assert_outcome(says, ILK_ECONN, "");
}

TEST(a_server_that_is_full_says_so)
{
    static const char *const says[] = {
        "!-ERR max number of clients reached\r\n", "", NULL};

    assert_outcome(says, ILK_ECONN, "max number of clients reached");
}

TEST(a_server_that_closed_before_the_login_is_read)
{
    static const char *const says[] = {
        "!-ERR max number of clients reached\r\n", NULL};
    static const char *const nothing[] = {NULL};

    too_late = 1;
    assert_outcome(says, ILK_ECONN, "max number of clients reached");
    assert_int_equal(conn_case_teardown(), 0);
    assert_int_equal(conn_case_setup(), 0);
    assert_outcome(nothing, ILK_ECONN, "Broken pipe");
    too_late = 0;
}

TEST(the_words_are_one_write_and_secret)
{
    static const char *const says[] = {"-WRONGPASS invalid password\r\n", NULL};

    assert_outcome(says, ILK_EAUTH, "WRONGPASS");
    peer_wait(&far_end);
    assert_string_equal(far_end.heard,
                        "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n"
                        "$7\r\ndefault\r\n$6\r\nsesame\r\n"
                        "$7\r\nSETNAME\r\n$1\r\nn\r\n"
                        "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n");
}

/* Poll and step by hand, as the keeper does. */
TEST(a_login_goes_on_step_by_step)
{
    static const char *const says[] = {HELLO_ANSWER, NULL};
    ilk_status status;
    int steps = 0;
    ilk__url url;
    char text[64];

    far_end.delay_ms = 1;
    assert_int_equal(peer_serve(&far_end, says), 0);
    snprintf(text, sizeof text, "redis://127.0.0.1:%d", far_end.port);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    assert_int_equal(ilk__conn_start(&conn,
                                     &(ilk__target){.url = &url, .name = "n"},
                                     NULL, ilk__deadline(5000), &err),
                     ILK_OK);
    while ((status = ilk__conn_step(conn, &err)) == ILK_EAGAIN) {
        struct pollfd pfd = {.fd = ilk__conn_fd(conn),
                             .events = ilk__conn_events(conn)};

        assert_int_equal(poll(&pfd, 1, 2000), 1);
        steps++;
    }
    ilk__url_free(&url);
    assert_int_equal(status, ILK_OK);
    assert_int_equal(ilk__conn_step(conn, &err), ILK_OK);
    assert_true(steps > 10);
    assert_int_equal(ilk__conn_protocol(conn), 3);
    assert_true(fcntl(ilk__conn_fd(conn), F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(ilk__conn_fd(conn), F_GETFL) & O_NONBLOCK);
    ilk__conn_close(conn);
    conn = NULL;
}

TEST(a_failure_is_final)
{
    ilk__url url;
    char text[64];

    snprintf(text, sizeof text, "redis://127.0.0.1:%d", far_end.port);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    assert_int_equal(ilk__conn_start(&conn,
                                     &(ilk__target){.url = &url, .name = "n"},
                                     NULL, ilk__now_ms() - 1, &err),
                     ILK_OK);
    assert_int_equal(ilk__conn_step(conn, &err), ILK_ETIMEOUT);
    ilk__url_free(&url);
    memset(&err, 0, sizeof err);
    assert_int_equal(ilk__conn_step(conn, &err), ILK_ETIMEOUT);
    conn_case_says_where();
    assert_int_equal(ilk__conn_fd(conn), -1);
}

/* ---- a server that has a crowd of clients ------------------------------- */

enum { CONNECT_MS = 400 };

static int first_answer_ms;

/* With the time-outs of a client; limit_ms is the caller's. */
static ilk_status open_by(int64_t limit_ms, int reply_ms)
{
    ilk__url url;
    ilk__target target = {.url = &url,
                          .name = "n",
                          .connect_timeout_ms = CONNECT_MS,
                          .first_answer_ms = first_answer_ms};
    ilk_status status;
    char text[96];

    snprintf(text, sizeof text, "redis://127.0.0.1:%d?reply_timeout_ms=%d",
             far_end.port, reply_ms);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    status =
        ilk__conn_open(&conn, &target, NULL, ilk__deadline(limit_ms), &err);
    ilk__url_free(&url);
    return status;
}

static void serve_bytes_slowly(int delay_ms)
{
    static const char *const says[] = {HELLO_ANSWER, NULL};

    far_end.delay_ms = delay_ms;
    assert_int_equal(peer_serve(&far_end, says), 0);
}

TEST(a_server_that_has_answered_gets_the_time_of_a_reply)
{
    int64_t before = fixture_now_ms();

    serve_bytes_slowly(20);
    assert_int_equal(open_by(20000, 15000), ILK_OK);
    assert_true(fixture_now_ms() - before > CONNECT_MS);
}

TEST(but_no_more_than_that)
{
    int64_t before = fixture_now_ms(), spent;

    serve_bytes_slowly(100);
    assert_int_equal(open_by(20000, 700), ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    assert_true(spent >= 700);
    assert_true(spent <= 700 + 700 + patience(SLACK_MS));
    conn_case_says("logging in");
}

TEST(one_that_has_accepted_gets_the_time_of_a_first_answer)
{
    int64_t before = fixture_now_ms(), spent;

    assert_int_equal(open_by(20000, 5000), ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    assert_in_range(spent, CONNECT_MS - 1, CONNECT_MS + patience(SLACK_MS));

    first_answer_ms = 700;
    before = fixture_now_ms();
    assert_int_equal(open_by(20000, 5000), ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    assert_in_range(spent, 699, 700 + patience(SLACK_MS));
    first_answer_ms = 0;
}

TEST(the_caller_s_limit_holds_after_an_answer)
{
    int64_t before = fixture_now_ms();

    serve_bytes_slowly(100);
    assert_int_equal(open_by(600, 3000), ILK_ETIMEOUT);
    assert_true(fixture_now_ms() - before <= 600 + patience(SLACK_MS));
}
