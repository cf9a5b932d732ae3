/* SPDX-License-Identifier: MIT */
/*
 * memory_backend.h -- a backend whose store is in this process.
 *
 *     memory://[/path][?slow=%][&late=%][&lose=%][&leave=1][&repeat=%][&seed=n]
 *
 * All clients of the process share the store. A URL with a path makes it answer
 * plain commands on a socket there as well, until the process ends
 * (memory_socket.c). The shares are of requests:
 *
 *     slow      executed up to SLOW_MS after it was called
 *     late      executed at once, with a reply up to SLOW_MS later
 *     lose      executed, then the connection breaks: the reply is lost
 *     leave     with the first request it says that it may have left a connection open
 *     repeat    executed twice, with the first reply: a late copy
 */
#ifndef ILK__MEMORY_BACKEND_H
#define ILK__MEMORY_BACKEND_H

#include "gateway/gateway.h"

#include "base/buf.h"

enum { MEMORY_SLOW_MS = 30 };

extern const ilk__backend memory_backend;

/* From now on so many requests of all clients are slow, late or lost; 0: the rest of
 * them are not. Writes how many are left, and what they were until now. */
void memory_backend_lie(int faults);
void memory_backend_lies(char *out, size_t room);

/* A plain command, such as a test sends over the socket: appends its reply. */
void memory_backend_command(ilk__reply *const *words, size_t count,
                            ilk__buf *reply);
/* memory_socket.c: serve the commands there, if no URL has said so before. */
ilk_status memory_socket_serve(const char *path, ilk_error *err);

/* Requests that were executed, of all clients. */
long memory_backend_executed(void);
/* Forget all data; no client may be open. */
void memory_backend_reset(void);

#endif
