/* SPDX-License-Identifier: MIT */
/* queue.c -- `interlock queue`: its verbs; finishing and clearing. */
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
    KEY_REASON,
    KEY_LINES,
    KEY_JOBS,
    KEY_ATTEMPTS,
    KEY_BACKOFF,
    KEY_KILL_AFTER,
    KEY_NO_DESCENDANTS
};

enum { JOBS_MAX = 256, ATTEMPTS_MAX = 1000000 };

static const struct cli_option options[] = {
    {"timeout", "TIME", "pop, reserve: wait so long; default 0", KEY_TIMEOUT,
     0},
    {"lease", "TIME", "reserve: the lease of the message; default 30s",
     KEY_LEASE, 0},
    {"delay", "TIME", "push, nack: deliver it no earlier", KEY_DELAY, 0},
    {"id", "TEXT", "push: the same id again within 10m changes nothing", KEY_ID,
     0},
    {"filo", NULL, "the queue gives the newest first", KEY_FILO, 0},
    {"count", "N", "peek, dead, requeue: how many; default 10", KEY_COUNT, 0},
    {"reason", "TEXT", "bury: why", KEY_REASON, 0},
    {"lines", NULL, "push: each line of standard input is a message", KEY_LINES,
     0},
    {"jobs", "N", "work: so many CMDs at a time; default 1", KEY_JOBS, 'j'},
    {"attempts", "N", "work: dead after so many failures; default 25",
     KEY_ATTEMPTS, 0},
    {"backoff", "TIME", "work: pause after a failure, doubled; default 1s",
     KEY_BACKOFF, 0},
    {"kill-after", "TIME", "work: from TERM to KILL; default 5s",
     KEY_KILL_AFTER, 0},
    {"no-descendants", NULL, "work: only CMD, not what it starts",
     KEY_NO_DESCENDANTS, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

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
    cli_json_begin(&json, "queue", &with->name);
    cli_json_int(&json, "count", count);
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

/* Say that requeue has left some. It has done its work even if this fails. */
static void note_the_dead(struct cli_queue *with)
{
    ilk_queue_info *info = NULL;
    int64_t dead = 0;

    if (ilk_queue_inspect(&info, with->queue, NULL) == ILK_OK)
        dead = ilk_queue_info_get(info, ILK_QUEUE_N_DEAD);
    ilk_queue_info_free(info);
    if (dead > 0)
        cli_note("%" PRId64 " messages are still dead; --count says how many "
                 "become ready again",
                 dead);
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
    note_the_dead(with);
    return CLI_OK;
}

/* Requires the word `ready`, `delayed`, `dead` or `all`, so that a mistyped
   command removes nothing. */
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
    {"push", cli_queue_push, 1},
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
    {"work", cli_queue_work, 0},
};

static const struct verb *find(const char *name)
{
    for (size_t i = 0; name && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static int take_attempts(struct cli_args *args, struct cli_queue *with,
                         const char *value)
{
    int64_t attempts = 0;
    int status =
        cli_take_number(args, "attempts", value, 1, ATTEMPTS_MAX, &attempts);

    with->opts.max_attempts = (int32_t)attempts;
    return status;
}

static int take_option(struct cli_args *args, struct cli_queue *with, int key,
                       const char *value)
{
    switch (key) {
    case KEY_TIMEOUT:
        with->waits = 1;
        return cli_take_wait(args, "timeout", value, &with->timeout_ms);
    case KEY_LEASE:
        return cli_take_lease(args, "lease", value, &with->lease_ms);
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
    case KEY_LINES: with->lines = 1; return CLI_OK;
    case KEY_JOBS:
        return cli_take_number(args, "jobs", value, 1, JOBS_MAX, &with->jobs);
    case KEY_ATTEMPTS: return take_attempts(args, with, value);
    case KEY_BACKOFF:
        return cli_take_duration(args, "backoff", value, 1, &with->backoff_ms);
    case KEY_KILL_AFTER:
        return cli_take_duration(args, "kill-after", value, 0,
                                 &with->kill_after_ms);
    case KEY_NO_DESCENDANTS: with->alone = 1; return CLI_OK;
    default: with->opts.order = ILK_QUEUE_FILO; return CLI_OK;
    }
}

static int open_and_act(struct cli_queue *with, const struct verb *verb)
{
    ilk_error err = {0, ""};
    ilk_status st;
    int status = cli_signals_open();

    if (status == CLI_OK)
        status =
            cli_connect_to_wait(with->args, with->timeout_ms, &with->client);
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
    struct cli_queue with = {.args = args,
                             .count = 10,
                             .reason = "",
                             .jobs = 1,
                             .backoff_ms = 1000,
                             .kill_after_ms = 5000};
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
                               "peek, dead, requeue, purge, show or work?");
    if (cli_args_name(args, cli_args_word(args), &with.name))
        return args->status;
    with.word = verb->takes_word ? cli_args_word(args) : NULL;
    if (verb->act == cli_queue_work) {
        with.argv = cli_args_rest(args);
        with.opts.flags |= ILK_QUEUE_RENEW;
        if (!with.argv)
            return cli_usage(args, "CMD is missing, behind '--'");
    } else if (cli_args_done(args)) {
        return args->status;
    }
    return open_and_act(&with, verb);
}

const struct cli_command cli_queue = {
    .name = "queue",
    .synopsis = "VERB NAME [ARG]",
    .summary = "Push to the queue NAME, take from it, look at it.",
    .about =
        "push NAME [DATA]      put DATA, or standard input, into the queue\n"
        "work NAME -- CMD      run CMD for each message, see below\n"
        "pop NAME              remove a message and print it\n"
        "reserve NAME          take it under a lease; --json has its token\n"
        "ack|nack|bury NAME TOKEN  finish it; give it back; make it dead\n"
        "len|show NAME         number of ready messages; all counts\n"
        "peek|dead NAME        print ready or dead messages, keep them\n"
        "requeue NAME          make dead messages ready again\n"
        "purge NAME ready|delayed|dead|all   remove messages\n"
        "\n"
        "The status is 75 when there was no message in time.\n"
        "\n"
        "work: CMD has the message on its standard input, and its number,\n"
        "attempt and token in INTERLOCK_ID, INTERLOCK_ATTEMPT and\n"
        "INTERLOCK_TOKEN. When it exits with 0 the message is done. Else it\n"
        "is delivered again after a pause, or is dead after --attempts. The\n"
        "first TERM lets the running CMDs complete, a second one ends them.\n"
        "With --timeout it ends when no message came for so long.\n",
    .options = options,
    .run = run,
};
