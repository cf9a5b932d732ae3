/* SPDX-License-Identifier: MIT */
/*
 * child.h -- CMD as a child process that does not outlive this one, and the
 * processes that it leaves behind.
 */
#ifndef INTERLOCK_CLI_CHILD_H
#define INTERLOCK_CLI_CHILD_H

#include "cli.h"

#include <sys/types.h>

struct cli_signal;

struct cli_child {
    int alone;     /* set before the start: its descendants do not matter */
    pid_t pid;     /* of CMD */
    int ended;     /* CMD has ended, ... */
    int status;    /* ... with this status; after a signal that is
                      cli_signals_status() */
    int all_ended; /* so have all of its descendants; or they do not matter */
    pid_t group;   /* internal: where descendants cannot be adopted; or 0 */
    int adopts;    /* internal: they are adopted */
    int named;     /* internal: what may not be ended has been named */
};

/* Start argv[0], found along PATH. Returns 0; or 126, 127 or 71, with a message; or the
   status of an ending signal that came before there was a child. Only the
   main thread may call this: on Linux the child is tied to the life of the
   thread that started it, and that one lives as long as the process. */
int cli_child_start(struct cli_child *child, char *const *argv);
/* Find out who has ended, after a SIGCHLD and after cli_child_look_again_ms().
   This reaps every child of the process. */
void cli_child_look(struct cli_child *child);
/* -1 while only a SIGCHLD is a reason to look; else the time until the next look. */
int cli_child_look_again_ms(const struct cli_child *child);
/* Pass a signal on, unless the terminal sent it to the receiver already. After
   the end of CMD its descendants get those that ask to end. */
void cli_child_forward(struct cli_child *child, const struct cli_signal *came);
/* Ask all of them to end. */
void cli_child_terminate(const struct cli_child *child);
/* End all of them. To be repeated, because new ones may have started. It sets
   all_ended if the only ones left may not be ended, and names those. */
void cli_child_kill(struct cli_child *child);

#endif
