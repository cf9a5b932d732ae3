/* SPDX-License-Identifier: MIT */
/*
 * embedded_watcher.h -- a process that stops the server when its users ended
 * without detaching: by exit, by a signal, or in a crash.
 */
#ifndef ILK__EMBEDDED_WATCHER_H
#define ILK__EMBEDDED_WATCHER_H

#include "embedded_home.h"

#include <sys/types.h>

/*
 * Start the watcher of home unless one runs. The caller holds `lock`, and
 * `users` shared. A failure is logged: then the server stops when the last of
 * its users detaches, but not when it is killed.
 */
void ilk__watcher_start(const ilk__home *home);

/* The watcher's process id; 0: unknown, or there is none. */
pid_t ilk__watcher_pid(const ilk__home *home);

#endif
