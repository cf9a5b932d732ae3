/* SPDX-License-Identifier: MIT */
/*
 * embedded_orphans.h -- servers and watchers that became children of this
 * process.
 *
 * Their parents end when they start, so process 1 or a subreaper becomes their
 * parent. When this process is one of these, it reaps them, also those that
 * another process stops. In other processes these functions do nothing.
 */
#ifndef ILK__EMBEDDED_ORPHANS_H
#define ILK__EMBEDDED_ORPHANS_H

#include <sys/types.h>

/* Reap this process at its end, if it is a child. 0 is ignored. */
void ilk__orphans_add(pid_t pid);

/* Reap those that have ended. */
void ilk__orphans_reap(void);

#endif
