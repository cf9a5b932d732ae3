/* SPDX-License-Identifier: MIT */
/* elect.c -- `interlock elect`: run a command only while leading. */
#include "hold.h"
#include "signals.h"

#include <string.h>

enum { KEY_TTL = CLI_HOLD_KEY, KEY_VALUE, KEY_IDENTITY, KEY_ONCE };

static const struct cli_option options[] = {
    {"ttl", "TIME", "the lease; default 20s, renewed while CMD runs", KEY_TTL,
     0},
    {"value", "TEXT", "what to publish while leading", KEY_VALUE, 0},
    {"identity", "TEXT", "lead on under it after a restart, in the same term",
     KEY_IDENTITY, 0},
    {"once", NULL, "exit with 76 when leadership is lost", KEY_ONCE, 0},
    CLI_HOLD_OPTIONS,
};

struct elect_args {
    ilk_election_opts opts;
    int once;
};

static int take_option(struct cli_args *args, void *into, int key,
                       const char *value)
{
    struct elect_args *with = into;

    switch (key) {
    case KEY_TTL:
        return cli_take_duration(args, "ttl", value, 1, &with->opts.ttl_ms);
    case KEY_VALUE:
        with->opts.value = value;
        with->opts.value_len = strlen(value);
        return CLI_OK;
    case KEY_IDENTITY:
        with->opts.identity = value;
        with->opts.identity_len = strlen(value);
        return CLI_OK;
    default: with->once = 1; return CLI_OK;
    }
}

CLI_HOLD_KIND(election, campaign, resign, term)

static const struct cli_hold_kind kind = {
    .noun = "leadership",
    .lost_notification = ILK_NOTIFICATION_LEADERSHIP_LOST,
    CLI_HOLD_FUNCTIONS(election),
};

/* Who lost the leadership stands for election again, and CMD starts anew. */
static int lead(const struct cli_hold *hold, int once)
{
    int status;

    do {
        status = cli_hold_take(hold);
    } while (status == CLI_LOST && !once && !cli_signals_ending());
    return status;
}

static int run(struct cli_args *args)
{
    struct cli_hold hold = {.kind = &kind};
    struct elect_args with = {.once = 0};
    ilk_election *election = NULL;
    ilk_error err = {0, ""};
    ilk_status st;
    int status;

    ilk_election_opts_init(&with.opts, sizeof with.opts);
    if (cli_hold_args(args, &hold, take_option, &with) != 0)
        return args->status;
    status = cli_hold_connect(args, &hold);
    if (status != CLI_OK)
        return status;
    st = ilk_election_open(&election, hold.client, hold.name.data,
                           hold.name.len, &with.opts, &err);
    hold.handle = election;
    status = st == ILK_OK ? lead(&hold, with.once) : cli_fail(st, &err);
    ilk_election_free(election);
    ilk_client_free(hold.client);
    return status;
}

const struct cli_command cli_elect = {
    .name = "elect",
    .synopsis = "NAME [--] CMD [ARG...]",
    .summary = "Run CMD only while leading in the election NAME.",
    .about = "CMD is started when this candidate is elected, ended when it\n"
             "leads no more, and started again at its next election. When\n"
             "CMD ends by itself the candidate resigns. INTERLOCK_FENCE is\n"
             "the term. Signals and exit statuses are those of 'interlock\n"
             "lock'.\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
