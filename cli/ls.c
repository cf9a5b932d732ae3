/* SPDX-License-Identifier: MIT */
/* ls.c -- `interlock ls`: the names in use, each with its state. */
#include "info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_KIND = CLI_KEY, KEY_QUIET, KEY_HELD };

static const struct cli_option options[] = {
    {"kind", "KIND", "only these; default all kinds", KEY_KIND, 0},
    {"held", NULL, "only what somebody holds", KEY_HELD, 0},
    {"quiet", NULL, "print names only, one on a line", KEY_QUIET, 'q'},
    CLI_OPTION_JSON,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

/* The form of the findings: rows of a table, or a line of JSON each. */
struct output {
    struct cli_table table;
    int as_json, names_only, held_only;
};

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

    if (!cli_info_leased(info))
        return strdup("-");
    file = open_memstream(&out, &out_len);
    if (!file)
        return NULL;
    cli_info_put_lease(file, info, ilk_info_ttl_ms(info));
    if (fclose(file) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

static int64_t fact(const ilk_info *info, const char *name)
{
    for (size_t i = 0; i < ilk_info_facts(info); i++)
        if (strcmp(ilk_info_fact_name(info, i), name) == 0)
            return ilk_info_fact_number(info, i);
    return 0;
}

/* With the counts of kinds that several hold. */
static void add_state(struct cli_table *table, const struct cli_finding *found)
{
    const ilk_info *info = found->info;
    char text[160];

    if (ilk_info_kind(info) == ILK_KIND_SEMAPHORE)
        snprintf(text, sizeof text, "%" PRId64 " of %" PRId64,
                 fact(info, "used"), fact(info, "limit"));
    else if (ilk_info_kind(info) == ILK_KIND_QUEUE)
        snprintf(text, sizeof text,
                 "%" PRId64 " ready, %" PRId64 " delayed, %" PRId64
                 " taken, %" PRId64 " dead",
                 fact(info, "ready"), fact(info, "delayed"),
                 fact(info, "taken"), fact(info, "dead"));
    else if (ilk_info_holders(info) > 1)
        snprintf(text, sizeof text, "%s, %" PRId64, cli_info_state(found),
                 ilk_info_holders(info));
    else
        snprintf(text, sizeof text, "%s", cli_info_state(found));
    cli_table_text(table, text);
}

/* A reservation of a queue has no label, only the client. */
static const char *holder(const ilk_info *info)
{
    const char *label = ilk_info_label(info),
               *client = ilk_info_holder_client(info, 0);

    return label[0] ? label : client[0] ? client : "-";
}

static void add_row(struct cli_table *table, const struct cli_finding *found)
{
    const ilk_info *info = found->info;
    char since[CLI_TIME_MAX];

    cli_time_text(since, ilk_info_since_ms(info));
    cli_table_add(table, cli_text(found->name.data, found->name.len));
    cli_table_text(table, ilk_kind_name(found->kind->bit));
    add_state(table, found);
    cli_table_text(table, holder(info));
    cli_table_text(table, since[0] ? since : "-");
    cli_table_add(table, lease(info));
    if (ilk_info_waiters(info) < 0)
        cli_table_text(table, "?");
    else
        cli_table_add(table, number(ilk_info_waiters(info)));
    cli_table_add(table, number(ilk_info_fence(info)));
}

static void put_name(struct cli_bytes name)
{
    cli_put_text(stdout, name.data, name.len);
    putchar('\n');
}

/* Look at one name. A key of another type by now is no reason to stop. */
static int add_name(struct output *output, ilk_client *client, int32_t kind,
                    struct cli_bytes name)
{
    struct cli_finding found = {.kind = cli_kind_of(kind), .name = name};
    ilk_error err = {0, ""};
    ilk_status st = ILK_OK;

    if (found.kind->offer)
        st = ilk_inspect_kind(&found.info, client, kind, name.data, name.len,
                              &err);
    found.is_another = st == ILK_ETYPE;
    if (st != ILK_OK && st != ILK_ETYPE)
        return cli_fail(st, &err);
    if (output->held_only && ilk_info_holders(found.info) == 0)
        ;
    else if (output->names_only)
        put_name(name);
    else if (output->as_json)
        cli_info_json(&found);
    else
        add_row(&output->table, &found);
    ilk_info_free(found.info);
    return CLI_OK;
}

static struct cli_bytes name_at(const ilk_list *list, size_t index)
{
    struct cli_bytes name;

    name.data = ilk_list_name(list, index, &name.len);
    return name;
}

static void begin(struct output *output)
{
    static const char *const heads[] = {"NAME",  "KIND",  "STATE",   "HOLDER",
                                        "SINCE", "LEASE", "WAITERS", "FENCE"};
    const size_t count = sizeof heads / sizeof *heads;

    cli_table_init(&output->table, count);
    for (size_t i = 0; i < count; i++)
        cli_table_text(&output->table, heads[i]);
}

/* Print what one step of the walk has found, at once: on a large server the
   next names may be a minute away. */
static int print_step(struct output *output, ilk_client *client,
                      const ilk_list *list)
{
    size_t i, count = ilk_list_count(list);
    int status = CLI_OK;

    for (i = 0; i < count && status == CLI_OK; i++) {
        if (output->names_only && !output->held_only) {
            put_name(name_at(list, i));
            continue;
        }
        status =
            add_name(output, client, ilk_list_kind(list, i), name_at(list, i));
    }
    if (!output->as_json && !output->names_only && count > 0
        && status == CLI_OK)
        status = cli_table_print(&output->table, stdout);

    fflush(stdout);
    return status;
}

static int print_all(struct output *output, ilk_client *client, ilk_list *list)
{
    ilk_error err = {0, ""};
    ilk_status st = ILK_OK;
    int status = CLI_OK;

    begin(output);
    while (status == CLI_OK && st == ILK_OK) {
        st = ilk_list_next(list, &err);
        if (st == ILK_OK)
            status = print_step(output, client, list);
        else if (st != ILK_EAGAIN)
            status = cli_fail(st, &err);
    }
    cli_table_free(&output->table);
    return status;
}

struct ls_args {
    const struct cli_kind *kind;
    const char *pattern;
    int quiet, held;
};

static int list_names(const struct cli_args *args, const struct ls_args *with)
{
    struct output output = {.as_json = args->json,
                            .names_only = with->quiet && !args->json,
                            .held_only = with->held};
    ilk_error err = {0, ""};
    ilk_client *client = NULL;
    ilk_list *list = NULL;
    ilk_status st;
    int status = cli_connect(args, &client);

    if (status != CLI_OK)
        return status;
    st = ilk_list_walk(
        &list, client, with->kind ? (uint32_t)with->kind->bit : 0,
        with->pattern, with->pattern ? strlen(with->pattern) : 0, &err);
    status =
        st == ILK_OK ? print_all(&output, client, list) : cli_fail(st, &err);
    ilk_list_free(list);
    ilk_client_free(client);
    return status;
}

static int run(struct cli_args *args)
{
    struct ls_args with = {.quiet = 0};
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        if (key == KEY_QUIET)
            with.quiet = 1;
        else if (key == KEY_HELD)
            with.held = 1;
        else if (!(with.kind = cli_take_kind(args, value)))
            return args->status;
    }
    if (key < 0)
        return args->status;
    with.pattern = cli_args_word(args);
    if (cli_args_done(args))
        return args->status;
    return list_names(args, &with);
}

const struct cli_command cli_ls = {
    .name = "ls",
    .synopsis = "[PATTERN]",
    .summary = "List the names in use, or used not long ago.",
    .about = "PATTERN is a glob as Redis' KEYS takes it, such as 'orders.*'.\n"
             "The whole key space is walked once, in small steps; names are\n"
             "printed as they are found. A key that is of another type by\n"
             "now has the state 'other'. --held leaves out what nobody holds:\n"
             "no lock, permit, leadership, message or membership. A kind that\n"
             "the store behind URL does not keep is refused with status 64.\n",
    .options = options,
    .run = run,
};
