/* SPDX-License-Identifier: MIT */
/* embedded_talk.h -- one question to a server's socket, before any client. */
#ifndef ILK__EMBEDDED_TALK_H
#define ILK__EMBEDDED_TALK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Send a command of one line and receive the first line of the answer, its
 * end cut off; "" when the server closed without one. 0, or an errno:
 * ECONNREFUSED or ENOENT when nobody listens, ETIMEDOUT at the deadline.
 */
int ilk__talk(const char *socket_path, const char *command, char *line,
              size_t size, int64_t deadline);

#endif
