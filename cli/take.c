/* SPDX-License-Identifier: MIT */
/* take.c -- wait for what CMD runs under, run CMD, give it up. */
#include "hold.h"
#include "signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line --------------------------------------------------- */

static int take_wait(struct cli_args *args, const char *value, int64_t *out_ms)
{
    if (strcmp(value, "forever") != 0)
        return cli_take_duration(args, "wait", value, 0, out_ms);
    *out_ms = -1;
    return CLI_OK;
}

typedef int own_option(struct cli_args *args, void *into, int key,
                       const char *value);

static int take_option(struct cli_args *args, struct cli_hold *hold, int key,
                       const char *value, own_option *own, void *into)
{
    switch (key) {
    case CLI_HOLD_WAIT: return take_wait(args, value, &hold->wait_ms);
    case CLI_HOLD_CONFLICT:
        return cli_take_number(args, "conflict-exit-code", value, 0, 255,
                               &hold->conflict);
    case CLI_HOLD_KILL:
        return cli_take_duration(args, "kill-after", value, 0,
                                 &hold->kill_after_ms);
    default: return own(args, into, key, value);
    }
}

/* Options stand before NAME and after it, up to `--` or CMD. */
static int take_options(struct cli_args *args, struct cli_hold *hold,
                        own_option *own, void *into)
{
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status = take_option(args, hold, key, value, own, into);
        if (args->status != CLI_OK)
            return -1;
    }
    return key;
}

int cli_hold_args(struct cli_args *args, struct cli_hold *hold, own_option *own,
                  void *into)
{
    char *name;

    hold->wait_ms = -1;
    hold->kill_after_ms = 5000;
    hold->conflict = CLI_NOT_ACQUIRED;
    if (take_options(args, hold, own, into) != 0)
        return -1;
    name = cli_args_word(args);
    if (take_options(args, hold, own, into) != 0)
        return -1;
    if (cli_args_name(args, name, &hold->name))
        return -1;
    hold->argv = cli_args_rest(args);
    if (hold->argv)
        return 0;
    args->status = cli_usage(args, "CMD is missing");
    return -1;
}

/* ---- waiting ------------------------------------------------------------ */

int cli_hold_connect(const struct cli_args *args, struct cli_hold *hold)
{
    int status = cli_signals_open();

    return status == CLI_OK ? cli_connect(args, &hold->client) : status;
}

/* Give a wait up: closing stays until nobody waits for us any more. */
static int give_up(const struct cli_hold *hold)
{
    hold->kind->cancel(hold->handle, NULL);
    ilk_client_close(hold->client, NULL);
    return CLI_SIGNALLED + cli_signals_ending();
}

/* What is left of the time to wait. 0 would be a first try, so a wait that
   was interrupted at its very end gets another millisecond. */
static int64_t left_ms(int64_t wait_ms, int64_t began)
{
    int64_t spent = cli_now_ms() - began;

    if (wait_ms <= 0)
        return wait_ms;
    return spent < wait_ms ? wait_ms - spent : 1;
}

/* What came while we wait: nothing but Ctrl-Z asks for something now. */
static void take_signals(void)
{
    struct cli_signal came;

    while (cli_signals_next(&came)) {
        if (came.number == SIGTSTP)
            cli_signals_stop();
    }
}

/* Wait for it; 1 when it is held, else *out_status tells the end. A signal
   that does not end, such as SIGWINCH, only interrupts: the wait keeps its
   place in the line. */
static int acquire(const struct cli_hold *hold, int *out_status)
{
    int64_t began = cli_now_ms();
    ilk_error err = {0, ""};
    ilk_status st = ILK_EINTR;

    cli_signals_interrupt(hold->client);
    while (st == ILK_EINTR && !cli_signals_ending()) {
        take_signals();
        st = hold->kind->acquire(hold->handle, left_ms(hold->wait_ms, began),
                                 &err);
    }
    cli_signals_interrupt(NULL);
    if (st == ILK_OK)
        return 1;
    if (st == ILK_EINTR) {
        *out_status = give_up(hold);
        return 0;
    }
    *out_status = cli_fail(st, &err);
    if (st == ILK_EBUSY || st == ILK_ETIMEOUT)
        *out_status = (int)hold->conflict;
    return 0;
}

/* ---- holding ------------------------------------------------------------ */

static int set_environment(const struct cli_hold *hold)
{
    char *name = strndup(hold->name.data, hold->name.len);
    char fence[24];
    int rc;

    snprintf(fence, sizeof fence, "%" PRId64, hold->kind->fence(hold->handle));
    rc = !name || setenv("INTERLOCK_NAME", name, 1)
         || setenv("INTERLOCK_TOKEN", hold->kind->token(hold->handle), 1)
         || setenv("INTERLOCK_FENCE", fence, 1);
    free(name);
    if (rc == 0)
        return CLI_OK;
    cli_say("out of memory");
    return CLI_SYSTEM;
}

/* It is given up after CMD whatever became of it. What proves to be somebody
   else's by then was lost while CMD ran. */
static int release(const struct cli_hold *hold, int status)
{
    ilk_error err = {0, ""};
    ilk_status st;

    if (status == CLI_LOST)
        return status;
    st = hold->kind->release(hold->handle, &err);
    if (st != ILK_OK)
        cli_fail(st, &err);
    return st == ILK_ELOST ? CLI_LOST : status;
}

int cli_hold_take(const struct cli_hold *with)
{
    struct cli_hold hold = *with;
    ilk_error err = {0, ""};
    ilk_status st;
    int status;

    /* Before it is taken: from here on a loss is told. */
    st = ilk_client_event_fd(hold.client, &hold.event_fd, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (!acquire(&hold, &status))
        return status;
    status = set_environment(&hold);
    if (status == CLI_OK)
        status = cli_hold_run(&hold);
    return release(&hold, status);
}
