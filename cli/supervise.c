/* SPDX-License-Identifier: MIT */
/*
 * supervise.c -- run a CMD for `interlock queue work`, with all its descendants.
 *
 * The worker runs several CMDs at a time, and orphaned descendants do not show
 * to which of them they belong. So each CMD has a process of its own above it,
 * which adopts these and ends when the last one has ended. SIGTERM ends them
 * all; the death of the worker does so, too.
 */
#include "child.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { KEY_KILL_AFTER = CLI_KEY, KEY_ALONE, KEY_PARENT };
enum { KILL_AGAIN_MS = 50 };

static const struct cli_option options[] = {
    {"kill-after", "TIME", "from TERM to KILL", KEY_KILL_AFTER, 0},
    {"no-descendants", NULL, "only CMD", KEY_ALONE, 0},
    {"parent", "PID", "of the worker", KEY_PARENT, 0},
    CLI_OPTION_END,
};

struct supervised {
    struct cli_child child;
    int64_t parent;                 /* pid of the worker */
    int64_t kill_after_ms, kill_at; /* kill_at is 0 before SIGTERM */
};

/* Whether the worker still lives; from now on its death is a SIGTERM. */
static int follow(int64_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    return getppid() == (pid_t)parent;
}

static void take_signal(struct supervised *self, const struct cli_signal *came)
{
    if (came->number == SIGCHLD || came->number == SIGPIPE)
        return;
    if (came->number != SIGTERM || came->from_kernel) {
        cli_child_forward(&self->child, came);
        if (came->number == SIGTSTP)
            cli_signals_stop();
        return;
    }
    if (self->kill_at)
        return;
    self->kill_at = cli_now_ms() + self->kill_after_ms;
    cli_child_terminate(&self->child);
}

static int sleep_ms(const struct supervised *self)
{
    int look_again = cli_child_look_again_ms(&self->child);
    int64_t left = self->kill_at ? self->kill_at - cli_now_ms() : INT_MAX;

    if (look_again >= 0 && look_again < left)
        left = look_again;
    return left < 0 ? 0 : left < INT_MAX ? (int)left : -1;
}

static int turn(struct supervised *self)
{
    struct pollfd fd = {.fd = cli_signals_fd(), .events = POLLIN};
    struct cli_signal came;

    if (poll(&fd, 1, sleep_ms(self)) < 0 && errno != EINTR) {
        cli_say("poll: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    while (cli_signals_next(&came))
        take_signal(self, &came);
    cli_child_look(&self->child);
    if (self->kill_at && !self->child.all_ended
        && cli_now_ms() >= self->kill_at) {
        self->kill_at = cli_now_ms() + KILL_AGAIN_MS;
        cli_child_kill(&self->child);
    }
    return CLI_OK;
}

static int take_option(struct cli_args *args, struct supervised *self, int key,
                       const char *value)
{
    switch (key) {
    case KEY_PARENT:
        return cli_take_number(args, "parent", value, 1, INT_MAX,
                               &self->parent);
    case KEY_KILL_AFTER:
        return cli_take_duration(args, "kill-after", value, 0,
                                 &self->kill_after_ms);
    default: self->child.alone = 1; return CLI_OK;
    }
}

static int run(struct cli_args *args)
{
    struct supervised self = {.kill_after_ms = 5000};
    char *const *argv;
    const char *value;
    int key, status;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status = take_option(args, &self, key, value);
        if (args->status != CLI_OK)
            return args->status;
    }
    argv = cli_args_rest(args);
    if (key < 0 || !argv)
        return cli_usage(args, "CMD is missing");
    status = cli_signals_open();
    if (status == CLI_OK && !follow(self.parent))
        return CLI_SYSTEM;
    if (status == CLI_OK)
        status = cli_child_start(&self.child, argv);
    if (status != CLI_OK)
        return status;
    while (status == CLI_OK && !self.child.all_ended)
        status = turn(&self);
    if (status == CLI_OK && !self.child.ended)
        return CLI_SIGNALLED + SIGKILL; /* it may not be ended, and runs on */
    return status == CLI_OK ? self.child.status : status;
}

const struct cli_command cli_supervise = {
    .name = "supervise",
    .synopsis = "[--] CMD [ARG...]",
    .summary = "Internal: a CMD of 'interlock queue work'.",
    .options = options,
    .run = run,
    .in_order = 1,
    .hidden = 1,
};
