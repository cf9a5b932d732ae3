/* SPDX-License-Identifier: MIT */
/* group.c -- `interlock group`: be a member, list the members, watch them. */
#include "group.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_ID = CLI_HOLD_KEY, KEY_DATA, KEY_TTL, KEY_TIMEOUT };

static const struct cli_option options[] = {
    {"id", "TEXT", "join: the member's id; default host:pid", KEY_ID, 0},
    {"data", "TEXT", "join: what all can read", KEY_DATA, 0},
    {"ttl", "TIME", "join: the lease; default 10s, renewed", KEY_TTL, 0},
    {"timeout", "TIME", "watch: end when nothing changed for so long",
     KEY_TIMEOUT, 0},
    CLI_HOLD_OPTIONS,
};

struct group_args {
    const char *id, *data;
    int64_t timeout_ms;
    ilk_member_opts opts;
};

static int take_option(struct cli_args *args, void *into, int key,
                       const char *value)
{
    struct group_args *with = into;

    switch (key) {
    case KEY_ID: with->id = value; return CLI_OK;
    case KEY_DATA: with->data = value; return CLI_OK;
    case KEY_TTL: return cli_take_lease(args, "ttl", value, &with->opts.ttl_ms);
    default: return cli_take_wait(args, "timeout", value, &with->timeout_ms);
    }
}

/* ---- join --------------------------------------------------------------- */

/* The subject of the hold: a membership, or the wait for an id that is in. */
struct joining {
    ilk_group *group;
    ilk_member *member;
    const char *data;
};

/* An id is in until its member leaves or its lease ends; either is a change. */
static ilk_status await_change(struct joining *self, int64_t timeout_ms,
                               ilk_error *err)
{
    ilk_members *changes = NULL;
    ilk_status st = ilk_group_watch(&changes, self->group, timeout_ms, err);

    ilk_members_free(changes);
    return st;
}

static ilk_status join_within(void *handle, int64_t timeout_ms, ilk_error *err)
{
    struct joining *self = handle;
    int64_t end = cli_now_ms() + timeout_ms;
    ilk_status st = ILK_OK;

    while (st == ILK_OK) {
        int64_t left = timeout_ms;

        st = ilk_member_join(self->member, self->data, strlen(self->data), err);
        if (st != ILK_EHELD)
            break;
        if (timeout_ms > 0) {
            left = end - cli_now_ms();
            left = left > 0 ? left : 0;
        }
        st = left == 0 ? ILK_EBUSY : await_change(self, left, err);
    }
    return st;
}

static ilk_status cancel(void *handle, ilk_error *err)
{
    return ilk_group_cancel(((struct joining *)handle)->group, err);
}

static ilk_status leave(void *handle, ilk_error *err)
{
    return ilk_member_leave(((struct joining *)handle)->member, err);
}

static int64_t left_ms(const void *handle)
{
    return ilk_member_remaining_ms(((const struct joining *)handle)->member);
}

static const char *token(const void *handle)
{
    return ilk_member_token(((const struct joining *)handle)->member);
}

static ilk_status check(void *handle, ilk_error *err)
{
    return ilk_member_check(((const struct joining *)handle)->member, err);
}

static int64_t number(const void *handle)
{
    return ilk_member_number(((const struct joining *)handle)->member);
}

static const struct cli_hold_kind kind = {
    .name = "group",
    .noun = "membership in",
    .kind = ILK_KIND_GROUP,
    .lost_notification = ILK_NOTIFICATION_MEMBER_LOST,
    .acquire = join_within,
    .cancel = cancel,
    .release = leave,
    .check = check,
    .remaining_ms = left_ms,
    .token = token,
    .id = number,
};

/* host:pid, as inspection shows a client. */
static void default_id(char *out, size_t size)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    snprintf(out, size, "%s:%ld", host[0] ? host : "localhost", (long)getpid());
}

static int join(struct cli_hold *hold, const struct group_args *with)
{
    struct joining joining = {.data = with->data};
    char own[300];
    const char *id = with->id;
    ilk_error err = {0, ""};
    ilk_status st;
    int status;

    if (!id) {
        default_id(own, sizeof own);
        id = own;
    }
    st = ilk_group_open(&joining.group, hold->client, hold->name.data,
                        hold->name.len, &err);
    if (st == ILK_OK)
        st = ilk_member_open(&joining.member, joining.group, id, strlen(id),
                             &with->opts, &err);
    hold->handle = &joining;
    if (st != ILK_OK) {
        status = cli_fail(st, &err);
    } else if (setenv("INTERLOCK_ID", id, 1) != 0) {
        cli_say("out of memory");
        status = CLI_SYSTEM;
    } else {
        status = cli_hold_take(hold);
    }
    hold->handle = NULL;
    ilk_member_free(joining.member);
    ilk_group_free(joining.group);
    return status;
}

/* ---- the command line --------------------------------------------------- */

static int run_verb(struct cli_hold *hold, const char *verb,
                    const struct group_args *with)
{
    if (strcmp(verb, "join") == 0)
        return join(hold, with);
    if (strcmp(verb, "ls") == 0)
        return cli_group_list(hold->client, hold->name, hold->as_json);
    return cli_group_watch(hold->client, hold->name, hold->as_json,
                           with->timeout_ms);
}

static int run(struct cli_args *args)
{
    struct cli_hold hold = {.kind = &kind};
    struct group_args with = {.data = "", .timeout_ms = -1};
    const char *verb, *value;
    int key = cli_args_next(args, &value), status;

    if (key < 0)
        return args->status;
    verb = key == 0 ? cli_args_word(args) : NULL;
    if (!verb
        || (strcmp(verb, "join") != 0 && strcmp(verb, "ls") != 0
            && strcmp(verb, "watch") != 0))
        return cli_usage(args, "join, ls or watch?");
    ilk_member_opts_init(&with.opts, sizeof with.opts);
    if (cli_hold_args(args, &hold, take_option, &with) != 0)
        return args->status;
    if (hold.argv && strcmp(verb, "join") != 0)
        return cli_usage(args, "%s takes no CMD", verb);
    status = cli_hold_connect(args, &hold);
    if (status == CLI_OK)
        status = run_verb(&hold, verb, &with);
    ilk_client_free(hold.client);
    return status;
}

const struct cli_command cli_group = {
    .name = "group",
    .synopsis = "join|ls|watch NAME [[--] CMD [ARG...]]",
    .summary = "Be a member of the group NAME, list or watch it.",
    .about =
        "join   run CMD while being a member; without CMD until standard\n"
        "       input ends, and print the token. INTERLOCK_ID is the id.\n"
        "       Signals and exit statuses are those of 'interlock lock'.\n"
        "       --wait waits while another member has the id: it may be that\n"
        "       of a process that was killed, until its lease has ended.\n"
        "ls     print the id and the data of each member, with a tab between\n"
        "watch  print a line for each member and then for each change:\n"
        "       'joined', 'updated' or 'left', the id and the data, with\n"
        "       tabs between them\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
