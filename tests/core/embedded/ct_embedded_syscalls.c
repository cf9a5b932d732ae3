/* SPDX-License-Identifier: MIT */
/*
 * ct_embedded_syscalls.c -- a private server whose users' system calls fail,
 * one after another, those of its watcher among them.
 *
 * Any call may fail while a client opens, locks and ends: the next client gets a
 * server, and no server, watcher or zombie is left when both have ended.
 */
/* link: @support/syscalls.link */
#include "embedded_case.h"
#include "syscall_case.h"

#include "embedded/embedded_orphans.h"
#include "embedded/embedded_watcher.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { SOON_MS = 5000 };

static char url[128];

static ilk_status use(ilk_error *err)
{
    ilk_client_opts opts;
    ilk_client *own = NULL;
    ilk_lock *lock = NULL;
    ilk_status st;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.connect_timeout_ms = patience(PATIENCE);
    st = ilk_client_open(&own, url, &opts, err);
    if (st)
        assert_null(own);
    else
        st = ilk_lock_open(&lock, own, "n", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, patience(SOON_MS), err);
    if (st == ILK_OK)
        st = ilk_lock_release(lock, err);
    ilk_lock_free(lock);
    ilk_client_free(own);
    return st;
}

static const call_scene scenes[] = {
    {"start and stop", NULL, use, ILK_OK, 4, 0},
};

static void set(void)
{
}

static void await_end_of_all(void)
{
    int64_t limit = fixture_now_ms() + patience(PATIENCE);
    ilk_server_info info = {.size = sizeof info};
    ilk__home home;

    assert_int_equal(ilk__home_open(&home, in_tmp("own"), 1, NULL), ILK_OK);
    do {
        fixture_sleep_ms(1);
        assert_int_equal(ilk_server_status(url, &info, NULL), ILK_OK);
    } while ((info.running || ilk__watcher_pid(&home) != 0)
             && fixture_now_ms() < limit);
    if (info.running || ilk__watcher_pid(&home) != 0)
        fail_msg("%s: the server or its watcher goes on", row_name);
    ilk__home_close(&home);
}

/* A server or watcher that ends after its last user has left is reaped when a
 * client is opened or closed next. */
static void await_no_children(void)
{
    int64_t limit = fixture_now_ms() + patience(PATIENCE);
    siginfo_t info;

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0
           && fixture_now_ms() < limit) {
        ilk__orphans_reap();
        fixture_sleep_ms(1);
    }
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    assert_int_equal(errno, ECHILD);
}

static void check(const call_scene *s, int unharmed)
{
    ilk_error err = {0};
    ilk_status st;

    (void)s;
    (void)unharmed;
    st = use(&err);
    assert_status(ILK_OK, st);
    await_end_of_all();
    await_no_children();
}

static int start(void)
{
    if (embedded_setup() != 0)
        return -1;
    return snprintf(url, sizeof url, "embedded://%s", in_tmp("own")) < 0;
}

/* The server is up, but this process cannot connect to it. */
TEST(the_reason_is_named_when_the_time_is_up)
{
    static const call_fault no_sockets = {CALL_socket, EMFILE, INT_MAX, 0};
    ilk_client_opts opts;
    ilk_client *own;
    ilk_error err = {0};
    ilk_status st;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.connect_timeout_ms = 50;
    calls_fail(&no_sockets, 1);
    st = ilk_client_open(&own, url, &opts, &err);
    calls_leave();
    assert_status(ILK_ECONN, st);
    if (strstr(err.msg, strerror(EMFILE)) == NULL)
        fail_msg("%s", err.msg);
    await_end_of_all();
}

AROUND_ALL(start, embedded_teardown);

int main(void)
{
    static const call_stage stage = {set, check, set};

    return run_call_scenes(scenes, sizeof scenes / sizeof *scenes, &stage)
           + test_run_all();
}
