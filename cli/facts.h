/* SPDX-License-Identifier: MIT */
/* facts.h -- what is known of a name, as rows for people or as JSON. */
#ifndef INTERLOCK_CLI_FACTS_H
#define INTERLOCK_CLI_FACTS_H

#include "cli.h"

struct cli_facts {
    int as_json;
    struct cli_json json;
};

/* facts.c. Between begin and end, facts in any number. */
void cli_facts_begin(struct cli_facts *facts, int as_json, const char *kind,
                     struct cli_bytes name);
void cli_facts_end(struct cli_facts *facts);
void cli_fact_int(struct cli_facts *facts, const char *key, int64_t value);
void cli_fact_text(struct cli_facts *facts, const char *key, const char *text);
void cli_fact_bytes(struct cli_facts *facts, const char *key,
                    struct cli_bytes bytes);
/* Milliseconds: KEY_ms in JSON. -1 is no end. */
void cli_fact_ms(struct cli_facts *facts, const char *key, int64_t ms);
/* A list of rows; the facts of a row stand on one line. */
void cli_facts_list(struct cli_facts *facts, const char *key);
void cli_facts_row(struct cli_facts *facts);
void cli_facts_row_end(struct cli_facts *facts);
void cli_facts_list_end(struct cli_facts *facts);
void cli_row_int(struct cli_facts *facts, const char *key, int64_t value);
void cli_row_text(struct cli_facts *facts, const char *key, const char *text);

/* inspect.c. Print all that is known of a lock. */
int cli_inspect_lock(ilk_client *client, struct cli_bytes name, int as_json);
/* queue_print.c. The counts of a queue. */
int cli_inspect_queue(ilk_client *client, struct cli_bytes name, int as_json);

/* inspect_kinds.c. */
struct cli_kind {
    const char *name;
    int32_t bit; /* an ILK_KIND_ */
    int (*inspect)(ilk_client *client, struct cli_bytes name, int as_json);
};
/* NULL when there is no such kind. */
const struct cli_kind *cli_kind_named(const char *name);
const struct cli_kind *cli_kind_of(int32_t bit);
/* The kind that --kind names; or NULL, with a message. */
const struct cli_kind *cli_take_kind(struct cli_args *args, const char *value);

#endif
