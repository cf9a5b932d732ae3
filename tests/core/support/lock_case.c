/* SPDX-License-Identifier: MIT */
/* lock_case.c -- what the tests of locks share. */
#include "lock_case.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

ilk_status take_and_give_lock(ilk_lock *lock, ilk_error *err)
{
    ilk_status st = ilk_lock_acquire(lock, 0, err), released;

    if (st)
        return st;
    st = ilk_lock_extend(lock, 20000, err);
    if (st == ILK_OK)
        st = ilk_lock_check(lock, err);
    released = ilk_lock_release(lock, st ? NULL : err);
    return st ? st : released;
}

void assert_status_at(ilk_status expected, ilk_status got, const ilk_error *err,
                      const char *what, const char *file, int line)
{
    if (got == expected)
        return;
    print_error("%s%s%s: expected %s, got %s: %s\n", row_name ? row_name : "",
                row_name ? ": " : "", what, ilk_status_name(expected),
                ilk_status_name(got), err->msg);
    _fail(file, line);
}

ilk_client *open_client_at(const char *url)
{
    ilk_client *client = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_open(&client, url, NULL, &err));
    return client;
}

ilk_client *open_client(void)
{
    return open_client_at(fx.unix_url);
}

ilk_lock *open_lock_with(ilk_client *client, const char *name, int64_t ttl_ms,
                         uint32_t flags)
{
    ilk_lock_opts opts;
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    opts.flags = flags;
    assert_status(
        ILK_OK, ilk_lock_open(&lock, client, name, strlen(name), &opts, &err));
    return lock;
}

ilk_lock *open_lock(ilk_client *client, const char *name)
{
    return open_lock_with(client, name, 0, 0);
}

void assert_on_time(int64_t took_ms, int64_t timeout_ms)
{
    int64_t slack = timeout_ms / 20 > 20 ? timeout_ms / 20 : 20;

    assert_in_range(took_ms, timeout_ms, timeout_ms + patience(3 * slack));
}

void join_soon_at(pthread_t thread, const char *what, const char *file,
                  int line)
{
    const int64_t most_s = patience(30000) / 1000;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += most_s;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return;
    print_error("%s goes on after %d s\n", what, (int)most_s);
    _fail(file, line);
}

void await_waiters(const char *name, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    assert_int_equal(0, fixture_await(&fx, expected, 10000,
                                      "ZCARD ilk:lock:wait:{%s}", name));
}

/* ---- processes ---------------------------------------------------------- */

static void report(int fd, char what)
{
    if (write(fd, &what, 1) != 1)
        _exit(3);
}

static char outcome_of(ilk_status st)
{
    switch (st) {
    case ILK_OK: return 'h';
    case ILK_ETIMEOUT:
    case ILK_EBUSY: return 't';
    case ILK_ELOST: return 'l';
    default: return 'e';
    }
}

static void acquire(ilk_lock *lock, int64_t timeout_ms, int reports)
{
    ilk_error err = {0};
    ilk_status st = ilk_lock_acquire(lock, timeout_ms, &err);
    int64_t fence = ilk_lock_fence(lock);

    report(reports, outcome_of(st));
    if (st == ILK_OK && write(reports, &fence, sizeof fence) != sizeof fence)
        _exit(3);
    if (st && st != ILK_ETIMEOUT && st != ILK_EBUSY)
        fprintf(stderr, "child: %s: %s\n", ilk_status_name(st), err.msg);
}

static void obey(ilk_lock *lock, int64_t timeout_ms, int reports, int orders)
{
    char what;

    while (read(orders, &what, 1) == 1 && what != 'q') {
        ilk_status st;

        if (what == 'a') {
            acquire(lock, timeout_ms, reports);
            continue;
        }
        st = what == 'r' ? ilk_lock_release(lock, NULL)
                         : ilk_lock_check(lock, NULL);
        report(reports, st ? outcome_of(st) : what);
    }
}

static void child_main(const char *name, int64_t ttl_ms, int64_t timeout_ms,
                       uint32_t flags, int reports, int orders)
{
    ilk_client *client;
    ilk_lock *lock;

    client = open_client();
    lock = open_lock_with(client, name, ttl_ms, flags);
    report(reports, 'o');
    acquire(lock, timeout_ms, reports);
    obey(lock, timeout_ms, reports, orders);
    ilk_lock_free(lock);
    ilk_client_free(client);
    _exit(0);
}

child start_child(const char *name, int64_t ttl_ms, int64_t timeout_ms,
                  uint32_t flags)
{
    int up[2], down[2];
    child c;

    assert_int_equal(0, pipe(up));
    assert_int_equal(0, pipe(down));
    fflush(NULL);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        close(up[0]);
        close(down[1]);
        child_main(name, ttl_ms, timeout_ms, flags, up[1], down[0]);
    }
    close(up[1]);
    close(down[0]);
    c.reports = up[0];
    c.orders = down[1];
    assert_int_equal('o', next_report(&c, 10000, NULL));
    return c;
}

char next_report(child *c, int timeout_ms, int64_t *out_fence)
{
    struct pollfd pfd = {.fd = c->reports, .events = POLLIN};
    int64_t fence;
    char what;

    if (poll(&pfd, 1, timeout_ms) != 1 || read(c->reports, &what, 1) != 1)
        return '?';
    if (what == 'h') {
        assert_int_equal(sizeof fence, read(c->reports, &fence, sizeof fence));
        if (out_fence)
            *out_fence = fence;
    }
    return what;
}

void order(child *c, char what)
{
    assert_int_equal(1, write(c->orders, &what, 1));
}

void end_child(child *c)
{
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(c->reports);
    close(c->orders);
}
