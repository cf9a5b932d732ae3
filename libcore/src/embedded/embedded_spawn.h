/* SPDX-License-Identifier: MIT */
/* embedded_spawn.h -- finding a server program and starting it. */
#ifndef ILK__EMBEDDED_SPAWN_H
#define ILK__EMBEDDED_SPAWN_H

#include "embedded_home.h"

#include <sys/types.h>

enum { ILK__PROGRAM_MAX = 1024 };

/*
 * $INTERLOCK_SERVER, or redis-server or valkey-server from PATH. ILK_ECONN
 * when there is none; then out is "".
 */
ilk_status ilk__program_find(char out[ILK__PROGRAM_MAX], ilk_error *err);

/*
 * Start the server of home; it becomes a daemon that holds the lock of
 * alive_fd. *out_pid is the process that makes it one and ends soon, to be
 * reaped. ILK_ECONN.
 */
ilk_status ilk__program_spawn(const ilk__home *home, int alive_fd,
                              pid_t *out_pid, ilk_error *err);

#endif
