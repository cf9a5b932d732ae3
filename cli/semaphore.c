/* SPDX-License-Identifier: MIT */
/* semaphore.c -- `interlock semaphore`: run a command under a permit. */
#include "hold.h"

enum {
    KEY_LIMIT = CLI_HOLD_KEY,
    KEY_PERMITS,
    KEY_TTL,
    KEY_NO_RENEW,
    KEY_MAX_HOLD,
    KEY_BARGE
};

static const struct cli_option options[] = {
    {"limit", "N", "how many permits NAME has; all users must agree", KEY_LIMIT,
     0},
    {"permits", "N", "how many of them CMD needs; default 1", KEY_PERMITS, 0},
    {"ttl", "TIME", "the lease; default 30s, renewed while CMD runs", KEY_TTL,
     0},
    {"no-renew", NULL, "do not renew the lease: CMD must end within --ttl",
     KEY_NO_RENEW, 0},
    {"max-hold", "TIME", "the hold ends after this, even below --ttl",
     KEY_MAX_HOLD, 0},
    {"barge", NULL, "take free permits ahead of the wait queue", KEY_BARGE, 0},
    CLI_HOLD_OPTIONS,
};

struct semaphore_args {
    ilk_semaphore_opts opts;
    int64_t limit;
};

static int take_permits(struct cli_args *args, const char *value,
                        ilk_semaphore_opts *opts)
{
    int64_t permits = 0;
    int status =
        cli_take_number(args, "permits", value, 1, ILK_SEMAPHORE_MAX, &permits);

    opts->permits = (int32_t)permits;
    return status;
}

static int take_option(struct cli_args *args, void *into, int key,
                       const char *value)
{
    struct semaphore_args *with = into;
    ilk_semaphore_opts *opts = &with->opts;

    switch (key) {
    case KEY_LIMIT:
        return cli_take_number(args, "limit", value, 1, ILK_SEMAPHORE_MAX,
                               &with->limit);
    case KEY_PERMITS: return take_permits(args, value, opts);
    case KEY_TTL: return cli_take_lease(args, "ttl", value, &opts->ttl_ms);
    case KEY_MAX_HOLD:
        return cli_take_duration(args, "max-hold", value, 1,
                                 &opts->max_hold_ms);
    case KEY_NO_RENEW: opts->flags |= ILK_SEMAPHORE_NO_RENEW; return CLI_OK;
    default: opts->flags |= ILK_SEMAPHORE_BARGE; return CLI_OK;
    }
}

CLI_HOLD_KIND(semaphore, acquire, release, fence)

static const struct cli_hold_kind kind = {
    .name = "semaphore",
    .noun = "permit of",
    .kind = ILK_KIND_SEMAPHORE,
    .lost_notification = ILK_NOTIFICATION_SEMAPHORE_LOST,
    CLI_HOLD_FUNCTIONS(semaphore),
};

static int run(struct cli_args *args)
{
    struct cli_hold hold = {.kind = &kind};
    struct semaphore_args with = {.limit = 0};
    ilk_semaphore *semaphore = NULL;
    ilk_error err = {0, ""};
    ilk_status st;
    int status;

    ilk_semaphore_opts_init(&with.opts, sizeof with.opts);
    if (cli_hold_args(args, &hold, take_option, &with) != 0)
        return args->status;
    if (with.limit == 0)
        return cli_usage(args, "--limit is missing");
    status = cli_hold_connect(args, &hold);
    if (status != CLI_OK)
        return status;
    st = ilk_semaphore_open(&semaphore, hold.client, hold.name.data,
                            hold.name.len, (int32_t)with.limit, &with.opts,
                            &err);
    hold.handle = semaphore;
    status = st == ILK_OK ? cli_hold_take(&hold) : cli_fail(st, &err);
    ilk_semaphore_free(semaphore);
    ilk_client_free(hold.client);
    return status;
}

const struct cli_command cli_semaphore = {
    .name = "semaphore",
    .synopsis = "NAME --limit N [[--] CMD [ARG...]]",
    .summary = "Run CMD under a permit of the semaphore NAME.",
    .about =
        "At most N permits are held at a time. Environment, signals, loss\n"
        "and exit statuses are those of 'interlock lock'; 65 also means\n"
        "that NAME was set up with another limit.\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
