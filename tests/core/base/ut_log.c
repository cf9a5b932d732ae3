/* SPDX-License-Identifier: MIT */
/*
 * ut_log.c -- one line to standard error, when INTERLOCK_LOG says so.
 *
 * The level is read once per process, so every case runs in a child.
 */
/* link: -Wl,--wrap=ilk__now_ms */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static int64_t now_ms = 1;

int64_t __wrap_ilk__now_ms(void);

int64_t __wrap_ilk__now_ms(void)
{
    return now_ms;
}

/* The lines that a child with INTERLOCK_LOG=level writes to standard error. */
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

TEST(nothing_is_said_by_default)
{
    assert_string_equal(child_says(NULL, say_one_of_each), "");
    assert_string_equal(child_says("", say_one_of_each), "");
    assert_string_equal(child_says("off", say_one_of_each), "");
}

TEST(a_level_lets_through_what_is_as_grave)
{
    assert_string_equal(child_says("error", say_one_of_each),
                        "interlock: error: e1\n");
    assert_string_equal(child_says("warn", say_one_of_each),
                        "interlock: error: e1\ninterlock: warn: w2\n");
    assert_string_equal(child_says("debug", say_one_of_each),
                        "interlock: error: e1\ninterlock: warn: w2\n"
                        "interlock: info: i3\ninterlock: debug: d4\n");
}

TEST(an_unknown_level_is_reported_and_taken_as_warn)
{
    const char *said = child_says("loud", say_one_of_each);

    assert_non_null(strstr(said, "INTERLOCK_LOG is none of"));
    assert_non_null(strstr(said, "w2"));
    assert_null(strstr(said, "i3"));
}

TEST(control_bytes_are_escaped)
{
    assert_string_equal(child_says("warn", say_control_bytes),
                        "interlock: warn: a\\x0ab\\x1b[31m\\x7f \xc3\xa9\n");
}

TEST(a_line_is_cut_and_stays_a_line)
{
    const char *said = child_says("warn", say_very_much);

    assert_in_range(strlen(said), 900, 1024);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void say_the_same_again_and_again(void)
{
    for (int i = 0; i < 1000; i++)
        ilk__log(ILK__LOG_WARN, "the same %d", 1);
    ilk__log(ILK__LOG_WARN, "the same %d", 2);
    now_ms += 999;
    ilk__log(ILK__LOG_WARN, "the same %d", 1);
    now_ms += 1;
    ilk__log(ILK__LOG_WARN, "the same %d", 1);
    now_ms += 1000;
    ilk__log(ILK__LOG_WARN, "the same %d", 1);
}

TEST(a_repeated_line_is_written_once_per_second)
{
    assert_string_equal(child_says("warn", say_the_same_again_and_again),
                        "interlock: warn: the same 1\n"
                        "interlock: warn: the same 2\n"
                        "interlock: warn: the same 1 (repeated 1000 times)\n"
                        "interlock: warn: the same 1\n");
}

static void say_a_long_line_again(void)
{
    char text[3000];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 3; i++) {
        now_ms += 500;
        ilk__log(ILK__LOG_WARN, "%s", text);
    }
}

TEST(the_count_fits_into_a_long_line)
{
    const char *said = child_says("warn", say_a_long_line_again);

    assert_non_null(strstr(said, "x (repeated 1 times)\n"));
}

TEST(errno_is_kept)
{
    assert_string_equal(child_says("error", say_and_keep_errno), "");
}

/* ---- the program's callback --------------------------------------------- */

typedef struct received {
    int count;
    int32_t level;
    char text[2048];
} received;

static void receive(void *user, int32_t level, const char *text)
{
    received *into = user;

    into->count++;
    into->level = level;
    snprintf(into->text, sizeof into->text, "%s", text);
    errno = EBADF;
}

static void both_receive_the_line(void)
{
    static received got;

    ilk_log_set_callback(receive, &got, ILK_LOG_INFO, NULL);
    ilk__log(ILK__LOG_INFO, "for both");
    if (strcmp(got.text, "for both") != 0)
        _exit(1);
}

TEST(standard_error_has_its_own_level)
{
    assert_string_equal(child_says("info", both_receive_the_line),
                        "interlock: info: for both\n");
    assert_string_equal(child_says(NULL, both_receive_the_line), "");
}

/* Tests above log in children, those below in this process. */

TEST(a_callback_receives_what_is_as_grave_as_its_level)
{
    received got = {0};
    ilk_error err = {0};

    assert_int_equal(ILK_OK,
                     ilk_log_set_callback(receive, &got, ILK_LOG_WARN, &err));
    ilk__log(ILK__LOG_INFO, "not this");
    assert_int_equal(0, got.count);
    errno = ERANGE;
    ilk__log(ILK__LOG_WARN, "a\nb %d", 2);

    assert_int_equal(ERANGE, errno);
    assert_int_equal(1, got.count);
    assert_int_equal(ILK_LOG_WARN, got.level);
    assert_string_equal("a\\x0ab 2", got.text);
    ilk__log(ILK__LOG_ERROR, "graver");
    assert_int_equal(ILK_LOG_ERROR, got.level);
    assert_int_equal(ILK_OK,
                     ilk_log_set_callback(NULL, NULL, ILK_LOG_WARN, &err));
}

TEST(the_last_callback_is_the_one)
{
    received first = {0}, second = {0};

    assert_int_equal(ILK_OK,
                     ilk_log_set_callback(receive, &first, ILK_LOG_WARN, NULL));
    assert_int_equal(
        ILK_OK, ilk_log_set_callback(receive, &second, ILK_LOG_DEBUG, NULL));
    ilk__log(ILK__LOG_DEBUG, "one");
    assert_int_equal(ILK_OK,
                     ilk_log_set_callback(NULL, NULL, ILK_LOG_DEBUG, NULL));
    ilk__log(ILK__LOG_ERROR, "two");

    assert_int_equal(0, first.count);
    assert_int_equal(1, second.count);
    assert_string_equal("one", second.text);
}

TEST(a_level_that_no_line_has_is_refused)
{
    received got = {0};
    ilk_error err = {0};

    assert_int_equal(ILK_EINVAL,
                     ilk_log_set_callback(receive, &got, ILK_LOG_OFF, &err));
    assert_non_null(strstr(err.msg, "got 0"));
    assert_int_equal(ILK_EINVAL, ilk_log_set_callback(receive, &got, 5, NULL));
    ilk__log(ILK__LOG_ERROR, "nobody");
    assert_int_equal(0, got.count);
}
