/* SPDX-License-Identifier: MIT */
/* lock.c -- `interlock lock`: run a command while holding a lock. */
#include "hold.h"

enum {
    KEY_TTL = CLI_HOLD_KEY,
    KEY_NO_RENEW,
    KEY_MAX_HOLD,
    KEY_BARGE,
    KEY_SHARED
};

static const struct cli_option options[] = {
    {"ttl", "TIME", "the lease; default 30s, renewed while CMD runs", KEY_TTL,
     0},
    {"no-renew", NULL, "do not renew the lease: CMD must end within --ttl",
     KEY_NO_RENEW, 0},
    {"max-hold", "TIME", "the hold ends after this, even below --ttl",
     KEY_MAX_HOLD, 0},
    {"barge", NULL, "take a free lock ahead of the wait queue", KEY_BARGE, 0},
    {"shared", NULL, "read side: share NAME with other readers", KEY_SHARED, 0},
    CLI_HOLD_OPTIONS,
};

struct lock_args {
    ilk_lock_opts opts;
    int shared;
};

static int take_option(struct cli_args *args, void *into, int key,
                       const char *value)
{
    struct lock_args *lock = into;

    switch (key) {
    case KEY_TTL: return cli_take_lease(args, "ttl", value, &lock->opts.ttl_ms);
    case KEY_MAX_HOLD:
        return cli_take_duration(args, "max-hold", value, 1,
                                 &lock->opts.max_hold_ms);
    case KEY_NO_RENEW: lock->opts.flags |= ILK_LOCK_NO_RENEW; return CLI_OK;
    case KEY_BARGE: lock->opts.flags |= ILK_LOCK_BARGE; return CLI_OK;
    default: lock->shared = 1; return CLI_OK;
    }
}

CLI_HOLD_KIND(lock, acquire, release, fence)

static const struct cli_hold_kind kind = {
    .name = "lock",
    .noun = "lock",
    .kind = ILK_KIND_LOCK,
    .lost_notification = ILK_NOTIFICATION_LOCK_LOST,
    CLI_HOLD_FUNCTIONS(lock),
};

static int run(struct cli_args *args)
{
    struct cli_hold hold = {.kind = &kind};
    struct lock_args with = {.shared = 0};
    ilk_error err = {0, ""};
    ilk_lock *lock = NULL;
    ilk_status st;
    int status;

    ilk_lock_opts_init(&with.opts, sizeof with.opts);
    if (cli_hold_args(args, &hold, take_option, &with) != 0)
        return args->status;
    status = cli_hold_connect(args, &hold);
    if (status != CLI_OK)
        return status;
    st = (with.shared ? ilk_rwlock_read_open : ilk_lock_open)(
        &lock, hold.client, hold.name.data, hold.name.len, &with.opts, &err);
    hold.handle = lock;
    status = st == ILK_OK ? cli_hold_take(&hold) : cli_fail(st, &err);
    ilk_lock_free(lock);
    ilk_client_free(hold.client);
    return status;
}

const struct cli_command cli_lock = {
    .name = "lock",
    .synopsis = "NAME [[--] CMD [ARG...]]",
    .summary = "Run CMD while holding the lock NAME.",
    .about =
        "CMD finds INTERLOCK_NAME, INTERLOCK_TOKEN and INTERLOCK_FENCE in its\n"
        "environment, and the URL of --url in INTERLOCK_URL. Signals are\n"
        "passed on to it. The lock is held until CMD and all that it has\n"
        "started have ended. When it is lost they get SIGTERM, and SIGKILL\n"
        "after --kill-after; on Linux CMD dies with interlock. Options may\n"
        "stand before and after NAME.\n"
        "\n"
        "On a terminal a wait of over a second says who holds the lock.\n"
        "\n"
        "Without CMD the token and the fence are printed, and the lock is\n"
        "held until standard input ends or a signal comes.\n"
        "\n"
        "The exit status is CMD's, or 75 not acquired in time, 76 lost, 69\n"
        "server unreachable, 64 usage, 65 NAME is no lock, 126 CMD not\n"
        "executable, 127 CMD not found, 128+n when signal n ended CMD or the\n"
        "wait. For INT, QUIT and TERM interlock dies by the signal itself.\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
