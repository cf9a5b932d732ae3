/* SPDX-License-Identifier: MIT */
/* break.c -- `interlock break`: take a lock away from whoever holds it. */
#include "cli.h"

#include <string.h>

enum { KEY_TOKEN = CLI_KEY };

static const struct cli_option options[] = {
    {"token", "TOKEN", "only if it is held under this token", KEY_TOKEN, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

static void print_json(struct cli_bytes name, int broken)
{
    struct cli_json json;

    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    cli_json_bytes(&json, "name", name);
    cli_json_bool(&json, "broken", broken);
    cli_json_close(&json, '}');
    cli_json_end(&json);
}

static int break_lock(const struct cli_args *args, struct cli_bytes name,
                      const char *token)
{
    ilk_error err = {0, ""};
    ilk_client *client = NULL;
    ilk_status st;
    int status = cli_connect(args, &client);

    if (status != CLI_OK)
        return status;
    st = ilk_lock_break(client, name.data, name.len, token,
                        token ? strlen(token) : 0, &err);
    if (st != ILK_OK)
        status = cli_fail(st, &err);
    else if (!args->json)
        cli_say("broken; its former holder's fence is stale");
    if (args->json && (st == ILK_OK || st == ILK_ENOTOWNER))
        print_json(name, st == ILK_OK);
    ilk_client_free(client);
    return status;
}

static int run(struct cli_args *args)
{
    struct cli_bytes name;
    const char *value, *token = NULL;
    int key;

    while ((key = cli_args_next(args, &value)) > 0)
        token = value; /* the only option of its own */
    if (key < 0)
        return args->status;
    if (cli_args_name(args, cli_args_word(args), &name) || cli_args_done(args))
        return args->status;
    return break_lock(args, name, token);
}

const struct cli_command cli_break = {
    .name = "break",
    .synopsis = "NAME",
    .summary = "Take the lock NAME away from whoever holds it.",
    .about = "The holder is not asked; the first who waits holds next, under\n"
             "a greater fence. The status is 1 when nobody, or nobody with\n"
             "that token, held it.\n",
    .options = options,
    .run = run,
};
