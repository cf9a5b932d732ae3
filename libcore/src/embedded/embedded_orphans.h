/* SPDX-License-Identifier: MIT */
/*
 * embedded_orphans.h -- servers and watchers that became children of this
 * process.
 *
 * They are nobody's children when they start, so process 1 becomes their parent,
 * or a subreaper. When this process is one, it reaps them, also those that
 * another process stops. Elsewhere these functions do nothing.
 */
#ifndef ILK__EMBEDDED_ORPHANS_H
#define ILK__EMBEDDED_ORPHANS_H

#include <sys/types.h>

/* Reap this process at its end, if it is a child. 0 is ignored. */
void ilk__orphans_add(pid_t pid);

/* Reap those that have ended. */
void ilk__orphans_reap(void);

#endif
