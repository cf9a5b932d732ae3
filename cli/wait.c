/* SPDX-License-Identifier: MIT */
/* wait.c -- `interlock wait`: wait for a signal. */
#include "signals.h"

#include <string.h>

enum { KEY_TIMEOUT = CLI_KEY, KEY_ALL, KEY_PATTERN };

static const struct cli_option options[] = {
    {"timeout", "TIME", "wait so long, or 'forever' (default)", KEY_TIMEOUT, 0},
    {"all", NULL, "wait until each NAME has got a signal", KEY_ALL, 0},
    {"pattern", NULL, "NAME is a glob such as 'jobs.*'", KEY_PATTERN, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct waiting {
    ilk_signal *signals[ILK_SIGNAL_MAX];
    size_t count;
    ilk_signal_opts opts;
    int64_t timeout_ms;
    int all;
    ilk_arrival *arrival;
};

static ilk_status wait_once(void *with, int64_t timeout_ms, ilk_error *err)
{
    struct waiting *waiting = with;

    return (waiting->all ? ilk_signal_wait_all : ilk_signal_wait_any)(
        &waiting->arrival, waiting->signals, waiting->count, timeout_ms, err);
}

static struct cli_bytes data_at(const ilk_arrival *arrival, size_t index)
{
    struct cli_bytes data;

    data.data = ilk_arrival_data(arrival, index, &data.len);
    return data;
}

static void print_json(const ilk_arrival *arrival)
{
    struct cli_json json;
    struct cli_bytes name;

    for (size_t i = 0; i < ilk_arrival_count(arrival); i++) {
        name.data = ilk_arrival_name(arrival, i, &name.len);
        cli_json_begin(&json, "signal", &name);
        cli_json_bytes(&json, "data", data_at(arrival, i));
        cli_json_end(&json);
    }
}

static int wait_for(ilk_client *client, struct waiting *waiting, int as_json)
{
    ilk_error err = {0, ""};
    ilk_status st =
        cli_wait(client, wait_once, waiting, waiting->timeout_ms, &err);

    if (st == ILK_EINTR) {
        ilk_signal_cancel(waiting->signals[0], NULL);
        ilk_client_close(client, NULL);
        return cli_signals_status(cli_signals_ending());
    }
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (as_json)
        print_json(waiting->arrival);
    else
        for (size_t i = 0; i < ilk_arrival_count(waiting->arrival); i++)
            cli_payload_put(data_at(waiting->arrival, i));
    return CLI_OK;
}

static int open_all(struct cli_args *args, ilk_client *client,
                    struct waiting *waiting)
{
    ilk_error err = {0, ""};
    const char *word = cli_args_word(args);
    ilk_status st = ILK_OK;

    if (!word)
        return cli_usage(args, "NAME is missing");
    for (; word && st == ILK_OK; word = cli_args_word(args)) {
        if (waiting->count == ILK_SIGNAL_MAX)
            return cli_usage(args, "more than %d names", ILK_SIGNAL_MAX);
        st = ilk_signal_open(&waiting->signals[waiting->count], client, word,
                             strlen(word), &waiting->opts, &err);
        waiting->count += st == ILK_OK;
    }
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

static int take_options(struct cli_args *args, struct waiting *waiting)
{
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        if (key == KEY_ALL)
            waiting->all = 1;
        else if (key == KEY_PATTERN)
            waiting->opts.flags |= ILK_SIGNAL_PATTERN;
        else if (cli_take_wait(args, "timeout", value, &waiting->timeout_ms)) {
            args->status = CLI_USAGE;
            return -1;
        }
    }
    return key;
}

static int run(struct cli_args *args)
{
    struct waiting waiting = {.timeout_ms = -1};
    ilk_client *client = NULL;
    int status;

    ilk_signal_opts_init(&waiting.opts, sizeof waiting.opts);
    if (take_options(args, &waiting) != 0)
        return args->status;
    status = cli_signals_open();
    if (status == CLI_OK)
        status = cli_connect_to_wait(args, waiting.timeout_ms, &client);
    if (status != CLI_OK)
        return status;
    status = open_all(args, client, &waiting);
    if (status == CLI_OK)
        status = wait_for(client, &waiting, args->json);
    ilk_arrival_free(waiting.arrival);
    for (size_t i = 0; i < waiting.count; i++)
        ilk_signal_free(waiting.signals[i]);
    ilk_client_free(client);
    return status;
}

const struct cli_command cli_wait_for = {
    .name = "wait",
    .synopsis = "NAME...",
    .summary = "Wait for a signal of one NAME, and print its data.",
    .about = "A signal reaches only those who wait at that moment; an event\n"
             "stays ('interlock event'). Status 75: none came in time.\n"
             "Data goes to a file or a pipe as it is.\n",
    .options = options,
    .run = run,
};
