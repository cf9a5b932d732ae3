/* SPDX-License-Identifier: MIT */
/* hold.h -- CMD runs for as long as the lock is held. */
#ifndef INTERLOCK_CLI_HOLD_H
#define INTERLOCK_CLI_HOLD_H

#include "cli.h"

struct cli_hold {
    ilk_client *client;
    ilk_lock *lock; /* held */
    int event_fd;   /* of the client */
    char *const *argv;
    int64_t kill_after_ms; /* from SIGTERM to SIGKILL, after a loss */
};

/* Run argv to its end. Its exit status, CLI_LOST, or why it did not run. */
int cli_hold_run(const struct cli_hold *hold);

#endif
