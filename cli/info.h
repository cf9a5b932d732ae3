/* SPDX-License-Identifier: MIT */
/* info.h -- what an inspection has found of a name, for people or as JSON. */
#ifndef INTERLOCK_CLI_INFO_H
#define INTERLOCK_CLI_INFO_H

#include "cli.h"

/* kinds.c. */
struct cli_kind {
    int32_t bit;    /* an ILK_KIND_ */
    uint32_t offer; /* ILK_OFFER_ of a kind that can be inspected; else 0 */
};
const struct cli_kind *cli_kind_at(size_t index); /* NULL behind the last */
const struct cli_kind *cli_kind_of(int32_t bit);
/* The kind that --kind names; or NULL, with a message. */
const struct cli_kind *cli_take_kind(struct cli_args *args, const char *value);

/* info.c. The state of a name, as one kind. */
struct cli_finding {
    const struct cli_kind *kind;
    struct cli_bytes name;
    ilk_info *info; /* NULL: it was not inspected */
    int is_another; /* its key is of another type */
};
const char *cli_info_state(const struct cli_finding *found);
int cli_info_leased(const ilk_info *info); /* it has a lease */
/* A lease, of which so much is left. */
void cli_info_put_lease(FILE *file, const ilk_info *info, int64_t ms);
void cli_info_json(const struct cli_finding *found);
void cli_info_text(const struct cli_finding *found);

#endif
