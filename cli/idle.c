/* SPDX-License-Identifier: MIT */
/*
 * idle.c -- hold without a CMD, until standard input ends or a signal comes.
 *
 * A script that runs this as a coprocess reads token and fence, works, and then
 * closes the pipe; when the script dies, the pipe is closed as well.
 */
#include "hold.h"
#include "signals.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { FOREGROUND_MS = 1000 };

static void print(const struct cli_hold *hold)
{
    const char *token = hold->kind->token(hold->handle);
    int has_fence = hold->kind->fence != NULL;
    int64_t fence = has_fence ? hold->kind->fence(hold->handle) : 0;
    struct cli_json json;

    if (!hold->as_json && has_fence)
        printf("%s %" PRId64 "\n", token, fence);
    else if (!hold->as_json)
        printf("%s\n", token);
    if (!hold->as_json)
        return;
    cli_json_begin(&json, hold->kind->name, &hold->name);
    cli_json_bytes(&json, "token", (struct cli_bytes){token, strlen(token)});
    if (has_fence)
        cli_json_int(&json, "fence", fence);
    cli_json_end(&json);
}

/* A job in the background that reads from its terminal is stopped, and could
   not renew the lease. */
static int may_read(void)
{
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Only the end of standard input matters; bytes that come before are dropped. */
static int is_at_end(const struct pollfd *input)
{
    char bytes[512];
    ssize_t got;

    if (!input->revents)
        return 0;
    got = read(STDIN_FILENO, bytes, sizeof bytes);
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

static int sleep_ms(const struct cli_hold *hold, int reads)
{
    int64_t left = hold->kind->remaining_ms(hold->handle);

    if (!reads && left > FOREGROUND_MS)
        left = FOREGROUND_MS;
    return left < INT_MAX ? (int)left : INT_MAX;
}

int cli_hold_idle(const struct cli_hold *hold)
{
    struct pollfd fds[3] = {{.fd = cli_signals_fd(), .events = POLLIN},
                            {.fd = hold->notification_fd, .events = POLLIN},
                            {.fd = STDIN_FILENO, .events = POLLIN}};
    struct cli_signal came;
    int32_t why;

    print(hold);
    if (fflush(stdout) != 0)
        return CLI_OK; /* main() reports that */
    for (;;) {
        fds[2].fd = may_read() ? STDIN_FILENO : -1;
        fds[2].revents = 0;
        if (poll(fds, 3, sleep_ms(hold, fds[2].fd >= 0)) < 0
            && errno != EINTR) {
            cli_say("poll: %s", strerror(errno));
            return CLI_SYSTEM;
        }
        while (cli_signals_next(&came)) {
            if (came.number == SIGTSTP)
                cli_signals_stop();
        }
        if (cli_hold_is_lost(hold, &why)) {
            cli_hold_say_lost(hold, why);
            return CLI_LOST;
        }
        if (cli_signals_ending())
            return cli_signals_status(cli_signals_ending());
        if (is_at_end(&fds[2]))
            return CLI_OK;
    }
}
