/* SPDX-License-Identifier: MIT */
/* ut_conn_limits.c -- connecting while the system gives less than it could. */
#include "base/alloc.h"
#include "base/clock.h"
#include "conn_case.h"
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

AROUND_EACH(conn_case_setup, conn_case_teardown);

static volatile sig_atomic_t drops;

static void on_alarm(int number)
{
    (void)number;
    drops++;
}

static void rain(int every_us)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    struct itimerval timer = {{0, every_us}, {0, every_us}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

TEST(signals_do_not_end_it)
{
    static const char *const says[] = {HELLO_ANSWER, NULL};
    sigset_t alarms;
    ilk_status status;
    int64_t before, spent;

    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    far_end.delay_ms = 5;
    pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* not for the peer */
    assert_int_equal(peer_serve(&far_end, says), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    rain(1000);
    status = conn_case_open(5000);
    rain(0);
    assert_int_equal(status, ILK_OK);
    assert_true(drops > 50);
    ilk__conn_close(conn);
    conn = NULL;

    peer_close(&far_end);
    assert_int_equal(peer_open(&far_end), 0);
    rain(1000);
    before = fixture_now_ms();
    status = conn_case_open(100);
    spent = fixture_now_ms() - before;
    rain(0);
    assert_int_equal(status, ILK_ETIMEOUT);
    assert_in_range(spent, 99, 100 + patience(SLACK_MS));
}

TEST(descriptors_that_ran_out_are_reported)
{
    struct rlimit before, none;
    ilk_status numeric, named;
    ilk_error first;

    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 3; /* lower than what is open: no more for us */
    setrlimit(RLIMIT_NOFILE, &none);
    numeric = conn_case_open(2000);
    first = err;
    named = conn_case_open_url("redis://localhost:1", 2000);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(numeric, ILK_ECONN);
    assert_int_equal(named, ILK_ECONN);
    conn_case_says("Too many open files");
    conn_case_says("localhost:1");
    err = first;
    conn_case_says("Too many open files");
    conn_case_says_where();
}

TEST(a_full_unix_queue_is_waited_for)
{
    static const char *const says[] = {HELLO_ANSWER, NULL};
    char dir[] = "/tmp/ilk-ut-conn-XXXXXX", path[64], url[80];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int64_t before = fixture_now_ms(), spent;
    int fd, count = 0, fds[8];

    peer_close(&far_end);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s", dir);
    snprintf(url, sizeof url, "unix://%s", path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(peer_open_path(&far_end, path, 0), 0);
    while (count < 8) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            break;
        fds[count++] = fd;
    }
    close(fd);
    assert_in_range(count, 1, 7); /* the queue is full */
    assert_int_equal(conn_case_open_url(url, 60), ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    assert_in_range(spent, 59, 60 + patience(SLACK_MS));
    while (count > 0) {
        close(accept(far_end.listener, NULL, NULL));
        close(fds[--count]);
    }
    assert_int_equal(peer_serve(&far_end, says), 0);
    assert_int_equal(conn_case_open_url(url, 2000), ILK_OK);
    fixture_remove(dir);
    ilk__conn_close(conn);
    conn = NULL;
}

TEST(each_failing_allocation_is_reported)
{
    static const char *const says[] = {HELLO_ANSWER, NULL};
    ilk_status status = ILK_ENOMEM;
    int fds = conn_case_fds();
    long number;

    for (number = 1; status == ILK_ENOMEM && number < 100; number++) {
        if (number > 1) {
            peer_close(&far_end);
            assert_int_equal(peer_open(&far_end), 0);
        }
        assert_int_equal(peer_serve(&far_end, says), 0);
        conn_case_fail_at = number;
        status = conn_case_open(2000);
        assert_true(status == ILK_ENOMEM || status == ILK_OK);
    }
    conn_case_fail_at = 0;
    assert_int_equal(status, ILK_OK);
    assert_in_range(number, 5, 99);
    ilk__conn_close(conn);
    conn = NULL;
    peer_close(&far_end);
    assert_int_equal(conn_case_fds(), fds - 1); /* the listener was counted */
}

/* Sends pushes, which are no reply, for as long as anybody reads them, or until the test
 * has failed. */
static void *flood(void *until)
{
    static const char push[] = ">1\r\n+news\r\n";
    char pushes[64 * 1024];
    size_t len = 0;
    int fd = accept(far_end.listener, NULL, NULL);

    for (; len + sizeof push < sizeof pushes; len += sizeof push - 1)
        memcpy(pushes + len, push, sizeof push);
    while (ilk__now_ms() < *(int64_t *)until
           && send(fd, pushes, len, MSG_NOSIGNAL) == (ssize_t)len)
        continue;
    close(fd);
    return NULL;
}

TEST(a_flood_does_not_keep_a_login_from_its_deadline)
{
    const int64_t began = ilk__now_ms();
    int64_t until = began + patience(5000);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, flood, &until), 0);
    assert_int_equal(conn_case_open(100), ILK_ETIMEOUT);
    assert_true(ilk__now_ms() < began + patience(2500));
    assert_int_equal(pthread_join(thread, NULL), 0);
}
