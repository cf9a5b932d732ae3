/* SPDX-License-Identifier: MIT */
/* ct_embedded.c -- the embedded server in the hands of one process. */
#include "embedded_case.h"
#include "fixture.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "test.h"

AROUND_EACH(embedded_setup, embedded_teardown);

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

TEST(attach_starts_a_server_and_the_last_detach_ends_it)
{
    ilk__embedded *embedded = attach(NULL);
    ilk_server_info info = look();

    assert_string_equal(ask(embedded, "PING"), "+PONG");
    assert_int_equal(info.running, 1);
    assert_true(info.pid > 0);
    ilk__embedded_detach(embedded);
    await_end(info.pid);
    await_no_server();
    assert_int_equal(look().pid, 0);
}

TEST(attachments_of_one_process_share_a_server)
{
    ilk__embedded *first = attach(NULL), *second = attach(NULL);
    int32_t pid = look().pid;

    assert_string_equal(ilk__embedded_socket(first),
                        ilk__embedded_socket(second));
    ilk__embedded_detach(first);
    assert_string_equal(ask(second, "PING"), "+PONG");
    assert_int_equal(look().pid, pid);
    ilk__embedded_detach(second);
    await_no_server();
    ilk__embedded_detach(NULL);
    ilk__embedded_abandon(NULL);
}

TEST(data_survive_the_last_detach)
{
    ilk__embedded *embedded = attach(NULL);

    assert_string_equal(ask(embedded, "SET kept yes"), "+OK");
    ilk__embedded_detach(embedded);
    embedded = attach(NULL);
    assert_true(has_value(embedded, "kept"));
    ilk__embedded_detach(embedded);
}

/* Not with what the last user before it had saved: that was used since. */
TEST(a_server_comes_back_empty_from_a_crash)
{
    ilk__embedded *embedded = attach(NULL);
    int32_t pid;

    assert_string_equal(ask(embedded, "SET done yes"), "+OK");
    ilk__embedded_detach(embedded);
    embedded = attach(NULL);
    assert_true(has_value(embedded, "done"));
    pid = look().pid;
    assert_int_equal(kill(pid, SIGKILL), 0);
    await_end(pid);
    await_no_server();
    ilk__embedded_detach(embedded);
    embedded = attach(NULL);
    assert_false(has_value(embedded, "done"));
    ilk__embedded_detach(embedded);
}

/* The last detach waits for 5 s at most, and a disk may take longer to get the data of a
 * persistent server; then the watcher ends it. */
static void await_stop(const char *url)
{
    int64_t limit = ilk__now_ms() + patience(10000);
    ilk_server_info info = {.size = sizeof info};

    do
        assert_int_equal(ilk_server_status(url, &info, NULL), ILK_OK);
    while (info.running && ilk__now_ms() < limit);
    assert_int_equal(info.running, 0);
}

TEST(a_named_directory_keeps_data_through_a_crash)
{
    char url[160];
    ilk_server_info info = {.size = sizeof info};
    ilk__embedded *embedded = attach(in_tmp("named"));

    snprintf(url, sizeof url, "embedded://%s", in_tmp("named"));
    assert_int_equal(ilk_server_status(url, &info, NULL), ILK_OK);
    assert_string_equal(ask(embedded, "SET kept yes"), "+OK");
    assert_int_equal(kill(info.pid, SIGKILL), 0);
    await_end(info.pid);
    ilk__embedded_detach(embedded);

    embedded = attach(in_tmp("named/"));
    assert_true(has_value(embedded, "kept"));
    ilk__embedded_detach(embedded);
    await_stop(url);
}

TEST(a_killed_server_is_started_anew)
{
    ilk__embedded *first = attach(NULL), *second;
    int32_t pid = look().pid;

    assert_int_equal(kill(pid, SIGKILL), 0);
    await_end(pid);
    await_no_server();
    second = attach(NULL);
    assert_int_not_equal(look().pid, pid);
    assert_string_equal(ask(first, "PING"), "+PONG");
    ilk__embedded_detach(first);
    ilk__embedded_detach(second);
    await_no_server();
}

/* Some programs clean up directories of temporary files without a look at locks. */
TEST(a_server_whose_lock_file_was_removed_is_joined)
{
    ilk__embedded *first = attach(in_tmp("cleaned")), *second;

    assert_string_equal(ask(first, "SET kept yes"), "+OK");
    assert_int_equal(unlink(in_tmp("cleaned/alive")), 0);
    second = attach(in_tmp("cleaned"));
    assert_true(has_value(second, "kept"));
    assert_string_equal(ask(first, "SET kept again"), "+OK");
    (void)ask(second, "SHUTDOWN NOSAVE");
    ilk__embedded_detach(first);
    ilk__embedded_detach(second);
}

