/* SPDX-License-Identifier: MIT */
/* group.h -- what the files of `interlock group` share. */
#ifndef INTERLOCK_CLI_GROUP_H
#define INTERLOCK_CLI_GROUP_H

#include "hold.h"

/* group_print.c. Each returns an exit status. */
int cli_group_list(ilk_client *client, struct cli_bytes name, int as_json);
int cli_group_watch(ilk_client *client, struct cli_bytes name, int as_json,
                    int64_t timeout_ms);

#endif
