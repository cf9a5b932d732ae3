/* SPDX-License-Identifier: MIT */
/*
 * ut_log.c -- one line to standard error, when it is asked for.
 *
 * The level is read once per process, so every case runs in a child.
 */
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

/* What a child with INTERLOCK_LOG=level writes to standard error. */
static const char *child_says(const char *level, void (*act)(void))
{
    static char said[4096];
    size_t used = 0;
    int fds[2], status;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    if ((pid = fork()) == 0) {
        dup2(fds[1], STDERR_FILENO);
        if (level != NULL)
            setenv("INTERLOCK_LOG", level, 1);
        else
            unsetenv("INTERLOCK_LOG");
        act();
        _exit(0);
    }
    close(fds[1]);
    while ((n = read(fds[0], said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)n;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    said[used] = '\0';
    return said;
}

static void say_one_of_each(void)
{
    ilk__log(ILK__LOG_ERROR, "e%d", 1);
    ilk__log(ILK__LOG_WARN, "w%d", 2);
    ilk__log(ILK__LOG_INFO, "i%d", 3);
    ilk__log(ILK__LOG_DEBUG, "d%d", 4);
}

static void say_control_bytes(void)
{
    ilk__log(ILK__LOG_WARN, "a\nb\x1b[31m\x7f \xc3\xa9");
}

static void say_very_much(void)
{
    char text[3000];

    memset(text, '\n', sizeof text);
    text[sizeof text - 1] = '\0';
    ilk__log(ILK__LOG_WARN, "%s", text);
}

static void say_and_keep_errno(void)
{
    errno = ERANGE;
    close(STDERR_FILENO);
    ilk__log(ILK__LOG_ERROR, "lost");
    if (errno != ERANGE)
        _exit(1);
}

static void nothing_is_said_by_default(void **state)
{
    (void)state;
    assert_string_equal(child_says(NULL, say_one_of_each), "");
    assert_string_equal(child_says("", say_one_of_each), "");
    assert_string_equal(child_says("off", say_one_of_each), "");
}

static void a_level_lets_through_what_is_as_grave(void **state)
{
    (void)state;
    assert_string_equal(child_says("error", say_one_of_each),
                        "interlock: error: e1\n");
    assert_string_equal(child_says("warn", say_one_of_each),
                        "interlock: error: e1\ninterlock: warn: w2\n");
    assert_string_equal(child_says("debug", say_one_of_each),
                        "interlock: error: e1\ninterlock: warn: w2\n"
                        "interlock: info: i3\ninterlock: debug: d4\n");
}

static void a_level_that_is_none_is_told_and_taken_as_warn(void **state)
{
    const char *said = child_says("loud", say_one_of_each);

    (void)state;
    assert_non_null(strstr(said, "INTERLOCK_LOG is none of"));
    assert_non_null(strstr(said, "w2"));
    assert_null(strstr(said, "i3"));
}

static void control_bytes_are_escaped(void **state)
{
    (void)state;
    assert_string_equal(child_says("warn", say_control_bytes),
                        "interlock: warn: a\\x0ab\\x1b[31m\\x7f \xc3\xa9\n");
}

static void a_line_is_cut_and_stays_a_line(void **state)
{
    const char *said = child_says("warn", say_very_much);

    (void)state;
    assert_in_range(strlen(said), 900, 1024);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void errno_is_kept(void **state)
{
    (void)state;
    assert_string_equal(child_says("error", say_and_keep_errno), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_by_default),
        cmocka_unit_test(a_level_lets_through_what_is_as_grave),
        cmocka_unit_test(a_level_that_is_none_is_told_and_taken_as_warn),
        cmocka_unit_test(control_bytes_are_escaped),
        cmocka_unit_test(a_line_is_cut_and_stays_a_line),
        cmocka_unit_test(errno_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
