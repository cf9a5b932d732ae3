/* SPDX-License-Identifier: MIT */
/*
 * break.c -- `interlock break`: take away what somebody holds.
 *
 * The holds of a lock and the term of a leader are broken by one command each. The
 * permits of a semaphore are taken over under the token of each holder and released, so
 * its waiters get them. The open round of a barrier is broken for all who wait in it.
 *
 * A lock lies at its bare name, where a program may have data of its own. So
 * the command deletes what looks like no lock of a library with --foreign only. It looks
 * first, and then breaks each hold that it has seen by its token: a later holder, or later
 * data, is left alone.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_TOKEN = CLI_KEY, KEY_KIND, KEY_FOREIGN };

static const struct cli_option options[] = {
    {"kind", "KIND", "lock, semaphore, election, barrier", KEY_KIND, 0},
    {"token", "TOKEN", "only what is held under this token", KEY_TOKEN, 0},
    {"foreign", NULL, "also delete a value that is no lock we know",
     KEY_FOREIGN, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct breaking {
    const struct cli_args *args;
    ilk_client *client;
    struct cli_bytes name;
    const char *token; /* NULL: anybody's */
    int foreign;
};

/* ---- how each kind is broken -------------------------------------------- */

static int is_uuid(const char *text)
{
    return strspn(text, "0123456789abcdefABCDEF-") == 36 && text[8] == '-'
           && text[13] == '-' && text[18] == '-' && text[23] == '-';
}

/* The values of redis-py and node-redlock; redsync and python-redis-lock;
   redlock-rb; redlock-py. docs/interop.md has them. */
static int is_token_of_a_library(const char *text)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/-_";
    const size_t len = strlen(text), letters = strspn(text, base64);

    return (len == 32 && strspn(text, "0123456789abcdef") == 32)
           || (len == 24 && letters == 22 && strcmp(text + 22, "==") == 0)
           || (len == 22 && letters == 22) || (len == 36 && is_uuid(text));
}

/* A Redisson holder: a UUID and the number of a thread. */
static int is_redisson_holder(const char *text)
{
    return strlen(text) > 37 && is_uuid(text) && text[36] == ':'
           && strspn(text + 37, "0123456789") == strlen(text + 37);
}

/* Whether a lock's value is that of a library. A library's lock has an expiry. */
static int is_lock(const ilk_info *info)
{
    const char *token = ilk_info_holder_token(info, 0);

    switch (ilk_info_get_state(info)) {
    case ILK_INFO_FOREIGN:
        return token && ilk_info_ttl_ms(info) >= 0
               && is_token_of_a_library(token);
    case ILK_INFO_REDISSON:
        return token && ilk_info_ttl_ms(info) >= 0 && is_redisson_holder(token);
    default: return 1;
    }
}

static ilk_status refuse_data(const ilk_info *info, ilk_error *err)
{
    const char *token = ilk_info_holder_token(info, 0);
    char *shown = cli_text(token ? token : "", token ? strlen(token) : 0);

    snprintf(err->msg, sizeof err->msg,
             "the key has \"%.60s\", which is no lock of ours or of a library "
             "that we know; --foreign deletes it",
             shown ? shown : "");
    free(shown);
    return ILK_ETYPE;
}

static ilk_status nobody(const char *what, ilk_error *err)
{
    snprintf(err->msg, sizeof err->msg, "%s", what);
    return ILK_ENOTOWNER;
}

/* The hold of one token; `info` has been found of the name. */
typedef ilk_status end_one(struct breaking *with, const ilk_info *info,
                           struct cli_bytes token, ilk_error *err);

/* A value that another program has written may have any bytes. */
static struct cli_bytes token_at(const ilk_info *info, size_t index)
{
    struct cli_bytes token;

    if (index == 0) {
        token.data = ilk_info_holder(info, &token.len);
        return token;
    }
    token.data = ilk_info_holder_token(info, index);
    token.len = strlen(token.data);
    return token;
}

/*
 * End the hold that is meant, or all that `info` has found. Each is named by its token,
 * so what holds by now, or was written since then, is left alone.
 */
