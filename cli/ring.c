/* SPDX-License-Identifier: MIT */
/* ring.c -- `interlock ring`: the nodes of keys, by consistent hashing. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_LAYOUT = CLI_KEY, KEY_WEIGHTS, KEY_SHARES, KEY_COPIES };

static const struct cli_option options[] = {
    {"layout", "LAYOUT", "ketama (default) or tooz", KEY_LAYOUT, 0},
    {"weights", "WEIGHTS", "of the nodes in turn, as in 3,1,1; default 1",
     KEY_WEIGHTS, 0},
    {"shares", NULL, "points by libketama's formula", KEY_SHARES, 0},
    {"copies", "N", "print N different nodes for each key", KEY_COPIES, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct ring {
    const void **names; /* room for all words of the command line */
    size_t *lens;
    int64_t *weights;
    size_t count;
    const char *weights_text; /* NULL: all are 1 */
    ilk_ring_opts opts;
    int64_t copies;
    ilk_ring *handle;
    int32_t *found;
};

/* ---- output -------------------------------------------------------------- */

static struct cli_bytes node_at(const struct ring *ring, int64_t i)
{
    struct cli_bytes name;

    name.data = ilk_ring_node(ring->handle, ring->found[i], &name.len);
    return name;
}

static void print_json(const struct ring *ring, const char *key)
{
    struct cli_json json;
    int64_t i;

    cli_json_begin(&json, "ring", NULL);
    cli_json_bytes(&json, "key", (struct cli_bytes){key, strlen(key)});
    cli_json_open(&json, "nodes", '[');
    for (i = 0; i < ring->copies; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_bytes(&json, "node", node_at(ring, i));
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_end(&json);
}

/* A line for each key, so that a script need not take it apart. */
static void print_text(const struct ring *ring)
{
    int64_t i;

    for (i = 0; i < ring->copies; i++) {
        struct cli_bytes name = node_at(ring, i);

        if (i > 0)
            putchar('\t');
        cli_put_text(stdout, name.data, name.len);
    }
    putchar('\n');
}

static int print_keys(const struct cli_args *args, const struct ring *ring,
                      char *const *keys)
{
    ilk_error err = {0, ""};
    ilk_status st = ILK_OK;

    for (; *keys && st == ILK_OK; keys++) {
        st = ilk_ring_get_n(ring->found, (size_t)ring->copies, ring->handle,
                            *keys, strlen(*keys), &err);
        if (st == ILK_OK && args->json)
            print_json(ring, *keys);
        else if (st == ILK_OK)
            print_text(ring);
    }
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

/* ---- arguments ----------------------------------------------------------- */

static int take_layout(const struct cli_args *args, struct ring *ring,
                       const char *value)
{
    if (strcmp(value, "ketama") == 0)
        ring->opts.layout = ILK_RING_KETAMA;
    else if (strcmp(value, "tooz") == 0)
        ring->opts.layout = ILK_RING_TOOZ;
    else
        return cli_usage(args, "--layout must be ketama or tooz, got '%s'",
                         value);
    return CLI_OK;
}

static int take_option(const struct cli_args *args, struct ring *ring, int key,
                       const char *value)
{
    switch (key) {
    case KEY_LAYOUT: return take_layout(args, ring, value);
    case KEY_WEIGHTS: ring->weights_text = value; return CLI_OK;
    case KEY_SHARES: ring->opts.flags |= ILK_RING_SHARES; return CLI_OK;
    default:
        return cli_take_number(args, "copies", value, 1, ILK_RING_POINTS_MAX,
                               &ring->copies);
    }
}

/* Options stand among the nodes, up to `--`; behind it all words are keys. */
static int take_nodes(struct cli_args *args, struct ring *ring)
{
    const char *value;
    char *word;
    int key;

    for (;;) {
        while ((key = cli_args_next(args, &value)) > 0) {
            args->status = take_option(args, ring, key, value);
            if (args->status != CLI_OK)
                return -1;
        }
        if (key < 0)
            return -1;
        if (cli_args_ended(args) || !(word = cli_args_word(args)))
            return 0;
        ring->names[ring->count] = word;
        ring->lens[ring->count++] = strlen(word);
    }
}

/* One weight for each node. An option has them, because a node's name may contain
   any character. */
static int take_weights(const struct cli_args *args, struct ring *ring)
{
    const char *at = ring->weights_text;
    size_t taken = 0;

    while (at && taken < ring->count) {
        size_t digits = strspn(at, "0123456789");
        int64_t weight = digits > 0 && digits < 8 ? strtoll(at, NULL, 10) : 0;

        if (weight < 1 || weight > ILK_RING_WEIGHT_MAX)
            break;
        ring->weights[taken++] = weight;
        at += digits;
        if (*at != ',')
            break;
        at++;
    }
    if (!at || (taken == ring->count && *at == '\0' && at[-1] != ','))
        return CLI_OK;
    return cli_usage(args,
                     "--weights must be %zu numbers from 1 to %d, one for each "
                     "NODE, got '%s'",
                     ring->count, ILK_RING_WEIGHT_MAX, ring->weights_text);
}

/* ---- the command --------------------------------------------------------- */

static int find(const struct cli_args *args, struct ring *ring,
                char *const *keys)
{
    ilk_error err = {0, ""};
    ilk_status st = ilk_ring_new(&ring->handle, &ring->opts, &err);

    if (st == ILK_OK)
        st = ilk_ring_add_many(ring->handle, ring->names, ring->lens,
                               ring->count,
                               ring->weights_text ? ring->weights : NULL, &err);
    return st == ILK_OK ? print_keys(args, ring, keys) : cli_fail(st, &err);
}

static int look_up(struct cli_args *args, struct ring *ring)
{
    char *const *keys;

    if (take_nodes(args, ring) != 0)
        return args->status;
    keys = cli_args_rest(args);
    if (ring->count == 0)
        return cli_usage(args, "NODE is missing");
    if (!keys)
        return cli_usage(args, "KEY is missing: keys stand behind '--'");
    if (ring->opts.flags && ring->opts.layout != ILK_RING_KETAMA)
        return cli_usage(args, "--shares needs --layout ketama");
    if (take_weights(args, ring) != CLI_OK)
        return CLI_USAGE;
    ring->found = calloc((size_t)ring->copies, sizeof *ring->found);
    if (!ring->found)
        return cli_fail(ILK_ENOMEM, &(ilk_error){0, ""});
    return find(args, ring, keys);
}

static int run(struct cli_args *args)
{
    struct ring ring = {.copies = 1};
    const size_t room = (size_t)args->argc;
    int status;

    ilk_ring_opts_init(&ring.opts, sizeof ring.opts);
    ring.names = calloc(room, sizeof *ring.names);
    ring.lens = calloc(room, sizeof *ring.lens);
    ring.weights = calloc(room, sizeof *ring.weights);
    if (ring.names && ring.lens && ring.weights)
        status = look_up(args, &ring);
    else
        status = cli_fail(ILK_ENOMEM, &(ilk_error){0, ""});
    ilk_ring_free(ring.handle);
    free(ring.found);
    free(ring.weights);
    free(ring.lens);
    free(ring.names);
    return status;
}

const struct cli_command cli_ring = {
    .name = "ring",
    .synopsis = "NODE... -- KEY...",
    .summary = "Find the nodes of keys by consistent hashing.",
    .about =
        "It prints a line for each KEY: its node, or its N nodes with a tab\n"
        "between them. All programs that have the same nodes find the same.\n"
        "It needs no server; --url is accepted and not used.\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
