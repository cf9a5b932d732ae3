/* SPDX-License-Identifier: MIT */
/* queue.c -- `interlock queue`: put in, take out, look, clear. */
#include "queue.h"

#include <inttypes.h>
#include <string.h>

enum {
    KEY_TIMEOUT = CLI_KEY,
    KEY_LEASE,
    KEY_DELAY,
    KEY_ID,
    KEY_FILO,
    KEY_COUNT,
    KEY_REASON
};

static const struct cli_option options[] = {
    {"timeout", "TIME", "pop, reserve: wait so long; default 0", KEY_TIMEOUT,
     0},
    {"lease", "TIME", "reserve: how long the message is ours; default 30s",
     KEY_LEASE, 0},
    {"delay", "TIME", "push, nack: deliver it no earlier", KEY_DELAY, 0},
    {"id", "TEXT", "push: the same id again within 10m changes nothing", KEY_ID,
     0},
    {"filo", NULL, "the queue gives the newest first", KEY_FILO, 0},
    {"count", "N", "peek, dead, requeue: how many; default 10", KEY_COUNT, 0},
    {"reason", "TEXT", "bury: why", KEY_REASON, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

/* ---- putting in --------------------------------------------------------- */

static int push(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    struct cli_bytes data;
    struct cli_json json;
    int64_t id = 0;
    ilk_status st;
    int status = cli_payload_take(with->word ? with->word : "-",
                                  ILK_QUEUE_DATA_MAX, &data);

    if (status != CLI_OK)
        return status;
    st = ilk_queue_push(&id, with->queue, data.data, data.len, &with->push,
                        &err);
    cli_payload_free(&data);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (!with->args->json)
        return CLI_OK;
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    cli_json_bytes(&json, "queue", with->name);
    cli_json_int(&json, "id", id);
    cli_json_close(&json, '}');
    cli_json_end(&json);
    return CLI_OK;
}

/* ---- finishing ---------------------------------------------------------- */

static int settle(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    ilk_job *job = NULL;
    ilk_status st;

    if (!with->word)
        return cli_usage(with->args, "TOKEN is missing");
    st = ilk_job_adopt(&job, with->queue, with->word, strlen(with->word), &err);
    if (st == ILK_OK && strcmp(with->verb, "ack") == 0)
        st = ilk_job_ack(job, &err);
    else if (st == ILK_OK && strcmp(with->verb, "nack") == 0)
        st = ilk_job_nack(job, with->push.delay_ms, &err);
    else if (st == ILK_OK)
        st = ilk_job_bury(job, with->reason, strlen(with->reason), &err);
    ilk_job_free(job);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

/* ---- clearing ----------------------------------------------------------- */

static void print_count(struct cli_queue *with, int64_t count)
{
    struct cli_json json;

    if (!with->args->json) {
        printf("%" PRId64 "\n", count);
        return;
    }
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    cli_json_bytes(&json, "queue", with->name);
    cli_json_int(&json, "count", count);
    cli_json_close(&json, '}');
    cli_json_end(&json);
}

static int size(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    int64_t count = 0;
    ilk_status st = ilk_queue_size(&count, with->queue, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    print_count(with, count);
    return CLI_OK;
}

static int requeue(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    int64_t count = 0;
    ilk_status st =
        ilk_queue_requeue(&count, with->queue, 0, with->count, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    print_count(with, count);
    return CLI_OK;
}

/* What is thrown away is named: a slip of the keyboard should not do it. */
static int purge(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    int64_t count = 0;
    const char *what = with->word ? with->word : "";
    int32_t where = strcmp(what, "ready") == 0     ? ILK_QUEUE_READY
                    : strcmp(what, "delayed") == 0 ? ILK_QUEUE_DELAYED
                    : strcmp(what, "dead") == 0    ? ILK_QUEUE_DEAD
                                                   : 0;
    ilk_status st;

    if (strcmp(what, "all") == 0)
        where = ILK_QUEUE_READY | ILK_QUEUE_DELAYED | ILK_QUEUE_DEAD;
    if (!where)
        return cli_usage(with->args, "purge ready, delayed, dead or all?");
    st = ilk_queue_purge(&count, with->queue, where, &err);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    print_count(with, count);
    return CLI_OK;
}

/* ---- the command line --------------------------------------------------- */

static const struct verb {
    const char *name;
    int (*act)(struct cli_queue *with);
    int takes_word;
} verbs[] = {
    {"push", push, 1},
    {"pop", cli_queue_take, 0},
    {"reserve", cli_queue_take, 0},
    {"ack", settle, 1},
    {"nack", settle, 1},
    {"bury", settle, 1},
    {"len", size, 0},
    {"peek", cli_queue_peek, 0},
    {"dead", cli_queue_peek, 0},
    {"requeue", requeue, 0},
    {"purge", purge, 1},
    {"show", cli_queue_show, 0},
};

static const struct verb *find(const char *name)
{
    for (size_t i = 0; name && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static int take_option(struct cli_args *args, struct cli_queue *with, int key,
                       const char *value)
{
    switch (key) {
    case KEY_TIMEOUT:
        return cli_take_wait(args, "timeout", value, &with->timeout_ms);
    case KEY_LEASE:
        return cli_take_duration(args, "lease", value, 1, &with->lease_ms);
    case KEY_DELAY:
        return cli_take_duration(args, "delay", value, 0, &with->push.delay_ms);
    case KEY_COUNT:
        return cli_take_number(args, "count", value, 1, ILK_QUEUE_BATCH_MAX,
                               &with->count);
    case KEY_ID:
        with->push.once = value;
        with->push.once_len = strlen(value);
        return CLI_OK;
    case KEY_REASON: with->reason = value; return CLI_OK;
    default: with->opts.order = ILK_QUEUE_FILO; return CLI_OK;
    }
}

static int open_and_act(struct cli_queue *with, const struct verb *verb)
{
    ilk_error err = {0, ""};
    ilk_status st;
    int status = cli_signals_open();

    if (status == CLI_OK)
        status = cli_connect(with->args, &with->client);
    if (status != CLI_OK)
        return status;
    st = ilk_queue_open(&with->queue, with->client, with->name.data,
                        with->name.len, &with->opts, &err);
    status = st == ILK_OK ? verb->act(with) : cli_fail(st, &err);
    ilk_queue_free(with->queue);
    ilk_client_free(with->client);
    return status;
}

static int run(struct cli_args *args)
{
    struct cli_queue with = {.args = args, .count = 10, .reason = ""};
    const struct verb *verb;
    const char *value;
    int key;

    ilk_queue_opts_init(&with.opts, sizeof with.opts);
    ilk_push_opts_init(&with.push, sizeof with.push);
    while ((key = cli_args_next(args, &value)) > 0) {
        args->status = take_option(args, &with, key, value);
        if (args->status != CLI_OK)
            return args->status;
    }
    if (key < 0)
        return args->status;
    with.verb = cli_args_word(args);
    verb = find(with.verb);
    if (!verb)
        return cli_usage(args, "push, pop, reserve, ack, nack, bury, len, "
                               "peek, dead, requeue, purge or show?");
    if (cli_args_name(args, cli_args_word(args), &with.name))
        return args->status;
    with.word = verb->takes_word ? cli_args_word(args) : NULL;
    if (cli_args_done(args))
        return args->status;
    return open_and_act(&with, verb);
}

const struct cli_command cli_queue = {
    .name = "queue",
    .synopsis = "VERB NAME [ARG]",
    .summary = "Push to the queue NAME, take from it, look at it.",
    .about =
        "push NAME [DATA]      put DATA, or standard input, into the queue\n"
        "pop NAME              take a message for good and print it\n"
        "reserve NAME          take it under a lease; --json tells its token\n"
        "ack|nack|bury NAME TOKEN  done; give it back; put it to the dead\n"
        "len|show NAME         how many could be taken; all counts\n"
        "peek|dead NAME        print messages and leave them there\n"
        "requeue NAME          put dead messages back\n"
        "purge NAME ready|delayed|dead|all\n"
        "\n"
        "The status is 75 when there was no message in time.\n",
    .options = options,
    .run = run,
};
