/* SPDX-License-Identifier: MIT */
/* syscall_case.c -- scenes in which the n-th system call of one kind fails. */
#include "syscall_case.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SCENES = 32, LIMIT_S = 30, SETTLE_MS = 5000, FEW = 5, ALL = INT_MAX };

/*
 * The answers of a kernel. Some of it passes: the call is repeated, or goes on.
 * A few in a row fail while the system is short of something, or the server is
 * gone for a moment.
 */
static const call_fault faults[] = {
    {CALL_socket, EMFILE, 1, 0},
    {CALL_socket, ENFILE, FEW, 0},
    {CALL_socket, ENOBUFS, 1, 0},
    {CALL_socket, EACCES, FEW, 0},
    {CALL_connect, ECONNREFUSED, 1, 0},
    {CALL_connect, ECONNREFUSED, FEW, 0},
    {CALL_connect, EACCES, FEW, 0},
    {CALL_connect, ETIMEDOUT, 1, 0},
    {CALL_connect, EAGAIN, 1, 0},
    {CALL_connect, EINTR, 1, 1},
    {CALL_getsockopt, ENOBUFS, 1, 0},
    {CALL_send, EPIPE, 1, 0},
    {CALL_send, ECONNRESET, FEW, 0},
    {CALL_send, ENOBUFS, 1, 0},
    {CALL_send, EAGAIN, 1, 1},
    {CALL_send, EINTR, 1, 1},
    {CALL_send, CALL_SHORT, 1, 1},
    {CALL_send, CALL_SHORT, ALL, 1},
    {CALL_recv, ECONNRESET, 1, 0},
    {CALL_recv, ECONNRESET, FEW, 0},
    {CALL_recv, ETIMEDOUT, 1, 0},
    {CALL_recv, ENOMEM, 1, 0},
    {CALL_recv, CALL_END, 1, 0},
    {CALL_recv, EAGAIN, 1, 1},
    {CALL_recv, EINTR, 1, 1},
    {CALL_recv, CALL_SHORT, 1, 1},
    {CALL_recv, CALL_SHORT, ALL, 1},
    {CALL_poll, EINTR, 1, 1},
    {CALL_poll, ENOMEM, 1, 0},
    {CALL_futex, EAGAIN, 1, 1},
    {CALL_futex, EINTR, 1, 0},
    {CALL_eventfd, EMFILE, 1, 0},
    {CALL_eventfd, ENFILE, FEW, 0},
    {CALL_epoll_create1, EMFILE, 1, 0},
    {CALL_epoll_create1, ENOMEM, FEW, 0},
    {CALL_epoll_ctl, ENOSPC, 1, 0},
    {CALL_epoll_ctl, ENOMEM, FEW, 0},
    {CALL_read, EINTR, 1, 1},
    {CALL_write, EINTR, 1, 1},
    {CALL_open, EMFILE, FEW, 0},
    {CALL_open, EACCES, 1, 0},
    {CALL_open, EINTR, 1, 1},
    {CALL_openat, EMFILE, 1, 0},
    {CALL_openat, ENFILE, FEW, 0},
    {CALL_openat, ENOSPC, 1, 0},
    {CALL_openat, EINTR, 1, 1},
    {CALL_mkdir, ENOSPC, 1, 0},
    {CALL_mkdir, EACCES, 1, 0},
    {CALL_stat, EACCES, 1, 0},
    {CALL_fstat, ENOMEM, 1, 0},
    {CALL_realpath, EACCES, 1, 0},
    {CALL_flock, ENOLCK, 1, 0},
    {CALL_flock, EINTR, 1, 1},
    {CALL_fcntl, EMFILE, 1, 0},
    {CALL_ftruncate, EIO, 1, 0},
    {CALL_pwrite, ENOSPC, 1, 0},
    {CALL_fork, EAGAIN, 1, 0},
    {CALL_fork, ENOMEM, FEW, 0},
    {CALL_posix_spawn, EAGAIN, 1, 0},
    {CALL_posix_spawn, ENOMEM, FEW, 0},
    {CALL_waitpid, EINTR, 1, 1},
    {CALL_waitpid, ECHILD, 1, 1},
    {CALL_nanosleep, EINTR, 1, 1},
    {CALL_getrandom, EINTR, 1, 1},
    {CALL_getrandom, CALL_SHORT, ALL, 1},
    {CALL_getrandom, ENOSYS, 1, 0},
    {CALL_pthread_create, EAGAIN, 1, 0},
    {CALL_pthread_create, EAGAIN, FEW, 0},
};

static const call_stage *on;
static char run_name[128];
static int descriptors, threads;

/* ---- what is left behind ------------------------------------------------ */