static ilk_status end_holds(struct breaking *with, const ilk_info *info,
                            end_one *end, ilk_error *err)
{
    size_t listed = (size_t)ilk_info_holders_listed(info), broken = 0;
    ilk_status st = ILK_OK;

    if (with->token)
        return end(
            with, info,
            (struct cli_bytes){.data = with->token, .len = strlen(with->token)},
            err);
    if (!listed)
        return nobody("nobody holds it", err);
    for (size_t i = 0; i < listed; i++) {
        st = end(with, info, token_at(info, i), err);
        if (st != ILK_OK
            && st != ILK_ENOTOWNER) /* one that is gone is no fault */
            return st;
        broken += st == ILK_OK;
    }
    return broken
               ? ILK_OK
               : nobody("its holder has changed since it was looked at", err);
}

static ilk_status end_lock(struct breaking *with, const ilk_info *info,
                           struct cli_bytes token, ilk_error *err)
{
    (void)info;
    return ilk_lock_break(with->client, with->name.data, with->name.len,
                          token.data, token.len, err);
}

static ilk_status break_lock(struct breaking *with, const ilk_info *info,
                             ilk_error *err)
{
    if (!with->foreign && !with->token && !is_lock(info))
        return refuse_data(info, err);
    return end_holds(with, info, end_lock, err);
}

static ilk_status end_term(struct breaking *with, const ilk_info *info,
                           struct cli_bytes token, ilk_error *err)
{
    (void)info;
    return ilk_election_break(with->client, with->name.data, with->name.len,
                              token.data, token.len, err);
}

static ilk_status break_election(struct breaking *with, const ilk_info *info,
                                 ilk_error *err)
{
    return end_holds(with, info, end_term, err);
}

/* The permits of the hold come with it. */
static ilk_status end_permits(struct breaking *with, const ilk_info *info,
                              struct cli_bytes token, ilk_error *err)
{
    ilk_semaphore_opts opts;
    ilk_semaphore *semaphore = NULL;
    ilk_status st;

    if (ilk_info_limit(info) < 1)
        return nobody("nobody has a permit", err);
    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.flags = ILK_SEMAPHORE_NO_RENEW;
    st = ilk_semaphore_open(&semaphore, with->client, with->name.data,
                            with->name.len, (int32_t)ilk_info_limit(info),
                            &opts, err);
    if (st == ILK_OK)
        st = ilk_semaphore_adopt(semaphore, token.data, token.len, err);
    if (st == ILK_OK)
        st = ilk_semaphore_release(semaphore, err);
    ilk_semaphore_free(semaphore);
    return st == ILK_ELOST ? nobody("not held under that token", err) : st;
}

static ilk_status break_semaphore(struct breaking *with, const ilk_info *info,
                                  ilk_error *err)
{
    return end_holds(with, info, end_permits, err);
}

static ilk_status break_barrier(struct breaking *with, const ilk_info *info,
                                ilk_error *err)
{
    ilk_barrier *barrier = NULL;
    int64_t parties = 0, waiting = 0;
    ilk_status st = ilk_barrier_inspect(
        with->client, with->name.data, with->name.len, &parties, &waiting, err);

    (void)info;
    if (st == ILK_OK && waiting == 0)
        return nobody("nobody waits in an open round", err);
    if (st == ILK_OK)
        st = ilk_barrier_open(&barrier, with->client, with->name.data,
                              with->name.len, (int32_t)parties, NULL, err);
    if (st == ILK_OK)
        st = ilk_barrier_reset(barrier, err);
    ilk_barrier_free(barrier);
    return st;
}

static const struct kind {
    const char *name, *said;
    ilk_status (*end)(struct breaking *with, const ilk_info *info,
                      ilk_error *err);
    int has_tokens;
    int32_t bit;
} kinds[] = {
    {"lock", "broken; its former holder's fence is stale", break_lock, 1,
     ILK_KIND_LOCK},
    {"semaphore", "broken; the fences of its former holders are stale",
     break_semaphore, 1, ILK_KIND_SEMAPHORE},
    {"election", "broken; the term of its former leader is over",
     break_election, 1, ILK_KIND_ELECTION},
    {"barrier", "broken; its waiters end with an error", break_barrier, 0,
     ILK_KIND_BARRIER},
};

static const struct kind *find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- the command -------------------------------------------------------- */

