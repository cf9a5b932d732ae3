/* SPDX-License-Identifier: MIT */
/* version.c -- `interlock version`: this program's and the library's. */
#include "cli.h"

static const struct cli_option options[] = {
    CLI_OPTION_JSON, CLI_OPTION_QUIET, CLI_OPTION_URL,
    CLI_OPTION_HELP, CLI_OPTION_END,
};

static void print(int as_json, const char *program)
{
    struct cli_json json;

    if (!as_json) {
        printf("interlock %s (library %s)\n", program, ilk_version());
        return;
    }
    cli_json_begin(&json, "version", NULL);
    cli_json_text(&json, "program", program);
    cli_json_text(&json, "library", ilk_version());
    cli_json_end(&json);
}

static int run(struct cli_args *args)
{
    const char *value;
    char program[48];

    if (cli_args_next(args, &value) != 0)
        return args->status;
    if (cli_args_done(args))
        return args->status;
    snprintf(program, sizeof program, "%d.%d.%d", ILK_VERSION_MAJOR,
             ILK_VERSION_MINOR, ILK_VERSION_PATCH);
    print(args->json, program);
    return CLI_OK;
}

const struct cli_command cli_version = {
    .name = "version",
    .synopsis = "",
    .summary = "Print the versions of this program and of its library.",
    .about = "It needs no server; --url is accepted and not used.\n",
    .options = options,
    .run = run,
};
