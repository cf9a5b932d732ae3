/* SPDX-License-Identifier: MIT */
/* quorum.c -- `interlock quorum status`: which nodes of a quorum vote and keep
 * registers, and why another one does not. `interlock quorum adopt`: take in one that
 * has lost its registers. */
#include "cli.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 16,   /* the library's limit is lower */
    SETTLE_MS = 3000, /* longer than a connection may take */
    LOOK_MS = 10,
    ADOPT_MS = 60000, /* without progress */
    PROGRESS_MS = 1000
};

enum { KEY_TIMEOUT = CLI_KEY };

static const struct cli_option options[] = {
    {"timeout", "TIME", "adopt: end after TIME without progress; default 1m",
     KEY_TIMEOUT, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct nodes {
    ilk_node_stats of[NODES_MAX];
    size_t count, voting, connecting;
    size_t unknown; /* they are reached, but what they keep is not known yet */
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
        nodes->unknown += node->registers == ILK_REGISTERS_UNKNOWN
                          && (node->state == ILK_NODE_VOTING
                              || node->state == ILK_NODE_WAITING);
    }
}

/* The first call connects. It fails where too few nodes vote, and then, too, each
   node has a state. */
static void settle(ilk_client *client, struct nodes *nodes)
{
    const int64_t until = cli_now_ms() + SETTLE_MS;

    ilk_client_ping(client, -1, NULL);
    read_nodes(client, nodes);
    while ((nodes->connecting || nodes->unknown) && cli_now_ms() < until) {
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

static const char *registers_name(int32_t registers)
{
    switch (registers) {
    case ILK_REGISTERS_NONE: return "none";
    case ILK_REGISTERS_KEPT: return "kept";
    case ILK_REGISTERS_LOST: return "lost";
    case ILK_REGISTERS_RETURNING: return "returning";
    case ILK_REGISTERS_REFUSED: return "refused";
    case ILK_REGISTERS_FOREIGN: return "foreign";
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
    cli_json_text(json, "registers", registers_name(node->registers));
    cli_json_text(json, "registers_error", node->registers_error);
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
    if (node->state == ILK_NODE_VOTING
        && node->registers > ILK_REGISTERS_KEPT) {
        cli_put_text(file, node->registers_error,
                     strlen(node->registers_error));
    } else if (node->state == ILK_NODE_VOTING) {
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
    static const char *const heads[] = {"NODE",  "STATE",     "ROUND-TRIP",
                                        "CLOCK", "REGISTERS", "WHY"};
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
        cli_table_text(&table, registers_name(node->registers));
        add_cell(&table, node, put_why);
    }
    status = cli_table_print(&table, stdout);
    cli_table_free(&table);
    return status;
}

/* ---- status -------------------------------------------------------------- */

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

static int quorum_status(const struct cli_args *args, ilk_client *client)
{
    struct nodes nodes;

    settle(client, &nodes);
    return show(args, &nodes);
}

/* ---- adopt --------------------------------------------------------------- */

struct adoption {
    const char *address;
    int64_t timeout_ms;
    ilk_client *client;
    size_t index;
    ilk_node_stats node;
};

static void read_node(struct adoption *adoption)
{
    adoption->node.size = sizeof adoption->node;
    ilk_client_get_node_stats(adoption->client, adoption->index,
                              &adoption->node, NULL);
}

static int find_node(struct adoption *adoption)
{
    for (adoption->index = 0; adoption->index < NODES_MAX; adoption->index++) {
        adoption->node.address[0] = '\0';
        read_node(adoption);
        if (!adoption->node.address[0])
            return 0;
        if (strcmp(adoption->node.address, adoption->address) == 0)
            return 1;
    }
    return 0;
}

/* Returns when the node is taken in, or when nothing was copied for timeout_ms. */
static void await_end(struct adoption *adoption)
{
    int64_t copied = 0, last = cli_now_ms(), said = last;

    read_node(adoption);
    while (adoption->node.adopting
           && (adoption->timeout_ms < 0
               || cli_now_ms() - last < adoption->timeout_ms)) {
        poll(NULL, 0, LOOK_MS);
        read_node(adoption);
        if (adoption->node.copied == copied)
            continue;
        copied = adoption->node.copied;
        last = cli_now_ms();
        if (last - said >= PROGRESS_MS) {
            said = last;
            cli_say("%" PRId64 " copies of registers so far", copied);
        }
    }
}

static const char *why_not(const ilk_node_stats *node)
{
    if (node->registers_error[0])
        return node->registers_error;
    return node->error[0] ? node->error : "it has not replied yet";
}

static int print_end(const struct cli_args *args, const ilk_node_stats *node)
{
    struct cli_json json;

    if (args->json) {
        cli_json_begin(&json, "quorum", NULL);
        cli_json_text(&json, "address", node->address);
        cli_json_text(&json, "registers", registers_name(node->registers));
        cli_json_int(&json, "copied", node->copied);
        cli_json_text(&json, "registers_error", node->registers_error);
        cli_json_end(&json);
    }
    if (node->registers != ILK_REGISTERS_KEPT) {
        cli_say("%s is not taken in: %s", node->address, why_not(node));
        return node->adopting ? CLI_UNREACHABLE : CLI_FAILED;
    }
    if (!args->json)
        printf("%s keeps registers; it got %" PRId64 " copies\n", node->address,
               node->copied);
    return CLI_OK;
}

static int quorum_adopt(const struct cli_args *args, struct adoption *adoption)
{
    ilk_error err = {0, ""};
    ilk_status st;

    if (!find_node(adoption))
        return cli_usage(args, "the quorum has no node '%s'",
                         adoption->address);
    ilk_client_ping(adoption->client, -1, NULL);
    st = ilk_client_adopt_node(adoption->client, adoption->index, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    await_end(adoption);
    return print_end(args, &adoption->node);
}

/* ---- the command --------------------------------------------------------- */

static int open_quorum(const struct cli_args *args, ilk_client **client)
{
    ilk_error err = {0, ""};
    ilk_client_opts opts;
    struct nodes nodes;
    ilk_status st;

    if (!args->url && !getenv("INTERLOCK_URL"))
        return cli_usage(args, "which quorum? give its URL");
    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY | ILK_CLIENT_NO_EMBEDDED;
    st = ilk_client_open(client, args->url, &opts, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    read_nodes(*client, &nodes);
    if (nodes.count > 0)
        return CLI_OK;
    return cli_usage(args, "'%s' is no quorum", ilk_client_url(*client));
}

static int run(struct cli_args *args)
{
    struct adoption adoption = {.timeout_ms = ADOPT_MS};
    const char *value, *verb;
    int key, status;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status =
            cli_take_wait(args, "timeout", value, &adoption.timeout_ms);
        if (args->status != CLI_OK)
            return args->status;
    }
    if (key < 0)
        return args->status;
    verb = cli_args_word(args);
    if (!verb)
        return cli_usage(args, "status or adopt?");
    if (strcmp(verb, "status") != 0 && strcmp(verb, "adopt") != 0)
        return cli_usage(args, "status or adopt, not '%s'", verb);
    if (strcmp(verb, "adopt") == 0) {
        adoption.address = cli_args_word(args);
        if (!adoption.address)
            return cli_usage(args, "which node? give HOST:PORT as in its URL");
    }
    if (cli_args_done(args))
        return args->status;
    status = open_quorum(args, &adoption.client);
    if (status == CLI_OK)
        status = adoption.address ? quorum_adopt(args, &adoption)
                                  : quorum_status(args, adoption.client);
    ilk_client_free(adoption.client);
    return status;
}

const struct cli_command cli_quorum = {
    .name = "quorum",
    .synopsis = "status | adopt HOST:PORT",
    .summary =
        "Show the nodes of a quorum, or take in one that lost registers.",
    .about =
        "URL is redis://HOST,HOST,HOST?quorum. A node that waits was started\n"
        "or wiped, and may vote when no earlier lease can still run. CLOCK\n"
        "is how far its clock is ahead of this machine's. REGISTERS is "
        "`kept`,\n"
        "`none` in a quorum without any, `lost` after the node was wiped,\n"
        "`refused` if its settings may lose them, and `foreign` if they "
        "belong\n"
        "to another quorum. The exit status is 0 when a majority votes, else\n"
        "69.\n"
        "\n"
        "adopt gives a node that has lost its registers, or a blank one in "
        "its\n"
        "place, those of the others, and lets it take part again. They go on\n"
        "meanwhile. It is safe to stop, to repeat, and to run twice.\n",
    .options = options,
    .run = run,
};
