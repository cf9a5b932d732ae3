/* SPDX-License-Identifier: MIT */
/* quorum.c -- `interlock quorum status`: which nodes of a quorum vote, and why
 * another one does not. */
#include "cli.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 16,   /* the library's limit is lower */
    SETTLE_MS = 3000, /* longer than a connection may take */
    LOOK_MS = 10
};

static const struct cli_option options[] = {
    CLI_OPTION_JSON, CLI_OPTION_QUIET, CLI_OPTION_URL,
    CLI_OPTION_HELP, CLI_OPTION_END,
};

struct nodes {
    ilk_node_stats of[NODES_MAX];
    size_t count, voting, connecting;
};

static void read_nodes(ilk_client *client, struct nodes *nodes)
{
    ilk_node_stats *node = nodes->of;

    memset(nodes, 0, sizeof *nodes);
    for (; nodes->count < NODES_MAX; nodes->count++, node++) {
        node->size = sizeof *node;
        if (ilk_client_get_node_stats(client, nodes->count, node, NULL))
            return;
        nodes->voting += node->state == ILK_NODE_VOTING;
        nodes->connecting += node->state == ILK_NODE_CONNECTING;
    }
}

/* The first call connects. It fails where too few nodes vote, and then, too, each
   node has a state. */
static void settle(ilk_client *client, struct nodes *nodes)
{
    const int64_t until = cli_now_ms() + SETTLE_MS;

    ilk_client_ping(client, -1, NULL);
    read_nodes(client, nodes);
    while (nodes->connecting && cli_now_ms() < until) {
        poll(NULL, 0, LOOK_MS);
        read_nodes(client, nodes);
    }
}

