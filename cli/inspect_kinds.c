/* SPDX-License-Identifier: MIT */
/* inspect_kinds.c -- what `interlock inspect` shows of each kind but the
 * lock. */
#include "facts.h"

#include <string.h>

/* ---- semaphore ---------------------------------------------------------- */

static void put_holders(struct cli_facts *facts, const ilk_info *info)
{
    size_t listed = (size_t)ilk_info_holders_listed(info);

    cli_facts_list(facts, "holders");
    for (size_t i = 0; i < listed; i++) {
        cli_facts_row(facts);
        cli_row_text(facts, "label", ilk_info_holder_label(info, i));
        cli_row_text(facts, "token", ilk_info_holder_token(info, i));
        cli_row_int(facts, "permits", ilk_info_holder_permits(info, i));
        cli_row_int(facts, "fence", ilk_info_holder_fence(info, i));
        cli_row_int(facts, "ttl_ms", ilk_info_holder_ttl_ms(info, i));
        cli_facts_row_end(facts);
    }
    cli_facts_list_end(facts);
}

static void put_waiters(struct cli_facts *facts, const ilk_info *info)
{
    size_t listed = (size_t)ilk_info_listed(info);

    cli_facts_list(facts, "wait_queue");
    for (size_t i = 0; i < listed; i++) {
        cli_facts_row(facts);
        cli_row_text(facts, "label", ilk_info_waiter_label(info, i));
        cli_row_text(facts, "token", ilk_info_waiter_token(info, i));
        cli_row_int(facts, "permits", ilk_info_waiter_permits(info, i));
        cli_facts_row_end(facts);
    }
    cli_facts_list_end(facts);
}

