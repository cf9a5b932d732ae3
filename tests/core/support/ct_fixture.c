/* SPDX-License-Identifier: MIT */
/* ct_fixture.c -- the shared fixture does what its header says. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static fixture fx;

static int setup(void **state)
{
    (void)state;
    return fixture_start(&fx, "--requirepass secret --databases 3");
}

static int teardown(void **state)
{
    (void)state;
    return fixture_stop(&fx);
}

static void command_answers_every_type_as_text(void **state)
{
    (void)state;
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

static void extra_arguments_reach_the_server(void **state)
{
    (void)state;
    assert_string_equal(fixture_command(&fx, "CONFIG GET databases"),
                        "databases\n3");
}

static void restart_after_kill_keeps_the_port(void **state)
{
    int port = fx.port;

    (void)state;
    assert_int_equal(fixture_kill(&fx), 0);
    assert_string_equal(fixture_command(&fx, "PING"), "(closed)");
    assert_int_equal(fixture_restart(&fx), 0);
    assert_string_equal(fixture_command(&fx, "PING"), "PONG");
    assert_int_equal(fx.port, port);
}

static void await_sees_what_a_child_does(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        fixture_sleep_ms(20);
        fixture_command(&fx, "SET from child");
        _exit(0);
    }
    assert_int_equal(fixture_await(&fx, "child", 5000, "GET from"), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void paused_server_answers_after_resume(void **state)
{
    int64_t before;
    pid_t pid;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_answers_every_type_as_text),
        cmocka_unit_test(extra_arguments_reach_the_server),
        cmocka_unit_test(restart_after_kill_keeps_the_port),
        cmocka_unit_test(await_sees_what_a_child_does),
        cmocka_unit_test(paused_server_answers_after_resume),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
