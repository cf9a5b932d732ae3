/* SPDX-License-Identifier: MIT */
/* child.h -- CMD as a child process that does not outlive this one. */
#ifndef INTERLOCK_CLI_CHILD_H
#define INTERLOCK_CLI_CHILD_H

#include "cli.h"

#include <sys/types.h>

struct cli_signal;

/* Start argv[0], found along PATH. 0; or 126, 127 or 71, said; or 128+n when
   signal n asked to end before there was a child. Only the
   main thread may call this: on Linux the child is tied to the life of the
   thread that started it, and that one lives as long as the process. */
int cli_child_start(pid_t *out, char *const *argv);
/* Whether it has ended; out_status is then its exit status, 128+n after
   signal n. */
int cli_child_ended(pid_t pid, int *out_status);
/* Pass a signal on, unless the terminal gave it to the child already. */
void cli_child_forward(pid_t pid, const struct cli_signal *came);

#endif
