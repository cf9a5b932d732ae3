/* SPDX-License-Identifier: MIT */
/*
 * child.c -- CMD as a child process that does not outlive this one.
 *
 * The child stays in our process group and keeps our standard streams, so
 * Ctrl-C, Ctrl-Z and the shell's job control work on both as if there was
 * one process. Between fork and exec only async-signal-safe calls are made,
 * because the library may have a thread of its own.
 */
#include "child.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

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

/* In the child. The mask is opened last, so that no signal meets one of our
   handlers, which would tell the parent about it. */
static void become(char *const *argv, pid_t parent, const sigset_t *mask,
                   int report)
{
    int error;

    tie_to(parent);
    cli_signals_restore();
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    error = errno;
    if (write(report, &error, sizeof error) < 0) {
        /* the exit status tells enough */
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

int cli_child_start(pid_t *out, char *const *argv)
{
    sigset_t all, mask;
    int report[2], error;
    pid_t parent = getpid();

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
        return CLI_SIGNALLED + cli_signals_ending();
    }
    *out = fork();
    if (*out == 0)
        become(argv, parent, &mask, report[1]);
    close(report[1]);
    if (*out < 0) {
        close(report[0]);
        return refuse_by_system("fork", &mask);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    error = exec_error(report[0]);
    close(report[0]);
    if (error == 0)
        return CLI_OK;
    waitpid(*out, NULL, 0);
    return refuse(argv[0], error);
}

int cli_child_ended(pid_t pid, int *out_status)
{
    int status;
    pid_t got;

    do
        got = waitpid(pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return 0;
    if (got < 0) { /* somebody else reaped it; how it ended is not known */
        *out_status = CLI_SOFTWARE;
        return 1;
    }
    *out_status = WIFEXITED(status) ? WEXITSTATUS(status)
                                    : CLI_SIGNALLED + WTERMSIG(status);
    return 1;
}

void cli_child_forward(pid_t pid, const struct cli_signal *came)
{
    if (came->from_kernel && getpgid(pid) == getpgrp())
        return;
    kill(pid, came->number);
}
