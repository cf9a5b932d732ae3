/* SPDX-License-Identifier: MIT */
/* dial.h -- opens a non-blocking socket and connects it to one address. */
#ifndef ILK__DIAL_H
#define ILK__DIAL_H

#include "base/error.h"

#include <sys/socket.h>

/*
 * Open a socket (close-on-exec, without SIGPIPE, with keepalive) and begin to
 * connect it. ILK_OK: connected. ILK_EAGAIN: under way; call ilk__dial_finish()
 * when *out_fd is writable. ILK_EBUSY: the backlog of the unix socket is full;
 * try again in a moment. ILK_ECONN. Only ILK_OK and ILK_EAGAIN set *out_fd,
 * otherwise it is -1.
 */
ilk_status ilk__dial(int *out_fd, const struct sockaddr *address,
                     socklen_t address_len, const char *where, ilk_error *err);

/* ILK_OK: connected; ILK_EAGAIN: still under way; ILK_ECONN. */
ilk_status ilk__dial_finish(int fd, const char *where, ilk_error *err);

/* Begin to connect to a socket in the file system, as ilk__dial(). */
ilk_status ilk__dial_path(int *out_fd, const char *path, ilk_error *err);

#endif
