/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h -- descriptors above the standard ones.
 *
 * A program may have closed descriptors 0 to 2, and the kernel returns the
 * lowest free number. A socket with number 1 would receive what the program
 * prints. So each descriptor that the library opens passes through
 * ilk__descriptor_raise() before anything is sent on it.
 */
#ifndef ILK__DESCRIPTOR_H
#define ILK__DESCRIPTOR_H

#include <stdint.h>

/*
 * Return fd if it is above 2, else close it and return a close-on-exec
 * duplicate above 2. -1 and errno when no number is free, and for fd -1.
 */
int ilk__descriptor_raise(int fd);

/* close() that keeps errno and is no cancellation point. */
void ilk__descriptor_close(int fd);

/*
 * A program may close the library's descriptors, with all others when it becomes a
 * daemon, and open others with the same numbers. Returns a number that this
 * socket has and no other open one, or 0 where the system has none; -1: fd is no
 * socket.
 */
int64_t ilk__descriptor_identity(int fd);

/* Set close-on-exec and O_NONBLOCK. 0; -1 and errno. */
int ilk__descriptor_prepare(int fd);

/* A pipe whose ends are prepared and above 2. 0; -1 and errno, with both -1. */
int ilk__descriptor_pipe(int fds[2]);

#endif
