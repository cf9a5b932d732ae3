/* SPDX-License-Identifier: MIT */
/* kv.c -- `interlock kv`: values of which the newest wins. `interlock kv move`: put
 * them where they belong, after a change of servers. */
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_FAST = CLI_KEY, KEY_RATE, KEY_RESUME };

enum {
    RATE = 1000,
    RATE_MOST = 1000000,
    PROGRESS_MS = 1000,
    WORD_MAX = 160 /* a progress as one word */
};

static const struct cli_option options[] = {
    {"fast", NULL, "put, delete: do not read versions first", KEY_FAST, 0},
    {"rate", "N", "move: so many records in a second; default 1000", KEY_RATE,
     0},
    {"resume", "WORD", "move: go on where another one has stopped", KEY_RESUME,
     0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct with {
    const struct verb *verb;
    struct cli_bytes name, key, value;
    uint32_t flags;
    ilk_kv_progress at;
    int64_t rate;
    ilk_client *client;
    ilk_kv *handle;
};

struct verb {
    const char *name;
    int (*run)(const struct cli_args *args, struct with *with);
    int takes_key, takes_value;
};

/* ---- put, get, delete ---------------------------------------------------- */

static void begin_json(struct cli_json *json, const struct with *with,
                       int64_t version)
{
    cli_json_begin(json, "kv", &with->name);
    cli_json_bytes(json, "key", with->key);
    cli_json_int(json, "version", version);
}

static int print_version(const struct cli_args *args, const struct with *with,
                         int64_t version)
{
    struct cli_json json;

    if (!args->json) {
        printf("%" PRId64 "\n", version);
        return CLI_OK;
    }
    begin_json(&json, with, version);
    cli_json_end(&json);
    return CLI_OK;
}

static int put(const struct cli_args *args, struct with *with)
{
    ilk_error err = {0, ""};
    int64_t version;
    ilk_status st = ilk_kv_put(with->handle, with->key.data, with->key.len,
                               with->value.data, with->value.len, with->flags,
                               &version, &err);

    return st == ILK_OK ? print_version(args, with, version)
                        : cli_fail(st, &err);
}

static int delete_key(const struct cli_args *args, struct with *with)
{
    ilk_error err = {0, ""};
    int64_t version;
    ilk_status st = ilk_kv_delete(with->handle, with->key.data, with->key.len,
                                  with->flags, &version, &err);

    return st == ILK_OK ? print_version(args, with, version)
                        : cli_fail(st, &err);
}

static void print_entry(const struct cli_args *args, const struct with *with,
                        const ilk_kv_entry *entry)
{
    struct cli_json json;
    struct cli_bytes value;

    value.data = ilk_kv_entry_value(entry, &value.len);
    if (!args->json) {
        if (entry)
            cli_payload_put(value);
        return;
    }
    begin_json(&json, with, ilk_kv_entry_version(entry));
    if (entry) {
        cli_json_bytes(&json, "value", value);
    } else {
        cli_json_null(&json, "value");
        cli_json_null(&json, "value_hex");
    }
    cli_json_end(&json);
}

static int get(const struct cli_args *args, struct with *with)
{
    ilk_error err = {0, ""};
    ilk_kv_entry *entry;
    ilk_status st =
        ilk_kv_get(&entry, with->handle, with->key.data, with->key.len, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    print_entry(args, with, entry);
    ilk_kv_entry_free(entry);
    if (entry)
        return CLI_OK;
    cli_note("there is no value");
    return CLI_FAILED;
}

/* ---- move ---------------------------------------------------------------- */

/* SERVER,LOOKED,COPIED,REMOVED,CURSOR,PASS */
static void write_word(char word[WORD_MAX], const ilk_kv_progress *at)
{
    snprintf(word, WORD_MAX,
             "%" PRId32 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s",
             at->server, at->looked, at->copied, at->removed, at->cursor,
             at->pass_id);
}

#define COUNT_MOST (INT64_MAX / 2)

/* The text up to the next comma, or the rest without one. 0: there is no comma or
   no room. */
static int take_text(const char **rest, char *out, size_t room, int is_last)
{
    size_t len = strcspn(*rest, ",");

    if (len >= room || ((*rest)[len] == ',') == is_last)
        return 0;
    memcpy(out, *rest, len);
    out[len] = '\0';
    *rest += len + !is_last;
    return 1;
}

static int take_count(const char **rest, int64_t most, int64_t *out)
{
    char digits[20];

    if (!take_text(rest, digits, sizeof digits, 0) || !digits[0]
        || strspn(digits, "0123456789") != strlen(digits))
        return 0;
    *out = strtoll(digits, NULL, 10);
    return *out <= most;
}

/* The other way; 0 for a text that write_word() would not write. */
static int read_word(const char *word, ilk_kv_progress *at)
{
    int64_t server = 0;

    if (!take_count(&word, INT32_MAX, &server)
        || !take_count(&word, COUNT_MOST, &at->looked)
        || !take_count(&word, COUNT_MOST, &at->copied)
        || !take_count(&word, COUNT_MOST, &at->removed)
        || !take_text(&word, at->cursor, sizeof at->cursor, 0)
        || !take_text(&word, at->pass_id, sizeof at->pass_id, 1))
        return 0;
    at->server = (int32_t)server;
    return 1;
}

static void print_json(const ilk_kv_progress *at)
{
    struct cli_json json;
    char word[WORD_MAX];

    write_word(word, at);
    cli_json_begin(&json, "kv", NULL);
    cli_json_int(&json, "servers", at->servers);
    cli_json_int(&json, "looked", at->looked);
    cli_json_int(&json, "copied", at->copied);
    cli_json_int(&json, "removed", at->removed);
    if (at->is_done)
        cli_json_null(&json, "resume");
    else
        cli_json_text(&json, "resume", word);
    cli_json_end(&json);
}

static int stopped(const struct cli_args *args, const ilk_kv_progress *at,
                   int status)
{
    char word[WORD_MAX];

    write_word(word, at);
    if (args->json)
        print_json(at);
    else
        cli_say("go on there with --resume %s", word);
    return status;
}

/* Print the progress each second, for people who wait. */
static void show_progress(const ilk_kv_progress *at, int64_t *shown_at)
{
    if (!isatty(STDERR_FILENO) || cli_now_ms() - *shown_at < PROGRESS_MS)
        return;
    *shown_at = cli_now_ms();
    cli_note("server %" PRId32 " of %" PRId32 ": %" PRId64
             " records found so far, %" PRId64 " copied, %" PRId64 " removed",
             at->server + 1, at->servers, at->looked, at->copied, at->removed);
}

/* A step, and the pause that keeps the rate. */
static ilk_status move_on(struct with *with, ilk_error *err)
{
    const int64_t began = cli_now_ms(), looked = with->at.looked;
    ilk_status st = ilk_kv_move(with->client, &with->at, err);

    if (st == ILK_OK && !with->at.is_done)
        cli_signals_pause((with->at.looked - looked) * 1000 / with->rate
                          - (cli_now_ms() - began));
    return st;
}

static int move(const struct cli_args *args, struct with *with)
{
    int64_t shown_at = cli_now_ms();
    ilk_kv_progress *at = &with->at;

    while (!at->is_done && !cli_signals_ending()) {
        ilk_error err = {0, ""};
        ilk_status st = move_on(with, &err);

        if (st != ILK_OK)
            return stopped(args, at, cli_fail(st, &err));
        show_progress(at, &shown_at);
    }
    if (!at->is_done)
        return stopped(args, at, cli_signals_status(cli_signals_ending()));
    if (args->json)
        print_json(at);
    else
        printf("%" PRId64 " records found, %" PRId64 " copied, %" PRId64
               " removed\n",
               at->looked, at->copied, at->removed);
    return CLI_OK;
}

/* ---- the command --------------------------------------------------------- */

static const struct verb verbs[] = {
    {"put", put, 1, 1},
    {"get", get, 1, 0},
    {"delete", delete_key, 1, 0},
    {"move", move, 0, 0},
};

static const struct verb *find_verb(const char *word)
{
    for (size_t i = 0; word && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].name, word) == 0)
            return &verbs[i];
    return NULL;
}

static int open_handle(struct with *with)
{
    ilk_error err = {0, ""};
    ilk_status st;

    if (!with->verb->takes_key)
        return CLI_OK;
    st = ilk_kv_open(&with->handle, with->client, with->name.data,
                     with->name.len, &err);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

static int open_and_run(const struct cli_args *args, struct with *with)
{
    int status = with->verb->run == move ? cli_signals_open() : CLI_OK;

    if (status == CLI_OK)
        status = cli_connect(args, &with->client);
    if (status == CLI_OK)
        status = open_handle(with);
    if (status == CLI_OK)
        status = with->verb->run(args, with);
    ilk_kv_free(with->handle);
    ilk_client_free(with->client);
    return status;
}

static int take_words(struct cli_args *args, struct with *with)
{
    const char *word = NULL;

    with->verb = find_verb(cli_args_word(args));
    if (!with->verb)
        return cli_usage(args, "put, get, delete or move?");
    if (with->verb->takes_key
        && (cli_args_name(args, cli_args_word(args), &with->name)
            || cli_args_bytes(args, cli_args_word(args), "KEY", &with->key)))
        return args->status;
    if (with->verb->takes_value)
        word = cli_args_word(args);
    if (cli_args_done(args))
        return args->status;
    if (!with->verb->takes_value)
        return CLI_OK;
    return cli_payload_take(word ? word : "-", ILK_KV_VALUE_MAX, &with->value);
}

static int take_option(struct cli_args *args, int key, const char *value,
                       struct with *with)
{
    if (key == KEY_RATE)
        return cli_take_number(args, "rate", value, 1, RATE_MOST, &with->rate);
    if (key == KEY_FAST)
        with->flags = ILK_KV_FAST;
    else if (!read_word(value, &with->at))
        return cli_usage(args, "--resume takes a word of 'kv move', got '%s'",
                         value);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    struct with with = {.at.size = sizeof with.at, .rate = RATE};
    const char *value;
    int key, status;

    while ((key = cli_args_next(args, &value)) > 0) {
        args->status = take_option(args, key, value, &with);
        if (args->status != CLI_OK)
            return args->status;
    }
    if (key < 0)
        return args->status;
    status = take_words(args, &with);
    if (status != CLI_OK)
        return status;
    status = open_and_run(args, &with);
    cli_payload_free(&with.value);
    return status;
}

const struct cli_command cli_kv = {
    .name = "kv",
    .synopsis = "put|get|delete NAME KEY [VALUE] | move",
    .summary = "Values of which the newest wins, also on several servers.",
    .about =
        "'put' reads VALUE from standard input if it is '-' or missing, and\n"
        "prints the new version, as 'delete' does; 'get' prints the value. "
        "The\n"
        "status is 1 when there is none. With --hex NAME and KEY are written "
        "in\n"
        "hexadecimal.\n"
        "\n"
        "'move' puts the values of all names where they belong, after a "
        "change\n"
        "of the servers in URL (redis://HOST,HOST,HOST?ring). Gets and puts "
        "go\n"
        "on meanwhile. When it is stopped, or a server cannot be reached, it\n"
        "prints a word; 'kv move --resume WORD' goes on there. It is safe to\n"
        "repeat, and to run twice.\n",
    .options = options,
    .run = run,
};
