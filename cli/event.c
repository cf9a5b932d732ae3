/* SPDX-License-Identifier: MIT */
/* event.c -- `interlock event`: a flag that stays until it is cleared. */
#include "signals.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_TIMEOUT = CLI_KEY, KEY_TTL };

static const struct cli_option options[] = {
    {"timeout", "TIME", "wait so long, or 'forever' (default)", KEY_TIMEOUT, 0},
    {"ttl", "TIME", "a set lasts so long; default until it is cleared", KEY_TTL,
     0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct event {
    const char *verb;
    struct cli_bytes name, data;
    ilk_event_opts opts;
    int64_t timeout_ms;
    ilk_client *client;
    ilk_event *handle;
};

static void print_json(const struct event *event)
{
    struct cli_json json;
    struct cli_bytes data;

    data.data = ilk_event_data(event->handle, &data.len);
    cli_json_begin(&json, "event", &event->name);
    cli_json_text(&json, "state",
                  ilk_event_is_set(event->handle) ? "set" : "clear");
    cli_json_int(&json, "generation", ilk_event_generation(event->handle));
    cli_json_bytes(&json, "data", data);
    cli_json_end(&json);
}

static void print_data(const struct event *event)
{
    struct cli_bytes data;

    data.data = ilk_event_data(event->handle, &data.len);
    cli_payload_put(data);
}

static ilk_status wait_once(void *with, int64_t timeout_ms, ilk_error *err)
{
    return ilk_event_wait(with, timeout_ms, err);
}

static int give_up(const struct event *event)
{
    ilk_event_cancel(event->handle, NULL);
    ilk_client_close(event->client, NULL);
    return cli_signals_status(cli_signals_ending());
}

static int act(const struct cli_args *args, struct event *event)
{
    ilk_error err = {0, ""};
    int waits = strcmp(event->verb, "wait") == 0;
    ilk_status st;

    if (strcmp(event->verb, "set") == 0)
        st = ilk_event_set(event->handle, event->data.data, event->data.len,
                           &err);
    else if (strcmp(event->verb, "clear") == 0)
        st = ilk_event_clear(event->handle, &err);
    else if (waits)
        st = cli_wait(event->client, wait_once, event->handle,
                      event->timeout_ms, &err);
    else
        st = ilk_event_read(event->handle, &err);
    if (st == ILK_EINTR)
        return give_up(event);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (args->json)
        print_json(event);
    else if (waits)
        print_data(event);
    if (strcmp(event->verb, "show") != 0)
        return CLI_OK;
    if (!args->json)
        puts(ilk_event_is_set(event->handle) ? "set" : "clear");
    return ilk_event_is_set(event->handle) ? CLI_OK : CLI_FAILED;
}

static int open_and_act(const struct cli_args *args, struct event *event)
{
    ilk_error err = {0, ""};
    ilk_status st;
    int status = cli_signals_open();

    if (status == CLI_OK)
        status = cli_connect_to_wait(args, event->timeout_ms, &event->client);
    if (status != CLI_OK)
        return status;
    st = ilk_event_open(&event->handle, event->client, event->name.data,
                        event->name.len, &event->opts, &err);
    status = st == ILK_OK ? act(args, event) : cli_fail(st, &err);
    ilk_event_free(event->handle);
    ilk_client_free(event->client);
    return status;
}

static int take_options(struct cli_args *args, struct event *event)
{
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status =
            key == KEY_TTL
                ? cli_take_duration(args, "ttl", value, 1, &event->opts.ttl_ms)
                : cli_take_wait(args, "timeout", value, &event->timeout_ms);
        if (args->status != CLI_OK)
            return -1;
    }
    return key;
}

static int is_verb(const char *word)
{
    return word
           && (!strcmp(word, "set") || !strcmp(word, "clear")
               || !strcmp(word, "wait") || !strcmp(word, "show"));
}

static int run(struct cli_args *args)
{
    struct event event = {.timeout_ms = -1};
    const char *word;
    int status;

    ilk_event_opts_init(&event.opts, sizeof event.opts);
    if (take_options(args, &event) != 0)
        return args->status;
    event.verb = cli_args_word(args);
    if (!is_verb(event.verb))
        return cli_usage(args, "set, clear, wait or show?");
    if (cli_args_name(args, cli_args_word(args), &event.name))
        return args->status;
    word = strcmp(event.verb, "set") == 0 ? cli_args_word(args) : NULL;
    if (cli_args_done(args))
        return args->status;
    status = cli_payload_take(word, ILK_EVENT_DATA_MAX, &event.data);
    if (status != CLI_OK)
        return status;
    status = open_and_act(args, &event);
    cli_payload_free(&event.data);
    return status;
}

const struct cli_command cli_event = {
    .name = "event",
    .synopsis = "set|clear|wait|show NAME [DATA]",
    .summary = "Set, clear, wait for or show an event that stays.",
    .about = "After 'set' each 'wait' returns at once, until 'clear'. 'wait'\n"
             "prints the data of the set; its status is 75 when it was not\n"
             "set in time. 'show' has the status 1 when it is clear. DATA '-'\n"
             "is read from standard input.\n",
    .options = options,
    .run = run,
};