static int inspect_semaphore(ilk_client *client, struct cli_bytes name,
                             int as_json)
{
    ilk_error err = {0, ""};
    ilk_info *info = NULL;
    struct cli_facts facts;
    ilk_status st =
        ilk_semaphore_inspect(&info, client, name.data, name.len, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    cli_facts_begin(&facts, as_json, "semaphore", name);
    cli_fact_int(&facts, "limit", ilk_info_limit(info));
    cli_fact_int(&facts, "used", ilk_info_used(info));
    cli_fact_int(&facts, "fence", ilk_info_fence(info));
    put_holders(&facts, info);
    cli_fact_int(&facts, "waiters", ilk_info_waiters(info));
    put_waiters(&facts, info);
    cli_facts_end(&facts);
    ilk_info_free(info);
    return CLI_OK;
}

/* ---- election ----------------------------------------------------------- */

static void put_leader(struct cli_facts *facts, const ilk_leader *leader)
{
    struct cli_bytes value;

    value.data = ilk_leader_value(leader, &value.len);
    cli_fact_text(facts, "state", value.data ? "led" : "vacant");
    cli_fact_int(facts, "term", ilk_leader_term(leader));
    if (value.data) {
        cli_fact_bytes(facts, "value", value);
        cli_fact_text(facts, "label", ilk_leader_label(leader));
        cli_fact_ms(facts, "ttl", ilk_leader_ttl_ms(leader));
    }
    cli_fact_int(facts, "candidates", ilk_leader_candidates(leader));
    cli_facts_list(facts, "wait_queue");
    for (size_t i = 0; i < (size_t)ilk_leader_listed(leader); i++) {
        cli_facts_row(facts);
        cli_row_text(facts, "label", ilk_leader_candidate_label(leader, i));
        cli_facts_row_end(facts);
    }
    cli_facts_list_end(facts);
}

static int inspect_election(ilk_client *client, struct cli_bytes name,
                            int as_json)
{
    ilk_error err = {0, ""};
    ilk_election *election = NULL;
    ilk_leader *leader = NULL;
    struct cli_facts facts;
    int status = CLI_OK;
    ilk_status st =
        ilk_election_open(&election, client, name.data, name.len, NULL, &err);

    if (st == ILK_OK)
        st = ilk_election_leader(&leader, election, &err);
    if (st == ILK_OK) {
        cli_facts_begin(&facts, as_json, "election", name);
        put_leader(&facts, leader);
        cli_facts_end(&facts);
    } else {
        status = cli_fail(st, &err);
    }
    ilk_leader_free(leader);
    ilk_election_free(election);
    return status;
}

/* ---- signal ------------------------------------------------------------- */

static int inspect_signal(ilk_client *client, struct cli_bytes name,
                          int as_json)
{
    ilk_error err = {0, ""};
    struct cli_facts facts;
    int64_t waiting = 0;
    ilk_status st =
        ilk_signal_inspect(client, name.data, name.len, &waiting, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    cli_facts_begin(&facts, as_json, "signal", name);
    cli_fact_int(&facts, "waiting", waiting);
    cli_facts_end(&facts);
    return CLI_OK;
}

/* ---- event, barrier, latch ---------------------------------------------- */

static int inspect_event(ilk_client *client, struct cli_bytes name, int as_json)
{
    ilk_error err = {0, ""};
    ilk_event *event = NULL;
    struct cli_facts facts;
    struct cli_bytes data;
    ilk_status st =
        ilk_event_open(&event, client, name.data, name.len, NULL, &err);
    int status;

    if (st == ILK_OK)
        st = ilk_event_read(event, &err);
    status = st == ILK_OK ? CLI_OK : cli_fail(st, &err);
    if (st == ILK_OK) {
        data.data = ilk_event_data(event, &data.len);
        cli_facts_begin(&facts, as_json, "event", name);
        cli_fact_text(&facts, "state",
                      ilk_event_is_set(event) ? "set" : "clear");
        cli_fact_int(&facts, "generation", ilk_event_generation(event));
        cli_fact_bytes(&facts, "data", data);
        cli_facts_end(&facts);
    }
    ilk_event_free(event);
    return status;
}

static int inspect_barrier(ilk_client *client, struct cli_bytes name,
                           int as_json)
{
    ilk_error err = {0, ""};
    struct cli_facts facts;
    int64_t parties = 0, waiting = 0;
    ilk_status st = ilk_barrier_inspect(client, name.data, name.len, &parties,
                                        &waiting, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    cli_facts_begin(&facts, as_json, "barrier", name);
    cli_fact_int(&facts, "parties", parties);
    cli_fact_int(&facts, "waiting", waiting);
    cli_facts_end(&facts);
    return CLI_OK;
}

static int inspect_latch(ilk_client *client, struct cli_bytes name, int as_json)
{
    ilk_error err = {0, ""};
    struct cli_facts facts;
    int64_t count = 0, left = 0;
    ilk_status st =
        ilk_latch_inspect(client, name.data, name.len, &count, &left, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    cli_facts_begin(&facts, as_json, "latch", name);
    cli_fact_int(&facts, "count", count);
    cli_fact_int(&facts, "left", left);
    cli_facts_end(&facts);
    return CLI_OK;
}

/* ---- group -------------------------------------------------------------- */

static int inspect_group(ilk_client *client, struct cli_bytes name, int as_json)
{
    ilk_error err = {0, ""};
    ilk_group *group = NULL;
    ilk_members *members = NULL;
    struct cli_facts facts;
    ilk_status st = ilk_group_open(&group, client, name.data, name.len, &err);

    if (st == ILK_OK)
        st = ilk_group_members(&members, group, &err);
    if (st == ILK_OK) {
        cli_facts_begin(&facts, as_json, "group", name);
        cli_fact_int(&facts, "members", (int64_t)ilk_members_count(members));
        cli_facts_end(&facts);
    }
    ilk_members_free(members);
    ilk_group_free(group);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

/* ---- register ----------------------------------------------------------- */

static int inspect_register(ilk_client *client, struct cli_bytes name,
                            int as_json)
{
    ilk_error err = {0, ""};
    ilk_register *handle = NULL;
    struct cli_facts facts;
    struct cli_bytes value;
    ilk_status st =
        ilk_register_open(&handle, client, name.data, name.len, &err);

    if (st == ILK_OK)
        st = ilk_register_get(handle, &err);
    if (st == ILK_OK) {
        value.data = ilk_register_value(handle, &value.len);
        cli_facts_begin(&facts, as_json, "register", name);
        cli_fact_text(&facts, "state", value.data ? "set" : "none");
        cli_fact_int(&facts, "version", ilk_register_version(handle));
        if (value.data)
            cli_fact_bytes(&facts, "value", value);
        cli_facts_end(&facts);
    }
    ilk_register_free(handle);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

/* ---- the table ---------------------------------------------------------- */

static const struct cli_kind kinds[] = {
    {"lock", ILK_KIND_LOCK, cli_inspect_lock},
    {"semaphore", ILK_KIND_SEMAPHORE, inspect_semaphore},
    {"election", ILK_KIND_ELECTION, inspect_election},
    {"signal", ILK_KIND_SIGNAL, inspect_signal},
    {"event", ILK_KIND_EVENT, inspect_event},
    {"barrier", ILK_KIND_BARRIER, inspect_barrier},
    {"latch", ILK_KIND_LATCH, inspect_latch},
    {"queue", ILK_KIND_QUEUE, cli_inspect_queue},
    {"group", ILK_KIND_GROUP, inspect_group},
    {"register", ILK_KIND_REGISTER, inspect_register},
    {"store", ILK_KIND_STORE, NULL},
    {"kv", ILK_KIND_KV, NULL},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct cli_kind *cli_kind_named(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

const struct cli_kind *cli_kind_of(int32_t bit)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].bit == bit)
            return &kinds[i];
    return NULL;
}

const struct cli_kind *cli_take_kind(struct cli_args *args, const char *value)
{
    const struct cli_kind *kind = cli_kind_named(value);

    if (!kind)
        args->status = cli_usage(args, "no kind '%s'", value);
    return kind;
}
