/* SPDX-License-Identifier: MIT */
/*
 * hold.c -- CMD runs for as long as it is held: the lock, the permit, ...
 *
 * One loop sleeps on two descriptors, signals and news of the client, and
 * until the local deadline of the lease. The deadline is the truth: when it
 * passes, what was held is taken for lost without asking anybody, for an
 * answer may take longer than the safety that it would tell about.
 *
 *     running --lost--> SIGTERM sent --kill_after--> SIGKILL sent
 *        |                   |                            |
 *        +--- CMD ended -----+----------------------------+---> done
 */
#include "hold.h"

#include "child.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

struct run {
    const struct cli_hold *hold;
    pid_t pid;
    int ended, status;
    int lost, killed;
    int64_t kill_at;
};

static int64_t left_ms(const struct run *run)
{
    return run->hold->kind->remaining_ms(run->hold->handle);
}

static void lose(struct run *run)
{
    if (run->lost)
        return;
    run->lost = 1;
    if (run->ended)
        return;
    run->kill_at = cli_now_ms() + run->hold->kill_after_ms;
    cli_say("the %s was lost; ending '%s'", run->hold->kind->noun,
            run->hold->argv[0]);
    kill(run->pid, SIGTERM);
    kill(run->pid, SIGCONT); /* one that is stopped could not end */
}

static int sleep_ms(const struct run *run)
{
    int64_t left = left_ms(run);

    if (run->lost)
        left = run->kill_at - cli_now_ms();
    if (run->killed)
        return -1; /* nothing is left but the child's end */
    if (left < 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static void take_signal(struct run *run, const struct cli_signal *came)
{
    switch (came->number) {
    case SIGCHLD:
    case SIGPIPE: break; /* the loop looks after the child anyway */
    case SIGTSTP:
        cli_child_forward(run->pid, came);
        cli_signals_stop();
        break;
    case SIGCONT:
        /* The lease may have run out meanwhile: that comes first. */
        if (left_ms(run) == 0)
            lose(run);
        cli_child_forward(run->pid, came);
        break;
    default: cli_child_forward(run->pid, came);
    }
}

static void take_notifications(struct run *run)
{
    const struct cli_hold *hold = run->hold;
    int64_t id = hold->kind->id(hold->handle);
    ilk_notification notification;

    memset(&notification, 0, sizeof notification);
    notification.size = sizeof notification;
    while (ilk_client_next_notification(hold->client, &notification, NULL)
           == ILK_OK) {
        if (notification.kind == hold->kind->lost_notification
            && notification.id == id)
            lose(run);
    }
}

/* One turn: sleep, then look at everything there is to look at. */
static int turn(struct run *run, struct pollfd fds[2])
{
    struct cli_signal came;

    if (poll(fds, 2, sleep_ms(run)) < 0 && errno != EINTR) {
        cli_say("poll: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    /* Signals first: a SIGCHLD that is read means that the look at the child
       comes after its end. Until that look its pid is nobody else's. */
    while (cli_signals_next(&came))
        take_signal(run, &came);
    run->ended = cli_child_ended(run->pid, &run->status);
    take_notifications(run);
    if (left_ms(run) == 0)
        lose(run);
    if (run->lost && !run->ended && !run->killed
        && cli_now_ms() >= run->kill_at) {
        run->killed = 1;
        kill(run->pid, SIGKILL);
    }
    return CLI_OK;
}

int cli_hold_run(const struct cli_hold *hold)
{
    struct run run = {.hold = hold};
    struct pollfd fds[2] = {{.fd = cli_signals_fd(), .events = POLLIN},
                            {.fd = hold->notification_fd, .events = POLLIN}};
    int status;

    status = cli_child_start(&run.pid, hold->argv);
    while (status == CLI_OK && !run.ended)
        status = turn(&run, fds);
    if (status != CLI_OK)
        return status;
    return run.lost ? CLI_LOST : run.status;
}
