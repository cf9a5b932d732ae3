/* SPDX-License-Identifier: MIT */
/*
 * descendants.h -- all processes that come from CMD, however deep.
 *
 * On Linux this process becomes the parent of each descendant whose own parent
 * has ended (PR_SET_CHILD_SUBREAPER). So all of them stay below it in the tree
 * of processes, also those in a session of their own. Elsewhere none are found,
 * and child.c works with the process group of CMD.
 */
#ifndef INTERLOCK_CLI_DESCENDANTS_H
#define INTERLOCK_CLI_DESCENDANTS_H

#include "cli.h"

#include <sys/types.h>

/* Become the parent of orphaned descendants. 1 where the system can do that. */
int cli_descendants_adopt(void);

struct cli_sweep {
    pid_t spared;      /* leave this one out, with all below it; 0: none */
    int skips_group;   /* leave out those in our own process group */
    int names;         /* name those that may not be signalled, on stderr */
    int found;         /* out: how many there are */
    int not_signalled; /* out: how many of them we may not signal */
};

/* Send a signal to every descendant; 0 only counts them. */
void cli_descendants_signal(struct cli_sweep *sweep, int number);

#endif
