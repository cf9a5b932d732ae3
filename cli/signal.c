/* SPDX-License-Identifier: MIT */
/* signal.c -- `interlock signal`: send to those who wait. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_ONE = CLI_KEY };

static const struct cli_option options[] = {
    {"one", NULL, "to the one who waits longest, instead of to all", KEY_ONE,
     0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

static void print(const struct cli_args *args, struct cli_bytes name,
                  int64_t reached)
{
    struct cli_json json;

    if (!args->json) {
        printf("%" PRId64 "\n", reached);
        return;
    }
    cli_json_begin(&json, "signal", &name);
    cli_json_int(&json, "reached", reached);
    cli_json_end(&json);
}

static int send(const struct cli_args *args, struct cli_bytes name,
                struct cli_bytes data, int one)
{
    ilk_error err = {0, ""};
    ilk_client *client = NULL;
    ilk_signal *signal = NULL;
    int64_t reached = 0;
    ilk_status st;
    int status = cli_connect(args, &client);

    if (status != CLI_OK)
        return status;
    st = ilk_signal_open(&signal, client, name.data, name.len, NULL, &err);
    if (st == ILK_OK)
        st = (one ? ilk_signal_notify_one : ilk_signal_notify_all)(
            &reached, signal, data.data, data.len, &err);
    if (st == ILK_OK)
        print(args, name, reached);
    status = st ? cli_fail(st, &err) : reached > 0 ? CLI_OK : CLI_FAILED;
    ilk_signal_free(signal);
    ilk_client_free(client);
    return status;
}

static int run(struct cli_args *args)
{
    struct cli_bytes name, data;
    const char *value, *word;
    int key, status, one = 0;

    while ((key = cli_args_next(args, &value)) > 0)
        one = 1; /* the only option of its own */
    if (key < 0 || cli_args_name(args, cli_args_word(args), &name))
        return args->status;
    word = cli_args_word(args);
    if (cli_args_done(args))
        return args->status;
    status = cli_payload_take(word, ILK_SIGNAL_DATA_MAX, &data);
    if (status != CLI_OK)
        return status;
    status = send(args, name, data, one);
    cli_payload_free(&data);
    return status;
}

const struct cli_command cli_signal = {
    .name = "signal",
    .synopsis = "NAME [DATA]",
    .summary = "Send a signal to all who wait for NAME, or to one.",
    .about = "Prints how many it reached; the status is 1 when nobody waited.\n"
             "DATA '-' is read from standard input.\n",
    .options = options,
    .run = run,
};
