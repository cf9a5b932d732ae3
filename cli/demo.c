/* SPDX-License-Identifier: MIT */
/* demo.c -- `interlock demo`: sell a stock with and without the lock. */
#include "demo.h"

#include "signals.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_PROCESSES = CLI_KEY, KEY_ITEMS, KEY_NO_LOCK, KEY_LEASE, KEY_THINK };

static const struct cli_option options[] = {
    {"processes", "N", "sellers, 1 to 64; default 8", KEY_PROCESSES, 0},
    {"items", "N", "items in stock; default 1000", KEY_ITEMS, 0},
    {"no-lock", NULL, "the same without lock and fence", KEY_NO_LOCK, 0},
    {"lease", "TIME", "the lock's lease; default 800ms", KEY_LEASE, 0},
    {"think", "TIME", "from reading to writing; default 1ms", KEY_THINK, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

enum { LEASE_LEAST_MS = 100 };

static int take_option(struct cli_args *args, struct demo_plan *plan, int key,
                       const char *value)
{
    int64_t sellers = plan->sellers;
    int status = CLI_OK;

    switch (key) {
    case KEY_PROCESSES:
        status = cli_take_number(args, "processes", value, 1, DEMO_SELLERS_MAX,
                                 &sellers);
        plan->sellers = (int)sellers;
        break;
    case KEY_ITEMS:
        status = cli_take_number(args, "items", value, 1, DEMO_ITEMS_MAX,
                                 &plan->items);
        break;
    case KEY_LEASE:
        status = cli_take_duration(args, "lease", value, 1, &plan->lease_ms);
        break;
    case KEY_THINK:
        status = cli_take_duration(args, "think", value, 0, &plan->think_ms);
        break;
    default: plan->locked = 0;
    }
    return status;
}

static int take_options(struct cli_args *args, struct demo_plan *plan)
{
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status = take_option(args, plan, key, value);
        if (args->status != CLI_OK)
            return args->status;
    }
    if (key < 0)
        return args->status ? args->status : -1; /* help was shown */
    if (cli_args_done(args))
        return args->status;
    if (plan->lease_ms < LEASE_LEAST_MS)
        return cli_usage(args, "--lease must be at least %d ms",
                         LEASE_LEAST_MS);
    return CLI_OK;
}

/* Names that no other demonstration has. */
static void name_things(struct demo_plan *plan)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(plan->lock, sizeof plan->lock, "demo.%ld.%lld%09ld",
             (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
    snprintf(plan->stock, sizeof plan->stock, "%.50s.stock", plan->lock);
}

static int play(const struct cli_args *args, const struct demo_plan *plan)
{
    static struct demo_run run; /* some kilobytes */
    int status = cli_signals_open();

    if (status != CLI_OK)
        return status;
    run.plan = plan;
    status = cli_connect(args, &run.client);
    if (status != CLI_OK)
        return status;
    status = demo_run(&run, args->url, args->json || cli_is_quiet());
    if (status == CLI_OK && !demo_verdict(&run, args->json))
        status = CLI_FAILED;
    demo_run_free(&run);
    ilk_client_free(run.client);
    return status;
}

static int run(struct cli_args *args)
{
    struct demo_plan plan = {.sellers = 8,
                             .items = 1000,
                             .think_ms = 1,
                             .lease_ms = 800,
                             .locked = 1};
    int status = take_options(args, &plan);

    if (status != CLI_OK)
        return status < 0 ? CLI_OK : status;
    /* Three fall out or pause, and each victim needs a turn after its item. */
    plan.faults = plan.sellers >= 4 && plan.items >= 3 * (int64_t)plan.sellers;
    name_things(&plan);
    return play(args, &plan);
}

const struct cli_command cli_demo = {
    .name = "demo",
    .synopsis = "",
    .summary = "Sell a stock by many processes under one lock, and prove it.",
    .about =
        "Each seller reads the stock, thinks, and writes it back. One is\n"
        "killed while it holds the lock, before its write, one after its\n"
        "write, and one is frozen beyond its lease (with 4 sellers and 3\n"
        "items for each, or more). The status is 0 when exactly the stock was\n"
        "sold, nothing twice, under strictly rising fences, and the late\n"
        "write of the frozen one was refused; else 1. With --no-lock it is 0\n"
        "when the stock was oversold, else 1.\n",
    .options = options,
    .run = run,
};
