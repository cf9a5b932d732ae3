/* SPDX-License-Identifier: MIT */
/* info.c -- what an inspection has found: one layout for all kinds, for people and as
 * JSON. */
#include "info.h"

#include <inttypes.h>
#include <string.h>

/* ---- JSON ---------------------------------------------------------------- */

/* -1: not known. */
static void json_known(struct cli_json *json, const char *key, int64_t value,
                       int is_known)
{
    if (is_known)
        cli_json_int(json, key, value);
    else
        cli_json_null(json, key);
}

/* A lock of another library, and what nobody holds, may have no end. A hold of ours has an
   end, though not each store shows it; members of a group are found without theirs. */
static int is_lease_known(const ilk_info *info, int64_t ms)
{
    int32_t state = ilk_info_get_state(info);

    if (ilk_info_kind(info) == ILK_KIND_GROUP)
        return ms > 0;
    return ms >= 0 || ilk_info_holders(info) == 0 || state == ILK_INFO_FOREIGN
           || state == ILK_INFO_REDISSON;
}

static void json_holders(struct cli_json *json, const ilk_info *info)
{
    size_t listed = (size_t)ilk_info_holders_listed(info);

    cli_json_open(json, "held_by", '[');
    for (size_t i = 0; i < listed; i++) {
        int64_t since_ms = ilk_info_holder_since_ms(info, i),
                lease_ms = ilk_info_holder_ttl_ms(info, i);

        cli_json_open(json, NULL, '{');
        cli_json_text(json, "label", ilk_info_holder_label(info, i));
        cli_json_text(json, "client", ilk_info_holder_client(info, i));
        cli_json_text(json, "token", ilk_info_holder_token(info, i));
        cli_json_int(json, "permits", ilk_info_holder_permits(info, i));
        cli_json_int(json, "fence", ilk_info_holder_fence(info, i));
        json_known(json, "since_ms", since_ms, since_ms > 0);
        json_known(json, "lease_ms", lease_ms, is_lease_known(info, lease_ms));
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_waiters(struct cli_json *json, const ilk_info *info)
{
    size_t listed = (size_t)ilk_info_listed(info);

    cli_json_open(json, "wait_queue", '[');
    for (size_t i = 0; i < listed; i++) {
        int64_t waited_ms = ilk_info_waiter_waited_ms(info, i);

        cli_json_open(json, NULL, '{');
        cli_json_text(json, "label", ilk_info_waiter_label(info, i));
        cli_json_text(json, "client", ilk_info_waiter_client(info, i));
        cli_json_text(json, "token", ilk_info_waiter_token(info, i));
        cli_json_int(json, "permits", ilk_info_waiter_permits(info, i));
        json_known(json, "waited_ms", waited_ms, waited_ms >= 0);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

/* The values that programs have chosen are bytes, the others are words. */
static void json_facts(struct cli_json *json, const ilk_info *info)
{
    for (size_t i = 0; i < ilk_info_facts(info); i++) {
        const char *name = ilk_info_fact_name(info, i);
        struct cli_bytes text;

        text.data = ilk_info_fact_text(info, i, &text.len);
        if (!text.data)
            cli_json_int(json, name, ilk_info_fact_number(info, i));
        else if (strcmp(name, "order") == 0)
            cli_json_text(json, name, text.data);
        else
            cli_json_bytes(json, name, text);
    }
}

void cli_info_json(const struct cli_finding *found)
{
    const ilk_info *info = found->info;
    int64_t since_ms = ilk_info_since_ms(info),
            lease_ms = ilk_info_ttl_ms(info), waiters = ilk_info_waiters(info),
            longest_ms = ilk_info_longest_wait_ms(info);
    struct cli_bytes holder;
    struct cli_json json;

    holder.data = ilk_info_holder(info, &holder.len);
    cli_json_begin(&json, ilk_kind_name(found->kind->bit), &found->name);
    cli_json_text(&json, "state", cli_info_state(found));
    cli_json_text(&json, "holder", ilk_info_label(info));
    cli_json_text(&json, "client", ilk_info_holder_client(info, 0));
    cli_json_bytes(&json, "token", holder);
    json_known(&json, "since_ms", since_ms, since_ms > 0);
    json_known(&json, "lease_ms", lease_ms,
               cli_info_leased(info) && is_lease_known(info, lease_ms));
    cli_json_int(&json, "fence", ilk_info_fence(info));
    cli_json_int(&json, "holders", ilk_info_holders(info));
    json_holders(&json, info);
    json_known(&json, "waiters", waiters, info && waiters >= 0);
    json_known(&json, "longest_wait_ms", longest_ms, longest_ms >= 0);
    json_waiters(&json, info);
    json_facts(&json, info);
    cli_json_end(&json);
}

/* ---- for people ---------------------------------------------------------- */

const char *cli_info_state(const struct cli_finding *found)
{
    return found->info         ? ilk_info_state_name(found->info)
           : found->is_another ? "other"
                               : "in use";
}

int cli_info_leased(const ilk_info *info)
{
    return ilk_info_holders(info) > 0 || ilk_info_ttl_ms(info) != 0;
}

void cli_info_put_lease(FILE *file, const ilk_info *info, int64_t ms)
{
    if (!is_lease_known(info, ms))
        fputs("not known", file);
    else if (ms < 0)
        fputs("no end", file);
    else
        cli_put_duration(file, ms);
}

static void put_pair(const char *key, const char *text, size_t len)
{
    printf("%-10s ", key);
    cli_put_text(stdout, text, len);
    putchar('\n');
}

static void put_words(const char *key, const char *text)
{
    put_pair(key, text, strlen(text));
}

/* A column of a list, unless it is empty. */
static void put_cell(const char *text)
{
    if (!text[0])
        return;
    fputs("  ", stdout);
    cli_put_text(stdout, text, strlen(text));
}

static void put_first_holder(const ilk_info *info)
{
    char since[CLI_TIME_MAX];
    size_t len;
    const char *token = ilk_info_holder(info, &len);

    if (ilk_info_label(info)[0])
        put_words("holder", ilk_info_label(info));
    if (ilk_info_holder_client(info, 0)[0])
        put_words("client", ilk_info_holder_client(info, 0));
    if (len)
        put_pair("token", token, len);
    cli_time_text(since, ilk_info_since_ms(info));
    if (since[0])
        put_words("since", since);
}

static void put_holders(const ilk_info *info)
{
    size_t listed = (size_t)ilk_info_holders_listed(info);

    if (ilk_info_holders(info) < 2)
        return;
    printf("%-10s %" PRId64 "\n", "holders", ilk_info_holders(info));
    for (size_t i = 0; i < listed; i++) {
        char since[CLI_TIME_MAX];

        printf("%7zu", i + 1);
        put_cell(ilk_info_holder_label(info, i));
        put_cell(ilk_info_holder_client(info, i));
        put_cell(ilk_info_holder_token(info, i));
        if (ilk_info_holder_permits(info, i) > 1)
            printf("  x%" PRId64, ilk_info_holder_permits(info, i));
        cli_time_text(since, ilk_info_holder_since_ms(info, i));
        if (since[0])
            printf("  since %s", since);
        if (ilk_info_holder_ttl_ms(info, i)) {
            fputs("  lease ", stdout);
            cli_info_put_lease(stdout, info, ilk_info_holder_ttl_ms(info, i));
        }
        putchar('\n');
    }
}

static void put_waiters(const ilk_info *info)
{
    size_t listed = (size_t)ilk_info_listed(info);

    if (ilk_info_waiters(info) < 0) {
        put_words("waiters", "not known");
        return;
    }
    printf("%-10s %" PRId64 "\n", "waiters", ilk_info_waiters(info));
    for (size_t i = 0; i < listed; i++) {
        int64_t waited_ms = ilk_info_waiter_waited_ms(info, i);

        printf("%7zu", i + 1);
        put_cell(ilk_info_waiter_label(info, i));
        put_cell(ilk_info_waiter_client(info, i));
        put_cell(ilk_info_waiter_token(info, i));
        if (ilk_info_waiter_permits(info, i) > 1)
            printf("  x%" PRId64, ilk_info_waiter_permits(info, i));
        if (waited_ms >= 0) {
            fputs("  waited ", stdout);
            cli_put_duration(stdout, waited_ms);
        }
        putchar('\n');
    }
}

static void put_facts(const ilk_info *info)
{
    for (size_t i = 0; i < ilk_info_facts(info); i++) {
        const char *name = ilk_info_fact_name(info, i);
        size_t len;
        const char *text = ilk_info_fact_text(info, i, &len);

        if (text)
            put_pair(name, text, len);
        else
            printf("%-10s %" PRId64 "\n", name, ilk_info_fact_number(info, i));
    }
}

void cli_info_text(const struct cli_finding *found)
{
    const ilk_info *info = found->info;

    put_words("kind", ilk_kind_name(found->kind->bit));
    put_pair("name", found->name.data, found->name.len);
    put_words("state", cli_info_state(found));
    put_first_holder(info);
    if (cli_info_leased(info)) {
        printf("%-10s ", "lease");
        cli_info_put_lease(stdout, info, ilk_info_ttl_ms(info));
        putchar('\n');
    }
    if (ilk_info_fence(info))
        printf("%-10s %" PRId64 "\n", "fence", ilk_info_fence(info));
    put_facts(info);
    put_holders(info);
    put_waiters(info);
}