static void print_json(const struct kind *kind, struct cli_bytes name,
                       int broken)
{
    struct cli_json json;

    cli_json_begin(&json, kind->name, &name);
    cli_json_bool(&json, "broken", broken);
    cli_json_end(&json);
}

static ilk_status look(struct breaking *with, const struct kind *kind,
                       ilk_info **out, ilk_error *err)
{
    return ilk_inspect_kind(out, with->client, kind->bit, with->name.data,
                            with->name.len, err);
}

/* Somebody holds the name as this kind, or waits in an open round. */
static int is_held(const struct kind *kind, const ilk_info *info)
{
    return ilk_info_holders(info) > 0
           || (kind->bit == ILK_KIND_BARRIER && ilk_info_waiters(info) > 0);
}

/* Without --kind: the only kind that is held, with what was found of it; or else the lock,
 * without. NULL: there are several. */
static const struct kind *find_held(struct breaking *with, ilk_info **out)
{
    const struct kind *found = NULL;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        ilk_info *info = NULL;

        if ((with->token && !kinds[i].has_tokens)
            || look(with, &kinds[i], &info, NULL) != ILK_OK
            || !is_held(&kinds[i], info)) {
            ilk_info_free(info);
            continue;
        }
        if (found) {
            ilk_info_free(info);
            return NULL;
        }
        found = &kinds[i];
        *out = info;
    }
    return found ? found : &kinds[0];
}

/* info: NULL if it was not looked at yet. */
static int end_kind(struct breaking *with, const struct kind *kind,
                    ilk_info **info)
{
    ilk_error err = {0, ""};
    ilk_status st = *info ? ILK_OK : look(with, kind, info, &err);
    int status = CLI_OK;

    if (st == ILK_OK)
        st = kind->end(with, *info, &err);
    if (st != ILK_OK)
        status = cli_fail(st, &err);
    else if (!with->args->json)
        cli_note("%s", kind->said);
    if (with->args->json && (st == ILK_OK || st == ILK_ENOTOWNER))
        print_json(kind, with->name, st == ILK_OK);
    return status;
}

/* kind: NULL without --kind. */
static int break_it(struct breaking *with, const struct kind *kind)
{
    ilk_info *info = NULL;
    int status = cli_connect(with->args, &with->client);

    if (status != CLI_OK)
        return status;
    if (!kind)
        kind = find_held(with, &info);
    status = kind ? end_kind(with, kind, &info)
                  : cli_usage(with->args,
                              "this name is held as several kinds; say which "
                              "one with --kind");
    ilk_info_free(info);
    ilk_client_free(with->client);
    return status;
}

static int run(struct cli_args *args)
{
    struct breaking with = {.args = args};
    const struct kind *kind = NULL;
    const char *value;
    int key;

    while ((key = cli_args_next(args, &value)) > 0) {
        if (key == KEY_TOKEN) {
            with.token = value;
            continue;
        }
        if (key == KEY_FOREIGN) {
            with.foreign = 1;
            continue;
        }
        kind = find(value);
        if (!kind)
            return cli_usage(args,
                             "'%s' cannot be broken; lock, semaphore, "
                             "election and barrier can",
                             value);
    }
    if (key < 0)
        return args->status;
    if (with.token && kind && !kind->has_tokens)
        return cli_usage(args, "a %s has no tokens", kind->name);
    if (cli_args_name(args, cli_args_word(args), &with.name)
        || cli_args_done(args))
        return args->status;
    return break_it(&with, kind);
}

const struct cli_command cli_break = {
    .name = "break",
    .synopsis = "NAME",
    .summary = "Take NAME away from whoever holds it.",
    .about =
        "The first waiter holds next, under a greater fence. The former\n"
        "holder finds out at its next renewal. The status is 1 when\n"
        "nobody held it, or nobody under that token.\n"
        "Of a semaphore the first 100 holders lose their permits, of a\n"
        "barrier the open round is broken. Of an election the term ends,\n"
        "and the first candidate leads. Without --kind the only kind as\n"
        "which NAME is held is broken; status 64 when there are several.\n"
        "The key of a lock is its NAME. What lies there and looks like no\n"
        "lock of ours or of a library that we know is left alone, with\n"
        "status 65, unless --foreign is given. The command looks first, and\n"
        "breaks what it saw: a later holder keeps the name, with status 1.\n",
    .options = options,
    .run = run,
};
