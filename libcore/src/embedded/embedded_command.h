/* SPDX-License-Identifier: MIT */
/* embedded_command.h -- sends one command to a server, without a connection of
 * conn.h. */
#ifndef ILK__EMBEDDED_COMMAND_H
#define ILK__EMBEDDED_COMMAND_H

#include <stddef.h>
#include <stdint.h>

enum { ILK__ERROR_FOREIGN = -1 }; /* the server runs as another user */

/*
 * Send a command of one line, and receive the first line of the reply without
 * its CR LF; "" when the server closed the connection before. Returns 0 or an
 * errno: ECONNREFUSED or ENOENT when no server listens, ETIMEDOUT when the
 * deadline has passed; or ILK__ERROR_FOREIGN, and nothing was sent.
 * Async-signal-safe, for a process that was forked.
 */
int ilk__embedded_command(const char *socket_path, const char *command,
                          char *line, size_t size, int64_t deadline);

#endif
