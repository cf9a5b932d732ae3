/* SPDX-License-Identifier: MIT */
/* server.c -- `interlock server`: look at the embedded server, or stop it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_TIMEOUT = CLI_KEY, DEFAULT_TIMEOUT_MS = 10000 };

static const struct cli_option options[] = {
    {"timeout", "TIME", "how long 'stop' waits; default 10s", KEY_TIMEOUT, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

static void print_json(const ilk_server_info *info)
{
    struct cli_json json;

    cli_json_begin(&json, "server", NULL);
    cli_json_bool(&json, "running", info->running);
    cli_json_int(&json, "pid", info->pid);
    cli_json_text(&json, "dir", info->dir);
    cli_json_text(&json, "socket", info->socket);
    cli_json_text(&json, "program", info->program);
    cli_json_end(&json);
}

static void print_field(const char *head, const char *text)
{
    printf("%-8s ", head);
    cli_put_text(stdout, text, strlen(text));
    fputc('\n', stdout);
}

static void print_text(const ilk_server_info *info)
{
    if (info->running)
        printf("state    running, pid %d\n", (int)info->pid);
    else
        puts("state    not running");
    print_field("dir", info->dir);
    print_field("socket", info->socket);
    print_field("program", info->program);
}

/* As a client would choose: INTERLOCK_URL, if it names an embedded one. */
static const char *chosen_url(const struct cli_args *args)
{
    const char *named = getenv("INTERLOCK_URL");

    if (args->url)
        return args->url;
    return named && strncmp(named, "embedded:", 9) == 0 ? named : NULL;
}

static int server_status(const struct cli_args *args)
{
    ilk_server_info info;
    ilk_error err = {0, ""};
    ilk_status st;

    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    st = ilk_server_status(chosen_url(args), &info, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (args->json)
        print_json(&info);
    else
        print_text(&info);
    return info.running ? CLI_OK : CLI_FAILED;
}

static int server_stop(const struct cli_args *args, int64_t timeout_ms)
{
    ilk_error err = {0, ""};
    ilk_status st = ilk_server_stop(chosen_url(args), timeout_ms, &err);
    struct cli_json json;

    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (!args->json)
        return CLI_OK;
    cli_json_begin(&json, "server", NULL);
    cli_json_bool(&json, "running", 0);
    cli_json_end(&json);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    const char *value, *verb;
    int64_t timeout_ms = DEFAULT_TIMEOUT_MS;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        if (cli_take_duration(args, "timeout", value, 0, &timeout_ms))
            return CLI_USAGE;
    }
    if (key < 0)
        return args->status;
    verb = cli_args_word(args);
    if (verb && cli_args_done(args))
        return args->status;
    if (verb && strcmp(verb, "status") == 0)
        return server_status(args);
    if (verb && strcmp(verb, "stop") == 0)
        return server_stop(args, timeout_ms);
    if (verb)
        return cli_usage(args, "status or stop, not '%s'", verb);
    return cli_usage(args, "status or stop?");
}

const struct cli_command cli_server = {
    .name = "server",
    .synopsis = "status|stop",
    .summary = "Look at the embedded server, or save and stop it.",
    .about = "URL is embedded:// or embedded:///dir. 'status' exits with 0\n"
             "when the server runs and with 1 when it does not; 'stop' with\n"
             "0 when it does not run any more and with 75 when it takes\n"
             "longer than --timeout.\n",
    .options = options,
    .run = run,
};
