/* SPDX-License-Identifier: MIT */
/* group_print.c -- the members of a group, and their changes, as lines. */
#include "group.h"
#include "signals.h"

#include <string.h>

static const char *change_name(int32_t change)
{
    switch (change) {
    case ILK_MEMBER_JOINED: return "joined";
    case ILK_MEMBER_LEFT: return "left";
    default: return "updated";
    }
}

static void print_json(struct cli_bytes group, const char *change,
                       struct cli_bytes id, struct cli_bytes data)
{
    struct cli_json json;

    cli_json_begin(&json, "group", &group);
    if (change)
        cli_json_text(&json, "change", change);
    cli_json_bytes(&json, "id", id);
    cli_json_bytes(&json, "data", data);
    cli_json_end(&json);
}

static void print_line(const char *change, struct cli_bytes id,
                       struct cli_bytes data)
{
    if (change)
        printf("%s\t", change);
    cli_put_text(stdout, id.data, id.len);
    putchar('\t');
    cli_put_text(stdout, data.data, data.len);
    putchar('\n');
}

static void print(struct cli_bytes group, const ilk_members *members,
                  int is_watch, int as_json)
{
    for (size_t i = 0; i < ilk_members_count(members); i++) {
        int32_t change = ilk_members_change(members, i);
        const char *word = is_watch ? change_name(change) : NULL;
        struct cli_bytes id, data;

        id.data = ilk_members_id(members, i, &id.len);
        data.data = ilk_members_data(members, i, &data.len);
        if (as_json)
            print_json(group, word, id, data);
        else
            print_line(word, id, data);
    }
}

int cli_group_list(ilk_client *client, struct cli_bytes name, int as_json)
{
    ilk_error err = {0, ""};
    ilk_group *group = NULL;
    ilk_members *members = NULL;
    ilk_status st = ilk_group_open(&group, client, name.data, name.len, &err);

    if (st == ILK_OK)
        st = ilk_group_members(&members, group, &err);
    print(name, members, 0, as_json);
    ilk_members_free(members);
    ilk_group_free(group);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

struct watching {
    ilk_group *group;
    ilk_members *changes;
};

static ilk_status next_change(void *subject, int64_t timeout_ms, ilk_error *err)
{
    struct watching *watching = subject;

    return ilk_group_watch(&watching->changes, watching->group, timeout_ms,
                           err);
}

int cli_group_watch(ilk_client *client, struct cli_bytes name, int as_json,
                    int64_t timeout_ms)
{
    struct watching watching = {NULL, NULL};
    ilk_error err = {0, ""};
    ilk_status st =
        ilk_group_open(&watching.group, client, name.data, name.len, &err);

    while (st == ILK_OK) {
        st = cli_wait(client, next_change, &watching, timeout_ms, &err);
        if (st != ILK_OK)
            break;
        print(name, watching.changes, 1, as_json);
        ilk_members_free(watching.changes);
        if (fflush(stdout) != 0)
            break; /* main() reports that */
    }
    ilk_group_free(watching.group);
    if (st == ILK_EINTR)
        return cli_signals_status(cli_signals_ending());
    if (st == ILK_OK || st == ILK_ETIMEOUT || st == ILK_EBUSY)
        return CLI_OK;
    return cli_fail(st, &err);
}
