/* SPDX-License-Identifier: MIT */
/* ct_client_descriptors.c -- a client in a process without standard files. */
/* link: -Wl,--wrap=connect */
#include "fork_case.h"
#include "lock_case.h"
#include "started.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

AROUND_ALL(server_setup, server_teardown);

enum { STANDARD = 3, MOST = 256 };

int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);

static int least_connected = INT_MAX;

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    if (fd < least_connected)
        least_connected = fd;
    return __real_connect(fd, address, len);
}

static void close_standard(void)
{
    for (int fd = 0; fd < STANDARD; fd++)
        close(fd);
}

/* The standard descriptors are free, all others are close-on-exec. `before`
 * marks those that the test program had opened. */
static void demand_clean(const char *before)
{
    for (int fd = 0; fd < STANDARD; fd++)
        demand(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
    for (int fd = STANDARD; fd < MOST; fd++) {
        int flags = fcntl(fd, F_GETFD);

        demand(before[fd] || flags == -1 || (flags & FD_CLOEXEC) != 0);
    }
    demand(least_connected >= STANDARD && least_connected != INT_MAX);
}

static void mark_open(char *marks)
{
    for (int fd = 0; fd < MOST; fd++)
        marks[fd] = fcntl(fd, F_GETFD) != -1;
}

/* Use what a client opens: the lane, the subscriber connection and the keeper
 * for a wait, the loop's connection for a started operation. */
static void use_all(const char *url)
{
    char before[MOST];
    ilk_client *client;
    ilk_lock *held, *waiting;
    ilk_op *op;
    int fd;

    mark_open(before);
    close_standard();
    demand(ilk_client_open(&client, url, NULL, NULL) == ILK_OK);
    demand(ilk_lock_open(&held, client, "n", 1, NULL, NULL) == ILK_OK);
    demand(ilk_lock_open(&waiting, client, "n", 1, NULL, NULL) == ILK_OK);
    demand(ilk_lock_acquire(held, 0, NULL) == ILK_OK);
    demand(ilk_lock_acquire(waiting, 50, NULL) == ILK_ETIMEOUT);
    demand(ilk_client_notification_fd(client, &fd, NULL) == ILK_OK);
    demand(fd >= STANDARD);
    demand(ilk_lock_acquire_start(&op, waiting, 50, 0, NULL) == ILK_OK);
    while (ilk_op_status(op, NULL) == ILK_EAGAIN)
        turn(client, 100);
    demand(ilk_op_status(op, NULL) == ILK_ETIMEOUT);
    demand_clean(before);
    demand(write(STDOUT_FILENO, "FLUSHALL\r\n", 10) == -1);
    demand(ilk_lock_release(held, NULL) == ILK_OK);
    ilk_op_free(op);
    ilk_lock_free(waiting);
    ilk_lock_free(held);
    ilk_client_free(client);
    demand_clean(before);
    _exit(0);
}

TEST(no_descriptor_is_a_standard_one)
{
    const char *urls[] = {fx.unix_url, fx.tcp_url};
    pid_t pid;

    fixture_command(&fx, "SET kept yes");
    for (int i = 0; i < 2; i++) {
        if ((pid = fork_now()) == 0)
            use_all(urls[i]);
        assert_ends_well(pid);
    }
    assert_string_equal(fixture_command(&fx, "GET kept"), "yes");
}

TEST(nor_is_one_of_the_embedded_server)
{
    char dir[] = "/tmp/ilk-descriptors-XXXXXX";
    pid_t pid;

    assert_non_null(mkdtemp(dir));
    setenv("TMPDIR", dir, 1);
    unsetenv("XDG_RUNTIME_DIR");
    if ((pid = fork_now()) == 0)
        use_all("embedded://");
    assert_ends_well(pid);
    fixture_remove(dir);
}

static int64_t cpu_ms(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000
           + used.ru_stime.tv_sec * 1000 + used.ru_stime.tv_usec / 1000;
}

/* As programs do that become daemons after they opened a client. */
static void close_all_and_go_on(void)
{
    ilk_lock_opts brief = {.size = sizeof brief, .ttl_ms = 4500};
    ilk_client *client = NULL;
    ilk_lock *held, *waiting;
    ilk_client_stats before = {.size = sizeof before}, now = before;
    int64_t used;

    demand(ilk_client_open(&client, fx.unix_url, NULL, NULL) == ILK_OK);
    demand(ilk_lock_open(&held, client, "all", 3, &brief, NULL) == ILK_OK);
    demand(ilk_lock_open(&waiting, client, "all", 3, NULL, NULL) == ILK_OK);
    demand(ilk_lock_acquire(held, 0, NULL) == ILK_OK);
    demand(ilk_lock_acquire(waiting, 50, NULL) == ILK_ETIMEOUT);
    demand(ilk_client_get_stats(client, &before, NULL) == ILK_OK);
    for (int fd = STANDARD; fd < MOST; fd++)
        close(fd);
    while (ilk_client_ping(client, 5000, NULL) != ILK_OK)
        fixture_sleep_ms(1);
    do {
        fixture_sleep_ms(10);
        ilk_client_get_stats(client, &now, NULL);
    } while (now.renewals < before.renewals + 2); /* over new connections */
    used = cpu_ms();
    for (int64_t end = fixture_now_ms() + 500; fixture_now_ms() < end;)
        fixture_sleep_ms(10);
    demand(cpu_ms() - used < 250);
    demand(ilk_lock_acquire(waiting, 50, NULL) == ILK_ETIMEOUT);
    demand(ilk_lock_release(held, NULL) == ILK_OK);
    demand(ilk_lock_acquire(waiting, 5000, NULL) == ILK_OK);
    ilk_lock_free(waiting);
    ilk_lock_free(held);
    ilk_client_free(client);
    _exit(0);
}

TEST(a_client_survives_the_close_of_all_descriptors)
{
    pid_t pid;

    if ((pid = fork_now()) == 0) {
        alarm(60);
        close_all_and_go_on();
    }
    assert_ends_well(pid);
}

TEST(a_pipe_is_not_a_standard_one)
{
    int fds[2];
    pid_t pid;

    if ((pid = fork_now()) == 0) {
        close_standard();
        demand(ilk__descriptor_pipe(fds) == 0);
        for (int i = 0; i < 2; i++) {
            demand(fds[i] >= STANDARD);
            demand(fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
            demand((fcntl(fds[i], F_GETFL) & O_NONBLOCK) != 0);
        }
        demand(fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1);
        _exit(0);
    }
    assert_ends_well(pid);
}

/* The kernel gives 0 to 2, and the limit allows no duplicate above. */
TEST(where_there_is_no_room_above_nothing_stays_open)
{
    const struct rlimit none = {STANDARD, STANDARD};
    int fds[2];
    pid_t pid;

    if ((pid = fork_now()) == 0) {
        close_standard();
        demand(setrlimit(RLIMIT_NOFILE, &none) == 0);
        demand(ilk__descriptor_pipe(fds) == -1);
        demand(fds[0] == -1 && fds[1] == -1);
        demand(ilk__descriptor_raise(-1) == -1);
        demand(fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1);
        _exit(0);
    }
    assert_ends_well(pid);
}
