/* SPDX-License-Identifier: MIT */
/* take.c -- wait for the hold, run CMD under it, give it up. */
#include "hold.h"
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAY_AFTER_MS = 1000 };

/* ---- the command line --------------------------------------------------- */

typedef int own_option(struct cli_args *args, void *into, int key,
                       const char *value);

static int take_option(struct cli_args *args, struct cli_hold *hold, int key,
                       const char *value, own_option *own, void *into)
{
    switch (key) {
    case CLI_HOLD_WAIT:
        return cli_take_wait(args, "wait", value, &hold->wait_ms);
    case CLI_HOLD_CONFLICT:
        return cli_take_number(args, "conflict-exit-code", value, 0, 255,
                               &hold->conflict);
    case CLI_HOLD_KILL:
        return cli_take_duration(args, "kill-after", value, 0,
                                 &hold->kill_after_ms);
    case CLI_HOLD_ALONE: hold->alone = 1; return CLI_OK;
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
    hold->as_json = args->json;
    if (!hold->argv && cli_args_ended(args))
        args->status = cli_usage(args, "CMD is missing behind '--'");
    if (hold->argv && args->json)
        args->status = cli_usage(args, "--json is for holding without a CMD");
    return args->status == CLI_OK ? 0 : -1;
}

/* ---- waiting ------------------------------------------------------------ */

int cli_hold_connect(const struct cli_args *args, struct cli_hold *hold)
{
    int status = cli_signals_open();

    return status == CLI_OK
               ? cli_connect_to_wait(args, hold->wait_ms, &hold->client)
               : status;
}

/* Give a wait up: closing stays until nobody waits for us any more. */
static int give_up(const struct cli_hold *hold)
{
    hold->kind->cancel(hold->handle, NULL);
    ilk_client_close(hold->client, NULL);
    return cli_signals_status(cli_signals_ending());
}

/* Say who holds it: during the wait, or when it was not acquired in the given time. */
static void say_who_holds(const struct cli_hold *hold, int still_waits)
{
    char *text = NULL;
    ilk_error err = {0, ""};
    ilk_status st;
    size_t len;
    FILE *file = cli_is_quiet() ? NULL : open_memstream(&text, &len);

    if (!file)
        return;
    if (still_waits) {
        fputs("waiting: ", file);
    } else if (hold->wait_ms > 0) {
        fputs("gave up after ", file);
        cli_put_duration(file, hold->wait_ms);
        fputs(": ", file);
    }
    st = cli_holder_put(file, hold, still_waits, &err);
    if (fclose(file) != 0)
        ;
    else if (still_waits && st != ILK_OK)
        cli_note("waiting: %s", err.msg);
    else
        cli_note("%s", text);
    free(text);
}

struct wait {
    const struct cli_hold *hold;
    int64_t say_at; /* say who holds it; 0: not, or it was said */
};

static ilk_status acquire_once(void *with, int64_t timeout_ms, ilk_error *err)
{
    struct wait *wait = with;
    const struct cli_hold *hold = wait->hold;

    if (wait->say_at && cli_now_ms() >= wait->say_at) {
        int64_t began = cli_now_ms();

        wait->say_at = 0;
        say_who_holds(hold, 1);
        timeout_ms = cli_left_ms(timeout_ms, began);
    }
    return hold->kind->acquire(hold->handle, timeout_ms, err);
}

/* Wait for it; 1 when it is held, else *out_status is the exit status. Somebody who
   looks on learns after a second what the wait is for. */
static int acquire(struct cli_hold *hold, int *out_status)
{
    const int is_watched =
        hold->wait_ms != 0 && !cli_is_quiet() && isatty(STDERR_FILENO);
    struct wait wait = {hold, is_watched ? cli_now_ms() + SAY_AFTER_MS : 0};
    ilk_error err = {0, ""};
    ilk_status st;

    if (is_watched)
        cli_signals_interrupt_after(hold->client, SAY_AFTER_MS);
    st = cli_wait(hold->client, acquire_once, &wait, hold->wait_ms, &err);
    if (is_watched)
        cli_signals_interrupt_after(NULL, 0);
    if (st == ILK_OK)
        return 1;
    if (st == ILK_EINTR) {
        *out_status = give_up(hold);
        return 0;
    }
    if (st == ILK_EBUSY || st == ILK_ETIMEOUT) {
        say_who_holds(hold, 0);
        *out_status = (int)hold->conflict;
    } else {
        *out_status = cli_fail(st, &err);
    }
    return 0;
}

/* ---- holding ------------------------------------------------------------ */

static int set_environment(const struct cli_hold *hold)
{
    char *name = strndup(hold->name.data, hold->name.len);
    char fence[24];
    int rc;

    rc = !name || setenv("INTERLOCK_NAME", name, 1)
         || setenv("INTERLOCK_TOKEN", hold->kind->token(hold->handle), 1);
    if (hold->kind->fence) {
        snprintf(fence, sizeof fence, "%" PRId64,
                 hold->kind->fence(hold->handle));
        rc |= setenv("INTERLOCK_FENCE", fence, 1);
    }
    free(name);
    if (rc == 0)
        return CLI_OK;
    cli_say("out of memory");
    return CLI_SYSTEM;
}

/* Release after CMD has ended, however it ended. ILK_ELOST means that the hold
   was lost while CMD ran. */
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

    /* Before the acquire, so that no notification of a loss is missed. */
    st = ilk_client_notification_fd(hold.client, &hold.notification_fd, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (!acquire(&hold, &status))
        return status;
    status = hold.argv ? set_environment(&hold) : cli_hold_idle(&hold);
    if (hold.argv && status == CLI_OK)
        status = cli_hold_run(&hold);
    return release(&hold, status);
}
