/* SPDX-License-Identifier: MIT */
/* register.c -- `interlock register`: one value with a version. */
#include "signals.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_TIMEOUT = CLI_KEY };

static const struct cli_option options[] = {
    {"timeout", "TIME", "wait so long, or 'forever' (default)", KEY_TIMEOUT, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct with {
    const struct verb *verb;
    struct cli_bytes name, value;
    int64_t version, timeout_ms;
    ilk_client *client;
    ilk_register *handle;
};

/* One of the verbs: the words that follow NAME, and what it prints. */
struct verb {
    const char *name;
    ilk_status (*act)(struct with *with, ilk_error *err);
    enum { NO_VERSION, MAY_HAVE_VERSION, NEEDS_VERSION } version;
    int takes_value;
    enum { PRINTS_NOTHING, PRINTS_VALUE, PRINTS_VERSION } prints;
};

/* ---- the verbs ---------------------------------------------------------- */

static ilk_status get(struct with *with, ilk_error *err)
{
    return ilk_register_get(with->handle, err);
}

static ilk_status set(struct with *with, ilk_error *err)
{
    return ilk_register_set(with->handle, with->value.data, with->value.len,
                            err);
}

static ilk_status cas(struct with *with, ilk_error *err)
{
    return ilk_register_cas(with->handle, with->version, with->value.data,
                            with->value.len, err);
}

static ilk_status delete_value(struct with *with, ilk_error *err)
{
    return ilk_register_delete(with->handle, with->version, err);
}

static ilk_status wait_once(void *arg, int64_t timeout_ms, ilk_error *err)
{
    const struct with *with = arg;

    return ilk_register_wait(with->handle, with->version, timeout_ms, err);
}

static ilk_status wait_for(struct with *with, ilk_error *err)
{
    return cli_wait(with->client, wait_once, with, with->timeout_ms, err);
}

static const struct verb verbs[] = {
    {"get", get, NO_VERSION, 0, PRINTS_VALUE},
    {"set", set, NO_VERSION, 1, PRINTS_VERSION},
    {"cas", cas, NEEDS_VERSION, 1, PRINTS_VERSION},
    {"delete", delete_value, MAY_HAVE_VERSION, 0, PRINTS_NOTHING},
    {"wait", wait_for, NEEDS_VERSION, 0, PRINTS_VALUE},
};

static const struct verb *find_verb(const char *word)
{
    for (size_t i = 0; word && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].name, word) == 0)
            return &verbs[i];
    return NULL;
}

/* ---- running one -------------------------------------------------------- */

static void print_json(const struct with *with)
{
    struct cli_json json;
    struct cli_bytes value;

    value.data = ilk_register_value(with->handle, &value.len);
    cli_json_begin(&json, "register", &with->name);
    cli_json_int(&json, "version", ilk_register_version(with->handle));
    if (value.data) {
        cli_json_bytes(&json, "value", value);
    } else {
        cli_json_null(&json, "value");
        cli_json_null(&json, "value_hex");
    }
    cli_json_end(&json);
}

static void print(const struct with *with)
{
    struct cli_bytes value;

    value.data = ilk_register_value(with->handle, &value.len);
    if (with->verb->prints == PRINTS_VERSION)
        printf("%" PRId64 "\n", ilk_register_version(with->handle));
    else if (with->verb->prints == PRINTS_VALUE && value.data)
        cli_payload_put(value);
}

static int give_up(const struct with *with)
{
    ilk_register_cancel(with->handle, NULL);
    ilk_client_close(with->client, NULL);
    return cli_signals_status(cli_signals_ending());
}

static int act(const struct cli_args *args, struct with *with)
{
    ilk_error err = {0, ""};
    ilk_status st = with->verb->act(with, &err);

    if (st == ILK_EINTR)
        return give_up(with);
    if (st != ILK_OK && st != ILK_ESTALE)
        return cli_fail(st, &err);
    if (args->json)
        print_json(with); /* of a refusal what is on record */
    if (st == ILK_ESTALE)
        return cli_fail(st, &err);
    if (!args->json)
        print(with);
    if (with->verb->prints != PRINTS_VALUE
        || ilk_register_value(with->handle, NULL))
        return CLI_OK;
    cli_note("there is no value");
    return CLI_FAILED;
}

static int open_and_act(const struct cli_args *args, struct with *with)
{
    ilk_error err = {0, ""};
    ilk_status st;
    int status = cli_signals_open();

    if (status == CLI_OK)
        status = cli_connect_to_wait(args, with->timeout_ms, &with->client);
    if (status != CLI_OK)
        return status;
    st = ilk_register_open(&with->handle, with->client, with->name.data,
                           with->name.len, &err);
    status = st == ILK_OK ? act(args, with) : cli_fail(st, &err);
    ilk_register_free(with->handle);
    ilk_client_free(with->client);
    return status;
}

/* ---- the command line --------------------------------------------------- */

/* 0, or a usage error, with a message. */
static int take_version(struct cli_args *args, struct with *with)
{
    const char *word =
        with->verb->version == NO_VERSION ? NULL : cli_args_word(args);
    char *end = NULL;

    with->version = ILK_REGISTER_ANY;
    if (!word && with->verb->version == NEEDS_VERSION)
        return cli_usage(args, "VERSION is missing");
    if (!word)
        return CLI_OK;
    errno = 0;
    with->version = strtoll(word, &end, 10);
    if (!isdigit((unsigned char)*word) || *end != '\0' || errno)
        return cli_usage(args, "VERSION must be a number, got '%s'", word);
    return CLI_OK;
}

static int take_words(struct cli_args *args, struct with *with)
{
    const char *word = NULL;
    int status;

    with->verb = find_verb(cli_args_word(args));
    if (!with->verb)
        return cli_usage(args, "get, set, cas, delete or wait?");
    if (cli_args_name(args, cli_args_word(args), &with->name))
        return args->status;
    status = take_version(args, with);
    if (status != CLI_OK)
        return status;
    if (with->verb->takes_value)
        word = cli_args_word(args);
    if (cli_args_done(args))
        return args->status;
    if (with->verb->takes_value)
        status = cli_payload_take(word ? word : "-", ILK_REGISTER_VALUE_MAX,
                                  &with->value);
    return status;
}

static int run(struct cli_args *args)
{
    struct with with = {.timeout_ms = -1};
    const char *value;
    int status;

    while ((status = cli_args_next(args, &value)) > 0) {
        args->status = cli_take_wait(args, "timeout", value, &with.timeout_ms);
        if (args->status != CLI_OK)
            return args->status;
    }
    if (status < 0)
        return args->status;
    status = take_words(args, &with);
    if (status != CLI_OK)
        return status;
    status = open_and_act(args, &with);
    cli_payload_free(&with.value);
    return status;
}

const struct cli_command cli_register = {
    .name = "register",
    .synopsis = "VERB NAME [VERSION] [VALUE]",
    .summary = "Read, write and compare one value with a version.",
    .about =
        "VERB is get, set, cas, delete or wait. 'set' and 'cas' read VALUE\n"
        "from standard input if it is '-' or missing, and print the new\n"
        "version; 'get' prints the value. 'cas NAME VERSION' writes, and\n"
        "'delete NAME VERSION' deletes only if the register still has that\n"
        "version; version 0 means that there is no value. 'wait NAME VERSION'\n"
        "prints the value once it has another. The status is 1 when there is\n"
        "no value or another version, 75 when the time ran out. --json shows\n"
        "value and version; after a refusal, those on record.\n",
    .options = options,
    .run = run,
};