static const char *state_name(int32_t state)
{
    switch (state) {
    case ILK_NODE_CONNECTING: return "connecting";
    case ILK_NODE_VOTING: return "voting";
    case ILK_NODE_WAITING: return "waiting";
    case ILK_NODE_FAILED: return "failed";
    default: return "unknown";
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_node(struct cli_json *json, const ilk_node_stats *node)
{
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "address", node->address);
    cli_json_text(json, "state", state_name(node->state));
    cli_json_int(json, "wait_ms", node->wait_ms);
    if (node->round_trip_us < 0) {
        cli_json_null(json, "round_trip_us");
        cli_json_null(json, "clock_offset_us");
    } else {
        cli_json_int(json, "round_trip_us", node->round_trip_us);
        cli_json_int(json, "clock_offset_us", node->clock_offset_us);
    }
    cli_json_text(json, "error", node->error);
    cli_json_close(json, '}');
}

static void print_json(const struct nodes *nodes)
{
    struct cli_json json;
    size_t i;

    cli_json_begin(&json, "quorum", NULL);
    cli_json_int(&json, "voting", (int64_t)nodes->voting);
    cli_json_open(&json, "nodes", '[');
    for (i = 0; i < nodes->count; i++)
        json_node(&json, &nodes->of[i]);
    cli_json_close(&json, ']');
    cli_json_end(&json);
}

/* ---- the table ----------------------------------------------------------- */

static void put_us(FILE *file, int64_t us)
{
    if (us < 1000000)
        fprintf(file, "%" PRId64 ".%d ms", us / 1000, (int)(us % 1000 / 100));
    else
        cli_put_duration(file, us / 1000);
}

static void put_round_trip(FILE *file, const ilk_node_stats *node)
{
    if (node->round_trip_us < 0)
        fputc('-', file);
    else
        put_us(file, node->round_trip_us);
}

static void put_clock(FILE *file, const ilk_node_stats *node)
{
    const int64_t offset = node->clock_offset_us;

    if (node->round_trip_us < 0) {
        fputc('-', file);
    } else if (offset <= -100 || offset >= 100) {
        fputc(offset < 0 ? '-' : '+', file);
        put_us(file, offset < 0 ? -offset : offset);
    } else {
        fputs("0.0 ms", file);
    }
}

static void put_why(FILE *file, const ilk_node_stats *node)
{
    if (node->state == ILK_NODE_VOTING) {
        fputc('-', file);
    } else if (node->state == ILK_NODE_WAITING && node->wait_ms > 0) {
        fputs("may vote in ", file);
        cli_put_duration(file, node->wait_ms);
    } else if (node->state == ILK_NODE_WAITING) {
        fputs("needs the other nodes", file);
    } else {
        const char *why = node->error[0] ? node->error : "no reply yet";

        cli_put_text(file, why, strlen(why));
    }
}

static void add_cell(struct cli_table *table, const ilk_node_stats *node,
                     void (*put)(FILE *, const ilk_node_stats *))
{
    char *out = NULL;
    size_t out_len;
    FILE *file = open_memstream(&out, &out_len);

    if (file)
        put(file, node);
    if (file && fclose(file) != 0) {
        free(out);
        out = NULL;
    }
    cli_table_add(table, out);
}

static int print_table(const struct nodes *nodes)
{
    static const char *const heads[] = {"NODE", "STATE", "ROUND-TRIP", "CLOCK",
                                        "WHY"};
    const size_t columns = sizeof heads / sizeof heads[0];
    struct cli_table table;
    size_t i;
    int status;

    cli_table_init(&table, columns);
    for (i = 0; i < columns; i++)
        cli_table_text(&table, heads[i]);
    for (i = 0; i < nodes->count; i++) {
        const ilk_node_stats *node = &nodes->of[i];

        cli_table_text(&table, node->address);
        cli_table_text(&table, state_name(node->state));
        add_cell(&table, node, put_round_trip);
        add_cell(&table, node, put_clock);
        add_cell(&table, node, put_why);
    }
    status = cli_table_print(&table, stdout);
    cli_table_free(&table);
    return status;
}

/* ---- the command --------------------------------------------------------- */

static int show(const struct cli_args *args, const struct nodes *nodes)
{
    const size_t majority = nodes->count / 2 + 1;
    int status = CLI_OK;

    if (args->json)
        print_json(nodes);
    else
        status = print_table(nodes);
    if (status != CLI_OK || nodes->voting >= majority)
        return status;
    cli_say("%zu of %zu nodes vote, and %zu must", nodes->voting, nodes->count,
            majority);
    return CLI_UNREACHABLE;
}

static int quorum_status(const struct cli_args *args)
{
    ilk_client *client = NULL;
    ilk_error err = {0, ""};
    ilk_client_opts opts;
    struct nodes nodes;
    ilk_status st;
    int status;

    if (!args->url && !getenv("INTERLOCK_URL"))
        return cli_usage(args, "which quorum? give its URL");
    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY | ILK_CLIENT_NO_EMBEDDED;
    st = ilk_client_open(&client, args->url, &opts, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    read_nodes(client, &nodes);
    if (nodes.count > 0) {
        settle(client, &nodes);
        status = show(args, &nodes);
    } else {
        status = cli_usage(args, "'%s' is no quorum", ilk_client_url(client));
    }
    ilk_client_free(client);
    return status;
}

static int run(struct cli_args *args)
{
    const char *value, *verb;

    if (cli_args_next(args, &value) < 0)
        return args->status;
    verb = cli_args_word(args);
    if (verb && cli_args_done(args))
        return args->status;
    if (verb && strcmp(verb, "status") == 0)
        return quorum_status(args);
    if (verb)
        return cli_usage(args, "status, not '%s'", verb);
    return cli_usage(args, "status?");
}

const struct cli_command cli_quorum = {
    .name = "quorum",
    .synopsis = "status",
    .summary = "Show which nodes of a quorum vote.",
    .about =
        "URL is redis://HOST,HOST,HOST?quorum. A node that waits was started\n"
        "or wiped, and may vote when no lease of before can be left. CLOCK\n"
        "is how far its clock is ahead of this machine's. The exit status\n"
        "is 0 when a majority votes, else 69.\n",
    .options = options,
    .run = run,
};
