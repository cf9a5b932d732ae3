/* SPDX-License-Identifier: MIT */
/* ct_embedded_watcher.c -- users that end without detaching, in every way. */
#include "embedded_case.h"
#include "fork_case.h"

#include "base/clock.h"
#include "embedded/embedded_watcher.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

AROUND_EACH(embedded_setup, embedded_teardown);

enum { PROGRAMS = 8, REPETITIONS = 20 };

/* A process that is attached until it is ended; `go` ends it by itself. */
typedef struct user {
    pid_t pid;
    int go;
} user;

typedef void how_to_end(ilk__embedded *embedded);

static void leave_main(ilk__embedded *embedded)
{
    (void)embedded;
    exit(0);
}

static void leave_at_once(ilk__embedded *embedded)
{
    (void)embedded;
    _exit(0);
}

static void crash(ilk__embedded *embedded)
{
    const struct rlimit no_core = {0, 0};

    (void)embedded;
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void start_user(user *u, how_to_end *end)
{
    int ready[2], go[2];
    char byte;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    if ((u->pid = fork_now()) == 0) {
        ilk__embedded *embedded;

        close(go[1]);
        demand(ilk__embedded_attach(&embedded, NULL,
                                    ilk__deadline(patience(PATIENCE)), NULL)
               == ILK_OK);
        demand(write(ready[1], "", 1) == 1);
        demand(read(go[0], &byte, 1) == 1);
        end(embedded);
    }
    close(ready[1]);
    close(go[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    u->go = go[1];
}

static void end_user(user *u)
{
    assert_int_equal(write(u->go, "", 1), 1);
    close(u->go);
    assert_int_equal(waitpid(u->pid, NULL, 0), u->pid);
}

static void kill_user(user *u)
{
    assert_int_equal(kill(u->pid, SIGKILL), 0);
    close(u->go);
    assert_int_equal(waitpid(u->pid, NULL, 0), u->pid);
}

static pid_t watcher_pid(void)
{
    ilk__home home;
    pid_t pid;

    assert_int_equal(ilk__home_open(&home, NULL, 0, NULL), ILK_OK);
    pid = ilk__watcher_pid(&home);
    ilk__home_close(&home);
    return pid;
}

TEST(the_server_ends_after_its_last_user)
{
    how_to_end *const ends[] = {leave_main, leave_at_once, crash};
    int32_t server;
    pid_t watcher;
    user u;

    for (size_t i = 0; i <= sizeof ends / sizeof ends[0]; i++) {
        int by_signal = i == sizeof ends / sizeof ends[0];

        start_user(&u, ends[by_signal ? 0 : i]);
        server = look().pid;
        watcher = watcher_pid();
        assert_true(watcher > 1);
        if (by_signal)
            kill_user(&u);
        else
            end_user(&u);
        await_end(server);
        await_no_server();
        await_end(watcher);
    }
}

TEST(eight_programs_leave_main_and_no_server_is_left)
{
    user users[PROGRAMS];
    int32_t server;
    pid_t watcher;

    for (int i = 0; i < PROGRAMS; i++)
        start_user(&users[i], leave_main);
    server = look().pid;
    watcher = watcher_pid();
    for (int i = 0; i < PROGRAMS - 1; i++)
        end_user(&users[i]);
    assert_int_equal(look().pid, server);
    assert_int_equal(watcher_pid(), watcher);
    end_user(&users[PROGRAMS - 1]);
    await_end(server);
    await_end(watcher);
    await_no_server();
}

TEST(data_survive_a_killed_user)
{
    ilk__embedded *embedded = attach(NULL);
    user u;

    start_user(&u, leave_main);
    assert_string_equal(ask(embedded, "SET kept yes"), "+OK");
    ilk__embedded_detach(embedded);
    kill_user(&u);
    await_no_server();
    embedded = attach(NULL);
    assert_true(has_value(embedded, "kept"));
    ilk__embedded_detach(embedded);
}

/* The next client finds a server that stays, or starts a new one. */
TEST(a_client_that_comes_while_it_ends_has_a_server)
{
    char expected[16];

    for (int n = 1; n <= OFTEN(REPETITIONS); n++) {
        ilk__embedded *embedded;
        int32_t server;
        user u;

        start_user(&u, leave_main);
        kill_user(&u);
        if (n % 2 == 0) /* later, and the server is being stopped */
            fixture_sleep_ms(n / 4);
        embedded = attach(NULL);
        server = look().pid;
        snprintf(expected, sizeof expected, ":%d", n);
        assert_string_equal(ask(embedded, "INCR visits"), expected);
        start_user(&u, leave_main);
        kill_user(&u);
        assert_string_equal(ask(embedded, "PING"), "+PONG");
        assert_int_equal(look().pid, server);
        ilk__embedded_detach(embedded);
        await_no_server();
    }
}

TEST(a_killed_watcher_is_replaced_by_the_next_user)
{
    ilk__embedded *embedded = attach(NULL);
    pid_t watcher = watcher_pid();
    int32_t server = look().pid;
    user u;

    assert_true(watcher > 1);
    assert_int_equal(kill(watcher, SIGKILL), 0);
    await_end(watcher);
    assert_int_equal(watcher_pid(), 0);
    start_user(&u, leave_main);
    assert_int_not_equal(watcher_pid(), 0);
    assert_int_equal(look().pid, server);
    ilk__embedded_detach(embedded);
    assert_int_equal(look().running, 1);
    kill_user(&u);
    await_end(server);
}

TEST(a_forked_child_keeps_the_server_of_its_killed_parent)
{
    int32_t server;
    char byte;
    pid_t child;
    int pids[2], go[2];
    user u;

    assert_int_equal(pipe2(pids, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    if ((u.pid = fork_now()) == 0) {
        ilk__embedded *embedded;

        close(go[1]);
        demand(ilk__embedded_attach(&embedded, NULL,
                                    ilk__deadline(patience(PATIENCE)), NULL)
               == ILK_OK);
        child = fork();
        if (child == 0) {
            child = getpid();
            demand(write(pids[1], &child, sizeof child) == sizeof child);
            demand(read(go[0], &byte, 1) == 0);
            _exit(0);
        }
        for (;;)
            pause();
    }
    close(go[0]);
    assert_int_equal(read(pids[0], &child, sizeof child), sizeof child);
    server = look().pid;
    u.go = pids[0];
    kill_user(&u);
    assert_int_equal(look().pid, server);
    assert_int_equal(kill(server, 0), 0);
    close(go[1]);
    await_end(child);
    await_end(server);
    close(pids[1]);
}

/* The path leads to another directory then, with a server of its own. */
TEST(the_watcher_of_a_moved_directory_stops_no_other_server)
{
    char dir[sizeof((ilk_server_info *)0)->dir];
    ilk__embedded *embedded;
    int32_t old_server;
    pid_t watcher;
    user u;

    start_user(&u, leave_main);
    watcher = watcher_pid();
    old_server = look().pid;
    snprintf(dir, sizeof dir, "%s", look().dir);
    assert_int_equal(rename(dir, in_tmp("moved")), 0);
    embedded = attach(NULL);
    kill_user(&u);
    await_end(watcher);
    assert_string_equal(ask(embedded, "PING"), "+PONG");
    assert_int_equal(kill(old_server, SIGKILL), 0);
    ilk__embedded_detach(embedded);
    await_no_server();
}

/* A pipe that the program can close ends for its reader. */
TEST(the_watcher_keeps_nothing_of_its_host)
{
    struct pollfd end = {.events = POLLIN};
    ilk__embedded *embedded;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    embedded = attach(NULL);
    close(fds[1]);
    end.fd = fds[0];
    assert_int_equal(poll(&end, 1, (int)patience(PATIENCE)), 1);
    assert_true((end.revents & POLLHUP) != 0);
    close(fds[0]);
    ilk__embedded_detach(embedded);
}

#ifdef PR_SET_CHILD_SUBREAPER
static ilk__embedded *attach_in_child(void)
{
    ilk__embedded *embedded;

    demand(ilk__embedded_attach(&embedded, NULL,
                                ilk__deadline(patience(PATIENCE)), NULL)
           == ILK_OK);
    return embedded;
}

static int has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Process 1 of a container inherits orphans like a subreaper. `stop` ends the server while
 * this process is attached. */
static void inherit(void (*stop)(ilk__embedded *of_inheritor))
{
    pid_t pid;

    if ((pid = fork_now()) == 0) {
        demand(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
        for (int i = 0; i < 3; i++) {
            int64_t deadline = ilk__deadline(patience(PATIENCE));

            stop(attach_in_child());
            while (has_children()) { /* they may still be about to end */
                demand(ilk__poll_timeout(deadline) != 0);
                ilk__embedded_detach(attach_in_child());
            }
        }
        _exit(0);
    }
    assert_ends_well(pid);
}

static void await_child(pid_t pid)
{
    int status;

    demand(waitpid(pid, &status, 0) == pid && status == 0);
}

static void stop_as_operator(ilk__embedded *of_inheritor)
{
    pid_t pid = fork_now();

    if (pid == 0)
        _exit(ilk_server_stop(NULL, patience(PATIENCE), NULL) != ILK_OK);
    await_child(pid);
    ilk__embedded_detach(of_inheritor);
}

static void stop_as_last_user(ilk__embedded *of_inheritor)
{
    int ready[2], go[2];
    char byte;
    pid_t pid;

    demand(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
    if ((pid = fork_now()) == 0) {
        ilk__embedded *embedded = attach_in_child();

        close(go[1]);
        demand(write(ready[1], "", 1) == 1 && read(go[0], &byte, 1) == 0);
        ilk__embedded_detach(embedded);
        _exit(0);
    }
    demand(read(ready[0], &byte, 1) == 1);
    ilk__embedded_detach(of_inheritor);
    close(ready[0]);
    close(ready[1]);
    close(go[0]);
    close(go[1]);
    await_child(pid);
}
#endif

TEST(nor_leaves_it_a_zombie_to_process_one)
{
#ifdef PR_SET_CHILD_SUBREAPER
    inherit(ilk__embedded_detach);
#else
    skip();
#endif
}

TEST(another_process_stops_the_server_of_process_one)
{
#ifdef PR_SET_CHILD_SUBREAPER
    inherit(stop_as_operator);
    inherit(stop_as_last_user);
#else
    skip();
#endif
}
