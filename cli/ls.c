/* SPDX-License-Identifier: MIT */
/* ls.c -- `interlock ls`: the names in use, each with its state. */
#include "facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_KIND = CLI_KEY, KEY_QUIET };

static const struct cli_option options[] = {
    {"kind", "KIND", "only these; default all kinds", KEY_KIND, 0},
    {"quiet", NULL, "print names only, one on a line", KEY_QUIET, 'q'},
    CLI_OPTION_JSON,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

/* The findings of one name. */
struct finding {
    const char *kind;
    struct cli_bytes name;
    char state[32], label[160];
    int64_t ttl_ms; /* -1 no end */
    int64_t waiters, fence;
    int taken; /* held, so that a lease and a holder are printed */
};

/* The form of the findings: rows of a table, or a line of JSON each. */
struct output {
    struct cli_json json;
    struct cli_table table;
    int as_json, names_only;
};

static void print_json(struct cli_json *json, const struct finding *finding)
{
    cli_json_begin(json, finding->kind, &finding->name);
    cli_json_text(json, "state", finding->state);
    cli_json_text(json, "label", finding->label);
    cli_json_int(json, "ttl_ms", finding->ttl_ms);
    cli_json_int(json, "fence", finding->fence);
    cli_json_int(json, "waiters", finding->waiters);
    cli_json_end(json);
}

static char *number(int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    return strdup(text);
}

static char *lease(const struct finding *finding)
{
    char *out = NULL;
    size_t out_len;
    FILE *file;

    if (!finding->taken)
        return strdup("-");
    if (finding->ttl_ms < 0)
        return strdup("no end");
    file = open_memstream(&out, &out_len);
    if (!file)
        return NULL;
    cli_put_duration(file, finding->ttl_ms);
    if (fclose(file) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

static void add_row(struct cli_table *table, const struct finding *finding)
{
    cli_table_add(table, cli_text(finding->name.data, finding->name.len));
    cli_table_text(table, finding->kind);
    cli_table_text(table, finding->state);
    cli_table_text(table, finding->label[0] ? finding->label : "-");
    cli_table_add(table, lease(finding));
    cli_table_add(table, number(finding->waiters));
    cli_table_add(table, number(finding->fence));
}

/* ---- inspecting --------------------------------------------------------- */

static void set_text(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text);
}

static ilk_status see_lock(ilk_client *client, struct finding *finding,
                           ilk_error *err)
{
    ilk_info *info = NULL;
    ilk_status st =
        ilk_inspect(&info, client, finding->name.data, finding->name.len, err);

    if (st != ILK_OK)
        return st;
    set_text(finding->state, sizeof finding->state,
             cli_state_name(ilk_info_get_state(info)));
    set_text(finding->label, sizeof finding->label, ilk_info_label(info));
    finding->taken = ilk_info_get_state(info) != ILK_INFO_FREE;
    finding->ttl_ms = ilk_info_ttl_ms(info);
    finding->waiters = ilk_info_waiters(info);
    finding->fence = ilk_info_fence(info);
    ilk_info_free(info);
    return ILK_OK;
}

static ilk_status see_semaphore(ilk_client *client, struct finding *finding,
                                ilk_error *err)
{
    ilk_info *info = NULL;
    ilk_status st = ilk_semaphore_inspect(&info, client, finding->name.data,
                                          finding->name.len, err);

    if (st != ILK_OK)
        return st;
    snprintf(finding->state, sizeof finding->state, "%" PRId64 " of %" PRId64,
             ilk_info_used(info), ilk_info_limit(info));
    set_text(finding->label, sizeof finding->label, ilk_info_label(info));
    finding->taken = ilk_info_used(info) > 0;
    finding->ttl_ms = ilk_info_ttl_ms(info);
    finding->waiters = ilk_info_waiters(info);
    finding->fence = ilk_info_fence(info);
    ilk_info_free(info);
    return ILK_OK;
}

static ilk_status see_election(ilk_client *client, struct finding *finding,
                               ilk_error *err)
{
    ilk_election *election = NULL;
    ilk_leader *leader = NULL;
    ilk_status st = ilk_election_open(&election, client, finding->name.data,
                                      finding->name.len, NULL, err);

    if (st == ILK_OK)
        st = ilk_election_leader(&leader, election, err);
    if (st == ILK_OK) {
        finding->taken = ilk_leader_value(leader, NULL) != NULL;
        set_text(finding->state, sizeof finding->state,
                 finding->taken ? "led" : "vacant");
        set_text(finding->label, sizeof finding->label,
                 ilk_leader_label(leader));
        finding->ttl_ms = ilk_leader_ttl_ms(leader);
        finding->waiters = ilk_leader_candidates(leader);
        finding->fence = ilk_leader_term(leader);
    }
    ilk_leader_free(leader);
    ilk_election_free(election);
    return st;
}

static ilk_status see(ilk_client *client, int32_t kind, struct finding *finding,
                      ilk_error *err)
{
    switch (kind) {
    case ILK_KIND_LOCK: return see_lock(client, finding, err);
    case ILK_KIND_SEMAPHORE: return see_semaphore(client, finding, err);
    case ILK_KIND_ELECTION: return see_election(client, finding, err);
    default:
        set_text(finding->state, sizeof finding->state, "in use");
        return ILK_OK;
    }
}

/* Look at one name. A key of another type by now is no reason to stop. */
static int add_name(struct output *output, ilk_client *client, int32_t kind,
                    struct cli_bytes name)
{
    struct finding finding = {.kind = cli_kind_of(kind)->name, .name = name};
    ilk_error err = {0, ""};
    ilk_status st = see(client, kind, &finding, &err);

    if (st != ILK_OK && st != ILK_ETYPE)
        return cli_fail(st, &err);
    if (st == ILK_ETYPE)
        set_text(finding.state, sizeof finding.state, "other");
    if (output->as_json)
        print_json(&output->json, &finding);
    else
        add_row(&output->table, &finding);
    return CLI_OK;
}

static struct cli_bytes name_at(const ilk_list *list, size_t index)
{
    struct cli_bytes name;

    name.data = ilk_list_name(list, index, &name.len);
    return name;
}

static void put_name(struct cli_bytes name)
{
    cli_put_text(stdout, name.data, name.len);
    putchar('\n');
}

static void begin(struct output *output)
{
    static const char *const heads[] = {"NAME",  "KIND",    "STATE", "HOLDER",
                                        "LEASE", "WAITERS", "FENCE"};
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
        if (output->names_only) {
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
    int quiet;
};

static int list_names(const struct cli_args *args, const struct ls_args *with)
{
    struct output output = {.as_json = args->json,
                            .names_only = with->quiet && !args->json};
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
             "now has the state 'other'.\n",
    .options = options,
    .run = run,
};
