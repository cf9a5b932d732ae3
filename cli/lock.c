/* SPDX-License-Identifier: MIT */
/* lock.c -- `interlock lock`: run a command while holding a lock. */
#include "cli.h"

#include "hold.h"
#include "signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_TTL = CLI_KEY,
    KEY_WAIT,
    KEY_NO_RENEW,
    KEY_MAX_HOLD,
    KEY_BARGE,
    KEY_SHARED,
    KEY_CONFLICT,
    KEY_KILL_AFTER
};

static const struct cli_option options[] = {
    {"ttl", "TIME", "the lease; default 30s, renewed while CMD runs", KEY_TTL,
     0},
    {"wait", "TIME", "wait so long, 'forever' (default), or 0", KEY_WAIT, 0},
    {"no-renew", NULL, "do not renew the lease: CMD has --ttl to end",
     KEY_NO_RENEW, 0},
    {"max-hold", "TIME", "renew no longer than this", KEY_MAX_HOLD, 0},
    {"barge", NULL, "take a free lock past those who wait", KEY_BARGE, 0},
    {"shared", NULL, "read side: share NAME with other readers", KEY_SHARED, 0},
    {"conflict-exit-code", "N", "exit with N instead of 75", KEY_CONFLICT, 0},
    {"kill-after", "TIME", "from TERM to KILL when lost; default 5s",
     KEY_KILL_AFTER, 0},
    CLI_OPTION_HEX,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct lock_args {
    struct cli_bytes name;
    ilk_lock_opts opts;
    int64_t wait_ms, kill_after_ms, conflict;
    int shared;
    char *const *argv;
};

static int take_wait(struct cli_args *args, const char *value, int64_t *out_ms)
{
    if (strcmp(value, "forever") != 0)
        return cli_take_duration(args, "wait", value, 0, out_ms);
    *out_ms = -1;
    return CLI_OK;
}

static int take_option(struct cli_args *args, struct lock_args *lock, int key,
                       const char *value)
{
    switch (key) {
    case KEY_TTL:
        return cli_take_duration(args, "ttl", value, 1, &lock->opts.ttl_ms);
    case KEY_WAIT: return take_wait(args, value, &lock->wait_ms);
    case KEY_MAX_HOLD:
        return cli_take_duration(args, "max-hold", value, 1,
                                 &lock->opts.max_hold_ms);
    case KEY_CONFLICT:
        return cli_take_number(args, "conflict-exit-code", value, 0, 255,
                               &lock->conflict);
    case KEY_KILL_AFTER:
        return cli_take_duration(args, "kill-after", value, 0,
                                 &lock->kill_after_ms);
    case KEY_NO_RENEW: lock->opts.flags |= ILK_LOCK_NO_RENEW; return CLI_OK;
    case KEY_BARGE: lock->opts.flags |= ILK_LOCK_BARGE; return CLI_OK;
    default: lock->shared = 1; return CLI_OK;
    }
}

/* Options stand before NAME and after it, up to `--` or CMD. */
static int take_options(struct cli_args *args, struct lock_args *lock)
{
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status = take_option(args, lock, key, value);
        if (args->status != CLI_OK)
            return -1;
    }
    return key;
}