static int entries_of(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

int descriptors_left(void)
{
    return entries_of("/proc/self/fd") - descriptors;
}

static int threads_left(void)
{
    return entries_of("/proc/self/task") - threads;
}

/* A thread that has ended is in the list for a moment longer. */
static void assert_nothing_is_left(void)
{
    int64_t limit = fixture_now_ms() + patience(SETTLE_MS);

    while ((descriptors_left() != 0 || threads_left() != 0)
           && fixture_now_ms() < limit)
        fixture_sleep_ms(1);
    /* One that belonged to what was played before has closed since it was counted. */
    if (descriptors_left() < 0)
        descriptors += descriptors_left();
    if (descriptors_left() != 0 || threads_left() != 0)
        fail_msg("%s: %d descriptors and %d threads are left", run_name,
                 descriptors_left(), threads_left());
}

void assert_all_keys_end(const char *but)
{
    static const char script[] =
        "local found = '' "
        "for _, key in ipairs(redis.call('KEYS', '*')) do "
        "if redis.call('PTTL', key) == -1 and key:sub(1, #ARGV[1]) ~= ARGV[1] "
        "then found = found .. ' ' .. key end end "
        "return found";
    const char *found =
        fixture_call(&fx, "EVAL", script, "0", but, (char *)NULL);

    if (*found != '\0')
        fail_msg("%s: for ever:%s", row_name ? row_name : run_name, found);
}

/* ---- one run ------------------------------------------------------------ */

static void give_up(int number)
{
    static const char text[] = ": does not end\n";

    (void)number;
    (void)!write(STDERR_FILENO, run_name, strlen(run_name));
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

static void name_run(const call_scene *s, const call_fault *fault, long nth)
{
    const char *how = fault->how == CALL_SHORT ? "less"
                      : fault->how == CALL_END ? "end"
                                               : strerror(fault->how);

    snprintf(run_name, sizeof run_name, "%s, %s %ld%s: %s", s->name,
             call_name(fault->kind), nth, fault->times > 1 ? " and more" : "",
             how);
    row_name = run_name;
}

/* Without time or contact the reason may be another one; a program that cannot
 * be looked at is no program. */
static int names_cause(const ilk_error *err, const call_fault *fault)
{
    return err->msg[0] != '\0'
           && (fault->how < 0 || err->code == ILK_ETIMEOUT
               || err->code == ILK_EINTR || fault->kind == CALL_stat
               || strstr(err->msg, strerror(fault->how)) != NULL);
}

/* Signals end waits; everything else goes on. */
static int is_excused(const call_scene *s, ilk_status st,
                      const call_fault *fault)
{
    if (st == ILK_EINTR)
        return fault->how == EINTR
               && (fault->kind == CALL_futex
                   || (fault->kind == CALL_poll && s->sleeps_in_poll));
    return !fault->hidden
           && (st == ILK_ECONN || st == ILK_ESYSTEM || st == ILK_EUNKNOWN
               || st == ILK_ETIMEOUT);
}

static void judge(const call_scene *s, ilk_status st, const ilk_error *err,
                  const call_fault *fault)
{
    if (st == s->expected)
        return;
    if (calls_struck() == 0 || err->code != (int32_t)st
        || !is_excused(s, st, fault) || !names_cause(err, fault))
        fail_msg("%s: %s: %s", run_name, ilk_status_name(st), err->msg);
}

static void play(const call_scene *s, const call_fault *fault, long nth)
{
    ilk_error err = {0};
    ilk_status st;

    alarm((unsigned)(patience(1000 * LIMIT_S) / 1000));
    on->set();
    if (s->before)
        s->before();
    if (fault != NULL)
        calls_fail(fault, nth);
    else
        calls_watch();
    st = s->run(&err);
    calls_leave();
    if (fault != NULL)
        judge(s, st, &err, fault);
    else
        assert_status(s->expected, st);
    on->check(s, st == s->expected);
    on->clear();
    alarm(0);
}

/* ---- all of them -------------------------------------------------------- */

/* Each way in which one kind of call fails. */
static long play_all(const call_scene *s, const long *made)
{
    long runs = 0;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const call_fault *fault = &faults[i];
        long most = made[fault->kind];

        if (s->most && most > s->most)
            most = s->most;
        for (long n = 1 + (long)i % ILK_TEST_SHARE; n <= most;
             n += ILK_TEST_SHARE, runs++) {
            name_run(s, fault, n);
            play(s, fault, n);
            assert_nothing_is_left();
        }
    }
    row_name = NULL;
    return runs;
}

static void no_system_call_is_one_too_many(void **state)
{
    const call_scene *s = *state;
    long made[CALLS_COUNT];
    char text[512] = "";
    size_t used = 0;

    snprintf(run_name, sizeof run_name, "%s", s->name);
    if (threads == 0)
        threads = threads_left();
    play(s, NULL, 0); /* what is opened once in a process */
    descriptors = 0;
    descriptors = descriptors_left();
    play(s, NULL, 0);
    assert_nothing_is_left();
    for (int i = 0; i < CALLS_COUNT; i++) {
        made[i] = calls_made((call)i);
        if (made[i] > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s %ld",
                                     call_name((call)i), made[i]);
    }
    assert_true(used > 0);
    print_message("             %s: %ld runs:%s\n", s->name, play_all(s, made),
                  text);
}

int run_call_scenes(const call_scene *scenes, size_t count,
                    const call_stage *stage)
{
    struct sigaction action = {.sa_handler = give_up};
    struct CMUnitTest tests[SCENES] = {{0}};

    assert_in_range(count, 1, SCENES);
    sigaction(SIGALRM, &action, NULL);
    on = stage;
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){
            .name = scenes[i].name,
            .test_func = no_system_call_is_one_too_many,
            .initial_state = (void *)(uintptr_t)&scenes[i],
        };
    return test_run_made("scenes", tests, count);
}
