/* SPDX-License-Identifier: MIT */
/* dial.h -- a non-blocking socket of ours, on its way to one address. */
#ifndef ILK__DIAL_H
#define ILK__DIAL_H

#include "base/error.h"

#include <sys/socket.h>

/*
 * Open a socket (closed on exec, never raising SIGPIPE, keepalive on) and
 * begin to connect it. ILK_OK: connected; ILK_EAGAIN: under way, *out_fd
 * becomes writable, then ilk__dial_finish(); ILK_EBUSY: the server's queue is
 * full, try again in a moment; ILK_ECONN. *out_fd is -1 but for the first two.
 */
ilk_status ilk__dial(int *out_fd, const struct sockaddr *address,
                     socklen_t address_len, const char *where, ilk_error *err);

/* ILK_OK: connected; ILK_EAGAIN: still under way; ILK_ECONN. */
ilk_status ilk__dial_finish(int fd, const char *where, ilk_error *err);

/* Begin to connect to a socket in the file system, as ilk__dial(). */
ilk_status ilk__dial_path(int *out_fd, const char *path, ilk_error *err);

#endif