TEST(a_frozen_server_fails_at_the_deadline)
{
    ilk__embedded *embedded = attach(NULL);
    int32_t pid = look().pid;
    int64_t before = ilk__now_ms();

    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_fails(NULL, 300, ILK_ECONN, "does not answer");
    assert_in_range(ilk__now_ms() - before, 300, 300 + patience(600));
    assert_int_equal(look().running, 1);
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_string_equal(ask(embedded, "PING"), "+PONG");
    ilk__embedded_detach(embedded);
}

TEST(stop_ends_the_server_under_its_users)
{
    ilk__embedded *embedded = attach(NULL);
    int32_t pid = look().pid;

    assert_string_equal(ask(embedded, "SET kept yes"), "+OK");
    assert_int_equal(ilk_server_stop(NULL, patience(PATIENCE), NULL), ILK_OK);
    await_end(pid);
    assert_int_equal(ilk_server_stop(NULL, patience(PATIENCE), NULL), ILK_OK);
    ilk__embedded_detach(embedded);
    embedded = attach(NULL);
    assert_true(has_value(embedded, "kept"));
    ilk__embedded_detach(embedded);
}

TEST(stop_of_a_frozen_server_times_out)
{
    ilk__embedded *embedded = attach(NULL);
    int32_t pid = look().pid;
    int64_t before = ilk__now_ms();
    ilk_error err;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(ilk_server_stop(NULL, 200, &err), ILK_ETIMEOUT);
    assert_in_range(ilk__now_ms() - before, 200, 200 + patience(400));
    assert_int_equal(kill(pid, SIGCONT), 0);
    await_end(pid); /* it reads the order now */
    ilk__embedded_detach(embedded);
}

TEST(wrong_arguments_of_operators_are_refused)
{
    ilk_server_info info = {.size = sizeof info};
    ilk_error err;

    assert_int_equal(ilk_server_status("redis://u:secret@h", &info, &err),
                     ILK_EINVAL);
    assert_null(strstr(err.msg, "secret"));
    assert_int_equal(ilk_server_stop("nonsense", 0, &err), ILK_EINVAL);
    assert_int_equal(ilk_server_stop(NULL, -2, &err), ILK_EINVAL);
    assert_string_equal("timeout_ms must be -1 (for ever) or more, got -2",
                        err.msg);
    assert_int_equal(ilk_server_stop(NULL, -1, &err), ILK_OK);
    assert_int_equal(ilk_server_status(NULL, NULL, &err), ILK_EINVAL);
    info.size = 0;
    assert_int_equal(ilk_server_status(NULL, &info, &err), ILK_EINVAL);
}

TEST(no_descriptor_and_no_memory_is_left_behind)
{
    int before = open_descriptors();
    ilk__embedded *embedded;

    ilk__alloc_fail_at(1);
    assert_int_equal(ilk__embedded_attach(&embedded, NULL, 0, NULL),
                     ILK_ENOMEM);
    ilk__alloc_fail_at(0);
    assert_null(embedded);
    embedded = attach(NULL);
    ilk__embedded_detach(embedded);
    assert_fails("/nonexistent/x", 100, ILK_ESYSTEM, "cannot make");
    assert_int_equal(open_descriptors(), before);
}

/*
 * Every limit from "nothing more" to "enough" fails cleanly or succeeds. The
 * process has many files open, so that each step in its turn is the one that
 * finds no descriptor.
 */
TEST(exhausted_descriptors_are_a_status)
{
    int64_t deadline = ilk__deadline(patience(PATIENCE));
    int many[20], before;
    ilk_status st = ILK_ESYSTEM;
    struct rlimit old, low;

    for (int i = 0; i < 20; i++)
        assert_true((many[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
    before = open_descriptors();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    for (low.rlim_cur = 20; st != ILK_OK; low.rlim_cur++) {
        ilk__embedded *embedded;

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        st = ilk__embedded_attach(&embedded, NULL,
                                  ilk__deadline(patience(PATIENCE)), NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_true(st == ILK_OK || st == ILK_ESYSTEM || st == ILK_ECONN);
        assert_int_equal(embedded == NULL, st != ILK_OK);
        ilk__embedded_detach(embedded);
        assert_int_equal(open_descriptors(), before);
    }
    for (int i = 0; i < 20; i++)
        close(many[i]);
    assert_true(ilk__poll_timeout(deadline) > 0); /* none was waited out */
}

static void on_alarm(int number)
{
    (void)number;
}

TEST(signals_raining_down_change_nothing)
{
    struct sigaction action, old;
    struct itimerval rain = {{0, 1000}, {0, 1000}}, calm = {{0, 0}, {0, 0}};
    ilk__embedded *embedded;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &rain, NULL), 0);
    for (int i = 0; i < 10; i++) {
        embedded = attach(NULL);
        assert_int_equal(ask(embedded, "INCR visits")[0], ':');
        ilk__embedded_detach(embedded);
        await_no_server();
    }
    assert_int_equal(setitimer(ITIMER_REAL, &calm, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
}
