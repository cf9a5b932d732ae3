/* SPDX-License-Identifier: MIT */
/* facts.c -- facts as rows of two columns, or as members of an object. */
#include "facts.h"

#include <inttypes.h>
#include <string.h>

void cli_facts_begin(struct cli_facts *facts, int as_json, const char *kind,
                     struct cli_bytes name)
{
    facts->as_json = as_json;
    if (as_json) {
        cli_json_begin(&facts->json, kind, &name);
        return;
    }
    cli_fact_text(facts, "kind", kind);
    cli_fact_bytes(facts, "name", name);
}

void cli_facts_end(struct cli_facts *facts)
{
    if (facts->as_json)
        cli_json_end(&facts->json);
}

void cli_fact_int(struct cli_facts *facts, const char *key, int64_t value)
{
    if (facts->as_json)
        cli_json_int(&facts->json, key, value);
    else
        printf("%-10s %" PRId64 "\n", key, value);
}

void cli_fact_bytes(struct cli_facts *facts, const char *key,
                    struct cli_bytes bytes)
{
    if (facts->as_json) {
        cli_json_bytes(&facts->json, key, bytes);
        return;
    }
    printf("%-10s ", key);
    cli_put_text(stdout, bytes.data, bytes.len);
    putchar('\n');
}

void cli_fact_text(struct cli_facts *facts, const char *key, const char *text)
{
    if (facts->as_json)
        cli_json_text(&facts->json, key, text);
    else
        cli_fact_bytes(facts, key, (struct cli_bytes){text, strlen(text)});
}

void cli_fact_ms(struct cli_facts *facts, const char *key, int64_t ms)
{
    char json_key[32];

    snprintf(json_key, sizeof json_key, "%s_ms", key);
    if (facts->as_json) {
        cli_json_int(&facts->json, json_key, ms);
        return;
    }
    printf("%-10s ", key);
    if (ms < 0)
        fputs("no end", stdout);
    else
        cli_put_duration(stdout, ms);
    putchar('\n');
}

void cli_facts_list(struct cli_facts *facts, const char *key)
{
    if (facts->as_json)
        cli_json_open(&facts->json, key, '[');
    else
        printf("%s:\n", key);
}

void cli_facts_row(struct cli_facts *facts)
{
    if (facts->as_json)
        cli_json_open(&facts->json, NULL, '{');
    else
        fputs("  ", stdout);
}

void cli_facts_row_end(struct cli_facts *facts)
{
    if (facts->as_json)
        cli_json_close(&facts->json, '}');
    else
        putchar('\n');
}

void cli_facts_list_end(struct cli_facts *facts)
{
    if (facts->as_json)
        cli_json_close(&facts->json, ']');
}

void cli_row_int(struct cli_facts *facts, const char *key, int64_t value)
{
    if (facts->as_json)
        cli_json_int(&facts->json, key, value);
    else
        printf("  %s %" PRId64, key, value);
}

void cli_row_text(struct cli_facts *facts, const char *key, const char *text)
{
    if (facts->as_json) {
        cli_json_text(&facts->json, key, text);
        return;
    }
    fputs("  ", stdout);
    cli_put_text(stdout, text, strlen(text));
}
