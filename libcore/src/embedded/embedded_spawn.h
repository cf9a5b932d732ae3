/* SPDX-License-Identifier: MIT */
/* embedded_spawn.h -- finds a server program and starts it. */
#ifndef ILK__EMBEDDED_SPAWN_H
#define ILK__EMBEDDED_SPAWN_H

#include "embedded_home.h"

#include <sys/types.h>

enum { ILK__PROGRAM_MAX = 1024 };

/*
 * Find the program: $INTERLOCK_SERVER if it is set, else redis-server, else
 * valkey-server, from PATH. ILK_ECONN when there is none; out is then "".
 */
ilk_status ilk__program_find(char out[ILK__PROGRAM_MAX], ilk_error *err);

/*
 * Start the server of home, which becomes a daemon and inherits alive_fd with
 * its lock. *out_pid is the process started, which ends when the daemon runs;
 * the caller reaps it. ILK_ECONN, ILK_ESYSTEM.
 */
ilk_status ilk__program_spawn(const ilk__home *home, int alive_fd,
                              pid_t *out_pid, ilk_error *err);

#endif
