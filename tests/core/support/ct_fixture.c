/* SPDX-License-Identifier: MIT */
/* ct_fixture.c -- the shared fixture does what its header says. */
#include "fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static fixture fx;

static int setup(void)
{
    return fixture_start(&fx, "--requirepass secret --databases 3");
}

static int teardown(void)
{
    return fixture_stop(&fx);
}

AROUND_ALL(setup, teardown);

TEST(command_answers_every_type_as_text)
{
    assert_string_equal(fixture_command(&fx, "SET a%d b", 1), "OK");
    assert_string_equal(fixture_command(&fx, "GET a1"), "b");
    assert_string_equal(fixture_command(&fx, "GET a2"), "(nil)");
    assert_string_equal(fixture_command(&fx, "KEYS nothing"), "");
    assert_int_equal(fixture_int(&fx, "EXISTS a1 a2"), 1);
    assert_string_equal(fixture_call(&fx, "EVAL",
                                     "return {1, {'x y', false}, 'z'}", "0",
                                     (char *)NULL),
                        "1\nx y\n(nil)\nz");
    assert_int_equal(
        strncmp(fixture_command(&fx, "NONSENSE"), "(error) ERR", 11), 0);
}

TEST(extra_arguments_reach_the_server)
{
    assert_string_equal(fixture_command(&fx, "CONFIG GET databases"),
                        "databases\n3");
}

TEST(restart_after_kill_keeps_the_port)
{
    int port = fx.port;

    assert_int_equal(fixture_kill(&fx), 0);
    assert_string_equal(fixture_command(&fx, "PING"), "(closed)");
    assert_int_equal(fixture_restart(&fx), 0);
    assert_string_equal(fixture_command(&fx, "PING"), "PONG");
    assert_int_equal(fx.port, port);
}

TEST(await_sees_what_a_child_does)
{
    pid_t pid = fork();

    if (pid == 0) {
        fixture_sleep_ms(20);
        fixture_command(&fx, "SET from child");
        _exit(0);
    }
    assert_int_equal(fixture_await(&fx, "child", 5000, "GET from"), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(paused_server_answers_after_resume)
{
    int64_t before;
    pid_t pid;

    assert_int_equal(fixture_pause(&fx), 0);
    before = fixture_now_ms();
    if ((pid = fork()) == 0) {
        fixture_sleep_ms(100);
        fixture_resume(&fx);
        _exit(0);
    }
    assert_string_equal(fixture_command(&fx, "PING"), "PONG");
    assert_true(fixture_now_ms() - before >= 90);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}
