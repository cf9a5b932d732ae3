/* SPDX-License-Identifier: MIT */
/* etcd_case.c -- an etcd for all tests of a program, and what etcdctl says of it. */
#include "etcd_case.h"

#include "base/clock.h"
#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

etcd_server etcd;
static char output[CTL_TEXT];

int etcd_setup(void)
{
    int status;

    setenv("INTERLOCK_BACKENDS", ILK_TEST_BACKENDS, 1);
    setenv("ETCDCTL_API", "3", 1);
    status = etcd_server_start(&etcd, NULL);
    if (status == ETCD_SERVER_SKIP)
        exit(ETCD_SERVER_SKIP);
    return status;
}

int etcd_teardown(void)
{
    etcd_server_stop(&etcd);
    return 0;
}

ilk_client *open_etcd(void)
{
    char url[64];

    snprintf(url, sizeof url, "etcd://127.0.0.1:%d", etcd.port);
    return open_client_at(url);
}

/* ---- etcdctl ------------------------------------------------------------- */

static const char *run(int seconds, const char *endpoints,
                       const char *arguments)
{
    char command[1024];
    FILE *from;
    size_t len;

    snprintf(command, sizeof command,
             "timeout %d etcdctl --endpoints=%s %s 2>&1", seconds, endpoints,
             arguments);
    from = popen(command, "r");
    assert_non_null(from);
    len = fread(output, 1, sizeof output - 1, from);
    output[len] = '\0';
    while (fgetc(from) != EOF)
        ;
    pclose(from);
    return output;
}

const char *ctl(int seconds, const char *format, ...)
{
    char arguments[768], endpoint[32];
    va_list args;

    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    snprintf(endpoint, sizeof endpoint, "127.0.0.1:%d", etcd.port);
    return run(seconds, endpoint, arguments);
}

pid_t begin_ctl(const char *format, ...)
{
    char arguments[768], command[1024];
    va_list args;
    pid_t pid;

    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    snprintf(command, sizeof command,
             "exec etcdctl --endpoints=127.0.0.1:%d %s >/dev/null 2>&1",
             etcd.port, arguments);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

/* With SIGTERM it removes what it has. */
void end_ctl(pid_t pid)
{
    int status;

    kill(pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
}

int count_keys(const char *prefix)
{
    const char *at =
        ctl(10, "get '%s' --prefix --keys-only | grep -c . ; true", prefix);

    return atoi(at);
}

static void nap(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000,
                                   .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

void await_keys(const char *prefix, int count)
{
    const int64_t deadline = ilk__deadline(patience(5000));
    int found;

    while ((found = count_keys(prefix)) != count) {
        if (ilk__now_ms() > deadline)
            fail_msg("%d keys begin with %s, not %d", found, prefix, count);
        nap(20);
    }
}

/* ---- three members ------------------------------------------------------- */

void start_cluster(etcd_cluster *cluster)
{
    etcd_server *all = cluster->members;

    memset(cluster, 0, sizeof *cluster);
    for (int i = 0; i < 3; i++) {
        snprintf(all[i].dir, sizeof all[i].dir, "%s/ilk-etcd-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert_non_null(mkdtemp(all[i].dir));
        all[i].port = fixture_free_port();
        all[i].peer_port = fixture_free_port();
    }
    for (int i = 0; i < 3; i++)
        snprintf(all[i].extra, sizeof all[i].extra,
                 "--name m%d --initial-cluster m0=http://127.0.0.1:%d,"
                 "m1=http://127.0.0.1:%d,m2=http://127.0.0.1:%d",
                 i, all[0].peer_port, all[1].peer_port, all[2].peer_port);
    for (int i = 0; i < 3; i++)
        assert_int_equal(etcd_server_restart(&all[i]), 0);
    snprintf(cluster->endpoints, sizeof cluster->endpoints,
             "127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", all[0].port, all[1].port,
             all[2].port);
    snprintf(cluster->url, sizeof cluster->url, "etcd://%s",
             cluster->endpoints);
}

void stop_cluster(etcd_cluster *cluster)
{
    for (int i = 0; i < 3; i++)
        etcd_server_stop(&cluster->members[i]);
}

int find_leader(const etcd_cluster *cluster)
{
    const int64_t deadline = ilk__deadline(patience(10000));
    char endpoint[32];

    while (ilk__now_ms() < deadline) {
        for (int i = 0; i < 3; i++) {
            if (!cluster->members[i].pid)
                continue;
            snprintf(endpoint, sizeof endpoint, "127.0.0.1:%d",
                     cluster->members[i].port);
            if (strstr(run(5, endpoint, "endpoint status"), ", true,"))
                return i;
        }
        nap(100);
    }
    fail_msg("no leader among three members of etcd");
    return -1;
}
