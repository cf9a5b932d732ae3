/* SPDX-License-Identifier: MIT */
/* embedded_talk.h -- sends one command to a server, without a connection of
 * conn.h. */
#ifndef ILK__EMBEDDED_TALK_H
#define ILK__EMBEDDED_TALK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Send a command of one line, and receive the first line of the reply without
 * its CR LF; "" when the server closed the connection before. Returns 0 or an
 * errno: ECONNREFUSED or ENOENT when no server listens, ETIMEDOUT when the
 * deadline has passed.
 */
int ilk__talk(const char *socket_path, const char *command, char *line,
              size_t size, int64_t deadline);

#endif
