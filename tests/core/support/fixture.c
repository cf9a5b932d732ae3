/* SPDX-License-Identifier: MIT */
/* fixture.c -- starting and ending a server of a test's own. */
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { WORDS = 64, START_MS = 10000, STOP_MS = 5000, PORT_TRIES = 5 };

static int complain(const char *what)
{
    fprintf(stderr, "fixture: %s: %s\n", what, strerror(errno));
    return -1;
}

/* Whether a server could listen there. */
static int port_is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), is_free;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_free =
        fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return is_free;
}

/* Below the ports that the system gives to connections, of which one could have it while
 * the server is down: the same ports as those of tests/shared/ports.py. */
int fixture_free_port(void)
{
    static unsigned next;
    static pid_t owner;
    struct timespec now;
    int port = 0;

    if (owner != getpid()) {
        owner = getpid();
        clock_gettime(CLOCK_MONOTONIC, &now);
        next = (unsigned)(now.tv_nsec + owner);
    }
    for (int i = 0; i < 1000; i++) {
        port = 12000 + (int)(next++ % 10000);
        if (port_is_free(port))
            break;
    }
    return port;
}

/* In the child: become the server, which says what it has to say to a log. */
static void become_server(const fixture *fx, const char *program)
{
    char port[16], line[FIXTURE_ARGS], *rest = NULL;
    const char *argv[WORDS] = {
        program,     "--port",       port,       "--bind",
        "127.0.0.1", "--unixsocket", fx->socket, "--dir",
        fx->dir,     "--save",       "",         "--appendonly",
        "no",        "--daemonize",  "no"};
    int argc = 15, fd;

#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    snprintf(port, sizeof port, "%d", fx->port);
    memcpy(line, fx->args, sizeof line);
    for (char *word = strtok_r(line, " ", &rest);
         word != NULL && argc < WORDS - 1; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    argv[argc] = NULL;
    if (chdir(fx->dir) != 0)
        _exit(127);
    fd = open("server.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(program, (char *const *)(uintptr_t)argv);
    dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
    _exit(127);
}

static int reap(fixture *fx, int flags)
{
    pid_t got;

    do
        got = waitpid(fx->pid, NULL, flags);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return -1;
    fx->pid = 0;
    fixture_hang_up(fx);
    return 0;
}

static int launch(fixture *fx)
{
    const char *program = getenv("ILK_TEST_SERVER");
    int64_t deadline = fixture_now_ms() + START_MS;

    if (program == NULL || *program == '\0')
        program = "redis-server";
    fixture_hang_up(fx);
    unlink(fx->socket);
    fflush(NULL);
    if ((fx->pid = fork()) < 0)
        return complain("fork");
    if (fx->pid == 0)
        become_server(fx, program);
    while (fixture_now_ms() < deadline) {
        const char *pong = fixture_command(fx, "PING");

        if (strcmp(pong, "PONG") == 0)
            return 0;
        if (reap(fx, WNOHANG) == 0)
            return -1; /* it gave up: perhaps the port was taken */
        fixture_sleep_ms(2);
    }
    fixture_kill(fx);
    return -1;
}

int fixture_start(fixture *fx, const char *extra)
{
    const char *tmp = getenv("TMPDIR");

    memset(fx, 0, sizeof *fx);
    fx->fd = -1;
    snprintf(fx->args, sizeof fx->args, "%s", extra != NULL ? extra : "");
    snprintf(fx->dir, sizeof fx->dir, "%s/ilk-test-XXXXXX",
             tmp != NULL && strlen(tmp) < 60 ? tmp : "/tmp");
    if (mkdtemp(fx->dir) == NULL)
        return complain("mkdtemp");
    snprintf(fx->socket, sizeof fx->socket, "%s/socket", fx->dir);
    snprintf(fx->unix_url, sizeof fx->unix_url, "unix://%s", fx->socket);
    for (int i = 0; i < PORT_TRIES; i++) {
        fx->port = fixture_free_port();
        snprintf(fx->tcp_url, sizeof fx->tcp_url, "redis://127.0.0.1:%d",
                 fx->port);
        if (launch(fx) == 0)
            return 0;
    }
    fprintf(stderr, "fixture: no server answers; see %s/server.log\n", fx->dir);
    return -1;
}

int fixture_restart(fixture *fx)
{
    return fx->pid == 0 ? launch(fx) : -1;
}

int fixture_kill(fixture *fx)
{
    if (fx->pid == 0)
        return 0;
    if (kill(fx->pid, SIGKILL) != 0)
        return complain("kill");
    return reap(fx, 0);
}

int fixture_pause(fixture *fx)
{
    int status;

    if (fx->pid == 0 || kill(fx->pid, SIGSTOP) != 0)
        return complain("SIGSTOP");
    return waitpid(fx->pid, &status, WUNTRACED) == fx->pid && WIFSTOPPED(status)
               ? 0
               : complain("waitpid");
}

int fixture_resume(fixture *fx)
{
    return fx->pid != 0 && kill(fx->pid, SIGCONT) == 0 ? 0
                                                       : complain("SIGCONT");
}

static int remove_entry(const char *path, const struct stat *info, int type,
                        struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

void fixture_remove(const char *dir)
{
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int fixture_stop(fixture *fx)
{
    int64_t deadline = fixture_now_ms() + STOP_MS;

    if (fx->pid != 0) {
        kill(fx->pid, SIGCONT);
        kill(fx->pid, SIGTERM);
        while (fx->pid != 0 && reap(fx, WNOHANG) != 0
               && fixture_now_ms() < deadline)
            fixture_sleep_ms(1);
        fixture_kill(fx);
    }
    fixture_hang_up(fx);
    if (fx->dir[0] != '\0')
        fixture_remove(fx->dir);
    fx->dir[0] = '\0';
    return 0;
}

const char *fixture_first_waiter(fixture *fx, const char *key, char *out)
{
    snprintf(out, 64, "%s",
             fixture_call(fx, "EVAL",
                          "return string.match(redis.call('ZRANGE', KEYS[1], "
                          "0, 0)[1], '^%S+ %S+ %S+ (%S+)')",
                          "1", key, (char *)NULL));
    return out;
}
