/* SPDX-License-Identifier: MIT */
/* ls.c -- `interlock ls`: the names in use, each with its state. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_QUIET = CLI_KEY };

static const struct cli_option options[] = {
    {"quiet", NULL, "print names only, one on a line", KEY_QUIET, 'q'},
    CLI_OPTION_JSON,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

/* What a finding is turned into: rows of a table, or members of an array. */
struct output {
    struct cli_json json;
    struct cli_table table;
    int as_json;
};

static void add_json(struct cli_json *json, struct cli_bytes name,
                     const ilk_info *info)
{
    cli_json_open(json, NULL, '{');
    cli_json_bytes(json, "name", name);
    cli_json_text(json, "state",
                  info ? cli_state_name(ilk_info_get_state(info)) : "other");
    if (info) {
        cli_json_text(json, "label", ilk_info_label(info));
        cli_json_int(json, "ttl_ms", ilk_info_ttl_ms(info));
        cli_json_int(json, "fence", ilk_info_fence(info));
        cli_json_int(json, "waiters", ilk_info_waiters(info));
    }
    cli_json_close(json, '}');
}

static char *number(int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    return strdup(text);
}

static char *lease(const ilk_info *info)
{
    char *out = NULL;
    size_t out_len;
    FILE *file;

    if (ilk_info_get_state(info) == ILK_INFO_FREE)
        return strdup("-");
    if (ilk_info_ttl_ms(info) < 0)
        return strdup("no end");
    file = open_memstream(&out, &out_len);
    if (!file)
        return NULL;
    cli_put_duration(file, ilk_info_ttl_ms(info));
    if (fclose(file) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

static void add_row(struct cli_table *table, struct cli_bytes name,
                    const ilk_info *info)
{
    const char *label = info ? ilk_info_label(info) : "";

    cli_table_add(table, cli_text(name.data, name.len));
    cli_table_text(table,
                   info ? cli_state_name(ilk_info_get_state(info)) : "other");
    cli_table_text(table, label[0] ? label : "-");
    cli_table_add(table, info ? lease(info) : strdup("-"));
    cli_table_add(table, number(info ? ilk_info_waiters(info) : 0));
    cli_table_add(table, number(info ? ilk_info_fence(info) : 0));
}

/* Look at one name. A key that is no lock any more is no reason to stop. */
static int add_name(struct output *output, ilk_client *client,
                    struct cli_bytes name)
{
    ilk_error err = {0, ""};
    ilk_info *info = NULL;
    ilk_status st = ilk_inspect(&info, client, name.data, name.len, &err);

    if (st != ILK_OK && st != ILK_ETYPE)
        return cli_fail(st, &err);
    if (output->as_json)
        add_json(&output->json, name, info);
    else
        add_row(&output->table, name, info);
    ilk_info_free(info);
    return CLI_OK;
}

static struct cli_bytes name_at(const ilk_list *list, size_t index)
{
    struct cli_bytes name;

    name.data = ilk_list_name(list, index, &name.len);
    return name;
}

static int print_states(ilk_client *client, const ilk_list *list, int as_json)
{
    static const char *const heads[] = {"NAME",  "STATE",   "HOLDER",
                                        "LEASE", "WAITERS", "FENCE"};
    struct output output = {.as_json = as_json};
    size_t i, count = ilk_list_count(list);
    int status = CLI_OK;

    cli_table_init(&output.table, 6);
    for (i = 0; i < 6; i++)
        cli_table_text(&output.table, heads[i]);
    if (as_json) {
        cli_json_begin(&output.json, stdout);
        cli_json_open(&output.json, NULL, '[');
    }
    for (i = 0; i < count && status == CLI_OK; i++)
        status = add_name(&output, client, name_at(list, i));
    if (as_json) {
        cli_json_close(&output.json, ']');
        cli_json_end(&output.json);
    } else if (status == CLI_OK && count > 0) {
        status = cli_table_print(&output.table, stdout);
    }
    cli_table_free(&output.table);
    return status;
}

static int print_names(const ilk_list *list)
{
    size_t i, count = ilk_list_count(list);

    for (i = 0; i < count; i++) {
        struct cli_bytes name = name_at(list, i);

        cli_put_text(stdout, name.data, name.len);
        putchar('\n');
    }
    return CLI_OK;
}

static int list_names(const struct cli_args *args, const char *pattern,
                      int quiet)
{
    ilk_error err = {0, ""};
    ilk_client *client = NULL;
    ilk_list *list = NULL;
    ilk_status st;
    int status = cli_connect(args, &client);

    if (status != CLI_OK)
        return status;
    st = ilk_list_open(&list, client, pattern, pattern ? strlen(pattern) : 0,
                       &err);
    if (st != ILK_OK)
        status = cli_fail(st, &err);
    else if (quiet && !args->json)
        status = print_names(list);
    else
        status = print_states(client, list, args->json);
    ilk_list_free(list);
    ilk_client_free(client);
    return status;
}

static int run(struct cli_args *args)
{
    const char *value, *pattern;
    int key, quiet = 0;

    while ((key = cli_args_next(args, &value)) > 0)
        quiet = 1; /* the only option of its own */
    if (key < 0)
        return args->status;
    pattern = cli_args_word(args);
    if (cli_args_done(args))
        return args->status;
    return list_names(args, pattern, quiet);
}

const struct cli_command cli_ls = {
    .name = "ls",
    .synopsis = "[PATTERN]",
    .summary = "List the locks in use, or used within the last day.",
    .about = "PATTERN is a glob as Redis' KEYS takes it, such as 'orders.*'.\n"
             "The whole key space is walked in small steps. A key that is\n"
             "no lock any more has the state 'other'.\n",
    .options = options,
    .run = run,
};
