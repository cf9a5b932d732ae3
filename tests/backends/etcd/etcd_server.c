/* SPDX-License-Identifier: MIT */
/* etcd_server.c -- an etcd of a test's own, on free ports of 127.0.0.1. */
#include "etcd_server.h"

#include "base/clock.h"
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_MOST = 48, START_MS = 30000 };

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

static int listens(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = loopback(port);
    int fine = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;

    if (fd >= 0)
        close(fd);
    return fine;
}

static const char *program(void)
{
    const char *name = getenv("ILK_TEST_ETCD");

    return name ? name : "etcd";
}

/* In the child: become the server. */
static void become(const etcd_server *server, pid_t parent)
{
    char urls[4][96], log[96], extra[512];
    const char *scheme = server->tls ? "https" : "http";
    char *args[ARGS_MOST];
    int count = 0, fd;

    snprintf(urls[0], sizeof urls[0], "%s://127.0.0.1:%d", scheme,
             server->port);
    snprintf(urls[1], sizeof urls[1], "http://127.0.0.1:%d", server->peer_port);
    snprintf(urls[2], sizeof urls[2], "default=http://127.0.0.1:%d",
             server->peer_port);
    snprintf(urls[3], sizeof urls[3], "%s/data", server->dir);
    snprintf(log, sizeof log, "%s/log", server->dir);
    memcpy(extra, server->extra, sizeof extra);
    const char *const fixed[] = {program(), "--data-dir",
                                 urls[3],   "--listen-client-urls",
                                 urls[0],   "--advertise-client-urls",
                                 urls[0],   "--listen-peer-urls",
                                 urls[1],   "--initial-advertise-peer-urls",
                                 urls[1],   "--initial-cluster",
                                 urls[2]};

    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        args[count++] = (char *)fixed[i];
    for (char *at = strtok(extra, " "); at && count < ARGS_MOST - 1;
         at = strtok(NULL, " "))
        args[count++] = at;
    args[count] = NULL;
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        execvp(args[0], args);
    _exit(127);
}

static void nap(int ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000L};

    nanosleep(&pause, NULL);
}

/* It listens when it is ready, but for its election, for which its answers wait. */
int etcd_server_restart(etcd_server *server)
{
    int64_t deadline = ilk__deadline(START_MS);
    pid_t parent = getpid();
    int status;

    server->pid = fork();
    if (server->pid == 0)
        become(server, parent);
    if (server->pid < 0)
        return -1;
    while (!listens(server->port)) {
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            server->pid = 0;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
                fprintf(stderr,
                        "SKIPPED, ALL OF IT: there is no etcd (%s): install "
                        "etcd-server or set ILK_TEST_ETCD\n",
                        program());
                return ETCD_SERVER_SKIP;
            }
            fprintf(stderr, "etcd ended, see %s/log\n", server->dir);
            return -1;
        }
        if (ilk__now_ms() > deadline)
            return -1;
        nap(20);
    }
    return 0;
}

static int prepare(etcd_server *server, const char *extra)
{
    memset(server, 0, sizeof *server);
    snprintf(server->dir, sizeof server->dir, "%s/ilk-etcd-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(server->dir))
        return -1;
    if (extra) {
        snprintf(server->extra, sizeof server->extra, "%s", extra);
        server->tls = strstr(extra, "--cert-file") != NULL;
    }
    server->port = fixture_free_port();
    server->peer_port = fixture_free_port();
    return 0;
}

int etcd_server_start_pair(etcd_server *one, etcd_server *other)
{
    if (prepare(one, NULL) || prepare(other, NULL))
        return -1;
    for (int i = 0; i < 2; i++)
        snprintf((i ? other : one)->extra, sizeof one->extra,
                 "--name %s --initial-cluster "
                 "one=http://127.0.0.1:%d,other=http://127.0.0.1:%d",
                 i ? "other" : "one", one->peer_port, other->peer_port);
    return etcd_server_restart(one) || etcd_server_restart(other) ? -1 : 0;
}

int etcd_server_start(etcd_server *server, const char *extra)
{
    int status;

    if (prepare(server, extra))
        return -1;
    status = etcd_server_restart(server);
    if (status == ETCD_SERVER_SKIP)
        etcd_server_stop(server);
    return status;
}

int etcd_server_kill(etcd_server *server)
{
    int status;

    if (server->pid <= 0)
        return 0;
    kill(server->pid, SIGKILL);
    while (waitpid(server->pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    server->pid = 0;
    return 0;
}

void etcd_server_pause(etcd_server *server)
{
    int status;

    kill(server->pid, SIGSTOP);
    waitpid(server->pid, &status, WUNTRACED);
}

void etcd_server_resume(etcd_server *server)
{
    kill(server->pid, SIGCONT);
}

void etcd_server_stop(etcd_server *server)
{
    char command[96];

    etcd_server_kill(server);
    if (server->dir[0] == '\0')
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", server->dir);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", server->dir);
    server->dir[0] = '\0';
}

int etcd_server_ctl(etcd_server *server, const char *arguments)
{
    char command[768];
    int status;

    snprintf(command, sizeof command,
             "ETCDCTL_API=3 etcdctl --endpoints=127.0.0.1:%d %s "
             ">>'%s/ctl' 2>&1",
             server->port, arguments, server->dir);
    status = system(command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return ETCD_SERVER_SKIP;
    return status == 0 ? 0 : -1;
}