/* Give a wait up: closing stays until nobody waits for us any more. */
static int give_up(ilk_client *client, ilk_lock *lock)
{
    ilk_lock_cancel(lock, NULL);
    ilk_client_close(client, NULL);
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

/* Wait for the lock; 1 when it is held, else *out_status tells the end. A
   signal that does not end, such as SIGWINCH, only interrupts: the wait
   keeps its place in the line. */
static int acquire(ilk_client *client, ilk_lock *lock,
                   const struct lock_args *with, int *out_status)
{
    int64_t began = cli_now_ms();
    ilk_error err = {0, ""};
    ilk_status st = ILK_EINTR;

    cli_signals_interrupt(client);
    while (st == ILK_EINTR && !cli_signals_ending()) {
        take_signals();
        st = ilk_lock_acquire(lock, left_ms(with->wait_ms, began), &err);
    }
    cli_signals_interrupt(NULL);
    if (st == ILK_OK)
        return 1;
    if (st == ILK_EINTR) {
        *out_status = give_up(client, lock);
        return 0;
    }
    *out_status = cli_fail(st, &err);
    if (st == ILK_EBUSY || st == ILK_ETIMEOUT)
        *out_status = (int)with->conflict;
    return 0;
}

static int set_environment(const struct lock_args *with, const ilk_lock *lock)
{
    char *name = strndup(with->name.data, with->name.len);
    char fence[24];
    int rc;

    snprintf(fence, sizeof fence, "%" PRId64, ilk_lock_fence(lock));
    rc = !name || setenv("INTERLOCK_NAME", name, 1)
         || setenv("INTERLOCK_TOKEN", ilk_lock_token(lock), 1)
         || setenv("INTERLOCK_FENCE", fence, 1);
    free(name);
    if (rc == 0)
        return CLI_OK;
    cli_say("out of memory");
    return CLI_SYSTEM;
}

/* The lock is given up after CMD whatever became of it. A lock that proves
   to be somebody else's by then was lost while CMD ran. */
static int release(ilk_lock *lock, int status)
{
    ilk_error err = {0, ""};
    ilk_status st;

    if (status == CLI_LOST)
        return status;
    st = ilk_lock_release(lock, &err);
    if (st != ILK_OK)
        cli_fail(st, &err);
    return st == ILK_ELOST ? CLI_LOST : status;
}

static int hold(ilk_client *client, ilk_lock *lock,
                const struct lock_args *with)
{
    struct cli_hold run = {client, lock, -1, with->argv, with->kill_after_ms};
    ilk_error err = {0, ""};
    ilk_status st;
    int status;

    /* Before the lock is taken: from here on a loss is told. */
    st = ilk_client_event_fd(client, &run.event_fd, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (!acquire(client, lock, with, &status))
        return status;
    status = set_environment(with, lock);
    if (status == CLI_OK)
        status = cli_hold_run(&run);
    return release(lock, status);
}

static int lock_and_run(const struct cli_args *args,
                        const struct lock_args *with)
{
    ilk_error err = {0, ""};
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_status st;
    int status = cli_signals_open();

    if (status == CLI_OK)
        status = cli_connect(args, &client);
    if (status != CLI_OK)
        return status;
    st = with->shared ? ilk_rwlock_read_open(&lock, client, with->name.data,
                                             with->name.len, &with->opts, &err)
                      : ilk_lock_open(&lock, client, with->name.data,
                                      with->name.len, &with->opts, &err);
    status = st == ILK_OK ? hold(client, lock, with) : cli_fail(st, &err);
    ilk_lock_free(lock);
    ilk_client_free(client);
    return status;
}

static int run(struct cli_args *args)
{
    struct lock_args with = {
        .wait_ms = -1, .kill_after_ms = 5000, .conflict = CLI_NOT_ACQUIRED};
    char *name;

    ilk_lock_opts_init(&with.opts, sizeof with.opts);
    if (take_options(args, &with) != 0)
        return args->status;
    name = cli_args_word(args);
    if (take_options(args, &with) != 0)
        return args->status;
    if (cli_args_name(args, name, &with.name))
        return args->status;
    with.argv = cli_args_rest(args);
    if (!with.argv)
        return cli_usage(args, "CMD is missing");
    return lock_and_run(args, &with);
}

const struct cli_command cli_lock = {
    .name = "lock",
    .synopsis = "NAME [--] CMD [ARG...]",
    .summary = "Run CMD while holding the lock NAME.",
    .about =
        "CMD finds INTERLOCK_NAME, INTERLOCK_TOKEN and INTERLOCK_FENCE in its\n"
        "environment. Signals are passed on to it. When the lock is lost CMD\n"
        "gets SIGTERM, and SIGKILL after --kill-after; on Linux it dies with\n"
        "interlock. Options may stand before and after NAME.\n"
        "\n"
        "The exit status is CMD's (128+n after signal n), or 75 not acquired\n"
        "in time, 76 lost, 69 server unreachable, 64 usage, 65 NAME is no\n"
        "lock, 126 CMD not executable, 127 CMD not found, 128+n when signal\n"
        "n ended the wait.\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
