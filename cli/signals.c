/* SPDX-License-Identifier: MIT */
/*
 * signals.c -- signals as data: caught, and read from a descriptor.
 *
 * A handler writes the signal's number into a pipe. The first signal that ends
 * the command is kept in a variable as well, because a wait for the lock does
 * not read the pipe; ilk_client_interrupt() ends that wait.
 */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A signal with `ends` ends a wait. One with `passes` no longer does so when CMD has got
   it. */
static struct caught {
    int number;
    int ends, passes;
    int is_open;
    struct sigaction before;
} caught[] = {
    {.number = SIGINT, .ends = 1},
    {.number = SIGTERM, .ends = 1},
    {.number = SIGHUP, .ends = 1, .passes = 1},
    {.number = SIGQUIT, .ends = 1},
    {.number = SIGUSR1, .ends = 1, .passes = 1},
    {.number = SIGUSR2, .ends = 1, .passes = 1},
    {.number = SIGWINCH},
    {.number = SIGTSTP},
    {.number = SIGCONT},
    {.number = SIGCHLD},
    {.number = SIGPIPE},
};

enum { CAUGHT = sizeof caught / sizeof caught[0] };

static int pipe_fds[2] = {-1, -1};
static volatile sig_atomic_t ending;
static _Atomic(ilk_client *) waiting;

/* Its row in the table; NULL: it has none. */
static const struct caught *row_of(int number)
{
    size_t i;

    for (i = 0; i < CAUGHT; i++) {
        if (caught[i].number == number)
            return &caught[i];
    }
    return NULL;
}

static int ends(int number)
{
    const struct caught *row = row_of(number);

    return row && row->ends;
}

static int passes(int number)
{
    const struct caught *row = row_of(number);

    return row && row->passes;
}

/* Only Linux and FreeBSD report that a signal is the terminal's. Elsewhere one
   that no process sent is taken for that. */
static int from_kernel(const siginfo_t *info)
{
#ifdef SI_KERNEL
    return info->si_code == SI_KERNEL;
#else
    return info->si_pid == 0;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct cli_signal came = {number, from_kernel(info)};
    int saved = errno;
    ilk_client *client = atomic_load(&waiting);

    (void)context;
    if (ends(number) && (!ending || passes(ending)))
        ending = number;
    /* A full pipe has enough to wake the reader; this one is dropped. */
    if (write(pipe_fds[1], &came, sizeof came) < 0) {
    }
    if (client && ends(number))
        ilk_client_interrupt(client);
    errno = saved;
}

static int open_pipe(void)
{
    size_t i;

    if (pipe(pipe_fds) != 0)
        return -1;
    for (i = 0; i < 2; i++) {
        if (fcntl(pipe_fds[i], F_SETFD, FD_CLOEXEC) < 0
            || fcntl(pipe_fds[i], F_SETFL, O_NONBLOCK) < 0)
            return -1;
    }
    return 0;
}

/* A signal that was ignored from the start, as under nohup, stays ignored;
   except for SIGCHLD, without which a child's end would go unseen. */
static int catch_one(struct caught *one)
{
    struct sigaction action;

    if (sigaction(one->number, NULL, &one->before) != 0)
        return -1;
    if (one->before.sa_handler == SIG_IGN && one->number != SIGCHLD)
        return 0;
    memset(&action, 0, sizeof action);
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_signal;
    if (sigaction(one->number, &action, NULL) != 0)
        return -1;
    one->is_open = 1;
    return 0;
}

int cli_signals_open(void)
{
    size_t i;
    int rc = open_pipe();

    for (i = 0; i < CAUGHT && rc == 0; i++)
        rc = catch_one(&caught[i]);
    if (rc == 0)
        return CLI_OK;
    cli_say("cannot catch signals: %s", strerror(errno));
    return CLI_SYSTEM;
}

int cli_signals_fd(void)
{
    return pipe_fds[0];
}

int cli_signals_next(struct cli_signal *out)
{
    ssize_t n;

    do
        n = read(pipe_fds[0], out, sizeof *out);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *out;
}

void cli_signals_drain(void)
{
    struct cli_signal came;

    while (cli_signals_next(&came)) {
        if (came.number == SIGTSTP)
            cli_signals_stop();
    }
}

int cli_signals_ending(void)
{
    return ending;
}

void cli_signals_passed_on(int number)
{
    sigset_t all, mask;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    if (ending == number && passes(number))
        ending = 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

void cli_signals_pause(int64_t ms)
{
    struct pollfd fd = {.fd = pipe_fds[0], .events = POLLIN};
    int64_t until = cli_now_ms() + ms;

    while (!ending && ms > 0) {
        poll(&fd, 1, (int)ms);
        cli_signals_drain();
        ms = until - cli_now_ms();
    }
}

int cli_signals_status(int number)
{
    if (number == SIGINT || number == SIGQUIT || number == SIGTERM)
        return CLI_DIES_BY + number;
    return CLI_SIGNALLED + number;
}

/* The core file of SIGQUIT would show this process instead of CMD. */
int cli_signals_exit(int status)
{
    const struct rlimit no_core = {0, 0};
    struct sigaction action;
    sigset_t one;

    if (status <= CLI_DIES_BY)
        return status;
    setrlimit(RLIMIT_CORE, &no_core);
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigemptyset(&one);
    sigaddset(&one, status - CLI_DIES_BY);
    sigaction(status - CLI_DIES_BY, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(status - CLI_DIES_BY);
    return CLI_SIGNALLED + status - CLI_DIES_BY;
}

void cli_signals_interrupt(ilk_client *client)
{
    atomic_store(&waiting, client);
}

/* SIGSTOP would not do: nobody could wake us in a process group that has no
   shell to look after it, where the system ignores SIGTSTP. */
void cli_signals_stop(void)
{
    struct sigaction action, ours;

    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    if (sigaction(SIGTSTP, &action, &ours) != 0)
        return;
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}

void cli_signals_restore(void)
{
    size_t i;

    for (i = 0; i < CAUGHT; i++) {
        if (caught[i].is_open)
            sigaction(caught[i].number, &caught[i].before, NULL);
    }
}
