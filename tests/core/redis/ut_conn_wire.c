/* SPDX-License-Identifier: MIT */
/* ut_conn_wire.c -- bytes out and in once a connection is ready. */
#include "conn_case.h"
#include "fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static const char *const hello[] = {HELLO_ANSWER, NULL};

/* Ready, with the peer's thread reading all and saying no more. */
static int setup(void)
{
    if (conn_case_setup() != 0 || peer_serve(&far_end, hello) != 0)
        return -1;
    return conn_case_open(2000) == ILK_OK ? 0 : -1;
}

/* The peer's thread ends with the connection, so that goes first. */
static int teardown(void)
{
    ilk__conn_close(conn);
    conn = NULL;
    return conn_case_teardown();
}

AROUND_EACH(setup, teardown);

static void await_input(void)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn),
                         .events = ilk__conn_events(conn)};

    assert_int_equal(pfd.events, POLLIN);
    assert_int_equal(poll(&pfd, 1, 2000), 1);
}

static void say(const char *bytes)
{
    size_t len = strlen(bytes);

    assert_int_equal(send(far_end.fd, bytes, len, 0), len);
}

TEST(one_receive_may_bring_several_replies)
{
    ilk__reply *reply;
    size_t bytes;

    assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_EAGAIN);
    assert_int_equal(bytes, 0);
    assert_int_equal(ilk__conn_reply(conn, &reply, &err), ILK_EAGAIN);
    say(":1\r\n:2\r\n:");
    await_input();
    assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_OK);
    assert_int_equal(bytes, 9);
    for (int number = 1; number <= 3; number++) {
        if (number == 3) {
            assert_int_equal(ilk__conn_reply(conn, &reply, &err), ILK_EAGAIN);
            say("3\r\n");
            await_input();
            assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_OK);
        }
        assert_int_equal(ilk__conn_reply(conn, &reply, &err), ILK_OK);
        assert_int_equal(reply->num, number);
        ilk__reply_free(reply);
    }
}

TEST(senseless_bytes_are_reported)
{
    ilk__reply *reply;
    size_t bytes;

    say("?\r\n");
    await_input();
    assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_OK);
    assert_int_equal(ilk__conn_reply(conn, &reply, &err), ILK_EREPLY);
    assert_int_equal(ilk__conn_reply(conn, &reply, &err), ILK_EREPLY);
}

TEST(the_end_is_reported)
{
    size_t bytes;

    shutdown(far_end.fd, SHUT_WR);
    await_input();
    assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_ECONN);
    conn_case_says("closed the connection");
    conn_case_says_where();
}

TEST(a_socket_takes_what_it_can)
{
    static char much[1 << 20];
    size_t sent, all = 0;
    int turns = 0;

    ilk__conn_close(conn);
    peer_close(&far_end);
    assert_int_equal(conn_case_setup(), 0);
    far_end.deaf = 1;
    assert_int_equal(peer_serve(&far_end, hello), 0);
    assert_int_equal(conn_case_open(2000), ILK_OK);
    do {
        assert_int_equal(ilk__conn_send(conn, much, sizeof much, &sent, &err),
                         ILK_OK);
        all += sent;
    } while (sent > 0 && ++turns < 100);
    assert_int_equal(sent, 0); /* full, and no failure */
    assert_true(all > 0);
    assert_false(ilk__conn_unsent(conn));
}

static volatile sig_atomic_t pipes;

static void on_pipe(int number)
{
    (void)number;
    pipes++;
}

TEST(a_dead_peer_raises_no_signal)
{
    struct sigaction action = {.sa_handler = on_pipe}, before;
    struct linger at_once = {.l_onoff = 1};
    ilk_status status = ILK_OK;
    size_t sent;

    sigaction(SIGPIPE, &action, &before);
    setsockopt(far_end.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    shutdown(far_end.fd, SHUT_RD); /* ends its thread */
    peer_wait(&far_end);
    close(far_end.fd);
    far_end.fd = -1;
    for (int i = 0; i < 100 && status == ILK_OK; i++)
        status = ilk__conn_send(conn, "PING\r\n", 6, &sent, &err);
    assert_int_equal(status, ILK_ECONN);
    assert_int_equal(ilk__conn_send(conn, "PING\r\n", 6, &sent, &err),
                     ILK_ECONN);
    conn_case_says_where();
    assert_int_equal(pipes, 0);
    sigaction(SIGPIPE, &before, NULL);
}

/* The child gives up its descriptor; the parent's connection goes on. */
TEST(a_child_that_closes_does_no_harm)
{
    int fds = conn_case_fds(), status;
    ilk__reply *reply;
    size_t bytes;
    pid_t pid;

    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        ilk__conn_close(conn); /* and what it was made of is still there */
        if (ilk__conn_protocol(conn) != 3 || ilk__conn_fd(conn) != -1)
            _exit(2);
        /* A kill is success: no leak checker asks about what was left. */
        if (conn_case_fds() == fds - 1)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    say("+PONG\r\n");
    await_input();
    assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_OK);
    assert_int_equal(ilk__conn_reply(conn, &reply, &err), ILK_OK);
    ilk__reply_free(reply);
}
