/* SPDX-License-Identifier: MIT */
/* dial.h -- opens a non-blocking socket and connects it to one address. */
#ifndef ILK__DIAL_H
#define ILK__DIAL_H

#include "base/error.h"

#include <sys/socket.h>

#ifndef MSG_NOSIGNAL /* these sockets have SO_NOSIGPIPE then */
#define MSG_NOSIGNAL 0
#endif

/* Open a stream socket: non-blocking, close-on-exec, without SIGPIPE, above the
 * standard descriptors. -1 and errno. */
int ilk__dial_socket(int family);
/* Two such sockets, connected with each other. 0; -1 and errno. */
int ilk__dial_pair(int fds[2]);

/*
 * Open a socket with keepalive and begin to connect it. ILK_OK: connected.
 * ILK_EAGAIN: under way; call ilk__dial_finish() when *out_fd is writable.
 * ILK_EBUSY: the backlog of the unix socket is full; try again in a moment.
 * ILK_ECONN. Only ILK_OK and ILK_EAGAIN set *out_fd, otherwise it is -1.
 */
ilk_status ilk__dial(int *out_fd, const struct sockaddr *address,
                     socklen_t address_len, const char *where, ilk_error *err);

/* ILK_OK: connected; ILK_EAGAIN: still under way; ILK_ECONN. */
ilk_status ilk__dial_finish(int fd, const char *where, ilk_error *err);

/* Begin to connect to a socket in the file system, as ilk__dial(). ILK_EINVAL: the
 * path is too long. With same_user the process that listens must run as this user,
 * else ILK_ECONN. */
ilk_status ilk__dial_path(int *out_fd, const char *path, int same_user,
                          ilk_error *err);

/* 1 when the process that listens on a connected unix socket runs as this
 * user, else 0 and *out_user; -1 and errno when the system does not say. */
int ilk__dial_is_own(int fd, unsigned long *out_user);

#endif
