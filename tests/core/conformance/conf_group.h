/* SPDX-License-Identifier: MIT */
/*
 * conf_group.h -- the statements of the conformance table about groups.
 *
 *     g = group <name>                         -> STATUS
 *     m = join <name> <id> <data> [ttl_ms=n]   -> STATUS
 *     g members -> STATUS | <entries>     g watch <ms> -> STATUS | <entries>
 *     m update <data> | leave -> STATUS   m held -> 0|1
 *
 * Entries are separated by spaces, and sorted: `<id>=<data>` of members; of a watch
 * `+<id>=<data>` who joined, `-<id>` who left, `!<id>=<data>` who has other data.
 */
#ifndef ILK__CONF_GROUP_H
#define ILK__CONF_GROUP_H

#include "conformance.h"

#include <interlock.h>

enum { CONF_GROUP_HANDLES = 8 };

typedef struct conf_group_handle {
    char word[64];
    ilk_group *group;
    ilk_member *member;
} conf_group_handle;

typedef struct conf_group {
    conf_group_handle handles[CONF_GROUP_HANDLES];
    size_t count;
} conf_group;

/* Run a line; 0 when it is about something else. A failure fails the test. */
int conf_group_line(conf_group *self, ilk_client *client,
                    const conf_word *words, int count);
void conf_group_free(conf_group *self);

#endif
