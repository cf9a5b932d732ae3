/* SPDX-License-Identifier: MIT */
/*
 * hold.c -- CMD runs while the lock, the permit or the leadership is held.
 *
 * One loop sleeps on two descriptors, for signals and for the client's
 * notifications, and until the local deadline of the lease. When the deadline
 * passes, the hold counts as lost without a request to the server, because the
 * reply may take longer than the hold is sure.
 *
 *     running --lost--> SIGTERM sent --kill_after--> SIGKILL sent, repeatedly
 *        |                   |                            |
 *        +--- all ended -----+----------------------------+---> done
 *
 * "All" are CMD and its descendants: as long as one of them runs, the work goes
 * on and is held for.
 */
#include "hold.h"

#include "child.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* SIGKILL is repeated, because a process may have started another meanwhile. */
enum { KILL_AGAIN_MS = 50 };

struct run {
    const struct cli_hold *hold;
    struct cli_child child;
    int lost;
    int64_t kill_at;
};

static int64_t left_ms(const struct run *run)
{
    return run->hold->kind->remaining_ms(run->hold->handle);
}

/* Why, as the library says it. A handle that knows of its loss answers from memory; any
   other one would ask the server. */
static const char *cause(const struct cli_hold *hold, int32_t why,
                         ilk_error *err)
{
    static const char before[] = "\" was lost: ";
    const char *at = NULL;

    if (why != ILK_LOSS_NONE
        && hold->kind->check(hold->handle, err) == ILK_ELOST)
        at = strstr(err->msg, before);
    return at ? at + strlen(before) : "its lease ended";
}

static void say_lost(const struct cli_hold *hold, int32_t why,
                     const char *ending, const char *what)
{
    char *name = cli_text(hold->name.data, hold->name.len);
    ilk_error err = {0, ""};
    const char *text = cause(hold, why, &err);

    cli_note("the %s '%s' was lost: %s%s%s", hold->kind->noun, name ? name : "",
             text, ending, what);
    free(name);
}

void cli_hold_say_lost(const struct cli_hold *hold, int32_t why)
{
    say_lost(hold, why, "", "");
}

static void lose(struct run *run, int32_t why)
{
    if (run->lost)
        return;
    run->lost = 1;
    if (run->child.all_ended)
        return;
    run->kill_at = cli_now_ms() + run->hold->kill_after_ms;
    say_lost(run->hold, why, "; ending ", run->hold->argv[0]);
    cli_child_terminate(&run->child);
}

static int sleep_ms(const struct run *run)
{
    int64_t left = left_ms(run);
    int look_again = cli_child_look_again_ms(&run->child);

    if (run->lost)
        left = run->kill_at - cli_now_ms();
    if (look_again >= 0 && look_again < left)
        left = look_again;
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
        cli_child_forward(&run->child, came);
        cli_signals_stop();
        break;
    case SIGCONT:
        /* The lease may have run out meanwhile: that comes first. */
        if (left_ms(run) == 0)
            lose(run, ILK_LOSS_NONE);
        cli_child_forward(&run->child, came);
        break;
    default: cli_child_forward(&run->child, came);
    }
}

int cli_hold_is_lost(const struct cli_hold *hold, int32_t *why)
{
    int64_t id = hold->kind->id(hold->handle);
    ilk_notification notification;
    int is_lost = hold->kind->remaining_ms(hold->handle) == 0;

    *why = ILK_LOSS_NONE;
    memset(&notification, 0, sizeof notification);
    notification.size = sizeof notification;
    while (ilk_client_next_notification(hold->client, &notification, NULL)
           == ILK_OK)
        if (notification.kind == hold->kind->lost_notification
            && notification.id == id) {
            *why = notification.cause;
            is_lost = 1;
        }
    return is_lost;
}

/* One turn: sleep, then look at everything there is to look at. */
static int turn(struct run *run, struct pollfd fds[2])
{
    struct cli_signal came;
    int32_t why;

    if (poll(fds, 2, sleep_ms(run)) < 0 && errno != EINTR) {
        cli_say("poll: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    /* Signals first: a SIGCHLD that is read means that the look at the child
       comes after its end. Until that look its pid is nobody else's. */
    while (cli_signals_next(&came))
        take_signal(run, &came);
    cli_child_look(&run->child);
    if (cli_hold_is_lost(run->hold, &why))
        lose(run, why);
    if (run->lost && !run->child.all_ended && cli_now_ms() >= run->kill_at) {
        run->kill_at = cli_now_ms() + KILL_AGAIN_MS;
        cli_child_kill(&run->child);
    }
    return CLI_OK;
}

int cli_hold_run(const struct cli_hold *hold)
{
    struct run run = {.hold = hold, .child = {.alone = hold->alone}};
    struct pollfd fds[2] = {{.fd = cli_signals_fd(), .events = POLLIN},
                            {.fd = hold->notification_fd, .events = POLLIN}};
    int status;

    status = cli_child_start(&run.child, hold->argv);
    while (status == CLI_OK && !run.child.all_ended)
        status = turn(&run, fds);
    if (status != CLI_OK)
        return status;
    return run.lost ? CLI_LOST : run.child.status;
}
