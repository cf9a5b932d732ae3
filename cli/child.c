/* SPDX-License-Identifier: MIT */
/*
 * child.c -- CMD as a child process that does not outlive this one.
 *
 * The child stays in our process group and keeps our standard streams, so
 * Ctrl-C, Ctrl-Z and the shell's job control work on both as if there was
 * one process. Between fork and exec only async-signal-safe calls are made,
 * because the library may have a thread of its own.
 *
 * The processes that CMD starts belong to it: a lock must not be free while a
 * part of the work goes on. On Linux descendants.h finds these processes. Other
 * systems have the process group only. CMD gets one of its own there, but not
 * on a terminal, where a group in the background may not read.
 */
#include "child.h"

#include "descendants.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { GROUP_AGAIN_MS = 100, DESCENDANTS_AGAIN_MS = 1000 };

/* Die with the parent, where the system can do that: SIGKILL, because a
   command whose lock nobody renews must not go on. */
static void tie_to(pid_t parent)
{
#ifdef __linux__
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(CLI_SIGNALLED + SIGKILL); /* it died before the call */
#else
    (void)parent;
#endif
}

/* In the child. The mask is opened last, so that no signal runs one of our
   handlers, which would write it into the parent's pipe. */
static void become(char *const *argv, pid_t parent, const sigset_t *mask,
                   int report, int in_own_group)
{
    int error;

    tie_to(parent);
    if (in_own_group)
        setpgid(0, 0);
    cli_signals_restore();
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    error = errno;
    if (write(report, &error, sizeof error) < 0) {
        /* the exit status is enough */
    }
    _exit(CLI_NOT_FOUND);
}

/* The errno of a failed exec; 0 when the pipe was closed by a good one. */
static int exec_error(int report)
{
    int error = 0;
    ssize_t n;

    do
        n = read(report, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof error ? error : 0;
}

static int refuse(const char *what, int error)
{
    cli_say("cannot run '%s': %s", what, strerror(error));
    if (error == ENOENT || error == ENOTDIR)
        return CLI_NOT_FOUND;
    return CLI_NOT_EXECUTABLE;
}

static int refuse_by_system(const char *call, sigset_t *mask)
{
    cli_say("%s: %s", call, strerror(errno));
    if (mask)
        sigprocmask(SIG_SETMASK, mask, NULL);
    return CLI_SYSTEM;
}

static int has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int cli_child_start(struct cli_child *child, char *const *argv)
{
    sigset_t all, mask;
    int report[2], error, in_own_group;
    pid_t parent = getpid();

    child->adopts = !child->alone && cli_descendants_adopt();
    in_own_group = !child->alone && !child->adopts && !has_terminal();
    if (pipe(report) != 0)
        return refuse_by_system("pipe", NULL);
    fcntl(report[0], F_SETFD, FD_CLOEXEC);
    fcntl(report[1], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    if (cli_signals_ending()) { /* it came before there was a child */
        close(report[0]);
        close(report[1]);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        return cli_signals_status(cli_signals_ending());
    }
    child->pid = fork();
    if (child->pid == 0)
        become(argv, parent, &mask, report[1], in_own_group);
    close(report[1]);
    if (child->pid < 0) {
        close(report[0]);
        return refuse_by_system("fork", &mask);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    child->group = in_own_group ? child->pid : 0;
    error = exec_error(report[0]);
    close(report[0]);
    if (error == 0)
        return CLI_OK;
    waitpid(child->pid, NULL, 0);
    return refuse(argv[0], error);
}

/* ---- who has ended ------------------------------------------------------ */

/* The server that the library started for its user's programs is no part of
   CMD, though a program below CMD may have been the first to need it. */
static pid_t embedded_server(void)
{
    const char *url = getenv("INTERLOCK_URL");
    ilk_server_info info = {.size = sizeof info};

    if (url && strncmp(url, "embedded:", 9) != 0)
        url = NULL;
    if (ilk_server_status(url, &info, NULL) != ILK_OK || !info.running)
        return 0;
    return (pid_t)info.pid;
}

/* Whether no process is left in the group of CMD. */
static int is_group_empty(pid_t group)
{
    return kill(-group, 0) != 0 && errno == ESRCH;
}

void cli_child_look(struct cli_child *child)
{
    struct cli_sweep sweep = {0};
    int status;
    pid_t got;

    do {
        got = waitpid(child->adopts ? -1 : child->pid, &status, WNOHANG);
        if (got == child->pid) {
            child->ended = 1;
            child->status = WIFEXITED(status)
                                ? WEXITSTATUS(status)
                                : cli_signals_status(WTERMSIG(status));
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0 && !child->ended) { /* somebody else reaped it */
        child->ended = 1;
        child->status = CLI_SOFTWARE;
    }
    if (!child->ended)
        return;
    if (child->adopts && got == 0) {
        sweep.spared = embedded_server();
        if (sweep.spared)
            cli_descendants_signal(&sweep, 0);
        child->all_ended = sweep.spared && sweep.found == 0;
    } else {
        child->all_ended = !child->group || is_group_empty(child->group);
    }
}

/* The end of a descendant sends a signal. But whether only the embedded server and
   its watcher are left is found by a look at processes, of which one may just have
   been started and has not its name yet: then no signal leads to another look. */
int cli_child_look_again_ms(const struct cli_child *child)
{
    if (!child->ended)
        return -1;
    if (child->group)
        return GROUP_AGAIN_MS;
    return child->adopts ? DESCENDANTS_AGAIN_MS : -1;
}

/* ---- signals ------------------------------------------------------------ */

static int asks_to_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP
           || number == SIGQUIT;
}

static void send_to_rest(const struct cli_child *child, int number,
                         int skips_group)
{
    struct cli_sweep sweep = {.skips_group = skips_group};

    if (child->group) {
        kill(-child->group, number);
        return;
    }
    sweep.spared = embedded_server();
    cli_descendants_signal(&sweep, number);
}

/* When a terminal hangs up, only the leader of its session gets the signal at once, and
   that may be this process. */
static int has_group_got(const struct cli_signal *came)
{
    return came->from_kernel && came->number != SIGHUP;
}

/* A signal to a CMD that has ended unnoticed would reach nobody. */
void cli_child_forward(struct cli_child *child, const struct cli_signal *came)
{
    cli_child_look(child);
    if (!child->ended) {
        if (!has_group_got(came) || getpgid(child->pid) != getpgrp())
            kill(child->pid, came->number);
        cli_signals_passed_on(came->number);
    } else if (asks_to_end(came->number) || came->number == SIGTSTP
               || came->number == SIGCONT) {
        send_to_rest(child, came->number, has_group_got(came));
    }
}

void cli_child_terminate(const struct cli_child *child)
{
    if (!child->adopts && !child->group) {
        kill(child->pid, SIGTERM);
        kill(child->pid, SIGCONT); /* one that is stopped could not end */
        return;
    }
    send_to_rest(child, SIGTERM, 0);
    send_to_rest(child, SIGCONT, 0);
}

void cli_child_kill(struct cli_child *child)
{
    struct cli_sweep sweep = {.names = !child->named};

    if (child->group)
        kill(-child->group, SIGKILL);
    else if (!child->adopts)
        kill(child->pid, SIGKILL);
    if (!child->adopts)
        return;
    sweep.spared = embedded_server();
    cli_descendants_signal(&sweep, SIGKILL);
    child->named |= sweep.not_signalled > 0;
    if (sweep.not_signalled == sweep.found && sweep.found > 0)
        child->all_ended = 1;
}
